//! Layers that move a window over an image, and those that resample one.

use super::super::layer::{Made, Site};
use super::matrices::named_lists;
use crate::formats::assembly::{float, int, ints, string};
use crate::proto::AttributeProto;

/// The padding, as sizes or as a rule. With a rule, sizes that stand beside it don't count.
fn padding(site: &Site<'_, '_, '_, '_>) -> Option<Vec<AttributeProto>> {
    Some(match site.text("auto_pad").as_deref() {
        None | Some("explicit" | "notset") => {
            let begin = site.list("pads_begin").unwrap_or_default();
            let end = site.list("pads_end").unwrap_or_default();
            (begin.len() == end.len()).then_some(())?;
            // Without any, ONNX's default is the same.
            (!begin.is_empty()).then(|| ints("pads", [begin, end].concat())).into_iter().collect()
        }
        Some("same_upper") => vec![string("auto_pad", "SAME_UPPER")],
        Some("same_lower") => vec![string("auto_pad", "SAME_LOWER")],
        Some("valid") => vec![string("auto_pad", "VALID")],
        _ => return None,
    })
}

/// The filter of a convolution with its window and groups. Those of groups have the number of groups before the sizes
/// that ONNX has, one of which it multiplies: that of outputs, or of inputs where the convolution is transposed.
fn filter(site: &mut Site<'_, '_, '_, '_>, has_groups: bool) -> Option<(String, Vec<AttributeProto>)> {
    let dims = site.dims(1)?.to_vec();
    let (sizes, group) = match (&dims[..], has_groups) {
        ([group, first, rest @ ..], true) => {
            (dims.iter().all(|size| *size > 0)).then_some(())?;
            let sizes: Vec<i64> =
                std::iter::once(group.checked_mul(*first)?).chain(rest.iter().copied()).collect();
            (sizes, *group)
        }
        _ => (dims.clone(), 1),
    };
    let kernel = sizes.get(2..).filter(|kernel| kernel.iter().all(|size| *size > 0))?;
    let attributes = vec![ints("kernel_shape", kernel), int("group", group)];
    let filter = if has_groups { site.reshaped(1, "filter", &sizes) } else { site.value(1) };
    Some((filter, attributes))
}

const SLIDING: [(&str, &str); 2] = [("strides", "strides"), ("dilations", "dilations")];

pub(super) fn convolution(site: &mut Site<'_, '_, '_, '_>, has_groups: bool) -> Option<Made> {
    let padding = padding(site)?;
    let (filter, attributes) = filter(site, has_groups)?;
    let made = Made::new("Conv", vec![site.value(0), filter]);
    Some(made.with(attributes).with(named_lists(site, SLIDING)).with(padding))
}

pub(super) fn transposed(site: &mut Site<'_, '_, '_, '_>, has_groups: bool) -> Option<Made> {
    let mut padding = padding(site)?;
    // A rule says where the padding lies that an output of stated sizes needs, and nothing without these.
    if site.inputs() < 3 {
        padding.retain(|attribute| attribute.name() != "auto_pad");
    }
    let stated = if site.inputs() > 2 { Some(ints("output_shape", site.ints(2)?)) } else { None };
    let (filter, attributes) = filter(site, has_groups)?;
    let made = Made::new("ConvTranspose", vec![site.value(0), filter]).with(attributes);
    let made = made.with(named_lists(site, SLIDING)).with(padding).with(stated);
    Some(made.with(named_lists(site, [("output_padding", "output_padding")])))
}

/// Offsets come before the filter here, and behind it in ONNX.
pub(super) fn deformable(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let padding = padding(site)?;
    // Without it, points beside the image count as zeros at once.
    (site.flag("bilinear_interpolation_pad") == Some(true)).then_some(())?;
    let kernel = site.dims(2)?.get(2..)?.to_vec();
    let groups = [("group", "group"), ("deformable_group", "offset_group")];
    let groups = groups.map(|(own, onnx)| int(onnx, site.number(own).unwrap_or(1)));
    let mut inputs = vec![site.value(0), site.value(2), site.value(1)];
    if site.inputs() > 3 {
        inputs.extend([String::new(), site.value(3)]);
    }
    let made = Made::new("DeformConv", inputs).with([ints("kernel_shape", kernel)]).with(groups);
    Some(made.with(named_lists(site, SLIDING)).with(padding))
}

/// The options of pooling of both kinds: the window, its steps, the padding, and how sizes are rounded.
fn pooling(site: &Site<'_, '_, '_, '_>) -> Option<Vec<AttributeProto>> {
    let kernel = site.list("kernel")?;
    let rounds_up = match site.text("rounding_type").as_deref() {
        None | Some("floor") => false,
        Some("ceil" | "ceil_torch") => true,
        _ => return None,
    };
    if rounds_up && !ends_within(site, &kernel) {
        return None;
    }
    let mut attributes = vec![ints("kernel_shape", kernel), int("ceil_mode", i64::from(rounds_up))];
    attributes.extend(named_lists(site, SLIDING));
    attributes.extend(padding(site)?);
    Some(attributes)
}

