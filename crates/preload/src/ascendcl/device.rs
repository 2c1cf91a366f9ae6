//! Profiling of the device by AscendCL's documented calls, in one of two ways that exclude each
//! other.
//!
//! | | files | subscription |
//! |---|---|---|
//! | after `aclInit` | `aclprofInit` | |
//! | after the first `aclrtSetDevice` of a device | `aclprofCreateConfig`, `aclprofStart` | |
//! | after a model is loaded | | `aclprofModelSubscribe` |
//! | before it is unloaded | | `aclprofModelUnSubscribe` |
//! | before `aclrtResetDevice` | `aclprofStop`, `aclprofDestroyConfig` | its models are unsubscribed |
//! | before `aclFinalize`, or at the end | `aclprofFinalize` | the pipe is closed |
//!
//! Where files can't be had, operators are asked for by subscription instead. Nothing of this is done
//! where something else profiles the program already: the vendor's own collector, the program's
//! `acl.json`, or the program itself.

use std::cell::Cell;
use std::ffi::{CStr, OsString, c_int, c_void};
use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use opscope_recorder::environment::{
    ACL_FILES, ACL_MASK, ACL_METRICS, ACL_VIA, ACL_VIA_FILES, VENDOR_COLLECTOR, value,
};
use opscope_recorder::process;

use super::collector::{directory, is_on, note};
use super::library::{Files, SUCCESS, missing, refused};
use super::operators::{self, Subscribed};

/// ACL_API, TASK_TIME and AICORE_METRICS.
const USUAL_MASK: u64 = 0x7;
/// How long the pipelines of a core were busy.
const PIPE_UTILIZATION: c_int = 1;

static STATE: Mutex<State> = Mutex::new(State::Off);
/// Set in forked children, which have no device.
static FORKED: AtomicBool = AtomicBool::new(false);
static HANDLERS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether a call from here into AscendCL is under way, which may call further functions.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The device that this thread has set.
    static DEVICE: Cell<i32> = const { Cell::new(-1) };
}

enum State {
    /// Nothing to do: not begun, over, or somebody else's business.
    Off,
    Files(Recording),
    Subscription(Subscribed),
}

struct Recording {
    files: Files,
    configs: Vec<Config>,
    mask: u64,
    metrics: c_int,
}

/// The recording of one device.
struct Config {
    device: i32,
    address: *mut c_void,
    is_started: bool,
}

// SAFETY: AscendCL's handles may be used from any thread.
unsafe impl Send for Config {}

/// Does something with the state, unless this thread is inside already.
fn with(work: impl FnOnce(&mut State)) {
    if FORKED.load(Ordering::Acquire) || INSIDE.replace(true) {
        return;
    }
    work(&mut STATE.lock().unwrap_or_else(PoisonError::into_inner));
    INSIDE.set(false);
}

fn number<T: std::str::FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.parse().ok()
}

/// AscendCL was initialised with a configuration file.
pub(super) fn initialised(config: Option<&CStr>) {
    let Some(via) = value(ACL_VIA).filter(|_| directory().is_some()) else { return };
    process::watch(&HANDLERS, forked, end);
    with(|state| {
        if !matches!(state, State::Off) {
            return;
        }
        if std::env::var_os(VENDOR_COLLECTOR).is_some() {
            return note("the vendor's own collector profiles the device; opscope leaves it alone");
        }
        if config.is_some_and(profiles_by_configuration) {
            return note("the program's acl.json switches profiling on; opscope leaves the device alone");
        }
        if via == ACL_VIA_FILES {
            match Recording::begin() {
                Ok(recording) => return *state = State::Files(recording),
                Err(why) => note(&format!("{why}; its operators are asked for by subscription instead")),
            }
        }
        match Subscribed::begin() {
            Ok(subscribed) => *state = State::Subscription(subscribed),
            Err(why) => note(&why),
        }
    });
}

/// Whether a configuration file of AscendCL has a profiler that is switched on.
fn profiles_by_configuration(path: &CStr) -> bool {
    let path = OsString::from_vec(path.to_bytes().to_vec());
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    let compact: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    compact.split_once("\"profiler\"").is_some_and(|(_, rest)| {
        let object = rest.split('}').next().unwrap_or_default();
        object.contains("\"switch\":\"on\"")
    })
}

