//! Tables of rocprofv3, alone and in a folder.

use opscope_formats::rocm;

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Content, Format, Reader};
use crate::progress::go_on;

/// A single table.
pub static FORMAT: Format = Format {
    name: "a table of rocprofv3",
    about: Some(&ABOUT),
    is: |look| !look.is_folder && rocm::looks_like(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        rocm::read(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};

/// The same records in JSON.
pub static JSON: Format = Format {
    name: "a JSON of rocprofv3",
    about: Some(&About {
        from: "AMD rocprofv3 of ROCm 6.2 to 7 (--output-format json): *_results.json",
        reads: "kernels, copies, calls of HIP, HSA and RCCL, ROCTx ranges, launches, hardware's counters, of one process or several",
        lacks: "samples of the program counter, allocations",
        ..ABOUT
    }),
    is: |look| !look.is_folder && rocm::is_json(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        rocm::read_json(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};

/// A folder of tables of one run.
pub static FOLDER: Format = Format {
    name: "a folder of rocprofv3's tables",
    about: Some(&About {
        from: "AMD rocprofv3 of ROCm 6.2 to 7 (--output-format csv): the folder that -d names",
        reads: "all tables in it as one run: kernels and copies with the calls that launched them, ranges, counters",
        ..ABOUT
    }),
    is: |look| look.is_folder && rocm::is_folder(&look.path),
    reader: Reader::Place(|look, progress| {
        let stop = progress.stop();
        let trace = rocm::read_folder(&look.path, &stop);
        go_on(&stop, &look.path)?;
        let mut trace = trace.map_err(|error| OpenError::at(&look.path, error))?;
        trace.drop_impossible(&look.path.display().to_string());
        Ok(Content::new(trace, look.path))
    }),
};

const ABOUT: About = About {
    kind: FormatKind::Profile,
    from: "AMD rocprofv3 of ROCm 6.2 to 7 (--output-format csv): *_kernel_trace.csv, *_hip_api_trace.csv and others",
    reads: "kernels, copies, calls of HIP, HSA and RCCL, ROCTx ranges, hardware's counters, or the sums that *_stats.csv state",
    written_by: None,
    lacks: "samples of the program counter, allocations, rocpd databases; its Perfetto traces are read as such",
    tried: Tried::Documentation,
};
