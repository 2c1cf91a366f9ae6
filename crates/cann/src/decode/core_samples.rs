//! Counters of cores that were sampled over time instead of by task.

use opscope_cann_raw::device::{CoreSample as RawSample, WideCoreSample};
use opscope_cann_raw::{Chip, DeviceLog};

use crate::catalogue::Catalogue;
use crate::decode::decode;
use crate::metadata::Metadata;
use crate::slices::Stream;
use crate::tables::{CoreSample, CoreSampleTable, DeviceTables, eight_counters};
use opscope_trace::{LossKind, Losses};

/// Decodes the samples of AI cores and vector cores. Where one file has both, a core's number tells
/// its kind.
pub(super) fn decode_core_samples(catalogue: &Catalogue, metadata: &Metadata, tables: &mut DeviceTables) {
    let streams = |name| catalogue.streams(name);
    let chip = metadata.chip();
    let DeviceTables { samples, losses, .. } = tables;
    match chip.device_log() {
        DeviceLog::TaskScheduler | DeviceLog::Hwts => {
            if metadata.sample.sample_based {
                samples.cores = narrow(streams("aicore.data"), losses);
            }
            if metadata.sample.vector_sample_based && chip != Chip::V1_1_0 {
                samples.vector_cores = narrow(streams("aiVectorCore.data"), losses);
            }
        }
        DeviceLog::Stars | DeviceLog::CompactStars if metadata.sample.sample_based => {
            let streams = streams("ffts_profile.data");
            let both = if chip.has_wide_task_ids() { wide(streams, losses) } else { narrow(streams, losses) };
            let last = last_cube_core(chip);
            samples.vector_cores = both.clone();
            samples.vector_cores.retain(|sample| sample.core > last);
            samples.cores = both;
            samples.cores.retain(|sample| sample.core <= last);
        }
        _ => {}
    }
}

/// The highest number that an AI core may have; vector cores have those above.
fn last_cube_core(chip: Chip) -> u8 {
    match chip {
        Chip::V4_1_0 => 24,
        Chip::V6_1_0 | Chip::V6_2_0 => 35,
        _ => 0,
    }
}

fn narrow(streams: &[Stream], losses: &mut Losses) -> CoreSampleTable {
    decode(streams, None, losses, |table: &mut CoreSampleTable, raw: RawSample, _| {
        let RawSample { mode, time, core, cycles, counters, .. } = raw;
        is_used(mode)?;
        table.push(CoreSample { time, core, cycles, counters: eight_counters(counters) });
        Ok(())
    })
}

fn wide(streams: &[Stream], losses: &mut Losses) -> CoreSampleTable {
    decode(streams, None, losses, |table: &mut CoreSampleTable, raw: WideCoreSample, _| {
        let WideCoreSample { mode, time, core, cycles, counters, .. } = raw;
        is_used(mode)?;
        table.push(CoreSample { time, core, cycles, counters });
        Ok(())
    })
}

fn is_used(mode: u8) -> Result<(), LossKind> {
    if mode == 0 { Err(LossKind::InvalidRecord) } else { Ok(()) }
}
