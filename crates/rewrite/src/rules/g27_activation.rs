//! G27: an activation moves to the Conv or Gemm that it belongs to, so that engines can fuse both.

use super::affine::{PRODUCERS, by_channel};
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// Past a scaling.
pub struct ScaleBeforeActivation;

/// Past a movement.
pub struct ActivationBeforeMovement;

static PAST_SCALE: Info = Info {
    id: "G27a",
    name: "scale-before-activation",
    exactness: Exactness::Rounding,
    use_: Use::Always,
    summary: "Conv + Relu + Mul by c -> Conv + Mul by c + Relu, whose Mul G03 folds",
    condition: "Relu or LeakyRelu behind a Conv, ConvTranspose or Gemm with constant weights, and c is \
                constant, positive, and a number or one for each channel.",
};

static PAST_MOVEMENT: Info = Info {
    id: "G27b",
    name: "activation-before-movement",
    exactness: Exactness::Exact,
    use_: Use::Always,
    summary: "Conv + Reshape + Relu -> Conv + Relu + Reshape, and the like",
    condition: "The activation works element by element, what is between only moves elements, and nothing \
                else reads the results. Exact for Relu and LeakyRelu; engines may round others otherwise at \
                other places (rounding).",
};

/// Functions of one element that has no other input than constants.
const ACTIVATIONS: [&str; 12] = [
    "Relu",
    "LeakyRelu",
    "Sigmoid",
    "Tanh",
    "Elu",
    "Selu",
    "HardSigmoid",
    "HardSwish",
    "Softplus",
    "Softsign",
    "Mish",
    "Gelu",
];

/// Operators that move elements without losing or repeating any.
const MOVEMENTS: [&str; 7] =
    ["Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "DepthToSpace", "SpaceToDepth"];

impl Rewrite for ScaleBeforeActivation {
    fn info(&self) -> &'static Info {
        &PAST_SCALE
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Mul"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let product = draft.node(at).filter(|_| draft.opset() >= 7)?;
        product.either_way().into_iter().find_map(|(from, other)| {
            let activation = product.producer(from).filter(|node| node.is("Relu") || node.is("LeakyRelu"))?;
            let producer = activation.producer(0)?;
            let weights = super::affine::Weights::of(producer)?;
            let factors = by_channel(&product.constant(other)?, weights.rank(), weights.channels()?)?;
            if !factors.iter().all(|factor| *factor > 0.0 && factor.is_finite()) {
                return None;
            }
            // Moving it past a result that stays anyway would win nothing.
            draft.only_consumer(producer.output(0))?;
            let mut edit = Edit::new("scaled");
            edit.remove(activation).remove(product);
            let scaled =
                edit.apply(draft, "Mul", &[activation.input(0), product.input(other)], activation.output(0));
            let after = node(activation.op_type(), &[&scaled], &[product.output(0)]);
            edit.add(after.like(activation.proto).named(activation.name()));
            Some(edit)
        })
    }
}

impl Rewrite for ActivationBeforeMovement {
    fn info(&self) -> &'static Info {
        &PAST_MOVEMENT
    }

    fn roots(&self) -> &'static [&'static str] {
        &ACTIVATIONS
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let activation = draft.node(at)?;
        let movement = activation.producer(0).filter(|node| MOVEMENTS.contains(&node.op_type()))?;
        let source = movement_source(draft, movement)?;
        if !PRODUCERS.contains(&source.op_type()) && !source.is("MatMul") {
            return None;
        }
        draft.only_consumer(source.output(0))?;
        let mut edit = Edit::new("early");
        if !["Relu", "LeakyRelu"].contains(&activation.op_type()) {
            // Engines approximate the others, and in vectors otherwise than at the end of a row.
            edit.exactness(Exactness::Rounding);
        }
        edit.remove(movement).remove(activation);
        let early = node(activation.op_type(), &[movement.input(0)], &[]).like(activation.proto);
        let early = edit.apply_node(draft, early.named(activation.name()), movement.output(0));
        let mut moved = movement.proto.clone();
        moved.input[0] = early;
        moved.output = vec![activation.output(0).to_owned()];
        edit.add(moved);
        Some(edit)
    }
}

/// The node whose result is moved; movements before this one don't matter, but each must serve only the next.
fn movement_source<'d>(draft: &'d Draft<'_>, movement: NodeView<'d>) -> Option<NodeView<'d>> {
    let mut last = movement;
    loop {
        let source = draft.producer(last.input(0))?;
        if !MOVEMENTS.contains(&source.op_type()) {
            return Some(source);
        }
        draft.only_consumer(source.output(0))?;
        last = source;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    fn conv(rest: &str) -> String {
        format!("input x f32[1,4,6,6]; const w random[8,4,3,3]; y = Conv(x, w); {rest}; output z")
    }

    #[test]
    fn a_positive_scale_moves_ahead_and_folds() {
        let text = conv("r = LeakyRelu(y) alpha=0.3; const c positive[8,1,1]; z = Mul(c, r)");
        assert_eq!(applies("G27a", &text).operators(), "Conv Mul LeakyRelu");
        assert_eq!(applies("G27a G03", &text).operators(), "Conv LeakyRelu");
    }

    #[test]
    fn a_scale_that_is_not_positive_or_not_by_channel_stays() {
        refuses("G27a", &conv("r = Relu(y); const c f32 -2; z = Mul(r, c)"));
        refuses("G27a", &conv("r = Relu(y); const c f32 0; z = Mul(r, c)"));
        refuses("G27a", &conv("r = Relu(y); const c positive[4]; z = Mul(r, c)"));
        refuses("G27a", &conv("r = Relu(y); input c f32[1]; z = Mul(r, c)"));
    }

    #[test]
    fn other_activations_and_producers_stay() {
        refuses("G27a", &conv("r = Sigmoid(y); const c f32 2; z = Mul(r, c)"));
        refuses("G27a", "input x f32[2]; const c f32 2; r = Relu(x); z = Mul(r, c); output z");
        refuses("G27a", &conv("r = Relu(y); const c f32 2; z = Mul(r, c); output y"));
        refuses("G27a", &conv("r = Relu(y); const c f32 2; z = Mul(r, c); output r"));
    }

    #[test]
    fn an_activation_moves_ahead_of_movements() {
        let text =
            conv("const s i64[3] 1 8 -1; t = Reshape(y, s); u = Transpose(t) perm=[0,2,1]; z = Sigmoid(u)");
        assert_eq!(applies("G27b", &text).operators(), "Conv Sigmoid Reshape Transpose");
    }

    #[test]
    fn movements_that_others_read_or_of_other_producers_stay() {
        refuses("G27b", &conv("t = Flatten(y); z = Relu(t); output t"));
        refuses("G27b", &conv("t = Flatten(y); z = Relu(t); output y"));
        refuses("G27b", &conv("p = Softmax(y); t = Flatten(p); z = Relu(t)"));
        refuses("G27b", &conv("t = Flatten(y); z = Softmax(t)"));
        refuses("G27b", "input x f32[1,4]; t = Flatten(x); z = Relu(t); output z");
    }
}
