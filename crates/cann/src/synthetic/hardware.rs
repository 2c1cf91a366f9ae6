//! The sampled quantities of sample profiles: memory, traffic, frequency, and the host's usage.
//!
//! Sample number k is taken k intervals after the begin. Each value is a simple function of k, so
//! that what the exports make of it can be worked out by hand.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use opscope_cann_raw::host::{Head, MAGIC, level};
use opscope_cann_raw::samples::{
    Ddr, Frequencies, Frequency, Hbm, Llc, NpuMemory, NpuModuleMemory, Pcie, PowerInfo, power,
};
use opscope_cann_raw::{
    Chip, Record, SliceWriter,
    additional::{StaticOpMem, TaskMemoryInfo},
    hash_of,
};

use crate::synthetic::clockwork::{Clockwork, DEVICE_MONOTONIC, HOST_MONOTONIC};
use crate::synthetic::host::THREAD;
use crate::synthetic::links as stars_links;
use crate::synthetic::network::Network;
use crate::synthetic::processors;
use crate::synthetic::system;
use crate::synthetic::wide;

/// Nanoseconds between two samples.
pub(super) const INTERVAL: u64 = 10_000_000;

/// The events of the last-level cache that are counted when reading.
const LLC_EVENTS: [u32; 8] = [0x00, 0x01, 0x02, 0x13, 0x20, 0x22, 0x34, 0x36];

/// Writes everything that is sampled during a run of `end` nanoseconds.
pub(super) fn write(
    host: &Path,
    devices: &[PathBuf],
    chip: Chip,
    clockwork: Clockwork,
    network: &Network,
    end: u64,
) -> io::Result<()> {
    let samples = end / INTERVAL + 4;
    for (number, device) in devices.iter().enumerate() {
        of_device(device, number, chip, clockwork, samples)?;
        links(device, number, samples)?;
        stars_links::write(device, number, chip, clockwork, samples)?;
        wide::of_device(device, number, chip, clockwork, samples)?;
        system::write(device, Some(number), samples)?;
        engines(device, number, chip, samples)?;
        processors::of_device(device, number, chip, clockwork, samples)?;
    }
    of_host(host, samples)?;
    system::write(host, None, samples)?;
    processors::of_host(host, samples)?;
    wide::of_host(host, chip, clockwork)?;
    memory_of_operators(host, clockwork, network)
}

/// One file of records.
pub(super) struct File {
    writer: SliceWriter,
    buffer: Vec<u8>,
}

impl File {
    pub(super) fn new(directory: &Path, name: &str) -> Self {
        Self { writer: SliceWriter::new(directory, name), buffer: Vec::with_capacity(1_024) }
    }

    pub(super) fn put(&mut self, record: &impl Record) -> io::Result<()> {
        self.buffer.clear();
        record.append_to(&mut self.buffer);
        self.writer.write(&self.buffer)
    }

    pub(super) fn put_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write(bytes)
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.writer.finish()
    }
}

/// Memory, its traffic, and frequencies.
fn of_device(
    directory: &Path,
    number: usize,
    chip: Chip,
    clockwork: Clockwork,
    samples: u64,
) -> io::Result<()> {
    let file = |name: &str| File::new(directory, &format!("{name}.data.{number}"));
    let (mut memory, mut modules, mut hbm) = (file("npu_mem"), file("npu_module_mem"), file("hbm"));
    let mut ddr = file("ddr");
    for k in 0..samples {
        let micros = (k + 1) * INTERVAL / 1_000;
        for scope in 0..2 {
            let hbm = (900 + k + u64::from(scope)) << 20;
            memory.put(&NpuMemory { micros: micros as u32, scope, wide_micros: 0, ddr: 0, hbm })?;
        }
        // Modules 7 and 45 are the runtime and the graph engine; their times are the host's.
        for module in [7, 45] {
            let time = clockwork.host(k * INTERVAL);
            modules.put(&NpuModuleMemory { module, time, total: (k + u64::from(module)) << 10 })?;
        }
        for id in 0..4 {
            for event in 0..2 {
                let count = 1_000_000 + k * 1_000 + u64::from(id * 10 + event);
                hbm.put(&Hbm { time: micros, count, event, id })?;
            }
        }
        for direction in 0..2 {
            let count = 50_000 + k as u32 * 100 + direction;
            ddr.put(&Ddr { time: micros as u32, count, direction, controller: 0, master: u32::MAX })?;
        }
    }
    let mut frequency = file("lpmFreqConv");
    let mut record = Frequencies { count: 1, ..Frequencies::default() };
    record.changes[0] = Frequency { time: clockwork.device(0), value: clockwork.core_megahertz };
    frequency.put(&record)?;
    let mut voltages = file("lpmInfoConv");
    for kind in [power::CORE_VOLTAGE, power::BUS_VOLTAGE] {
        let mut record = PowerInfo { count: 1, kind, ..PowerInfo::default() };
        record.changes[0] = Frequency { time: clockwork.device(INTERVAL / 10), value: 850 + kind };
        voltages.put(&record)?;
    }
    [memory, modules, hbm, ddr, frequency, voltages].into_iter().try_for_each(|file| file.writer.finish())?;
    match chip {
        Chip::V1_1_0 => printed_cache_events(directory, number, samples),
        _ => cache_events(directory, number, samples),
    }
}

