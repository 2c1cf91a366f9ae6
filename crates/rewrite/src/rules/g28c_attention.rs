//! G28c: attention that is written out becomes the operator.

use opscope_trace::DataType;

use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::fold::axis;
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct Attention;

static INFO: Info = Info {
    id: "G28c",
    name: "attention",
    exactness: Exactness::Rounding,
    use_: Use::Always,
    summary: "MatMul(Softmax(MatMul(q, k transposed) * scale + mask), v) -> Attention(q, k, v, mask)",
    condition: "The model has version 23 of ONNX's operators or newer (raise it with --opset 23); queries, \
                keys and values have four dimensions of known sizes, in single precision, and equal batches \
                and heads; the scale is a positive constant, or not there; a mask has the size of the \
                scores, or is one for all batches or heads; nothing else reads what is between.",
};

impl Rewrite for Attention {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn since(&self) -> i64 {
        23
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Softmax"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let softmax = draft.node(at)?;
        if axis(softmax.attributes().int("axis").unwrap_or(-1), 4)? != 3 {
            return None;
        }
        let mixed = draft.only_consumer(softmax.output(0)).filter(|node| node.is("MatMul"))?;
        let mut edit = Edit::new("attention");
        edit.remove(softmax).remove(mixed);

        let mut scores = softmax.producer(0)?;
        let mut mask = None;
        if scores.is("Add") {
            edit.remove(scores);
            let (from, other) = scores.either_way().into_iter().find(|(from, _)| {
                scores.producer(*from).is_some_and(|node| node.is("MatMul") || scaled(node).is_some())
            })?;
            mask = Some(scores.input(other));
            scores = scores.producer(from)?;
        }
        let mut scale = 1.0;
        if let Some((from, factor)) = scaled(scores) {
            edit.remove(scores);
            scale = factor;
            scores = scores.producer(from)?;
        }
        let keys = scores.producer(1).filter(|node| scores.is("MatMul") && node.is("Transpose"))?;
        edit.remove(scores);

        let (query, value) = (scores.input(0), mixed.input(1));
        let (is_first, is_positive) = (mixed.input(0) == softmax.output(0), scale > 0.0);
        let fits = sizes_fit(draft, query, keys.output(0), value)
            && mask.is_none_or(|mask| mask_fits(draft, mask, scores.output(0)));
        if !(is_first && is_positive && fits) {
            return None;
        }
        let key = by_rows(draft, keys, &mut edit)?;
        let mut inputs = vec![query, &key, value];
        inputs.extend(mask);
        edit.add(node("Attention", &inputs, &[mixed.output(0)]).float("scale", scale as f32));
        Some(edit)
    }
}

/// The input that a node multiplies by a constant, and the constant.
fn scaled(node: NodeView<'_>) -> Option<(usize, f64)> {
    match node.op_type() {
        "Div" => Some((0, 1.0 / node.number_beside(1, 0)?)),
        "Mul" => node
            .either_way()
            .into_iter()
            .find_map(|(from, other)| Some((from, node.number_beside(other, from)?))),
        _ => None,
    }
}

/// The keys with a row for each position, from the Transpose that made columns of them.
fn by_rows(draft: &Draft<'_>, columns: NodeView<'_>, edit: &mut Edit) -> Option<String> {
    let order = columns.attributes().ints("perm")?;
    let &[batch, heads, width, position] = order else { return None };
    // Others may read the columns, too.
    if draft.only_consumer(columns.output(0)).is_some() {
        edit.remove(columns);
    }
    if [batch, heads, position, width] == [0, 1, 2, 3] {
        return Some(columns.input(0).to_owned());
    }
    let rows = node("Transpose", &[columns.input(0)], &[]).ints("perm", &[batch, heads, position, width]);
    Some(edit.apply_node(draft, rows, columns.output(0)))
}

/// Whether nothing is repeated to make the sizes fit, which the operator does in other ways.
fn sizes_fit(draft: &Draft<'_>, query: &str, keys: &str, value: &str) -> bool {
    let dims = |name: &str| draft.dims(name).filter(|_| draft.data_type(name) == Some(DataType::Float32));
    match (dims(query).as_deref(), dims(keys).as_deref(), dims(value).as_deref()) {
        (Some(&[batch, heads, _, width]), Some(keys), Some(&[b, h, positions, _])) => {
            keys == [batch, heads, width, positions] && [b, h] == [batch, heads]
        }
        _ => false,
    }
}

