//! The options for collecting over SSH.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use opscope_board::NfsExport;

use crate::commands::collect::switches::OnOff;
use crate::commands::limit as time;
use crate::commands::vendor::VendorArguments;

/// The only group of counters that the board's profiler knows.
pub const COUNTERS: &str = "ArithmeticUtilization";

/// The options for collecting on a board.
#[derive(Debug, Args)]
#[command(next_help_heading = "On a board or a host with Ascend processors, over SSH")]
pub struct BoardArguments {
    /// The program of the project to upload and run on the board; what follows -- are its arguments
    #[arg(short, long, value_name = "FILE", requires = "config")]
    pub main: Option<PathBuf>,

    /// How to reach the board: a file with [ssh_config] and ip, username, pwd or key, port; or with
    /// HOST=, USER=, PASSWORD= or KEY_FILE=, PORT= lines. Without --main, the connection is tested
    #[arg(long, value_name = "FILE.ini")]
    pub config: Option<PathBuf>,

    /// The folder to upload [default: that of the program; where that is called out, the one above]
    #[arg(long, value_name = "DIR", requires = "main")]
    pub project: Option<PathBuf>,

    /// Where the project goes on the board [default: opscope/PROJECT below the user's home]
    #[arg(long, value_name = "DIR", requires = "main")]
    pub remote_dir: Option<String>,

    /// Sample every N inferences; 0 samples all
    #[arg(long, value_name = "N", default_value_t = 0, requires = "main")]
    pub interval: u64,

    /// Calls of the board's interface
    #[arg(long = "acl_api", value_enum, default_value_t = OnOff::On, requires = "main")]
    pub acl_api: OnOff,

    /// Layers on the processor beside the engine
    #[arg(long = "aacpu", value_enum, default_value_t = OnOff::On, requires = "main")]
    pub aacpu: OnOff,

    /// Whether to profile at all
    #[arg(long = "switch", value_enum, default_value_t = OnOff::On, requires = "main")]
    pub switch: OnOff,

    /// Counters of the engine; anything else than this collects none
    #[arg(
        long = "aac_metrics",
        value_name = "GROUP",
        default_value = COUNTERS,
        requires = "main"
    )]
    pub aac_metrics: String,

    /// Which keys acl.json has, where it doesn't tell itself: other boards of the family know aicpu and
    /// aic_metrics, and AscendCL has keys of its own
    #[arg(long, value_enum, default_value_t = Style::Found, value_name = "STYLE", requires = "main")]
    pub key_style: Style,

    /// Also write the tables and timelines of what was collected
    #[arg(long, requires = "main")]
    pub all: bool,

    /// Let the board mount this folder for its results
    #[arg(long, value_name = "SERVER:PATH", requires = "main")]
    pub nfs: Option<NfsExport>,

    /// Add the board to the known hosts if it isn't one of them yet
    #[arg(long, requires = "config")]
    pub accept_new_host_key: bool,

    /// The known hosts [default: .ssh/known_hosts below the home folder]
    #[arg(long, value_name = "FILE", requires = "config")]
    pub known_hosts: Option<PathBuf>,

    /// How long to wait for the board; a bare number is seconds, here and below
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time, requires = "config")]
    pub connect_timeout: Duration,

    /// How long to try to connect again when the line breaks
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = time, requires = "main")]
    pub reconnect_timeout: Duration,

    /// Stop the program after this long [default: never]
    #[arg(long, value_name = "TIME", value_parser = time, requires = "main")]
    pub timeout: Option<Duration>,

    /// Put this library of opscope's own before the board's runtime, instead of its profiler: the
    /// collector of calls and layers, built for the board (docs/boards.md says how)
    #[arg(long, value_name = "FILE.so", requires = "main")]
    pub collector: Option<PathBuf>,

    /// Go on with a collection whose connection was lost: follow its program, fetch its results
    #[arg(long, requires = "main")]
    pub resume: bool,

    /// Remove the project and the results from the board at the end
    #[arg(long, requires = "main")]
    pub clean_up: bool,

    #[command(flatten)]
    pub vendor: VendorArguments,
}

/// The keys of acl.json.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Style {
    /// AscendCL's where the host has /dev/davinci*, else aa
    Found,
    /// A board's: aacpu, aac_metrics
    Aa,
    /// A board's: aicpu, aic_metrics
    Ai,
    /// AscendCL's: ascendcl, aicpu, aic_metrics; and the switches of msprof that are given
    Ascend,
}
