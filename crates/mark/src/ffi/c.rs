//! opscope's own C interface, as `include/opscope_mark.h` declares it.

use std::ffi::c_char;

use super::bytes;
use crate::collector::is_on;
use crate::details::Details;
use crate::event;

/// Whether marks are recorded now: 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_mark_enabled() -> i32 {
    i32::from(is_on())
}

/// Marks an instant.
///
/// # Safety
/// `text` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_mark(text: *const c_char) {
    if is_on() {
        // SAFETY: by the caller's word.
        event::mark(unsafe { bytes(text) }, Details::default());
    }
}

/// Begins a range on the calling thread; returns its depth from 1, or 0 when nothing is recorded.
///
/// # Safety
/// `text` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_push(text: *const c_char) -> i32 {
    if !is_on() {
        return 0;
    }
    // SAFETY: by the caller's word.
    event::push(unsafe { bytes(text) }, Details::default()) as i32
}

/// Ends the innermost range of the calling thread; returns the depth it had, or 0 when there was
/// none.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_pop() -> i32 {
    event::pop() as i32
}

/// Begins a range that any thread may end; returns its number, or 0 when nothing is recorded.
///
/// # Safety
/// `text` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_range_start(text: *const c_char) -> u64 {
    if !is_on() {
        return 0;
    }
    // SAFETY: by the caller's word.
    event::range_start(unsafe { bytes(text) }, Details::default())
}

/// Ends a range; returns 1 if there was one of that number, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_range_end(number: u64) -> i32 {
    i32::from(event::range_end(number))
}

/// The domain of a name, to be kept and given to the calls below; never 0.
///
/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_domain(name: *const c_char) -> u64 {
    // SAFETY: by the caller's word.
    let name = String::from_utf8_lossy(unsafe { bytes(name) });
    crate::domain::named(if name.is_empty() { "default" } else { &name }).0
}

fn details(domain: u64, category: u32, payload: u64) -> Details {
    let domain = (domain != 0).then_some(crate::domain::Domain(domain));
    let payload_type = i32::from(payload != 0);
    Details { domain, category, payload, payload_type, ..Details::default() }
}

/// [`opscope_mark`] with a domain (0: none), a category and a payload.
///
/// # Safety
/// `text` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_mark_in(domain: u64, text: *const c_char, category: u32, payload: u64) {
    if is_on() {
        // SAFETY: by the caller's word.
        event::mark(unsafe { bytes(text) }, details(domain, category, payload));
    }
}

/// [`opscope_push`] with a domain (0: none), a category and a payload.
///
/// # Safety
/// `text` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_push_in(
    domain: u64,
    text: *const c_char,
    category: u32,
    payload: u64,
) -> i32 {
    if !is_on() {
        return 0;
    }
    // SAFETY: by the caller's word.
    event::push(unsafe { bytes(text) }, details(domain, category, payload)) as i32
}

/// [`opscope_range_start`] with a domain (0: none), a category and a payload.
///
/// # Safety
/// `text` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_range_start_in(
    domain: u64,
    text: *const c_char,
    category: u32,
    payload: u64,
) -> u64 {
    if !is_on() {
        return 0;
    }
    // SAFETY: by the caller's word.
    event::range_start(unsafe { bytes(text) }, details(domain, category, payload))
}
