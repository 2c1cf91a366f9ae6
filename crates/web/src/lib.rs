//! The page that shows a profile, and that of a run on many ranks; the report: page and profile in one file; and the
//! server, which gives the same pages the parts of a profile of any size as they show them.
//!
//! The pages themselves are `ui/`: plain modules, which the build script makes into one script a page by the rules of
//! `link.rs`, with short names for the modules' own variables (`shorten.rs`); no other tool is needed to build opscope.
//!
//! ```
//! use opscope_analyze::Query;
//! use opscope_trace::{Nanoseconds, Task, Trace};
//! use opscope_web::columns::Container;
//! use opscope_web::{Embedded, Kind, Report, Section};
//!
//! let mut trace = Trace::new();
//! let name = trace.strings.intern("Conv2D </script>");
//! trace.tasks.push(Task::new(name, Nanoseconds(100), Nanoseconds(40)));
//! let embedded = Embedded::of(&trace, &Query::default().run(&trace)?, 1_000_000);
//! assert_eq!(Container::read(&embedded.columns)?.numbers("slices", "duration")?, [40.0]);
//!
//! let answers = serde_json::json!({ "timeline": embedded.timeline });
//! let text = [Section { heading: "Time".to_owned(), text: "40 ns in 1 operator".to_owned() }];
//! let report = Report {
//!     kind: Kind::Profile,
//!     title: "example",
//!     language: "en",
//!     text: &text,
//!     answers: &answers,
//!     columns: &embedded.columns,
//!     columns_before: None,
//! };
//! let mut html = Vec::new();
//! report.write(&mut html)?;
//! assert!(html.starts_with(b"<!doctype html>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | holds | uses |
//! |---|---|---|
//! | `embed` | a trace as columns: what is carried in full, and what is summed up | `columns`, `graph` |
//! | [`graph`] | the model's graph: where it comes from, places, folding, fused operators | `columns` |
//! | `single_file` | the report as HTML | the page |
//! | [`columns`] | tables as bytes that a page reads without parsing | – |
//! | `server` | the socket and its limits | `guard`, `routes`, `session`, `ranks` |
//! | `guard` | who may ask, and what answers forbid a browser | `routes` (its refusals) |
//! | `routes` | the addresses, a file for each kind | `session`, `ranks`, `single_file` (the pages) |
//! | `session` | the profiles that are read and asked | `picture`, `embed`, `cache` |
//! | `ranks` | a run on many ranks that is examined and asked | `session` (problems and progress) |
//! | `picture` | a timeline of any size, part by part | `embed`, `columns` |
//! | `link`, `shorten`, `words` | modules into one script, that with short names, and the second language without its keys (the build script's) | – |

mod cache;
pub mod columns;
mod embed;
pub mod graph;
mod guard;
#[cfg(test)]
mod link;
mod picture;
mod ranks;
mod routes;
mod server;
mod session;
#[cfg(test)]
mod shorten;
mod single_file;
#[cfg(test)]
mod words;

pub use embed::{Embedded, LeftOut, USUAL_SLICES, compute_units};
pub use ranks::{Ranks, RanksLoader};
pub use server::{Ended, Server, ServerError};
pub use session::{Change, Loader, Problem, Reading, Subject};
pub use single_file::{Kind, Report, Section, fingerprint};
