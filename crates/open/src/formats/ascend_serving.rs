//! Requests and batches of a server of language models, as msServiceProfiler's tables tell them.

use opscope_cann::read::serving;

use crate::OpenError;
use crate::about::{About, FormatKind, Tried};
use crate::format::{Content, Format, Reader};

const NAME: &str = "a profile of a server of language models";

const ABOUT: About = About {
    kind: FormatKind::Profile,
    from: "msServiceProfiler of MindIE and vLLM-Ascend (request.csv, batch.csv, forward.csv and others)",
    reads: "requests, batches and forward passes as ranges; tokens, waits and the cache as samples",
    written_by: None,
    lacks: "operators; communication between prefill and decode nodes; profiler.db, which has the same",
    tried: Tried::Documentation,
};

/// The format of one table.
pub static FORMAT: Format = Format {
    name: NAME,
    about: Some(&ABOUT),
    is: |look| !look.is_folder && serving::looks_like(&look.bytes),
    reader: Reader::Bytes(|input, path, stop| {
        serving::read(&input, stop).map_err(|error| OpenError::at(path, error))
    }),
};

/// The same of a folder of tables.
pub static FOLDER: Format = Format {
    name: NAME,
    about: Some(&ABOUT),
    is: |look| look.is_folder && serving::is_folder(&look.path),
    reader: Reader::Place(|look, progress| {
        let place = look.path;
        let mut trace = serving::read_folder(&place, &progress.stop());
        trace.drop_impossible(&place.display().to_string());
        // The same requests on a timeline.
        let along = vec![place.join("chrome_tracing.json")];
        Ok(Content { along, ..Content::new(trace, place) })
    }),
};
