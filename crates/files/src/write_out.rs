//! Writing a file out while it is still being made, so that little is left to wait for when it is synced.

use std::fs::File;

/// After this many further bytes the system is asked to begin with writing them out.
const AFTER_BYTES: usize = 8 << 20;

/// A file that has grown to this many bytes gets room for those that follow.
#[cfg(target_os = "linux")]
const RESERVE_FROM: u64 = 32 << 20;

/// Room for at most so many bytes is reserved at a time.
#[cfg(target_os = "linux")]
const MOST_RESERVED: u64 = 64 << 20;

/// How far a file is on its way to the disk. All of it are hints: where the system refuses one, the file
/// is written as well, and a disk that fails shows when it is synced.
#[derive(Debug, Default)]
pub(crate) struct WriteOut {
    /// Bytes that were written since the system was last asked to write them out.
    fresh: usize,
    /// The end of the room that was reserved in the file, in bytes; 0 where none was.
    reserved: u64,
}

impl WriteOut {
    /// Notes that further bytes were written to the file.
    pub(crate) fn wrote(&mut self, file: &File, bytes: usize) {
        self.fresh += bytes;
        if self.fresh >= AFTER_BYTES && begin(file) {
            self.fresh = 0;
            self.reserve(file);
        }
    }

    /// Notes that the file is whole: gives back the room behind its end.
    pub(crate) fn end(&mut self, file: &File) {
        if std::mem::take(&mut self.reserved) > 0
            && let Ok(found) = file.metadata()
        {
            // A file that keeps the room is as whole.
            let _ = file.set_len(found.len());
        }
        if std::mem::take(&mut self.fresh) >= AFTER_BYTES / 8 {
            begin(file);
        }
    }

    /// Reserves up to a quarter of the file's length behind its end. To find room for each few pages anew, when
    /// they are written out, takes ext4 twice the time; others reserve by themselves, or would no longer
    /// compress what is written there.
    #[cfg(target_os = "linux")]
    fn reserve(&mut self, file: &File) {
        use std::os::fd::AsRawFd;
        let Ok(length) = file.metadata().map(|found| found.len()) else { return };
        let step = (length / 4).min(MOST_RESERVED);
        if length < RESERVE_FROM || length + AFTER_BYTES as u64 <= self.reserved || !is_on_ext4(file) {
            return;
        }
        let (Ok(from), Ok(count)) = (length.max(self.reserved).try_into(), step.try_into()) else { return };
        // SAFETY: the descriptor is open, and the call touches no memory of ours.
        unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, from, count) };
        // Of what a full disk refuses, a part may have been reserved.
        self.reserved = length.max(self.reserved) + step;
    }

    #[cfg(not(target_os = "linux"))]
    fn reserve(&mut self, _file: &File) {}
}

#[cfg(target_os = "linux")]
fn is_on_ext4(file: &File) -> bool {
    use std::mem::MaybeUninit;
    use std::os::fd::AsRawFd;
    let mut found = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the descriptor is open, and the call fills what the pointer leads to, which is of its type.
    let failed = unsafe { libc::fstatfs(file.as_raw_fd(), found.as_mut_ptr()) } != 0;
    // SAFETY: a structure of whole numbers, all bytes of which were zero at least.
    let found = unsafe { found.assume_init() };
    !failed && i128::from(found.f_type) == i128::from(libc::EXT4_SUPER_MAGIC)
}

/// Has a file written out by a thread of its own, because the system lets wait whoever asks for it while the
/// disk is busy. False where that thread has enough to do: then later is early enough.
#[cfg(target_os = "linux")]
fn begin(file: &File) -> bool {
    use std::sync::OnceLock;
    use std::sync::mpsc::{SyncSender, sync_channel};
    use std::thread;

    static WAITING: OnceLock<Option<SyncSender<File>>> = OnceLock::new();
    let start = || {
        let (sender, waiting) = sync_channel::<File>(1);
        let work = move || waiting.iter().for_each(|file| write_out(&file));
        thread::Builder::new().name("opscope-disk".to_owned()).spawn(work).ok().map(|_| sender)
    };
    match WAITING.get_or_init(start) {
        // The thread's own descriptor, which outlasts a file that is given up.
        Some(waiting) => file.try_clone().is_ok_and(|own| waiting.try_send(own).is_ok()),
        None => {
            write_out(file);
            true
        }
    }
}

#[cfg(target_os = "linux")]
fn write_out(file: &File) {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open, and the call touches no memory of ours.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

#[cfg(not(target_os = "linux"))]
fn begin(_file: &File) -> bool {
    true
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use crate::write_atomically;

    #[test]
    fn a_large_file_takes_no_more_room_than_its_bytes_once_it_is_whole() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("large");
        let piece: Vec<u8> = (0..1 << 20).map(|byte| (byte % 251) as u8).collect();
        write_atomically(&path, |out| (0..45).try_for_each(|_| out.write_all(&piece)))
            .expect("space on disk");
        let found = path.metadata().expect("the file");
        assert_eq!(found.len(), 45 << 20);
        let room = found.blocks() * 512;
        assert!(room < found.len() + (1 << 20), "{room} bytes of room");
        let written = std::fs::read(&path).expect("the file");
        assert!(written.chunks(1 << 20).all(|part| part == piece));
    }
}
