//! The envelope of every answer in JSON: the version of its members, the program, and what was lost of the
//! profiles that it is about.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use crate::profile::Opened;

/// An answer for programs.
#[derive(Debug, Serialize)]
pub struct Envelope<Answer> {
    schema_version: u32,
    program: &'static str,
    program_version: &'static str,
    #[serde(flatten)]
    answer: Answer,
    losses: Vec<Value>,
}

impl<Answer: Serialize> Envelope<Answer> {
    /// An answer that is about no profile. The version rises when a member changes its meaning or goes
    /// away; a new one doesn't raise it.
    pub fn new(schema_version: u32, answer: Answer) -> Self {
        let (program, program_version) = ("opscope", env!("CARGO_PKG_VERSION"));
        Self { schema_version, program, program_version, answer, losses: Vec::new() }
    }

    /// The same answer about some profiles, whose losses come before those that it has.
    pub fn about<'a>(self, profiles: impl IntoIterator<Item = &'a Opened>) -> Self {
        let of_profiles = profiles.into_iter().flat_map(Opened::losses);
        let losses = of_profiles.chain(self.losses).collect();
        Self { losses, ..self }
    }

    /// The same answer with what was lost of what it is about.
    pub fn with_losses(self, losses: Vec<Value>) -> Self {
        Self { losses, ..self }
    }

    /// Its text, with a line end.
    ///
    /// # Errors
    /// When a figure has no form in JSON, which would be a fault of this program.
    pub fn to_text(&self) -> anyhow::Result<String> {
        Ok(format!("{}\n", serde_json::to_string_pretty(self)?))
    }

    /// Writes it with a line for each row instead of one for each value.
    ///
    /// # Errors
    /// When the output can't take it.
    pub fn write_lines(&self, mut out: impl Write) -> io::Result<()> {
        self.serialize(&mut Serializer::with_formatter(&mut out, RowPerLine::default()))?;
        out.write_all(b"\n")
    }
}

/// Begins a line for each value of an outermost list.
#[derive(Default)]
struct RowPerLine {
    /// How many lists are open.
    depth: usize,
}

impl Formatter for RowPerLine {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        out.write_all(match (self.depth, is_first) {
            (1, true) => b"\n",
            (1, false) => b",\n",
            (_, true) => b"",
            (_, false) => b",",
        })
    }
}
