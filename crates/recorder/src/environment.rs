//! The variables in a program's environment by which a collector tells the libraries within it what
//! to record, and where.

/// The directory for the slices of marks.
pub const MARK_DIRECTORY: &str = "OPSCOPE_MARK_DIR";
/// The file that is mapped as the [`Control`](crate::control::Control).
pub const CONTROL: &str = "OPSCOPE_MARK_CONTROL";
/// The domains of mstx that alone are recorded, between commas.
pub const MARK_INCLUDE: &str = "OPSCOPE_MARK_INCLUDE";
/// The domains of mstx that are not recorded, between commas.
pub const MARK_EXCLUDE: &str = "OPSCOPE_MARK_EXCLUDE";
/// The file of the instrumentation library.
pub const MARK_LIBRARY: &str = "OPSCOPE_MARK_LIBRARY";
/// The directory for ONNX Runtime's profiles.
pub const ORT_DIRECTORY: &str = "OPSCOPE_ORT_DIR";
/// The directory for the records of AscendCL's calls and operators.
pub const ACL_DIRECTORY: &str = "OPSCOPE_ACL_DIR";
/// How AscendCL's devices are profiled: [`ACL_VIA_FILES`] or [`ACL_VIA_SUBSCRIPTION`]; not at all
/// without it.
pub const ACL_VIA: &str = "OPSCOPE_ACL_VIA";
/// See [`ACL_VIA`].
pub const ACL_VIA_FILES: &str = "files";
/// See [`ACL_VIA`].
pub const ACL_VIA_SUBSCRIPTION: &str = "subscribe";
/// Where AscendCL makes its own profile.
pub const ACL_FILES: &str = "OPSCOPE_ACL_FILES";
/// The kinds of data that AscendCL records, as the bits of `acl_prof.h`.
pub const ACL_MASK: &str = "OPSCOPE_ACL_MASK";
/// The group of counters that AscendCL records, as the number of `acl_prof.h`.
pub const ACL_METRICS: &str = "OPSCOPE_ACL_METRICS";
/// Set by the vendor's own collector.
pub const VENDOR_COLLECTOR: &str = "PROFILER_SAMPLECONFIG";

/// The value of a variable, unless it is empty.
pub fn value(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
