//! Records that were dropped or doubted while a profile was read.

use std::fmt;

use opscope_trace::Severity;

/// Why something was dropped or doubted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// A metadata file is missing or can't be used; what depends on it has defaults.
    MissingMetadata,
    /// A host or device directory is left out, because its metadata can't be used.
    UnusableDirectory,
    /// A file with readings of clocks ends within a line.
    CutReading,
    /// A reading of a clock, or a frequency, that can't be; what depends on it has a default.
    ImpossibleClock,
    /// A file can't be opened or mapped.
    UnreadableFile,
    /// A slice is missing between others.
    MissingSlice,
    /// A slice has another size than the marker beside it says, or is gone.
    CutSlice,
    /// Bytes at the begin or end of a stream that are no whole record.
    PartialRecord,
    /// A record whose magic number is wrong.
    BrokenMagic,
    /// A record of a kind that isn't known.
    UnknownRecord,
    /// A record of a known kind with impossible content.
    InvalidRecord,
    /// A line of text that can't be understood.
    InvalidLine,
    /// An event without its other half.
    UnmatchedEvent,
    /// A start without an end, or the other way round.
    UnmatchedTask,
    /// Several host tasks and several device tasks under one number.
    AmbiguousTask,
    /// An operator that the host launched and no device executed.
    OperatorWithoutDevice,
    /// A host task that is no operator and that no device executed.
    HostTaskWithoutDevice,
    /// A device task that no host call launched.
    DeviceTaskWithoutHost,
    /// A device task as a whole, for which its sub-tasks stand.
    DividedTask,
    /// Counters that belong to no task.
    UnmatchedCounters,
    /// Counters that overflowed.
    CounterOverflow,
    /// A note about a node or model that lies in none of their calls.
    UnmatchedNote,
    /// A hash for which no dictionary has a name.
    UnnamedHash,
    /// A time that no clock can show.
    ImpossibleTime,
    /// A time before the profile's begin.
    TimeBeforeStart,
    /// A file of which the format isn't known.
    UnknownFile,
    /// A file whose content isn't of the format that its name tells.
    RefusedFile,
    /// A file that nothing here reads, though its name is of a known form.
    UnreadFile,
    /// Records that were decoded with the layout of the tool chain of 2022.
    OldLayout,
}

impl Reason {
    /// Whether something was lost, or may be wrong, and not only worth telling.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::OldLayout | Self::DividedTask)
    }

    /// How much it takes from the figures.
    pub fn severity(self) -> Severity {
        match self {
            // Devices never report some tasks, such as those that start a model.
            Self::UnknownFile
            | Self::UnreadFile
            | Self::OldLayout
            | Self::DividedTask
            | Self::HostTaskWithoutDevice => Severity::Remark,
            // At the begin and the end of a collection these are usual; a slice that is cut off is
            // known by its marker.
            Self::UnmatchedEvent
            | Self::UnmatchedTask
            | Self::OperatorWithoutDevice
            | Self::DeviceTaskWithoutHost
            | Self::AmbiguousTask
            | Self::UnmatchedCounters
            | Self::CounterOverflow
            | Self::UnmatchedNote
            | Self::UnnamedHash => Severity::Doubted,
            _ => Severity::Lost,
        }
    }

    /// A sentence for tables and terminals.
    pub fn text(self) -> &'static str {
        match self {
            Self::MissingMetadata => "metadata missing or unusable, defaults used",
            Self::UnusableDirectory => "directory left out whole, because its metadata can't be used",
            Self::CutReading => "file with readings of clocks that ends within a line",
            Self::ImpossibleClock => "clock or frequency that can't be, replaced; times may be relative",
            Self::UnreadableFile => "file not readable",
            Self::MissingSlice => "slice missing between others",
            Self::CutSlice => "bytes that a slice has more or less than its marker says",
            Self::PartialRecord => "bytes that are no whole record",
            Self::BrokenMagic => "record with a wrong magic number",
            Self::UnknownRecord => "record of an unknown kind",
            Self::InvalidRecord => "record with impossible content",
            Self::InvalidLine => "line of text not understood",
            Self::UnmatchedEvent => "event without its other half",
            Self::UnmatchedTask => "task start or end without its other half",
            Self::AmbiguousTask => "several host and device tasks under one number",
            Self::OperatorWithoutDevice => "operator that the host launched and no device executed",
            Self::HostTaskWithoutDevice => "host task that no device executed",
            Self::DeviceTaskWithoutHost => "device task that no host call launched",
            Self::DividedTask => "device task that is shown by its sub-tasks",
            Self::UnmatchedCounters => "counters that belong to no task",
            Self::CounterOverflow => "counters that overflowed",
            Self::UnmatchedNote => "note outside of every call it could belong to",
            Self::UnnamedHash => "hash without a name in the dictionaries",
            Self::ImpossibleTime => "time that can't be",
            Self::TimeBeforeStart => "time before the begin of the profile",
            Self::UnknownFile => "file of an unknown format",
            Self::RefusedFile => "file with another content than its name tells, left out whole",
            Self::UnreadFile => "file that opscope doesn't read",
            Self::OldLayout => "record decoded with the 2022 layout (CANN 5.x)",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

/// A kind of loss and how often it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Why.
    pub reason: Reason,
    /// The file, field or place concerned.
    pub place: String,
    /// How many records, lines or bytes.
    pub count: u64,
}

/// Everything that was dropped or doubted, each reason and place once.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    rows: Vec<Loss>,
}

impl Losses {
    /// Counts `count` losses; nothing happens for 0.
    pub fn count(&mut self, reason: Reason, place: &str, count: u64) {
        if count == 0 {
            return;
        }
        match self.rows.iter_mut().find(|row| row.reason == reason && row.place == place) {
            // A size that a file states may be anything.
            Some(row) => row.count = row.count.saturating_add(count),
            None => self.rows.push(Loss { reason, place: place.to_owned(), count }),
        }
    }

    /// Adds those of another part of the work.
    pub fn merge(&mut self, other: Self) {
        for row in other.rows {
            self.count(row.reason, &row.place, row.count);
        }
    }

    /// All of them, in the order in which they were met.
    pub fn rows(&self) -> &[Loss] {
        &self.rows
    }

    /// How often something happened for `reason`, over all places.
    pub fn total(&self, reason: Reason) -> u64 {
        let counts = self.rows.iter().filter(|row| row.reason == reason).map(|row| row.count);
        counts.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_reasons_at_one_place_add_up() {
        let mut losses = Losses::default();
        losses.count(Reason::BrokenMagic, "a", 2);
        let mut other = Losses::default();
        other.count(Reason::BrokenMagic, "a", 3);
        other.count(Reason::BrokenMagic, "b", 1);
        other.count(Reason::UnknownRecord, "a", 0);
        losses.merge(other);
        assert_eq!(losses.rows().len(), 2);
        assert_eq!(losses.total(Reason::BrokenMagic), 6);
    }
}
