//! Whether a board can be reached, and what it is, before anything is brought there.

use crate::acl_json::has_ascend;
use crate::config::BoardConfig;
use crate::connection::{Connection, HostKeys, Timeouts};
use crate::error::Error;
use crate::space::free_space;

/// A board that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The system, its release and the processor, as `uname` says; empty where there is none.
    pub system: String,
    /// The user's home folder, below which projects go.
    pub home: String,
    /// The bytes that are left there, where that is known.
    pub free: Option<u64>,
    /// Whether there is an Ascend processor (`/dev/davinci*`).
    pub has_ascend: bool,
}

/// Connects, lets the user in, asks for the transfer of files, and says what is there. Nothing is
/// written on the board.
///
/// # Errors
/// With the first thing that a collection would fail for.
pub fn test_connection(
    config: &BoardConfig,
    host_keys: &HostKeys,
    timeouts: &Timeouts,
) -> Result<Reached, Error> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    runtime.block_on(async {
        let connection = Connection::open(config, host_keys, timeouts).await?;
        let home =
            connection.sftp.canonicalize(".").await.map_err(crate::connection::at(".", "connecting"))?;
        let reached = Reached {
            system: connection.ask("uname -srm").await?.unwrap_or_default(),
            free: free_space(&connection, &home).await,
            has_ascend: has_ascend(&connection).await?,
            home,
        };
        connection.close().await;
        Ok(reached)
    })
}
