//! A connection to a board: the host's key checked, the user let in, commands and files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use russh::client::{self, AuthResult, Handle, KeyboardInteractiveAuthResponse as Asks};
use russh::keys::known_hosts::learn_known_hosts_path;
use russh::keys::{HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKeyOrCertificate, load_secret_key};
use russh::{ChannelMsg, Disconnect, MethodKind, Preferred};
use russh_sftp::client::SftpSession;
use russh_sftp::client::error::Error as SftpError;
use russh_sftp::protocol::StatusCode;

use crate::Output;
use crate::config::BoardConfig;
use crate::error::Error;
use crate::known_hosts::{KnownKeys, Standing};

/// How long is waited for what.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the board to answer.
    pub connect: Duration,
    /// For a connection to come back that was lost.
    pub reconnect: Duration,
    /// For a folder to be mounted.
    pub mount: Duration,
    /// For the program to end; `None` waits for it as long as it runs.
    pub program: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            reconnect: Duration::from_secs(60),
            mount: Duration::from_secs(150),
            program: None,
        }
    }
}

/// How long a command on the board may take: each of those that opscope gives does a moment's work, but
/// a network folder that is gone, or a disk that fails, can hold any of them up for good.
const COMMAND: Duration = Duration::from_secs(60);
/// How long removing a project may take, which is no moment's work.
pub(crate) const LONG_COMMAND: Duration = Duration::from_secs(300);
/// How much of a command is shown in an error.
const LONGEST_SHOWN: usize = 80;
/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_secs(5);

/// Which hosts are known.
#[derive(Clone, Debug)]
pub struct HostKeys {
    /// The file with their keys, in OpenSSH's form.
    pub known_hosts: PathBuf,
    /// Whether a host of which no key is in it is added. A key that changed or was revoked is
    /// refused all the same.
    pub accept_new: bool,
}

/// The outcome of the check of the host's key.
#[derive(Clone, Debug)]
enum Verdict {
    Known,
    Unknown { fingerprint: String },
    Changed { fingerprint: String, line: usize },
    Revoked { fingerprint: String, line: usize },
    Unusable { what: String },
}

/// Looks the host's key up while the connection is made.
struct KeyCheck {
    host: String,
    port: u16,
    keys: HostKeys,
    known: KnownKeys,
    verdict: Arc<Mutex<Option<Verdict>>>,
}

impl KeyCheck {
    fn check(&self, offered: &PublicKeyOrCertificate) -> Verdict {
        let PublicKeyOrCertificate::PublicKey { key, .. } = offered else {
            return Verdict::Unusable { what: "the board shows a certificate instead of a key".to_owned() };
        };
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        match self.known.standing(key) {
            Standing::Known => Verdict::Known,
            Standing::Changed { line } => Verdict::Changed { fingerprint, line },
            Standing::Revoked { line } => Verdict::Revoked { fingerprint, line },
            Standing::Unknown if self.keys.accept_new => {
                match learn_known_hosts_path(&self.host, self.port, key, &self.keys.known_hosts) {
                    Ok(()) => Verdict::Known,
                    Err(error) => Verdict::Unusable { what: error.to_string() },
                }
            }
            Standing::Unknown => Verdict::Unknown { fingerprint },
        }
    }
}

impl client::Handler for KeyCheck {
    type Error = russh::Error;

    async fn check_server_key(&mut self, offered: &PublicKeyOrCertificate) -> Result<bool, Self::Error> {
        let verdict = self.check(offered);
        let is_known = matches!(verdict, Verdict::Known);
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
        Ok(is_known)
    }
}

/// A connection whose user is let in.
pub(crate) struct Connection {
    handle: Handle<KeyCheck>,
    pub sftp: SftpSession,
}

/// How a command on the board ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    Status(u32),
    Killed,
}

impl Connection {
    /// Connects and lets the user in, by key if there is one.
    pub async fn open(config: &BoardConfig, keys: &HostKeys, timeouts: &Timeouts) -> Result<Self, Error> {
        let no_answer =
            || Error::NoAnswer { host: config.host.clone(), port: config.port, timeout: timeouts.connect };
        // A fault of the key is no matter of the board's.
        let key = private_key(config)?;
        let connecting = async {
            let mut handle = connect(config, keys).await?;
            authenticate(&mut handle, config, key).await?;
            let sftp = open_sftp(&handle, config).await?;
            Ok(Self { handle, sftp })
        };
        tokio::time::timeout(timeouts.connect, connecting).await.map_err(|_| no_answer())?
    }

