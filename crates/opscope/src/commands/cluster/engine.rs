//! The engine that statements over a set are put to, or the lack of one in a program that is built without.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// The bounds of a statement, as far as they are said.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "datafusion"), allow(dead_code, reason = "nobody heeds them without an engine"))]
pub struct Bounds {
    /// How many threads compute.
    pub threads: NonZeroUsize,
    /// The folder of rows that don't fit into memory.
    pub spill: Option<PathBuf>,
    /// The time that it may take; zero is any.
    pub time: Option<Duration>,
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

    use super::Bounds;
    use crate::report::rows::Asked;

    /// A session over a set.
    ///
    /// # Errors
    /// When it can't be begun.
    pub fn open(set: &Set, bounds: Bounds) -> anyhow::Result<Option<Engine>> {
        let default = Limits::default();
        let limits = Limits {
            memory: memory::asked_for().unwrap_or(default.memory),
            spill: bounds.spill.unwrap_or(default.spill),
            threads: bounds.threads,
            time: bounds.time.filter(|time| !time.is_zero()),
        };
        Ok(Some(Engine::new(set, &limits)?))
    }

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

    use super::Bounds;
    use crate::report::rows::Asked;

    /// An engine that there is none of.
    pub enum Engine {}

    /// Nothing: this program has no engine.
    ///
    /// # Errors
    /// None.
    pub fn open(_: &Set, _: Bounds) -> anyhow::Result<Option<Engine>> {
        Ok(None)
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
