//! What the tests of the readers of Ascend's formats share.

use std::path::{Path, PathBuf};

/// A file or folder of real data or of the reference's outputs; `None`, with a word about it, where
/// there is none. They lie in the folder that `OPSCOPE_SHARED` names, or beside the workspace.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = std::env::var_os("OPSCOPE_SHARED").map_or_else(beside, PathBuf::from).join(path);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: there is no {}", path.display());
    None
}
