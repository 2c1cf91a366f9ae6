//! G18: a convolution with a very long kernel becomes a sum of convolutions with shorter ones.

use crate::constant::{floats, is_float, list};
use crate::draft::{Draft, Edit, NodeIndex};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::{Limit, Rewrite};

/// See the module.
pub struct LargeKernel {
    /// The longest side of a kernel that Ascend's convolutions take well.
    pub longest: u64,
}

impl LargeKernel {
    /// With the size that is published for Ascend's chips.
    pub const PUBLISHED: Self = Self { longest: 192 };
}

static INFO: Info = Info {
    id: "G18",
    name: "large-kernel-split",
    exactness: Exactness::Rounding,
    use_: Use::Named,
    summary: "Conv with a kernel side beyond 192 -> Slices + Convs of up to 192 + Sum",
    condition: "The weights are constant, strides and dilations are 1, there is no padding along that \
                side, and the input's size along it is known. Sums are taken in another order. It pays on \
                Ascend chips.",
};

impl Rewrite for LargeKernel {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn limit(&self) -> Option<Limit> {
        Some(Limit { name: "kernel", value: self.longest })
    }

    fn with_limit(&self, value: u64) -> Option<Box<dyn Rewrite>> {
        Some(Box::new(Self { longest: value }))
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Conv"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let conv = draft.node(at).filter(|_| draft.opset() >= 10)?;
        let weight = conv.constant(1).filter(|weight| is_float(weight.data_type))?;
        let longest = self.longest.max(1);
        let axis = (2..weight.dims.len()).find(|&axis| weight.dims[axis] > longest)?;
        let attributes = conv.attributes();
        let all_are =
            |name, wanted| attributes.ints(name).is_none_or(|list: &[i64]| list.iter().all(|n| *n == wanted));
        let unpadded =
            all_are("pads", 0) && matches!(attributes.string("auto_pad"), None | Some("NOTSET" | "VALID"));
        if !all_are("strides", 1) || !all_are("dilations", 1) || !unpadded {
            return None;
        }
        let size = draft.shape(conv.input(0)).and_then(|shape| *shape.dims.get(axis)?)?;
        let (kernel, results) = (weight.dims[axis], size.checked_sub(weight.dims[axis])? + 1);

        let mut edit = Edit::new("piece");
        edit.remove(conv).because(format!("kernel {:?}", &weight.dims[2..]));
        let numbers = weight.to_f64s()?;
        let (row, behind) = (kernel as usize, weight.dims[axis + 1..].iter().product::<u64>() as usize);
        let along = edit.constant(draft, &format!("{}_axis", conv.input(0)), list(&[axis as i64]));
        let mut sums = Vec::new();
        for start in (0..kernel).step_by(longest as usize) {
            let length = longest.min(kernel - start);
            let mut dims = weight.dims.clone();
            dims[axis] = length;
            let (from, to) = (start as usize * behind, (start + length) as usize * behind);
            let piece: Vec<f64> =
                numbers.chunks(row * behind).flat_map(|chunk| chunk[from..to].iter().copied()).collect();
            let piece = edit.constant(draft, conv.input(1), floats(weight.data_type, &dims, &piece)?);
            let end = start + results + length - 1;
            let starts = edit.constant(draft, &format!("{}_start", conv.input(0)), list(&[start as i64]));
            let ends = edit.constant(draft, &format!("{}_end", conv.input(0)), list(&[end as i64]));
            let part = edit.apply(draft, "Slice", &[conv.input(0), &starts, &ends, &along], conv.input(0));
            let mut inputs = vec![part.as_str(), piece.as_str()];
            // The bias is added once.
            if start == 0 && !conv.input(2).is_empty() {
                inputs.push(conv.input(2));
            }
            let made = node("Conv", &inputs, &[]).like(conv.proto).without("kernel_shape");
            sums.push(edit.apply_node(draft, made, conv.output(0)));
        }
        let sums: Vec<&str> = sums.iter().map(String::as_str).collect();
        edit.add(node("Sum", &sums, &[conv.output(0)]));
        Some(edit)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    #[test]
    fn a_long_kernel_is_taken_apart() {
        let text = "input x f32[1,2,450]; const w random[3,2,400]; const b random[3]; y = Conv(x, w, b) kernel_shape=[400]; output y";
        assert_eq!(applies("G18", text).operators(), "Slice Conv Slice Conv Slice Conv Sum");
        let flat = "input x f32[1,2,3,200]; const w random[2,1,3,193]; y = Conv(x, w) group=2; output y";
        assert_eq!(applies("G18", flat).operators(), "Slice Conv Slice Conv Sum");
    }

    #[test]
    fn shorter_kernels_strides_paddings_and_open_sizes_stay() {
        let text = "input x f32[1,2,450]; const w random[3,2,400]; y = Conv(x, w); output y";
        refuses("G18", &text.replace("400", "192"));
        refuses("G18", &text.replace("Conv(x, w)", "Conv(x, w) strides=[2]"));
        refuses("G18", &text.replace("Conv(x, w)", "Conv(x, w) pads=[1,1]"));
        refuses("G18", &text.replace("Conv(x, w)", "Conv(x, w) auto_pad=\"SAME_UPPER\""));
        refuses("G18", &text.replace("f32[1,2,450]", "f32[1,2,n]"));
        refuses("G18", &text.replace("const w random[3,2,400]", "input w f32[3,2,400]"));
    }
}
