//! The rows of a timeline: what of a trace is drawn where. Pages and the files that viewers open draw the same.
//!
//! ```
//! use opscope_timeline::Layout;
//! use opscope_trace::{ApiCall, ApiLevel, Nanoseconds, Trace};
//!
//! // Two calls that cross: no viewer draws them on one lane.
//! let mut trace = Trace::new();
//! let name = trace.strings.intern("aclmdlExecute");
//! for (start, duration) in [(0, 10), (5, 10)] {
//!     let (start, duration) = (Nanoseconds(start), Nanoseconds(duration));
//!     let level = ApiLevel::Application;
//!     trace.api_calls.push(ApiCall { thread: None, level, name, start, duration, iteration: None });
//! }
//! let layout = Layout::new(&trace);
//! let lanes: Vec<String> = layout.lanes.iter().map(|lane| lane.label.to_string()).collect();
//! assert_eq!(lanes, ["calls", "calls (2)"]);
//! ```
//!
//! Each row uses those below it:
//!
//! ```text
//! rows                     the lanes taken apart by depth
//! layout                   the lanes of a trace
//! label · time_line        their names; their times
//!
//! tile                     parts of a row as a page draws them
//! index · counter          any row summed up into buckets of time; the ends of a counter's values
//! launches                 the tasks that each call launched
//! ```

mod counter;
mod index;
mod label;
mod launches;
mod layout;
mod rows;
mod tile;
mod time_line;

pub use counter::CounterIndex;
pub use index::{Bucket, Index, Spans};
pub use label::{Label, LaneKind, Owner};
pub use launches::Launches;
pub use layout::{CounterPlace, Group, GroupKind, Lane, Layout, Rows};
pub use rows::{Depths, Row};
pub use tile::Tile;
pub use time_line::TimeLine;
