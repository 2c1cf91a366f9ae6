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

/// What a switch can be set to.
#[derive(Clone, Copy, Debug)]
enum Values {
    OneOf(&'static [&'static str]),
    Number { least: u64, most: u64, unit: &'static str },
    Text,
}

const ON_OFF: Values = Values::OneOf(&["on", "off"]);
const MODES: Values = Values::OneOf(&["task-based", "sample-based"]);

const fn hertz(most: u64) -> Values {
    Values::Number { least: 1, most, unit: "Hz" }
}

/// All of them, with what they can be set to.
const SWITCHES: &[(&str, Values)] = &[
    ("type", Values::OneOf(&["text", "db"])),
    ("runtime-api", ON_OFF),
    ("task-time", Values::OneOf(&["l0", "l1", "l2", "l3", "on", "off"])),
    ("aicore-shape", ON_OFF),
    ("model-execution", ON_OFF),
    ("hccl", ON_OFF),
    ("ge-api", Values::OneOf(&["off", "l0", "l1"])),
    ("aicpu", ON_OFF),
    ("ai-core", ON_OFF),
    ("aic-mode", MODES),
    ("aic-freq", hertz(100)),
    ("aic-metrics", Values::Text),
    ("ai-vector-core", ON_OFF),
    ("aiv-mode", MODES),
    ("aiv-freq", hertz(100)),
    ("aiv-metrics", Values::Text),
    ("task-tsfw", ON_OFF),
    ("task-memory", ON_OFF),
    ("task-block", Values::OneOf(&["on", "off", "all"])),
    ("optype", Values::Text),
    ("l2", ON_OFF),
    ("sys-devices", Values::Text),
    ("sys-period", Values::Number { least: 1, most: 2_592_000, unit: "seconds" }),
    ("sys-hardware-mem", ON_OFF),
    ("sys-hardware-mem-freq", hertz(100)),
    ("llc-profiling", Values::OneOf(&["read", "write", "capacity"])),
    ("sys-cpu-profiling", ON_OFF),
    ("sys-cpu-freq", hertz(50)),
    ("sys-profiling", ON_OFF),
    ("sys-sampling-freq", hertz(10)),
    ("sys-pid-profiling", ON_OFF),
    ("sys-pid-sampling-freq", hertz(10)),
    ("sys-io-profiling", ON_OFF),
    ("sys-io-sampling-freq", hertz(100)),
    ("sys-interconnection-profiling", ON_OFF),
    ("sys-interconnection-freq", hertz(50)),
    ("dvpp-profiling", ON_OFF),
    ("dvpp-freq", hertz(100)),
    ("instr-profiling", ON_OFF),
    ("instr-profiling-freq", Values::Number { least: 300, most: 30_000, unit: "cycles" }),
    ("sys-lp", ON_OFF),
    ("sys-lp-freq", hertz(100)),
    ("sys-mem-serviceflow", Values::Text),
    ("npu-events", Values::Text),
    ("nts-metrics", Values::Text),
    ("python-path", Values::Text),
    ("reports", Values::Text),
    ("summary-format", Values::OneOf(&["csv", "json"])),
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

impl Values {
    fn check(&self, name: &str, value: &str) -> Result<(), String> {
        match self {
            Self::OneOf(values) if values.contains(&value) => Ok(()),
            Self::OneOf(values) => Err(format!("--{name}: '{value}' is none of {}", values.join(", "))),
            Self::Number { least, most, unit } => match value.parse::<u64>() {
                Ok(number) if (*least..=*most).contains(&number) => Ok(()),
                _ => Err(format!("--{name}: expected {least} to {most} {unit}, found '{value}'")),
            },
            Self::Text if value.trim().is_empty() => Err(format!("--{name}: expected a value")),
            Self::Text => Ok(()),
        }
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

    /// What AscendCL is to record into files, as the bits and the number that `acl_prof.h` has.
    pub fn device_mask(&self) -> (u64, u32) {
        let value = |wanted: &str| {
            let set = self.0.iter().find(|(name, ..)| *name == wanted);
            set.map(|(_, _, value)| value.as_str())
        };
        // Calls, tasks and counters of the cores are what the reference records unless told otherwise.
        let mut mask = ACL_API;
        mask |= match value("task-time") {
            Some("off") => 0,
            Some("l0") => TASK_TIME_L0,
            Some("l2" | "l3") => TASK_TIME | TASK_TIME_L2,
            _ => TASK_TIME,
        };
        let has_cores = match value("ai-core") {
            Some(value) => value == "on",
            None => !matches!(value("task-time"), Some("off" | "l0")),
        };
        if has_cores {
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
        let metrics = value("aic-metrics").and_then(|name| METRICS.iter().position(|known| *known == name));
        (mask, metrics.unwrap_or(1) as u32)
    }

    /// Says which of them have nothing to record here.
    pub fn tell(&self, terminal: &Terminal) {
        let wants_nothing = |name: &str, value: &str| {
            value == "off" || ["type", "summary-format", "python-path", "reports"].contains(&name)
        };
        let names: Vec<String> = self
            .0
            .iter()
            .filter(|(name, _, value)| !wants_nothing(name, value))
            .map(|(name, ..)| format!("--{name}"))
            .collect();
        if !names.is_empty() {
            terminal.note(&format!(
                "no Ascend processor is collected from here, so nothing is recorded for {}",
                names.join(", ")
            ));
        }
    }
}

impl FromArgMatches for HardwareSwitches {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let set = SWITCHES.iter().filter_map(|(name, values)| {
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
        SWITCHES.iter().fold(command, |command, (name, _)| {
            // They would hide what matters in the help; that of msprof lists them.
            command.arg(Arg::new(*name).long(*name).value_name("VALUE").hide(true))
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
        ] {
            assert_eq!(parse(arguments).device_mask(), (mask, metrics), "{arguments:?}");
        }
    }

    #[test]
    fn every_switch_is_understood() {
        for (name, values) in SWITCHES {
            let value = match values {
                Values::OneOf(values) => values[0].to_owned(),
                Values::Number { most, .. } => most.to_string(),
                Values::Text => "x".to_owned(),
            };
            let parsed = parse(&[&format!("--{name}={value}")]);
            assert_eq!(parsed.check(), Ok(()), "--{name}={value}");
            assert_eq!(parsed.0.len(), 1);
        }
    }
}