/// Whether a mask has the two last sizes of the scores, and the first two or one instead of them.
fn mask_fits(draft: &Draft<'_>, mask: &str, scores: &str) -> bool {
    let (Some(mask_dims), Some(scores_dims)) = (draft.dims(mask), draft.dims(scores)) else { return false };
    let (Some(lead), Some(scores_lead)) = (mask_dims.len().checked_sub(2), scores_dims.len().checked_sub(2))
    else {
        return false;
    };
    let (outer, inner) = mask_dims.split_at(lead);
    let (scores_outer, scores_inner) = scores_dims.split_at(scores_lead);
    let repeated = outer.iter().zip(scores_outer).all(|(size, whole)| *size == 1 || size == whole);
    let rank_fits = outer.is_empty() || outer.len() == scores_outer.len();
    draft.data_type(mask) == Some(DataType::Float32) && inner == scores_inner && rank_fits && repeated
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    const INPUTS: &str = "opset 23; input q f32[2,3,4,8]; input k f32[2,3,5,8]; input v f32[2,3,5,6]; const r f32 2.8284271; const i f32 0.25";
    const PLAIN: &str = "t = Transpose(k) perm=[0,1,3,2]; p = MatMul(q, t); d = Div(p, r); s = Softmax(d) axis=-1; y = MatMul(s, v); output y";

    #[test]
    fn it_becomes_the_operator_with_any_scale_or_none() {
        for body in [
            PLAIN,
            "t = Transpose(k) perm=[0,1,3,2]; p = MatMul(q, t); d = Mul(i, p); s = Softmax(d); y = MatMul(s, v); output y",
            "t = Transpose(k) perm=[0,1,3,2]; p = MatMul(q, t); s = Softmax(p) axis=3; y = MatMul(s, v); output y",
        ] {
            assert_eq!(applies("G28c", &format!("{INPUTS}; {body}")).operators(), "Attention", "{body}");
        }
    }

    #[test]
    fn masks_are_handed_over() {
        for mask in
            ["input m f32[2,3,4,5]", "input m f32[1,3,4,5]", "input m f32[1,1,4,5]", "input m f32[4,5]"]
        {
            let body = "t = Transpose(k) perm=[0,1,3,2]; p = MatMul(q, t); d = Div(p, r); a = Add(m, d); s = Softmax(d2) axis=-1; y = MatMul(s, v); output y"
                .replace("d2", "a");
            let model = applies("G28c", &format!("{INPUTS}; {mask}; {body}"));
            assert_eq!(model.operators(), "Attention", "{mask}");
        }
    }

    #[test]
    fn keys_that_were_split_into_heads_and_turned_at_once_are_only_split() {
        let text = format!("{INPUTS}; {PLAIN}")
            .replace("k f32[2,3,5,8]", "k f32[2,5,3,8]")
            .replace("perm=[0,1,3,2]", "perm=[0,2,3,1]");
        assert_eq!(applies("G28c", &text).operators(), "Transpose Attention");
    }

    #[test]
    fn columns_of_keys_that_others_read_stay_for_them() {
        let text = format!("{INPUTS}; {PLAIN}; z = Neg(t); output z");
        assert_eq!(applies("G28c", &text).operators(), "Transpose Attention Neg");
    }

    #[test]
    fn other_axes_orders_and_repeated_sizes_stay() {
        let text = format!("{INPUTS}; {PLAIN}");
        refuses("G28c", &text.replace("axis=-1", "axis=2"));
        refuses(
            "G28c",
            &text.replace("MatMul(s, v)", "MatMul(v, s)").replace("v f32[2,3,5,6]", "v f32[2,3,6,4]"),
        );
        refuses("G28c", &text.replace("k f32[2,3,5,8]", "k f32[1,3,5,8]"));
        refuses("G28c", &text.replace("v f32[2,3,5,6]", "v f32[2,1,5,6]"));
        refuses("G28c", &text.replace("f32[2,3,", "f32[n,3,"));
        refuses("G28c", &text.replace("2.8284271", "-2.8284271"));
        let row = "input m f32[2,1,1,5]; t = Transpose(k) perm=[0,1,3,2]; p = MatMul(q, t); a = Add(p, m); s = Softmax(a); y = MatMul(s, v); output y";
        refuses("G28c", &format!("{INPUTS}; {row}"));
    }

    #[test]
    fn scores_that_are_their_own_mask_stay() {
        for sum in ["Add(p, p)", "Add(d, d)", "Add(d, p)", "Add(p, d)"] {
            let body = "t = Transpose(k) perm=[0,1,3,2]; p = MatMul(q, t); d = Mul(p, i); a = SUM; s = Softmax(a); y = MatMul(s, v); output y";
            refuses("G28c", &format!("{INPUTS}; {}", body.replace("SUM", sum)));
        }
    }

    #[test]
    fn scales_of_more_dimensions_than_the_scores_which_the_result_gets_stay() {
        let text = format!("{INPUTS}; {PLAIN}");
        applies("G28c", &text.replace("r f32 ", "r f32[1,1,1,1] "));
        refuses("G28c", &text.replace("r f32 ", "r f32[1,1,1,1,1] "));
    }

    #[test]
    fn older_versions_and_results_read_elsewhere_stay() {
        let text = format!("{INPUTS}; {PLAIN}");
        refuses("G28c", &text.replace("opset 23", "opset 22"));
        for read in ["p", "d", "s"] {
            refuses("G28c", &format!("{text}; output {read}"));
        }
    }
}
