//! Work on GPUs: kernels, copies, waits.

use super::graphs::NO_DEVICE;
use super::reader::Reader;
use super::recording::{Place, copy_word, process_of, wait_word};
use crate::other_database::Cells;

/// The columns by which every task is placed, behind its times.
const PLACE: [&str; 7] = ["start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"];

impl Reader<'_> {
    /// Reads kernels, graphs, copies, fillings of memory and waits.
    pub fn read_tasks(&mut self) {
        let kernel = [&PLACE[..], &["demangledName", "shortName", "mangledName"]].concat();
        self.each_record("CUPTI_ACTIVITY_KIND_KERNEL", &kernel, |reader, row, start, duration| {
            let names = [7, 8, 9].map(|column| row.integer(column));
            reader.recording.kernel(names, place(row), (start, duration));
        });
        let graph = [&PLACE[..], &["graphId", "graphExecId"]].concat();
        self.each_record("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", &graph, |reader, row, start, duration| {
            reader.recording.graph(row.number(7).or(row.number(8)), place(row), (start, duration));
        });
        let copy = [&PLACE[..], &["copyKind"]].concat();
        self.each_record("CUPTI_ACTIVITY_KIND_MEMCPY", &copy, |reader, row, start, duration| {
            reader.recording.copy(copy_word(row.integer(7)), place(row), (start, duration));
        });
        self.each_record("CUPTI_ACTIVITY_KIND_MEMSET", &PLACE, |reader, row, start, duration| {
            reader.recording.copy("memset", place(row), (start, duration));
        });
        let wait = [&PLACE[..], &["syncType"]].concat();
        self.each_record("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", &wait, |reader, row, start, duration| {
            reader.recording.wait(wait_word(row.integer(7)), place(row), (start, duration));
        });
    }
}

fn place(row: &Cells<'_>) -> Place {
    Place {
        device: row.small(2).filter(|device| *device != NO_DEVICE),
        context: row.number(3),
        stream: row.number(4),
        correlation: row.number(5),
        process: process_of(row.number(6).unwrap_or(0)),
    }
}