    /// Runs a command and hands over what it prints.
    ///
    /// # Errors
    /// When the connection is lost, or the command hasn't ended after `limit`.
    pub async fn run(
        &self,
        command: &str,
        limit: Duration,
        mut output: impl FnMut(Output, &[u8]),
    ) -> Result<CommandEnd, Error> {
        let ended = tokio::time::timeout(limit, self.run_to_its_end(command, &mut output)).await;
        ended.unwrap_or_else(|_| {
            let first_line = command.lines().next().unwrap_or_default();
            let command = first_line.chars().take(LONGEST_SHOWN).collect();
            Err(Error::Stuck { command, limit })
        })
    }

    async fn run_to_its_end(
        &self,
        command: &str,
        output: &mut impl FnMut(Output, &[u8]),
    ) -> Result<CommandEnd, Error> {
        const RUNNING: &str = "a command ran on the board";
        let mut channel = self.handle.channel_open_session().await.map_err(|error| lost(RUNNING, error))?;
        channel.exec(true, command).await.map_err(|error| lost(RUNNING, error))?;
        let mut end = None;
        while let Some(message) = channel.wait().await {
            match message {
                ChannelMsg::Data { data } => output(Output::Stdout, &data),
                ChannelMsg::ExtendedData { data, .. } => output(Output::Stderr, &data),
                ChannelMsg::ExitStatus { exit_status } => end = Some(CommandEnd::Status(exit_status)),
                ChannelMsg::ExitSignal { .. } => end = Some(CommandEnd::Killed),
                _ => {}
            }
        }
        end.ok_or_else(|| Error::Lost {
            during: RUNNING,
            what: "the command's end was never reported".to_owned(),
        })
    }

    /// Runs a command for its output; `None` if it failed.
    pub async fn ask(&self, command: &str) -> Result<Option<String>, Error> {
        self.ask_within(command, COMMAND).await
    }

    /// As [`Connection::ask`], with another limit.
    pub async fn ask_within(&self, command: &str, limit: Duration) -> Result<Option<String>, Error> {
        let mut text = Vec::new();
        let end = self.run(command, limit, |stream, bytes| {
            if stream == Output::Stdout {
                text.extend_from_slice(bytes);
            }
        });
        let end = end.await?;
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        Ok((end == CommandEnd::Status(0)).then_some(text))
    }

    /// Says goodbye; a board that is gone already doesn't matter.
    pub async fn close(self) {
        let goodbye = async {
            let _ = self.sftp.close().await;
            let _ = self.handle.disconnect(Disconnect::ByApplication, "", "en").await;
        };
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }
}

/// Asks for the transfer of files, which a small server may not have.
async fn open_sftp(handle: &Handle<KeyCheck>, config: &BoardConfig) -> Result<SftpSession, Error> {
    let none = || Error::NoSftp { host: config.host.clone() };
    let mut channel = handle.channel_open_session().await?;
    channel.request_subsystem(true, "sftp").await?;
    loop {
        match channel.wait().await {
            Some(ChannelMsg::Success) => break,
            Some(ChannelMsg::Failure) => return Err(none()),
            Some(_) => {}
            None => return Err(lost("connecting", "the channel was closed")),
        }
    }
    SftpSession::new(channel.into_stream()).await.map_err(|error| match handle.is_closed() {
        true => lost("connecting", error),
        // A server that accepts at first and then has no program for it.
        false => none(),
    })
}

async fn connect(config: &BoardConfig, keys: &HostKeys) -> Result<Handle<KeyCheck>, Error> {
    let verdict = Arc::new(Mutex::new(None));
    let (host, port) = (config.host.clone(), config.port);
    let known = KnownKeys::read(&keys.known_hosts, &host, port)
        .map_err(|error| Error::KnownHosts { path: keys.known_hosts.clone(), what: error.to_string() })?;
    // A host may have keys of several kinds, and shows the one that it is asked for first.
    let mut kinds = Preferred::DEFAULT.key.into_owned();
    kinds.sort_by_key(|algorithm| !known.has_kind(algorithm));
    let check =
        KeyCheck { host: host.clone(), port, keys: keys.clone(), known, verdict: Arc::clone(&verdict) };
    let settings = client::Config {
        preferred: Preferred { key: Cow::Owned(kinds), ..Preferred::DEFAULT },
        keepalive_interval: Some(Duration::from_secs(5)),
        keepalive_max: 3,
        nodelay: true,
        ..client::Config::default()
    };
    client::connect(Arc::new(settings), (host.as_str(), port), check).await.map_err(|error| {
        let verdict = verdict.lock().unwrap_or_else(PoisonError::into_inner).take();
        refusal(verdict, error, config, &keys.known_hosts)
    })
}

