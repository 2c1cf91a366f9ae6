//! Turns streams of records into native tables.

mod api;
mod cache;
mod communication;
mod core_samples;
mod device;
mod frequency;
mod host;
mod host_usage;
mod legacy;
mod model_debug;
mod nano;
mod network;
mod nodes;
mod preparation;
mod stars;
mod tasks;
mod track;
mod traffic;
mod tx;

pub(crate) use device::device_tables;
pub(crate) use host::{has_expanded_streams, host_tables};
pub(crate) use legacy::Source as LegacySource;

use std::borrow::Cow;

use opscope_cann_raw::Record;

use crate::losses::{Losses, Reason};
use crate::parallel;
use crate::slices::{Magic, Stream};

/// A result of decoding that can take in what followed it.
pub(crate) trait Append: Default + Send {
    /// Appends `next` to this.
    fn append(&mut self, next: Self);
}

macro_rules! append_tables {
    ($($table:ty),+ $(,)?) => {$(
        impl Append for $table {
            fn append(&mut self, next: Self) {
                <$table>::append(self, next);
            }
        }
    )+};
}
append_tables!(
    crate::tables::ApiTable,
    crate::tables::NodeTable,
    crate::tables::NodeAttributeTable,
    crate::tables::TaskTrackTable,
    crate::tables::HostFlipTable,
    crate::tables::MemcpyTable,
    crate::tables::CounterTable,
    crate::tables::DeviceTaskTable,
    crate::tables::AiCpuTable,
    crate::tables::TaskEventsTable,
    crate::tables::ModelTable,
    crate::tables::TaskMemoryTable,
    crate::tables::StaticMemoryTable,
    crate::tables::LogicStreamTable,
    crate::tables::NpuMemoryTable,
    crate::tables::NpuModuleMemoryTable,
    crate::tables::TrafficTable,
    crate::tables::FrequencyTable,
    crate::tables::PcieTable,
    crate::tables::CoreSampleTable,
    crate::tables::CommunicationNoteTable,
    crate::tables::CollectiveNoteTable,
);

impl<T: Send> Append for Vec<T> {
    fn append(&mut self, mut next: Self) {
        if self.is_empty() {
            *self = next;
        } else {
            Vec::append(self, &mut next);
        }
    }
}

impl<A: Append, B: Append> Append for (A, B) {
    fn append(&mut self, next: Self) {
        self.0.append(next.0);
        self.1.append(next.1);
    }
}

/// Decodes every record of some streams, on all cores, in their order.
///
/// `add` gets the result of the piece so far, a record, and whether its stream is an ageing one;
/// what it refuses is counted under the reason that it gives. Records with a wrong magic number
/// don't reach it.
pub(crate) fn decode<R: Record, T: Append>(
    streams: &[Stream],
    magic: Option<Magic>,
    losses: &mut Losses,
    add: impl Fn(&mut T, R, bool) -> Result<(), Reason> + Sync,
) -> T {
    let mut whole = T::default();
    for stream in streams {
        let mapped = stream.map(losses);
        let pieces = mapped.pieces(R::SIZE, magic, losses);
        for (part, lost) in
            parallel::map(&pieces, |piece: &Cow<'_, [u8]>| piece_of(piece, magic, stream.aging, &add))
        {
            whole.append(part);
            for (reason, count) in lost {
                losses.count(reason, &stream.name, count);
            }
        }
    }
    whole
}

fn piece_of<R: Record, T: Append>(
    piece: &[u8],
    magic: Option<Magic>,
    aging: bool,
    add: &(impl Fn(&mut T, R, bool) -> Result<(), Reason> + Sync),
) -> (T, Vec<(Reason, u64)>) {
    let mut part = T::default();
    let mut lost: Vec<(Reason, u64)> = Vec::new();
    for bytes in piece.chunks_exact(R::SIZE) {
        let has_magic =
            magic.is_none_or(|magic| bytes[magic.offset..].starts_with(&magic.value.to_le_bytes()));
        let result = match R::read(bytes) {
            Some(record) if has_magic => add(&mut part, record, aging),
            _ => Err(Reason::BrokenMagic),
        };
        let Err(reason) = result else { continue };
        match lost.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => lost.push((reason, 1)),
        }
    }
    (part, lost)
}
