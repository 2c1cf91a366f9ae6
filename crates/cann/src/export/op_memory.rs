//! `operator_memory`, `memory_record`, `npu_module_mem` and `static_op_mem`: who holds device memory.

use crate::dialect::Dialect;
use crate::export::sheet::Sheet;
use crate::facts::view::View;
use crate::headings::{memory_record, npu_module_mem, owned, written};
use crate::tables::{NpuModuleMemory, TaskMemory};
use crate::text::numbers::{push_float, python_round};
use opscope_trace::NumberMap;

/// kB with three decimals.
fn kilobytes(bytes: f64) -> f64 {
    python_round(bytes / 1_024.0, 3)
}

/// The number of the device that stands for the host's notes about device memory.
fn first_device(view: &View<'_>) -> u32 {
    view.devices.first().map_or(0, |device| device.device.id)
}

/// An allocation and, if there was one, its release.
type Allocation = (TaskMemory, Option<TaskMemory>);

/// The allocations: first those that were released, by their release, then the others.
fn allocations(view: &View<'_>) -> Vec<Allocation> {
    let mut open: NumberMap<(u64, u64), TaskMemory> = NumberMap::default();
    let mut all: Vec<Allocation> = Vec::new();
    for row in view.joined.data.host.task_memory.rows() {
        let key = (row.node ^ u64::from(row.device) << 48, row.address);
        if row.size > 0 {
            open.insert(key, row);
        } else if row.size < 0
            && let Some(allocation) = open.remove(&key)
        {
            all.push((allocation, Some(row)));
        }
    }
    let mut kept: Vec<TaskMemory> = open.into_values().collect();
    kept.sort_by_key(|row| (row.time, row.address, row.node, row.device));
    all.extend(kept.into_iter().map(|row| (row, None)));
    all
}

/// The table of allocations of operators.
pub(crate) fn operator_memory<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let lines = allocations(view);
    let device = first_device(view);
    (!lines.is_empty()).then(|| Sheet {
        kind: "operator_memory",
        headers: owned(&written::OPERATOR_MEMORY),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (allocation, release) = &lines[index];
            row.integer(device);
            row.text(view.joined.data.host.names.get(allocation.node).unwrap_or(""));
            row.float(kilobytes(allocation.size as f64));
            row.time(view.host_time(allocation.time));
            row.float(release.map_or(0.0, |release| view.host_duration(allocation.time, release.time)));
            row.float(kilobytes(allocation.total_allocated as f64));
            row.float(kilobytes(allocation.total_reserved as f64));
            row.float(release.map_or(0.0, |release| kilobytes(release.total_allocated as f64)));
            row.float(release.map_or(0.0, |release| kilobytes(release.total_reserved as f64)));
            row.text(&format!("NPU:{}", allocation.device));
        }),
    })
}

/// The table of memory in total after each allocation and release.
pub(crate) fn memory_record<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let records = &view.joined.data.host.task_memory;
    let device = first_device(view);
    (!records.is_empty()).then(|| Sheet {
        kind: "memory_record",
        headers: owned(memory_record::ALL),
        rows: records.len(),
        write: Box::new(move |index, row| {
            let record = records.row(index);
            row.integer(device);
            row.text("GE");
            row.time(view.host_time(record.time));
            row.float(kilobytes(record.total_allocated as f64));
            row.float(kilobytes(record.total_reserved as f64));
            row.text(&format!("NPU:{}", record.device));
        }),
    })
}

