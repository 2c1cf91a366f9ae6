//! Samples of the processor: the text of Linux's `perf script`, and folded stacks.
//!
//! A sample is a line about where and when, and below it the stack, the innermost function first:
//!
//! ```text
//! python 4711/4712 [003]  1234.567890:     250000 cpu-clock:pppH:
//!         7f3a21 gemm_kernel+0x1f (/usr/lib/libblas.so)
//!         55d0e4 main+0x10 (/usr/bin/python)
//! ```
//!
//! Without stacks the function stands behind the event on the same line, and `-F ip,sym` leaves nothing of a sample but
//! functions. A line of folded stacks has the functions from the outermost on, with semicolons between, and a count:
//! `main;run;gemm_kernel 25`.
//!
//! A sample is no execution, so nothing becomes a task: the functions are figures that the file states, by how many
//! samples were within themselves and by how many were within them or what they called.

mod folded;
mod functions;
mod script;

#[cfg(test)]
mod tests;

use opscope_trace::Trace;

use crate::reading::Stop;

/// Text that holds no sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No line is one of a sample.
    #[error("no line of this text is a sample, as perf script writes them or as folded stacks have them")]
    NoSample,
    /// No sample is within a function of a name.
    #[error("no sample is within a function with {below} in its name")]
    NoneBelow {
        /// The part of the name.
        below: String,
    },
    /// Whoever asked for it wants it no more.
    #[error("the reading was stopped")]
    Stopped,
}

/// Whether text that begins so is that of `perf script`.
pub fn is_script(head: &[u8]) -> bool {
    script::looks_like(head)
}

/// Whether text that begins so is folded stacks.
pub fn is_folded(head: &[u8]) -> bool {
    folded::looks_like(head)
}

/// Reads either.
///
/// # Errors
/// When there is no sample, or the reading was stopped.
pub fn read(text: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    functions(text, None, stop)
}

/// Reads of the samples within functions that have a text in their names, such as an engine's operators, what these
/// called: the outermost of them and all within.
///
/// # Errors
/// When there is no such sample, or the reading was stopped.
pub fn read_below(text: &[u8], below: &str, stop: &Stop) -> Result<Trace, ReadError> {
    functions(text, Some(below), stop)
}

fn functions(text: &[u8], below: Option<&str>, stop: &Stop) -> Result<Trace, ReadError> {
    stop.expects(|| text.len() as u64);
    let functions = match is_script(text) {
        true => script::read(text, below, stop),
        false => folded::read(text, below, stop),
    };
    if stop.is_wanted() {
        return Err(ReadError::Stopped);
    }
    match below {
        _ if !functions.is_empty() => Ok(functions.into_trace()),
        Some(below) => Err(ReadError::NoneBelow { below: below.to_owned() }),
        None => Err(ReadError::NoSample),
    }
}