/// Events of the last-level cache.
fn cache_events(directory: &Path, number: usize, samples: u64) -> io::Result<()> {
    let mut llc = File::new(directory, &format!("llc.data.{number}"));
    for k in 0..samples {
        let time = (k + 1) * INTERVAL / 1_000;
        for id in 0..4 {
            for (place, event) in (1..).zip(LLC_EVENTS) {
                llc.put(&Llc { time, count: place * 1_000 + k, event, id })?;
            }
        }
    }
    llc.finish()
}

/// The same of a 310, where a tool prints them.
fn printed_cache_events(directory: &Path, number: usize, samples: u64) -> io::Result<()> {
    let mut text = "#           time             counts unit events\n".to_owned();
    for k in 0..samples {
        let time = (k + 1) * INTERVAL;
        let names = [
            "read_allocate",
            "read_hit",
            "read_noallocate",
            "write_allocate",
            "write_hit",
            "write_noallocate",
        ];
        for (place, name) in (1..).zip(names) {
            let count = place * 10_000 + k * 100;
            let (seconds, rest) = (time / 1_000_000_000, time % 1_000_000_000);
            let _ = writeln!(text, "{seconds:6}.{rest:09} {count:18}      hisi_l3c0_1/{name}/");
        }
    }
    save(directory, &format!("llc.data.{number}"), &text)
}

/// Traffic over PCIe, HCCS and the network, whose times are the device's own.
fn links(directory: &Path, number: usize, samples: u64) -> io::Result<()> {
    let mut pcie = File::new(directory, &format!("pcie.data.{number}"));
    let mut hccs = "timestamp txAmount rxAmount\n".to_owned();
    let mut ports = "timestamp bandwidth(Mb/s) rxPacket/s rxByte/s rxPackets rxBytes rxErrors rxDropped \
                     txPacket/s txByte/s txPackets txBytes txErrors txDropped funcId\n"
        .to_owned();
    for k in 0..samples {
        let time = DEVICE_MONOTONIC + (k + 1) * INTERVAL;
        let three = |first: u32| [first, first + 20, first + 10];
        pcie.put(&Pcie {
            time,
            device: 0,
            tx_posted: three(100 + k as u32),
            tx_non_posted: three(200),
            tx_completion: three(300),
            tx_latency: three(1_000),
            rx_posted: three(400),
            rx_non_posted: three(500),
            rx_completion: three(600),
        })?;
        // Writing to a string can't fail.
        let _ = writeln!(hccs, "{time}: {} {}", k * 2_000_000, k * 1_000_000);
        let _ = writeln!(
            ports,
            "{time}: 200000 {} 2000000 {} {} 0 0 {} 4000000 {} {} {k} 0 0",
            100 + k,
            100 * (k + 1),
            20_000 * (k + 1),
            200 + k,
            200 * (k + 1),
            40_000 * (k + 1),
        );
    }
    pcie.writer.finish()?;
    save(directory, &format!("hccs.data.{number}"), &hccs)?;
    save(directory, &format!("nic.data.{number}"), &ports)?;
    save(directory, &format!("roce.data.{number}"), &ports)
}

