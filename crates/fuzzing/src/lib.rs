//! Fuzzing of all that opscope reads, and of what it makes of that: the targets, and the changes by which one
//! input becomes the next.
//!
//! Two programs feed the targets: `crates/opscope/tests/fuzz.rs`, on any toolchain and in each check of the
//! project, and the programs of libFuzzer in `fuzz/`, by hand. docs/fuzzing.md says how to run both.
//!
//! ```
//! use opscope_fuzzing::{Mutator, TARGETS, Trail};
//!
//! let target = TARGETS.iter().find(|target| target.name == "chrome").ok_or("no such target")?;
//! let timeline = br#"[{"ph": "X", "name": "conv", "ts": 1, "dur": 2, "pid": 0, "tid": 0}]"#;
//! let changed = Mutator::new(7).change(target.content, timeline, timeline);
//! let mut trail = Trail::default();
//! (target.run)(&changed, &mut trail);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Floors
//! Each row uses those below it.
//!
//! ```text
//! seeds                                                the inputs to begin with
//! targets: readers · questions · models · settings     an input is read, and all is asked of what was read
//! mutation: text · model · database · bytes                       an input that is changed as befits its content
//! engines (texts of engines)   packing   trail                                      many files in one input; what became of an input
//! ```

mod engines;
mod mutation;
mod packing;
pub mod seeds;
mod targets;
mod trail;

pub use mutation::Mutator;
pub use packing::{Packed, folder, pack, unpack};
pub use targets::{Content, PROGRAM_CONTENT, PROGRAM_FILES, TARGETS, Target, run};
pub use trail::Trail;
