//! Ascend profiles.