fn refusal(verdict: Option<Verdict>, error: russh::Error, config: &BoardConfig, known_hosts: &Path) -> Error {
    let (host, port, known_hosts) = (config.host.clone(), config.port, known_hosts.to_owned());
    match (verdict, error) {
        (Some(Verdict::Unknown { fingerprint }), _) => {
            Error::UnknownHost { host, port, fingerprint, known_hosts }
        }
        (Some(Verdict::Changed { fingerprint, line }), _) => {
            Error::ChangedHost { host, port, fingerprint, known_hosts, line }
        }
        (Some(Verdict::Revoked { fingerprint, line }), _) => {
            Error::RevokedHost { host, port, fingerprint, known_hosts, line }
        }
        (Some(Verdict::Unusable { what }), _) => Error::KnownHosts { path: known_hosts, what },
        (_, russh::Error::IO(source)) => Error::Unreachable { host, port, source },
        (_, error) => Error::Ssh(error),
    }
}

/// The key that the configuration names, of a kind that may sign.
fn private_key(config: &BoardConfig) -> Result<Option<PrivateKey>, Error> {
    let Some(path) = &config.private_key else { return Ok(None) };
    let password = config.password.as_ref().map(|password| password.reveal());
    // The password may be the key's, or the account's beside a key without one.
    let key = load_secret_key(path, None)
        .or_else(|_| load_secret_key(path, password))
        .map_err(|error| Error::PrivateKey { path: path.clone(), what: error.to_string() })?;
    // How long the crate `rsa` takes to sign depends on the key (RUSTSEC-2023-0071).
    if key.algorithm().is_rsa() && !cfg!(feature = "rsa-client-keys") {
        return Err(Error::RsaKey { path: path.clone() });
    }
    Ok(Some(key))
}

async fn authenticate(
    handle: &mut Handle<KeyCheck>,
    config: &BoardConfig,
    key: Option<PrivateKey>,
) -> Result<(), Error> {
    let (user, host) = (config.user.clone(), config.host.clone());
    if let Some(key) = key {
        let hash = handle.best_supported_rsa_hash().await?.flatten();
        let key = PrivateKeyWithHashAlg::new(Arc::new(key), hash);
        if handle.authenticate_publickey(&user, key).await?.success() {
            return Ok(());
        }
        if config.password.is_none() {
            return Err(Error::Refused { user, host, method: "private key", hint: "key" });
        }
    }
    let Some(password) = &config.password else {
        return Err(Error::NoCredentials { user, host });
    };
    // A user without a password may be let in without being asked for one.
    if password.reveal().is_empty() && handle.authenticate_none(&user).await?.success() {
        return Ok(());
    }
    let is_in = match handle.authenticate_password(&user, password.reveal()).await? {
        AuthResult::Success => true,
        AuthResult::Failure { remaining_methods, .. } => {
            let offers = |method| remaining_methods.contains(&method);
            // Some servers take a password only as the answer to a question.
            offers(MethodKind::KeyboardInteractive)
                && !offers(MethodKind::Password)
                && answer_questions(handle, &user, password.reveal()).await?
        }
    };
    if is_in { Ok(()) } else { Err(Error::Refused { user, host, method: "password", hint: "pwd" }) }
}

/// Answers what the server asks with the password.
async fn answer_questions(
    handle: &mut Handle<KeyCheck>,
    user: &str,
    password: &str,
) -> Result<bool, russh::Error> {
    /// A password, and a word or two around it.
    const MOST_ROUNDS: usize = 4;
    let mut answer = handle.authenticate_keyboard_interactive_start(user, None).await?;
    for _ in 0..MOST_ROUNDS {
        let Asks::InfoRequest { prompts, .. } = answer else { break };
        let answers = prompts.iter().map(|_| password.to_owned()).collect();
        answer = handle.authenticate_keyboard_interactive_respond(answers).await?;
    }
    Ok(matches!(answer, Asks::Success))
}

/// An error of the connection itself.
pub(crate) fn lost(during: &'static str, error: impl std::fmt::Display) -> Error {
    Error::Lost { during, what: error.to_string() }
}

/// An error of a file operation on the board: of the file, or of the connection.
pub(crate) fn at(path: &str, during: &'static str) -> impl FnOnce(SftpError) -> Error {
    move |error| match error {
        SftpError::Status(status)
            if !matches!(status.status_code, StatusCode::ConnectionLost | StatusCode::NoConnection) =>
        {
            let what = match status.status_code {
                StatusCode::NoSuchFile => "no such file or folder".to_owned(),
                StatusCode::PermissionDenied => "permission denied".to_owned(),
                // The protocol has no word for it, and this is the usual reason while writing.
                StatusCode::Failure => format!("{} (is the disk full?)", status.error_message),
                _ => status.error_message,
            };
            Error::Remote { path: path.to_owned(), what }
        }
        error => lost(during, error),
    }
}

/// As [`at`], for reading and writing an open file.
pub(crate) fn io_at(path: &str, during: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |error| {
        let text = error.to_string();
        // The library has turned its own errors into text by here.
        if text.contains("Failure") || text.contains("denied") || text.contains("space") {
            Error::Remote { path: path.to_owned(), what: format!("{text} (is the disk full?)") }
        } else {
            lost(during, text)
        }
    }
}
