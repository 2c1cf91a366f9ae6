//! Dialects: what the timelines of one family of writers have in common.
//!
//! The format says that a slice has a name, a category, arguments and a lane, but not what any of them
//! means. A [`Dialect`] knows its files by what they say of themselves, and then a [`DialectReader`] is
//! asked about every slice.

use opscope_trace::{DeviceKind, Trace};

use super::document::Document;
use super::lanes::Lanes;
use crate::reading::Row;

pub use super::builder::{Builder, Item, OperatorKey};
pub use super::lanes::{Lane, LaneId};
pub use super::text::{Raw, text_of};

/// A family of writers whose timelines mean the same by their processes, lanes and arguments.
pub trait Dialect: Sync {
    /// Begins to read a file if it is of this dialect: gives the lanes of `builder` the names and numbers
    /// of the threads that they show.
    fn begin<'a>(
        &self,
        about: &AboutFile<'_, 'a>,
        builder: &mut Builder<'a>,
    ) -> Option<Box<dyn DialectReader<'a> + 'a>>;
}

/// The meaning of one file's slices, marks and counters. Whatever isn't said here is as in any other file.
pub trait DialectReader<'a> {
    /// Makes the row of a slice; `None` where its category tells what it is.
    fn slice(&mut self, builder: &mut Builder<'a>, slice: &Item<'a>) -> Option<Row>;

    /// Completes the trace when all its rows are made.
    fn finish(&mut self, _trace: &mut Trace) {}

    /// The time of the file that is the trace's zero, in nanoseconds.
    fn zero(&self) -> Option<i64> {
        None
    }

    /// Whether a member of the outer object was read, so that it is no remark about the run.
    fn has_read(&self, _member: &[u8]) -> bool {
        false
    }

    /// The domain of a mark.
    fn domain_of_mark(&self, mark: &Item<'a>) -> Raw<'a> {
        mark.category
    }

    /// Kind, number and name of the device that the counters of a process are about.
    fn device_of_counters(&self, _pid: Option<u32>, _process: &str) -> Option<(DeviceKind, u32, String)> {
        None
    }

    /// The meaning of a counter of a process, given the names of its events and of one of their values.
    fn counter(&self, _process: &str, _event: &str, _value: &str) -> CounterMeaning {
        CounterMeaning::AsWritten
    }

    /// The name of a counter, given the name of its events.
    fn counter_name<'name>(&self, name: &'name str) -> &'name str {
        name
    }
}

/// The meaning of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CounterMeaning {
    /// The file's own words say it.
    AsWritten,
    /// A quantity with a name of its own, and its unit where the file tells none.
    Named(String, &'static str),
    /// Nothing was measured: the values only fill a place.
    Filler,
}

/// The facts that a file tells outside its slices.
#[derive(Clone, Copy)]
pub struct AboutFile<'f, 'a> {
    pub(super) document: &'f Document<'a>,
    pub(super) lanes: &'f Lanes<'a>,
}

impl<'f, 'a> AboutFile<'f, 'a> {
    /// The value of a member of the outer object.
    pub fn member(&self, name: &str) -> Option<Raw<'a>> {
        self.document.member(name)
    }

    /// Number and name of every process that has a name.
    pub fn processes(&self) -> impl Iterator<Item = (u32, &'f str)> {
        self.lanes.processes.values().map(|process| (process.pid, process.name.as_str()))
    }

    /// Number, name and label of every process that has a name; the label is empty where there is none.
    pub fn labelled_processes(&self) -> impl Iterator<Item = (u32, &'f str, &'f str)> {
        self.lanes
            .processes
            .values()
            .map(|process| (process.pid, process.name.as_str(), process.label.as_str()))
    }
}

/// The dialect of all files that no other dialect knows: the category of a slice tells what it is.
pub(super) struct Plain;

impl<'a> DialectReader<'a> for Plain {
    fn slice(&mut self, _: &mut Builder<'a>, _: &Item<'a>) -> Option<Row> {
        None
    }
}
