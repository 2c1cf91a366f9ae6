//! The page of memory by which a collector and the programs that it collects from talk.
//!
//! The collector switches recording on and off; each program maps it once and looks at one word of it
//! for every mark. Programs count in it what they wrote and what they lost, so that the collector can
//! tell, whatever became of them.
//!
//! A collection that is started and stopped while the program runs makes a profile each time. The
//! switch then counts the profiles: a program that finds another number there than that of its own
//! session begins a new one, in the directory that stands beside it.
//!
//! Mostly the collector makes the page and names it in the environment. A program that is to be
//! collected from later (`PROFILING_MODE=dynamic`) makes its own, in the file
//! [`waiting_page`].

use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::clock::ClockKind;
use crate::environment;

const MAGIC: u64 = u64::from_le_bytes(*b"opscope3");

/// Nothing is recorded. Of all values this one is told from the others in the fewest instructions.
pub const OFF: u32 = 0;
/// Nobody has looked whether something is to be recorded.
pub const UNKNOWN: u32 = 1;
/// The number of the first profile.
const FIRST: u32 = 2;

/// How much a directory's path may have.
const LONGEST_PATH: usize = 4_095;

/// The page; all of it is zero when it is new.
#[derive(Debug)]
#[repr(C)]
pub struct Control {
    magic: AtomicU64,
    /// [`OFF`], [`UNKNOWN`], or the number of the profile that is recorded.
    pub switch: AtomicU32,
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
    /// Whether calls of libraries are recorded, too: 1 or 0.
    calls: AtomicU32,
    /// The number of the profile that is, or was last, recorded.
    profile: AtomicU32,
    /// Whether collectors may come and go: the process that waits for them, 0 if none does.
    waiting: AtomicU32,
    /// The collector that starts and stops profiles now; 0 for none.
    collector: AtomicU32,
    /// Where the profile's slices go, closed by a zero; empty where the environment tells.
    directory: [AtomicU8; LONGEST_PATH + 1],
}

impl Control {
    /// A page of a program's own.
    pub const fn new(switch: u32) -> Self {
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
            calls: AtomicU32::new(0),
            profile: AtomicU32::new(FIRST),
            waiting: AtomicU32::new(0),
            collector: AtomicU32::new(0),
            directory: [const { AtomicU8::new(0) }; LONGEST_PATH + 1],
        }
    }

    /// How many bytes the file of the page must have.
    pub const SIZE: usize = size_of::<Self>();

    /// Makes the page ready for programs: the clock is told, and recording is off.
    pub fn prepare(&self, clock: ClockKind) {
        self.clock.store(clock as u32, Ordering::Relaxed);
        self.switch.store(OFF, Ordering::Relaxed);
        self.profile.store(FIRST, Ordering::Relaxed);
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Switches recording on or off, in all programs at once.
    pub fn record(&self, on: bool) {
        self.switch.store(if on { self.profile() } else { OFF }, Ordering::Release);
    }

    /// Begins a further profile, whose slices go into `directory`, and counts from zero again.
    /// Recording must be off.
    ///
    /// # Errors
    /// When the path is too long for the page.
    pub fn begin_profile(&self, directory: &Path) -> std::io::Result<()> {
        let bytes = directory.as_os_str().as_bytes();
        if bytes.len() > LONGEST_PATH {
            return Err(std::io::Error::from_raw_os_error(libc::ENAMETOOLONG));
        }
        for (place, byte) in self.directory.iter().zip(bytes.iter().chain([&0])) {
            place.store(*byte, Ordering::Relaxed);
        }
        for count in [&self.written, &self.lost, &self.unmatched, &self.unclosed] {
            count.store(0, Ordering::Relaxed);
        }
        self.error.store(0, Ordering::Relaxed);
        self.processes.store(0, Ordering::Relaxed);
        let next = self.profile().wrapping_add(1).max(FIRST);
        self.profile.store(next, Ordering::Release);
        Ok(())
    }

    /// The number of the profile that is, or was last, recorded.
    pub fn profile(&self) -> u32 {
        self.profile.load(Ordering::Acquire)
    }

    /// Where the profile's slices go, if the page tells.
    pub fn directory(&self) -> Option<PathBuf> {
        let bytes = self.directory.iter().map(|byte| byte.load(Ordering::Relaxed));
        let path: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        (!path.is_empty()).then(|| PathBuf::from(OsString::from_vec(path)))
    }

    /// Notes that a process waits with this page to be collected from.
    pub fn wait_for_collector(&self, process: u32) {
        self.waiting.store(process, Ordering::Release);
    }

    /// The process that waits with this page; 0 for none.
    pub fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::Acquire)
    }

    /// Takes the page for a collector.
    ///
    /// # Errors
    /// With the process of the one that has it.
    pub fn take(&self, collector: u32) -> Result<(), u32> {
        let is_there = |process: u32| Path::new(&format!("/proc/{process}")).exists();
        let taken = self.collector.fetch_update(Ordering::AcqRel, Ordering::Acquire, |before| {
            (before == 0 || before == collector || !is_there(before)).then_some(collector)
        });
        taken.map(|_| ())
    }

    /// Leaves the page to the next collector.
    pub fn give_back(&self) {
        self.collector.store(0, Ordering::Release);
    }

    /// Whether recording is on.
    pub fn is_on(&self) -> bool {
        self.switch.load(Ordering::Relaxed) >= FIRST
    }

    /// Switches the recording of calls of libraries on or off.
    pub fn record_calls(&self, on: bool) {
        self.calls.store(u32::from(on), Ordering::Release);
    }

    /// Whether calls of libraries are recorded.
    #[inline]
    pub fn records_calls(&self) -> bool {
        self.calls.load(Ordering::Relaxed) != 0
    }

    /// Counts records that could not be written, and why.
    pub fn count_lost(&self, records: u64, error: &std::io::Error) {
        self.error.store(error.raw_os_error().unwrap_or(libc::EIO) as u32, Ordering::Relaxed);
        self.lost.fetch_add(records, Ordering::Relaxed);
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

    /// The page that a collector named in the environment of this program.
    pub fn named() -> Option<&'static Self> {
        Self::open(&std::env::var(environment::CONTROL).ok()?)
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

/// A page in an anonymous file, which the collector's programs open by its path for as long as this is
/// kept.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct SharedControl {
    /// The page.
    pub control: &'static Control,
    file: std::fs::File,
}

#[cfg(target_os = "linux")]
impl SharedControl {
    /// Makes the file, and prepares the page.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn new(clock: ClockKind) -> std::io::Result<Self> {
        use std::os::fd::{AsRawFd, FromRawFd};
        // Asked of the kernel itself: old C libraries have no function for it.
        // SAFETY: the name is a C string.
        let descriptor =
            unsafe { libc::syscall(libc::SYS_memfd_create, c"opscope".as_ptr(), libc::MFD_CLOEXEC) } as i32;
        if descriptor < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: it was just made and belongs to nobody else.
        let file = unsafe { std::fs::File::from_raw_fd(descriptor) };
        file.set_len(Control::SIZE as u64)?;
        let control = Control::map(file.as_raw_fd()).ok_or_else(std::io::Error::last_os_error)?;
        control.prepare(clock);
        Ok(Self { control, file })
    }

    /// The file's path, for other processes.
    pub fn path(&self) -> String {
        use std::os::fd::AsRawFd;
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

/// The file of the page with which a process of a user waits to be collected from: in a folder that
/// only that user can have made.
pub fn waiting_page(user: u32, process: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/opscope-dynamic-{user}/{process}"))
}
