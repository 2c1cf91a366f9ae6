//! G03: Mul, Div, Add or Sub with a constant behind a Conv, ConvTranspose or Gemm goes into the weights.

use super::affine::{Affine, Weights, by_channel};
use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::rewrite::Rewrite;

/// See the module.
pub struct ConvScale;

static INFO: Info = Info {
    id: "G03",
    name: "conv-scale-fold",
    exactness: Exactness::Rounding,
    use_: Use::Always,
    summary: "Conv, ConvTranspose or Gemm + Mul, Div, Add or Sub by a constant -> one of them with other weights",
    condition: "The weights are constant, the other operand is a constant number or one for each channel \
                (a divisor isn't 0), and nothing else reads what is between. Folded in double precision; \
                only rounding differs, which in half precision can be much (bounded).",
};

impl Rewrite for ConvScale {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Mul", "Div", "Add", "Sub"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        // Older versions broadcast by rules of their own.
        if draft.opset() < 7 {
            return None;
        }
        let node = draft.node(at)?;
        let (from, other) = node.either_way().into_iter().find(|(from, other)| {
            node.producer(*from)
                .is_some_and(|producer| super::affine::PRODUCERS.contains(&producer.op_type()))
                && draft.is_constant(node.input(*other))
        })?;
        let weights = Weights::of(node.producer(from)?)?;
        let channels = weights.channels()?;
        let numbers = by_channel(&node.constant(other)?, weights.rank(), channels)?;
        let (ones, zeros) = (vec![1.0; channels], vec![0.0; channels]);
        let negative = |numbers: Vec<f64>| numbers.into_iter().map(|x| -x).collect::<Vec<_>>();
        let (scale, shift) = match (node.op_type(), from) {
            ("Mul", _) => (numbers, zeros),
            ("Add", _) => (ones, numbers),
            ("Sub", 0) => (ones, negative(numbers)),
            ("Sub", _) => (negative(ones), numbers),
            ("Div", 0) => (numbers.into_iter().map(f64::recip).collect(), zeros),
            _ => return None,
        };
        weights.absorb(draft, &Affine { scale, shift }, node, "scaled")
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::Model;
    use opscope_model::proto::{AttributeProto, AttributeType, GraphProto, NodeProto};

    use crate::Selection;
    use crate::testing::{applies, net, refuses};

    fn conv(rest: &str) -> String {
        format!(
            "input x f32[1,4,7,5]; const w random[6,4,3,3]; const b random[6]; y = Conv(x, w, b); {rest}; output z"
        )
    }

    #[test]
    fn channels_that_a_file_only_claims_are_not_made() {
        // 2^40 channels of nothing, and of as many groups.
        for conv in [
            "const w f32[1099511627776,0,3,3]; y = Conv(x, w)",
            "const w random[1,1,3,3]; y = ConvTranspose(x, w) group=1099511627776",
        ] {
            let text = format!("input x f32[1,1,7,7]; const k f32 2; {conv}; z = Mul(y, k); output z");
            refuses("G03", &text);
        }
    }

    #[test]
    fn constants_for_each_channel_and_single_ones_go_into_the_weights() {
        for constant in
            ["positive[6,1,1]", "positive[1,6,1,1]", "positive[1]", "positive[1,1,1,1]", "f32 0.3"]
        {
            for expression in ["Mul(y, k)", "Mul(k, y)", "Add(y, k)", "Sub(y, k)", "Sub(k, y)", "Div(y, k)"] {
                let text = conv(&format!("const k {constant}; z = {expression}"));
                assert_eq!(applies("G03", &text).operators(), "Conv", "{text}");
            }
        }
    }

    /// The convolution with a graph in an attribute, as damaged files have them: it reads these values.
    fn with_a_branch(reads: &[&str]) -> Model {
        let mut proto = net(&conv("const k f32 0.3; z = Mul(y, k)")).proto().clone();
        let inner = NodeProto {
            op_type: Some("Sum".to_owned()),
            input: reads.iter().map(|&name| name.to_owned()).collect(),
            output: vec!["within".to_owned()],
            ..NodeProto::default()
        };
        let branch = GraphProto { node: vec![inner], ..GraphProto::default() };
        let nodes = proto.graph.iter_mut().flat_map(|graph| &mut graph.node);
        for node in nodes.filter(|node| node.op_type() == "Conv") {
            node.attribute.push(AttributeProto {
                name: Some("then_branch".to_owned()),
                r#type: Some(AttributeType::Graph as i32),
                g: Some(Box::new(branch.clone())),
                ..AttributeProto::default()
            });
        }
        Model::from_proto(proto, None).expect("a sound model")
    }

    #[test]
    fn what_a_graph_reads_that_stays_with_the_convolution_stays_too() {
        let only = Selection { only: vec!["G03".to_owned()], ..Selection::default() };
        let only = only.resolve().expect("a known rewrite");
        let rewritten =
            crate::rewrite(&with_a_branch(&["w", "b"]), &only, None, false).expect("a sound rewrite");
        assert_eq!(rewritten.applications.len(), 1);
        let after = Model::from_proto(rewritten.proto, None).expect("a sound model");
        assert_eq!(crate::testing::operators(&after), "Conv");
    }

    #[test]
    fn a_chain_goes_in_link_by_link() {
        let text = conv(
            "const k random[6,1,1]; const l random[6,1,1]; u = Mul(y, k); t = Sub(l, u); const h f32 2; z = Div(t, h)",
        );
        assert_eq!(applies("G03", &text).operators(), "Conv");
    }

    #[test]
    fn transposed_convolutions_and_gemms_take_them_as_well() {
        let text = "input x f32[1,4,5]; const w random[4,3,2]; const k random[1,6,1]
             y = ConvTranspose(x, w) group=2; z = Mul(y, k); output z";
        assert_eq!(applies("G03", text).operators(), "ConvTranspose");
        let text = "input x f32[3,4]; const w random[4,6]; const k random[6]; y = Gemm(x, w); z = Add(y, k); output z";
        assert_eq!(applies("G03", text).operators(), "Gemm");
    }

    #[test]
    fn constants_along_other_axes_or_of_more_dimensions_stay() {
        refuses("G03", &conv("const k random[3]; z = Mul(y, k)"));
        refuses("G03", &conv("const k random[5,3]; z = Mul(y, k)"));
        refuses("G03", &conv("const k random[2,1,6,1,1]; z = Mul(y, k)"));
        refuses("G03", &conv("const k random[1,1,1,1,1]; z = Mul(y, k)"));
    }

    #[test]
    fn a_quotient_by_the_result_or_by_zero_stays() {
        refuses("G03", &conv("const k positive[6,1,1]; z = Div(k, y)"));
        refuses("G03", &conv("const k f32 0; z = Div(y, k)"));
    }

    #[test]
    fn operands_that_are_not_constant_stay() {
        refuses("G03", &conv("input k f32[6,1,1]; z = Mul(y, k)"));
    }

    #[test]
    fn a_result_that_someone_else_reads_stays() {
        refuses("G03", &conv("const k f32 2; z = Mul(y, k); o = Relu(y); output o"));
    }

    #[test]
    fn the_broadcasting_of_old_versions_stays() {
        refuses("G03", &format!("opset 6; {}", conv("const k f32 2; z = Mul(y, k) broadcast=1")));
    }

    #[test]
    fn a_gemm_with_a_bias_for_each_row_stays() {
        refuses(
            "G03",
            "input x f32[3,4]; const w random[4,6]; const c random[3,1]; const k f32 2
             y = Gemm(x, w, c); z = Mul(y, k); output z",
        );
    }
}
