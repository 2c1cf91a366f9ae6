//! The faults of a cluster, and how they are written.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::error::Error;
use crate::layout::Layout;

/// Something that makes a run slower than it need be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A rank's cores run at a lower frequency.
    LowFrequency {
        /// The rank.
        rank: usize,
        /// How many times as long its computing takes.
        factor: f64,
    },
    /// Data from one rank to another take longer.
    SlowLink {
        /// The rank that sends.
        from: usize,
        /// The rank that receives.
        to: usize,
        /// The part of the bandwidth that is left.
        factor: f64,
    },
    /// A rank's experts get more tokens than those of its peers.
    MoreTokens {
        /// The rank.
        rank: usize,
        /// How many times as many; no more than nine tenths of its group's.
        factor: f64,
    },
    /// An operator of each layer is left to the AI CPU.
    AiCpu {
        /// The rank.
        rank: usize,
        /// How long it takes there.
        microseconds: f64,
    },
    /// The input of each step comes late.
    LateInput {
        /// The rank.
        rank: usize,
        /// How late.
        microseconds: f64,
    },
    /// A rank's host takes longer for each operator than the device does, which waits for it.
    HostBound {
        /// The rank.
        rank: usize,
        /// How late each operator is launched.
        microseconds: f64,
    },
}

impl Fault {
    /// The name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::LowFrequency { .. } => "low-frequency",
            Self::SlowLink { .. } => "slow-link",
            Self::MoreTokens { .. } => "more-tokens",
            Self::AiCpu { .. } => "ai-cpu",
            Self::LateInput { .. } => "late-input",
            Self::HostBound { .. } => "host-bound",
        }
    }

    /// The name in `truth.json`.
    pub fn key(&self) -> &'static str {
        match self {
            Self::LowFrequency { .. } => "slow_rank",
            Self::SlowLink { .. } => "slow_link",
            Self::MoreTokens { .. } => "hot_expert",
            Self::AiCpu { .. } => "ai_cpu",
            Self::LateInput { .. } => "late_host",
            Self::HostBound { .. } => "host_bound",
        }
    }

    /// The rank, or the two of a link.
    pub fn ranks(&self) -> Vec<usize> {
        match *self {
            Self::SlowLink { from, to, .. } => vec![from, to],
            Self::LowFrequency { rank, .. }
            | Self::MoreTokens { rank, .. }
            | Self::AiCpu { rank, .. }
            | Self::LateInput { rank, .. }
            | Self::HostBound { rank, .. } => vec![rank],
        }
    }

    /// How bad it is: a factor, or microseconds.
    pub fn value(&self) -> f64 {
        match *self {
            Self::LowFrequency { factor, .. }
            | Self::SlowLink { factor, .. }
            | Self::MoreTokens { factor, .. } => factor,
            Self::AiCpu { microseconds, .. }
            | Self::LateInput { microseconds, .. }
            | Self::HostBound { microseconds, .. } => microseconds,
        }
    }

    /// That such a cluster can have it.
    pub(crate) fn check(&self, layout: &Layout) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Choice(format!("{self}: {text}")));
        if let Some(rank) = self.ranks().into_iter().find(|rank| *rank >= layout.ranks()) {
            let last = layout.ranks() - 1;
            return Err(Error::Choice(format!("{self}: there is no rank {rank}; the last is {last}")));
        }
        match *self {
            Self::SlowLink { from, to, .. } if from == to => wrong("a link has two ranks"),
            Self::SlowLink { from, to, .. } if !layout.have_link(from, to) => {
                wrong("these ranks exchange nothing through the link that would be slow")
            }
            Self::SlowLink { factor, .. } if !(factor > 0.001 && factor <= 1.0) => {
                wrong("the part of the bandwidth that is left is above 0.001 and at most 1")
            }
            Self::LowFrequency { factor, .. } | Self::MoreTokens { factor, .. }
                if !(1.0..=1_000.0).contains(&factor) =>
            {
                wrong("the factor is 1 to 1000")
            }
            Self::MoreTokens { .. } if layout.expert < 2 => {
                wrong("the experts of this layout are all on one rank (ep=1)")
            }
            Self::AiCpu { microseconds, .. }
            | Self::LateInput { microseconds, .. }
            | Self::HostBound { microseconds, .. }
                if !(0.0..=1e7).contains(&microseconds) =>
            {
                wrong("the time is 0 to 10 s")
            }
            _ => Ok(()),
        }
    }
}

/// The time in nanoseconds by which the operators of a rank are launched late.
pub(crate) fn held_up(faults: &[Fault], of: usize) -> f64 {
    let times = faults.iter().map(|fault| match *fault {
        Fault::HostBound { rank, microseconds } if rank == of => microseconds * 1_000.0,
        _ => 0.0,
    });
    times.sum()
}

/// As it is written on the command line, with its value.
impl Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks: Vec<String> = self.ranks().iter().map(usize::to_string).collect();
        let is_time = matches!(self, Self::AiCpu { .. } | Self::LateInput { .. } | Self::HostBound { .. });
        let unit = if is_time { "us" } else { "" };
        write!(out, "{}={}:{}{unit}", self.name(), ranks.join("-"), self.value())
    }
}

