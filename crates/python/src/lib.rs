//! The native half of the Python package `opscope`: profiles, read through the same door as the program's
//! ([`opscope_open`]), as tables that any library of data frames takes by the Arrow PyCapsule interface.
//!
//! The package loads this library by `ctypes`, as it does that of the marks, so one file serves every Python from
//! 3.7 on, and no crate is needed for it. What users see and read stands in `python/opscope/_profile.py`.
//!
//! ```text
//! ffi                                the functions that Python calls, with handles and texts of C
//! profile                            a profile that was opened: its tables, questions to it
//! tables · answer · sql              which columns a table has: the trace's own, of an answer, of a statement
//! arrow                              tables by Arrow's C interfaces
//! table · outcome                    columns of any origin, and how they are printed; why something failed
//! ```

mod answer;
mod arrow;
mod ffi;
mod outcome;
mod profile;
mod sql;
mod table;
mod tables;
