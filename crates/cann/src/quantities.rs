//! The names of quantities that are sampled over time. The raw files, the vendor's databases, tables and
//! timelines have words of their own for them; all become counters of these names.

use opscope_formats::chrome::dialect::CounterMeaning;

use crate::facts::rates::pcie_unit;

/// The AI cores' frequency.
pub(crate) const CORE_FREQUENCY: &str = "AI core frequency";

/// The frequency of the AI cores of a die.
pub(crate) fn die_frequency(die: u32) -> String {
    format!("AI core {die} frequency")
}

/// The first words of the counters of device memory; the component and the quantity follow.
pub(crate) const MEMORY: &str = "memory of";

/// The first word of the counters of traffic; number, direction and quantity follow.
pub(crate) const HBM: &str = "HBM";
pub(crate) const DDR: &str = "DDR";
pub(crate) const LLC: &str = "LLC";
pub(crate) const HCCS: &str = "HCCS";
pub(crate) const PCIE: &str = "PCIe";

/// The first words of the counters of the network card's ports and of those for RDMA.
pub(crate) const NIC: &str = "NIC port";
pub(crate) const ROCE: &str = "RoCE port";

pub(crate) const READ: &str = "read";
pub(crate) const WRITE: &str = "write";
pub(crate) const SENT: &str = "sent";
pub(crate) const RECEIVED: &str = "received";

/// How much a part of the cache was used.
pub(crate) const HIT_RATE: &str = "hit rate";
pub(crate) const THROUGHPUT: &str = "throughput";
pub(crate) const HIT_THROUGHPUT: &str = "hit throughput";

/// The first words of the counters of the parts of the cache that processors hold; the processor's place among
/// those of its kind follows.
pub(crate) const LLC_OF_AI: &str = "LLC of AI CPU";
pub(crate) const LLC_OF_CONTROL: &str = "LLC of Ctrl CPU";

/// Smallest, largest and average of each kind of traffic over PCIe, in the order of the records.
pub(crate) const PCIE_KINDS: [[&str; 3]; 7] = [
    ["minimum sent posted", "maximum sent posted", "sent posted"],
    ["minimum sent non-posted", "maximum sent non-posted", "sent non-posted"],
    ["minimum sent completion", "maximum sent completion", "sent completion"],
    ["minimum sent non-posted latency", "maximum sent non-posted latency", "sent non-posted latency"],
    ["minimum received posted", "maximum received posted", "received posted"],
    ["minimum received non-posted", "maximum received non-posted", "received non-posted"],
    ["minimum received completion", "maximum received completion", "received completion"],
];

/// The place of the average in [`PCIE_KINDS`].
pub(crate) const MEAN: usize = 2;

/// The rate that a port can carry.
pub(crate) const BANDWIDTH: &str = "bandwidth";

/// The traffic of a port in a direction, in the order of the records.
pub(crate) const PORT_SENT: [&str; 6] =
    ["sent packet rate", "sent byte rate", "sent packets", "sent bytes", "sent errors", "sent dropped"];
pub(crate) const PORT_RECEIVED: [&str; 6] = [
    "received packet rate",
    "received byte rate",
    "received packets",
    "received bytes",
    "received errors",
    "received dropped",
];

/// Parts of what went through a port, or of what it can carry, between 0 and 1; behind the direction.
pub(crate) const EFFICIENCY: &str = "bandwidth efficiency";
pub(crate) const ERROR_RATE: &str = "error rate";
pub(crate) const DROPPED_RATE: &str = "dropped rate";

/// The first word of the counters of an accelerator's levels; its number and the quantity follow.
pub(crate) const ACCELERATOR: &str = "accelerator";
pub(crate) const ACCELERATOR_LEVELS: [&str; 4] =
    ["read bandwidth level", "write bandwidth level", "outstanding reads level", "outstanding writes level"];

/// Levels of bandwidth within the chip: of the level-2 cache's buffer, and of the memory's access table.
pub(crate) const SOC: &str = "SoC";
pub(crate) const SOC_LEVELS: [&str; 2] = ["L2 buffer bandwidth level", "MATA bandwidth level"];

