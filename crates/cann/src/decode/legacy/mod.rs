//! Decodes the host-side files of the tool chain of 2022 (CANN 5.x).
//!
//! That tool chain reported per component instead of per level of software, and wrote names into
//! its records. What it tells is put into the same tables: calls of AscendCL and the runtime, and
//! inferences, become calls; what it says about tasks becomes [`DescribedTask`]s, because it names
//! a task's operator and model itself, where later tool chains leave that to the nesting of calls.
//!
//! The files lie in the host's directory, in those of the devices, or in a `JOB*` directory that is
//! both. As the layouts were never published for all products, a file is taken only if most of its
//! records have the magic number, the tag and possible content; every record taken is counted under
//! [`Reason::OldLayout`], so that results say where they come from.
//!
//! [`DescribedTask`]: crate::tables::DescribedTask

mod calls;
mod models;
mod tasks;

use opscope_cann_raw::Record;
use opscope_cann_raw::host::level;
use opscope_cann_raw::legacy::{MixedName, until_zero};

use crate::catalogue::Catalogue;
use crate::decode::decode;
use crate::losses::{Losses, Reason};
use crate::names::Names;
use crate::slices::{HOST_MAGIC, Stream};
use crate::tables::HostTables;

/// A directory that may hold files of that tool chain.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) catalogue: &'a Catalogue,
    /// The device whose directory it is; `None` for the host's.
    pub(crate) device: Option<u16>,
}

/// The components whose files are decoded here.
const COMPONENTS: [&str; 3] = ["AclModule.", "Framework.", "runtime."];

/// Decodes what the directories hold of that tool chain. Where files of a later one told of tasks
/// already, nothing is added, so that nothing counts twice.
pub(super) fn add(sources: &[Source<'_>], tables: &mut HostTables) {
    let is_old = |name: &str| COMPONENTS.iter().any(|component| name.starts_with(component));
    let has_newer = !(tables.task_tracks.is_empty() && tables.nodes.is_empty() && tables.api.is_empty());
    if has_newer || !sources.iter().any(|source| source.catalogue.names().any(is_old)) {
        return;
    }
    for source in sources {
        tables.names.read_more(source.catalogue, &mut tables.losses);
    }
    calls::add(sources, tables);
    models::add(sources, tables);
    tasks::add(sources, tables);
    tables.legacy = tables.losses.total(Reason::OldLayout) > 0;
}

/// A record and the device whose directory or file it comes from.
type Placed<R> = (Option<u16>, R);

/// All records of the streams that `is_stream` names and that have this layout.
fn records<R: Record + Copy + Send>(
    sources: &[Source<'_>],
    losses: &mut Losses,
    is_stream: impl Fn(&str) -> bool,
    is_possible: impl Fn(&R) -> bool + Sync,
) -> Vec<Placed<R>> {
    let mut all = Vec::new();
    for source in sources {
        let names: Vec<&str> = source.catalogue.names().filter(|name| is_stream(name)).collect();
        for stream in names.into_iter().flat_map(|name| source.catalogue.streams(name)) {
            let device = source.device.or_else(|| device_of(stream));
            all.extend(guarded(stream, losses, &is_possible).into_iter().map(|record| (device, record)));
        }
    }
    all
}

/// The device that a file's name tells; 64 stands for the host.
fn device_of(stream: &Stream) -> Option<u16> {
    let number = stream.device.filter(|number| *number < crate::metadata::HOST_ID)?;
    u16::try_from(number).ok()
}

/// The records of a stream, if it has this layout: if more of them are possible than not.
fn guarded<R: Record + Copy + Send>(
    stream: &Stream,
    losses: &mut Losses,
    is_possible: &(impl Fn(&R) -> bool + Sync),
) -> Vec<R> {
    let mut own = Losses::default();
    let found: Vec<R> =
        decode(std::slice::from_ref(stream), Some(HOST_MAGIC), &mut own, |all: &mut Vec<R>, record, _| {
            if !is_possible(&record) {
                return Err(Reason::InvalidRecord);
            }
            all.push(record);
            Ok(())
        });
    let refused = own.total(Reason::BrokenMagic) + own.total(Reason::InvalidRecord);
    let accepted = found.len() as u64;
    if refused > accepted || (accepted == 0 && !own.rows().is_empty()) {
        losses.count(Reason::RefusedFile, &stream.name, stream.paths.len() as u64);
        return Vec::new();
    }
    losses.merge(own);
    losses.count(Reason::OldLayout, &stream.name, accepted);
    found
}

/// Whether bytes can be the name of a call, an operator or a model.
fn is_name(text: &[u8]) -> bool {
    !text.is_empty() && std::str::from_utf8(text).is_ok_and(|text| !text.chars().any(char::is_control))
}

/// Whether a name of either form can be one.
fn is_mixed_name(name: Option<MixedName<'_>>) -> bool {
    match name {
        Some(MixedName::Hash(_)) => true,
        Some(MixedName::Text(text)) => is_name(text),
        None => false,
    }
}

/// The hash of a name of either form; text becomes known under its hash.
fn hash_of_name(names: &mut Names, name: Option<MixedName<'_>>) -> u64 {
    match name {
        Some(MixedName::Hash(hash)) => hash,
        Some(MixedName::Text(text)) => names.add_text(text),
        None => 0,
    }
}

/// The name of a call, which is text or, in the first eight bytes, the hash of it.
fn call_name(names: &Names, buffer: &[u8; 64]) -> Option<String> {
    let (hash, rest) = buffer.split_first_chunk::<8>()?;
    let is_short = rest.iter().all(|byte| *byte == 0);
    if let Some(text) = names.get(u64::from_le_bytes(*hash)).filter(|_| is_short) {
        return Some(text.to_owned());
    }
    let text = until_zero(buffer);
    is_name(text).then(|| String::from_utf8_lossy(text).into_owned())
}

/// Numbers for names of calls: the records have none, but tables tell calls apart by them.
struct CallKinds {
    level: u16,
    first: u32,
    /// How many numbers there are.
    limit: u32,
    known: std::collections::HashMap<String, u32>,
}

impl CallKinds {
    fn new(level: u16, first: u32, limit: u32) -> Self {
        Self { level, first, limit, known: std::collections::HashMap::new() }
    }

    /// The number of a name; `None` if there are more names than numbers.
    fn number(&mut self, names: &mut Names, name: String) -> Option<u32> {
        if let Some(&number) = self.known.get(&name) {
            return Some(number);
        }
        let next = u32::try_from(self.known.len()).ok().filter(|next| *next < self.limit)?;
        let number = self.first + next;
        names.add_type(self.level, number, &name);
        self.known.insert(name, number);
        Some(number)
    }
}

/// The kinds of calls of models, with the numbers that later tool chains give them.
mod model_call {
    pub(super) const EXECUTE: u32 = 1;
    pub(super) const LOAD: u32 = 2;
    pub(super) const COPY_INPUT: u32 = 3;
    pub(super) const COPY_OUTPUT: u32 = 4;
}

/// Makes the names of calls of models known.
fn name_model_calls(names: &mut Names) {
    for (number, name) in [
        (model_call::EXECUTE, "ModelExecute"),
        (model_call::LOAD, "ModelLoad"),
        (model_call::COPY_INPUT, "InputCopy"),
        (model_call::COPY_OUTPUT, "OutputCopy"),
    ] {
        names.add_type(level::MODEL, number, name);
    }
}
