//! The byte layouts of CANN's raw profiling records, declared once for reading and for writing.
//!
//! A profile of an Ascend processor (a `PROF_*` directory) consists of files of records of a fixed
//! size. Each record type of this crate shows its layout as a table of offsets, and the same table
//! generates the functions that read and write it, so the two can't disagree. Everything is
//! little-endian and packed.
//!
//! The crate has no dependency and does as little as possible, because the instrumentation library
//! carries it into other people's programs.
//!
//! - [`host`] and [`additional`]: reports of the host-side libraries; [`capture`]: those on captured graphs.
//! - [`device`] and [`samples`]: reports of the device; [`links`]: those on links and bandwidths.
//! - [`cache`] and [`preparation`]: counters of caches for tasks, and the preparation of data.
//! - [`monitor`]: readings of the monitors beside cores.
//! - [`launching`]: collective operations that the device's own processors launch.
//! - [`ccu`] and [`dpu`]: units for collective communication, and data processing units.
//! - [`nano`]: the records of chip 9 alone.
//! - [`legacy`]: the records of the tool chain of 2022.
//! - [`board`]: opscope's own records on small-chip boards.
//! - [`subscription`]: opscope's own text about the operators of subscribed models.
//! - [`SliceWriter`]: writes such files the way the collector does.
//!
//! ```text
//! slice_writer                                             files of records
//! capture                                                  layouts of notes on captured graphs
//! host  additional  launching  ccu  dpu                    layouts
//! device  samples  links  cache  monitor  preparation      layouts
//! nano  legacy  board                                      layouts
//! record  field                                            a layout's table, and the types in it
//! chip  hash                                               numbers of processors, hashes of names
//! ```
//!
//! ```
//! use opscope_cann_raw::{Record, hash_of, host::ApiEvent};
//!
//! let call = ApiEvent { level: 5000, kind: 1002, thread: 7, begin: 100, end: 140, ..ApiEvent::default() };
//! let mut bytes = [0; ApiEvent::SIZE];
//! call.write(&mut bytes);
//! assert_eq!(ApiEvent::read(&bytes), Some(call));
//! assert_eq!(ApiEvent::read(&bytes[1..]), None);
//! assert_eq!(hash_of("Mul"), 293_165_879_027_200);
//! ```

pub mod additional;
pub mod board;
pub mod cache;
pub mod capture;
pub mod ccu;
mod chip;
pub mod device;
pub mod dpu;
mod field;
mod hash;
pub mod host;
pub mod launching;
pub mod legacy;
pub mod links;
pub mod monitor;
pub mod nano;
pub mod preparation;
mod record;
pub mod samples;
mod slice_writer;
pub mod subscription;

pub use chip::{Chip, DeviceLog};
pub use field::Field;
pub use hash::hash_of;
pub use record::Record;
pub use slice_writer::{SLICE_BYTES, SliceWriter};
