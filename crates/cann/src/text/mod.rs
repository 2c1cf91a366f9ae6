//! Values as text: numbers as the vendor's tools print them, quoting, tensors, and whole files.

pub(crate) mod digits;
pub(crate) mod file;
pub(crate) mod numbers;
pub(crate) mod quoting;
pub(crate) mod tensor_names;