impl Recording {
    fn begin() -> Result<Self, String> {
        let files = Files::find().map_err(missing)?;
        let path = std::env::var_os(ACL_FILES).unwrap_or_default();
        let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
        let Ok(text) = std::ffi::CString::new(bytes) else { return Err("no place for files".into()) };
        // SAFETY: the documented call, with a text and its length.
        let result = unsafe { (files.init)(text.as_ptr(), bytes.len()) };
        if result != SUCCESS {
            return Err(refused("aclprofInit", result));
        }
        Ok(Self {
            files,
            configs: Vec::new(),
            mask: number(ACL_MASK).unwrap_or(USUAL_MASK),
            metrics: number(ACL_METRICS).unwrap_or(PIPE_UTILIZATION),
        })
    }

    fn add(&mut self, device: i32) {
        let Ok(number) = u32::try_from(device) else { return };
        if self.configs.iter().any(|config| config.device == device) {
            return;
        }
        // SAFETY: one device, no events of one's own, as documented.
        let address =
            unsafe { (self.files.create_config)(&number, 1, self.metrics, std::ptr::null(), self.mask) };
        if address.is_null() {
            return note("aclprofCreateConfig refused; nothing is recorded of the device");
        }
        self.configs.push(Config { device, address, is_started: false });
        self.follow(is_on());
    }

    /// Starts or stops what isn't as it should be.
    fn follow(&mut self, on: bool) {
        for config in self.configs.iter_mut().filter(|config| config.is_started != on) {
            let call = if on { self.files.start } else { self.files.stop };
            // SAFETY: the configuration was made by AscendCL and is not destroyed.
            let result = unsafe { call(config.address) };
            config.is_started = on && result == SUCCESS;
            if result != SUCCESS {
                note(&refused(if on { "aclprofStart" } else { "aclprofStop" }, result));
            }
        }
    }

    fn remove(&mut self, device: Option<i32>) {
        let files = self.files;
        self.configs.retain(|config| {
            if device.is_some_and(|device| device != config.device) {
                return true;
            }
            // SAFETY: as above; it is not used after this.
            unsafe {
                if config.is_started {
                    (files.stop)(config.address);
                }
                (files.destroy_config)(config.address);
            }
            false
        });
    }
}

/// The calling thread has set a device.
pub(super) fn set(device: i32) {
    DEVICE.set(device);
    with(|state| {
        if let State::Files(recording) = state {
            recording.add(device);
        }
    });
}

/// A device is about to be reset.
pub(super) fn reset(device: i32) {
    with(|state| match state {
        State::Files(recording) => recording.remove(Some(device)),
        State::Subscription(subscribed) => subscribed.remove(|_, of| of == device),
        State::Off => {}
    });
}

/// A model was loaded, whose number stands there.
pub(super) fn loaded(model: *const u32) {
    // SAFETY: AscendCL has written it.
    let Some(model) = (unsafe { model.as_ref() }) else { return };
    with(|state| {
        if let State::Subscription(subscribed) = state {
            subscribed.add(*model, DEVICE.get());
        }
    });
}

/// A model is about to be unloaded.
pub(super) fn unloading(model: u32) {
    with(|state| {
        if let State::Subscription(subscribed) = state {
            subscribed.remove(|of, _| of == model);
        }
    });
}

/// Begins or ends what the collector has switched since. Subscriptions go on, because they can't
/// begin after the first execution; the operators that they tell meanwhile are dropped.
pub(super) fn follow_switch() {
    with(|state| {
        if let State::Files(recording) = state {
            recording.follow(is_on());
        }
    });
}

/// AscendCL, or the process, is about to end.
pub(super) extern "C" fn end() {
    with(|state| match std::mem::replace(state, State::Off) {
        State::Files(mut recording) => {
            recording.remove(None);
            // SAFETY: everything was stopped.
            let result = unsafe { (recording.files.finalize)() };
            if result != SUCCESS {
                note(&refused("aclprofFinalize", result));
            }
        }
        State::Subscription(subscribed) => subscribed.end(),
        State::Off => {}
    });
}

/// The program is about to profile itself, which excludes everybody else.
pub(super) fn program_profiles_itself() {
    if INSIDE.get() || matches!(*STATE.lock().unwrap_or_else(PoisonError::into_inner), State::Off) {
        return;
    }
    end();
    note("the program profiles its device itself; opscope leaves it alone from then on");
}

/// In a forked child, which leaves the device to its parent.
extern "C" fn forked() {
    FORKED.store(true, Ordering::Release);
    operators::forked();
}
