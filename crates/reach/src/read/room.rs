//! The memory that whole profiles may take at a time: as much as their files, or more.
//!
//! A thread that has room does everything itself. Were it to wait for other threads of the pool, it might be given the
//! next rank meanwhile, and wait for room that it has itself.

use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::discover::Whole;

/// So many bytes of files are read at a time, or a single profile that is larger.
const ROOM: u64 = 256 << 20;

/// How many times its size a compressed file is taken to have.
const COMPRESSION: u64 = 10;

static TAKEN: Mutex<u64> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

/// Does work with a whole profile, on this thread alone, once there is room for it.
pub fn within<R>(whole: &Whole, work: impl FnOnce() -> R) -> R {
    let _room = Room::new(size(&whole.path));
    opscope_parallel::alone(work)
}

/// Room that is taken, and given back also where the work panics.
struct Room(u64);

impl Room {
    fn new(bytes: u64) -> Self {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken > 0 && taken.saturating_add(bytes) > ROOM {
            taken = GIVEN_BACK.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        // A file may claim any length: the sum stays a number.
        let bytes = bytes.clamp(1, ROOM);
        *taken += bytes;
        Self(bytes)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= self.0;
        GIVEN_BACK.notify_all();
    }
}

/// The bytes of a file, or of all files of a raw directory.
fn size(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else {
        let length = path.metadata().map_or(0, |it| it.len());
        let is_compressed = path.extension().is_some_and(|it| it == "gz");
        return length.saturating_mul(if is_compressed { COMPRESSION } else { 1 });
    };
    // Links aren't followed, so that a circle of them has an end.
    let plain = entries.flatten().filter(|it| it.file_type().is_ok_and(|kind| !kind.is_symlink()));
    plain.fold(0, |sum, entry| sum.saturating_add(size(&entry.path())))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::discover::Format;

    #[test]
    fn threads_of_the_pool_that_wait_for_room_are_all_served() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("profile.json");
        // As long as all the room, and without taking any on the disk.
        std::fs::File::create(&path).expect("a new file").set_len(ROOM).expect("a file of holes");
        let declared = Default::default();
        let whole = Whole { path, device: None, format: Format::Timeline, declared };
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let served = opscope_parallel::map(&[(); 32], |()| {
            within(&whole, || {
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // Work that would be divided, as readers do.
                let parts =
                    opscope_parallel::map(&[(); 8], |()| std::thread::sleep(Duration::from_micros(200)));
                inside.fetch_sub(1, Ordering::SeqCst);
                parts.len()
            })
        });
        assert_eq!((served.iter().sum::<usize>(), most.into_inner()), (32 * 8, 1));
    }
}