/// Traffic between dies; the die's name and the quantity follow.
pub(crate) const SIO: &str = "SIO";
pub(crate) const SIO_KINDS: [&str; 8] = [
    "received requests",
    "received responses",
    "received snoops",
    "received data",
    "sent requests",
    "sent responses",
    "sent snoops",
    "sent data",
];

/// The first words of the counters of a port of the unified bus; its number and the direction follow.
pub(crate) const UNIFIED_BUS: &str = "UB port";

/// The traffic through a network device between samples: the database's column, the counter's name behind
/// [`NETWORK_DEVICE`], its unit, and the place among the counts; rates are those by a second.
pub(crate) const NETWORK_DEVICE: &str = "network device";
pub(crate) const NETWORK_DEVICE_VALUES: [(&str, &str, &str, usize); 19] = [
    ("macTxPfcPkt", "MAC sent flow control", "packets", 0),
    ("macRxPfcPkt", "MAC received flow control", "packets", 1),
    ("macTxByte", "MAC sent", "B", 2),
    ("macTxBandwidth", "MAC sent rate", "B/s", 2),
    ("macRxByte", "MAC received", "B", 3),
    ("macRxBandwidth", "MAC received rate", "B/s", 3),
    ("macTxBadByte", "MAC sent faulty", "B", 4),
    ("macRxBadByte", "MAC received faulty", "B", 5),
    ("roceTxPkt", "RoCE sent", "packets", 6),
    ("roceRxPkt", "RoCE received", "packets", 7),
    ("roceTxErrPkt", "RoCE sent faulty", "packets", 8),
    ("roceRxErrPkt", "RoCE received faulty", "packets", 9),
    ("roceTxCnpPkt", "RoCE sent notes of congestion", "packets", 10),
    ("roceRxCnpPkt", "RoCE received notes of congestion", "packets", 11),
    ("roceNewPktRty", "RoCE sent again", "packets", 12),
    ("nicTxByte", "NIC sent", "B", 13),
    ("nicTxBandwidth", "NIC sent rate", "B/s", 13),
    ("nicRxByte", "NIC received", "B", 14),
    ("nicRxBandwidth", "NIC received rate", "B/s", 14),
];

/// The words of timelines for [`SIO_KINDS`].
pub(crate) const SIO_EVENTS: [&str; 8] =
    ["req_rx", "rsp_rx", "snp_rx", "dat_rx", "req_tx", "rsp_tx", "snp_tx", "dat_tx"];

/// The process of timelines for the work of cores' units over time.
pub(crate) const INSTRUCTIONS: &str = "Biu Perf";

/// The counter of a value of a monitor beside a core or a group of cores, and its unit, by the names that timelines
/// have for the monitor and the value: `aic_core0_group0`, `Cube(%)`.
pub(crate) fn monitored(monitor: &str, value: &str) -> (String, &'static str) {
    let (value, unit) = match value.strip_suffix("(%)") {
        Some(value) => (format!("{value} busy"), "%"),
        None => (value.to_owned(), ""),
    };
    (format!("{monitor} {}", value.to_lowercase()), unit)
}

/// Device memory that a module reserved.
pub(crate) const MODULE_RESERVED: &str = "module reserved";

/// The counter of device memory of a component, by the word of any table or timeline for the quantity:
/// `Total Reserved`, `ddr`, `HBM`.
pub(crate) fn memory(component: &str, quantity: &str) -> String {
    let quantity = quantity.to_lowercase();
    let quantity = match quantity.trim_start_matches("total ") {
        "ddr" => "DDR",
        "hbm" => "HBM",
        "memory" => "in all",
        other => other,
    };
    format!("{MEMORY} {component} {quantity}")
}

/// The component that a database calls otherwise than tables and timelines.
pub(crate) fn memory_component(word: &str) -> Option<&'static str> {
    match word {
        "app" => Some("APP"),
        "device" => Some("Device"),
        _ => None,
    }
}

