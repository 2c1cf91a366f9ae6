//! The engine that statements over a set are put to, or the lack of one in a program that is built without.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use opscope_say::say;

/// Where a statement is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this process.
    Embedded,
    /// By the executors of a scheduler of Apache Ballista, which is at this `HOST:PORT`.
    Ballista(String),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "embedded" {
            return Ok(Self::Embedded);
        }
        let address = text.strip_prefix("ballista://").filter(|address| is_address(address));
        let address = address
            .ok_or_else(|| say!("expected embedded or ballista://HOST:PORT, found '{text}'", text = text))?;
        Ok(Self::Ballista(address.to_owned()))
    }
}

/// Whether a text is a host and its port.
fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_name = |host: &str| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    };
    let is_host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(version_6) => version_6.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_name(host),
    };
    is_host && port.parse::<u16>().is_ok_and(|port| port != 0)
}

/// The bounds of a statement, as far as they are said.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "datafusion"), allow(dead_code, reason = "nobody heeds them without an engine"))]
pub struct Bounds {
    /// How many threads compute, or into how many parts a cluster divides the work.
    pub threads: Option<NonZeroUsize>,
    /// The folder of rows that don't fit into memory.
    pub spill: Option<PathBuf>,
    /// The time that it may take; zero is any.
    pub time: Option<Duration>,
}

/// The error of a program that knows no cluster.
#[cfg(not(feature = "ballista"))]
fn lacks_ballista() -> anyhow::Error {
    let mut text = say!(
        "this opscope is built without the client of Apache Ballista, which cargo build --release -p opscope \
         --features ballista puts in"
    );
    if cfg!(feature = "datafusion") {
        text.push_str(&say!("; without --engine the statement is carried out on this machine"));
    }
    anyhow::anyhow!("{text}")
}

#[cfg(feature = "datafusion")]
pub use built::{is_mistake, open, statement};
#[cfg(not(feature = "datafusion"))]
pub use lacking::{is_mistake, open, statement};

#[cfg(feature = "datafusion")]
mod built {
    use opscope_formats::memory;
    use opscope_formats::sqlite::Value;
    use opscope_reach::Set;
    use opscope_reach_engine::{Engine, EngineError, Limits};

    use super::{Bounds, Place};
    #[cfg(feature = "ballista")]
    use super::{Duration, NonZeroUsize};
    #[cfg(feature = "ballista")]
    use crate::interrupt;
    use crate::report::rows::Asked;

    /// A session over a set.
    ///
    /// # Errors
    /// When it can't be begun, or this program knows no such place.
    pub fn open(set: &Set, place: &Place, bounds: Bounds) -> anyhow::Result<Option<Engine>> {
        let default = Limits::default();
        let limits = Limits {
            memory: memory::asked_for().unwrap_or(default.memory),
            spill: bounds.spill.unwrap_or(default.spill),
            threads: bounds.threads.unwrap_or(default.threads),
            time: bounds.time.filter(|time| !time.is_zero()),
        };
        let engine = match place {
            Place::Embedded => Engine::new(set, &limits)?,
            #[cfg(not(feature = "ballista"))]
            Place::Ballista(_) => return Err(super::lacks_ballista()),
            #[cfg(feature = "ballista")]
            Place::Ballista(address) => {
                let limits = Limits {
                    threads: bounds.threads.unwrap_or(PARTS),
                    time: bounds.time.or(Some(LONGEST)).filter(|time| !time.is_zero()),
                    ..limits
                };
                // The job would go on where the program ends.
                interrupt::set_last_deed(opscope_reach_engine::cancel_jobs);
                Engine::on_ballista(set, &limits, address)?
            }
        };
        Ok(Some(engine))
    }

    /// The parts into which a cluster divides work where nobody says otherwise: Ballista's own default.
    #[cfg(feature = "ballista")]
    const PARTS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

    /// The time that a cluster may take where nobody says otherwise: it may lose an executor, and wait for it.
    #[cfg(feature = "ballista")]
    const LONGEST: Duration = Duration::from_secs(600);

    /// A statement to an engine.
    pub struct ToEngine<'a>(&'a Engine, &'a str);

    /// A statement to an engine.
    pub fn statement<'a>(engine: &'a Engine, statement: &'a str) -> ToEngine<'a> {
        ToEngine(engine, statement)
    }

    impl Asked for ToEngine<'_> {
        fn ask(
            &self,
            columns: &mut dyn FnMut(Vec<String>) -> anyhow::Result<()>,
            row: &mut dyn FnMut(Vec<Value>) -> anyhow::Result<()>,
        ) -> anyhow::Result<()> {
            self.0.ask::<anyhow::Error>(self.1, columns, row)
        }
    }

    /// Whether an error is one of the statement's own.
    pub fn is_mistake(error: &anyhow::Error) -> bool {
        use EngineError::{Empty, NotOne, NotRead, Statement};
        matches!(error.downcast_ref(), Some(Empty | NotOne | NotRead { .. } | Statement { .. }))
    }
}

#[cfg(not(feature = "datafusion"))]
mod lacking {
    use opscope_formats::sqlite::Value;
    use opscope_reach::Set;

    use super::{Bounds, Place};
    use crate::report::rows::Asked;

    /// An engine that there is none of.
    pub enum Engine {}

    /// Nothing: this program has no engine.
    ///
    /// # Errors
    /// When another's was asked for.
    pub fn open(_: &Set, place: &Place, _: Bounds) -> anyhow::Result<Option<Engine>> {
        match place {
            Place::Embedded => Ok(None),
            Place::Ballista(_) => Err(super::lacks_ballista()),
        }
    }

    /// A statement to an engine that there is none of.
    pub fn statement<'a>(engine: &'a Engine, _: &str) -> &'a Engine {
        engine
    }

    impl Asked for &Engine {
        fn ask(
            &self,
            _: &mut dyn FnMut(Vec<String>) -> anyhow::Result<()>,
            _: &mut dyn FnMut(Vec<Value>) -> anyhow::Result<()>,
        ) -> anyhow::Result<()> {
            match **self {}
        }
    }

    /// No error comes from an engine that there is none of.
    pub fn is_mistake(_: &anyhow::Error) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn a_cluster_is_a_host_and_a_port() {
        let of = |text: &str| text.parse::<Place>();
        assert_eq!(of("embedded"), Ok(Place::Embedded));
        for address in ["127.0.0.1:50050", "head-1.local:1", "[::1]:50050"] {
            assert_eq!(of(&format!("ballista://{address}")), Ok(Place::Ballista(address.to_owned())));
        }
        for wrong in [
            "",
            "ballista",
            "ballista://",
            "ballista://host",
            "ballista://host:",
            "ballista://host:0",
            "ballista://host:70000",
            "ballista://:50050",
            "ballista://host:50050/",
            "ballista://user@host:50050",
            "ballista://::1:50050",
            "ballista://[host]:50050",
            "ballista://ho st:50050",
            "http://host:50050",
        ] {
            let message = of(wrong).expect_err(wrong);
            assert!(message.contains("ballista://HOST:PORT"), "{message}");
        }
    }
}
