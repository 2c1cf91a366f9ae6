//! The scheduler's samples of links, levels of bandwidth and quality of service.

use opscope_cann_raw::links::{
    AcceleratorLevels, BandwidthLevels, ChipLink, DiePcie, DiePower, DieQuality, DieTraffic, QUALITIES,
    Quality, WideDieTraffic, function, link,
};
use opscope_cann_raw::{Chip, Record};

use crate::catalogue::Catalogue;
use crate::decode::decode;
use crate::slices::DEVICE_MAGIC;
use crate::tables::{
    AcceleratorSample, BandwidthSample, ChipLinkSample, DieSample, LinkKind, LinkTables, PowerSample,
    QualitySample, QualityTable,
};
use opscope_trace::{LossKind, Losses};

/// How many bytes each of these records has.
pub(super) const BYTES: usize = 64;

/// A record of which the function decides the layout.
#[derive(Clone, Copy, Debug)]
struct AnyLink {
    bytes: [u8; BYTES],
}

impl Default for AnyLink {
    fn default() -> Self {
        Self { bytes: [0; BYTES] }
    }
}

impl Record for AnyLink {
    const SIZE: usize = BYTES;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self { bytes: *bytes.first_chunk()? })
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes[..BYTES].copy_from_slice(&self.bytes);
    }
}

/// Adds what `stars_soc_profile.data` and `qos.data` hold, in the order of the files.
pub(super) fn decode_links(catalogue: &Catalogue, chip: Chip, tables: &mut LinkTables, losses: &mut Losses) {
    let streams = catalogue.streams("stars_soc_profile.data");
    let is_wide = chip.has_wide_task_ids();
    let mut sampled =
        decode(streams, Some(DEVICE_MAGIC), losses, |tables: &mut LinkTables, raw: AnyLink, _| {
            add(tables, &raw.bytes, is_wide)
        });
    tables.append(&mut sampled);
    let streams = catalogue.streams("qos.data");
    let mut qualities = decode(streams, None, losses, |table: &mut QualityTable, raw: Quality, _| {
        table.push(QualitySample { time: raw.time, die: None, bandwidths: raw.bandwidths });
        Ok(())
    });
    tables.qualities.append(&mut qualities);
}

/// Adds one record; `is_wide` on chips 15 and 16.
pub(super) fn add(tables: &mut LinkTables, bytes: &[u8; BYTES], is_wide: bool) -> Result<(), LossKind> {
    /// The value that stands for none.
    const NONE: u64 = u64::MAX;
    let word = u16::from_le_bytes([bytes[0], bytes[1]]);
    let kind = word >> 10;
    match (word & 0x3F, is_wide) {
        (function::ACCELERATOR, _) => {
            let raw: AcceleratorLevels = read(bytes)?;
            tables.accelerators.push(AcceleratorSample {
                time: raw.time,
                accelerator: raw.accelerator,
                read_bandwidth: raw.read_bandwidth,
                write_bandwidth: raw.write_bandwidth,
                outstanding_reads: raw.outstanding_reads,
                outstanding_writes: raw.outstanding_writes,
            });
        }
        (function::BANDWIDTH, false) => {
            let raw: BandwidthLevels = read(bytes)?;
            let (buffer, access_table) = ((raw.levels >> 3) as u8, (raw.levels & 7) as u8);
            tables.bandwidths.push(BandwidthSample { time: raw.time, buffer, access_table });
        }
        (function::DIES, false) => {
            let DieTraffic { time, die, received, sent, .. } = read(bytes)?;
            tables.dies.push(DieSample { time, die, bytes: both(received, sent) });
        }
        (function::DIES, true) => {
            let WideDieTraffic { time, die, received, sent, .. } = read(bytes)?;
            let die = u16::from(die >> 2);
            tables.dies.push(DieSample { time, die, bytes: both(received, sent) });
        }
        (function::CHIP_LINK, false) => {
            let ChipLink { time, id, received, sent, .. } = read(bytes)?;
            let kind = match kind {
                link::PA => LinkKind::Pa,
                link::PCIE => LinkKind::Pcie,
                _ => return Err(LossKind::UnknownRecord),
            };
            tables.links.push(ChipLinkSample { time, kind, id: id & 0x3F, received, sent });
        }
        (function::CHIP_LINK, true) => {
            let DiePcie { time, written, read, .. } = read(bytes)?;
            if written == NONE || read == NONE {
                return Err(LossKind::InvalidRecord);
            }
            let (received, sent) = (written, read);
            tables.links.push(ChipLinkSample { time, kind: LinkKind::DiePcie, id: kind, received, sent });
        }
        (function::QUALITY, true) => {
            // The first two values belong to no event.
            const BEFORE: usize = 2;
            let raw: DieQuality = read(bytes)?;
            let mut bandwidths = [0; QUALITIES];
            bandwidths[..QUALITIES - BEFORE].copy_from_slice(&raw.bandwidths[BEFORE..]);
            tables.qualities.push(QualitySample { time: raw.time, die: Some(kind), bandwidths });
        }
        (function::POWER, true) => {
            let raw: DiePower = read(bytes)?;
            let megahertz = raw.readings[DiePower::MEGAHERTZ];
            tables.power.push(PowerSample { time: raw.time, die: kind, megahertz });
        }
        _ => return Err(LossKind::UnknownRecord),
    }
    Ok(())
}

fn read<R: Record>(bytes: &[u8; BYTES]) -> Result<R, LossKind> {
    R::read(bytes).ok_or(LossKind::InvalidRecord)
}

fn both(received: [u32; 4], sent: [u32; 4]) -> [u32; 8] {
    std::array::from_fn(|place| if place < 4 { received[place] } else { sent[place - 4] })
}
