//! G08: a convolution of no effect between a mirrored Pad and a Mul.

use crate::constant::{is_float, repeated};
use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct PadConv;

static INFO: Info = Info {
    id: "G08",
    name: "mirror-pad-conv",
    exactness: Exactness::Bounded,
    use_: Use::Named,
    summary: "Pad(reflect) + Mul -> Pad + Conv by 1 + Mul",
    condition: "Four dimensions, of which the channels are known, and only the Mul reads the padded value. \
                Each number is multiplied by 1, which is exact but where the network is quantised. It \
                saves two changes of layout on Ascend chips; elsewhere it only costs.",
};

impl Rewrite for PadConv {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Pad"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let pad = draft.node(at).filter(|pad| pad.attributes().string("mode") == Some("reflect"))?;
        draft.only_consumer(pad.output(0)).filter(|next| next.is("Mul"))?;
        let shape = draft.shape(pad.output(0)).filter(|shape| shape.dims.len() == 4)?;
        let channels = shape.dims[1].filter(|channels| *channels > 0 && is_float(shape.data_type))?;
        let ones = repeated(shape.data_type, &[channels, 1, 1, 1], 1.0)?;
        let mut edit = Edit::new("padded");
        edit.remove(pad);
        let weight = edit.constant(draft, &format!("{}_ones", pad.output(0)), ones);
        let mut padded = pad.proto.clone();
        padded.output = vec![edit.fresh(draft, pad.output(0))];
        let value = padded.output[0].clone();
        edit.add(padded);
        let conv = node("Conv", &[&value, &weight], &[pad.output(0)]);
        edit.add(conv.int("group", i64::try_from(channels).ok()?).ints("kernel_shape", &[1, 1]));
        Some(edit)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    const PAD: &str = "input x f32[1,3,5,5]; const p i64[8] 0 0 1 1 0 0 1 1; const k random[3,1,1]";

    #[test]
    fn a_convolution_by_one_comes_between() {
        let text = format!("{PAD}; y = Pad(x, p) mode=\"reflect\"; z = Mul(y, k); output z");
        assert_eq!(applies("G08", &text).operators(), "Pad Conv Mul");
    }

    #[test]
    fn other_modes_readers_and_dimensions_stay() {
        refuses("G08", &format!("{PAD}; y = Pad(x, p); z = Mul(y, k); output z"));
        refuses("G08", &format!("{PAD}; y = Pad(x, p) mode=\"reflect\"; z = Add(y, k); output z"));
        refuses("G08", &format!("{PAD}; y = Pad(x, p) mode=\"reflect\"; z = Mul(y, k); output z; output y"));
        let three =
            PAD.replace("f32[1,3,5,5]", "f32[3,5,5]").replace("i64[8] 0 0 1 1 0 0 1 1", "i64[6] 0 1 1 0 1 1");
        refuses("G08", &format!("{three}; y = Pad(x, p) mode=\"reflect\"; z = Mul(y, k); output z"));
        let open = PAD.replace("f32[1,3,5,5]", "f32[1,n,5,5]");
        refuses("G08", &format!("{open}; y = Pad(x, p) mode=\"reflect\"; z = Mul(y, k); output z"));
    }
}
