//! A collection as it is asked for.

use std::path::PathBuf;

use crate::config::BoardConfig;
use crate::connection::{HostKeys, Timeouts};
use crate::nfs::NfsExport;
use crate::settings::Settings;

/// Everything that a collection is asked to do.
#[derive(Clone, Debug)]
pub struct Request {
    /// How to reach the board.
    pub config: BoardConfig,
    /// Which hosts are known.
    pub host_keys: HostKeys,
    /// How long each step may take.
    pub timeouts: Timeouts,
    /// The folder to upload.
    pub project: PathBuf,
    /// Files of it that stay here: those with the password and the private key.
    pub secrets: Vec<PathBuf>,
    /// The program within it.
    pub main: PathBuf,
    /// The program's arguments.
    pub arguments: Vec<String>,
    /// Where the project goes on the board; below the user's home by default.
    pub remote: Option<String>,
    /// The profiling switches.
    pub settings: Settings,
    /// Where the profiles go here.
    pub output: PathBuf,
    /// A folder that the board mounts for its results.
    pub nfs: Option<NfsExport>,
    /// opscope's own collector, built for the board, to be put before its runtime.
    pub collector: Option<PathBuf>,
    /// Whether to go on with a collection whose connection was lost, instead of beginning one.
    pub resume: bool,
    /// Whether the project and the results are removed from the board at the end.
    pub clean_up: bool,
}
