//! The reasons for which a mode gives no result.

use std::path::PathBuf;

use opscope_reach::ReachError;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// Options that don't go together.
    #[error("{0}")]
    Usage(String),
    /// No ranks were found.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The folder is a set.
    #[error(
        "{0}: this is a set of opscope cluster import, which has no files of the vendor's: give the folder that the \
         ranks were imported from; opscope cluster answers from sets"
    )]
    Set(PathBuf),
    /// The mode wants databases, and no rank has one.
    #[error(
        "-m {mode} reads databases, and none of the {ranks} ranks has one: collect or export them with the \
         type Db; all, communication_time and communication_matrix read texts as well"
    )]
    NeedsDatabases {
        /// The mode.
        mode: &'static str,
        /// How many ranks there are.
        ranks: usize,
    },
    /// There is no earlier result that could be compared.
    #[error("{0}: no table ClusterTimeSummary; run -m cluster_time_summary on that folder first")]
    NoSummary(PathBuf),
    /// Changes of another program wait beside a rank's database.
    #[error(
        "{0}: another program is writing the database, or was stopped while it did; let it end, or open the \
         database with sqlite3 once, which brings it in order"
    )]
    Unfinished(PathBuf),
    /// A result can't be written.
    #[error("{path}: cannot be written: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// SQLite can't write a result.
    #[error("{path}: cannot be written: {source}")]
    Database {
        /// The file.
        path: PathBuf,
        /// SQLite's reason.
        source: rusqlite::Error,
    },
}

impl PeerError {
    /// Whether the command line is to blame.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_))
    }
}
