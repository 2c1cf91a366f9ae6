//! Errors that end a collection.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::nfs::NfsError;
use crate::settings::SettingsError;

/// Why a collection on a board failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum Error {
    #[error("{host}:{port}: cannot be reached: {source}; check the address, the port and the cable")]
    Unreachable { host: String, port: u16, source: io::Error },
    #[error("{host}:{port}: no answer within {} s; see --connect-timeout", timeout.as_secs())]
    NoAnswer { host: String, port: u16, timeout: Duration },
    #[error(
        "{host}:{port}: the host key is not known ({fingerprint}); check that this is your board, then run again \
         with --accept-new-host-key to add it to {}", known_hosts.display()
    )]
    UnknownHost { host: String, port: u16, fingerprint: String, known_hosts: PathBuf },
    #[error(
        "{host}:{port}: the host shows another key than the one that is known ({}, line {line}; now {fingerprint}): \
         it has CHANGED, so somebody may be listening in, or the board was set up anew; in that case remove that line",
        known_hosts.display()
    )]
    ChangedHost { host: String, port: u16, fingerprint: String, known_hosts: PathBuf, line: usize },
    #[error(
        "{host}:{port}: the host shows a key that was REVOKED ({}, line {line}; {fingerprint}): whoever answers there \
         must not be trusted; give the board a new key",
        known_hosts.display()
    )]
    RevokedHost { host: String, port: u16, fingerprint: String, known_hosts: PathBuf, line: usize },
    #[error("{path}: the known hosts cannot be used: {what}", path = path.display())]
    KnownHosts { path: PathBuf, what: String },
    #[error("{user}@{host}: the {method} was refused; check username and {hint} in the configuration")]
    Refused { user: String, host: String, method: &'static str, hint: &'static str },
    #[error("{path}: the private key cannot be used: {what}", path = path.display())]
    PrivateKey { path: PathBuf, what: String },
    #[error(
        "{path}: RSA keys are not used to sign in, because signing with them can be measured from outside \
         (RUSTSEC-2023-0071); make another with 'ssh-keygen -t ed25519', add its public part to authorized_keys on \
         the board and name it in the configuration (key = …), or build opscope with --features rsa-client-keys",
        path = path.display()
    )]
    RsaKey { path: PathBuf },
    #[error("the configuration of {user}@{host} has neither a password (pwd) nor a private key (key)")]
    NoCredentials { user: String, host: String },
    #[error(
        "{host}: its SSH server does not transfer files (SFTP); install OpenSSH's sftp-server on the board, which \
         dropbear uses as well"
    )]
    NoSftp { host: String },
    #[error("the connection to the board was lost while {during}: {what}")]
    Lost { during: &'static str, what: String },
    #[error(
        "the board did not finish '{command}' within {} s: is a folder there mounted from a machine that is gone, or \
         its disk failing?", limit.as_secs()
    )]
    Stuck { command: String, limit: Duration },
    #[error("on the board: {path}: {what}")]
    Remote { path: String, what: String },
    #[error("{}: {source}", path.display())]
    Local { path: PathBuf, source: io::Error },
    #[error("{path}: {source}")]
    Settings { path: String, source: SettingsError },
    #[error("{what}; {remedy}")]
    Check { what: String, remedy: String },
    #[error("{source}; {what} on the board: the same command with --resume goes on from there")]
    LeftOff { what: &'static str, source: Box<Error> },
    #[error(transparent)]
    Nfs(#[from] NfsError),
    #[error("the SSH library failed: {0}")]
    Ssh(#[from] russh::Error),
    #[error("the runtime for the connection could not be started: {0}")]
    Runtime(io::Error),
}

impl Error {
    /// Whether trying again with a new connection may help.
    pub(crate) fn is_lost_connection(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Stuck { .. } | Self::Ssh(_))
    }

    /// Whether a board that was there before may be there again in a moment.
    pub(crate) fn may_pass(&self) -> bool {
        self.is_lost_connection() || matches!(self, Self::Unreachable { .. } | Self::NoAnswer { .. })
    }
}
