//! The instrumentation library: a program marks its own phases, and gets them back on a timeline.
//!
//! Marks and ranges are recorded while somebody collects (`opscope collect -- PROGRAM`, or the
//! program itself through the [`profile`] module or the calls of `acl.prof`), in the same records
//! below `host/data` of a `PROF_*` directory that CANN's runtime writes. While nobody collects, a
//! call costs a nanosecond or two.
//!
//! One library serves all of these interfaces:
//!
//! - Rust: [`range`], [`mark`], the [`range!`] macro;
//! - C: `include/opscope_mark.h`;
//! - programs that are annotated with mstx or NVTX already: the library is what they load when
//!   `MSTX_INJECTION_PATH` or `NVTX_INJECTION64_PATH` names it;
//! - the stamps of `acl.prof`.
//!
//! ```
//! fn infer() {
//!     let _range = opscope_mark::range("infer");
//!     opscope_mark::mark("weights are warm");
//!     opscope_mark::range!("layer {}", 3);
//! }
//! infer();
//! ```
//!
//! The way of a mark: it goes into a ring of the calling thread ([`ring`]), from where one
//! thread of the library writes its record to a slice ([`sink`]) within a quarter of a second, or
//! earlier when the ring is half full. A process that is killed loses less than a second and two
//! mebibytes. A forked child goes on with a recorder of its own, and a process that becomes another
//! program under a collector has everything written before.
//!
//! # Floors
//! Each row uses those below it.
//!
//! ```text
//! ffi: c · mstx · nvtx · acl                    the interfaces for other languages
//! profile · event ─► collector ─► waiting       profiles made here; marks; who collects
//! shortcut ─► thread                            short marks; the state of a thread
//! recorder ─► session · ring                    the thread that writes, and the profile that it writes to
//! open_ranges · queued_mark ─► text             ranges that any thread may end; marks as they wait
//! details ─► domain                             what a mark says beside its text
//! ```

mod collector;
mod details;
mod domain;
mod event;
mod ffi;
mod open_ranges;
pub mod profile;
mod queued_mark;
mod recorder;
mod ring;
mod session;
mod shortcut;
mod text;
mod thread;
mod waiting;

use std::fmt::Arguments;

pub use collector::is_on;
pub use details::Details;
pub use domain::{Domain, named as domain};
pub use event::{pop, push, range_end, range_start};
pub use text::LONGEST_TEXT;

/// Marks an instant.
#[inline]
pub fn mark(text: &str) {
    event::mark(text.as_bytes(), Details::default());
}

/// Marks an instant in a domain.
pub fn mark_in(domain: Domain, text: &str) {
    event::mark(text.as_bytes(), Details { domain: Some(domain), ..Details::default() });
}

/// Begins a range that ends when the answer is dropped, on the same thread.
#[inline]
#[must_use = "the range ends when this is dropped"]
pub fn range(text: &str) -> Range {
    Range { recorded: push(text.as_bytes(), Details::default()) > 0, _here: std::marker::PhantomData }
}

/// As [`range`], with a text that is only put together when it is recorded.
#[must_use = "the range ends when this is dropped"]
pub fn range_with(text: Arguments<'_>) -> Range {
    if !is_on() {
        return Range { recorded: false, _here: std::marker::PhantomData };
    }
    match text.as_str() {
        Some(text) => range(text),
        None => range(&text.to_string()),
    }
}

/// Makes the rest of the enclosing block a range: `range!("layer {}", number)`.
#[macro_export]
macro_rules! range {
    ($($text:tt)+) => {
        let _opscope_range = $crate::range_with(::core::format_args!($($text)+));
    };
}

/// A range of the calling thread, which ends when this is dropped.
#[derive(Debug)]
pub struct Range {
    recorded: bool,
    /// Ranges are a thread's own.
    _here: std::marker::PhantomData<*const ()>,
}

impl Drop for Range {
    #[inline]
    fn drop(&mut self) {
        if self.recorded {
            pop();
        }
    }
}

/// Begins a range that ends when the answer is dropped, on whichever thread that is.
#[must_use = "the range ends when this is dropped"]
pub fn free_range(text: &str) -> FreeRange {
    FreeRange { number: range_start(text.as_bytes(), Details::default()) }
}

/// A range that may end on another thread, when this is dropped.
#[derive(Debug)]
pub struct FreeRange {
    number: u64,
}

impl Drop for FreeRange {
    fn drop(&mut self) {
        range_end(self.number);
    }
}
