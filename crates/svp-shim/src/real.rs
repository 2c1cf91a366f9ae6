//! Finding the runtime's functions, which ours stand before.

/// The answer where the runtime has no such function: it was never initialised.
pub(crate) const MISSING: crate::Status = 100_001;

/// A function of the runtime as a value that can be called; `None` where it is missing.
macro_rules! real {
    ($name:ident, fn($($type:ty),*) -> $result:ty) => {{
        static REAL: opscope_recorder::real::Real =
            opscope_recorder::real::Real::new(concat!(stringify!($name), "\0"));
        REAL.find().map(|address| {
            // SAFETY: the runtime's headers declare a function of this name with these types.
            unsafe {
                std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($type),*) -> $result>(address)
            }
        })
    }};
}
pub(crate) use real;
