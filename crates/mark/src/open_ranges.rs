//! The ranges that any thread may end, by their numbers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::details::Details;

/// A range that was begun, and not ended yet.
pub(crate) struct OpenRange {
    /// Its begin, in ticks.
    pub(crate) start: u64,
    pub(crate) details: Details,
    pub(crate) text: Box<[u8]>,
}

static RANGES: Mutex<Option<HashMap<u64, OpenRange>>> = Mutex::new(None);

/// Puts a range that `begin` makes under a number; returns whether it could.
pub(crate) fn insert(number: u64, begin: impl FnOnce() -> OpenRange) -> bool {
    let Some(mut ranges) = lock() else { return false };
    ranges.get_or_insert_default().insert(number, begin());
    true
}

/// Takes the range of a number.
pub(crate) fn remove(number: u64) -> Option<OpenRange> {
    lock()?.as_mut()?.remove(&number)
}

/// Forgets all ranges, and tells how many there were.
pub(crate) fn forget() -> u64 {
    lock().and_then(|mut ranges| ranges.take()).map_or(0, |open| open.len() as u64)
}

fn lock() -> Option<MutexGuard<'static, Option<HashMap<u64, OpenRange>>>> {
    // The lock is held for nanoseconds only. In a forked child its holder may be a thread that isn't
    // there: such a child records no ranges of this kind; all else works.
    const TRIES: u32 = 1_000_000;
    for _ in 0..TRIES {
        match RANGES.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}
