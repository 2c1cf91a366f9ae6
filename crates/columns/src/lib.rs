//! Columns of plain values: lists that move to files once all of them together are large.
//!
//! The tables of a large profile take many times the memory that a machine has to spare. All columns of the
//! program share a budget ([`keep_in_memory`]). A column that would go beyond it lies in a file without a name,
//! mapped into memory: the system keeps of it what there is room for, and writes the rest to the disk. Nobody else
//! can open that file, and the system frees it when the program ends, however that happens. Where there is no room
//! on the disk, a column stays in memory.
//!
//! ```
//! use opscope_columns::{Column, keep_in_memory};
//!
//! keep_in_memory(1_000_000);
//! let mut column: Column<u64> = (0..400_000).collect();
//! column.push(7);
//! assert_eq!((column.len(), column[399_999], column.last()), (400_001, 399_999, Some(&7)));
//! assert_eq!(column.is_spilled(), cfg!(unix));
//! ```
//!
//! # Floors
//! A module uses only those below it.
//!
//! ```text
//! optional    a list whose rows may all lack a value, and then takes no memory
//! column      a list that is read and changed as a slice, wherever it lies
//!   budget    the memory of all columns together
//!   spilled   bytes in a file without a name
//! ```

mod budget;
mod column;
mod optional;
mod spilled;

pub use budget::{COMMON_BUDGET, keep_in_memory};
pub use column::Column;
pub use optional::OptionalColumn;
