//! How to reach a board: the file that `--config` names.
//!
//! Two forms are known. The section `[ssh_config]` of the Profiling guide has `ip`, `username`,
//! `pwd` and `port`; the flat form of the vendor's newer tool has `KEY=value` lines. Both may name
//! a private key with `key` or `KEY_FILE`.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The keys of both forms, and what each means.
const KEYS: [(&str, Key); 14] = [
    ("ip", Key::Host),
    ("username", Key::User),
    ("pwd", Key::Password),
    ("port", Key::Port),
    ("key", Key::Identity),
    ("HOST", Key::Host),
    ("IP", Key::Host),
    ("BOARD_IP", Key::Host),
    ("USER", Key::User),
    ("PASSWORD", Key::Password),
    ("PORT", Key::Port),
    ("KEY_FILE", Key::Identity),
    ("BOARD_MOUNT_PATH", Key::BoardMount),
    ("HOST_MOUNT_PATH", Key::HostMount),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Host,
    User,
    Password,
    Port,
    Identity,
    BoardMount,
    HostMount,
}

/// A password. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a password.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// How to reach a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardConfig {
    /// Its name or address.
    pub host: String,
    /// The user there.
    pub user: String,
    /// The user's password.
    pub password: Option<Secret>,
    /// A file with a private key.
    pub private_key: Option<PathBuf>,
    /// The port of its SSH server.
    pub port: u16,
    /// Where the board mounts the host's folder.
    pub board_mount: Option<String>,
    /// The host's folder that the board mounts.
    pub host_mount: Option<PathBuf>,
}

/// A configuration that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The words of the system.
        source: io::Error,
    },
    /// A key that means nothing.
    #[error(
        "{}, line {line}: unknown key '{key}'; known are ip, username, pwd, port and key below [ssh_config], or \
         HOST (or IP, BOARD_IP), USER, PASSWORD, PORT, KEY_FILE, BOARD_MOUNT_PATH and HOST_MOUNT_PATH as KEY=value lines",
        path.display()
    )]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key.
        key: String,
    },
    /// A line that is neither a key and a value, nor a section, nor a comment.
    #[error("{}, line {line}: expected 'key = value'", path.display())]
    NoValue {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A value that can't be.
    #[error("{}, line {line}: {key}: expected {expected}", path.display())]
    BadValue {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key.
        key: String,
        /// The values that belong there.
        expected: &'static str,
    },
    /// A key that must be there isn't.
    #[error("{}: the board's {what} is missing (key {key})", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The missing entry.
        what: &'static str,
        /// The key for it.
        key: &'static str,
    },
}

impl BoardConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// With the line and the key that is wrong. The text never shows a password.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Io { path: path.to_owned(), source })?;
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let owned = || path.to_owned();
        let mut fields: Vec<(Key, String)> = Vec::new();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, content) in text.lines().enumerate() {
            let (line, content) = (index + 1, content.trim());
            let is_section = content.starts_with('[') && content.ends_with(']');
            if content.is_empty() || content.starts_with(['#', ';']) || is_section {
                continue;
            }
            let (name, value) =
                content.split_once('=').ok_or_else(|| ConfigError::NoValue { path: owned(), line })?;
            let (name, value) = (name.trim(), unquoted(value.trim()));
            let known = KEYS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let unknown = || ConfigError::UnknownKey { path: owned(), line, key: name.to_owned() };
            let (_, key) = known.ok_or_else(unknown)?;
            if *key == Key::Port && value.parse::<u16>().map_or(true, |port| port == 0) {
                let expected = "a number from 1 to 65535";
                return Err(ConfigError::BadValue { path: owned(), line, key: name.to_owned(), expected });
            }
            fields.push((*key, value.to_owned()));
        }
        let take = |key| fields.iter().rev().find(|(known, _)| *known == key).map(|(_, value)| value.clone());
        let filled = |key| take(key).filter(|value: &String| !value.is_empty());
        let missing = |what, key| move || ConfigError::Missing { path: path.to_owned(), what, key };
        Ok(Self {
            host: filled(Key::Host).ok_or_else(missing("address", "ip"))?,
            user: filled(Key::User).ok_or_else(missing("user", "username"))?,
            // An empty one is one, too: many boards come without.
            password: take(Key::Password).map(Secret),
            private_key: filled(Key::Identity).map(|key| below_home(&key)),
            port: take(Key::Port).and_then(|port| port.parse().ok()).unwrap_or(22),
            board_mount: filled(Key::BoardMount),
            host_mount: filled(Key::HostMount).map(PathBuf::from),
        })
    }

    /// Whether others than its owner can read a file with a password in it.
    pub fn is_open_to_others(path: &Path) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
        }
        #[cfg(not(unix))]
        {
            let _ = path;
            false
        }
    }
}

/// A path that may begin with `~/`, as in the configuration of OpenSSH.
fn below_home(path: &str) -> PathBuf {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

fn unquoted(value: &str) -> &str {
    let inner = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<BoardConfig, String> {
        BoardConfig::parse(text, Path::new("board.ini")).map_err(|error| error.to_string())
    }

    #[test]
    fn both_forms_say_the_same() {
        let ini =
            parse("[ssh_config]\n; mine\nip = 192.168.1.10\nusername = root\npwd = p=w d\nport = 2222\n");
        let flat = parse("HOST=192.168.1.10\nUSER=root\nPASSWORD='p=w d'\nPORT=2222\n");
        assert_eq!(ini, flat);
        let config = ini.unwrap();
        assert_eq!((config.port, config.password), (2222, Some(Secret::new("p=w d"))));
        assert_eq!(parse("ip=a\nusername=b\n").unwrap().port, 22);
    }

    #[test]
    fn an_empty_password_is_one_and_a_key_may_lie_below_the_home_folder() {
        let config = parse("ip=a\nusername=b\npwd =\nkey = ~/.ssh/id\n").unwrap();
        assert_eq!(config.password, Some(Secret::new("")));
        let home = std::env::home_dir().expect("a home folder");
        assert_eq!(config.private_key, Some(home.join(".ssh/id")));
        assert_eq!(parse("ip=a\nusername=b\n").unwrap().password, None);
    }

    #[test]
    fn the_password_is_never_shown() {
        let config = parse("ip=a\nusername=b\npwd=topsecret\n").unwrap();
        assert!(!format!("{config:?}").contains("topsecret"));
        let error = parse("ip=a\nusername=b\npwd=topsecret\nport=none\n").unwrap_err();
        assert!(!error.contains("topsecret"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert!(
            parse("[ssh_config]\nip = a\nuser name = b\n")
                .unwrap_err()
                .contains("line 3: unknown key 'user name'")
        );
        assert!(parse("ip = a\nusername\n").unwrap_err().contains("line 2: expected 'key = value'"));
        assert!(parse("ip=a\nusername=b\nport=70000").unwrap_err().contains("1 to 65535"));
        assert!(parse("username=b").unwrap_err().contains("address is missing (key ip)"));
        assert!(parse("ip=\nusername=b").unwrap_err().contains("address is missing"));
    }
}
