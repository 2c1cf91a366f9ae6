//! `npu_mem` and `hbm`: memory in use, and its traffic.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::export::sheet::Sheet;
use crate::facts::rates::{hbm_rates, scope_name};
use crate::facts::view::View;
use crate::headings::{memory_traffic, npu_mem, owned};
use crate::tables::NpuMemory;
use crate::text::numbers;

/// The table of memory in use, or `None` if it wasn't sampled.
pub(crate) fn npu_mem<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let lines: Vec<(usize, NpuMemory)> = view
        .devices
        .iter()
        .enumerate()
        .flat_map(|(number, device)| {
            device.device.tables.samples.npu_memory.rows().map(move |row| (number, row))
        })
        .collect();
    let accelerated = view.dialect == Dialect::Accelerated;
    (!lines.is_empty()).then(|| Sheet {
        kind: "npu_mem",
        headers: owned(npu_mem::ALL),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (number, sample) = lines[index];
            let device = &view.devices[number];
            row.integer(device.device.id);
            row.text(scope_name(sample.scope));
            for bytes in [sample.ddr, sample.hbm, sample.ddr.saturating_add(sample.hbm)] {
                if accelerated { row.integer(bytes / 1_024) } else { row.float(bytes as f64 / 1_024.0) }
            }
            row.time(device.device.metadata.sample_clock().local(sample.time));
        }),
    })
}

/// One row: the device, the HBM (or the average), and its two rates.
type Line = (u32, Option<u32>, [f64; 2]);

/// The table of the HBMs' traffic, or `None` if it wasn't sampled.
pub(crate) fn hbm<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut lines: Vec<Line> = Vec::new();
    for device in &view.devices {
        let mut by_id: BTreeMap<u32, [(f64, u32); 2]> = BTreeMap::new();
        for rate in hbm_rates(device) {
            let (sum, count) = &mut by_id.entry(rate.id).or_default()[usize::from(!rate.is_read)];
            *sum += rate.rate;
            *count += 1;
        }
        let means: Vec<(u32, [f64; 2])> = by_id
            .into_iter()
            .map(|(id, sums)| (id, sums.map(|(sum, count)| sum / f64::from(count.max(1)))))
            .collect();
        if means.is_empty() {
            continue;
        }
        let average =
            [0, 1].map(|side| means.iter().map(|(_, rates)| rates[side]).sum::<f64>() / means.len() as f64);
        lines.push((device.device.id, None, average));
        lines.extend(means.into_iter().map(|(id, rates)| (device.device.id, Some(id), rates)));
    }
    (!lines.is_empty()).then(|| Sheet {
        kind: "hbm",
        headers: owned(memory_traffic::ALL),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, id, rates) = &lines[index];
            row.integer(*device);
            match id {
                Some(id) => row.integer(*id),
                None => {
                    row.text("Average");
                    let number = |rate: &f64| format!("{rate:.3}");
                    return rates.iter().for_each(|rate| row.text(&number(rate)));
                }
            }
            rates.iter().for_each(|rate| row.float(numbers::python_round(*rate, 3)));
        }),
    })
}
