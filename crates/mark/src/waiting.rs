//! Programs that are to be collected from later: `PROFILING_MODE=dynamic` in their environment, as
//! with the vendor's tools. They leave a page where a collector finds it by their process number.

use std::fs::{DirBuilder, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::sync::atomic::{AtomicU32, Ordering};

use opscope_recorder::clock::ClockKind;
use opscope_recorder::control::{Control, waiting_page};

/// The process that made a page; 0 for none.
static MAKER: AtomicU32 = AtomicU32::new(0);

/// Whether the environment asks for it.
pub(crate) fn is_asked_for() -> bool {
    std::env::var_os("PROFILING_MODE").is_some_and(|mode| mode == "dynamic")
}

/// Makes the page, if it is asked for.
pub(crate) fn make_page() -> Option<&'static Control> {
    if !is_asked_for() {
        return None;
    }
    // SAFETY: the call has no preconditions.
    let user = unsafe { libc::geteuid() };
    let path = waiting_page(user, std::process::id());
    let folder = path.parent()?;
    let _ = DirBuilder::new().mode(0o700).create(folder);
    let is_ours = |status: std::fs::Metadata| status.is_dir() && status.uid() == user;
    if !folder.symlink_metadata().is_ok_and(is_ours) {
        return None;
    }
    // A file that lies there is of a process of the same number that is long gone.
    let _ = std::fs::remove_file(&path);
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path).ok()?;
    file.set_len(Control::SIZE as u64).ok()?;
    let control = Control::map(file.as_raw_fd())?;
    control.prepare(ClockKind::best());
    control.wait_for_collector(std::process::id());
    if MAKER.swap(std::process::id(), Ordering::AcqRel) == 0 {
        // SAFETY: a function of this library, which is never unloaded.
        unsafe { libc::atexit(remove_page) };
    }
    Some(control)
}

extern "C" fn remove_page() {
    let process = std::process::id();
    // A forked child leaves its parent's page alone.
    if MAKER.load(Ordering::Acquire) == process {
        // SAFETY: the call has no preconditions.
        let user = unsafe { libc::geteuid() };
        let _ = std::fs::remove_file(waiting_page(user, process));
    }
}