/// Reads `low-frequency=RANK[:FACTOR]`, `slow-link=FROM-TO[:PART]`, `more-tokens=RANK[:FACTOR]`,
/// `ai-cpu=RANK[:TIME]`, `late-input=RANK[:TIME]` and `host-bound=RANK[:TIME]`. The names of `truth.json` are known as well.
impl FromStr for Fault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |what: &str| Error::Choice(format!("'{text}': {what}"));
        let (name, rest) =
            text.split_once('=').ok_or_else(|| wrong("a fault is written NAME=RANK[:VALUE]"))?;
        let (place, value) = rest.split_once(':').map_or((rest, None), |(place, value)| (place, Some(value)));
        let number =
            |text: &str| text.trim().parse().map_err(|_| Error::Choice(format!("'{text}' is no rank")));
        let factor = |usual: f64| match value {
            None => Ok(usual),
            Some(text) => text.trim().parse().map_err(|_| Error::Choice(format!("'{text}' is no factor"))),
        };
        let time = |usual: f64| match value {
            None => Ok(usual),
            Some(text) => {
                let wrong = || Error::Choice(format!("'{text}' is no time such as 1500us or 9ms"));
                microseconds(text).ok_or_else(wrong)
            }
        };
        match name.trim() {
            "low-frequency" | "slow_rank" => {
                Ok(Self::LowFrequency { rank: number(place)?, factor: factor(1.25)? })
            }
            "slow-link" | "slow_link" => {
                let (from, to) = place.split_once('-').ok_or_else(|| wrong("a link is written FROM-TO"))?;
                Ok(Self::SlowLink { from: number(from)?, to: number(to)?, factor: factor(0.35)? })
            }
            "more-tokens" | "hot_expert" => {
                Ok(Self::MoreTokens { rank: number(place)?, factor: factor(2.2)? })
            }
            "ai-cpu" | "ai_cpu" => Ok(Self::AiCpu { rank: number(place)?, microseconds: time(1_500.0)? }),
            "late-input" | "late_host" => {
                Ok(Self::LateInput { rank: number(place)?, microseconds: time(9_000.0)? })
            }
            "host-bound" | "host_bound" => {
                Ok(Self::HostBound { rank: number(place)?, microseconds: time(60.0)? })
            }
            other => Err(Error::Choice(format!(
                "there is no fault '{other}'; there are: low-frequency, slow-link, more-tokens, ai-cpu, late-input, \
                 host-bound"
            ))),
        }
    }
}

/// Reads a time with its unit.
fn microseconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];
    let (number, scale) = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    number.trim().parse().ok().map(|number: f64| number * scale)
}

/// Five faults, each in another group, so that none hides all of another; a rank of low frequency alone where
/// there are few ranks. What a layout can't have is left out.
pub fn default_faults(layout: &Layout) -> Vec<Fault> {
    let ranks = layout.ranks();
    if ranks < 8 {
        return vec![Fault::LowFrequency { rank: ranks - 1, factor: 1.25 }];
    }
    let Layout { tensor, pipeline, data, expert } = *layout;
    let stage = layout.stage_ranks();
    let last = stage * (pipeline - 1);
    let (ai_cpu, late) = if ranks > 8 { (last + stage / 2 + 1, stage / 2) } else { (5, 2) };
    let all = [
        Fault::LowFrequency { rank: stage - 1, factor: 1.25 },
        Fault::SlowLink { from: 0, to: tensor * (data - 1), factor: 0.35 },
        Fault::MoreTokens { rank: last + tensor * (expert - 1) + tensor / 2, factor: 2.2 },
        Fault::AiCpu { rank: ai_cpu.min(ranks - 1), microseconds: 1_500.0 },
        Fault::LateInput { rank: late, microseconds: 9_000.0 },
    ];
    all.into_iter().filter(|fault| fault.check(layout).is_ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Fault, default_faults};
    use crate::layout::Layout;

    #[test]
    fn faults_are_read_as_they_are_written() {
        for text in [
            "low-frequency=3:1.25",
            "slow-link=0-28:0.35",
            "more-tokens=46:2.2",
            "ai-cpu=49:1500us",
            "late-input=16:9000us",
            "host-bound=7:60us",
        ] {
            let fault: Fault = text.parse().unwrap();
            assert_eq!(fault.to_string(), text);
            let without_value = text.split(':').next().unwrap();
            assert_eq!(without_value.parse::<Fault>().unwrap(), fault);
        }
        assert_eq!("late-input=1:2ms".parse::<Fault>().unwrap().value(), 2_000.0);
    }

    #[test]
    fn faults_that_cannot_be_are_refused_with_what_is_wrong() {
        let layout = Layout::of(8).unwrap();
        for (text, expected) in [
            ("slow-link=3", "FROM-TO"),
            ("slow-link=3-3", "two ranks"),
            ("slow-link=0-7", "exchange nothing"),
            ("slow-link=0-1:0", "bandwidth"),
            ("slow-link=0-1:NaN", "bandwidth"),
            ("low-frequency=9", "no rank 9"),
            ("low-frequency=1:0.5", "1 to 1000"),
            ("ai-cpu=1:7", "no time"),
            ("ai-cpu=1:-7us", "0 to 10 s"),
            ("broken=1", "low-frequency"),
            ("ai-cpu", "NAME=RANK"),
        ] {
            let problem =
                text.parse::<Fault>().and_then(|fault| fault.check(&layout)).unwrap_err().to_string();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    #[test]
    fn every_layout_can_have_its_default_faults() {
        for ranks in 2..300 {
            let layout = Layout::of(ranks).unwrap();
            let faults = default_faults(&layout);
            assert!(!faults.is_empty() && faults.iter().all(|fault| fault.check(&layout).is_ok()), "{ranks}");
        }
        assert_eq!(default_faults(&Layout::of(64).unwrap()).len(), 5);
    }
}
