//! The switches of msprof that concern hardware: they are understood and checked, and whoever sets
//! one is told that it has nothing to record here.

mod table;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use opscope_say::{say, word};

use self::table::{METRICS, SWITCHES, Values};
use crate::terminal::Terminal;

/// A switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    /// Switched on
    On,
    /// Switched off
    Off,
}

/// Where the help lists them.
const HEADING: &str = "Switches of msprof for its hardware, accepted and checked";

const ACL_API: u64 = 0x1;
const TASK_TIME: u64 = 0x2;
const AICORE_METRICS: u64 = 0x4;
const GE_API_L0: u64 = 0x200;
const TASK_TIME_L0: u64 = 0x800;
const TASK_TIME_L2: u64 = 0x2000;

/// Switches that are one bit of what AscendCL is asked for.
const MASKS: [(&str, u64); 5] =
    [("aicpu", 0x8), ("l2", 0x10), ("hccl", 0x20), ("runtime-api", 0x100), ("task-memory", 0x1000)];

/// The group that is recorded unless another is named.
const PIPE_UTILIZATION: u32 = 1;
/// No group at all.
const NO_METRICS: u32 = 0xFF;

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
            terminal.note(&say!(
                "AscendCL's interface for programs doesn't record {}; CANN's own msprof does, on the host with the \
                 processor, and opscope reads what it leaves",
                listed(&others)
            ));
        }
        if !asked.is_empty() && !asks_ascendcl {
            terminal.note(&say!(
                "nothing is recorded for {} this way: give --via=files, without --dynamic",
                listed(&asked)
            ));
        }
        if let Some(registers) = self.value("aic-metrics").filter(|value| value.starts_with("Custom:")) {
            terminal.warn(&say!(
                "--aic-metrics={registers}: AscendCL's interface for programs knows groups of counters only, so none \
                 is recorded; name one of {}, or have CANN's own msprof record the registers",
                METRICS.join(", ")
            ));
        } else if asks_ascendcl && self.value("aic-metrics").is_some() && !self.counts_cores() {
            terminal.warn(word(
                "--aic-metrics: counters are off with this --task-time; --ai-core=on has them recorded",
            ));
        }
    }

    /// Says what was asked of AscendCL in vain, because the program didn't use it.
    pub fn tell_unrecorded(&self, terminal: &Terminal) {
        let asked: Vec<&str> = self.wanting().filter(|name| is_asked(name)).collect();
        if !asked.is_empty() {
            terminal.note(&say!(
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
                values if values.is_empty() => word(meaning).to_owned(),
                values => format!("{}{}{values}", word(meaning), word(": ")),
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
    fn the_meaning_of_every_switch_has_a_text_in_chinese() {
        let entries = opscope_say::entries().expect("every table can be read");
        let has_text = |english: &str| entries.iter().any(|entry| entry.id == english);
        for (name, values, meaning) in SWITCHES {
            assert!(has_text(meaning), "--{name}: {meaning}");
            if let Values::Number { unit, .. } = values {
                assert!(*unit == "Hz" || has_text(unit), "--{name}: {unit}");
            }
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
