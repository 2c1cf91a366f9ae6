//! `dvpp`: use of the engines for pictures and videos.

use std::collections::BTreeMap;

use crate::export::sheet::Sheet;
use crate::facts::view::View;
use crate::headings::{owned, written};

/// The kinds of engines, by number.
const KINDS: [&str; 7] = ["VDEC", "JPEGD", "PNGD", "JPEGE", "VPC", "VENC", "SCD"];

/// The time and frames of an engine: the least and the most.
type Range = [(f64, f64); 2];

/// The work that each engine did between the first and the last sample, and its use in the end.
pub(crate) fn sheet<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut rows: Vec<(u32, [u32; 3], Range, &'a str)> = Vec::new();
    for device in &view.devices {
        let samples = &device.device.tables.samples;
        let mut engines: BTreeMap<[u32; 3], Range> = BTreeMap::new();
        for sample in samples.media.rows() {
            let [time, frames] = engines
                .entry(sample.engine)
                .or_insert([(sample.time, sample.time), (sample.frames, sample.frames)]);
            for (range, value) in [(time, sample.time), (frames, sample.frames)] {
                *range = (range.0.min(value), range.1.max(value));
            }
        }
        rows.extend(engines.into_iter().map(|(engine, range)| {
            let used = samples.media_use.get(&engine).map_or("", String::as_str);
            (device.device.id, engine, range, used)
        }));
    }
    (!rows.is_empty()).then(|| Sheet {
        kind: "dvpp",
        headers: owned(&written::DVPP),
        rows: rows.len(),
        write: Box::new(move |index, row| {
            let (device, [unit, kind, engine], range, used) = rows[index];
            row.integer(device);
            row.integer(unit);
            row.text(KINDS.get(kind as usize).copied().unwrap_or(""));
            row.integer(engine);
            range.iter().for_each(|(least, most)| row.float(most - least));
            row.text(used);
        }),
    })
}
