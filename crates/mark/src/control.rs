//! The page of memory by which a collector and the programs that it collects from talk.
//!
//! The collector owns it and switches recording on and off; each program maps it once and looks at
//! one word of it for every mark. Programs count in it what they wrote and what they lost, so that
//! the collector can tell, whatever became of them.

use std::ffi::CString;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::clock::ClockKind;

/// Names the directory for the slices in the environment of the programs.
pub const DIRECTORY_VARIABLE: &str = "OPSCOPE_MARK_DIR";

/// Names the file that is mapped as the [`Control`] in the environment of the programs.
pub const CONTROL_VARIABLE: &str = "OPSCOPE_MARK_CONTROL";

const MAGIC: u64 = u64::from_le_bytes(*b"opscope1");

/// Nobody has looked whether something is to be recorded.
pub(crate) const UNKNOWN: u32 = 0;
/// Nothing is recorded.
pub(crate) const OFF: u32 = 1;
/// Everything is recorded.
pub(crate) const ON: u32 = 2;

/// The page; all of it is zero when it is new.
#[derive(Debug)]
#[repr(C)]
pub struct Control {
    magic: AtomicU64,
    pub(crate) switch: AtomicU32,
    clock: AtomicU32,
    /// Records that reached their files.
    pub written: AtomicU64,
    /// Records that did not: no space, no permission.
    pub lost: AtomicU64,
    /// Pops without a push, stops without a start.
    pub unmatched: AtomicU64,
    /// Ranges that were still open when their program ended properly.
    pub unclosed: AtomicU64,
    /// Processes that recorded something.
    pub processes: AtomicU32,
    /// The system's number of the last error while writing.
    pub error: AtomicU32,
}

impl Control {
    pub(crate) const fn new(switch: u32) -> Self {
        Self {
            magic: AtomicU64::new(MAGIC),
            switch: AtomicU32::new(switch),
            clock: AtomicU32::new(0),
            written: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            unmatched: AtomicU64::new(0),
            unclosed: AtomicU64::new(0),
            processes: AtomicU32::new(0),
            error: AtomicU32::new(0),
        }
    }

    /// How many bytes the file of the page must have.
    pub const SIZE: usize = size_of::<Self>();

    /// Makes the page ready for programs: the clock is told, and recording is off.
    pub fn prepare(&self, clock: ClockKind) {
        self.clock.store(clock as u32, Ordering::Relaxed);
        self.switch.store(OFF, Ordering::Relaxed);
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Switches recording on or off, in all programs at once.
    pub fn record(&self, on: bool) {
        self.switch.store(if on { ON } else { OFF }, Ordering::Release);
    }

    /// Whether recording is on.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.switch.load(Ordering::Relaxed) == ON
    }

    /// The clock of the records.
    pub fn clock(&self) -> ClockKind {
        ClockKind::from_number(self.clock.load(Ordering::Relaxed))
    }

    /// Maps the page that a collector offers; `None` if it is no such page or can't be mapped.
    pub fn open(path: &str) -> Option<&'static Self> {
        let path = CString::new(path).ok()?;
        // SAFETY: the path is a C string; the descriptor is closed below.
        let file = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        if file < 0 {
            return None;
        }
        let control = Self::map(file);
        // SAFETY: the descriptor is ours and not used any more; the mapping stays.
        unsafe { libc::close(file) };
        control.filter(|control| control.magic.load(Ordering::Acquire) == MAGIC)
    }

    /// Maps the page from a file of at least [`Control::SIZE`] bytes, for good.
    pub fn map(file: std::ffi::c_int) -> Option<&'static Self> {
        // SAFETY: an all-zero `stat` is valid, and is filled in by the call.
        let mut status: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `status` is a valid place for the answer.
        if unsafe { libc::fstat(file, &mut status) } != 0 || (status.st_size as u64) < Self::SIZE as u64 {
            return None;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of a file that is large enough; it is checked below.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), Self::SIZE, access, libc::MAP_SHARED, file, 0) };
        if page == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the page is aligned, large enough and never unmapped; all fields are atomic, and
        // every bit pattern is valid for them.
        Some(unsafe { &*page.cast::<Self>() })
    }
}
