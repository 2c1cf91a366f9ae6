//! Quantities that were sampled over time: every table with a time, labels and values.

use std::collections::HashMap;

use opscope_trace::{Counter, CounterId, LossKind, Nanoseconds, Sample, StringId};

use crate::database::schema::{self, ENUM_MODULE, Table};
use crate::{quantities, units};

use super::reader::Reader;
use opscope_formats::other_database as query;

/// The columns that say when a sample was taken.
const TIME: [&str; 2] = ["timestampNs", "timestamp"];

/// A table of samples. Tables that are not listed are taken all the same: their columns that end in
/// `Id` tell counters apart, and the others are values without a unit.
struct Samples {
    table: &'static Table,
    /// The beginning of its counters' names.
    title: &'static str,
    /// Columns that tell its counters apart.
    labels: &'static [Label],
    /// Columns with values: the column, what the counter is called by it, and the unit.
    values: &'static [(&'static str, &'static str, &'static str)],
}

impl Samples {
    const fn check(&self) {
        let mut label = 0;
        while label < self.labels.len() {
            self.table.select([self.labels[label].column()]);
            label += 1;
        }
        let mut value = 0;
        while value < self.values.len() {
            self.table.select([self.values[value].0]);
            value += 1;
        }
    }
}

/// A column that tells counters apart.
#[derive(Clone, Copy)]
enum Label {
    /// The id of a text.
    Text(&'static str),
    /// A number.
    Number(&'static str),
    /// A number with a name in `ENUM_MODULE`.
    Module(&'static str),
}

impl Label {
    const fn column(self) -> &'static str {
        match self {
            Self::Text(column) | Self::Number(column) | Self::Module(column) => column,
        }
    }
}

const KNOWN: [Samples; 18] = [
    Samples {
        table: &schema::AICORE_FREQ,
        title: "AI core",
        labels: &[Label::Number("dieId")],
        values: &[("freq", "frequency", "MHz")],
    },
    Samples {
        table: &schema::HBM,
        title: quantities::HBM,
        labels: &[Label::Number("hbmId"), Label::Text("type")],
        values: &[("bandwidth", "", "B/s")],
    },
    Samples {
        table: &schema::DDR,
        title: quantities::DDR,
        labels: &[],
        values: &[("read", quantities::READ, "B/s"), ("write", quantities::WRITE, "B/s")],
    },
    Samples {
        table: &schema::LLC,
        title: quantities::LLC,
        labels: &[Label::Number("llcId"), Label::Text("mode")],
        values: &[("hitRate", quantities::HIT_RATE, "%"), ("throughput", quantities::THROUGHPUT, "B/s")],
    },
    Samples {
        table: &schema::NPU_MEM,
        title: quantities::MEMORY,
        labels: &[Label::Text("type")],
        values: &[("ddr", "DDR", "B"), ("hbm", "HBM", "B")],
    },
    Samples {
        table: &schema::NPU_MODULE_MEM,
        title: quantities::MEMORY,
        labels: &[Label::Module("moduleId")],
        // Another figure than what allocators tell of their reserves.
        values: &[("totalReserved", quantities::MODULE_RESERVED, "B")],
    },
    Samples {
        table: &schema::MEMORY_RECORD,
        title: quantities::MEMORY,
        labels: &[Label::Text("component")],
        values: &[
            ("totalAllocated", "allocated", "B"),
            ("totalReserved", "reserved", "B"),
            ("totalActive", "active", "B"),
        ],
    },
    Samples {
        table: &schema::NPU_OP_MEM,
        title: quantities::MEMORY,
        labels: &[Label::Text("component")],
        values: &[("totalAllocate", "allocated", "B"), ("totalReserve", "reserved", "B")],
    },
    Samples {
        table: &schema::ACC_PMU,
        title: quantities::ACCELERATOR,
        labels: &[Label::Number("accId")],
        values: &[
            ("readBwLevel", quantities::ACCELERATOR_LEVELS[0], ""),
            ("writeBwLevel", quantities::ACCELERATOR_LEVELS[1], ""),
            ("readOstLevel", quantities::ACCELERATOR_LEVELS[2], ""),
            ("writeOstLevel", quantities::ACCELERATOR_LEVELS[3], ""),
        ],
    },
    Samples {
        table: &schema::SOC_BANDWIDTH_LEVEL,
        title: quantities::SOC,
        labels: &[],
        values: &[
            ("l2BufferBwLevel", quantities::SOC_LEVELS[0], ""),
            ("mataBwLevel", quantities::SOC_LEVELS[1], ""),
        ],
    },
    Samples {
        table: &schema::SIO,
        title: quantities::SIO,
        labels: &[Label::Text("name")],
        values: &[
            ("rxReq", quantities::SIO_KINDS[0], "B/s"),
            ("rxRsp", quantities::SIO_KINDS[1], "B/s"),
            ("rxSnp", quantities::SIO_KINDS[2], "B/s"),
            ("rxDat", quantities::SIO_KINDS[3], "B/s"),
            ("txReq", quantities::SIO_KINDS[4], "B/s"),
            ("txRsp", quantities::SIO_KINDS[5], "B/s"),
            ("txSnp", quantities::SIO_KINDS[6], "B/s"),
            ("txDat", quantities::SIO_KINDS[7], "B/s"),
        ],
    },
    Samples {
        table: &schema::NETDEV_STATS,
        title: quantities::NETWORK_DEVICE,
        labels: &[],
        values: &[
            ("macTxPfcPkt", quantities::NETWORK_DEVICE_VALUES[0].1, "packets"),
            ("macRxPfcPkt", quantities::NETWORK_DEVICE_VALUES[1].1, "packets"),
            ("macTxByte", quantities::NETWORK_DEVICE_VALUES[2].1, "B"),
            ("macTxBandwidth", quantities::NETWORK_DEVICE_VALUES[3].1, "B/s"),
            ("macRxByte", quantities::NETWORK_DEVICE_VALUES[4].1, "B"),
            ("macRxBandwidth", quantities::NETWORK_DEVICE_VALUES[5].1, "B/s"),
            ("macTxBadByte", quantities::NETWORK_DEVICE_VALUES[6].1, "B"),
            ("macRxBadByte", quantities::NETWORK_DEVICE_VALUES[7].1, "B"),
            ("roceTxPkt", quantities::NETWORK_DEVICE_VALUES[8].1, "packets"),
            ("roceRxPkt", quantities::NETWORK_DEVICE_VALUES[9].1, "packets"),
            ("roceTxErrPkt", quantities::NETWORK_DEVICE_VALUES[10].1, "packets"),
            ("roceRxErrPkt", quantities::NETWORK_DEVICE_VALUES[11].1, "packets"),
            ("roceTxCnpPkt", quantities::NETWORK_DEVICE_VALUES[12].1, "packets"),
            ("roceRxCnpPkt", quantities::NETWORK_DEVICE_VALUES[13].1, "packets"),
            ("roceNewPktRty", quantities::NETWORK_DEVICE_VALUES[14].1, "packets"),
            ("nicTxByte", quantities::NETWORK_DEVICE_VALUES[15].1, "B"),
            ("nicTxBandwidth", quantities::NETWORK_DEVICE_VALUES[16].1, "B/s"),
            ("nicRxByte", quantities::NETWORK_DEVICE_VALUES[17].1, "B"),
            ("nicRxBandwidth", quantities::NETWORK_DEVICE_VALUES[18].1, "B/s"),
        ],
    },
    Samples {
        table: &schema::UB,
        title: quantities::UNIFIED_BUS,
        labels: &[Label::Number("portId")],
        values: &[("rxUdmaBind", quantities::RECEIVED, "MB/s"), ("txUdmaBind", quantities::SENT, "MB/s")],
    },
    Samples {
        table: &schema::QOS,
        title: "",
        labels: &[Label::Text("eventName"), Label::Number("dieId")],
        values: &[("bandwidth", "", "B/s")],
    },
    Samples {
        table: &schema::PCIE,
        title: quantities::PCIE,
        labels: &[],
        values: &[
            ("txPostMin", quantities::PCIE_KINDS[0][0], "B/s"),
            ("txPostMax", quantities::PCIE_KINDS[0][1], "B/s"),
            ("txPostAvg", quantities::PCIE_KINDS[0][2], "B/s"),
            ("txNonpostMin", quantities::PCIE_KINDS[1][0], "B/s"),
            ("txNonpostMax", quantities::PCIE_KINDS[1][1], "B/s"),
            ("txNonpostAvg", quantities::PCIE_KINDS[1][2], "B/s"),
            ("txCplMin", quantities::PCIE_KINDS[2][0], "B/s"),
            ("txCplMax", quantities::PCIE_KINDS[2][1], "B/s"),
            ("txCplAvg", quantities::PCIE_KINDS[2][2], "B/s"),
            ("txNonpostLatencyMin", quantities::PCIE_KINDS[3][0], "ns"),
            ("txNonpostLatencyMax", quantities::PCIE_KINDS[3][1], "ns"),
            ("txNonpostLatencyAvg", quantities::PCIE_KINDS[3][2], "ns"),
            ("rxPostMin", quantities::PCIE_KINDS[4][0], "B/s"),
            ("rxPostMax", quantities::PCIE_KINDS[4][1], "B/s"),
            ("rxPostAvg", quantities::PCIE_KINDS[4][2], "B/s"),
            ("rxNonpostMin", quantities::PCIE_KINDS[5][0], "B/s"),
            ("rxNonpostMax", quantities::PCIE_KINDS[5][1], "B/s"),
            ("rxNonpostAvg", quantities::PCIE_KINDS[5][2], "B/s"),
            ("rxCplMin", quantities::PCIE_KINDS[6][0], "B/s"),
            ("rxCplMax", quantities::PCIE_KINDS[6][1], "B/s"),
            ("rxCplAvg", quantities::PCIE_KINDS[6][2], "B/s"),
        ],
    },
    Samples {
        table: &schema::HCCS,
        title: quantities::HCCS,
        labels: &[],
        values: &[("txThroughput", quantities::SENT, "B/s"), ("rxThroughput", quantities::RECEIVED, "B/s")],
    },
    Samples {
        table: &schema::NIC,
        title: quantities::NIC,
        labels: &[Label::Number("funcId")],
        values: &PORT,
    },
    Samples {
        table: &schema::ROCE,
        title: quantities::ROCE,
        labels: &[Label::Number("funcId")],
        values: &PORT,
    },
];

/// The values of a port.
const PORT: [(&str, &str, &str); 13] = [
    ("bandwidth", quantities::BANDWIDTH, units::MEBI_OF_MEGABITS),
    ("rxPacketRate", quantities::PORT_RECEIVED[0], "packets/s"),
    ("rxByteRate", quantities::PORT_RECEIVED[1], "B/s"),
    ("rxPackets", quantities::PORT_RECEIVED[2], "packets"),
    ("rxBytes", quantities::PORT_RECEIVED[3], "B"),
    ("rxErrors", quantities::PORT_RECEIVED[4], "packets"),
    ("rxDropped", quantities::PORT_RECEIVED[5], "packets"),
    ("txPacketRate", quantities::PORT_SENT[0], "packets/s"),
    ("txByteRate", quantities::PORT_SENT[1], "B/s"),
    ("txPackets", quantities::PORT_SENT[2], "packets"),
    ("txBytes", quantities::PORT_SENT[3], "B"),
    ("txErrors", quantities::PORT_SENT[4], "packets"),
    ("txDropped", quantities::PORT_SENT[5], "packets"),
];

// Every column stands in its table's declaration.
const _: () = {
    let mut table = 0;
    while table < KNOWN.len() {
        KNOWN[table].check();
        table += 1;
    }
};

/// The identity of a counter: the table's name or title, its labels, the value's name.
type Key = (Vec<StringId>, Option<u32>);

impl Reader<'_> {
    /// Reads all tables of samples, each counter's samples in the order of time.
    pub(super) fn read_counters(&mut self) {
        let mut samples: Vec<Sample> = Vec::new();
        let mut counters: HashMap<Key, CounterId> = HashMap::new();
        let modules = self.modules();
        for known in &KNOWN {
            self.read_samples(known, &modules, &mut counters, &mut samples);
        }
        self.read_unknown_samples(&mut counters, &mut samples);
        samples.sort_by_key(|sample| sample.time);
        self.trace.samples.reserve(samples.len());
        for sample in samples {
            self.trace.samples.push(sample);
        }
    }

    fn modules(&mut self) -> HashMap<i64, String> {
        let mut modules = HashMap::new();
        self.each_row(ENUM_MODULE.name, &ENUM_MODULE.select(["id", "name"]), |_, row| {
            if let (Some(id), Some(name)) = (row.integer(0), row.text(1)) {
                modules.insert(id, name.into_owned());
            }
        });
        modules
    }

    fn read_samples(
        &mut self,
        known: &Samples,
        modules: &HashMap<i64, String>,
        counters: &mut HashMap<Key, CounterId>,
        samples: &mut Vec<Sample>,
    ) {
        let labels = known.labels.iter().map(|label| label.column());
        let values = known.values.iter().map(|(column, ..)| *column);
        let columns: Vec<&str> = TIME.into_iter().chain(["deviceId"]).chain(labels).chain(values).collect();
        let (first_label, first_value) = (TIME.len() + 1, TIME.len() + 1 + known.labels.len());
        self.each_row(known.table.name, &columns, |reader, row| {
            let Some(time) = row.integer(0).or(row.integer(1)) else {
                return reader.trace.count_loss(LossKind::SampleWithoutTime, 1, known.table.name);
            };
            let device = row.small(2);
            let mut name = vec![reader.trace.strings.intern(known.title)];
            for (index, label) in known.labels.iter().enumerate() {
                let value = row.integer(first_label + index);
                let text = match label {
                    Label::Text(_) => {
                        let text = reader.text(value);
                        let component = quantities::memory_component(reader.trace.strings.get(text));
                        component.map_or(text, |word| reader.trace.strings.intern(word))
                    }
                    Label::Module(_) => match value.and_then(|value| modules.get(&value)) {
                        Some(module) => reader.trace.strings.intern(module),
                        None => reader.number_text(value),
                    },
                    Label::Number(_) => reader.number_text(value),
                };
                name.push(text);
            }
            for (index, (_, what, unit)) in known.values.iter().enumerate() {
                let Some(value) = row.float(first_value + index) else { continue };
                let what = reader.trace.strings.intern(what);
                let mut key = (name.clone(), device);
                key.0.push(what);
                let counter = reader.counter(counters, key, unit);
                samples.push(Sample { counter, time: Nanoseconds(time) - reader.zero, value });
            }
        });
    }

    /// Tables of samples that this program doesn't know by name.
    fn read_unknown_samples(&mut self, counters: &mut HashMap<Key, CounterId>, samples: &mut Vec<Sample>) {
        for table in query::tables(self.database) {
            let columns = query::columns(self.database, &table);
            let time = columns.iter().position(|column| TIME.contains(&&**column));
            let device = columns.iter().position(|column| column == "deviceId");
            let (Some(time), Some(device), false) = (time, device, self.has_read(&table)) else { continue };
            let wanted: Vec<&str> = columns.iter().map(|column| &**column).collect();
            let title = self.trace.strings.intern(&table);
            let names: Vec<StringId> = columns.iter().map(|name| self.trace.strings.intern(name)).collect();
            let is_label = |index: usize| columns[index].ends_with("Id") && index != device;
            self.each_row(&table, &wanted, |reader, row| {
                let Some(at) = row.integer(time) else {
                    return reader.trace.count_loss(LossKind::SampleWithoutTime, 1, &table);
                };
                let labels = (0..wanted.len()).filter(|&index| is_label(index));
                let mut name = vec![title];
                name.extend(labels.map(|index| reader.number_text(row.integer(index))));
                for index in
                    (0..wanted.len()).filter(|&index| index != time && index != device && !is_label(index))
                {
                    let Some(value) = row.float(index) else { continue };
                    let mut key = (name.clone(), row.small(device));
                    key.0.push(names[index]);
                    let counter = reader.counter(counters, key, "");
                    samples.push(Sample { counter, time: Nanoseconds(at) - reader.zero, value });
                }
            });
        }
    }

    /// A number as text; nothing for the negative ones that stand for none.
    fn number_text(&mut self, number: Option<i64>) -> StringId {
        let text = number.filter(|number| *number >= 0).map_or(String::new(), |number| number.to_string());
        self.trace.strings.intern(&text)
    }

    fn counter(&mut self, counters: &mut HashMap<Key, CounterId>, key: Key, unit: &str) -> CounterId {
        if let Some(counter) = counters.get(&key) {
            return *counter;
        }
        let parts: Vec<&str> =
            key.0.iter().map(|part| self.trace.strings.get(*part)).filter(|part| !part.is_empty()).collect();
        let name = parts.join(" ");
        let (name, unit) = (self.trace.strings.intern(&name), self.trace.strings.intern(unit));
        let device = key.1.map(|device| self.device(device));
        let counter = self.trace.counters.push(Counter { name, unit, device });
        counters.insert(key, counter);
        counter
    }
}
