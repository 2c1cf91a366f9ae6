//! Memory and traffic that the device sampled.

use opscope_cann_raw::Chip;
use opscope_cann_raw::samples::{
    Ddr, Hbm, HbmV2, Llc, LlcV2, NpuMemory as RawMemory, NpuModuleMemory as RawModule, Pcie, UnifiedBus,
};

use crate::catalogue::Catalogue;
use crate::decode::system::{System, decode_system};
use crate::decode::{cache_events, decode, functions, media, network};
use crate::metadata::Metadata;
use crate::tables::{
    DeviceTables, NpuMemory, NpuMemoryTable, NpuModuleMemory, NpuModuleMemoryTable, PcieSample, PcieTable,
    Traffic, TrafficTable, UnifiedBusSample, UnifiedBusTable,
};

/// Decodes all streams of sampled quantities, each in the order of its file.
pub(super) fn decode_samples(catalogue: &Catalogue, metadata: &Metadata, tables: &mut DeviceTables) {
    let streams = |name| catalogue.streams(name);
    let DeviceTables { samples, losses, .. } = tables;
    samples.absolute = metadata.info.collection_version == "2.0";
    samples.hbm = if samples.absolute {
        decode(streams("hbm.data"), None, losses, |table: &mut TrafficTable, raw: HbmV2, _| {
            let HbmV2 { event, id, count, time } = raw;
            table.push(Traffic { time, count, event, id });
            Ok(())
        })
    } else {
        decode(streams("hbm.data"), None, losses, |table: &mut TrafficTable, raw: Hbm, _| {
            let Hbm { time, count, event, id } = raw;
            table.push(Traffic { time, count, event, id });
            Ok(())
        })
    };
    // A 310 prints what others record.
    let prints_cache_events = metadata.chip() == Chip::V1_1_0;
    if prints_cache_events {
        samples.cache_events = cache_events::cache_events(streams("llc.data"), losses);
    }
    let llc = if prints_cache_events { &[] } else { streams("llc.data") };
    samples.llc = if samples.absolute {
        decode(llc, None, losses, |table: &mut TrafficTable, raw: LlcV2, _| {
            let LlcV2 { count, event, id, time } = raw;
            table.push(Traffic { time, count: u64::from(count), event, id });
            Ok(())
        })
    } else {
        decode(llc, None, losses, |table: &mut TrafficTable, raw: Llc, _| {
            let Llc { time, count, event, id } = raw;
            table.push(Traffic { time, count, event, id });
            Ok(())
        })
    };
    samples.ddr = decode(streams("ddr.data"), None, losses, |table: &mut TrafficTable, raw: Ddr, _| {
        // The traffic of a single master is in the memory's total already.
        if raw.master != u32::MAX {
            return Ok(());
        }
        let (time, count) = (u64::from(raw.time), u64::from(raw.count));
        table.push(Traffic { time, count, event: raw.direction, id: raw.controller });
        Ok(())
    });
    let absolute = samples.absolute;
    samples.npu_memory =
        decode(streams("npu_mem.data"), None, losses, |table: &mut NpuMemoryTable, raw: RawMemory, _| {
            let RawMemory { micros, scope, wide_micros, ddr, hbm } = raw;
            let time = if absolute { wide_micros } else { u64::from(micros) };
            table.push(NpuMemory { time, scope, ddr, hbm });
            Ok(())
        });
    samples.npu_module_memory = decode(
        streams("npu_module_mem.data"),
        None,
        losses,
        |table: &mut NpuModuleMemoryTable, raw: RawModule, _| {
            let RawModule { module, time, total } = raw;
            table.push(NpuModuleMemory { time, module, total });
            Ok(())
        },
    );
    samples.pcie = decode(streams("pcie.data"), None, losses, |table: &mut PcieTable, raw: Pcie, _| {
        let values = [
            raw.tx_posted,
            raw.tx_non_posted,
            raw.tx_completion,
            raw.tx_latency,
            raw.rx_posted,
            raw.rx_non_posted,
            raw.rx_completion,
        ];
        table.push(PcieSample { time: raw.time, device: raw.device, values });
        Ok(())
    });
    samples.unified_bus =
        decode(streams("ub.data"), None, losses, |table: &mut UnifiedBusTable, raw: UnifiedBus, _| {
            let UnifiedBus { port, time, received, sent } = raw;
            table.push(UnifiedBusSample { time, port, received, sent });
            Ok(())
        });
    samples.nic = network::ports(streams("nic.data"), losses);
    samples.roce = network::ports(streams("roce.data"), losses);
    samples.hccs = network::hccs(streams("hccs.data"), losses);
    samples.network_device = network::device(streams("netdev_stats.data"), losses);
    samples.system = decode_system(catalogue, System::Device, losses);
    samples.functions = functions::functions(catalogue, losses);
    let chip = metadata.chip();
    let has_units = chip == Chip::V2_1_0 || chip.has_stars();
    (samples.media, samples.media_use) = media::engines(streams("dvpp.data"), has_units, losses);
}
