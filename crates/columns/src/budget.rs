//! The memory that all columns take together, and how much of it they may.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The size in bytes up to which a column always lies in memory and isn't counted: there are a few hundred
/// columns, and files for small ones would cost more time than they spare memory.
const SMALL: usize = 4 << 20;

/// The memory in bytes that large columns may take together unless it is set: a run of a million tasks fits.
pub const COMMON_BUDGET: usize = 768 << 20;

/// The bytes of all counted columns together.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// The bytes that these may take.
static MOST: AtomicUsize = AtomicUsize::new(COMMON_BUDGET);

/// Sets the memory in bytes that large columns may take together, [`COMMON_BUDGET`] until then. The ones that are there stay
/// where they are. A column of at most 4 MiB isn't counted, unless the budget itself is smaller.
pub fn keep_in_memory(bytes: usize) {
    MOST.store(bytes, Ordering::Relaxed);
}

/// The share of one column in the memory of all; given back when it goes.
pub(crate) struct Share {
    bytes: usize,
    /// Whether the column can lie nowhere else, so that it gets all that it asks for.
    is_forced: bool,
}

impl Share {
    /// The share of a column without rows.
    pub(crate) const NONE: Self = Self { bytes: 0, is_forced: false };

    /// Makes the column's share this large in bytes, if there is room for it beside the others.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> bool {
        let most = MOST.load(Ordering::Relaxed);
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 || bytes <= SMALL.min(most) {
            return true;
        }
        if self.is_forced {
            HELD.fetch_add(more, Ordering::Relaxed);
        } else {
            let with_more = |held: usize| held.checked_add(more).filter(|sum| *sum <= most);
            if HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_more).is_err() {
                return false;
            }
        }
        self.bytes += more;
        true
    }

    /// As [`Share::grow_to`] where the column can lie nowhere else, from now on.
    pub(crate) fn force_to(&mut self, bytes: usize) {
        self.is_forced = true;
        self.grow_to(bytes);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes > 0 {
            HELD.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}
