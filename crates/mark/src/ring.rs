//! The buffer between a thread that marks and whoever writes: a ring of marks.
//!
//! One thread puts marks in, and one drains it at a time (drainers hold the [`crate::sink`]'s
//! lock). Neither ever waits for the other inside the ring.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::entry::Entry;

/// How many marks ahead of their use places are fetched, in rings that are longer than that. The drainer's
/// processor had them last, and to fetch one from there takes longer than to put a mark in.
const AHEAD: usize = 16;

/// A ring of marks; the counts only ever grow, and a place is its count modulo the size.
pub(crate) struct Ring {
    slots: Box<[UnsafeCell<Entry>]>,
    /// How many were put in.
    head: AtomicUsize,
    /// How many were taken out.
    tail: AtomicUsize,
}

// SAFETY: a slot is written only by the one owner while it lies outside `tail..head`, and read only
// by the one drainer while it lies inside; the counts hand it over.
unsafe impl Sync for Ring {}
// SAFETY: as above; nothing in it belongs to a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring for `size` marks, which must be a power of two.
    pub(crate) fn new(size: usize) -> Self {
        let slots = (0..size.next_power_of_two()).map(|_| UnsafeCell::new(Entry::EMPTY)).collect();
        Self { slots, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }

    /// Fills a place through `fill` and hands it over; returns the number of marks that are waiting
    /// now, or `None` (without calling `fill`) when the ring is full.
    ///
    /// # Safety
    /// Only the ring's owner may call it.
    #[inline(always)]
    pub(crate) unsafe fn put(&self, fill: impl FnOnce(&mut Entry)) -> Option<usize> {
        let head = self.head.load(Ordering::Relaxed);
        let waiting = head.wrapping_sub(self.tail.load(Ordering::Acquire));
        if waiting >= self.slots.len() {
            return None;
        }
        let slot = &self.slots[head & (self.slots.len() - 1)];
        // SAFETY: the slot lies outside `tail..head`, so the owner alone touches it.
        fill(unsafe { &mut *slot.get() });
        self.head.store(head.wrapping_add(1), Ordering::Release);
        let soon = head.wrapping_add(AHEAD) & (self.slots.len() - 1);
        prefetch_for_writing(self.slots[soon].get());
        Some(waiting + 1)
    }

    /// How many marks fit.
    pub(crate) fn size(&self) -> usize {
        self.slots.len()
    }

    /// Gives all waiting marks to `take`, in one or two pieces.
    ///
    /// # Safety
    /// Only one thread may drain at a time.
    pub(crate) unsafe fn drain(&self, mut take: impl FnMut(&[Entry])) {
        let head = self.head.load(Ordering::Acquire);
        let mut tail = self.tail.load(Ordering::Relaxed);
        while tail != head {
            let first = tail & (self.slots.len() - 1);
            let count = head.wrapping_sub(tail).min(self.slots.len() - first);
            // SAFETY: the slots lie inside `tail..head`, so the owner leaves them alone, and they are
            // adjacent.
            take(unsafe { std::slice::from_raw_parts(self.slots[first].get(), count) });
            tail = tail.wrapping_add(count);
            self.tail.store(tail, Ordering::Release);
        }
    }
}

/// Asks for a cache line that is soon to be written.
#[inline(always)]
fn prefetch_for_writing(place: *const Entry) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: fetching ahead changes nothing, whatever the address.
    unsafe {
        // The compiler's own function becomes a fetch for reading where the processor isn't named.
        core::arch::asm!("prefetchw [{}]", in(reg) place, options(readonly, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) place, options(readonly, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Essence;

    fn drained(ring: &Ring) -> Vec<u8> {
        let mut all = Vec::new();
        // SAFETY: this thread alone has the ring.
        unsafe { ring.drain(|marks| all.extend(marks.iter().map(|mark| mark.record(0).start as u8))) };
        all
    }

    fn put(ring: &Ring, number: u8) -> Option<usize> {
        let essence = Essence { start: u64::from(number), ..Essence::default() };
        // SAFETY: this thread alone has the ring.
        unsafe { ring.put(|entry| entry.set(essence, b"", None)) }
    }

    #[test]
    fn marks_come_out_in_order_across_the_end_of_the_ring() {
        let ring = Ring::new(4);
        assert_eq!([put(&ring, 1), put(&ring, 2), put(&ring, 3)], [Some(1), Some(2), Some(3)]);
        assert_eq!(drained(&ring), [1, 2, 3]);
        for number in 4..8 {
            put(&ring, number);
        }
        assert_eq!(put(&ring, 8), None, "a full ring takes nothing");
        assert_eq!(drained(&ring), [4, 5, 6, 7]);
        assert_eq!(drained(&ring), []);
    }

    #[test]
    fn a_drainer_on_another_thread_sees_every_mark_once() {
        let ring = Ring::new(8);
        let all = std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..200u8 {
                    while put(&ring, number).is_none() {
                        std::thread::yield_now();
                    }
                }
            });
            let mut all = Vec::new();
            while all.len() < 200 {
                all.extend(drained(&ring));
            }
            all
        });
        assert_eq!(all, (0..200).collect::<Vec<u8>>());
    }
}
