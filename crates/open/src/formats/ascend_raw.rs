//! Raw directories of Ascend (`PROF_*`, `JOB*`), their host and device directories, and folders above them.

use crate::format::{Content, Format, Reader};
use crate::raw;

/// The format.
pub static FORMAT: Format = Format {
    name: "a raw directory of Ascend",
    is: |look| !look.profiles().is_empty(),
    reader: Reader::Place(|look, progress| {
        let path = look.path.clone();
        let profile = raw::only(&path, look.into_raw()?.profiles)?;
        let place = profile.path.clone();
        let (trace, remarks) = raw::read(profile, progress)?;
        Ok(Content { trace, place, remarks, files: Vec::new() })
    }),
};
