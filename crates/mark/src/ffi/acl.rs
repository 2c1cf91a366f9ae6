//! The stamps of `acl.prof`, with the names, arguments and answers of `acl_prof.h`.
//!
//! Where a collector runs, it decides when marks are recorded, and `init` to `finalize` only answer
//! as the reference does. Where none runs, they make a profile of their own, as there.
//!
//! Calls that need a device (subscribing to a model's operators) answer that they aren't supported.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_char, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::collector;
use crate::details::Details;
use crate::event;
use crate::profile::Recording;

type Error = i32;
const SUCCESS: Error = 0;
const INVALID_PARAMETER: Error = 100_000;
const REPEATED: Error = 100_002;
const NOT_RUNNING: Error = 148_047;
const UNSUPPORTED: Error = 200_001;
const INTERNAL: Error = 500_000;

/// The bit of a mask that asks for marks.
const MSPROFTX: u64 = 0x80;

/// From this length on, a stamp's text is an error, as in the reference.
const LONGEST_STAMP: usize = 128;

/// The longest text of a mark with a device side.
const LONGEST_MARK_EX: usize = 155;

/// The text and values of a mark to be; programs hold its address.
struct Stamp {
    text: Vec<u8>,
    category: u32,
    payload_type: i32,
    payload: u64,
}

/// A choice of things to collect; programs hold its address.
struct Config {
    mask: u64,
}

/// Addresses that were given out. Any other was made up, or given back already.
static STAMPS: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
static CONFIGS: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
/// Ranges by the short numbers that this interface has.
static RANGES: Mutex<BTreeMap<u32, u64>> = Mutex::new(BTreeMap::new());
static LAST_RANGE: AtomicU32 = AtomicU32::new(0);
/// The profile that the program makes itself.
static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a collector decides.
fn is_collected() -> bool {
    collector::has_collector() && lock(&RECORDING).is_none()
}

/// # Safety
/// `path` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclprofInit(path: *const c_char, length: usize) -> Error {
    if path.is_null() || length == 0 {
        return INVALID_PARAMETER;
    }
    if is_collected() {
        return SUCCESS;
    }
    // SAFETY: by the caller's word.
    let path = unsafe { std::slice::from_raw_parts(path.cast::<u8>(), length) };
    let path = PathBuf::from(String::from_utf8_lossy(path).trim_end_matches('\0'));
    let mut recording = lock(&RECORDING);
    if recording.is_some() {
        return REPEATED;
    }
    match Recording::begin(&path) {
        Ok(begun) => {
            *recording = Some(begun);
            SUCCESS
        }
        Err(error) => {
            eprintln!("opscope: aclprofInit: {}: {error}", path.display());
            INVALID_PARAMETER
        }
    }
}

/// Ends the profile of [`aclprofInit`].
#[unsafe(no_mangle)]
pub extern "C" fn aclprofFinalize() -> Error {
    if is_collected() {
        return SUCCESS;
    }
    let Some(recording) = lock(&RECORDING).take() else { return NOT_RUNNING };
    match recording.end() {
        Ok(()) => SUCCESS,
        Err(error) => {
            eprintln!("opscope: aclprofFinalize: {error}");
            INTERNAL
        }
    }
}

/// Devices, metrics and events are the device's matter; the mask tells whether marks are wanted.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofCreateConfig(
    _devices: *const u32,
    _count: u32,
    _metrics: i32,
    _events: *const c_void,
    mask: u64,
) -> *mut c_void {
    let config = Box::into_raw(Box::new(Config { mask }));
    lock(&CONFIGS).insert(config as usize);
    config.cast()
}

/// Destroys what [`aclprofCreateConfig`] made.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofDestroyConfig(config: *const c_void) -> Error {
    if !lock(&CONFIGS).remove(&(config as usize)) {
        return INVALID_PARAMETER;
    }
    // SAFETY: it was given out, and is not any more.
    drop(unsafe { Box::from_raw(config.cast_mut().cast::<Config>()) });
    SUCCESS
}

/// Further settings of the collection: all of them are the device's matter.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofSetConfig(_kind: i32, text: *const c_char, length: usize) -> Error {
    if text.is_null() || length == 0 { INVALID_PARAMETER } else { SUCCESS }
}

fn mask_of(config: *const c_void) -> Option<u64> {
    let known = lock(&CONFIGS);
    // SAFETY: it is among those that were given out, and stays so while the lock is held.
    known.contains(&(config as usize)).then(|| unsafe { &*config.cast::<Config>() }.mask)
}

/// Begins to record marks, if the mask asks for them.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofStart(config: *const c_void) -> Error {
    let Some(mask) = mask_of(config) else { return INVALID_PARAMETER };
    if is_collected() {
        return SUCCESS;
    }
    match &*lock(&RECORDING) {
        None => NOT_RUNNING,
        Some(recording) => {
            recording.record(mask & MSPROFTX != 0);
            SUCCESS
        }
    }
}

/// Ends to record marks.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofStop(config: *const c_void) -> Error {
    if mask_of(config).is_none() {
        return INVALID_PARAMETER;
    }
    if is_collected() {
        return SUCCESS;
    }
    match &*lock(&RECORDING) {
        None => NOT_RUNNING,
        Some(recording) => {
            recording.record(false);
            SUCCESS
        }
    }
}

