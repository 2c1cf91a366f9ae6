//! Finding the functions that ours stand before.

use std::ffi::{CStr, c_void};

/// The next function of a name after ours, in the order in which the program's libraries are
/// searched.
pub(crate) fn next(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}