/// Whether the last window of each side begins within the image or the padding before it, as ONNX has it.
fn ends_within(site: &Site<'_, '_, '_, '_>, kernel: &[i64]) -> bool {
    let (Some(before), Some(behind)) = (site.dims(0), site.output_dims(0)) else { return true };
    let strides = site.list("strides").unwrap_or_default();
    let pads = site.list("pads_begin").unwrap_or_default();
    (0..kernel.len()).all(|side| {
        let number = |list: &[i64], default| list.get(side).copied().unwrap_or(default);
        let (Some(&size), Some(&count)) = (before.get(side + 2), behind.get(side + 2)) else { return true };
        let begin = count.saturating_sub(1).saturating_mul(number(&strides, 1));
        size < 0 || count < 0 || begin < size.saturating_add(number(&pads, 0))
    })
}

/// The places of the greatest, the second output, are counted from the first axis in ONNX.
pub(super) fn max_pool(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let counts_from_first = site.number("axis").unwrap_or(0) == 0;
    (site.layer().outputs.len() < 2 || counts_from_first).then_some(())?;
    let pooling = pooling(site)?;
    Some(Made::new("MaxPool", vec![site.value(0)]).with(pooling).int64(1).optional_from(1))
}

pub(super) fn average_pool(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let counts_padding = i64::from(site.flag("exclude-pad").or(site.flag("exclude_pad")) == Some(false));
    let pooling = pooling(site)?;
    Some(
        Made::new("AveragePool", vec![site.value(0)])
            .with(pooling)
            .with([int("count_include_pad", counts_padding)]),
    )
}

/// Sizes or factors for some axes. Before the fourth set, it wasn't laid down where the points lie that are taken.
pub(super) fn resize(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    if site.opset() < 4 || site.layer().data.get("mode").is_none() {
        return None;
    }
    let is_new = site.opset() >= 11;
    let mode = match site.text("mode")?.as_str() {
        "nearest" => "nearest",
        "linear" | "linear_onnx" => "linear",
        "cubic" => "cubic",
        _ => return None,
    };
    let place = site.text("coordinate_transformation_mode").unwrap_or_else(|| "half_pixel".to_owned());
    let nearest = site.text("nearest_mode").unwrap_or_else(|| "round_prefer_floor".to_owned());
    let is_padded = |key| site.list(key).is_some_and(|pads| pads.iter().any(|size| *size != 0));
    if place == "tf_half_pixel_for_nn"
        || (mode == "nearest" && nearest == "simple")
        || is_padded("pads_begin")
        || is_padded("pads_end")
    {
        return None;
    }
    let by_sizes = match site.text("shape_calculation_mode")?.as_str() {
        "sizes" => true,
        "scales" => false,
        _ => return None,
    };
    let axes_input = if is_new { 2 } else { 3 };
    // Until the eleventh set, sizes and factors are inputs of their own, one of which isn't looked at.
    let factors = if is_new || by_sizes { 1 } else { 2 };
    let has_axes = site.inputs() > axes_input;
    let is_unread = site.is_unread(factors) || has_axes && site.is_unread(axes_input);
    let (axes, inputs) = match is_unread {
        // Without the file of constants, the ports tell the sizes.
        true => {
            let sizes = site.output_dims(0).filter(|dims| dims.iter().all(|size| *size > 0))?.to_vec();
            (None, vec![site.value(0), String::new(), String::new(), site.store_ints("sizes", &sizes)])
        }
        false => {
            let axes = if has_axes { Some(site.ints(axes_input)?) } else { None };
            let last = site.value(factors);
            let inputs = match by_sizes {
                true => vec![site.value(0), String::new(), String::new(), last],
                false => vec![site.value(0), String::new(), last],
            };
            (axes, inputs)
        }
    };
    let made = Made::new("Resize", inputs).with(axes.map(|axes| ints("axes", axes)));
    let made = made.with([string("mode", mode), string("coordinate_transformation_mode", &place)]);
    let made = made.with((mode == "nearest").then(|| string("nearest_mode", &nearest)));
    let cubic = site.number("cube_coeff").filter(|_| mode == "cubic");
    let antialias = (site.flag("antialias") == Some(true)).then(|| int("antialias", 1));
    Some(made.with(cubic.map(|number| float("cubic_coeff_a", number))).with(antialias))
}

pub(super) fn grid_sample(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let mode = match site.text("mode").as_deref() {
        None | Some("bilinear") => "linear",
        Some("nearest") => "nearest",
        Some("bicubic") => "cubic",
        _ => return None,
    };
    let padding = site.text("padding_mode").unwrap_or_else(|| "zeros".to_owned());
    let aligns = i64::from(site.flag("align_corners") == Some(true));
    let attributes = [string("mode", mode), string("padding_mode", &padding), int("align_corners", aligns)];
    Some(Made::new("GridSample", site.values()).with(attributes))
}

pub(super) fn regions(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let place = match site.text("aligned_mode").as_deref() {
        None | Some("asymmetric") => "output_half_pixel",
        Some("half_pixel") => "half_pixel",
        _ => return None,
    };
    let mode = site.text("mode")?;
    matches!(mode.as_str(), "avg" | "max").then_some(())?;
    let sizes =
        [("pooled_h", "output_height"), ("pooled_w", "output_width"), ("sampling_ratio", "sampling_ratio")];
    let mut attributes = vec![string("mode", &mode), string("coordinate_transformation_mode", place)];
    for (own, onnx) in sizes {
        attributes.push(int(onnx, site.number(own)?));
    }
    attributes.push(float("spatial_scale", site.number("spatial_scale")?));
    Some(Made::new("RoiAlign", site.values()).with(attributes))
}
