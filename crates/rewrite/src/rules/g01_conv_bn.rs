//! G01: a BatchNormalization behind a Conv, ConvTranspose or Gemm goes into the weights.

use super::affine::{Affine, Weights};
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::rewrite::Rewrite;

/// See the module.
pub struct ConvBatchNorm;

static INFO: Info = Info {
    id: "G01",
    name: "conv-bn-fold",
    exactness: Exactness::Rounding,
    use_: Use::Always,
    summary: "Conv, ConvTranspose or Gemm + BatchNormalization -> one of them with other weights",
    condition: "Weights, scale, shift, mean and variance are constant, the normalisation is in inference \
                mode, and nothing else reads what is between. Folded in double precision; only rounding \
                differs, which in half precision can be much (bounded).",
};

impl Rewrite for ConvBatchNorm {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["BatchNormalization"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let normalization = draft.node(at)?;
        let weights = Weights::of(normalization.producer(0)?)?;
        let affine = affine(draft, normalization)?;
        weights.absorb(draft, &affine, normalization, "bn")
    }
}

/// The scale and shift of a BatchNormalization; `None` if it depends on the batch.
pub fn affine(draft: &Draft<'_>, normalization: NodeView<'_>) -> Option<Affine> {
    let attributes = normalization.attributes();
    // Before version 7, inference had to be asked for; until version 9, there was a kind that normalises
    // every position by itself.
    let for_inference = match draft.opset() {
        ..7 => attributes.int("is_test").unwrap_or(0) != 0,
        _ => attributes.int("training_mode").unwrap_or(0) == 0,
    };
    if !for_inference || attributes.int("spatial").unwrap_or(1) == 0 || normalization.only_output().is_none()
    {
        return None;
    }
    let epsilon = f64::from(attributes.float("epsilon").unwrap_or(1e-5));
    let [scale, shift, mean, variance] = [1, 2, 3, 4].map(|place| normalization.constant(place)?.to_f64s());
    let (gain, shift, mean, variance) = (scale?, shift?, mean?, variance?);
    if [shift.len(), mean.len(), variance.len()].iter().any(|&n| n != gain.len()) {
        return None;
    }
    let scale: Vec<f64> = gain.iter().zip(&variance).map(|(g, v)| g / (v + epsilon).sqrt()).collect();
    let shift = (0..gain.len()).map(|c| shift[c] - mean[c] * scale[c]).collect();
    Some(Affine { scale, shift })
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, net, refuses};

    const STATISTICS: &str = "const s random[6]; const b random[6]; const m random[6]; const v positive[6]";

    #[test]
    fn a_normalisation_goes_into_the_convolution_before_it() {
        let text = format!(
            "{STATISTICS}; input x f32[1,4,7,5]; const w random[6,2,3,3]; const c random[6]
             y = Conv(x, w, c) group=2 pads=[1,1,1,1] strides=[2,1]
             z = BatchNormalization(y, s, b, m, v) epsilon=0.001; r = Relu(z); output r"
        );
        let applied = applies("G01", &text);
        assert_eq!(applied.operators(), "Conv Relu");
        assert_eq!(applied.model.graph().proto().initializer.len(), 2, "old weights are gone");
    }

    #[test]
    fn a_convolution_without_bias_gets_one() {
        let text = format!(
            "{STATISTICS}; input x f32[2,3,8]; const w random[6,3,3]; y = Conv(x, w)
             z = BatchNormalization(y, s, b, m, v); output z f32[2,6,6]"
        );
        assert_eq!(applies("G01", &text).operators(), "Conv");
    }

    #[test]
    fn a_transposed_convolution_is_scaled_along_its_output_channels_in_every_group() {
        let text = format!(
            "{STATISTICS}; input x f32[1,4,5,5]; const w random[4,3,2,2]; const c random[6]
             y = ConvTranspose(x, w, c) group=2 strides=[2,2]
             z = BatchNormalization(y, s, b, m, v); output z"
        );
        assert_eq!(applies("G01", &text).operators(), "ConvTranspose");
    }

    #[test]
    fn a_gemm_is_scaled_whichever_way_its_weights_lie() {
        for (dims, attributes) in [("4,6", "alpha=0.5 beta=2.0"), ("6,4", "transB=1")] {
            for bias in ["6", "1,6", "1"] {
                let text = format!(
                    "{STATISTICS}; input x f32[3,4]; const w random[{dims}]; const c random[{bias}]
                     y = Gemm(x, w, c) {attributes}; z = BatchNormalization(y, s, b, m, v); output z"
                );
                assert_eq!(applies("G01", &text).operators(), "Gemm");
            }
        }
    }

    #[test]
    fn it_stays_where_weights_or_statistics_are_not_constant() {
        refuses(
            "G01",
            &format!(
                "{STATISTICS}; input x f32[1,4,7,7]; input w f32[6,4,3,3]; y = Conv(x, w)
                 z = BatchNormalization(y, s, b, m, v); output z"
            ),
        );
        refuses(
            "G01",
            "const s random[6]; const b random[6]; const v positive[6]; input m f32[6]
             input x f32[1,4,7,7]; const w random[6,4,3,3]; y = Conv(x, w)
             z = BatchNormalization(y, s, b, m, v); output z",
        );
    }

    #[test]
    fn a_default_that_the_caller_can_replace_is_not_constant() {
        let body = format!(
            "{STATISTICS}; input x f32[1,4,7,7]; input w f32[6,4,3,3]; const w random[6,4,3,3]
             y = Conv(x, w); z = BatchNormalization(y, s, b, m, v); output z"
        );
        refuses("G01", &body);
        // Before the fourth version of the format, all weights had to be listed as inputs.
        let listed = format!("ir 3; {body}; input s f32[6]; input b f32[6]; input m f32[6]; input v f32[6]");
        let applied = applies("G01", &listed);
        let graph = applied.model.graph().proto();
        assert_eq!(graph.input.len(), graph.initializer.len() + 1, "the new weights are listed as well");
    }

    #[test]
    fn a_normalisation_of_batches_stays() {
        refuses(
            "G01",
            &format!(
                "{STATISTICS}; input x f32[1,4,7,7]; const w random[6,4,3,3]; y = Conv(x, w)
                 z, n, o = BatchNormalization(y, s, b, m, v) training_mode=1; output z"
            ),
        );
        refuses(
            "G01",
            &format!(
                "opset 6; {STATISTICS}; input x f32[1,4,7,7]; const w random[6,4,3,3]; y = Conv(x, w)
                 z = BatchNormalization(y, s, b, m, v); output z"
            ),
        );
        refuses(
            "G01",
            &format!(
                "opset 8; {STATISTICS}; input x f32[1,4,7,7]; const w random[6,4,3,3]; y = Conv(x, w)
                 z = BatchNormalization(y, s, b, m, v) spatial=0; output z"
            ),
        );
    }

    #[test]
    fn a_convolution_that_someone_else_reads_stays() {
        let text = format!(
            "{STATISTICS}; input x f32[1,4,7,7]; const w random[6,4,3,3]; y = Conv(x, w)
             z = BatchNormalization(y, s, b, m, v); a = Relu(y); output z; output a"
        );
        refuses("G01", &text);
        refuses("G01", &text.replace("output a", "output y").replace("a = Relu(y);", ""));
    }

    #[test]
    fn weights_that_do_not_fit_their_type_any_more_stay() {
        refuses(
            "G01",
            "input x f16[1,1,4,4]; const w f16[1,1,1,1] 60000; const s f16[1] 1; const b f16[1] 0
             const m f16[1] 0; const v f16[1] 0.01; y = Conv(x, w)
             z = BatchNormalization(y, s, b, m, v); output z",
        );
    }

    #[test]
    fn weights_shared_with_another_convolution_are_not_changed_for_it() {
        let text = format!(
            "{STATISTICS}; input x f32[1,4,7,7]; const w random[6,4,3,3]; y = Conv(x, w)
             z = BatchNormalization(y, s, b, m, v); o = Conv(x, w); output z; output o"
        );
        let applied = applies("G01", &text);
        assert_eq!(applied.operators(), "Conv Conv");
        assert!(applied.model.graph().value_by_name("w").is_some());
        assert!(net(&text).graph().value_by_name("w").is_some());
    }
}
