//! The file of known hosts, read as OpenSSH reads it.
//!
//! A line is `[@marker] hosts type base64 [comment]`, its fields parted by spaces or tabs (sshd(8),
//! "SSH_KNOWN_HOSTS FILE FORMAT"). `hosts` are patterns parted by commas, or one hashed name,
//! `|1|salt|HMAC-SHA1(salt, name)`. A host at a port other than 22 is named `[host]:port`.
//! OpenSSH passes over lines that it cannot read, and so does this reader.

use std::fs;
use std::io;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use russh::keys::ssh_key::known_hosts::HostPatterns;
use russh::keys::{Algorithm, PublicKey, parse_public_key_base64};
use sha1::Sha1;

const DEFAULT_PORT: u16 = 22;

/// A word before a line's hosts that changes what its key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    /// The key is the host's own.
    None,
    /// The key signs hosts' certificates, which are not used here.
    CertificateAuthority,
    /// The key must never be accepted.
    Revoked,
}

/// A line whose hosts include the one that was asked for.
#[derive(Clone, Debug)]
struct Entry {
    /// From 1, as editors count.
    line: usize,
    marker: Marker,
    key: PublicKey,
}

impl Entry {
    fn has(&self, key: &PublicKey) -> bool {
        self.key.key_data() == key.key_data()
    }

    fn revokes(&self, key: &PublicKey) -> bool {
        self.marker == Marker::Revoked && self.has(key)
    }
}

/// The entries of a file about one host.
#[derive(Clone, Debug, Default)]
pub struct KnownKeys {
    entries: Vec<Entry>,
    /// Keys of the host's name without its port, which count where none is known with it.
    without_port: Vec<Entry>,
}

/// The verdict of the known keys about one that a host shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The key is the host's.
    Known,
    /// No key of this host is known.
    Unknown,
    /// Another key of this host is known, of whichever kind, at this line.
    Changed {
        /// The line of one of them, from 1.
        line: usize,
    },
    /// The line that revokes the key.
    Revoked {
        /// From 1.
        line: usize,
    },
}

impl KnownKeys {
    /// Reads the keys of a host; a file that isn't there has none.
    ///
    /// # Errors
    /// When it is there and can't be read.
    pub fn read(path: &Path, host: &str, port: u16) -> io::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => Ok(Self::parse(&String::from_utf8_lossy(&bytes), host, port)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// The keys of a host in the text of such a file.
    pub fn parse(text: &str, host: &str, port: u16) -> Self {
        let host = host.to_lowercase();
        if port == DEFAULT_PORT {
            return Self { entries: entries(text, &host), without_port: Vec::new() };
        }
        Self { entries: entries(text, &format!("[{host}]:{port}")), without_port: entries(text, &host) }
    }

    /// Judges a key that the host shows. A line that revokes it is heeded above all, also where it names the host
    /// without the port: OpenSSH doesn't look there while a key is known with the port.
    pub fn standing(&self, key: &PublicKey) -> Standing {
        if let Some(entry) = self.entries.iter().chain(&self.without_port).find(|entry| entry.revokes(key)) {
            return Standing::Revoked { line: entry.line };
        }
        match standing_among(&self.entries, key) {
            // As OpenSSH does: a key that is known without the port is good at any port.
            Standing::Unknown => match standing_among(&self.without_port, key) {
                Standing::Changed { .. } => Standing::Unknown,
                other => other,
            },
            standing => standing,
        }
    }

    /// Whether a key of this kind is known of the host, so that the host should be asked for it.
    pub fn has_kind(&self, algorithm: &Algorithm) -> bool {
        let own = |entries: &[Entry]| entries.iter().any(|entry| entry.marker == Marker::None);
        let entries = if own(&self.entries) { &self.entries } else { &self.without_port };
        let is_kind = |entry: &Entry| kind(&entry.key.algorithm()) == kind(algorithm);
        entries.iter().any(|entry| entry.marker == Marker::None && is_kind(entry))
    }
}

/// The kind of key that an algorithm signs with: RSA keys sign with several hashes.
fn kind(algorithm: &Algorithm) -> Algorithm {
    match algorithm {
        Algorithm::Rsa { .. } => Algorithm::Rsa { hash: None },
        other => other.clone(),
    }
}

/// The standing of a key that none of the entries revokes.
fn standing_among(entries: &[Entry], key: &PublicKey) -> Standing {
    let mut own = entries.iter().filter(|entry| entry.marker == Marker::None);
    if own.clone().any(|entry| entry.has(key)) {
        return Standing::Known;
    }
    own.next().map_or(Standing::Unknown, |entry| Standing::Changed { line: entry.line })
}

/// The readable lines that name `host`, which is in lower case.
fn entries(text: &str, host: &str) -> Vec<Entry> {
    let lines = text.lines().enumerate();
    lines.filter_map(|(index, line)| entry(line, host, index + 1)).collect()
}

fn entry(text: &str, host: &str, line: usize) -> Option<Entry> {
    let mut fields = text.split([' ', '\t', '\r']).filter(|field| !field.is_empty()).peekable();
    let marker = match *fields.peek()? {
        "@cert-authority" => Marker::CertificateAuthority,
        "@revoked" => Marker::Revoked,
        field if field.starts_with(['@', '#']) => return None,
        _ => Marker::None,
    };
    if marker != Marker::None {
        fields.next();
    }
    let (hosts, kind_name, base64) = (fields.next()?, fields.next()?, fields.next()?);
    if !names(hosts, host) {
        return None;
    }
    let key = parse_public_key_base64(base64).ok()?;
    (key.algorithm().as_str() == kind_name).then_some(Entry { line, marker, key })
}

/// Whether a line's hosts include a name. A pattern after `!` that fits rules the line out.
fn names(hosts: &str, name: &str) -> bool {
    match hosts.parse() {
        Ok(HostPatterns::HashedName { salt, hash }) => Hmac::<Sha1>::new_from_slice(&salt)
            .is_ok_and(|hmac| hmac.chain_update(name).verify_slice(&hash).is_ok()),
        Ok(HostPatterns::Patterns(patterns)) => {
            let fits = |pattern: &str| fits(pattern.to_lowercase().as_bytes(), name.as_bytes());
            !patterns.iter().filter_map(|pattern| pattern.strip_prefix('!')).any(fits)
                && patterns.iter().any(|pattern| fits(pattern))
        }
        Err(_) => false,
    }
}

/// Whether a name fits a pattern in which `*` stands for any letters and `?` for one.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    // The last `*`, and how much of the name it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(&letter) if letter == b'?' || letter == name[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                (at, place) = (star_at + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|&letter| letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, name, expected) in [
            ("board", "board", true),
            ("board", "boards", false),
            ("b*d", "board", true),
            ("b*d", "boards", false),
            ("*", "", true),
            ("?", "", false),
            ("10.0.?.*", "10.0.7.255", true),
            ("10.0.?.*", "10.0.77.2", false),
            ("[b*]:22?2", "[board]:2222", true),
            ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
