//! Readings of the monitors beside cores, as counters over time.

use std::collections::BTreeMap;

use crate::facts::view::DeviceView;
use crate::tables::{INSTRUCTION_CORES, MONITORED_UNITS, MonitoredTraffic};

/// The headings of a group's traffic.
const TRAFFIC: [&str; 4] = ["Latency Read", "Latency Write", "Bandwidth Read", "Bandwidth Write"];

/// The values below them.
fn traffic(row: &MonitoredTraffic) -> [u32; TRAFFIC.len()] {
    [row.latencies[0], row.latencies[1], row.flux[0], row.flux[1]]
}

/// Counters of one core or group: for each value its heading, and at each wall-clock time the values.
pub(crate) struct MonitorCounter {
    pub(crate) name: String,
    pub(crate) headings: Vec<String>,
    pub(crate) readings: Vec<(i64, Vec<f64>)>,
}

/// The counters of a device: of each core the percent of the cycles in which its units worked, of each group its
/// traffic.
pub(crate) fn monitor_counters(device: &DeviceView<'_>) -> Vec<MonitorCounter> {
    let tables = &device.device.tables.monitors;
    let mut cores: BTreeMap<(u16, u8), MonitorCounter> = BTreeMap::new();
    let interval = f64::from(device.device.metadata.sample.monitor_cycles.unwrap_or(0).max(1));
    for row in tables.cycles.rows() {
        let units = || (0..MONITORED_UNITS.len()).filter(|unit| is_of_core(*unit, row.core));
        let counter = cores.entry((row.group, row.core)).or_insert_with(|| MonitorCounter {
            name: core_name(row.group, row.core),
            headings: units().map(|unit| format!("{}(%)", MONITORED_UNITS[unit])).collect(),
            readings: Vec::new(),
        });
        let shares = units().map(|unit| f64::from(row.cycles[unit]) / interval * 100.0).collect();
        counter.readings.push((device.time(row.time), shares));
    }
    let mut groups: BTreeMap<u16, MonitorCounter> = BTreeMap::new();
    for row in tables.traffic.rows() {
        let counter = groups.entry(row.group).or_insert_with(|| MonitorCounter {
            name: format!("biu_group{}", row.group),
            headings: TRAFFIC.map(str::to_owned).to_vec(),
            readings: Vec::new(),
        });
        let values = traffic(&row).map(f64::from).to_vec();
        counter.readings.push((device.time(row.time), values));
    }
    groups.into_values().chain(cores.into_values()).collect()
}

/// Whether a core has a unit: the cube unit is that of a cube core, the vector unit that of a vector core.
fn is_of_core(unit: usize, core: u8) -> bool {
    match (MONITORED_UNITS[unit], INSTRUCTION_CORES.get(usize::from(core))) {
        ("Vector", Some(&"aic")) => false,
        ("Cube", core) => core == Some(&"aic"),
        _ => true,
    }
}

/// The vendor's name of a core: cube cores are numbered from 0, the two vector cores of each group from 25 on.
fn core_name(group: u16, core: u8) -> String {
    const FIRST_VECTOR: u32 = 25;
    let number = match core {
        0 => u32::from(group),
        core => u32::from(group) * 2 + FIRST_VECTOR - 1 + u32::from(core),
    };
    let kind = INSTRUCTION_CORES.get(usize::from(core)).copied().unwrap_or_default();
    format!("{kind}_core{number}_group{group}")
}
