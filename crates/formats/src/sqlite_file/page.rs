//! Sizes that all pages share.

/// Bytes of a page. Large enough that whole tables are read in few steps, small enough that one
/// row is not dear.
pub(super) const PAGE: usize = 16_384;

/// Bytes of the file's header, at the begin of page 1.
pub(super) const FILE_HEADER: usize = 100;