/// The engines for pictures and videos, and the network device.
fn engines(directory: &Path, number: usize, chip: Chip, samples: u64) -> io::Result<()> {
    let has_units = chip == Chip::V2_1_0 || chip.has_stars();
    let unit = if has_units { " dvpp_id" } else { "" };
    let mut text = format!(
        "time{unit} engine_type engine_id all_time all_frame all_utilization proc_time \
                            proc_frame proc_utilization last_time last_frame\n"
    );
    let mut network = String::new();
    for k in 0..samples {
        let time = DEVICE_MONOTONIC + (k + 1) * INTERVAL;
        for (kind, engine) in [(4, 0), (4, 1), (1, 0)] {
            let unit = if has_units { " 0" } else { "" };
            let (spent, frames, used) = (1_000 + k * 250, 30 + 2 * k, 10 + k + kind);
            let _ = writeln!(text, "{time}:{unit} {kind} {engine} {spent} {frames} {used}% 100 3 5% 20 1");
        }
        let counts: Vec<String> = (1..=15u64).map(|place| (place * 1_000 * (k + 1)).to_string()).collect();
        let _ = writeln!(network, "{} {}", HOST_MONOTONIC + (k + 1) * INTERVAL, counts.join(" "));
    }
    save(directory, &format!("dvpp.data.{number}"), &text)?;
    save(directory, &format!("netdev_stats.data.{number}"), &network)
}

/// The program's use of the host.
fn of_host(directory: &Path, samples: u64) -> io::Result<()> {
    let (mut cpu, mut memory, mut network) = (String::new(), String::new(), String::new());
    let mut disk = format!("start_time {HOST_MONOTONIC}\n");
    for k in 0..samples {
        let time = HOST_MONOTONIC + k * INTERVAL;
        let seconds = 100_000.0 + (k * INTERVAL) as f64 / 1e9;
        let _ = writeln!(cpu, "time {time}\n{seconds:.2} 99999.00");
        for thread in 0..2u64 {
            // One jiffy a sample on processor 0, none on processor 1.
            let (jiffies, zeros) = (k * (1 - thread), "0 ".repeat(10));
            let number = u64::from(THREAD) + thread;
            let _ = writeln!(cpu, "{number} (infer) S {zeros}{jiffies} 0 {}{thread} 0", "0 ".repeat(23));
        }
        let _ = writeln!(memory, "{time} 5000000 {} 300 1 0 2 0", 1_000_000 + k * 1_000);
        let _ = writeln!(network, "time {time}\n  eth0: {0} 1 0 0 0 0 0 0 {0} 1 0 0 0 0 0 0", k * k * 1_000);
        let _ = writeln!(disk, "12:00:00 {THREAD} be/4 root {k}.00 K/s {}.00 K/s 0.00 % 1.50 % infer", 2 * k);
    }
    let files = [
        ("host_cpu.data", cpu),
        ("host_mem.data", memory),
        ("host_disk.data", disk),
        ("host_network.data", network),
    ];
    files.iter().try_for_each(|(name, text)| save(directory, name, text))
}

pub(super) fn save(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let mut writer = SliceWriter::new(directory, name);
    writer.write(text.as_bytes())?;
    writer.finish()
}

/// Memory that the first operators held, and that a graph planned for them.
fn memory_of_operators(directory: &Path, clockwork: Clockwork, network: &Network) -> io::Result<()> {
    let head = |kind: u32, time: u64| Head {
        magic: MAGIC,
        level: level::NODE,
        kind,
        thread: THREAD,
        length: 60,
        time: clockwork.host(time),
    };
    let mut held = File::new(directory, "aging.additional.task_memory_info");
    let mut planned = File::new(directory, "unaging.additional.static_op_mem");
    for (k, op) in (0u64..).zip(network.ops.iter().take(4)) {
        let (node, address) = (hash_of(&op.name), 0x1000 * (k + 1));
        let bytes = 4_096 * (k as i64 + 1);
        // Each operator gives back what it held, but the last.
        for (place, size) in (0..).zip([bytes, -bytes]).take(if k == 3 { 1 } else { 2 }) {
            held.put(&TaskMemoryInfo {
                head: head(9, (2 * k + place) * 1_000),
                address,
                size,
                node,
                total_allocated: if place == 0 { bytes as u64 } else { 0 },
                total_reserved: 1 << 20,
                device: 0,
                device_type: 20,
            })?;
        }
        planned.put(&StaticOpMem {
            head: head(10, k),
            size: bytes + 512,
            name: if k == 0 { 0 } else { node },
            life_start: k,
            life_end: k + 2,
            total_allocated: 1 << 20,
            dynamic_name: hash_of(&network.ops[0].name),
            graph: 1,
        })?;
    }
    held.writer.finish()?;
    planned.writer.finish()
}
