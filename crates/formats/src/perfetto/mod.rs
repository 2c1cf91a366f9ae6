//! Perfetto's traces: protocol buffers, as Perfetto's own viewer, SDK and tools read and write them.
//!
//! A file is a list of packets. Each belongs to a sequence, and its names, clock and track may have been told
//! by earlier packets of that sequence (`fields` has the numbers of the schema's fields):
//!
//! | packet | what of it is read | written |
//! |---|---|---|
//! | `track_event` | slices (begin and end), marks, values of counters, flows, arguments, events of Chrome's in another form | all but the last |
//! | `track_descriptor` | names, processes, threads, units of counters, tracks below others | yes |
//! | `interned_data` | names of events, categories and arguments, texts | yes |
//! | `clock_snapshot`, `trace_packet_defaults` | all clocks, counted on or not | one clock, counted on |
//! | `chrome_events` | names and values about the whole trace | yes |
//! | `process_tree` | names of processes and threads | no |
//! | `compressed_packets` | the packets in them | no |
//!
//! Other packets, such as those of the kernel's scheduler, have no place in a trace of work and are counted in
//! its losses. Slices, marks, values and flows mean what they mean in Chrome's JSON, so [`read()`] makes the same
//! rows of them by the same code ([`crate::chrome`]), and [`write()`] draws the same lanes.

mod fields;
mod read;
mod write;

#[cfg(test)]
mod tests;

/// The name, in text and in JSON, under which a file that is written here tells how many events it has: slices, marks
/// and values.
const EVENTS: EventsName = EventsName { text: "events", json: b"\"events\"" };

struct EventsName {
    text: &'static str,
    json: &'static [u8],
}

pub use read::{ReadError, looks_like, read, read_with};
pub use write::{is_name, write, write_file};
