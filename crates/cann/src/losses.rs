//! Records that were dropped or doubted while a profile was read, by the kinds that all readers share.

pub use opscope_trace::{CountedLoss as Loss, LossKind as Reason, Losses};
