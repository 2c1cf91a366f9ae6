//! `llc_bandwidth`, `llc_aicpu` and `llc_ctrlcpu`: traffic of a 310's last-level cache, and how much of it the
//! device's own processors held.

use crate::export::sheet::Sheet;
use crate::facts::cache_events::{Accesses, Held, Holders, cache_held, cache_traffic, cache_traffic_sums};
use crate::facts::view::View;
use crate::headings::{owned, written};
use crate::text::numbers::python_round;

/// The table of the traffic: throughput, hits and their throughput over the whole run.
pub(crate) fn bandwidth<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut lines: Vec<(u32, &'static str, [f64; 2])> = Vec::new();
    for device in &view.devices {
        let Some((seconds, sums)) = cache_traffic_sums(&cache_traffic(device)) else { continue };
        let rates = sums.map(|side| side.throughput(seconds));
        let shares = sums.map(Accesses::hit_share).map(|share| python_round(share, 6) * 100.0);
        let id = device.device.id;
        lines.push((id, "BandWidth(MB/s)", rates.map(|[all, _]| all)));
        lines.push((id, "Hit_Rate(%)", shares));
        lines.push((id, "Hit_BandWidth(MB/s)", rates.map(|[_, hits]| hits)));
    }
    (!lines.is_empty()).then(|| Sheet {
        kind: "llc_bandwidth",
        headers: owned(&written::LLC_BANDWIDTH),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, metric, values) = lines[index];
            row.integer(device);
            row.text(metric);
            values.iter().for_each(|value| row.float(python_round(*value, 3)));
        }),
    })
}

/// The table of the parts that processors of a kind held: a row for each device, the sums of all samples.
pub(crate) fn capacity<'a>(view: &'a View<'a>, holders: Holders) -> Option<Sheet<'a>> {
    const KILOBYTE: f64 = 1_024.0;
    let mut lines: Vec<(u32, Vec<f64>)> = Vec::new();
    for device in &view.devices {
        let (processors, held) = cache_held(device, holders);
        if held.is_empty() {
            continue;
        }
        let mut sums = vec![0u64; processors];
        held.iter().for_each(|it| sums[it.place] = sums[it.place].saturating_add(it.lines));
        let kilobytes = sums.into_iter().map(|lines| python_round(Held::bytes(lines) / KILOBYTE, 3));
        lines.push((device.device.id, kilobytes.collect()));
    }
    let processors = lines.iter().map(|(_, sums)| sums.len()).max()?;
    let names = (0..processors).map(|place| format!("CPU{place}(KB)"));
    let [device, metric, total] = written::LLC_CAPACITY.map(str::to_owned);
    Some(Sheet {
        kind: match holders {
            Holders::Ai => "llc_aicpu",
            Holders::Control => "llc_ctrlcpu",
        },
        headers: [device, metric].into_iter().chain(names).chain([total]).collect(),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, sums) = &lines[index];
            row.integer(*device);
            row.text("Used Capacity of LLC");
            for place in 0..processors {
                match sums.get(place) {
                    Some(sum) => row.float(*sum),
                    None => row.text("N/A"),
                }
            }
            row.float(python_round(sums.iter().sum(), 3));
        }),
    })
}
