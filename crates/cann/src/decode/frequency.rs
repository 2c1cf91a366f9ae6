//! Changes of frequencies and voltages.

use opscope_cann_raw::samples::{Frequencies, Frequency, PowerInfo, power};

use crate::catalogue::Catalogue;
use crate::decode::decode;
use crate::tables::{DeviceTables, FrequencyChange, FrequencyTable};
use opscope_trace::LossKind;

/// Decodes `lpmFreqConv.data` and `lpmInfoConv.data`, each in the order of the file.
pub(super) fn decode_power(catalogue: &Catalogue, tables: &mut DeviceTables) {
    let DeviceTables { samples, losses, .. } = tables;
    samples.frequency = decode(
        catalogue.streams("lpmFreqConv.data"),
        None,
        losses,
        |table: &mut FrequencyTable, raw: Frequencies, _| add(table, &raw.changes, raw.count),
    );
    let of_all: Vec<(u32, FrequencyTable)> = decode(
        catalogue.streams("lpmInfoConv.data"),
        None,
        losses,
        |all: &mut Vec<(u32, FrequencyTable)>, raw: PowerInfo, _| {
            if !(power::FREQUENCY..=power::BUS_VOLTAGE).contains(&raw.kind) {
                return Err(LossKind::UnknownRecord);
            }
            let mut table = FrequencyTable::default();
            add(&mut table, &raw.changes, raw.count)?;
            all.push((raw.kind, table));
            Ok(())
        },
    );
    for (kind, mut table) in of_all {
        match kind {
            power::FREQUENCY => samples.frequency.append(&mut table),
            power::CORE_VOLTAGE => samples.core_voltage.append(&mut table),
            _ => samples.bus_voltage.append(&mut table),
        }
    }
}

fn add(table: &mut FrequencyTable, changes: &[Frequency], count: u32) -> Result<(), LossKind> {
    for change in changes.get(..count as usize).ok_or(LossKind::InvalidRecord)? {
        table.push(FrequencyChange { time: change.time, value: change.value });
    }
    Ok(())
}
