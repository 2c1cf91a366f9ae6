//! Layers that take parts of a tensor, or put some into one.

use opscope_trace::DataType;

use super::super::layer::{Made, Site};
use crate::formats::assembly::{Tensor, int, string};

pub(super) fn split(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let (axis, parts) = (site.axis(1)?, site.layer().outputs.len() as i64);
    let made = Made::new("Split", vec![site.value(0)]);
    Some(made.with([int("axis", axis), int("num_outputs", parts)]))
}

/// One of the lengths may be left open, which ONNX doesn't know: that of the output it is.
pub(super) fn variadic_split(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let stated = site.axis(1)?;
    let lengths = match site.ints(2) {
        Some(lengths) if lengths.contains(&-1) => {
            let rank = i64::try_from(site.rank(0)?).ok()?;
            let axis = usize::try_from(if stated < 0 { stated.checked_add(rank)? } else { stated }).ok()?;
            let sizes = (0..lengths.len()).map(|output| site.output_dims(output)?.get(axis).copied());
            let sizes = sizes.collect::<Option<Vec<i64>>>()?;
            sizes.iter().all(|size| *size >= 0).then_some(())?;
            site.store_ints("lengths", &sizes)
        }
        _ => site.value(2),
    };
    Some(Made::new("Split", vec![site.value(0), lengths]).with([int("axis", stated)]))
}

/// Steps come before axes here, and behind them in ONNX.
pub(super) fn slice(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let axes = if site.inputs() > 4 { site.value(4) } else { String::new() };
    Some(Made::new("Slice", vec![site.value(0), site.value(1), site.value(2), axes, site.value(3)]))
}

/// Slices that are constants, without new axes and without an ellipsis. Where axes are dropped, one operator cuts and
/// the other drops.
pub(super) fn strided_slice(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let mask = |key: &str| site.list(key).unwrap_or_default();
    let is_set = |mask: &[i64], at: usize| mask.get(at).is_some_and(|bit| *bit != 0);
    if [mask("new_axis_mask"), mask("ellipsis_mask")].iter().flatten().any(|bit| *bit != 0) {
        return None;
    }
    // A one says that the number isn't looked at, and the slice goes to the end of the axis.
    let (open_begin, open_end, dropped) = (mask("begin_mask"), mask("end_mask"), mask("shrink_axis_mask"));
    let (begins, ends) = (site.ints(1)?, site.ints(2)?);
    let steps = if site.inputs() > 3 { site.ints(3)? } else { vec![1; begins.len()] };
    let rank = site.rank(0)?;
    let count = begins.len();
    if ends.len() != count || steps.len() != count || count > rank {
        return None;
    }
    let (mut from, mut to, mut by) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..count {
        let is_dropped = is_set(&dropped, at);
        let step = if is_dropped { 1 } else { steps[at] };
        let first = if step < 0 { i64::MAX } else { 0 };
        let last = if step < 0 { i64::MIN } else { i64::MAX };
        let begin = if is_set(&open_begin, at) && !is_dropped { first } else { begins[at] };
        from.push(begin);
        to.push(match is_dropped {
            // From the last one on, to the end.
            true if begin == -1 => i64::MAX,
            true => begin.checked_add(1)?,
            false if is_set(&open_end, at) => last,
            false => ends[at],
        });
        by.push(step);
    }
    let axes: Vec<i64> = (0..count as i64).collect();
    let lost: Vec<i64> = axes.iter().copied().filter(|at| is_set(&dropped, *at as usize)).collect();
    let lists = [("begins", &from), ("ends", &to), ("axes", &axes), ("steps", &by)];
    let lists = lists.map(|(word, list)| site.store_ints(word, list));
    let made = Made::new("Slice", std::iter::once(site.value(0)).chain(lists).collect());
    if lost.is_empty() {
        return Some(made);
    }
    // With the axes that are dropped behind it.
    let mut dims = site.output_dims(0).map(<[i64]>::to_vec);
    for axis in &lost {
        dims = dims.filter(|dims| dims.len() >= *axis as usize).map(|mut dims| {
            dims.insert(*axis as usize, 1);
            dims
        });
    }
    let data_type: DataType = site.output_type(0);
    let cut = site.before("slice", made, Tensor { data_type, dims });
    let lost = site.store_ints("dropped", &lost);
    Some(Made::new("Squeeze", vec![cut, lost]))
}

pub(super) fn gather(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    (site.number("batch_dims").unwrap_or(0) == 0).then_some(())?;
    let axis = site.axis(2)?;
    Some(Made::new("Gather", vec![site.value(0), site.value(1)]).with([int("axis", axis)]))
}

/// Before the eighth set, the axes of the batch became one.
pub(super) fn gather_nd(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let batch: i64 = site.number("batch_dims").unwrap_or(0);
    (site.opset() >= 8 || batch < 2).then_some(())?;
    Some(Made::new("GatherND", site.values()).with([int("batch_dims", batch)]))
}

/// The way in which parts are put in, in ONNX's words.
fn reduction(site: &Site<'_, '_, '_, '_>) -> Option<&'static str> {
    Some(match site.text("reduction").as_deref() {
        None | Some("none") => "none",
        Some("sum") => "add",
        Some("prod") => "mul",
        Some("min") => "min",
        Some("max") => "max",
        _ => return None,
    })
}

pub(super) fn scatter_nd(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let reduction = reduction(site)?;
    Some(Made::new("ScatterND", site.values()).with([string("reduction", reduction)]))
}

pub(super) fn scatter_elements(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let (axis, reduction) = (site.axis(3)?, reduction(site)?);
    // Without the first values, sums begin with the parts alone.
    (reduction == "none" || site.flag("use_init_val") != Some(false)).then_some(())?;
    let made = Made::new("ScatterElements", vec![site.value(0), site.value(1), site.value(2)]);
    Some(made.with([int("axis", axis), string("reduction", reduction)]))
}
