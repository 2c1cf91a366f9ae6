//! Tests of the promises to users of MegEngine profiles, at the level of the command and the library.

mod conformance;
mod faults;
mod layout;
mod properties;
mod small;
mod support;
mod tracing;
mod writing;
