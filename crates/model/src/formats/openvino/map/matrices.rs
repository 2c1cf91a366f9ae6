//! Products of matrices, attention, normalisation, reductions: layers that sum up.

use super::super::layer::{Made, Site};
use super::ONNX_RUNTIME;
use crate::formats::assembly::{float, int, ints};

pub(super) fn matmul(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    // A vector isn't turned.
    let is_turned = |site: &Site<'_, '_, '_, '_>, key: &str, input: usize| {
        site.flag(key) == Some(true) && site.rank(input) != Some(1)
    };
    let turned = [is_turned(site, "transpose_a", 0), is_turned(site, "transpose_b", 1)].map(i64::from);
    let made = |name: &str, site: &mut Site<'_, '_, '_, '_>| Made::new(name, site.values());
    Some(match (turned, site.rank(0), site.rank(1)) {
        ([0, 0], _, _) => made("MatMul", site),
        ([a, b], Some(2), Some(2)) => made("Gemm", site).with([int("transA", a), int("transB", b)]),
        ([a, b], _, _) => {
            made("FusedMatMul", site).in_domain(ONNX_RUNTIME).with([int("transA", a), int("transB", b)])
        }
    })
}

/// Attention of heads that are a size of their own. Its mask may be a number where a scale follows, and is none then.
pub(super) fn attention(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    if (0..3).any(|input| site.rank(input) != Some(4)) || site.inputs() > 5 {
        return None;
    }
    let is_causal = site.flag("causal") == Some(true);
    let scale = if site.inputs() > 4 { Some(site.float(4)?) } else { None };
    let mut inputs = vec![site.value(0), site.value(1), site.value(2)];
    if site.inputs() > 3 && !is_causal && site.rank(3)? > 0 {
        inputs.push(site.value(3));
    }
    let scale = scale.map(|scale| float("scale", scale));
    Some(Made::new("Attention", inputs).with([int("is_causal", i64::from(is_causal))]).with(scale))
}

/// The image was the third input at first, and is the first one since the fifth set.
pub(super) fn batch_norm(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let order = if site.opset() < 5 { [2, 0, 1, 3, 4] } else { [0, 1, 2, 3, 4] };
    let epsilon = site.number("epsilon").or(site.number("eps"))?;
    let inputs = order.map(|input| site.value(input)).to_vec();
    Some(Made::new("BatchNormalization", inputs).with([float("epsilon", epsilon)]))
}

pub(super) fn group_norm(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let (groups, epsilon) = (site.number("num_groups")?, site.number("epsilon")?);
    let made = Made::new("GroupNormalization", site.values());
    Some(made.with([int("num_groups", groups), float("epsilon", epsilon)]))
}

/// ONNX knows normalisation across channels only.
pub(super) fn local_response(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    (site.ints(1)? == [1]).then_some(())?;
    let number = |key| site.number::<f32>(key);
    let numbers = [("alpha", number("alpha")?), ("beta", number("beta")?), ("bias", number("bias")?)];
    let size = site.number("size")?;
    let numbers = numbers.map(|(name, value)| float(name, value));
    Some(Made::new("LRN", vec![site.value(0)]).with([int("size", size)]).with(numbers))
}

/// Without axes nothing is reduced.
pub(super) fn reduce(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let name = match &*site.layer().op_type {
        "ReduceL1" => "ReduceL1",
        "ReduceL2" => "ReduceL2",
        "ReduceMax" => "ReduceMax",
        "ReduceMean" => "ReduceMean",
        "ReduceMin" => "ReduceMin",
        "ReduceProd" => "ReduceProd",
        "ReduceSum" => "ReduceSum",
        _ => return None,
    };
    let keeps = i64::from(site.flag("keep_dims") == Some(true));
    // An axis may be a number without a list.
    let axes = match (site.rank(1), site.ints(1)) {
        (Some(0), Some(axes)) => site.store_ints("axes", &axes),
        (Some(0), None) => return None,
        _ => site.value(1),
    };
    let made = Made::new(name, vec![site.value(0), axes]);
    Some(made.with([int("keepdims", keeps), int("noop_with_empty_axes", 1)]))
}

/// Sorted by their places, they are none of ONNX's.
pub(super) fn top_k(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let axis = site.number("axis")?;
    let is_largest = match site.text("mode")?.as_str() {
        "max" => 1,
        "min" => 0,
        _ => return None,
    };
    let is_sorted = match site.text("sort")?.as_str() {
        "value" => 1,
        "none" => 0,
        _ => return None,
    };
    let count = match site.rank(1)? {
        0 => site.reshaped(1, "count", &[1]),
        _ => site.value(1),
    };
    let made = Made::new("TopK", vec![site.value(0), count]);
    let made = made.with([int("axis", axis), int("largest", is_largest), int("sorted", is_sorted)]);
    Some(made.int64(1))
}

/// Lists of the sizes of a window, in ONNX's words.
pub(super) fn named_lists<const N: usize>(
    site: &Site<'_, '_, '_, '_>,
    names: [(&str, &str); N],
) -> Vec<crate::proto::AttributeProto> {
    names.iter().filter_map(|(own, onnx)| Some(ints(onnx, site.list(own)?))).collect()
}
