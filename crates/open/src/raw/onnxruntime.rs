//! The profiles that ONNX Runtime wrote beside the raw slices of a collected program.
//!
//! Their times count from the begin of their session, and the file beside each
//! (`opscope.onnxruntime.<process>.<number>.clock`) tells when that was:
//!
//! | field | what |
//! |---|---|
//! | `start_ns` | the session's begin on the wall clock |
//! | `realtime_ns`, `monotonic_raw_ns` | both clocks, read at one later moment |

use std::path::{Path, PathBuf};

use opscope_cann::Profile;
use opscope_formats::onnxruntime;
use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Nanoseconds, Trace};
use serde_json::Value;

/// How the profiles' names begin.
const PREFIX: &str = "opscope.onnxruntime.";

/// Adds the operators of all sessions to the trace of the profile that they lie in, until `stop` is wanted.
pub fn append(trace: &mut Trace, profile: &Profile, stop: &Stop) {
    let Some(host) = &profile.host else { return };
    // Counts from the trace's zero: its wall-clock time less what it has to the monotonic clock.
    let Some(zero) = host.metadata.session.begin_monotonic else { return };
    for path in profiles(&host.data()) {
        if stop.is_wanted() {
            return;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match onnxruntime::Profile::read_until(&path, stop) {
            Ok(session) => match begin(&path) {
                Some(begin) => {
                    trace.append(&session.to_trace_until(stop), Nanoseconds(begin.saturating_sub(zero)))
                }
                None => trace.count_loss(LossKind::SessionWithoutClock, 1, &name),
            },
            Err(error) => trace.count_loss(LossKind::UnreadableSession, 1, &error.to_string()),
        }
    }
}

fn profiles(data: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(data) else { return Vec::new() };
    let is_profile = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(PREFIX) && name.ends_with(".json")
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_profile).collect();
    found.sort();
    found
}

/// Nanoseconds of a century, for which no machine runs without a restart.
const CENTURY: i64 = 100 * 365 * 24 * 3_600 * 1_000_000_000;

/// When the session of a profile began, in nanoseconds of `CLOCK_MONOTONIC_RAW`; `None` where its clock
/// isn't there, or can't be.
fn begin(profile: &Path) -> Option<i64> {
    // The runtime appends the date to the name that it was given: process, number, date.
    let name = profile.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let mut parts = name.split('.');
    let (process, number) = (parts.next()?, parts.next()?.split('_').next()?);
    let clock = profile.with_file_name(format!("{PREFIX}{process}.{number}.clock"));
    let json: Value = serde_json::from_slice(&opscope_files::read_plain(&clock).ok()?).ok()?;
    let field = |name: &str| json.get(name).and_then(Value::as_i64);
    let age = field("realtime_ns")?.checked_sub(field("start_ns")?)?;
    field("monotonic_raw_ns")?.checked_sub(age).filter(|begin| (0..=CENTURY).contains(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_begin_of_a_session_is_found_by_the_name_of_its_profile() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let note = r#"{"pid": 12, "start_ns": 1000, "realtime_ns": 1500, "monotonic_raw_ns": 700}"#;
        std::fs::write(folder.path().join("opscope.onnxruntime.12.3.clock"), note).expect("a file");
        let profile = folder.path().join("opscope.onnxruntime.12.3_2026-11-21_10-15-00.json");
        assert_eq!(begin(&profile), Some(200));
        assert_eq!(begin(&folder.path().join("opscope.onnxruntime.12.4_2026.json")), None);
    }
}
