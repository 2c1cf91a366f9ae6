//! NVTX version 3: programs annotated for NVIDIA's tools load a library named by
//! `NVTX_INJECTION64_PATH` and let it fill in tables of functions. No GPU is needed.
//!
//! The default domain's marks take the classic form, with category and payload; those of other
//! domains the form of mstx, which has domains instead.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::bytes;
use crate::collector::is_on;
use crate::details::Details;
use crate::domain::{self, Domain};
use crate::event;
use crate::text::LONGEST_TEXT;

type Function = *const c_void;
type Table = *mut *mut Function;
type GetExportTable = unsafe extern "C" fn(id: u32) -> *const Callbacks;

/// The export table that gives out tables of functions.
const CALLBACKS: u32 = 1;

#[repr(C)]
pub(crate) struct Callbacks {
    /// The size of this structure.
    size: usize,
    get_table: Option<unsafe extern "C" fn(module: c_int, table: *mut Table, size: *mut c_uint) -> c_int>,
}

const CORE: c_int = 1;
const CORE2: c_int = 5;

/// An event's attributes, version 2 of the structure.
#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

const ASCII: i32 = 1;
const WIDE: i32 = 2;
const REGISTERED: i32 = 3;

/// Called once by the header's code; returns 1 when the library takes part.
///
/// # Safety
/// `get_export_table` is null or the header's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(get_export_table: Option<GetExportTable>) -> c_int {
    let Some(get_export_table) = get_export_table else { return 0 };
    // SAFETY: by the caller's word; a table that is too small for its one function isn't used.
    let get_table = unsafe { get_export_table(CALLBACKS).as_ref() }
        .filter(|callbacks| callbacks.size >= size_of::<Callbacks>())
        .and_then(|callbacks| callbacks.get_table);
    let Some(get_table) = get_table else { return 0 };
    let core: [(usize, Function); 11] = [
        (1, mark_ex as *const () as Function),
        (2, mark_a as *const () as Function),
        (3, mark_w as *const () as Function),
        (4, range_start_ex as *const () as Function),
        (5, range_start_a as *const () as Function),
        (6, range_start_w as *const () as Function),
        (7, range_end as *const () as Function),
        (8, range_push_ex as *const () as Function),
        (9, range_push_a as *const () as Function),
        (10, range_push_w as *const () as Function),
        (11, range_pop as *const () as Function),
    ];
    let domains: [(usize, Function); 10] = [
        (1, domain_mark_ex as *const () as Function),
        (2, domain_range_start_ex as *const () as Function),
        (3, domain_range_end as *const () as Function),
        (4, domain_range_push_ex as *const () as Function),
        (5, domain_range_pop as *const () as Function),
        (10, domain_register_string_a as *const () as Function),
        (11, domain_register_string_w as *const () as Function),
        (12, domain_create_a as *const () as Function),
        (13, domain_create_w as *const () as Function),
        (14, domain_destroy as *const () as Function),
    ];
    for (module, functions) in [(CORE, &core[..]), (CORE2, &domains[..])] {
        let (mut table, mut size): (Table, c_uint) = (std::ptr::null_mut(), 0);
        // SAFETY: both are valid places for the answer.
        if unsafe { get_table(module, &mut table, &mut size) } == 0 || table.is_null() {
            continue;
        }
        for (slot, function) in functions.iter().filter(|(slot, _)| *slot < size as usize) {
            // SAFETY: the table has `size` entries; those in use point to the header's variables.
            unsafe {
                let variable = *table.add(*slot);
                if !variable.is_null() {
                    *variable = *function;
                }
            }
        }
    }
    1
}

/// A text of wide characters, as this system has them.
///
/// # Safety
/// `text` is null or ends with a zero.
unsafe fn wide(text: *const libc::wchar_t) -> Vec<u8> {
    let mut result = String::new();
    let mut place = text;
    while !place.is_null() && result.len() < LONGEST_TEXT {
        // SAFETY: by the caller's word, up to the zero.
        let code = unsafe { *place };
        if code == 0 {
            break;
        }
        result.push(char::from_u32(code as u32).unwrap_or(char::REPLACEMENT_CHARACTER));
        // SAFETY: the zero is still to come.
        place = unsafe { place.add(1) };
    }
    result.into_bytes()
}

/// Calls `record` with what the attributes say.
///
/// # Safety
/// `attributes` is null or as NVTX describes them.
unsafe fn described<T>(
    domain: Option<Domain>,
    attributes: *const Attributes,
    record: impl FnOnce(&[u8], Details) -> T,
) -> T {
    // SAFETY: by the caller's word.
    let Some(attributes) = (unsafe { attributes.as_ref() }) else {
        return record(&[], Details { domain, ..Details::default() });
    };
    let details = Details {
        domain,
        category: attributes.category,
        payload_type: attributes.payload_type,
        payload: if attributes.payload_type == 0 { 0 } else { attributes.payload },
        message_type: attributes.message_type,
    };
    // SAFETY: the type says what the pointer is.
    unsafe {
        match attributes.message_type {
            ASCII => record(bytes(attributes.message.cast()), details),
            WIDE => record(&wide(attributes.message.cast()), details),
            REGISTERED => match attributes.message.cast::<Vec<u8>>().as_ref() {
                Some(text) => record(text, details),
                None => record(&[], details),
            },
            _ => record(&[], details),
        }
    }
}

/// # Safety
/// `handle` is null or came from [`domain_create_a`].
unsafe fn domain_of(handle: *const Domain) -> Option<Domain> {
    // SAFETY: by the caller's word.
    unsafe { handle.as_ref() }.copied()
}

