//! `dp`: how data was prepared for the device.

use crate::export::sheet::Sheet;
use crate::facts::view::View;
use crate::headings::{owned, written};
use crate::tables::Preparation;
use crate::text::numbers;

/// The table, or `None` if nothing was prepared.
pub(crate) fn sheet<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut lines: Vec<(u32, i64, &'a Preparation)> = Vec::new();
    for device in &view.devices {
        let steps = &device.device.tables.preparations;
        let id = device.device.id;
        lines.extend(steps.iter().map(|step| (id, device.monotonic_time(step.time), step)));
    }
    (!lines.is_empty()).then(|| Sheet {
        kind: "dp",
        headers: owned(&written::DP),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, time, step) = lines[index];
            row.integer(device);
            // Without the tab that keeps spreadsheets from rounding, as in the vendor's table.
            row.text(&micros(time));
            row.foreign_text(&step.action);
            row.foreign_text(&step.source);
            row.integer(step.size);
        }),
    })
}

fn micros(nanoseconds: i64) -> String {
    let mut text = Vec::new();
    numbers::push_micros(&mut text, nanoseconds);
    String::from_utf8_lossy(&text).into_owned()
}
