//! The profiling functions of AscendCL that are called here, as `acl_prof.h` declares them.

use std::ffi::{CStr, c_char, c_int, c_void};

use opscope_recorder::real;

/// The answer of AscendCL's functions.
pub(super) type Error = c_int;

pub(super) const SUCCESS: Error = 0;

/// Finds a function behind ours; in releases where profiling has a library of its own, there.
fn find(name: &CStr) -> Option<*mut c_void> {
    let nothing = std::ptr::null();
    real::next(name)
        .or_else(|| real::in_library(c"libascendcl", name, nothing))
        .or_else(|| real::in_library(c"libmsprofiler", name, nothing))
        .or_else(|| {
            // SAFETY: a library of CANN's, asked for by its documented name, in a program that runs CANN.
            let library = unsafe { libc::dlopen(c"libmsprofiler.so".as_ptr(), libc::RTLD_LAZY) };
            // SAFETY: the handle was checked, and the name is a C string.
            let address = (!library.is_null()).then(|| unsafe { libc::dlsym(library, name.as_ptr()) });
            address.filter(|address| !address.is_null())
        })
}

/// The note about a release without a function.
pub(super) fn missing(name: &CStr) -> String {
    format!("this AscendCL has no {}; nothing is recorded of the device", name.to_string_lossy())
}

/// The note about a call that failed.
pub(super) fn refused(name: &str, code: Error) -> String {
    format!("{name} refused with {code}; nothing, or not all, is recorded of the device")
}

macro_rules! functions {
    ($table:ident $(#[$doc:meta])* { $($field:ident = $name:literal: fn($($argument:ty),*) -> $result:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $table {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> $result,)+
        }

        impl $table {
            /// Finds all of them, or says which is missing.
            pub(super) fn find() -> Result<Self, &'static CStr> {
                $(
                    let address = find($name).ok_or($name)?;
                    // SAFETY: the documented type of the function of this name.
                    let $field = unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>(address)
                    };
                )+
                Ok(Self { $($field,)+ })
            }
        }
    };
}

functions! {
    Files
    /// Recording into files.
    {
        init = c"aclprofInit": fn(*const c_char, usize) -> Error,
        create_config = c"aclprofCreateConfig": fn(*const u32, u32, c_int, *const c_void, u64) -> *mut c_void,
        destroy_config = c"aclprofDestroyConfig": fn(*const c_void) -> Error,
        start = c"aclprofStart": fn(*const c_void) -> Error,
        stop = c"aclprofStop": fn(*const c_void) -> Error,
        finalize = c"aclprofFinalize": fn() -> Error,
    }
}

functions! {
    Subscription
    /// Having the operators of models told.
    {
        create_config = c"aclprofCreateSubscribeConfig": fn(i8, c_int, *mut c_void) -> *mut c_void,
        destroy_config = c"aclprofDestroySubscribeConfig": fn(*const c_void) -> Error,
        subscribe = c"aclprofModelSubscribe": fn(u32, *const c_void) -> Error,
        unsubscribe = c"aclprofModelUnSubscribe": fn(u32) -> Error,
        description_size = c"aclprofGetOpDescSize": fn(*mut usize) -> Error,
        count = c"aclprofGetOpNum": fn(*const c_void, usize, *mut u32) -> Error,
        type_length = c"aclprofGetOpTypeLen": fn(*const c_void, usize, u32, *mut usize) -> Error,
        type_text = c"aclprofGetOpType": fn(*const c_void, usize, u32, *mut c_char, usize) -> Error,
        name_length = c"aclprofGetOpNameLen": fn(*const c_void, usize, u32, *mut usize) -> Error,
        name_text = c"aclprofGetOpName": fn(*const c_void, usize, u32, *mut c_char, usize) -> Error,
        start = c"aclprofGetOpStart": fn(*const c_void, usize, u32) -> u64,
        end = c"aclprofGetOpEnd": fn(*const c_void, usize, u32) -> u64,
        duration = c"aclprofGetOpDuration": fn(*const c_void, usize, u32) -> u64,
        model = c"aclprofGetModelId": fn(*const c_void, usize, u32) -> usize,
    }
}
