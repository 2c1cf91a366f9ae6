//! Turns streams of records into native tables.

mod api;
mod blocks;
mod cache;
mod cache_events;
mod capture;
mod ccu;
mod communication;
mod core_samples;
mod device;
mod dpu;
mod frequency;
mod functions;
mod host;
mod host_usage;
mod instructions;
mod launching;
mod legacy;
mod links;
mod media;
mod model_debug;
mod monitors;
mod nano;
mod network;
mod nodes;
mod os_calls;
mod preparation;
mod stars;
mod system;
mod tasks;
mod track;
mod traffic;
mod tx;

pub(crate) use capture::OP_NOTES as CAPTURED_OP_NOTES;
pub(crate) use device::device_tables;
pub(crate) use host::{has_expanded_streams, host_tables};
pub(crate) use legacy::records::Source as LegacySource;

use std::convert::Infallible;

use opscope_cann_raw::Record;
use opscope_columns::Column;

use crate::parallel;
use crate::slices::{Magic, Stream};
use opscope_trace::{LossKind, Losses};

/// A result of decoding that can take in what followed it.
pub(crate) trait Append: Default + Send {
    /// Moves all of `next` behind what is here.
    fn append(&mut self, next: &mut Self);
}

macro_rules! append_tables {
    ($($table:ty),+ $(,)?) => {$(
        impl Append for $table {
            fn append(&mut self, next: &mut Self) {
                <$table>::append(self, next);
            }
        }
    )+};
}
append_tables!(
    crate::tables::ApiTable,
    crate::tables::BlockTable,
    crate::tables::NodeTable,
    crate::tables::NodeAttributeTable,
    crate::tables::TaskTrackTable,
    crate::tables::HostFlipTable,
    crate::tables::MemcpyTable,
    crate::tables::CounterTable,
    crate::tables::MissionTable,
    crate::tables::ChannelTable,
    crate::tables::DpuKernelTable,
    crate::tables::DpuStepTable,
    crate::tables::DpuTaskTable,
    crate::tables::HelperTable,
    crate::tables::LoopNoteTable,
    crate::tables::WaitNoteTable,
    crate::tables::DeviceTaskTable,
    crate::tables::AiCpuTable,
    crate::tables::TaskEventsTable,
    crate::tables::ModelTable,
    crate::tables::TaskMemoryTable,
    crate::tables::StaticMemoryTable,
    crate::tables::LogicStreamTable,
    crate::tables::NpuMemoryTable,
    crate::tables::SchedulerSampleTable,
    crate::tables::NpuModuleMemoryTable,
    crate::tables::TrafficTable,
    crate::tables::FrequencyTable,
    crate::tables::PcieTable,
    crate::tables::CoreSampleTable,
    crate::tables::CommunicationNoteTable,
    crate::tables::CollectiveNoteTable,
    crate::tables::GroupStreamsTable,
    crate::tables::LaunchingTables,
    crate::tables::LinkTables,
    crate::tables::QualityTable,
    crate::tables::UnifiedBusTable,
);

impl<T: Send> Append for Vec<T> {
    fn append(&mut self, next: &mut Self) {
        if self.is_empty() {
            std::mem::swap(self, next);
        } else {
            Vec::append(self, next);
        }
    }
}

impl<T: Copy + Send> Append for Column<T> {
    fn append(&mut self, next: &mut Self) {
        if self.is_empty() {
            std::mem::swap(self, next);
        } else {
            Column::append(self, next);
        }
    }
}

impl<A: Append, B: Append> Append for (A, B) {
    fn append(&mut self, next: &mut Self) {
        self.0.append(&mut next.0);
        self.1.append(&mut next.1);
    }
}

/// How many bytes of a stream are decoded in one go.
const BYTES_PER_PART: usize = 1 << 20;

/// Decodes every record of some streams, on all cores, in their order, until they are stopped.
///
/// `add` gets the result of a part so far, which begins anywhere in the stream, a record, and whether its
/// stream is an ageing one; what it refuses is counted under the reason that it gives. Records with a
/// wrong magic number don't reach it.
pub(crate) fn decode<R: Record, T: Append>(
    streams: &[Stream],
    magic: Option<Magic>,
    losses: &mut Losses,
    add: impl Fn(&mut T, R, bool) -> Result<(), LossKind> + Sync,
) -> T {
    let mut whole = T::default();
    let bytes_per_part = (BYTES_PER_PART / R::SIZE).max(1) * R::SIZE;
    for stream in streams {
        let mapped = stream.map(losses);
        let pieces = mapped.pieces(R::SIZE, magic, losses);
        let parts: Vec<&[u8]> = pieces.iter().flat_map(|piece| piece.chunks(bytes_per_part)).collect();
        let Ok(()) = parallel::parts(
            parts.len(),
            |number, part: &mut Decoded<T>| {
                if !stream.stop.is_wanted() {
                    part.decode(parts[number], magic, stream.aging, &add);
                    stream.stop.has_read(parts[number].len());
                }
            },
            |part| {
                whole.append(&mut part.records);
                part.lost.drain(..).for_each(|(reason, count)| losses.count(reason, &stream.name, count));
                Ok::<(), Infallible>(())
            },
        );
    }
    whole
}

/// Part of a stream, decoded.
struct Decoded<T> {
    records: T,
    lost: Vec<(LossKind, u64)>,
}

impl<T: Default> Default for Decoded<T> {
    fn default() -> Self {
        Self { records: T::default(), lost: Vec::new() }
    }
}

impl<T> Decoded<T> {
    /// Adds whole records of type `R`.
    fn decode<R: Record>(
        &mut self,
        bytes: &[u8],
        magic: Option<Magic>,
        aging: bool,
        add: &impl Fn(&mut T, R, bool) -> Result<(), LossKind>,
    ) {
        for record in bytes.chunks_exact(R::SIZE) {
            let has_magic =
                magic.is_none_or(|magic| record[magic.offset..].starts_with(&magic.value.to_le_bytes()));
            let result = match R::read(record) {
                Some(record) if has_magic => add(&mut self.records, record, aging),
                _ => Err(LossKind::BrokenMagic),
            };
            let Err(reason) = result else { continue };
            match self.lost.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, count)) => *count += 1,
                None => self.lost.push((reason, 1)),
            }
        }
    }
}
