//! Why a question has no answer.

use std::path::PathBuf;
use std::time::Duration;

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use opscope_reach::SetError;
use opscope_trace::units;

/// The reasons for which a statement has no answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The set's files aren't as they were written, or a table over all ranks isn't there.
    #[error(transparent)]
    Set(#[from] SetError),
    /// There is no statement.
    #[error("the statement is empty; write one, such as SELECT rank, host FROM ranks")]
    Empty,
    /// There is more than one statement.
    #[error("one statement is expected, without another behind it")]
    NotOne,
    /// It would change something, or reach beyond the set's tables.
    #[error(
        "this statement does more than read the set's tables, which is all that is allowed ({what}); use SELECT or WITH"
    )]
    NotRead {
        /// The engine's word for what it would do.
        what: String,
    },
    /// The engine doesn't understand it, or the tables don't have what it names.
    #[error("{message}")]
    Statement {
        /// The engine's message.
        message: String,
    },
    /// Its rows can't be computed, as with a division by zero.
    #[error("the statement can't be carried out: {message}")]
    Impossible {
        /// The engine's message.
        message: String,
    },
    /// It took longer than it may.
    #[error("the statement took longer than {} s and was stopped (--timeout)", time.as_secs_f64())]
    TooLong {
        /// The time that it may take.
        time: Duration,
    },
    /// It needs more memory than it may have, where it can't put rows into files.
    #[error(
        "the statement needs more than the {} that it may have (--memory allows more): {message}",
        units::bytes(*allowed as f64)
    )]
    TooMuchMemory {
        /// The bytes that it may have.
        allowed: u64,
        /// The engine's message.
        message: String,
    },
    /// Rows that don't fit into memory can't be put into files.
    #[error(
        "{folder}: rows that don't fit into memory can't be kept here: {message} (--spill names another folder)"
    )]
    Spill {
        /// The folder.
        folder: PathBuf,
        /// The system's or the engine's message.
        message: String,
    },
    /// A file has its length, but not its content.
    #[error("a file of {tables} in the set is damaged: {message}; import its ranks into a new set")]
    Damaged {
        /// The tables that the statement reads.
        tables: String,
        /// The engine's message.
        message: String,
    },
    /// The engine can't be started.
    #[error("the engine can't be started: {message}")]
    Start {
        /// The system's or the engine's message.
        message: String,
    },
    /// A scheduler and its executors have no answer.
    #[cfg(feature = "ballista")]
    #[error(transparent)]
    Cluster(#[from] crate::ballista::ClusterError),
}

impl EngineError {
    /// Whether an executor that is gone may be the reason, so that the others may have an answer.
    pub(crate) fn is_of_lost_executor(&self) -> bool {
        #[cfg(feature = "ballista")]
        return matches!(
            self,
            Self::Cluster(
                crate::ballista::ClusterError::Fetch { .. } | crate::ballista::ClusterError::Stuck { .. }
            )
        );
        #[cfg(not(feature = "ballista"))]
        false
    }

    /// The error of what the engine needs before it is asked.
    pub(crate) fn start(error: impl ToString) -> Self {
        Self::Start { message: error.to_string() }
    }

    /// The error of a statement that wasn't understood.
    pub(crate) fn of_statement(error: &DataFusionError) -> Self {
        Self::Statement { message: message_of(error) }
    }
}

/// The message that tells most: the innermost one, without what engine and crates put around it.
pub(crate) fn message_of(error: &DataFusionError) -> String {
    let root = error.find_root();
    let text = match root {
        DataFusionError::Plan(text)
        | DataFusionError::Execution(text)
        | DataFusionError::NotImplemented(text)
        | DataFusionError::ResourcesExhausted(text)
        | DataFusionError::Configuration(text) => text.clone(),
        DataFusionError::SQL(error, _) => error.to_string(),
        DataFusionError::SchemaError(error, _) => error.to_string(),
        DataFusionError::ArrowError(error, _) => error.to_string(),
        DataFusionError::ParquetError(error) => error.to_string(),
        DataFusionError::Diagnostic(_, error) => message_of(error),
        other => other.strip_backtrace(),
    };
    text.trim().to_owned()
}

/// The cause of an error that came up while a statement was carried out.
pub(crate) enum Cause {
    /// More memory was wanted than there may be.
    Memory,
    /// A file of the engine's own couldn't be written.
    Disk,
    /// The computation has no result.
    Computation,
    /// A file can't be read.
    File,
}

impl Cause {
    /// The cause of an error.
    pub(crate) fn of(error: &DataFusionError) -> Self {
        match error.find_root() {
            // Both have one kind; only the words differ.
            DataFusionError::ResourcesExhausted(text) if text.contains("disk") => Self::Disk,
            DataFusionError::ResourcesExhausted(_) => Self::Memory,
            DataFusionError::IoError(_) => Self::Disk,
            DataFusionError::ArrowError(error, _) => match **error {
                ArrowError::IoError(..) => Self::Disk,
                ArrowError::ParquetError(_) | ArrowError::IpcError(_) | ArrowError::ExternalError(_) => {
                    Self::File
                }
                _ => Self::Computation,
            },
            DataFusionError::ParquetError(_)
            | DataFusionError::External(_)
            | DataFusionError::ObjectStore(_)
            | DataFusionError::ExecutionJoin(_) => Self::File,
            _ => Self::Computation,
        }
    }
}
