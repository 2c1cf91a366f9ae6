//! Ranks as they are read, in any order: the parts in collectives of all of them in one column, which moves to a file
//! where it is large, and the rest of each.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use opscope_columns::Column;

use crate::rows::{CollectiveRow, RankRows};

/// The parts of all ranks that were read so far.
#[derive(Debug, Default)]
pub(crate) struct Gathering(Mutex<Column<CollectiveRow>>);

/// A rank's rows, whose parts lie among those of all.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// Its rows but for the parts.
    pub(crate) rows: RankRows,
    /// Where its parts lie.
    pub(crate) parts: Range<usize>,
}

impl Gathering {
    /// Takes a rank's parts over.
    pub(crate) fn add(&self, mut rows: RankRows) -> Gathered {
        let of_rank = std::mem::take(&mut rows.collectives);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = all.len();
        all.extend_from_slice(&of_rank);
        Gathered { rows, parts: begin..all.len() }
    }

    /// The parts of all ranks.
    pub(crate) fn parts(self) -> Column<CollectiveRow> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
