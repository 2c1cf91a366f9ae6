//! Finding the functions that ours stand before.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function that one of ours stands before, looked up once.
#[derive(Debug)]
pub struct Real {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Real {
    /// The function of a name, which ends with a zero.
    pub const fn new(name: &'static str) -> Self {
        let name = match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a name ends with its only zero"),
        };
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Its address in the libraries behind ours; `None` if none has it.
    pub fn find(&self) -> Option<*mut c_void> {
        self.find_or(|_| None)
    }

    /// Its address in the libraries behind ours, or where `elsewhere` finds it.
    pub fn find_or(&self, elsewhere: impl FnOnce(&CStr) -> Option<*mut c_void>) -> Option<*mut c_void> {
        let known = self.address.load(Ordering::Acquire);
        if !known.is_null() {
            return Some(known);
        }
        let found = next(self.name).or_else(|| elsewhere(self.name))?;
        self.address.store(found, Ordering::Release);
        Some(found)
    }
}

/// The next function of a name after ours, in the order in which the program's libraries are
/// searched.
pub fn next(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// A function of a name in any loaded library whose file's name holds `part`. Libraries that were
/// opened by name (those of Python's modules are) stand outside the order that [`next`] searches,
/// but their calls reach us all the same.
pub fn in_library(part: &CStr, name: &CStr, ours: *const c_void) -> Option<*mut c_void> {
    let mut search = Search { part, name, ours, found: None };
    // SAFETY: the function matches what the call asks for, and the data outlives it.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

struct Search<'a> {
    part: &'a CStr,
    name: &'a CStr,
    ours: *const c_void,
    found: Option<*mut c_void>,
}

/// Looks a function up in one library; 1 where it is found, which ends the search.
///
/// # Safety
/// `library` is an entry of the system's list, and `data` a [`Search`] that nobody else uses.
unsafe extern "C" fn look(library: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the system gives a valid entry, and the data are those of `in_library`.
    let (library, search) = unsafe { (&*library, &mut *data.cast::<Search<'_>>()) };
    let path: *const c_char = library.dlpi_name;
    // SAFETY: the path is null or a C string; both arguments of the search are C strings.
    if path.is_null() || unsafe { libc::strstr(path, search.part.as_ptr()) }.is_null() {
        return 0;
    }
    // SAFETY: a library that is loaded is only asked for its handle.
    let handle = unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return 0;
    }
    // SAFETY: the handle is valid, and given back; the library stays loaded by whoever loaded it.
    let address = unsafe { libc::dlsym(handle, search.name.as_ptr()) };
    // SAFETY: as above.
    unsafe { libc::dlclose(handle) };
    if !address.is_null() && address.cast_const() != search.ours {
        search.found = Some(address);
        return 1;
    }
    0
}
