//! The functions that programs find instead of the runtime's: each calls the real one and records
//! how long it took.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

use opscope_recorder::clock::monotonic;

use crate::real::{MISSING, real};
use crate::recorder::{self, Kind};
use crate::{Status, subscription};

/// A function that only calls the real one and records it.
macro_rules! timed {
    ($kind:expr, $name:ident($($argument:ident: $type:ty),*)) => {
        #[doc = concat!("Stands before the runtime's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As the runtime's function demands.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> Status {
            let Some(real) = real!($name, fn($($type),*) -> Status) else { return MISSING };
            let begin = monotonic();
            // SAFETY: the arguments are the program's own.
            let status = unsafe { real($($argument),*) };
            recorder::call(stringify!($name), $kind, begin);
            status
        }
    };
}

timed!(Kind::Runtime, svp_acl_rt_set_device(device: i32));
timed!(Kind::Runtime, svp_acl_rt_malloc(place: *mut *mut c_void, size: usize, policy: c_int));
timed!(Kind::Runtime, svp_acl_rt_malloc_cached(place: *mut *mut c_void, size: usize, policy: c_int));
timed!(Kind::Runtime, svp_acl_rt_free(memory: *const c_void));
timed!(Kind::Runtime, svp_acl_rt_mem_flush(memory: *const c_void, size: usize));
timed!(Kind::Runtime, svp_acl_rt_mem_invalidate(memory: *const c_void, size: usize));
timed!(Kind::Runtime, svp_acl_rt_synchronize_stream(stream: *mut c_void));
timed!(Kind::Runtime, svp_acl_rt_synchronize_device());
timed!(
    Kind::Model,
    svp_acl_mdl_execute(model: u32, input: *const c_void, output: *const c_void)
);
timed!(
    Kind::Model,
    svp_acl_mdl_execute_async(model: u32, input: *const c_void, output: *const c_void, stream: *mut c_void)
);

/// Stands before the runtime's `svp_acl_init`. Where its configuration switches the runtime's own
/// profiler on, no model is subscribed to: the two exclude each other.
///
/// # Safety
/// As the runtime's function demands: the path is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn svp_acl_init(path: *const c_char) -> Status {
    let Some(real) = real!(svp_acl_init, fn(*const c_char) -> Status) else { return MISSING };
    // SAFETY: as the caller promises.
    let text = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) });
    if text.is_some_and(|path| switches_profiling_on(OsStr::from_bytes(path.to_bytes()))) {
        subscription::leave_alone("acl.json switches the board's own profiler on; set its switch to off");
    }
    let begin = monotonic();
    // SAFETY: as the caller promises.
    let status = unsafe { real(path) };
    recorder::call("svp_acl_init", Kind::Other, begin);
    status
}

/// Whether an `acl.json` has `"switch": "on"`. The file has no other switch, so it isn't parsed.
fn switches_profiling_on(path: &OsStr) -> bool {
    let text = std::fs::read(path).unwrap_or_default();
    let dense: Vec<u8> = text.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let on = br#""switch":"on""#;
    dense.windows(on.len()).any(|window| window == on)
}

/// Stands before the runtime's `svp_acl_finalize`.
///
/// # Safety
/// As the runtime's function demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn svp_acl_finalize() -> Status {
    let Some(real) = real!(svp_acl_finalize, fn() -> Status) else { return MISSING };
    subscription::end_all();
    let begin = monotonic();
    // SAFETY: as the caller promises.
    let status = unsafe { real() };
    recorder::call("svp_acl_finalize", Kind::Other, begin);
    recorder::finish();
    status
}

/// Stands before the runtime's `svp_acl_rt_reset_device`, which ends whatever runs on it.
///
/// # Safety
/// As the runtime's function demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn svp_acl_rt_reset_device(device: i32) -> Status {
    let Some(real) = real!(svp_acl_rt_reset_device, fn(i32) -> Status) else { return MISSING };
    subscription::end_all();
    let begin = monotonic();
    // SAFETY: as the caller promises.
    let status = unsafe { real(device) };
    recorder::call("svp_acl_rt_reset_device", Kind::Runtime, begin);
    status
}

/// Stands before the runtime's `svp_acl_mdl_load_from_mem`: what was loaded is subscribed to.
///
/// # Safety
/// As the runtime's function demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn svp_acl_mdl_load_from_mem(
    content: *const c_void,
    size: usize,
    model: *mut u32,
) -> Status {
    let real = real!(svp_acl_mdl_load_from_mem, fn(*const c_void, usize, *mut u32) -> Status);
    let Some(real) = real else { return MISSING };
    let begin = monotonic();
    // SAFETY: as the caller promises.
    let status = unsafe { real(content, size, model) };
    recorder::call("svp_acl_mdl_load_from_mem", Kind::Model, begin);
    if status == 0 && !model.is_null() {
        // SAFETY: the runtime has just written the number there.
        subscription::begin(unsafe { *model });
    }
    status
}

/// Stands before the runtime's `svp_acl_mdl_unload`.
///
/// # Safety
/// As the runtime's function demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn svp_acl_mdl_unload(model: u32) -> Status {
    let Some(real) = real!(svp_acl_mdl_unload, fn(u32) -> Status) else { return MISSING };
    let begin = monotonic();
    // SAFETY: as the caller promises.
    let status = unsafe { real(model) };
    recorder::call("svp_acl_mdl_unload", Kind::Model, begin);
    if status == 0 {
        subscription::end(model);
    }
    status
}

/// Stands before the runtime's `svp_acl_prof_model_subscribe`: a model has one subscriber, and the
/// program comes first.
///
/// # Safety
/// As the runtime's function demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn svp_acl_prof_model_subscribe(model: u32, config: *const c_void) -> Status {
    let real = real!(svp_acl_prof_model_subscribe, fn(u32, *const c_void) -> Status);
    let Some(real) = real else { return MISSING };
    subscription::leave_alone("the program subscribes to its models itself");
    // SAFETY: as the caller promises.
    unsafe { real(model, config) }
}

/// Stands before the runtime's `svp_acl_prof_init`: its own profiler and subscriptions exclude each
/// other, and the program comes first.
///
/// # Safety
/// As the runtime's function demands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn svp_acl_prof_init(path: *const c_char, length: usize) -> Status {
    let Some(real) = real!(svp_acl_prof_init, fn(*const c_char, usize) -> Status) else { return MISSING };
    subscription::leave_alone("the program starts the board's own profiler itself");
    // SAFETY: as the caller promises.
    unsafe { real(path, length) }
}