/// The meaning of a timeline's counter, by the names of its process, its events and one of their values:
/// `HBM`, `HBM 0/Read`, `Read(MB/s)`.
pub(crate) fn of_timeline(process: &str, event: &str, value: &str) -> CounterMeaning {
    let named = |name: String, unit| CounterMeaning::Named(name, unit);
    match (process, event) {
        ("HCCS", "Tx") => named(format!("{HCCS} {SENT}"), "MB/s"),
        ("HCCS", "Rx") => named(format!("{HCCS} {RECEIVED}"), "MB/s"),
        ("PCIe", _) => pcie_of_timeline(event, value),
        (INSTRUCTIONS, _) => {
            let (name, unit) = monitored(event, value);
            named(name, unit)
        }
        ("NIC", _) => port_of_timeline(NIC, event, value),
        ("RoCE", _) => port_of_timeline(ROCE, event, value),
        ("Stars Soc Info", "L2 Buffer Bw Level") => named(format!("{SOC} {}", SOC_LEVELS[0]), ""),
        ("Stars Soc Info", "Mata Bw Level") => named(format!("{SOC} {}", SOC_LEVELS[1]), ""),
        ("SIO", _) => match SIO_EVENTS.iter().position(|known| *known == event) {
            Some(kind) => named(format!("{SIO} {value} {}", SIO_KINDS[kind]), "MB/s"),
            None => CounterMeaning::AsWritten,
        },
        ("LLC Bandwidth", "LLC/Read" | "LLC/Write") => cache_traffic_of_timeline(event, value),
        ("LLC of AI CPU" | "LLC of Ctrl CPU", _) => match event.strip_prefix("Core ") {
            Some(core) => named(format!("{process} {core}"), "MB"),
            None => CounterMeaning::AsWritten,
        },
        ("Ub" | "UB", _) => unified_bus_of_timeline(event, value),
        ("QoS", _) if event.starts_with("QoS ") => match value.strip_prefix("die ") {
            Some(die) => named(format!("{event} {die}"), "MB/s"),
            None => named(event.to_owned(), "MB/s"),
        },
        ("AI Core Freq", _) if event.starts_with(DIE_FREQUENCY) => match event[DIE_FREQUENCY.len()..].parse()
        {
            Ok(die) => named(die_frequency(die), "MHz"),
            Err(_) => CounterMeaning::AsWritten,
        },
        (_, "AI Core Freq") => named(CORE_FREQUENCY.to_owned(), "MHz"),
        _ => memory_of_timeline(event).map_or(CounterMeaning::AsWritten, |name| named(name, "")),
    }
}

/// The begin of the events of a die's frequency.
const DIE_FREQUENCY: &str = "AI Core Freq Die ";

