//! `--exportProfile`: a layer's time, summed up over all inferences.

use opscope_trace::{DeviceKind, ExecutionUnit, LossKind, Trace};

use super::layer_info::{LayerInfo, without_info};
use super::{FORMAT, ReadError, count_cut};
use crate::json::{Scanned, Scanner, unescape};
use crate::layers::{Layers, MILLI, time};
use crate::reading::Stop;

/// An item of the list. Members that are missing or no numbers are `None`.
#[derive(Default)]
struct Item<'t> {
    name: Option<std::borrow::Cow<'t, str>>,
    count: Option<u64>,
    total: Option<f64>,
    average: Option<f64>,
    median: Option<f64>,
}

/// Reads the layers that are there.
///
/// # Errors
/// When there is none before the damage.
pub(super) fn read(json: &[u8], info: Option<&LayerInfo>, stop: &Stop) -> Result<Trace, ReadError> {
    let mut layers = Layers::new(FORMAT, DeviceKind::Gpu, ExecutionUnit::Gpu);
    layers.begin_inference();
    let mut count = None;
    let mut position = 0;
    let mut scanner = Scanner::new(json);
    let mut turns = stop.within(0u64..);
    let scanned = scanner.array("'[' and a list of layers", |scanner| {
        if turns.next().is_none() {
            return Err(scanner.wrong("nobody who stops the reading"));
        }
        if scanner.peek() != Some(b'{') {
            scanner.skip()?;
            layers.losses.count(LossKind::NoLayer, "an item that is no object", 1);
            return Ok(());
        }
        let item = item(scanner)?;
        match (item.name.as_deref(), item.count) {
            (Some(name), _) => {
                enter(&mut layers, &item, name, position, count, info);
                position += 1;
            }
            (None, Some(stated)) => count = Some(stated),
            (None, None) => layers.losses.count(LossKind::NoLayer, "an item without a name", 1),
        }
        Ok(())
    });
    layers.trace.run.summed_runs = count.filter(|count| *count > 0);
    if let Some(info) = info {
        info.count_absent(&mut layers);
    }
    let mut trace = layers.finish();
    match scanned {
        Err(error) if trace.operators.is_empty() => Err(error.into()),
        Err(error) => {
            count_cut(&mut trace, &error);
            Ok(trace)
        }
        Ok(()) => Ok(trace),
    }
}

fn item<'t>(scanner: &mut Scanner<'t>) -> Scanned<Item<'t>> {
    let mut item = Item::default();
    scanner.object("a layer", |scanner, member| {
        match member {
            b"name" if scanner.peek() == Some(b'"') => {
                item.name = Some(unescape(scanner.raw_string("a name")?.bytes));
            }
            b"count" => item.count = scanner.whole()?,
            b"timeMs" => item.total = scanner.number()?,
            b"averageMs" => item.average = scanner.number()?,
            b"medianMs" => item.median = scanner.number()?,
            _ => drop(scanner.skip()?),
        }
        Ok(())
    })?;
    Ok(item)
}

fn enter(
    layers: &mut Layers,
    item: &Item<'_>,
    name: &str,
    position: u32,
    count: Option<u64>,
    info: Option<&LayerInfo>,
) {
    let described = info.and_then(|info| info.find(name));
    if described.is_none() && info.is_some() {
        layers.losses.count(LossKind::LayerNotDescribed, "layers of the profile", 1);
    }
    let mut layer = described.cloned().unwrap_or_else(|| without_info(name));
    layer.position = Some(position);
    let operator = layers.operator(&layer);
    // The sum has as many digits as the mean, and so fewer of each inference.
    let by_total = || Some(item.total? / count.filter(|count| *count > 0)? as f64);
    let duration = item.average.or_else(by_total).and_then(|mean| time(mean, MILLI));
    if let Some(task) = layers.task(operator, duration, name) {
        let median = item.median.and_then(|median| time(median, MILLI)).map(|median| median.as_micros());
        layers.measured(task, &[("median time", "us", median)]);
    }
}
