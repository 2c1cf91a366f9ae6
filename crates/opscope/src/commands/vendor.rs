//! `--vendor-parser`: raw files of a board, read by the vendor's own parser.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use opscope_svp::{Exports, Job, VendorParser};

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
    /// When it was asked for and can't read what is at `path`.
    pub fn parse(&self, path: &Path, terminal: &Terminal) -> anyhow::Result<Option<Exports>> {
        let Some(parser) = &self.vendor_parser else { return Ok(None) };
        crate::profile::check_presence(path)?;
        let has_data = path.join("data").is_dir();
        if !path.is_dir() || !(has_data || Job::is_one(path)) {
            let text = format!(
                "{}: --vendor-parser reads the JOB* directories of boards, and this is none",
                path.display()
            );
            return Err(UsageError(text).into());
        }
        let parser = VendorParser::new(parser, self.vendor_timeout)?;
        let bar = StepBar::new(terminal);
        bar.step("the vendor's parser is reading");
        let stop = interrupt::request();
        let parsed = parser.parse(path, &|| stop.is_requested());
        interrupt::release();
        Ok(Some(parsed?))
    }
}
