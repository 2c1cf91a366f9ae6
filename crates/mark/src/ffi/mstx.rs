//! mstx: the marks of programs built with the Ascend header, which load a library named by
//! `MSTX_INJECTION_PATH` and let it fill in tables of functions.
//!
//! | module | slots that are filled |
//! |---|---|
//! | 1, core | 1 mark, 2 range start, 3 range end |
//! | 2, domains | 1 create, 2 destroy, 3 mark, 4 range start, 5 range end |
//!
//! Further slots mean different things in different versions of the header, and are left alone.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::bytes;
use crate::collector::is_on;
use crate::details::Details;
use crate::domain::{self, Domain};
use crate::event;

type Function = *const c_void;
/// A table holds, for each slot, the address of the pointer that the header's inline function calls.
type Table = *mut *mut Function;
type GetTable = unsafe extern "C" fn(module: c_int, table: *mut Table, size: *mut c_uint) -> c_int;

const SUCCESS: c_int = 0;
const FAILURE: c_int = 1;

const CORE: c_int = 1;
const DOMAINS: c_int = 2;

/// A handle of a domain, in the words of mstx; ours points at the domain and is never freed, because
/// programs may still use it in ranges.
type Handle = *const Domain;

/// Called once by the header's code.
///
/// # Safety
/// `get_table` is null or the header's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitInjectionMstx(get_table: Option<GetTable>) -> c_int {
    let Some(get_table) = get_table else { return FAILURE };
    let core: [Function; 3] = [
        mark_a as *const () as Function,
        range_start_a as *const () as Function,
        range_end as *const () as Function,
    ];
    let domains: [Function; 5] = [
        domain_create_a as *const () as Function,
        domain_destroy as *const () as Function,
        domain_mark_a as *const () as Function,
        domain_range_start_a as *const () as Function,
        domain_range_end as *const () as Function,
    ];
    // SAFETY: by the caller's word.
    let (core, domains) = unsafe { (fill(get_table, CORE, &core), fill(get_table, DOMAINS, &domains)) };
    // Old headers have no domains.
    if core || domains { SUCCESS } else { FAILURE }
}

/// Fills slots 1, 2, … of a module's table, as far as it reaches.
///
/// # Safety
/// `get_table` is the header's function.
unsafe fn fill(get_table: GetTable, module: c_int, functions: &[Function]) -> bool {
    let (mut table, mut size): (Table, c_uint) = (std::ptr::null_mut(), 0);
    // SAFETY: both are valid places for the answer.
    if unsafe { get_table(module, &mut table, &mut size) } != SUCCESS || table.is_null() {
        return false;
    }
    for (place, function) in functions.iter().enumerate() {
        let slot = place + 1;
        if slot >= size as usize {
            break;
        }
        // SAFETY: the table has `size` entries; those in use point to the header's variables.
        unsafe {
            let variable = *table.add(slot);
            if !variable.is_null() {
                *variable = *function;
            }
        }
    }
    true
}

/// The details of a mark in a domain; `None` where the collector doesn't want that domain.
fn details(domain: Option<Domain>) -> Option<Details> {
    let domain = domain.unwrap_or_else(domain::default);
    domain::is_wanted(domain).then(|| Details { domain: Some(domain), ..Details::default() })
}

/// Records a mark; with a stream, the vendor's tool would set a point on the device as well.
///
/// # Safety
/// `text` is null or ends with a zero.
unsafe fn mark_with(domain: Option<Domain>, text: *const c_char, stream: *const c_void) {
    if !is_on() {
        return;
    }
    let Some(details) = details(domain) else { return };
    // SAFETY: mstx asks for a C string.
    let text = unsafe { bytes(text) };
    match stream.is_null() {
        true => event::mark(text, details),
        false => event::mark_ex(text, details),
    }
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe extern "C" fn mark_a(text: *const c_char, stream: *const c_void) {
    // SAFETY: as mstx asks.
    unsafe { mark_with(None, text, stream) };
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe extern "C" fn range_start_a(text: *const c_char, _stream: *const c_void) -> u64 {
    if !is_on() {
        return 0;
    }
    // A range that isn't wanted gets no number, and its end does nothing.
    // SAFETY: mstx asks for a C string.
    details(None).map_or(0, |details| event::range_start(unsafe { bytes(text) }, details))
}

extern "C" fn range_end(number: u64) {
    event::range_end(number);
}

/// # Safety
/// `name` is null or ends with a zero.
unsafe extern "C" fn domain_create_a(name: *const c_char) -> Handle {
    // SAFETY: mstx asks for a C string.
    let name = String::from_utf8_lossy(unsafe { bytes(name) });
    // As mstx has it: short, and nothing that a spreadsheet takes for a formula.
    const MOST_BYTES: usize = 1_024;
    if name.is_empty() || name.len() >= MOST_BYTES || name.starts_with(['=', '+', '-', '@']) {
        return std::ptr::null();
    }
    Box::into_raw(Box::new(domain::named(&name)))
}

extern "C" fn domain_destroy(_domain: Handle) {}

/// # Safety
/// `handle` is null or came from [`domain_create_a`].
unsafe fn domain_of(handle: Handle) -> Option<Domain> {
    // SAFETY: by the caller's word.
    unsafe { handle.as_ref() }.copied()
}

/// # Safety
/// `domain` is null or came from [`domain_create_a`];
/// `text` is null or ends with a zero.
unsafe extern "C" fn domain_mark_a(domain: Handle, text: *const c_char, stream: *const c_void) {
    // SAFETY: as mstx asks.
    unsafe { mark_with(domain_of(domain), text, stream) };
}

/// # Safety
/// `domain` is null or came from [`domain_create_a`];
/// `text` is null or ends with a zero.
unsafe extern "C" fn domain_range_start_a(
    domain: Handle,
    text: *const c_char,
    _stream: *const c_void,
) -> u64 {
    if !is_on() {
        return 0;
    }
    // SAFETY: as mstx asks.
    let (domain, text) = unsafe { (domain_of(domain), bytes(text)) };
    details(domain).map_or(0, |details| event::range_start(text, details))
}

extern "C" fn domain_range_end(_domain: Handle, number: u64) {
    event::range_end(number);
}
