//! Collectives and links of all ranks: the modes `all`, `communication_time` and `communication_matrix`, from
//! databases and from texts.

mod links;
mod texts;
mod times;

use std::path::Path;

use opscope_reach::Collection;

use crate::error::PeerError;
use crate::groups::{self, Seen};
use crate::ranks::Ranks;
use crate::run::{self, About};
use crate::steps;
use crate::table::Output;

/// The parts of a mode.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// How long collectives take.
    pub times: bool,
    /// The traffic of each link.
    pub links: bool,
    /// The groups.
    pub groups: bool,
    /// Steps, hosts and the run's own words.
    pub run: bool,
}

/// Writes the parts of databases: groups, times and links of some `ranks`, and steps and hosts of `all`.
///
/// # Errors
/// When the result can't be written.
pub fn of_databases(ranks: &Ranks, all: &Ranks, parts: Parts, path: &Path) -> Result<(), PeerError> {
    let about = if parts.run { About::read(all) } else { About::default() };
    let mut seen = Seen::default();
    if parts.links || !parts.times {
        seen = groups::of_databases(ranks);
    }
    Output::write(path, |output| {
        if parts.times {
            seen = times::write(ranks, output)?;
        }
        if parts.groups {
            seen.write(ranks, output)?;
        }
        if parts.links {
            links::write(ranks, &seen, output)?;
        }
        if parts.run {
            run::write(&about, output)?;
            let stages = steps::stages(about.layout(), &seen, ranks);
            steps::write(&steps::read(all), &about, &stages, output)?;
        }
        Ok(())
    })
}

pub use texts::write as of_texts;

/// The rank, for the columns that name it.
fn number(collection: &Collection) -> i64 {
    i64::from(collection.rank)
}
