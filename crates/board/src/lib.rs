//! Collecting profiles over SSH, on a board or a host with Ascend processors: upload a project, run its
//! program there with profiling switched on, and bring back the profiles.
//!
//! | step | module |
//! |---|---|
//! | read how to reach the board | [`BoardConfig`] |
//! | switch profiling on in `acl.json` | [`Settings`], `acl_json` |
//! | connect, checking the host's key | `connection`; again where the line breaks, `link` |
//! | keep others from collecting there at the same time | `lock` |
//! | look for what would spoil the run | `checks` |
//! | bring the project there, only what changed | `upload` |
//! | start the program apart from the connection | `program` |
//! | follow it to its end, watching time and space | `follow` |
//! | bring the profiles back | `download` |
//! | look whether it can be reached at all | `test_connection` |
//!
//! [`collect`] does all of it. The facts about the boards come from the vendor's Profiling guide for
//! SS928 V100 and SS927 V100 (00B01, 2025-09-15).
//!
//! ```
//! use opscope_board::Settings;
//!
//! let existing = br#"{"profiler": {"switch": "off"}, "own": 1}"#;
//! let (acl_json, changed) = Settings::default().apply(Some(existing), "/root/profiles")?;
//! assert!(acl_json.contains(r#""switch": "on""#) && acl_json.contains(r#""own": 1"#));
//! assert_eq!(changed.output, None);
//! # Ok::<(), opscope_board::SettingsError>(())
//! ```
//!
//! # Floors
//! Each row uses those below it.
//!
//! ```text
//! collect · test_connection                                        all steps in their order
//! checks · acl_json · follow · download · mounting · main_program  a step each
//! program ─► upload · link ─► request · lock                       a line that may break
//! space ─► connection ─► known_hosts · config                      commands and files over SSH
//! error ─► settings · nfs ─► remote                                values
//! ```

mod acl_json;
mod checks;
mod collect;
mod config;
mod connection;
mod download;
mod error;
mod follow;
mod known_hosts;
mod link;
mod lock;
mod main_program;
mod mounting;
mod nfs;
mod program;
mod remote;
mod request;
mod settings;
mod space;
mod test_connection;
#[cfg(test)]
mod testing;
mod upload;

pub use collect::{Collected, collect};
pub use config::{BoardConfig, ConfigError, Secret};
pub use connection::{HostKeys, Timeouts};
pub use error::Error;
pub use known_hosts::{KnownKeys, Standing};
pub use nfs::{NfsError, NfsExport};
pub use program::ProgramEnd;
pub use request::Request;
pub use settings::{Changed, KeyStyle, Settings, SettingsError};
pub use test_connection::{Reached, test_connection};

/// The messages to the user while a collection goes on.
pub trait Progress {
    /// A step begins.
    fn step(&mut self, text: &str);
    /// Something that the user should know, and that doesn't end the collection.
    fn warn(&mut self, text: &str);
    /// How much of the present step is done, in bytes.
    fn bytes(&mut self, done: u64, total: u64);
    /// The program printed something.
    fn output(&mut self, stream: Output, bytes: &[u8]);
    /// The program runs from here on, or does so no more.
    fn runs(&mut self, _runs: bool) {}
    /// Whether the user wants the program on the board to end.
    fn interrupted(&self) -> bool {
        false
    }
}

/// Where a program printed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}
