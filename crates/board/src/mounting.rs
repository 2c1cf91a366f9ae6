//! Mounting a folder of another machine on the board, for the results.

use std::time::Duration;

use crate::connection::{CommandEnd, Connection};
use crate::error::Error;
use crate::nfs::NfsExport;
use crate::remote::quoted;

/// Lets the folder go that was mounted, if one was.
pub(crate) async fn unmount(output: &str, connection: &Connection) {
    let _ = connection.ask(&format!("umount {}", quoted(output))).await;
}

/// Has the board mount a folder at `output`.
///
/// # Errors
/// When it can't, or takes longer than `limit`.
pub(crate) async fn mount(
    export: &NfsExport,
    output: &str,
    limit: Duration,
    connection: &Connection,
) -> Result<(), Error> {
    let mut text = Vec::new();
    let command = export.mount_command(output);
    let ended = connection.run(&command, limit, |_, bytes| text.extend_from_slice(bytes)).await;
    let end = ended.map_err(|error| match error {
        // Waiting as long again would not help.
        Error::Stuck { .. } => Error::Check {
            what: error.to_string(),
            remedy:
                "check that the server is there and can be reached from the board, or collect without --nfs"
                    .to_owned(),
        },
        error => error,
    })?;
    if end == CommandEnd::Status(0) {
        return Ok(());
    }
    Err(Error::Check {
        what: format!("the board could not mount ('{command}'): {}", String::from_utf8_lossy(&text).trim()),
        remedy: "check that the server exports the folder to the board, or collect without --nfs".to_owned(),
    })
}
