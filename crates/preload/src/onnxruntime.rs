//! ONNX Runtime in programs that are linked with it: every session is created with its own
//! profiling switched on.
//!
//! Programs get everything from one table of functions ([`OrtGetApiBase`]). The entries that create
//! sessions are replaced by ours, in place, because programs keep pointers to the table. Of the
//! table only entries are used whose places never change, as the runtime promises.
//!
//! | entry | place |
//! |---|---|
//! | `CreateSession` | 7 |
//! | `CreateSessionFromArray` | 8 |
//! | `CreateSessionOptions` | 10 |
//! | `CloneSessionOptions` | 12 |
//! | `EnableProfiling` | 14 |
//! | `ReleaseSessionOptions` | 100 |

use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use opscope_recorder::clock::{monotonic_raw, wall};
use opscope_recorder::environment::ORT_DIRECTORY;
use opscope_recorder::real;

type Status = *mut c_void;
type Handle = *mut c_void;
type CreateSession = unsafe extern "C" fn(Handle, *const c_char, Handle, *mut Handle) -> Status;
type CreateFromArray = unsafe extern "C" fn(Handle, *const c_void, usize, Handle, *mut Handle) -> Status;
type CreateOptions = unsafe extern "C" fn(*mut Handle) -> Status;
type CloneOptions = unsafe extern "C" fn(Handle, *mut Handle) -> Status;
type EnableProfiling = unsafe extern "C" fn(Handle, *const c_char) -> Status;
type Release = unsafe extern "C" fn(Handle);

#[repr(C)]
struct Base {
    get_api: Option<unsafe extern "C" fn(version: u32) -> *mut usize>,
    version: Option<unsafe extern "C" fn() -> *const c_char>,
}

const CREATE_SESSION: usize = 7;
const CREATE_FROM_ARRAY: usize = 8;
const CREATE_OPTIONS: usize = 10;
const CLONE_OPTIONS: usize = 12;
const ENABLE_PROFILING: usize = 14;

/// The table whose entries were replaced, and the entries that stood there.
static TABLE: AtomicUsize = AtomicUsize::new(0);
static REAL_CREATE_SESSION: AtomicUsize = AtomicUsize::new(0);
static REAL_CREATE_FROM_ARRAY: AtomicUsize = AtomicUsize::new(0);
/// How many sessions were created.
static SESSIONS: AtomicU32 = AtomicU32::new(0);

/// The function that programs call first. The real answer is given; its table is prepared on the way.
#[unsafe(no_mangle)]
pub extern "C" fn OrtGetApiBase() -> *const c_void {
    let linked = real::next(c"OrtGetApiBase");
    let ours = OrtGetApiBase as *const () as *const c_void;
    let Some(address) = linked.or_else(|| real::in_library(c"onnxruntime", c"OrtGetApiBase", ours)) else {
        return std::ptr::null();
    };
    // SAFETY: a function of this name is the runtime's.
    let base: *const Base =
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const Base>(address)() };
    // Python's module is recorded from within Python.
    if linked.is_some() && std::env::var_os(ORT_DIRECTORY).is_some() {
        // SAFETY: the runtime's own table of two functions.
        if let Some(get_api) = unsafe { base.as_ref() }.and_then(|base| base.get_api) {
            // Versions of the interface share one table, of which version 1 has the beginning.
            // SAFETY: the runtime's own function.
            unsafe { prepare(get_api(1)) };
        }
    }
    base.cast()
}

/// Replaces the entries that create sessions.
///
/// # Safety
/// `table` is null or the runtime's table of functions.
unsafe fn prepare(table: *mut usize) {
    let unset = TABLE.compare_exchange(0, table as usize, Ordering::AcqRel, Ordering::Acquire);
    if table.is_null() || unset.is_err() {
        return;
    }
    // SAFETY: the table reaches beyond these entries in every version.
    unsafe {
        REAL_CREATE_SESSION.store(*table.add(CREATE_SESSION), Ordering::Release);
        REAL_CREATE_FROM_ARRAY.store(*table.add(CREATE_FROM_ARRAY), Ordering::Release);
        replace(table.add(CREATE_SESSION), create_session as *const () as usize);
        replace(table.add(CREATE_FROM_ARRAY), create_from_array as *const () as usize);
    }
}

