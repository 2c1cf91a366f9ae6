//! Raw directories of Ascend (`PROF_*`, `JOB*`), their host and device directories, and folders above them.

use crate::about::{About, FormatKind, Tried};
use crate::format::{Content, Format, Reader};
use crate::raw;

/// The format.
pub static FORMAT: Format = Format {
    name: "a raw directory of Ascend",
    about: Some(&About {
        kind: FormatKind::Profile,
        from: "CANN 5.x to 8.x: raw directories (PROF_*, JOB*)",
        reads: "tasks, operators, calls, launches, iterations, hardware's counters, samples, marks; ONNX Runtime's and AscendCL's files beside them",
        written_by: Some("opscope collect, opscope sample prof"),
        lacks: "records of kinds that are not known, which are counted",
        tried: Tried::PublicLayout,
    }),
    is: |look| !look.profiles().is_empty(),
    reader: Reader::Place(|look, progress| {
        let path = look.path.clone();
        let profile = raw::only(&path, look.into_raw()?.profiles)?;
        let place = profile.path.clone();
        let (trace, remarks) = raw::read(profile, progress)?;
        Ok(Content { remarks, ..Content::new(trace, place) })
    }),
};
