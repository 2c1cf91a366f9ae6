//! Reference data for the tests of the readers of Ascend's formats.

pub(crate) use opscope_testing::companions::shared;
