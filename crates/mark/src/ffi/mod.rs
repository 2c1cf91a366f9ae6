//! The C interfaces that the library answers to.
//!
//! No function here panics: it runs in other people's programs.

mod acl;
mod c;
mod mstx;
mod nvtx;

use std::ffi::{CStr, c_char};

/// The bytes of a C string; nothing for a null pointer.
///
/// # Safety
/// Unless it is null, `text` points to a string that ends with a zero.
unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: by the caller's word.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}