/// The counter of memory, its traffic or a cache: `HBM 0/Read`, `APP/DDR`.
fn memory_of_timeline(event: &str) -> Option<String> {
    let (part, quantity) = event.split_once('/')?;
    let (kind, rest) = part.split_once(' ').unwrap_or((part, ""));
    match kind {
        "APP" | "Device" | "UNKNOWN" => Some(memory(part, quantity)),
        DDR | HBM | LLC => {
            let words = [kind, &rest.to_lowercase(), &quantity.to_lowercase()].map(str::to_owned);
            Some(words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

/// The traffic of a 310's last-level cache: `LLC/Read`, `Hit Rate(%)`.
fn cache_traffic_of_timeline(event: &str, value: &str) -> CounterMeaning {
    let direction = if event == "LLC/Read" { READ } else { WRITE };
    let (quantity, unit) = match value {
        "BandWidth(MB/s)" => (THROUGHPUT, "MB/s"),
        "Hit Rate(%)" => (HIT_RATE, "%"),
        "Hit BandWidth(MB/s)" => (HIT_THROUGHPUT, "MB/s"),
        _ => return CounterMeaning::AsWritten,
    };
    CounterMeaning::Named(format!("{LLC} {direction} {quantity}"), unit)
}

/// The traffic of a port of the unified bus: `UB Port000`, `bandwidth_rx(MB/s)`.
fn unified_bus_of_timeline(event: &str, value: &str) -> CounterMeaning {
    let way = match value {
        "bandwidth_rx(MB/s)" => RECEIVED,
        "bandwidth_tx(MB/s)" => SENT,
        _ => return CounterMeaning::AsWritten,
    };
    match event.strip_prefix("UB Port").and_then(|number| number.parse::<u32>().ok()) {
        Some(port) => CounterMeaning::Named(format!("{UNIFIED_BUS} {port} {way}"), "MB/s"),
        None => CounterMeaning::AsWritten,
    }
}

/// A kind of traffic over PCIe, of which timelines have the average.
fn pcie_of_timeline(event: &str, value: &str) -> CounterMeaning {
    let kind = match (event, value) {
        ("PCIe_post", "Tx") => 0,
        ("PCIe_nonpost", "Tx") => 1,
        ("PCIe_cpl", "Tx") => 2,
        ("PCIe_nonpost_latency", "Tx") => 3,
        // There is no such latency; the timeline's writers put zeros there.
        ("PCIe_nonpost_latency", "Rx") => return CounterMeaning::Filler,
        ("PCIe_post", "Rx") => 4,
        ("PCIe_nonpost", "Rx") => 5,
        ("PCIe_cpl", "Rx") => 6,
        _ => return CounterMeaning::AsWritten,
    };
    CounterMeaning::Named(format!("{PCIE} {}", PCIE_KINDS[kind][MEAN]), pcie_unit(kind))
}

/// The traffic of a port: `Port 0/Tx`, `Tx Packets`.
fn port_of_timeline(title: &str, event: &str, value: &str) -> CounterMeaning {
    let number = event.strip_prefix("Port ").and_then(|rest| rest.split_once('/')).map(|(number, _)| number);
    let (Some(number), Some((way, quantity))) = (number, value.split_once(' ')) else {
        return CounterMeaning::AsWritten;
    };
    let (way, counts) = match way {
        "Tx" => (SENT, PORT_SENT),
        "Rx" => (RECEIVED, PORT_RECEIVED),
        _ => return CounterMeaning::AsWritten,
    };
    let part = match quantity {
        // A rate, whatever the word says.
        "Packets" => {
            return CounterMeaning::Named(format!("{title} {number} {}", counts[0]), "packets/s");
        }
        "Bandwidth Efficiency" => EFFICIENCY,
        "Error Rate" => ERROR_RATE,
        "Dropped Rate" => DROPPED_RATE,
        _ => return CounterMeaning::AsWritten,
    };
    CounterMeaning::Named(format!("{title} {number} {way} {part}"), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_a_timeline_have_the_names_of_all_forms() {
        let name = |process, event, value| match of_timeline(process, event, value) {
            CounterMeaning::Named(name, unit) => format!("{name} [{unit}]"),
            other => format!("{other:?}"),
        };
        assert_eq!(name("AI Core Freq", "AI Core Freq", "MHz"), "AI core frequency [MHz]");
        assert_eq!(name("HBM", "HBM 0/Read", "Read(MB/s)"), "HBM 0 read []");
        assert_eq!(name("AI Core Freq", "AI Core Freq Die 1", "value"), "AI core 1 frequency [MHz]");
        assert_eq!(name("LLC Bandwidth", "LLC/Write", "Hit Rate(%)"), "LLC write hit rate [%]");
        assert_eq!(name("LLC of AI CPU", "Core 3", "Capacity(MB)"), "LLC of AI CPU 3 [MB]");
        assert_eq!(name("DDR", "DDR/Write", "Write(MB/s)"), "DDR write []");
        assert_eq!(name("LLC", "LLC 0 Read/Hit Rate", "Hit Rate(%)"), "LLC 0 read hit rate []");
        assert_eq!(name("NPU MEM", "APP/DDR", "KB"), format!("{} []", memory("APP", "ddr")));
        assert_eq!(name("HCCS", "Tx", "Tx(MB/s)"), "HCCS sent [MB/s]");
        assert_eq!(name("PCIe", "PCIe_cpl", "Rx"), "PCIe received completion [MB/s]");
        assert_eq!(name("PCIe", "PCIe_nonpost_latency", "Tx"), "PCIe sent non-posted latency [us]");
        assert_eq!(name("PCIe", "PCIe_nonpost_latency", "Rx"), "Filler");
        assert_eq!(name("NIC", "Port 0/Tx", "Tx Packets"), "NIC port 0 sent packet rate [packets/s]");
        assert_eq!(name("RoCE", "Port 1/Rx", "Rx Error Rate"), "RoCE port 1 received error rate []");
        for (process, event) in [("", "Tx"), ("python3", "Port 0/Tx"), ("NIC", "Port"), ("PCIe", "Tx")] {
            assert_eq!(name(process, event, "Tx"), "AsWritten", "{process} {event}");
        }
        assert_eq!(memory("GE", "Total Reserved"), memory("GE", "reserved"));
    }
}
