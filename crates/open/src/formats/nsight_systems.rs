//! Databases that Nsight Systems exports.

use opscope_formats::input::Input;
use opscope_formats::nsight::systems;

use super::other_database::is_database;
use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Format, Reader};
use crate::look::Look;

/// The format.
pub static FORMAT: Format = Format {
    name: "a profile of Nsight Systems",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "NVIDIA Nsight Systems 2018 to 2025 (nsys export --type sqlite)",
        reads: "kernels, whole graphs, copies, waits, calls of CUDA, cuDNN, cuBLAS, MPI and the system, launches, NVTX ranges, the GPU's own counters",
        written_by: None,
        lacks: "scheduling, call chains, graphics, .nsys-rep itself, which nsys exports",
        tried: Tried::PublicLayout,
    }),
    is,
    reader: Reader::Bytes(|input, path, stop| {
        let read = match input {
            Input::Mapped(_) => systems::read_file(path, stop),
            unpacked => systems::read_bytes(&unpacked, path, stop),
        };
        read.map_err(OpenError::content)
    }),
};

/// Lines of JSON of the same.
pub static LINES: Format = Format {
    name: "an export in lines of JSON of Nsight Systems",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "NVIDIA Nsight Systems (nsys export --type jsonlines)",
        reads: "kernels, copies, waits, calls of CUDA, launches, NVTX ranges",
        written_by: None,
        lacks: "names of threads and GPUs, scheduling, graphics",
        tried: Tried::Documentation,
    }),
    is: |look| !look.is_folder && systems::lines_look_like(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        systems::read_lines(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};

/// A SQLite database whose tables are those of Nsight Systems; they may be listed anywhere in it.
fn is(look: &Look) -> bool {
    is_database(look)
        && match look.compressed {
            false => systems::looks_like(&look.path),
            true => Input::open_until(&look.path, &|| look.stop.is_wanted())
                .is_ok_and(|bytes| systems::bytes_look_like(&bytes)),
        }
}
