//! The switches of msprof that concern hardware: they are understood and checked, and whoever sets
//! one is told that it has nothing to record here.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use crate::terminal::Terminal;

/// A switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    /// Switched on
    On,
    /// Switched off
    Off,
}

/// The values of a switch.
#[derive(Clone, Copy, Debug)]
enum Values {
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

/// Where the help lists them.
const HEADING: &str = "Switches of msprof for its hardware, accepted and checked";

/// All of them, with what they can be set to and what they mean.
const SWITCHES: &[(&str, Values, &str)] = &[
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

const ACL_API: u64 = 0x1;
const TASK_TIME: u64 = 0x2;
const AICORE_METRICS: u64 = 0x4;
const GE_API_L0: u64 = 0x200;
const TASK_TIME_L0: u64 = 0x800;
const TASK_TIME_L2: u64 = 0x2000;

/// Switches that are one bit of what AscendCL is asked for.
const MASKS: [(&str, u64); 5] =
    [("aicpu", 0x8), ("l2", 0x10), ("hccl", 0x20), ("runtime-api", 0x100), ("task-memory", 0x1000)];

/// Groups of counters, in the order of their numbers.
const METRICS: [&str; 9] = [
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

/// The group that is recorded unless another is named.
const PIPE_UTILIZATION: u32 = 1;
/// No group at all.
const NO_METRICS: u32 = 0xFF;

impl Values {
    /// The words of the help for it.
    fn description(self) -> String {
        match self {
            Self::OneOf(values) => values.join(", "),
            Self::Number { least, most, unit } => format!("{least} to {most} {unit}"),
            Self::Metrics => format!("{}, Custom:0x49,... (at most 8 registers)", METRICS.join(", ")),
            Self::Devices => "all, or numbers between commas".to_owned(),
            Self::Text => String::new(),
        }
    }

    fn check(&self, name: &str, value: &str) -> Result<(), String> {
        match self {
            Self::OneOf(values) if values.contains(&value) => Ok(()),
            Self::OneOf(values) => Err(format!("--{name}: '{value}' is none of {}", values.join(", "))),
            Self::Number { least, most, unit } => match value.parse::<u64>() {
                Ok(number) if (*least..=*most).contains(&number) => Ok(()),
                _ => Err(format!("--{name}: expected {least} to {most} {unit}, found '{value}'")),
            },
            Self::Metrics => check_metrics(name, value),
            Self::Devices
                if value == "all" || value.split(',').all(|it| it.trim().parse::<u32>().is_ok()) =>
            {
                Ok(())
            }
            Self::Devices => {
                Err(format!("--{name}: expected all, or numbers between commas, found '{value}'"))
            }
            Self::Text if value.trim().is_empty() => Err(format!("--{name}: expected a value")),
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
        None => Err(format!("--{name}: '{value}' is none of {}, Custom:0x49,...", METRICS.join(", "))),
        Some(registers) => match registers.split(',').collect::<Vec<_>>() {
            list if list.len() <= MOST_REGISTERS && list.iter().all(|it| is_register(it)) => Ok(()),
            _ => Err(format!(
                "--{name}: expected at most {MOST_REGISTERS} registers from 0x1 to 0x7FFFFFFF after Custom:, found \
                 '{registers}'"
            )),
        },
    }
}

/// The switches that were set.
#[derive(Clone, Debug, Default)]
pub struct HardwareSwitches(Vec<(&'static str, Values, String)>);

impl HardwareSwitches {
    /// Makes sure that every switch has a value that it can have.
    ///
    /// # Errors
    /// With the first that hasn't, and what it can be set to.
    pub fn check(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|(name, values, value)| values.check(name, value))
    }

    /// The value of a switch, where it was set.
    pub fn value(&self, wanted: &str) -> Option<&str> {
        let set = self.0.iter().find(|(name, ..)| *name == wanted);
        set.map(|(_, _, value)| value.as_str())
    }

    /// The data that AscendCL is to record into files, as the bits and the number that `acl_prof.h` has.
    pub fn device_mask(&self) -> (u64, u32) {
        let value = |wanted: &str| self.value(wanted);
        // Calls, tasks and counters of the cores are what the reference records unless told otherwise.
        let mut mask = ACL_API;
        mask |= match value("task-time") {
            Some("off") => 0,
            Some("l0") => TASK_TIME_L0,
            Some("l2" | "l3") => TASK_TIME | TASK_TIME_L2,
            _ => TASK_TIME,
        };
        if self.counts_cores() {
            mask |= AICORE_METRICS;
        }
        for (name, bit) in MASKS {
            if value(name) == Some("on") {
                mask |= bit;
            }
        }
        if value("ge-api").is_some_and(|value| value != "off") {
            mask |= GE_API_L0;
        }
        let metrics = match value("aic-metrics") {
            Some(value) if value.starts_with("Custom:") => NO_METRICS,
            Some(value) => {
                METRICS.iter().position(|known| *known == value).map_or(PIPE_UTILIZATION, |it| it as u32)
            }
            None => PIPE_UTILIZATION,
        };
        (mask, metrics)
    }

    /// The switches as keys of AscendCL's `acl.json`, with their values.
    pub fn of_acl_json(&self) -> Vec<(String, String)> {
        const KEYS: [&str; 10] = [
            "task-time",
            "aicpu",
            "aic-metrics",
            "l2",
            "hccl",
            "runtime-api",
            "ge-api",
            "task-memory",
            "llc-profiling",
            "sys-hardware-mem-freq",
        ];
        let known = self.0.iter().filter(|(name, ..)| KEYS.contains(name));
        known.map(|(name, _, value)| (name.replace('-', "_"), value.clone())).collect()
    }

    /// Says which of them have nothing to record here, and what would; `asks_ascendcl` where the program's
    /// AscendCL is asked for what they say.
    pub fn tell(&self, asks_ascendcl: bool, terminal: &Terminal) {
        let (asked, others): (Vec<_>, Vec<_>) = self.wanting().partition(|name| is_asked(name));
        if !others.is_empty() {
            terminal.note(&format!(
                "AscendCL's interface for programs doesn't record {}; CANN's own msprof does, on the host with the \
                 processor, and opscope reads what it leaves",
                listed(&others)
            ));
        }
        if !asked.is_empty() && !asks_ascendcl {
            terminal.note(&format!(
                "nothing is recorded for {} this way: give --via=files, without --dynamic",
                listed(&asked)
            ));
        }
        if let Some(registers) = self.value("aic-metrics").filter(|value| value.starts_with("Custom:")) {
            terminal.warn(&format!(
                "--aic-metrics={registers}: AscendCL's interface for programs knows groups of counters only, so none \
                 is recorded; name one of {}, or have CANN's own msprof record the registers",
                METRICS.join(", ")
            ));
        } else if asks_ascendcl && self.value("aic-metrics").is_some() && !self.counts_cores() {
            terminal.warn(
                "--aic-metrics: counters are off with this --task-time; --ai-core=on has them recorded",
            );
        }
    }

    /// Says what was asked of AscendCL in vain, because the program didn't use it.
    pub fn tell_unrecorded(&self, terminal: &Terminal) {
        let asked: Vec<&str> = self.wanting().filter(|name| is_asked(name)).collect();
        if !asked.is_empty() {
            terminal.note(&format!(
                "AscendCL wrote no profile, so nothing was recorded for {}: the program must run on a host with CANN's \
                 runtime, and call aclInit, aclrtSetDevice and aclFinalize",
                listed(&asked)
            ));
        }
    }

    /// The switches that ask for something to be recorded.
    fn wanting(&self) -> impl Iterator<Item = &'static str> {
        const ABOUT_FILES: [&str; 4] = ["type", "summary-format", "python-path", "reports"];
        let wants = |(name, _, value): &&(&'static str, Values, String)| {
            value != "off" && !ABOUT_FILES.contains(name)
        };
        self.0.iter().filter(wants).map(|(name, ..)| *name)
    }

    /// Whether counters of the cores are recorded.
    fn counts_cores(&self) -> bool {
        let is_custom = self.value("aic-metrics").is_some_and(|value| value.starts_with("Custom:"));
        !is_custom
            && match self.value("ai-core") {
                Some(value) => value == "on",
                None => !matches!(self.value("task-time"), Some("off" | "l0")),
            }
    }
}

/// Whether AscendCL can be asked for what a switch says.
fn is_asked(name: &str) -> bool {
    const OTHERS: [&str; 4] = ["task-time", "ai-core", "aic-metrics", "ge-api"];
    OTHERS.contains(&name) || MASKS.iter().any(|(known, _)| *known == name)
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("--{name}")).collect::<Vec<_>>().join(", ")
}

impl FromArgMatches for HardwareSwitches {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let set = SWITCHES.iter().filter_map(|(name, values, _)| {
            let value = matches.get_one::<String>(name)?;
            Some((*name, *values, value.clone()))
        });
        Ok(Self(set.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for HardwareSwitches {
    fn augment_args(command: Command) -> Command {
        SWITCHES.iter().fold(command, |command, (name, values, meaning)| {
            let help = match values.description() {
                values if values.is_empty() => (*meaning).to_owned(),
                values => format!("{meaning}: {values}"),
            };
            // In the short help they would hide what matters.
            let argument = Arg::new(*name).long(*name).value_name("VALUE").help(help);
            command.arg(argument.help_heading(HEADING).hide_short_help(true))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> HardwareSwitches {
        let command = HardwareSwitches::augment_args(Command::new("x"));
        let matches = command.get_matches_from([&["x"], arguments].concat());
        HardwareSwitches::from_arg_matches(&matches).expect("matches")
    }

    #[test]
    fn a_value_that_a_switch_cannot_have_is_named_with_those_it_can() {
        let says = |argument: &str| parse(&[argument]).check().expect_err(argument);
        assert_eq!(says("--ai-core=yes"), "--ai-core: 'yes' is none of on, off");
        assert_eq!(says("--aic-freq=101"), "--aic-freq: expected 1 to 100 Hz, found '101'");
        assert!(says("--instr-profiling-freq=299").contains("300 to 30000 cycles"));
        assert!(says("--sys-period=2592001").contains("2592000"));
    }

    #[test]
    fn switches_become_what_the_device_is_asked_for() {
        for (arguments, mask, metrics) in [
            (&[][..], 0x7, 1),
            (&["--task-time=l0", "--aicpu=on", "--aic-metrics=MemoryUB"], 0x809, 5),
            (&["--task-time=l2", "--l2=on", "--ge-api=l1"], 0x2217, 1),
            (&["--task-time=off", "--ai-core=on", "--runtime-api=off"], 0x5, 1),
            (&["--aic-metrics=Custom:0x49"], 0x3, 0xFF),
        ] {
            assert_eq!(parse(arguments).device_mask(), (mask, metrics), "{arguments:?}");
        }
    }

    #[test]
    fn every_switch_is_understood() {
        for (name, values, _) in SWITCHES {
            let value = match values {
                Values::OneOf(values) => values[0].to_owned(),
                Values::Number { most, .. } => most.to_string(),
                Values::Metrics => "Custom:0x49,0x4a".to_owned(),
                Values::Devices => "0,1".to_owned(),
                Values::Text => "x".to_owned(),
            };
            let parsed = parse(&[&format!("--{name}={value}")]);
            assert_eq!(parsed.check(), Ok(()), "--{name}={value}");
            assert_eq!(parsed.0.len(), 1);
        }
    }
}
