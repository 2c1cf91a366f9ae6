//! `META_DATA`, `HOST_INFO`, `SESSION_TIME_INFO`, `NPU_INFO`, `RANK_DEVICE_MAP` and the tables that
//! name numbers: what was collected, where and when.

use std::io::{self, Seek, Write};

use opscope_cann_raw::Chip;

use crate::database::enums;
use crate::database::output::Output;
use crate::database::schema;
use crate::facts::view::View;

/// The schema's version, in the order of the reference.
const VERSION: [(&str, &str); 4] = [
    ("SCHEMA_VERSION_MICRO", "0"),
    ("SCHEMA_VERSION_MINOR", "2"),
    ("SCHEMA_VERSION_MAJOR", "1"),
    ("SCHEMA_VERSION", "1.2.0"),
];

/// The name of chips that have none in the database.
pub(crate) const UNKNOWN_CHIP: &str = "UNKNOWN";

/// How long a collection is taken to have lasted whose end isn't known, in nanoseconds.
const DEFAULT_DURATION: i64 = 30 * 60 * 1_000_000_000;

/// Writes the tables.
pub(super) fn write<W: Write + Seek + Send>(view: &View<'_>, out: &mut Output<'_, W>) -> io::Result<()> {
    out.table(&schema::META_DATA, VERSION.len(), |index, row| {
        row.text(VERSION[index].0);
        row.text(VERSION[index].1);
    })?;
    for (table, names) in &enums::ALL {
        out.table(table, names.len(), |index, row| {
            row.key(i64::from(names[index].0));
            row.text(names[index].1);
        })?;
    }
    let devices = &view.joined.data.devices;
    let ids: Vec<i64> = devices.keys().map(|id| i64::from(*id)).collect();
    // Without a device there is one row that says so.
    let ids = if ids.is_empty() { vec![-1] } else { ids };
    let chip = if devices.is_empty() { UNKNOWN_CHIP } else { chip_name(view.joined.data.chip()) };
    out.table(&schema::NPU_INFO, ids.len(), |index, row| {
        row.integer(ids[index]);
        row.text(chip);
    })?;
    out.table(&schema::RANK_DEVICE_MAP, ids.len(), |index, row| {
        row.integer(-1);
        row.integer(ids[index]);
    })?;
    let Some(metadata) = view.joined.data.profile.metadata() else { return Ok(()) };
    out.table(&schema::HOST_INFO, 1, |_, row| {
        let uid = metadata.info.host_uid.as_str();
        row.text(if uid.is_empty() { "0" } else { uid });
        row.text(&metadata.info.host_name);
    })?;
    let Some(begin) = metadata.session.begin else { return Ok(()) };
    out.table(&schema::SESSION_TIME_INFO, 1, |_, row| {
        row.integer(begin);
        row.integer(metadata.session.end.unwrap_or(begin.saturating_add(DEFAULT_DURATION)));
    })
}

/// The chip of a name in the database.
pub(crate) fn chip_of_name(name: &str) -> Option<Chip> {
    Chip::ALL.into_iter().find(|chip| chip_name(*chip) == name && name != UNKNOWN_CHIP)
}

/// A chip's name in the database.
fn chip_name(chip: Chip) -> &'static str {
    match chip {
        Chip::V1_1_0 => "Ascend310",
        Chip::V2_1_0 => "Ascend910A",
        Chip::V3_3_0 => "Ascend310P",
        Chip::V4_1_0 => "Ascend910B",
        Chip::V1_1_1 => "Ascend310B",
        Chip::V6_1_0 => "Ascend950",
        _ => UNKNOWN_CHIP,
    }
}
