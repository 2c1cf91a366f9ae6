//! Finding the runtime's functions, which ours stand before.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// What is returned where the runtime has no such function: it was never initialised.
pub(crate) const MISSING: crate::Status = 100_001;

/// A function of the runtime, looked up once.
pub(crate) struct Real {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Real {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Its address; `None` if no library behind this one has it.
    pub(crate) fn address(&self) -> Option<*mut c_void> {
        let mut address = self.found.load(Ordering::Acquire);
        if address.is_null() {
            // SAFETY: the name is a C string.
            address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            self.found.store(address, Ordering::Release);
        }
        (!address.is_null()).then_some(address)
    }
}

/// A function of the runtime as a value that can be called; `None` where it is missing.
macro_rules! real {
    ($name:ident, fn($($type:ty),*) -> $result:ty) => {{
        static REAL: $crate::real::Real = $crate::real::Real::new(
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
        );
        REAL.address().map(|address| {
            // SAFETY: the runtime's headers declare a function of this name with these types.
            unsafe {
                std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($type),*) -> $result>(address)
            }
        })
    }};
}
pub(crate) use real;
