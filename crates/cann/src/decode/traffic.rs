//! Memory and traffic that the device sampled.

use opscope_cann_raw::samples::{
    Ddr, Hbm, HbmV2, Llc, NpuMemory as RawMemory, NpuModuleMemory as RawModule, Pcie,
};

use crate::catalogue::Catalogue;
use crate::decode::decode;
use crate::losses::{Losses, Reason};
use crate::metadata::Metadata;
use crate::slices::Stream;
use crate::tables::{
    DeviceTables, NetworkSample, NetworkTable, NpuMemory, NpuMemoryTable, NpuModuleMemory,
    NpuModuleMemoryTable, PcieSample, PcieTable, Traffic, TrafficTable,
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
    samples.llc = decode(streams("llc.data"), None, losses, |table: &mut TrafficTable, raw: Llc, _| {
        let Llc { time, count, event, id } = raw;
        table.push(Traffic { time, count, event, id });
        Ok(())
    });
    samples.ddr = decode(streams("ddr.data"), None, losses, |table: &mut TrafficTable, raw: Ddr, _| {
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
            raw.rx_posted,
            raw.rx_non_posted,
            raw.rx_completion,
            raw.rx_latency,
            raw.tx_posted,
            raw.tx_non_posted,
            raw.tx_completion,
        ];
        table.push(PcieSample { time: raw.time, device: raw.device, values });
        Ok(())
    });
    samples.nic = network(streams("nic.data"), losses);
    samples.roce = network(streams("roce.data"), losses);
}

/// Decodes the text lines of `nic.data` and `roce.data`: time with a colon, bandwidth, four
/// quantities received and four sent, and mostly the port; a heading may come first.
fn network(streams: &[Stream], losses: &mut Losses) -> NetworkTable {
    let mut table = NetworkTable::default();
    for stream in streams {
        let mapped = stream.map(losses);
        let bytes = mapped.concatenated();
        for line in String::from_utf8_lossy(&bytes).lines() {
            match network_line(line) {
                Some(sample) => table.push(sample),
                None if line.trim().is_empty() || line.contains("timestamp") => {}
                None => losses.count(Reason::InvalidLine, &stream.name, 1),
            }
        }
    }
    table
}

fn network_line(line: &str) -> Option<NetworkSample> {
    let mut fields = line.split_whitespace();
    let time = fields.next()?.replace(':', "").parse::<f64>().ok().filter(|time| *time >= 0.0)? as u64;
    let mut number =
        || fields.next()?.parse::<f64>().ok().filter(|value| *value >= 0.0).map(|value| value as u64);
    let bandwidth = number()?;
    let received = [number()?, number()?, number()?, number()?];
    let sent = [number()?, number()?, number()?, number()?];
    let port = number().unwrap_or(0) as u32;
    Some(NetworkSample { time, port, bandwidth, received, sent })
}

#[cfg(test)]
mod tests {
    use super::network_line;

    #[test]
    fn network_lines_have_a_time_ten_numbers_and_mostly_a_port() {
        let sample = network_line("176167199500000: 206 2 108 0 0 0 3 4 5 1").expect("a sample");
        assert_eq!((sample.time, sample.bandwidth, sample.port), (176_167_199_500_000, 206, 1));
        assert_eq!((sample.received, sample.sent), ([2, 108, 0, 0], [0, 3, 4, 5]));
        assert!(network_line("1: 2 3 4 5 6 7 8 9 10").is_some());
        assert!(network_line("1: 2 3").is_none() && network_line("timestamp bandwidth").is_none());
    }
}
