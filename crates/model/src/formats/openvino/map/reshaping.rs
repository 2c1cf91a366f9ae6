//! Layers that give a tensor other sizes, and make tensors of sizes.

use super::super::layer::{Made, Site};
use crate::formats::assembly::{int, ints, string};

/// A zero among the sizes keeps one, or is one.
pub(super) fn reshape(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let takes_zeros = i64::from(site.flag("special_zero") != Some(true));
    Some(Made::new("Reshape", site.values()).with([int("allowzero", takes_zeros)]))
}

pub(super) fn transpose(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    // Without an order, all axes are turned round.
    let order = if site.inputs() > 1 { site.ints(1)? } else { Vec::new() };
    let order = (!order.is_empty()).then(|| ints("perm", order));
    Some(Made::new("Transpose", vec![site.value(0)]).with(order))
}

/// ONNX's needs a number for each axis.
pub(super) fn tile(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let counts = site.dims(1)?.first().copied()?;
    (usize::try_from(counts).ok() == site.rank(0)).then(|| Made::new("Tile", site.values()))
}

pub(super) fn depth(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let is_back = site.layer().op_type == "SpaceToDepth";
    let order = match (site.text("mode")?.as_str(), is_back) {
        ("blocks_first", false) => Some(string("mode", "DCR")),
        ("depth_first", false) => Some(string("mode", "CRD")),
        ("blocks_first", true) => None,
        _ => return None,
    };
    (site.rank(0) == Some(4)).then_some(())?;
    let size = int("blocksize", site.number("block_size").unwrap_or(1));
    Some(Made::new(&site.layer().op_type, site.values()).with([size]).with(order))
}

pub(super) fn pad(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let mode = site.text("pad_mode")?;
    matches!(mode.as_str(), "constant" | "edge" | "reflect").then_some(())?;
    let pads = [site.ints(1)?, site.ints(2)?].concat();
    let pads = site.store_ints("pads", &pads);
    let mut inputs = vec![site.value(0), pads];
    if site.inputs() > 3 && mode == "constant" {
        inputs.push(site.value(3));
    }
    Some(Made::new("Pad", inputs).with([string("mode", &mode)]))
}

/// Numbers of one type.
pub(super) fn range(site: &mut Site<'_, '_, '_, '_>) -> Option<Made> {
    let made = site.output_type(0);
    let is_plain = (0..3).all(|input| site.data_type(input) == made && site.rank(input) == Some(0));
    is_plain.then(|| Made::new("Range", site.values()))
}
