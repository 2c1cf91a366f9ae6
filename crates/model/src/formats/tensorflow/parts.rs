//! Operators that put values together, or take parts of them.

use opscope_trace::DataType;

use super::super::FormatError;
use super::super::assembly::int;
use super::layout::plain;
use super::map::value;
use super::network::{Network, Order};
use super::node::Node;

/// Parts of one value that are named.
const MOST_PARTS: i64 = 256;

/// Adds the node, if it is such an operator.
pub(super) fn made(net: &mut Network, node: &Node<'_>) -> Result<bool, FormatError> {
    let [first, second, third] = [0, 1, 2].map(|place| node.input(place));
    let Some(first) = first else { return Ok(false) };
    match (&*node.op, second, third) {
        ("ConcatV2", Some(_), _) => {
            let last = node.inputs.len() - 1;
            concatenation(net, node, 0..last, last)
        }
        ("Concat", Some(_), _) => concatenation(net, node, 1..node.inputs.len(), 0),
        ("Slice", Some(begins), Some(sizes)) => slice(net, node, first, begins, sizes),
        ("StridedSlice", Some(_), Some(_)) => strided_slice(net, node, first),
        ("Split", Some(whole), _) => {
            let Some(axis) = net.int(first) else { return Ok(false) };
            split(net, node, whole, axis, None)
        }
        ("SplitV", Some(sizes), Some(axis)) => {
            let (Some(sizes), Some(axis)) = (net.ints(Some(sizes)), net.int(axis)) else { return Ok(false) };
            split(net, node, first, axis, Some(sizes))
        }
        ("Pack", _, _) => pack(net, node),
        ("Unpack", _, _) => unpack(net, node, first),
        ("Gather" | "GatherV2", Some(places), axis) => gather(net, node, first, places, axis),
        ("OneHot", Some(depth), Some(on)) => {
            let Some(off) = node.input(3) else { return Ok(false) };
            let Some(depth) = net.int(depth) else { return Ok(false) };
            let rank = net.rank(first).map(|rank| rank + 1);
            // ONNX has both values in one list.
            let values = format!("{}:values", node.name);
            let axes = net.list(&format!("{}:axes", node.name), &[0]);
            let mut both = Vec::new();
            for (input, part) in [(off, "off"), (on, "on")] {
                let part = format!("{}:{part}", node.name);
                let inputs = vec![net.plain(input)?, axes.clone()];
                net.emit(&part, "Unsqueeze", inputs, vec![part.clone()], vec![])?;
                both.push(part);
            }
            net.emit(&values, "Concat", both, vec![values.clone()], vec![int("axis", 0)])?;
            let inputs = vec![net.plain(first)?, net.list(&format!("{}:depth", node.name), &[depth]), values];
            let axis = node.int("axis").unwrap_or(-1);
            plain(net, node, "OneHot", inputs, vec![int("axis", axis)], rank)
        }
        ("TopKV2", Some(count), _) => {
            let rank = net.rank(first);
            let count = match net.ints(Some(count)) {
                Some(count) => net.list(&format!("{}:count", node.name), &count),
                None => return Ok(false),
            };
            let inputs = vec![net.plain(first)?, count];
            let outputs = [0, 1].map(|output| value(&node.name, output));
            let places = node.integer_type("index_type", DataType::Int32);
            net.emit_integers(&node.name, "TopK", inputs, outputs.to_vec(), vec![], places)?;
            outputs.iter().for_each(|output| net.made(output, Order::Plain, rank));
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn concatenation(
    net: &mut Network,
    node: &Node<'_>,
    values: std::ops::Range<usize>,
    axis: usize,
) -> Result<bool, FormatError> {
    let Some(axis) = node.input(axis).and_then(|axis| net.int(axis)) else { return Ok(false) };
    let values = &node.inputs[values];
    let is_image = |input: &str| net.is_channels_first(input);
    let is_of_images = values.iter().any(|input| is_image(input))
        && values.iter().all(|input| is_image(input) || net.rank(input) == Some(4));
    let (order, rank, axis) = match (is_of_images, super::network::moved(axis)) {
        (true, Some(axis)) => (Order::ChannelsFirst, Some(4), axis),
        _ => (Order::Plain, values.iter().find_map(|input| net.rank(input)), axis),
    };
    let mut inputs = Vec::new();
    for input in values {
        inputs.push(match order {
            Order::ChannelsFirst => net.image(input)?,
            Order::Plain => net.plain(input)?,
        });
    }
    net.emit(&node.name, "Concat", inputs, vec![node.name.to_string()], vec![int("axis", axis)])?;
    net.made(&node.name, order, rank);
    Ok(true)
}

/// One range of each axis: where it begins, where it ends, and its step.
type Ranges = [Vec<i64>; 3];

/// Adds a slice of an image or another value, and tells its name's order.
fn cut(
    net: &mut Network,
    name: &str,
    from: &str,
    [begins, ends, steps]: Ranges,
    shrunk: &[i64],
) -> Result<bool, FormatError> {
    let value = if shrunk.is_empty() { net.ordered(from)? } else { net.ordered_plain(from)? };
    let Some(axes) = value.axes(&(0..begins.len() as i64).collect::<Vec<_>>()) else { return Ok(false) };
    let lists = [("begins", begins), ("ends", ends), ("axes", axes), ("steps", steps)];
    let mut inputs = vec![value.name.clone()];
    inputs.extend(lists.map(|(list, values)| net.list(&format!("{name}:{list}"), &values)));
    let rank = value.rank.map(|rank| rank.saturating_sub(shrunk.len()));
    if shrunk.is_empty() {
        net.emit(name, "Slice", inputs, vec![name.to_owned()], vec![])?;
    } else {
        let whole = format!("{name}:slice");
        net.emit(&whole, "Slice", inputs, vec![whole.clone()], vec![])?;
        let axes = net.list(&format!("{name}:shrunk"), shrunk);
        net.emit(name, "Squeeze", vec![whole, axes], vec![name.to_owned()], vec![])?;
    }
    net.made(name, value.order, rank);
    Ok(true)
}

fn slice(
    net: &mut Network,
    node: &Node<'_>,
    from: &str,
    begins: &str,
    sizes: &str,
) -> Result<bool, FormatError> {
    let (Some(begins), Some(sizes)) = (net.ints(Some(begins)), net.ints(Some(sizes))) else {
        return Ok(false);
    };
    // A size of −1 takes all that is left.
    let end = |(begin, size): (&i64, &i64)| if *size < 0 { i64::MAX } else { begin.saturating_add(*size) };
    let ends: Vec<i64> = begins.iter().zip(&sizes).map(end).collect();
    let steps = vec![1; ends.len()];
    cut(net, &node.name, from, [begins[..ends.len()].to_vec(), ends, steps], &[])
}

/// A slice as Python writes it, in which bits mark what is left open.
fn strided_slice(net: &mut Network, node: &Node<'_>, from: &str) -> Result<bool, FormatError> {
    let mask = |name: &str| node.int(name).unwrap_or(0);
    // An ellipsis, or an axis that comes new, shifts all others.
    if mask("ellipsis_mask") != 0 || mask("new_axis_mask") != 0 {
        return Ok(false);
    }
    let lists = [1, 2, 3].map(|place| net.ints(node.input(place)));
    let [Some(mut begins), Some(mut ends), Some(steps)] = lists else { return Ok(false) };
    if begins.len() != ends.len() || ends.len() != steps.len() || steps.contains(&0) {
        return Ok(false);
    }
    let mut shrunk = Vec::new();
    for (axis, (begin, end)) in begins.iter_mut().zip(&mut ends).enumerate() {
        let is_in = |name: &str| mask(name) >> axis.min(63) & 1 == 1;
        if is_in("shrink_axis_mask") {
            shrunk.push(axis as i64);
            *end = if *begin == -1 { i64::MAX } else { begin.saturating_add(1) };
            continue;
        }
        let is_forward = steps[axis] > 0;
        if is_in("begin_mask") {
            *begin = if is_forward { 0 } else { i64::MAX };
        }
        if is_in("end_mask") {
            *end = if is_forward { i64::MAX } else { i64::MIN };
        }
    }
    cut(net, &node.name, from, [begins, ends, steps], &shrunk)
}

/// Splits a value into equal parts, or parts of given sizes; one of −1 takes all that is left, which ONNX can't say.
fn split(
    net: &mut Network,
    node: &Node<'_>,
    from: &str,
    axis: i64,
    sizes: Option<Vec<i64>>,
) -> Result<bool, FormatError> {
    let count = match &sizes {
        Some(sizes) if sizes.iter().any(|size| *size < 0) => return Ok(false),
        Some(sizes) => sizes.len() as i64,
        None => node.int("num_split").unwrap_or(0),
    };
    if !(1..=MOST_PARTS).contains(&count) {
        return Ok(false);
    }
    let whole = net.ordered(from)?;
    let Some(axis) = whole.axis(axis) else { return Ok(false) };
    let mut inputs = vec![whole.name.clone()];
    let mut attributes = vec![int("axis", axis)];
    match sizes {
        Some(sizes) => inputs.push(net.list(&format!("{}:sizes", node.name), &sizes)),
        None => attributes.push(int("num_outputs", count)),
    }
    let outputs: Vec<String> = (0..count as usize).map(|output| value(&node.name, output)).collect();
    net.emit(&node.name, "Split", inputs, outputs.clone(), attributes)?;
    outputs.iter().for_each(|output| net.made(output, whole.order, whole.rank));
    Ok(true)
}

/// Puts values together along a new axis.
fn pack(net: &mut Network, node: &Node<'_>) -> Result<bool, FormatError> {
    let axis = node.int("axis").unwrap_or(0);
    let rank = node.inputs.iter().find_map(|input| net.rank(input));
    let axes = net.list(&format!("{}:axes", node.name), &[axis]);
    if let [only] = &node.inputs[..] {
        let inputs = vec![net.plain(only)?, axes];
        return plain(net, node, "Unsqueeze", inputs, vec![], rank.map(|rank| rank + 1));
    }
    let mut parts = Vec::new();
    for (place, input) in node.inputs.iter().enumerate() {
        let part = format!("{}:part{place}", node.name);
        let inputs = vec![net.plain(input)?, axes.clone()];
        net.emit(&part, "Unsqueeze", inputs, vec![part.clone()], vec![])?;
        parts.push(part);
    }
    plain(net, node, "Concat", parts, vec![int("axis", axis)], rank.map(|rank| rank + 1))
}

/// Takes a value apart along an axis, which is gone then.
fn unpack(net: &mut Network, node: &Node<'_>, from: &str) -> Result<bool, FormatError> {
    let count = node.int("num").unwrap_or(0);
    if !(1..=MOST_PARTS).contains(&count) {
        return Ok(false);
    }
    let axis = node.int("axis").unwrap_or(0);
    let axes = net.list(&format!("{}:axes", node.name), &[axis]);
    let rank = net.rank(from).map(|rank| rank.saturating_sub(1));
    let parts: Vec<String> = (0..count).map(|part| format!("{}:part{part}", node.name)).collect();
    let inputs = vec![net.plain(from)?];
    let attributes = vec![int("axis", axis), int("num_outputs", count)];
    net.emit(&format!("{}:split", node.name), "Split", inputs, parts.clone(), attributes)?;
    for (place, part) in parts.into_iter().enumerate() {
        let output = value(&node.name, place);
        net.emit(&output, "Squeeze", vec![part, axes.clone()], vec![output.clone()], vec![])?;
        net.made(&output, Order::Plain, rank);
    }
    Ok(true)
}

fn gather(
    net: &mut Network,
    node: &Node<'_>,
    from: &str,
    places: &str,
    axis: Option<&str>,
) -> Result<bool, FormatError> {
    let axis = match axis {
        Some(axis) => net.int(axis),
        None => Some(0),
    };
    let Some(axis) = axis.filter(|_| node.int("batch_dims").unwrap_or(0) == 0) else { return Ok(false) };
    let rank = net.rank(from).zip(net.rank(places)).map(|(from, places)| (from + places).saturating_sub(1));
    let inputs = vec![net.plain(from)?, net.plain(places)?];
    plain(net, node, "Gather", inputs, vec![int("axis", axis)], rank)
}
