//! Records of that tool chain, guarded against other layouts, and their names in two forms.

use std::collections::HashMap;

use opscope_cann_raw::Record;
use opscope_cann_raw::host::level;
use opscope_cann_raw::legacy::{MixedName, until_zero};

use crate::catalogue::Catalogue;
use crate::decode::decode;
use crate::names::Names;
use crate::slices::{HOST_MAGIC, Stream};
use opscope_trace::{LossKind, Losses};

/// A directory that may hold files of that tool chain.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) catalogue: &'a Catalogue,
    /// The device whose directory it is; `None` for the host's.
    pub(crate) device: Option<u16>,
}
/// A record and the device whose directory or file it comes from.
pub(super) type Placed<R> = (Option<u16>, R);

/// All records of the streams that `is_stream` names and that have this layout.
pub(super) fn records<R: Record + Copy + Send>(
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
                return Err(LossKind::InvalidRecord);
            }
            all.push(record);
            Ok(())
        });
    let refused = own.total(LossKind::BrokenMagic) + own.total(LossKind::InvalidRecord);
    let accepted = found.len() as u64;
    if refused > accepted || (accepted == 0 && !own.rows().is_empty()) {
        losses.count(LossKind::RefusedFile, &stream.name, stream.slices.len() as u64);
        return Vec::new();
    }
    losses.merge(own);
    losses.count(LossKind::OldLayout, &stream.name, accepted);
    found
}

/// Whether bytes can be the name of a call, an operator or a model.
pub(super) fn is_name(text: &[u8]) -> bool {
    !text.is_empty() && std::str::from_utf8(text).is_ok_and(|text| !text.chars().any(char::is_control))
}

/// Whether a name of either form can be one.
pub(super) fn is_mixed_name(name: Option<MixedName<'_>>) -> bool {
    match name {
        Some(MixedName::Hash(_)) => true,
        Some(MixedName::Text(text)) => is_name(text),
        None => false,
    }
}

/// The hash of a name of either form; text becomes known under its hash.
pub(super) fn hash_of_name(names: &mut Names, name: Option<MixedName<'_>>) -> u64 {
    match name {
        Some(MixedName::Hash(hash)) => hash,
        Some(MixedName::Text(text)) => names.add_text(text),
        None => 0,
    }
}

/// The name of a call, which is text or, in the first eight bytes, the hash of it.
pub(super) fn call_name(names: &Names, buffer: &[u8; 64]) -> Option<String> {
    let (hash, rest) = buffer.split_first_chunk::<8>()?;
    let is_short = rest.iter().all(|byte| *byte == 0);
    if let Some(text) = names.get(u64::from_le_bytes(*hash)).filter(|_| is_short) {
        return Some(text.to_owned());
    }
    let text = until_zero(buffer);
    is_name(text).then(|| String::from_utf8_lossy(text).into_owned())
}

/// Numbers for names of calls: the records have none, but tables tell calls apart by them.
pub(super) struct CallKinds {
    level: u16,
    first: u32,
    /// How many numbers there are.
    limit: u32,
    known: HashMap<String, u32>,
}

impl CallKinds {
    pub(super) fn new(level: u16, first: u32, limit: u32) -> Self {
        Self { level, first, limit, known: HashMap::new() }
    }

    /// The number of a name; `None` if there are more names than numbers.
    pub(super) fn number(&mut self, names: &mut Names, name: String) -> Option<u32> {
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
pub(super) mod model_call {
    pub(in crate::decode::legacy) const EXECUTE: u32 = 1;
    pub(in crate::decode::legacy) const LOAD: u32 = 2;
    pub(in crate::decode::legacy) const COPY_INPUT: u32 = 3;
    pub(in crate::decode::legacy) const COPY_OUTPUT: u32 = 4;
}

/// Makes the names of calls of models known.
pub(super) fn name_model_calls(names: &mut Names) {
    for (number, name) in [
        (model_call::EXECUTE, "ModelExecute"),
        (model_call::LOAD, "ModelLoad"),
        (model_call::COPY_INPUT, "InputCopy"),
        (model_call::COPY_OUTPUT, "OutputCopy"),
    ] {
        names.add_type(level::MODEL, number, name);
    }
}
