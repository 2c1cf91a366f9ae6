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
    ("ascendcl", ON_OFF),
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
    ("mstx-domain-include", Values::Text),
    ("mstx-domain-exclude", Values::Text),
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
    ("dynamic", ON_OFF),
    ("pid", Values::Text),
    ("summary-format", Values::OneOf(&["csv", "json"])),
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
        self.0.iter().try_for_each(|(name, values, value)| values.check(name, value))?;
        if self.0.iter().any(|(name, _, value)| *name == "dynamic" && value == "on") {
            return Err(
                "--dynamic: recording on demand is not there yet; use --delay and --duration".to_owned()
            );
        }
        let is_set = |wanted: &str| self.0.iter().any(|(name, ..)| *name == wanted);
        if is_set("mstx-domain-include") && is_set("mstx-domain-exclude") {
            return Err("--mstx-domain-include and --mstx-domain-exclude exclude each other".to_owned());
        }
        Ok(())
    }

    /// Says which of them have nothing to record here.
    pub fn tell(&self, terminal: &Terminal) {
        let wants_nothing = |name: &str, value: &str| {
            value == "off" || ["type", "summary-format", "python-path", "reports", "pid"].contains(&name)
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
        let both = parse(&["--mstx-domain-include=a", "--mstx-domain-exclude=b"]);
        assert!(both.check().is_err());
    }

    #[test]
    fn every_switch_is_understood() {
        for (name, values) in SWITCHES {
            let value = match values {
                // The one that is refused so far, with a sentence of its own.
                Values::OneOf(_) if *name == "dynamic" => "off".to_owned(),
                Values::OneOf(values) => values[0].to_owned(),
                Values::Number { most, .. } => most.to_string(),
                Values::Text => "x".to_owned(),
            };
            let parsed = parse(&[&format!("--{name}={value}")]);
            assert_eq!(parsed.check(), Ok(()), "--{name}={value}");
            assert_eq!(parsed.0.len(), 1);
        }
        assert!(parse(&["--dynamic=on"]).check().is_err_and(|text| text.contains("--delay")));
    }
}