/// NVTX numbers the depth of pushed ranges from 0 and has negative numbers for failure.
fn depth(count: usize) -> c_int {
    count as c_int - 1
}

/// # Safety
/// `attributes` is null or as NVTX describes them.
unsafe extern "C" fn mark_ex(attributes: *const Attributes) {
    if is_on() {
        // SAFETY: as NVTX asks.
        unsafe { described(None, attributes, event::mark) };
    }
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe extern "C" fn mark_a(text: *const c_char) {
    if is_on() {
        // SAFETY: as NVTX asks.
        event::mark(unsafe { bytes(text) }, Details::default());
    }
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe extern "C" fn mark_w(text: *const libc::wchar_t) {
    if is_on() {
        // SAFETY: as NVTX asks.
        event::mark(&unsafe { wide(text) }, Details::default());
    }
}

/// # Safety
/// `attributes` is null or as NVTX describes them.
unsafe extern "C" fn range_start_ex(attributes: *const Attributes) -> u64 {
    if !is_on() {
        return 0;
    }
    // SAFETY: as NVTX asks.
    unsafe { described(None, attributes, event::range_start) }
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe extern "C" fn range_start_a(text: *const c_char) -> u64 {
    if !is_on() {
        return 0;
    }
    // SAFETY: as NVTX asks.
    event::range_start(unsafe { bytes(text) }, Details::default())
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe extern "C" fn range_start_w(text: *const libc::wchar_t) -> u64 {
    if !is_on() {
        return 0;
    }
    // SAFETY: as NVTX asks.
    event::range_start(&unsafe { wide(text) }, Details::default())
}

extern "C" fn range_end(number: u64) {
    event::range_end(number);
}

/// # Safety
/// `attributes` is null or as NVTX describes them.
unsafe extern "C" fn range_push_ex(attributes: *const Attributes) -> c_int {
    if !is_on() {
        return -1;
    }
    // SAFETY: as NVTX asks.
    depth(unsafe { described(None, attributes, event::push) })
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe extern "C" fn range_push_a(text: *const c_char) -> c_int {
    if !is_on() {
        return -1;
    }
    // SAFETY: as NVTX asks.
    depth(event::push(unsafe { bytes(text) }, Details::default()))
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe extern "C" fn range_push_w(text: *const libc::wchar_t) -> c_int {
    if !is_on() {
        return -1;
    }
    // SAFETY: as NVTX asks.
    depth(event::push(&unsafe { wide(text) }, Details::default()))
}

extern "C" fn range_pop() -> c_int {
    depth(event::pop_in(None))
}

/// # Safety
/// `domain` is null or came from [`domain_create_a`] or [`domain_create_w`];
/// `attributes` is null or as NVTX describes them.
unsafe extern "C" fn domain_mark_ex(domain: *const Domain, attributes: *const Attributes) {
    if is_on() {
        // SAFETY: as NVTX asks.
        unsafe { described(domain_of(domain), attributes, event::mark) };
    }
}

/// # Safety
/// `domain` is null or came from [`domain_create_a`] or [`domain_create_w`];
/// `attributes` is null or as NVTX describes them.
unsafe extern "C" fn domain_range_start_ex(domain: *const Domain, attributes: *const Attributes) -> u64 {
    if !is_on() {
        return 0;
    }
    // SAFETY: as NVTX asks.
    unsafe { described(domain_of(domain), attributes, event::range_start) }
}

extern "C" fn domain_range_end(_domain: *const Domain, number: u64) {
    event::range_end(number);
}

/// # Safety
/// `domain` is null or came from [`domain_create_a`] or [`domain_create_w`];
/// `attributes` is null or as NVTX describes them.
unsafe extern "C" fn domain_range_push_ex(domain: *const Domain, attributes: *const Attributes) -> c_int {
    if !is_on() {
        return -1;
    }
    // SAFETY: as NVTX asks.
    depth(unsafe { described(domain_of(domain), attributes, event::push) })
}

/// # Safety
/// `domain` is null or came from [`domain_create_a`] or [`domain_create_w`].
unsafe extern "C" fn domain_range_pop(domain: *const Domain) -> c_int {
    // SAFETY: as NVTX asks.
    depth(event::pop_in(unsafe { domain_of(domain) }))
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe extern "C" fn domain_register_string_a(_domain: *const Domain, text: *const c_char) -> *const Vec<u8> {
    // SAFETY: as NVTX asks. Programs keep the handle for good.
    Box::into_raw(Box::new(unsafe { bytes(text) }.to_vec()))
}

/// # Safety
/// `text` is null or ends with a zero.
unsafe extern "C" fn domain_register_string_w(
    _domain: *const Domain,
    text: *const libc::wchar_t,
) -> *const Vec<u8> {
    // SAFETY: as NVTX asks. Programs keep the handle for good.
    Box::into_raw(Box::new(unsafe { wide(text) }))
}

fn create_domain(name: &[u8]) -> *const Domain {
    Box::into_raw(Box::new(domain::named(&String::from_utf8_lossy(name))))
}

/// # Safety
/// `name` is null or ends with a zero.
unsafe extern "C" fn domain_create_a(name: *const c_char) -> *const Domain {
    // SAFETY: as NVTX asks.
    create_domain(unsafe { bytes(name) })
}

/// # Safety
/// `name` is null or ends with a zero.
unsafe extern "C" fn domain_create_w(name: *const libc::wchar_t) -> *const Domain {
    // SAFETY: as NVTX asks.
    create_domain(&unsafe { wide(name) })
}

/// Destroyed domains may still have ranges open, so their few bytes stay.
extern "C" fn domain_destroy(_domain: *const Domain) {}
