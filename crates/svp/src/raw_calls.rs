//! Raw files of calls, in the layout that CANN published in 2022.
//!
//! Nothing is public about the raw files of these boards but their names. Files of calls begin
//! like those whose layout CANN showed in 2022, so that layout is tried, and taken only if every
//! whole record of a file fits it: the magic number, times in order, names that can be read. Bytes
//! behind the last whole one, as where a program ended without `svp_acl_finalize()`, are counted.
//! The result is labelled, and named as the file is.

use std::path::{Path, PathBuf};

use opscope_cann_raw::legacy::{AclCall, tag};
use opscope_cann_raw::{Record, host};
use opscope_trace::{LossKind, Nanoseconds};

use crate::file_name::{FileName, TimelineName};
use crate::files::{Exports, Sheet};
use crate::from_trace::acl_statistic;
use crate::job::{Job, RawKind};
use crate::timeline::Call;

/// The remark about calls that were read this way.
pub const RAW_CALLS_LABEL: &str = "decoded with the AclModule layout of 2022";

/// Why a file isn't taken for calls in the layout of 2022.
#[derive(Debug, thiserror::Error)]
pub enum RawCallsError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Something does not fit.
    #[error("{}: not in the AclModule layout of 2022: {what}", path.display())]
    OtherLayout {
        /// The file.
        path: PathBuf,
        /// The part that doesn't fit, and its place.
        what: String,
    },
}

/// Calls of a raw file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawCalls {
    /// The calls, in the order of the file. Their clock is the system's monotonic one, in
    /// nanoseconds.
    pub calls: Vec<Call>,
    /// How many bytes of a record that was cut off stand at the end.
    pub cut_off: usize,
}

impl RawCalls {
    /// Reads a file: all whole records, or nothing.
    ///
    /// # Errors
    /// When there is no whole record, or a single one doesn't fit.
    pub fn read_file(path: &Path) -> Result<Self, RawCallsError> {
        let bytes = opscope_files::read_plain(path)
            .map_err(|source| RawCallsError::Io { path: path.to_owned(), source })?;
        Self::read(&bytes).map_err(|what| RawCallsError::OtherLayout { path: path.to_owned(), what })
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let (size, record_size) = (bytes.len(), <AclCall as Record>::SIZE);
        if size < record_size {
            return Err(format!("its {size} bytes are less than one record of {record_size}"));
        }
        let calls = bytes.chunks_exact(record_size).enumerate().map(|(index, bytes)| {
            call(bytes).map_err(|what| format!("{what} in the record at offset {}", index * record_size))
        });
        Ok(Self { calls: calls.collect::<Result<_, _>>()?, cut_off: size % record_size })
    }
}

impl Exports {
    /// The calls of all raw files of a directory that can be read, in the names of these files, with their
    /// totals. Calls that can't be read are counted.
    pub fn from_raw_calls(job: &Job) -> Self {
        let mut exports = Self::default();
        let mut count = 0;
        for file in job.files.iter().filter(|file| file.kind == RawKind::Calls) {
            match RawCalls::read_file(&file.path) {
                Ok(raw) => {
                    count += raw.calls.len() as u64;
                    let place = format!("{}: {} bytes", file.name, raw.cut_off);
                    exports.losses.count(LossKind::CutBoardRecord, &place, u64::from(raw.cut_off > 0));
                    exports.add_raw_calls(job.name_of(file), raw.calls);
                }
                Err(error) => exports.losses.count(LossKind::PrivateCalls, &error.to_string(), 1),
            }
        }
        exports.note_overwritten(count);
        exports
    }

    fn add_raw_calls(&mut self, name: Option<TimelineName>, calls: Vec<Call>) {
        let unnamed = TimelineName { device: 0, model: None, model_id: 0, batches: None, iteration: Some(1) };
        let name = name.unwrap_or(unnamed);
        let statistic = FileName::AclStatistic { device: name.device, model_id: name.model_id, iteration: 1 };
        self.acl_statistics.push(Sheet { name: statistic, content: acl_statistic(&calls) });
        self.calls.push(Sheet { name, content: calls });
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

/// The group that a call belongs to, in the word of the boards' timelines.
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
    fn a_file_that_was_cut_off_keeps_its_whole_records() {
        let file = [record("svp_acl_init", 1, 2), record("svp_acl_mdl_execute", 3, 4)].concat();
        let raw = RawCalls::read(&file[..200]).unwrap();
        assert_eq!((raw.calls.len(), raw.cut_off), (1, 72));
    }

    #[test]
    fn one_record_that_does_not_fit_refuses_the_whole_file() {
        let good = record("svp_acl_init", 1, 2);
        let refused = |bytes: &[u8]| RawCalls::read(bytes).unwrap_err();
        assert!(refused(&good[..127]).contains("127 bytes"));
        assert!(refused(&[]).contains("less than one record"));
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
