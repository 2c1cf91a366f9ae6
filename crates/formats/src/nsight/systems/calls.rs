//! Calls of the host.

use opscope_trace::ApiLevel;

use super::reader::Reader;

/// The tables of calls, and the layer that each is of.
const TABLES: [(&str, ApiLevel); 9] = [
    ("CUPTI_ACTIVITY_KIND_RUNTIME", ApiLevel::Runtime),
    ("CUPTI_ACTIVITY_KIND_DRIVER", ApiLevel::Runtime),
    ("CUDNN_EVENTS", ApiLevel::Node),
    ("CUBLAS_EVENTS", ApiLevel::Node),
    ("OSRT_API", ApiLevel::System),
    ("MPI_COLLECTIVES_EVENTS", ApiLevel::Communication),
    ("MPI_P2P_EVENTS", ApiLevel::Communication),
    ("MPI_START_WAIT_EVENTS", ApiLevel::Communication),
    ("MPI_OTHER_EVENTS", ApiLevel::Communication),
];

impl Reader<'_> {
    /// Reads the calls of CUDA, of the libraries above it and of the system. The tables of MPI name their texts in a
    /// column of another name.
    pub fn read_calls(&mut self) {
        const COLUMNS: [&str; 6] = ["start", "end", "globalTid", "correlationId", "nameId", "textId"];
        for (table, level) in TABLES {
            self.each_record(table, &COLUMNS, |reader, row, start, duration| {
                let (global, correlation, name) =
                    (row.integer(2), row.number(3), row.integer(4).or(row.integer(5)));
                reader.recording.call(level, global, name, correlation, (start, duration));
            });
        }
    }
}
