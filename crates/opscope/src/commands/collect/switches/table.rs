//! The switches by name: their values, checked, and their meaning.

use opscope_say::{say, word};

/// Every switch with its values and its meaning.
pub const SWITCHES: &[(&str, Values, &str)] = &[
    (
        "type",
        Values::OneOf(&["text", "db"]),
        "What is made of the profile: tables and timelines, or the vendor's database",
    ),
    ("runtime-api", ON_OFF, "Calls of the runtime below AscendCL"),
    (
        "task-time",
        Values::OneOf(&["l0", "l1", "l2", "l3", "on", "off"]),
        "Times of tasks, from the least to the most that is told of each",
    ),
    ("aicore-shape", ON_OFF, "Shapes of operators although --task-time=l0"),
    ("model-execution", ON_OFF, "Superseded by --task-time"),
    ("hccl", ON_OFF, "Superseded by --task-time"),
    ("ge-api", Values::OneOf(&["off", "l0", "l1"]), "How the host schedules operators of dynamic shape"),
    ("aicpu", ON_OFF, "Operators on the AI processor"),
    ("ai-core", ON_OFF, "Counters of the AI cores"),
    ("aic-mode", MODES, "When they are read"),
    ("aic-freq", hertz(100), "How often, when sampled"),
    ("aic-metrics", Values::Metrics, "Which of them"),
    ("ai-vector-core", ON_OFF, "Counters of the vector cores"),
    ("aiv-mode", MODES, "When they are read"),
    ("aiv-freq", hertz(100), "How often, when sampled"),
    ("aiv-metrics", Values::Metrics, "Which of them"),
    ("task-tsfw", ON_OFF, "Data of the scheduler's firmware"),
    ("task-memory", ON_OFF, "Memory by operator"),
    ("task-block", Values::OneOf(&["on", "off", "all"]), "Blocks of tasks"),
    ("optype", Values::Text, "Of blocks, only these types of operators"),
    ("l2", ON_OFF, "Hits of the L2 cache"),
    ("sys-devices", Values::Devices, "Devices to record without a program"),
    ("sys-period", Values::Number { least: 1, most: 2_592_000, unit: "seconds" }, "How long to record them"),
    ("sys-hardware-mem", ON_OFF, "Traffic of memories and caches"),
    ("sys-hardware-mem-freq", hertz(100), "How often"),
    ("llc-profiling", Values::OneOf(&["read", "write", "capacity"]), "Which side of the last cache"),
    ("sys-cpu-profiling", ON_OFF, "Counters of the device's processors"),
    ("sys-cpu-freq", hertz(50), "How often"),
    ("sys-profiling", ON_OFF, "Use of the device's processors and memory"),
    ("sys-sampling-freq", hertz(10), "How often"),
    ("sys-pid-profiling", ON_OFF, "The same by process"),
    ("sys-pid-sampling-freq", hertz(10), "How often"),
    ("sys-io-profiling", ON_OFF, "Network cards of devices"),
    ("sys-io-sampling-freq", hertz(100), "How often"),
    ("sys-interconnection-profiling", ON_OFF, "Links between devices"),
    ("sys-interconnection-freq", hertz(50), "How often"),
    ("dvpp-profiling", ON_OFF, "Image and video units"),
    ("dvpp-freq", hertz(100), "How often"),
    ("instr-profiling", ON_OFF, "Samples of instructions"),
    (
        "instr-profiling-freq",
        Values::Number { least: 300, most: 30_000, unit: "cycles" },
        "One every so many",
    ),
    ("sys-lp", ON_OFF, "Low power states"),
    ("sys-lp-freq", hertz(100), "How often"),
    ("sys-mem-serviceflow", Values::Text, "Memory traffic by flow of services"),
    ("npu-events", Values::Text, "Events to count"),
    ("nts-metrics", Values::Text, "Counters of the task scheduler"),
    ("python-path", Values::Text, "Which Python parses; opscope needs none"),
    ("reports", Values::Text, "What the timeline shows: a JSON file in the vendor's form"),
    ("summary-format", Values::OneOf(&["csv", "json"]), "How tables are written"),
];

/// The values of a switch.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    OneOf(&'static [&'static str]),
    Number {
        least: u64,
        most: u64,
        unit: &'static str,
    },
    /// A group of counters, or registers.
    Metrics,
    /// Numbers of devices, or all of them.
    Devices,
    Text,
}

const ON_OFF: Values = Values::OneOf(&["on", "off"]);
const MODES: Values = Values::OneOf(&["task-based", "sample-based"]);

const fn hertz(most: u64) -> Values {
    Values::Number { least: 1, most, unit: "Hz" }
}

/// Groups of counters, in the order of their numbers.
pub const METRICS: [&str; 9] = [
    "ArithmeticUtilization",
    "PipeUtilization",
    "Memory",
    "MemoryL0",
    "ResourceConflictRatio",
    "MemoryUB",
    "L2Cache",
    "PipelineExecuteUtilization",
    "MemoryAccess",
];

impl Values {
    /// The words of the help for it.
    pub fn description(self) -> String {
        match self {
            Self::OneOf(values) => values.join(", "),
            Self::Number { least, most, unit } => say!("{least} to {most} {}", word(unit)),
            Self::Metrics => say!("{}, Custom:0x49,... (at most 8 registers)", METRICS.join(", ")),
            Self::Devices => word("all, or numbers between commas").to_owned(),
            Self::Text => String::new(),
        }
    }

    pub fn check(&self, name: &str, value: &str) -> Result<(), String> {
        match self {
            Self::OneOf(values) if values.contains(&value) => Ok(()),
            Self::OneOf(values) => Err(say!("--{name}: '{value}' is none of {}", values.join(", "))),
            Self::Number { least, most, unit } => match value.parse::<u64>() {
                Ok(number) if (*least..=*most).contains(&number) => Ok(()),
                _ => Err(say!("--{name}: expected {least} to {most} {unit}, found '{value}'")),
            },
            Self::Metrics => check_metrics(name, value),
            Self::Devices
                if value == "all" || value.split(',').all(|it| it.trim().parse::<u32>().is_ok()) =>
            {
                Ok(())
            }
            Self::Devices => Err(say!("--{name}: expected all, or numbers between commas, found '{value}'")),
            Self::Text if value.trim().is_empty() => Err(say!("--{name}: expected a value")),
            Self::Text => Ok(()),
        }
    }
}

/// Groups are named; registers follow `Custom:`, eight at most.
fn check_metrics(name: &str, value: &str) -> Result<(), String> {
    const MOST_REGISTERS: usize = 8;
    let is_register = |text: &str| {
        let number = text.trim().strip_prefix("0x").map(|digits| u32::from_str_radix(digits, 16));
        matches!(number, Some(Ok(1..=0x7FFF_FFFF)))
    };
    match value.strip_prefix("Custom:") {
        None if METRICS.contains(&value) => Ok(()),
        None => Err(say!("--{name}: '{value}' is none of {}, Custom:0x49,...", METRICS.join(", "))),
        Some(registers) => match registers.split(',').collect::<Vec<_>>() {
            list if list.len() <= MOST_REGISTERS && list.iter().all(|it| is_register(it)) => Ok(()),
            _ => Err(say!(
                "--{name}: expected at most {MOST_REGISTERS} registers from 0x1 to 0x7FFFFFFF after Custom:, found \
                 '{registers}'"
            )),
        },
    }
}