/// The table of memory that modules of CANN reserved. Its records carry the host's counter.
pub(crate) fn npu_module_mem<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let mut lines: Vec<(usize, NpuModuleMemory)> = Vec::new();
    for (number, device) in view.devices.iter().enumerate() {
        let mut rows: Vec<NpuModuleMemory> = device.device.tables.samples.npu_module_memory.rows().collect();
        rows.sort_by_key(|row| (row.module, row.time));
        lines.extend(rows.into_iter().map(|row| (number, row)));
    }
    (!lines.is_empty()).then(|| Sheet {
        kind: "npu_module_mem",
        headers: owned(npu_module_mem::ALL),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (number, record) = &lines[index];
            let device = view.devices[*number].device.id;
            row.integer(device);
            let accelerated = view.dialect == Dialect::Accelerated;
            match module_name(record.module) {
                OTHER_MODULE if accelerated => row.word("Unknown"),
                name => row.word(name),
            }
            row.time(view.host_time(record.time));
            match i64::try_from(record.total) {
                Ok(0) => row.integer(0),
                Ok(bytes) if accelerated => row.integer(bytes / 1_024),
                Ok(bytes) => row.float(kilobytes(bytes as f64)),
                // A total below zero: more was given back than had been counted.
                Err(_) => row.integer(-1),
            }
            row.text(&format!("NPU:{device}"));
        }),
    })
}

/// The name of a module that the driver doesn't number.
const OTHER_MODULE: &str = "other";

/// The name of a module of CANN, as the driver numbers them.
pub(crate) fn module_name(module: u32) -> &'static str {
    const FIRST: [&str; 12] =
        ["SLOG", "IDEDD", "SCC", "HCCL", "FMK", "CCU", "DVPP", "RUNTIME", "CCE", "HDC", "DRV", "NET"];
    match module {
        0..12 => FIRST[module as usize],
        22 => "DEVMM",
        23 => "KERNEL",
        24 => "LIBMEDIA",
        25 => "CCECPU",
        27 => "ROS",
        28 => "HCCP",
        29 => "ROCE",
        30 => "TEFUSION",
        31 => "PROFILING",
        32 => "DP",
        33 => "APP",
        34 => "TS",
        35 => "TSDUMP",
        36 => "AICPU",
        37 => "LP",
        38 => "TDT",
        39 => "FE",
        40 => "MD",
        41 => "MB",
        42 => "ME",
        43 => "IMU",
        44 => "IMP",
        45 => "GE",
        47 => "CAMERA",
        48 => "ASCENDCL",
        49 => "TEEOS",
        50 => "ISP",
        51 => "SIS",
        52 => "HSM",
        53 => "DSS",
        54 => "PROCMGR",
        55 => "BBOX",
        56 => "AIVECTOR",
        57 => "TBE",
        58 => "FV",
        60 => "TUNE",
        61 => "HSS",
        62 => "FFTS",
        63 => "OP",
        64 => "UDF",
        65 => "HICAID",
        66 => "TSYNC",
        67 => "AUDIO",
        68 => "TPRT",
        69 => "ASCENDCKERNEL",
        70 => "ASYS",
        71 => "ATRACE",
        72 => "RTC",
        73 => "SYSMONITOR",
        74 => "AML",
        75 => "ADETECT",
        76 => "MBUFF",
        77 => "CUSTOM",
        _ => OTHER_MODULE,
    }
}

/// The table of memory that static graphs plan for operators.
pub(crate) fn static_op_mem<'a>(view: &'a View<'a>) -> Option<Sheet<'a>> {
    let records = &view.joined.data.host.static_memory;
    (!records.is_empty()).then(|| Sheet {
        kind: "static_op_mem",
        headers: owned(&written::STATIC_OP_MEM),
        rows: records.len(),
        write: Box::new(move |index, row| {
            let record = records.row(index);
            row.text("host");
            row.text(if record.name == 0 { "TOTAL" } else { view.text(record.name) });
            row.text(if record.dynamic_name == 0 { "0" } else { view.text(record.dynamic_name) });
            row.integer(record.graph);
            row.integer(record.life_start);
            row.integer(record.life_end);
            let size = record.size as f64 / 1_024.0;
            if size.fract() == 0.0 {
                row.integer(size as i64)
            } else {
                row.number(|out| push_float(out, size))
            }
        }),
    })
}