/// A new stamp; null while nothing is recorded, as in the reference.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofCreateStamp() -> *mut c_void {
    if !collector::is_on() {
        return std::ptr::null_mut();
    }
    let stamp = Stamp { text: Vec::new(), category: 0, payload_type: 0, payload: 0 };
    let stamp = Box::into_raw(Box::new(stamp));
    lock(&STAMPS).insert(stamp as usize);
    stamp.cast()
}

/// Destroys a stamp; one that isn't any is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofDestroyStamp(stamp: *mut c_void) {
    if lock(&STAMPS).remove(&(stamp as usize)) {
        // SAFETY: it was given out, and is not any more.
        drop(unsafe { Box::from_raw(stamp.cast::<Stamp>()) });
    }
}

/// Calls `work` with a stamp that was given out.
fn with_stamp(stamp: *mut c_void, work: impl FnOnce(&mut Stamp) -> Error) -> Error {
    let known = lock(&STAMPS);
    if !known.contains(&(stamp as usize)) {
        return INVALID_PARAMETER;
    }
    // SAFETY: it was given out and can't be destroyed while the lock is held, which also keeps
    // others from it.
    work(unsafe { &mut *stamp.cast::<Stamp>() })
}

/// # Safety
/// `text` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclprofSetStampTraceMessage(
    stamp: *mut c_void,
    text: *const c_char,
    length: u32,
) -> Error {
    let length = length as usize;
    if text.is_null() || length >= LONGEST_STAMP {
        return INVALID_PARAMETER;
    }
    // SAFETY: by the caller's word.
    let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    with_stamp(stamp, |stamp| {
        stamp.text = text.to_vec();
        SUCCESS
    })
}

/// Gives a stamp a category.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofSetStampCategory(stamp: *mut c_void, category: u32) -> Error {
    with_stamp(stamp, |stamp| {
        stamp.category = category;
        SUCCESS
    })
}

/// Gives a stamp a value of 8 bytes.
///
/// # Safety
/// `value` is null or points to 8 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclprofSetStampPayload(
    stamp: *mut c_void,
    kind: i32,
    value: *const c_void,
) -> Error {
    if value.is_null() {
        return INVALID_PARAMETER;
    }
    // SAFETY: by the caller's word.
    let payload = unsafe { value.cast::<u64>().read_unaligned() };
    with_stamp(stamp, |stamp| {
        (stamp.payload_type, stamp.payload) = (kind, payload);
        SUCCESS
    })
}

/// A category's name: accepted, and not recorded, as in the reference.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofSetCategoryName(_category: u32, name: *const c_char) -> Error {
    if name.is_null() { INVALID_PARAMETER } else { SUCCESS }
}

/// The older switch of the marks: the collector, or start and stop, decide.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofMsproftxSwitch(_on: bool) {}

/// Records an event of a stamp; `record` answers whether it was.
fn record(stamp: *mut c_void, record: impl FnOnce(&[u8], Details) -> Error) -> Error {
    with_stamp(stamp, |stamp| {
        if !collector::is_on() {
            return NOT_RUNNING;
        }
        let Stamp { category, payload_type, payload, .. } = *stamp;
        record(&stamp.text, Details { category, payload_type, payload, ..Details::default() })
    })
}

/// Marks an instant.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofMark(stamp: *mut c_void) -> Error {
    record(stamp, |text, details| {
        event::mark(text, details);
        SUCCESS
    })
}

/// Marks an instant on host and device; here there is only the host.
///
/// # Safety
/// `text` points to `length` bytes and a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclprofMarkEx(text: *const c_char, length: usize, stream: *const c_void) -> Error {
    if text.is_null() || stream.is_null() || length == 0 || length > LONGEST_MARK_EX {
        return INVALID_PARAMETER;
    }
    // SAFETY: by the caller's word.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    if bytes.contains(&0) {
        return INVALID_PARAMETER;
    }
    if !collector::is_on() {
        return NOT_RUNNING;
    }
    event::mark_ex(bytes, Details::default());
    SUCCESS
}

/// Begins a range on the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofPush(stamp: *mut c_void) -> Error {
    record(stamp, |text, details| if event::push(text, details) > 0 { SUCCESS } else { NOT_RUNNING })
}

/// Ends the innermost range of the calling thread; without one it is an error.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofPop() -> Error {
    if !collector::is_on() {
        return NOT_RUNNING;
    }
    if event::pop() > 0 { SUCCESS } else { INVALID_PARAMETER }
}

/// Begins a range that any thread may end.
///
/// # Safety
/// `number` is null or a valid place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclprofRangeStart(stamp: *mut c_void, number: *mut u32) -> Error {
    if number.is_null() {
        return INVALID_PARAMETER;
    }
    record(stamp, |text, details| {
        let range = event::range_start(text, details);
        let short = LAST_RANGE.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        lock(&RANGES).insert(short, range);
        // SAFETY: by the caller's word.
        unsafe { *number = short };
        SUCCESS
    })
}

/// Ends a range; an unknown number is an error.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofRangeStop(number: u32) -> Error {
    let range = lock(&RANGES).remove(&number);
    match range {
        Some(range) if event::range_end(range) => SUCCESS,
        Some(_) => NOT_RUNNING,
        None => {
            // The collector counts it.
            event::range_end(u64::from(number));
            INVALID_PARAMETER
        }
    }
}

/// A device's matter.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofModelSubscribe(_model: u32, _config: *const c_void) -> Error {
    UNSUPPORTED
}

/// A device's matter.
#[unsafe(no_mangle)]
pub extern "C" fn aclprofModelUnSubscribe(_model: u32) -> Error {
    UNSUPPORTED
}
