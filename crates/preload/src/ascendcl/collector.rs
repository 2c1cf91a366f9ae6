//! The collector that the environment names: whether it records calls now, where they go, and the notes
//! that are left for it.

use std::path::PathBuf;
use std::sync::OnceLock;

use opscope_recorder::control::Control;
use opscope_recorder::environment;
use opscope_recorder::sink::write_all;

/// The collector's page, if anybody collects.
pub(super) fn control() -> Option<&'static Control> {
    static CONTROL: OnceLock<Option<&'static Control>> = OnceLock::new();
    *CONTROL.get_or_init(Control::named)
}

/// Where the records go, if anybody collects.
pub(super) fn directory() -> Option<PathBuf> {
    let named = || environment::value(environment::ACL_DIRECTORY).map(PathBuf::from);
    control().and_then(Control::directory).or_else(named)
}

/// Whether something is recorded now.
pub(super) fn is_on() -> bool {
    control().is_some_and(Control::records_calls)
}

/// Leaves a note for the collector, which says it when the program has ended.
pub(super) fn note(text: &str) {
    let Some(directory) = directory() else { return };
    let path = directory.join(format!("opscope.ascendcl.{}.notes", std::process::id()));
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    let _ = file.and_then(|mut file| write_all(&mut file, format!("{text}\n").as_bytes()));
}
