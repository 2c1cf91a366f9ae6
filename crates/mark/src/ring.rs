//! The buffer between a thread that marks and whoever writes: a ring of the lines of marks.
//!
//! One thread puts marks in, and one takes them out at a time (those who do hold the lock of the
//! recorder's output). Neither ever waits for the other inside the ring.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::queued_mark::{Line, MOST_LINES, Mark};

/// How many lines ahead of their use places are fetched. The processor of who writes had them last.
const AHEAD: usize = 16;

/// A ring of lines; the counts only ever grow, and a place is its count modulo the size.
///
/// The lines of a mark lie one after another: behind the last place there is space for those of a
/// mark that begins there.
pub(crate) struct Ring {
    places: Box<[UnsafeCell<Line>]>,
    /// How many lines may wait; a power of two, less than there are places.
    size: usize,
    /// How many were put in.
    head: AtomicUsize,
    /// How many were taken out.
    tail: AtomicUsize,
}

// SAFETY: a place is written only by the one owner while it lies outside `tail..head`, and read only
// by the one who takes marks out while it lies inside; the counts hand it over.
unsafe impl Sync for Ring {}
// SAFETY: as above; nothing in it belongs to a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring of `size` lines, or a few more.
    pub(crate) fn new(size: usize) -> Self {
        let size = size.max(MOST_LINES).next_power_of_two();
        let places = (0..size + MOST_LINES - 1).map(|_| UnsafeCell::new(Line::EMPTY)).collect();
        let (head, tail) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { places, size, head, tail }
    }

    /// Puts a mark of one line in through `fill`, unless there is no space or somebody needs to know
    /// that half of the ring is waiting now; returns whether it did.
    ///
    /// # Safety
    /// Only the ring's owner may call it.
    #[inline(always)]
    pub(crate) unsafe fn put_quietly(&self, fill: impl FnOnce(&mut Line)) -> bool {
        let head = self.head.load(Ordering::Relaxed);
        let waiting = head.wrapping_sub(self.tail.load(Ordering::Acquire));
        if waiting >= self.size || waiting + 1 == self.size / 2 {
            return false;
        }
        let place = self.place(head);
        // SAFETY: the place lies outside `tail..head`, so the owner alone touches it.
        fill(unsafe { &mut *place });
        self.head.store(head.wrapping_add(1), Ordering::Release);
        prefetch_for_writing(place.wrapping_add(AHEAD));
        true
    }

    /// Puts a mark of `count` lines in, at most [`MOST_LINES`], through `fill`; returns whether with it
    /// half of the ring is waiting, or `None` when there was no space.
    ///
    /// # Safety
    /// Only the ring's owner may call it.
    #[inline(always)]
    pub(crate) unsafe fn put(&self, count: usize, fill: impl FnOnce(&mut [Line])) -> Option<bool> {
        let head = self.head.load(Ordering::Relaxed);
        let before = head.wrapping_sub(self.tail.load(Ordering::Acquire));
        let waiting = before + count;
        if waiting > self.size {
            return None;
        }
        debug_assert!(count <= MOST_LINES);
        let place = self.place(head);
        // SAFETY: the places lie outside `tail..head`, so the owner alone touches them, and they are
        // adjacent: behind the last there are enough for a mark.
        fill(unsafe { std::slice::from_raw_parts_mut(place, count.min(MOST_LINES)) });
        self.head.store(head.wrapping_add(count), Ordering::Release);
        prefetch_for_writing(place.wrapping_add(AHEAD));
        Some(before < self.size / 2 && waiting >= self.size / 2)
    }

    /// The place of a count; those behind it can be reached from it.
    #[inline(always)]
    fn place(&self, count: usize) -> *mut Line {
        UnsafeCell::raw_get(self.places.as_ptr()).wrapping_add(count & (self.size - 1))
    }

    /// How many lines may wait.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The marks that wait now, the oldest first.
    ///
    /// # Safety
    /// Only one thread may have them at a time.
    pub(crate) unsafe fn waiting(&self) -> Waiting<'_> {
        Waiting {
            ring: self,
            tail: self.tail.load(Ordering::Relaxed),
            head: self.head.load(Ordering::Acquire),
        }
    }
}

/// Marks that wait.
pub(crate) struct Waiting<'a> {
    ring: &'a Ring,
    tail: usize,
    head: usize,
}

