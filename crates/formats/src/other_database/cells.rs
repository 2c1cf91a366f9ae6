//! The cells of a row, wherever it was read.

use std::borrow::Cow;

use opscope_trace::Nanoseconds;
use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::pages::{self, Place};
use crate::reading::decimal;

/// The cells of a row, read as what they should be whatever type they were stored with.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'r>(Source<'r>);

/// Where the cells of a row are.
#[derive(Clone, Copy, Debug)]
enum Source<'r> {
    Sqlite(&'r Row<'r>),
    /// The record on a page, the places of its cells, and the number of the row.
    Page(&'r [u8], &'r [Place], i64),
}

impl<'r> Cells<'r> {
    pub(super) fn of_row(row: &'r Row<'r>) -> Self {
        Self(Source::Sqlite(row))
    }

    pub(super) fn of_page(record: &'r [u8], places: &'r [Place], key: i64) -> Self {
        Self(Source::Page(record, places, key))
    }

    // A whole number in a column of others comes out of a page as a whole number, which is read as the same by all
    // functions below.
    #[inline]
    fn value(&self, column: usize) -> ValueRef<'_> {
        match self.0 {
            Source::Sqlite(row) => row.get_ref(column).unwrap_or(ValueRef::Null),
            Source::Page(record, places, key) => {
                places.get(column).map_or(ValueRef::Null, |place| pages::value(record, *place, key))
            }
        }
    }

    /// A whole number. Some tables store times as text.
    pub fn integer(&self, column: usize) -> Option<i64> {
        match self.value(column) {
            ValueRef::Integer(value) => Some(value),
            // A number beyond the range becomes its end, which no id or time is.
            ValueRef::Real(value) if value.is_finite() => Some(value as i64),
            ValueRef::Text(text) => decimal::whole(text).ok(),
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => None,
        }
    }

    /// A whole number that is not negative.
    pub fn number(&self, column: usize) -> Option<u64> {
        self.integer(column).and_then(|value| u64::try_from(value).ok())
    }

    /// A whole number of 32 bits that is not negative.
    pub fn small(&self, column: usize) -> Option<u32> {
        self.integer(column).and_then(|value| u32::try_from(value).ok())
    }

    /// A number; nothing for those that are infinite.
    pub fn float(&self, column: usize) -> Option<f64> {
        let value = match self.value(column) {
            ValueRef::Integer(value) => value as f64,
            ValueRef::Real(value) => value,
            ValueRef::Text(text) => std::str::from_utf8(text).ok()?.parse().ok()?,
            ValueRef::Null | ValueRef::Blob(_) => return None,
        };
        value.is_finite().then_some(value)
    }

    /// Text, or a number as it is written.
    pub fn text(&self, column: usize) -> Option<Cow<'_, str>> {
        match self.value(column) {
            ValueRef::Text(text) => Some(String::from_utf8_lossy(text)),
            ValueRef::Integer(value) => Some(value.to_string().into()),
            ValueRef::Real(value) => Some(value.to_string().into()),
            ValueRef::Null | ValueRef::Blob(_) => None,
        }
    }

    /// Start and duration out of two columns of nanoseconds.
    pub fn span(&self, start: usize, end: usize) -> Result<(Nanoseconds, Nanoseconds), NoSpan> {
        let (Some(start), Some(end)) = (self.integer(start), self.integer(end)) else {
            return Err(NoSpan::Missing);
        };
        match end.checked_sub(start) {
            Some(duration @ 0..) => Ok((Nanoseconds(start), Nanoseconds(duration))),
            Some(_) => Err(NoSpan::EndsBeforeStart),
            None => Err(NoSpan::Missing),
        }
    }
}

/// Why two columns are no span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSpan {
    /// One of them is empty or no number.
    Missing,
    /// The end lies before the start.
    EndsBeforeStart,
}
