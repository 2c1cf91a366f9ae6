//! Processes that are gone without having ended: they become another program (`exec…`), or stop
//! at once (`_exit`, as Python's forked workers do). No handler runs then.
//!
//! The library that a collector puts before others (`LD_PRELOAD`) sees those calls. It has a table
//! of functions to call first, and this library enters its own there, from wherever it was loaded.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// How many libraries can be told: copies of this one that were loaded from different files.
pub const PLACES: usize = 4;

/// The table, under the name [`NAME`].
pub type Table = [AtomicPtr<c_void>; PLACES];

/// A function that is called before the process is gone.
pub type Farewell = unsafe extern "C" fn();

const NAME: &std::ffi::CStr = c"OPSCOPE_BEFORE_LEAVING";

/// Enters a function into the table, if there is one.
pub fn tell(farewell: Farewell) {
    // SAFETY: the name is a C string.
    let table = unsafe { libc::dlsym(libc::RTLD_DEFAULT, NAME.as_ptr()) };
    // SAFETY: null, or the table of opscope's own library, which is never unloaded.
    let Some(table) = (unsafe { table.cast::<Table>().as_ref() }) else { return };
    let ours = farewell as *const () as *mut c_void;
    for place in table {
        let before = place.compare_exchange(std::ptr::null_mut(), ours, Ordering::AcqRel, Ordering::Acquire);
        if before.is_ok() || before == Err(ours) {
            return;
        }
    }
}