impl Waiting<'_> {
    /// Shows up to `most` marks to `take`; returns how many there were. Their places are kept until
    /// [`Waiting::give_back`].
    pub(crate) fn take(&mut self, most: usize, mut take: impl FnMut(Mark<'_>)) -> usize {
        let mut count = 0;
        while count < most && self.tail != self.head {
            let behind = self.ring.places.len() - (self.tail & (self.ring.size - 1));
            let present = behind.min(self.head.wrapping_sub(self.tail));
            // SAFETY: the places lie inside `tail..head`, so the owner leaves them alone, and they are
            // adjacent. (A mark's lines go on behind the last place.)
            let lines = unsafe { std::slice::from_raw_parts(self.ring.place(self.tail), present) };
            let Some(mark) = Mark::at(lines) else { break };
            self.tail = self.tail.wrapping_add(mark.lines());
            take(mark);
            count += 1;
        }
        count
    }

    /// Gives the places of what was taken back to the owner.
    pub(crate) fn give_back(&self) {
        self.ring.tail.store(self.tail, Ordering::Release);
    }
}

/// Asks for a cache line that is soon to be written.
#[inline(always)]
fn prefetch_for_writing(place: *const Line) {
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
    use crate::queued_mark::{MarkHeader, line_count, set};
    use crate::text::{Short, Texts};

    fn taken(ring: &Ring) -> Vec<u8> {
        let mut all = Vec::new();
        // SAFETY: this thread alone takes marks out.
        let mut waiting = unsafe { ring.waiting() };
        while waiting.take(3, |mark| all.push(check(mark))) > 0 {
            waiting.give_back();
        }
        all
    }

    /// The number of a mark, whose text is as it was put in.
    fn check(mark: Mark<'_>) -> u8 {
        let record = mark.record(0);
        let length = text_length(record.start as u8);
        assert!(record.message[..length].iter().all(|byte| *byte == b'x'));
        assert!(record.message[length..].iter().all(|byte| *byte == 0));
        record.start as u8
    }

    fn text_length(number: u8) -> usize {
        usize::from(number) * 7 % 155
    }

    fn put(ring: &Ring, number: u8) -> Option<bool> {
        let header = MarkHeader { start: u64::from(number), ..MarkHeader::default() };
        let mut texts = Texts::default();
        texts.add(&vec![b'x'; text_length(number)]);
        let text = texts.get(0, text_length(number));
        // SAFETY: this thread alone puts marks in.
        unsafe { ring.put(line_count(text, None), |lines| set(lines, header, text, None)) }
    }

    #[test]
    fn marks_come_out_in_order_across_the_end_of_the_ring() {
        let ring = Ring::new(4);
        assert_eq!([put(&ring, 1), put(&ring, 2), put(&ring, 3)], [Some(false), Some(true), Some(false)]);
        assert_eq!(taken(&ring), [1, 2, 3]);
        // Two lines, which begin at the last place.
        assert_eq!(put(&ring, 12), Some(true));
        assert_eq!([put(&ring, 4), put(&ring, 5)], [Some(false); 2]);
        assert_eq!(put(&ring, 6), None, "a full ring takes nothing");
        assert_eq!(taken(&ring), [12, 4, 5]);
        assert_eq!(taken(&ring), []);
    }

    #[test]
    fn the_short_way_in_is_closed_at_half_of_the_ring_and_at_its_end() {
        let ring = Ring::new(8);
        let quietly = |number: u8| {
            let header = MarkHeader { start: u64::from(number), ..MarkHeader::default() };
            // SAFETY: this thread alone has the ring.
            unsafe { ring.put_quietly(|line| line.set_short(header, Short::of(b"").expect("a short text"))) }
        };
        assert_eq!([0, 1, 2].map(quietly), [true; 3]);
        assert!(!quietly(3), "the fourth of eight has to be told");
        assert_eq!(put(&ring, 0), Some(true));
        assert_eq!([5, 6, 7, 8].map(quietly), [true; 4]);
        assert!(!quietly(9), "a full ring takes nothing");
        // SAFETY: this thread alone has the ring.
        let mut waiting = unsafe { ring.waiting() };
        assert_eq!(waiting.take(9, |_| ()), 8);
        assert!(!quietly(9), "places are kept until they are given back");
        waiting.give_back();
        assert!(quietly(10));
    }

    #[test]
    fn who_takes_marks_out_on_another_thread_sees_every_mark_once() {
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
                all.extend(taken(&ring));
            }
            all
        });
        assert_eq!(all, (0..200).collect::<Vec<u8>>());
    }
}
