//! The folder of the host that a board may mount, so that it doesn't run out of space.

use std::net::{IpAddr, ToSocketAddrs};
use std::str::FromStr;

/// A folder that an NFS server exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsExport {
    /// The server, as the board reaches it.
    pub server: String,
    /// The folder there.
    pub path: String,
}

/// An export that can't be mounted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NfsError {
    /// Not `SERVER:PATH`.
    #[error("'{0}' is no export: expected SERVER:PATH, such as 192.168.1.2:/srv/profiling")]
    Form(String),
    /// An address at which the board would find itself.
    #[error(
        "'{0}' is a loopback address: on the board it means the board itself. Give the address of this machine in \
         the board's network. Where a host name led here, /etc/hosts maps that name to 127.0.1.1: comment that \
         line out"
    )]
    Loopback(String),
}

impl FromStr for NfsExport {
    type Err = NfsError;

    fn from_str(text: &str) -> Result<Self, NfsError> {
        let (server, path) = text.rsplit_once(":/").ok_or_else(|| NfsError::Form(text.to_owned()))?;
        let bare = server.trim_start_matches('[').trim_end_matches(']');
        if bare.is_empty() {
            return Err(NfsError::Form(text.to_owned()));
        }
        let is_loopback = bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if is_loopback || bare.eq_ignore_ascii_case("localhost") {
            return Err(NfsError::Loopback(server.to_owned()));
        }
        Ok(Self { server: server.to_owned(), path: format!("/{path}") })
    }
}

impl NfsExport {
    /// Makes sure that the server's name isn't one that this machine takes for itself: the board may
    /// know it by the same entry of its own.
    pub(crate) fn check_name(&self) -> Result<(), NfsError> {
        let bare = self.server.trim_start_matches('[').trim_end_matches(']');
        let mut found = (bare, 2049).to_socket_addrs().into_iter().flatten().peekable();
        // A name that only the board knows is the board's matter.
        if found.peek().is_some() && found.all(|address| address.ip().is_loopback()) {
            return Err(NfsError::Loopback(self.server.clone()));
        }
        Ok(())
    }

    /// The command for the shell of the board.
    pub(crate) fn mount_command(&self, folder: &str) -> String {
        let source = crate::remote::quoted(&format!("{}:{}", self.server, self.path));
        format!("mount -t nfs -o nolock,tcp {source} {}", crate::remote::quoted(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_becomes_the_guides_command() {
        let export: NfsExport = "192.168.1.2:/srv/my data".parse().unwrap();
        let command = export.mount_command("/root/profiling");
        assert_eq!(command, "mount -t nfs -o nolock,tcp '192.168.1.2:/srv/my data' /root/profiling");
    }

    #[test]
    fn a_loopback_address_is_refused_with_the_reason() {
        for text in ["127.0.0.1:/x", "127.0.1.1:/x", "localhost:/x", "[::1]:/x"] {
            let error = NfsExport::from_str(text).unwrap_err();
            assert!(error.to_string().contains("/etc/hosts"), "{text}: {error}");
        }
        // A name that leads to such an address is found out when it is looked up.
        let export = NfsExport::from_str("127.1:/x").unwrap();
        assert!(export.check_name().unwrap_err().to_string().contains("/etc/hosts"));
        assert_eq!(NfsExport::from_str("192.168.1.2:/x").unwrap().check_name(), Ok(()));
        assert!(matches!(NfsExport::from_str("server"), Err(NfsError::Form(_))));
        assert!(matches!(NfsExport::from_str(":/x"), Err(NfsError::Form(_))));
    }
}