/// Writes an entry, whose page is read-only once the library is loaded.
///
/// # Safety
/// `entry` lies in the runtime's table.
unsafe fn replace(entry: *mut usize, value: usize) {
    // SAFETY: asking has no preconditions.
    let size = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
    let page = entry as usize / size * size;
    // SAFETY: the page belongs to the library's data. It stays writable, because others may have
    // entries of their own to replace.
    unsafe {
        if libc::mprotect(page as *mut c_void, size, libc::PROT_READ | libc::PROT_WRITE) == 0 {
            entry.write_volatile(value);
        }
    }
}

/// Options with profiling, made from those that the program gave; null when that fails, and the
/// program's own are then used.
fn profiled(options: Handle) -> Handle {
    let Some(directory) = std::env::var_os(ORT_DIRECTORY) else { return std::ptr::null_mut() };
    let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}/opscope.onnxruntime.{}.{number}", directory.display(), std::process::id());
    let Ok(prefix) = CString::new(name.clone()) else { return std::ptr::null_mut() };
    let table = TABLE.load(Ordering::Acquire) as *const usize;
    if table.is_null() {
        return std::ptr::null_mut();
    }
    let mut copy: Handle = std::ptr::null_mut();
    // SAFETY: entries of these places have these types in every version of the runtime.
    unsafe {
        let status = if options.is_null() {
            std::mem::transmute::<usize, CreateOptions>(*table.add(CREATE_OPTIONS))(&mut copy)
        } else {
            std::mem::transmute::<usize, CloneOptions>(*table.add(CLONE_OPTIONS))(options, &mut copy)
        };
        if !status.is_null() || copy.is_null() {
            return std::ptr::null_mut();
        }
        let enable = std::mem::transmute::<usize, EnableProfiling>(*table.add(ENABLE_PROFILING));
        let _ = enable(copy, prefix.as_ptr());
    }
    note_clocks(&name);
    copy
}

/// Writes the clocks beside the profile: its times count from the creation of the session, which
/// is now.
fn note_clocks(name: &str) {
    let (wall, monotonic) = (wall(), monotonic_raw());
    let process = std::process::id();
    let text = format!(
        "{{\"pid\": {process}, \"start_ns\": {wall}, \"realtime_ns\": {wall}, \"monotonic_raw_ns\": {monotonic}}}\n"
    );
    let _ = std::fs::write(format!("{name}.clock"), text);
}

/// Opens a session on a file as the runtime does, with a profile where none was asked for.
///
/// # Safety
/// The arguments are as ONNX Runtime's function of this name takes them, and its own entry was kept before
/// this one stood in the table.
unsafe extern "C" fn create_session(
    environment: Handle,
    path: *const c_char,
    options: Handle,
    session: *mut Handle,
) -> Status {
    let with_profile = profiled(options);
    let chosen = if with_profile.is_null() { options } else { with_profile };
    // SAFETY: the entry that stood in the table; the arguments are the program's own.
    let status = unsafe {
        let real: CreateSession = std::mem::transmute(REAL_CREATE_SESSION.load(Ordering::Acquire));
        real(environment, path, chosen, session)
    };
    release(with_profile);
    status
}

/// The same of a model in memory.
///
/// # Safety
/// As of [`create_session`]; `model` has `length` bytes.
unsafe extern "C" fn create_from_array(
    environment: Handle,
    model: *const c_void,
    length: usize,
    options: Handle,
    session: *mut Handle,
) -> Status {
    let with_profile = profiled(options);
    let chosen = if with_profile.is_null() { options } else { with_profile };
    // SAFETY: the entry that stood in the table; the arguments are the program's own.
    let status = unsafe {
        let real: CreateFromArray = std::mem::transmute(REAL_CREATE_FROM_ARRAY.load(Ordering::Acquire));
        real(environment, model, length, chosen, session)
    };
    release(with_profile);
    status
}

/// Frees options that we made.
fn release(options: Handle) {
    let table = TABLE.load(Ordering::Acquire) as *const usize;
    if options.is_null() || table.is_null() {
        return;
    }
    // SAFETY: the entry has this type in every version of the runtime.
    unsafe { std::mem::transmute::<usize, Release>(*table.add(RELEASE_OPTIONS))(options) };
}

const RELEASE_OPTIONS: usize = 100;
