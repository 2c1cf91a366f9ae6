//! Raw files of calls, in the layout that CANN published in 2022.
//!
//! Nothing is public about the raw files of these boards but their names. Those of calls begin
//! like the files whose layout CANN showed in 2022, so that layout is tried, and taken only if a
//! whole file fits it: its size, the magic number of every record, times in order, names that can
//! be read. What results is labelled.

use std::path::{Path, PathBuf};

use opscope_cann_raw::legacy::{AclCall, tag};
use opscope_cann_raw::{Record, host};
use opscope_trace::Nanoseconds;

use crate::timeline::Call;

/// What is said of calls that were read this way.
pub(crate) const LABEL: &str = "decoded with the AclModule layout of 2022";

/// How many records a board keeps of one collection; older ones are overwritten.
pub(crate) const BOARD_CAPACITY: u64 = 512;

/// The reason under which that many are counted.
pub(crate) const OVERWRITTEN: &str = "doubted: more calls than a board keeps";

/// What is said of that many.
pub(crate) fn overwritten(calls: u64) -> String {
    format!(
        "{calls} calls; a board keeps 512 of one collection, so older ones were overwritten: run fewer inferences"
    )
}

/// Why a file isn't taken for calls in the layout of 2022.
#[derive(Debug, thiserror::Error)]
pub enum RawCallsError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Something does not fit.
    #[error("{}: not in the AclModule layout of 2022: {what}", path.display())]
    OtherLayout {
        /// The file.
        path: PathBuf,
        /// What doesn't fit, and where.
        what: String,
    },
}

/// Calls of a raw file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawCalls {
    /// The calls, in the order of the file. Their clock is the system's monotonic one, in
    /// nanoseconds.
    pub calls: Vec<Call>,
}

impl RawCalls {
    /// Reads a file, all of it or nothing.
    ///
    /// # Errors
    /// When a single record doesn't fit.
    pub fn read_file(path: &Path) -> Result<Self, RawCallsError> {
        let bytes =
            std::fs::read(path).map_err(|source| RawCallsError::Io { path: path.to_owned(), source })?;
        Self::read(&bytes).map_err(|what| RawCallsError::OtherLayout { path: path.to_owned(), what })
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let (size, record_size) = (bytes.len(), <AclCall as Record>::SIZE);
        if size == 0 || size % record_size != 0 {
            return Err(format!("its {size} bytes are no multiple of {record_size}"));
        }
        let calls = bytes.chunks_exact(record_size).enumerate().map(|(index, bytes)| {
            call(bytes).map_err(|what| format!("{what} in the record at offset {}", index * record_size))
        });
        Ok(Self { calls: calls.collect::<Result<_, _>>()? })
    }
}

fn call(bytes: &[u8]) -> Result<Call, &'static str> {
    let record = AclCall::read(bytes).ok_or("too few bytes")?;
    if record.magic != host::MAGIC || record.tag != tag::ACL {
        return Err("another magic number");
    }
    if record.begin > record.end || i64::try_from(record.end).is_err() {
        return Err("times out of order");
    }
    let name = record.name.split(|byte| *byte == 0).next().unwrap_or_default();
    let is_printable = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    let name = std::str::from_utf8(name).ok().filter(|_| is_printable).ok_or("a name that can't be read")?;
    Ok(Call {
        name: name.to_owned(),
        mode: mode_of(record.kind).to_owned(),
        process: record.process.into(),
        thread: record.thread.into(),
        start: Nanoseconds(record.begin as i64),
        duration: Nanoseconds((record.end - record.begin) as i64),
    })
}

/// What a call belongs to, in the word of the boards' timelines.
pub(crate) fn mode_of(kind: u32) -> &'static str {
    match kind {
        1 => "ACL_OP",
        2 => "ACL_MODEL",
        3 => "ACL_RTS",
        _ => "ACL_OTHERS",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(name: &str, begin: u64, end: u64) -> Vec<u8> {
        let mut text = [0; 64];
        text[..name.len()].copy_from_slice(name.as_bytes());
        let call = AclCall {
            magic: host::MAGIC,
            tag: tag::ACL,
            kind: 2,
            begin,
            end,
            process: 7,
            thread: 8,
            name: text,
        };
        let mut bytes = Vec::new();
        call.append_to(&mut bytes);
        bytes
    }

    #[test]
    fn a_file_that_fits_to_the_last_byte_is_read() {
        let file = [record("svp_acl_mdl_execute", 1_000, 24_299), record("svp_acl_finalize", 30_000, 30_001)];
        let calls = RawCalls::read(&file.concat()).unwrap().calls;
        assert_eq!(calls.len(), 2);
        assert_eq!((&*calls[0].name, &*calls[0].mode), ("svp_acl_mdl_execute", "ACL_MODEL"));
        assert_eq!(calls[0].duration, Nanoseconds(23_299));
    }

    #[test]
    fn one_record_that_does_not_fit_refuses_the_whole_file() {
        let good = record("svp_acl_init", 1, 2);
        let refused = |bytes: &[u8]| RawCalls::read(bytes).unwrap_err();
        assert!(refused(&good[..127]).contains("127 bytes"));
        assert!(refused(&[]).contains("no multiple"));
        assert_eq!(
            refused(&[&good[..], &record("x", 9, 3)].concat()),
            "times out of order in the record at offset 128"
        );
        assert!(refused(&record("", 1, 2)).contains("name"));
        assert!(refused(&record("\u{1}\u{2}", 1, 2)).contains("name"));
        let mut other = good.clone();
        other[0] = 0;
        assert!(refused(&other).contains("magic"));
    }

    proptest! {
        #[test]
        fn random_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..1024)) {
            prop_assert!(RawCalls::read(&bytes).is_err());
        }
    }
}
