//! The operators of subscribed models, which AscendCL tells its program through a pipe, as opscope
//! writes them beside the raw slices: `opscope.ascendcl.<process>.operators`, a text that CANN's own
//! parser passes over.
//!
//! | line, fields between tabs | |
//! |---|---|
//! | `call`, begin, end | an execution or a wait for one, in ns of `CLOCK_MONOTONIC_RAW` |
//! | `op`, model, begin, end, duration, type, name | an operator, in the times that AscendCL gives |

use std::fmt;

const PREFIX: &str = "opscope.ascendcl.";
const SUFFIX: &str = ".operators";

/// The name of a process's file.
pub fn file_name(process: u32) -> String {
    format!("{PREFIX}{process}{SUFFIX}")
}

/// Whether a file of this name holds such lines.
pub fn is_file_name(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// A line of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// An execution of a model, or a wait for one.
    Call {
        /// In nanoseconds of `CLOCK_MONOTONIC_RAW`.
        begin: u64,
        /// In nanoseconds of `CLOCK_MONOTONIC_RAW`.
        end: u64,
    },
    /// An operator that was executed.
    Operator {
        /// The model's number.
        model: u64,
        /// In AscendCL's own unit and clock, as all three.
        begin: u64,
        /// See `begin`.
        end: u64,
        /// See `begin`.
        duration: u64,
        /// The operator's type.
        kind: &'a str,
        /// The operator's name.
        name: &'a str,
    },
}

/// The line, without its end; tabs and ends of lines in texts become blanks.
impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blank = |text: &str| text.replace(['\t', '\n', '\r'], " ");
        match *self {
            Self::Call { begin, end } => write!(f, "call\t{begin}\t{end}"),
            Self::Operator { model, begin, end, duration, kind, name } => {
                write!(f, "op\t{model}\t{begin}\t{end}\t{duration}\t{}\t{}", blank(kind), blank(name))
            }
        }
    }
}

impl<'a> Line<'a> {
    /// Reads a line; `None` if it is none of these.
    pub fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split('\t');
        let kind = fields.next()?;
        let mut number = || fields.next()?.parse().ok();
        let line = match kind {
            "call" => Self::Call { begin: number()?, end: number()? },
            "op" => {
                let (model, begin, end, duration) = (number()?, number()?, number()?, number()?);
                Self::Operator { model, begin, end, duration, kind: fields.next()?, name: fields.next()? }
            }
            _ => return None,
        };
        fields.next().is_none().then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written_and_others_are_none() {
        let operator =
            Line::Operator { model: 3, begin: 100, end: 500, duration: 400, kind: "Conv2D", name: "conv 1" };
        for line in [Line::Call { begin: 5, end: u64::MAX }, operator] {
            assert_eq!(Line::parse(&line.to_string()), Some(line));
        }
        let odd = Line::Operator { model: 3, begin: 1, end: 2, duration: 1, kind: "", name: "a\tb\nc" };
        assert_eq!(odd.to_string(), "op\t3\t1\t2\t1\t\ta b c");
        for text in ["", "call\t1", "call\t1\t2\t3", "call\t-1\t2", "op\t1\t2\t3\t4\tConv2D", "other\t1\t2"] {
            assert_eq!(Line::parse(text), None, "{text}");
        }
        assert!(is_file_name(&file_name(7)) && !is_file_name("opscope.ascendcl.7.notes"));
    }
}
