//! What users of MegEngine profiles can rely on, at the level of the command.

mod conformance;
mod support;
