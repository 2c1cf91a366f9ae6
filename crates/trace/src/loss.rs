//! Records that were dropped or doubted while a profile was read.

use crate::table::table;
use crate::{LossKind, Severity, StringId, Trace};

/// The rows that losses have at most, but for one more of each kind: places are often texts of a file, which may
/// have any number of them.
const MOST_PLACES: usize = 1_000;
/// The place of all that come behind them.
const OTHER_PLACES: &str = "other places";

table! {
    /// Records that were dropped or doubted while a profile was read, so that users can see and query them.
    LossTable,
    /// Names a row of the [`LossTable`].
    LossId,
    /// A kind of loss in one place and how often it happened.
    Loss {
        /// The kind, which tells severity, source and scope.
        kind: LossKind,
        /// How many records.
        count: u64,
        /// The file, offset or field concerned.
        detail: StringId,
    }
}

impl Trace {
    /// Counts something that was dropped, doubted or is to be remarked; what is equal but for its
    /// number adds up in one row.
    pub fn count_loss(&mut self, kind: LossKind, count: u64, detail: &str) {
        if count == 0 {
            return;
        }
        let detail = self.strings.intern(detail);
        let known = self.losses.iter().find(|(_, row)| row.kind == kind && row.detail == detail);
        if known.is_none() && self.losses.len() >= MOST_PLACES && self.strings.get(detail) != OTHER_PLACES {
            return self.count_loss(kind, count, OTHER_PLACES);
        }
        match known {
            Some((id, row)) => self.losses.set(id, Loss { count: row.count.saturating_add(count), ..row }),
            None => {
                self.losses.push(Loss { kind, count, detail });
            }
        }
    }

    /// Counts the texts whose bytes are no UTF-8, unless the reader did so itself. `detail` names the file.
    pub fn count_replaced_bytes(&mut self, detail: &str) {
        if !self.losses.kind().contains(&LossKind::ReplacedBytes) {
            let count = self.strings.with_replaced_bytes() as u64;
            self.count_loss(LossKind::ReplacedBytes, count, detail);
        }
    }

    /// Counts what was lost before there was a trace.
    pub fn count_losses(&mut self, losses: &Losses) {
        losses.rows().iter().for_each(|loss| self.count_loss(loss.kind, loss.count, &loss.place));
    }

    /// How many rows of losses are of a severity.
    pub fn losses_of(&self, severity: Severity) -> usize {
        self.losses.kind().iter().filter(|kind| kind.severity() == severity).count()
    }
}

/// A kind of loss and how often it happened, before there is a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedLoss {
    /// The kind, which tells severity, source and scope.
    pub kind: LossKind,
    /// The file, field or place concerned.
    pub place: String,
    /// How many records, lines or bytes.
    pub count: u64,
}

/// Everything that was dropped or doubted before there is a trace, each kind and place once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    rows: Vec<CountedLoss>,
}

impl Losses {
    /// Counts `count` losses; nothing happens for 0.
    pub fn count(&mut self, kind: LossKind, place: &str, count: u64) {
        if count == 0 {
            return;
        }
        match self.rows.iter().position(|row| row.kind == kind && row.place == place) {
            // A size that a file tells may be any number.
            Some(at) => self.rows[at].count = self.rows[at].count.saturating_add(count),
            None if self.rows.len() >= MOST_PLACES && place != OTHER_PLACES => {
                self.count(kind, OTHER_PLACES, count);
            }
            None => self.rows.push(CountedLoss { kind, place: place.to_owned(), count }),
        }
    }

    /// Adds those of another part of the work.
    pub fn merge(&mut self, other: Self) {
        for row in other.rows {
            self.count(row.kind, &row.place, row.count);
        }
    }

    /// All of them, in the order in which they were met.
    pub fn rows(&self) -> &[CountedLoss] {
        &self.rows
    }

    /// How often a kind happened, over all places.
    pub fn total(&self, kind: LossKind) -> u64 {
        let counts = self.rows.iter().filter(|row| row.kind == kind).map(|row| row.count);
        counts.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_in_more_places_than_are_told_apart_are_counted_together() {
        let (mut losses, mut trace) = (Losses::default(), Trace::new());
        for number in 0..3_000 {
            losses.count(LossKind::BrokenMagic, &number.to_string(), 2);
            trace.count_loss(LossKind::BrokenMagic, 2, &number.to_string());
        }
        assert_eq!((losses.rows().len(), losses.total(LossKind::BrokenMagic)), (1_001, 6_000));
        assert_eq!((trace.losses.len(), trace.losses.count().iter().sum::<u64>()), (1_001, 6_000));
    }

    #[test]
    fn losses_of_one_kind_and_place_add_up_before_and_in_a_trace() {
        let mut losses = Losses::default();
        losses.count(LossKind::BrokenMagic, "a", 2);
        let mut other = Losses::default();
        other.count(LossKind::BrokenMagic, "a", 3);
        other.count(LossKind::BrokenMagic, "b", 1);
        other.count(LossKind::UnknownRecord, "a", 0);
        losses.merge(other);
        assert_eq!(losses.rows().len(), 2);
        assert_eq!(losses.total(LossKind::BrokenMagic), 6);

        let mut trace = Trace::new();
        trace.count_losses(&losses);
        trace.count_loss(LossKind::BrokenMagic, 7, "b");
        trace.count_loss(LossKind::UnknownFile, 7, "b");
        trace.count_loss(LossKind::UnknownFile, 0, "c");
        assert_eq!(trace.losses.count(), [5, 8, 7]);
        assert_eq!(trace.losses_of(Severity::Lost), 2);
    }
}
