//! An allocator that counts, and refuses what goes beyond a limit: whoever asks before allocating gets an error,
//! and whoever doesn't ends the process, as on a machine that has no more.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that are in use.
static USED: AtomicUsize = AtomicUsize::new(0);
/// Bytes that may be.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The system's allocator, counted.
pub struct Counting;

/// Allows so many bytes more than are in use.
pub fn limit_to(bytes: usize) {
    LIMIT.store(USED.load(Relaxed).saturating_add(bytes), Relaxed);
}

/// Takes bytes from what is left; false where there aren't so many.
fn take(bytes: usize) -> bool {
    let used = USED.fetch_add(bytes, Relaxed);
    let fits = used.checked_add(bytes).is_some_and(|used| used <= LIMIT.load(Relaxed));
    if !fits {
        USED.fetch_sub(bytes, Relaxed);
    }
    fits
}

// SAFETY: all blocks are the system's own, with the layouts that callers gave; a block that is refused is null, as
// the trait has it, and counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps to the same conditions.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() {
            USED.fetch_sub(layout.size(), Relaxed);
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps to the same conditions.
        let block = unsafe { System.alloc_zeroed(layout) };
        if block.is_null() {
            USED.fetch_sub(layout.size(), Relaxed);
        }
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !take(new_size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps to the same conditions.
        let moved = unsafe { System.realloc(block, layout, new_size) };
        USED.fetch_sub(if moved.is_null() { new_size } else { layout.size() }, Relaxed);
        moved
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to the same conditions.
        unsafe { System.dealloc(block, layout) };
        USED.fetch_sub(layout.size(), Relaxed);
    }
}
