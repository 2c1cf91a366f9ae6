//! Tables that the Ascend tools export as text.

pub(crate) mod vocabulary;

#[cfg(test)]
pub(crate) mod testing;
