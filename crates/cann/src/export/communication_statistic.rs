//! `communication_statistic`: the collective operations by type.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::export::sheet::Sheet;
use crate::facts::collectives::{Collectives, OperationRun, UNKNOWN};
use crate::facts::view::View;
use crate::headings::{owned, written};
use crate::text::numbers;

/// Times of the operations of one type.
#[derive(Clone, Copy, Debug)]
struct Statistic {
    count: u64,
    total: f64,
    min: f64,
    max: f64,
}

/// The table of collective operations by type.
pub(crate) fn sheet<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let collectives = Collectives::new(view);
    if view.level0 || collectives.operations.iter().all(|operation| operation.op_type == UNKNOWN) {
        return None;
    }
    let mut lines: Vec<(u32, &'a str, Statistic, f64)> = Vec::new();
    for (number, device) in (0..).zip(&view.devices) {
        let mut types: BTreeMap<&'a str, Statistic> = BTreeMap::new();
        let of_device = |operation: &&OperationRun<'a>| {
            operation.device == number && operation.has_master && !operation.fused
        };
        for operation in collectives.operations.iter().filter(of_device) {
            let time = (operation.end - operation.start) as f64;
            let none = Statistic { count: 0, total: 0.0, min: f64::INFINITY, max: 0.0 };
            let statistic = types.entry(operation.op_type).or_insert(none);
            statistic.count += 1;
            statistic.total += time;
            statistic.min = statistic.min.min(time);
            statistic.max = statistic.max.max(time);
        }
        let all: f64 = types.values().map(|statistic| statistic.total).sum();
        let share = |total: f64| if all > 0.0 { total / all * 100.0 } else { 0.0 };
        let of_device = types.into_iter().map(|(op_type, s)| (device.device.id, op_type, s, share(s.total)));
        let mut of_device: Vec<_> = of_device.collect();
        of_device.sort_by(|a, b| b.2.total.total_cmp(&a.2.total));
        lines.extend(of_device);
    }
    let accelerated = view.dialect == Dialect::Accelerated;
    (!lines.is_empty()).then(|| Sheet {
        kind: "communication_statistic",
        headers: owned(&written::COMMUNICATION_STATISTIC),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, op_type, statistic, share) = &lines[index];
            row.integer(*device);
            row.text(op_type);
            row.count(statistic.count);
            let mean = statistic.total / statistic.count as f64;
            let micros = [statistic.total, statistic.min, mean, statistic.max].map(|ns| ns / 1_000.0);
            for value in micros.into_iter().chain([*share]) {
                let value = numbers::sqlite_round(value);
                row.number(|out| match accelerated {
                    true => numbers::push_trimmed(out, value),
                    false => numbers::push_float(out, value),
                });
            }
        }),
    })
}
