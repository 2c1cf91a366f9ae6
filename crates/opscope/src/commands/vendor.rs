//! `--vendor-parser`: raw files of a board, read by the vendor's own parser.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use opscope_open::Source;
use opscope_say::{say, word};
use opscope_svp::{Exports, VendorParser};

use crate::exit::UsageError;
use crate::interrupt;
use crate::terminal::{StepBar, Terminal};

/// The options for the vendor's parser.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Raw files of a board (JOB*)")]
pub struct VendorArguments {
    /// Let the vendor's parser read them, and take its result: msprof.pyc, mindcmd, or the folder
    /// that the vendor's toolkit was installed to
    #[arg(long, value_name = "PATH")]
    pub vendor_parser: Option<PathBuf>,

    /// How long each step of the vendor's parser may take
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = super::limit, requires = "vendor_parser")]
    pub vendor_timeout: Duration,
}

impl VendorArguments {
    /// The exports that the vendor's parser makes of a `JOB*` directory; `None` when it wasn't asked for.
    ///
    /// # Errors
    /// When it was asked for and can't read the source.
    pub fn parse(&self, source: &Source, terminal: &Terminal) -> anyhow::Result<Option<Exports>> {
        let Some(parser) = &self.vendor_parser else { return Ok(None) };
        let Some(job) = source.job() else {
            let path = source.path().display();
            let text = say!("{path}: --vendor-parser reads the JOB* directories of boards, and this is none");
            return Err(UsageError(text).into());
        };
        let parser = VendorParser::new(parser, self.vendor_timeout)?;
        let bar = StepBar::new(terminal);
        bar.step(word("the vendor's parser is reading"));
        let stop = interrupt::of_waiting();
        let parsed = parser.parse(job, &|| stop.is_requested());
        interrupt::release();
        Ok(Some(parsed?))
    }
}
