//! Ranks as they are read, in any order: the parts in collectives of all of them in one column and their traffic in
//! another, which move to files where they are large, and the rest of each.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use opscope_columns::Column;

use crate::rows::{CollectiveRow, LinkRow, RankRows};

/// The ranks that were read so far.
#[derive(Debug, Default)]
pub(crate) struct Gathering(Mutex<Rows>);

/// The rows of all ranks of which there are many, those of each one after the other.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The parts in collectives.
    pub(crate) parts: Column<CollectiveRow>,
    /// The traffic over links.
    pub(crate) links: Column<LinkRow>,
}

/// A rank's rows, of which the many lie among those of all.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// The few.
    pub(crate) rows: RankRows,
    /// Where its parts lie.
    pub(crate) parts: Range<usize>,
    /// Where its traffic lies.
    pub(crate) links: Range<usize>,
}

impl Gathering {
    /// Takes a rank's rows over.
    pub(crate) fn add(&self, mut rows: RankRows) -> Gathered {
        let (parts, links) = (std::mem::take(&mut rows.collectives), std::mem::take(&mut rows.links));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Gathered { rows, parts: append(&mut all.parts, &parts), links: append(&mut all.links, &links) }
    }

    /// The rows of all ranks.
    pub(crate) fn rows(self) -> Rows {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends rows; returns where they lie.
fn append<T: Copy>(all: &mut Column<T>, rows: &[T]) -> Range<usize> {
    let begin = all.len();
    all.extend_from_slice(rows);
    begin..all.len()
}
