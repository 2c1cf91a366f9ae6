//! AscendCL in programs that use it: how long its calls take, and which operators its devices execute.
//!
//! The functions here have the names of AscendCL's. Each calls the real one; around it the time is
//! taken ([`calls`]), and at the moments that the documentation names, profiling of the device is
//! begun and ended ([`device`]). Where there is no AscendCL none of this is ever called.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use opscope_recorder::real::{self, Real};

mod call_names;
mod calls;
mod collector;
mod device;
mod library;
mod operators;

pub(crate) use calls::leave;
use library::{Error, SUCCESS};

type Pointer = *mut c_void;

/// The answer where there is no real function: AscendCL's own number for internal errors.
const MISSING: Error = 500_000;

/// How often the program initialised AscendCL more than it finalised it.
static INITIALISED: AtomicU32 = AtomicU32::new(0);

/// Finds a function of AscendCL in libraries that were opened by name.
fn in_other_libraries(name: &CStr, ours: *const c_void) -> Option<*mut c_void> {
    real::in_library(c"libascendcl", name, ours).or_else(|| real::in_library(c"libmsprofiler", name, ours))
}

/// Defines functions of AscendCL's names: `number` of the call in the records (0 where its time is
/// of no interest), the name, the arguments, and what is done before and after.
macro_rules! stand_before {
    ($(
        $number:literal $function:ident($($argument:ident: $type:ty),*)
        $(before $before:block)? $(after $after:block)?
    )+) => {$(
        /// Stands before AscendCL's function of this name.
        ///
        /// # Safety
        /// As the real one's.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the name is AscendCL's")]
        #[allow(clippy::too_many_arguments, reason = "the arguments are AscendCL's")]
        pub unsafe extern "C" fn $function($($argument: $type),*) -> Error {
            static REAL: Real = Real::new(concat!(stringify!($function), "\0"));
            type Function = unsafe extern "C" fn($($type),*) -> Error;
            let ours = $function as *const () as *const c_void;
            let Some(address) = REAL.find_or(|name| in_other_libraries(name, ours)) else { return MISSING };
            // SAFETY: the real function of this name has this type.
            let real = unsafe { std::mem::transmute::<*mut c_void, Function>(address) };
            $($before)?
            // SAFETY: the arguments are the program's own.
            let result = calls::timed($number, || unsafe { real($($argument),*) });
            $(if result == SUCCESS { $after })?
            result
        }
    )+};
}

stand_before! {
    0x4_0001 aclInit(path: *const c_char) after {
        INITIALISED.fetch_add(1, Ordering::AcqRel);
        // SAFETY: AscendCL took it as a C string, or as null.
        let path = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) });
        device::initialised(path);
    }
    0x4_0002 aclFinalize() before {
        INITIALISED.store(0, Ordering::Release);
        device::end();
    }
    0x4_0003 aclFinalizeReference(count: *mut u64) before {
        // Only the last of several users ends AscendCL.
        let before = INITIALISED.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| count.checked_sub(1));
        if before == Ok(1) {
            device::end();
        }
    }
    0x3_0001 aclrtSetDevice(number: i32) after { device::set(number); }
    0x3_0002 aclrtResetDevice(number: i32) before { device::reset(number); }
    0x3_0003 aclrtMemcpy(to: Pointer, size: usize, from: *const c_void, count: usize, kind: c_int)
    0x3_0004 aclrtMemcpyAsync(to: Pointer, size: usize, from: *const c_void, count: usize, kind: c_int, stream: Pointer)
    0x3_0005 aclrtSynchronizeStream(stream: Pointer)
    0x2_0001 aclmdlLoadFromFile(path: *const c_char, model: *mut u32) after { device::loaded(model); }
    0x2_0002 aclmdlLoadFromFileWithMem(
        path: *const c_char, model: *mut u32, work: Pointer, work_size: usize, weights: Pointer, weight_size: usize
    ) after { device::loaded(model); }
    0x2_0003 aclmdlLoadFromMem(bytes: *const c_void, size: usize, model: *mut u32)
        after { device::loaded(model); }
    0x2_0004 aclmdlLoadFromMemWithMem(
        bytes: *const c_void, size: usize, model: *mut u32,
        work: Pointer, work_size: usize, weights: Pointer, weight_size: usize
    ) after { device::loaded(model); }
    0x2_0005 aclmdlExecute(model: u32, input: *const c_void, output: Pointer) before { device::follow_switch(); }
    0x2_0006 aclmdlExecuteAsync(model: u32, input: *const c_void, output: Pointer, stream: Pointer)
        before { device::follow_switch(); }
    0x2_0007 aclmdlUnload(model: u32) before { device::unloading(model); }
    0x1_0001 aclopExecuteV2(
        kind: *const c_char, input_count: c_int, input_forms: *mut Pointer, inputs: *mut Pointer,
        output_count: c_int, output_forms: *mut Pointer, outputs: *mut Pointer, attributes: Pointer, stream: Pointer
    )
    0 aclprofInit(path: *const c_char, length: usize) before { device::program_profiles_itself(); }
    0 aclprofModelSubscribe(model: u32, config: *const c_void) before { device::program_profiles_itself(); }
}
