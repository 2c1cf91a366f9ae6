//! Facts about the recording: its devices, processes and threads, when it began, and what the profiler noted.

use std::borrow::Cow;
use std::collections::BTreeSet;

use opscope_trace::{LossKind, NumberMap};

use super::reader::Reader;

/// Keys of the system's and the exporter's tables that say something of the run.
const REMARKS: [(&str, &str); 5] = [
    ("NSIGHT_SYSTEMS_VERSION", "Nsight Systems"),
    ("EXPORT_SCHEMA_VERSION", "export schema"),
    ("CudaVersion", "CUDA"),
    ("CudaDriverVersion", "CUDA driver"),
    ("OsVersion", "operating system"),
];

impl Reader<'_> {
    /// Reads the facts.
    pub fn read_facts(&mut self) {
        self.read_devices();
        self.each_row("ThreadNames", &["nameId", "globalTid"], |reader, row| {
            let (name, thread) =
                (reader.recording.text(row.integer(0)), reader.recording.thread(row.integer(1)));
            if let Some(thread) = thread {
                let known = reader.recording.trace.threads.get(thread);
                reader.recording.trace.threads.set(thread, opscope_trace::Thread { name, ..known });
            }
        });
        self.each_row("PROCESSES", &["pid", "name"], |reader, row| {
            if let (Some(pid), Some(name)) = (row.small(0), row.text(1)) {
                let process = reader.recording.places.process(&mut reader.recording.trace, pid);
                reader.recording.places.name_process(&mut reader.recording.trace, process, &name);
            }
        });
        self.each_row("TARGET_INFO_SESSION_START_TIME", &["utcEpochNs"], |reader, row| {
            reader.recording.trace.clock.unix_zero =
                row.integer(0).or(reader.recording.trace.clock.unix_zero);
        });
        for table in ["TARGET_INFO_SYSTEM_ENV", "META_DATA_EXPORT", "META_DATA_CAPTURE"] {
            self.each_row(table, &["name", "value"], |reader, row| {
                let (Some(name), Some(value)) = (row.text(0), row.text(1)) else { return };
                if name == "Hostname" {
                    reader.recording.trace.run.host = Some(value.to_string());
                }
                if let Some((_, word)) = REMARKS.iter().find(|(key, _)| *key == name) {
                    reader.recording.trace.run.remark(word, &value);
                }
            });
        }
        self.each_row("DIAGNOSTIC_EVENT", &["severity", "text"], |reader, row| {
            // 1 is information, 2 a warning, 3 an error.
            if row.integer(0).is_some_and(|severity| severity > 1) {
                let text = row.text(1).unwrap_or_default();
                reader.recording.trace.count_loss(LossKind::NotedByProfiler, 1, &text);
            }
        });
    }

    /// The names of GPUs. CUDA numbers them per process, which mostly is the order of the machine; the numbers of a
    /// process that isn't known are taken for those of the first. GPUs of different chips are no chip of the run.
    fn read_devices(&mut self) {
        let mut by_id: NumberMap<i64, String> = NumberMap::default();
        let mut chips: BTreeSet<String> = BTreeSet::new();
        self.each_row("TARGET_INFO_GPU", &["id", "name", "chipName"], |_, row| {
            let name = row.text(1).unwrap_or_default().into_owned();
            chips.extend(row.text(2).filter(|chip| !chip.is_empty()).map(Cow::into_owned));
            if let Some(id) = row.integer(0) {
                by_id.insert(id, name);
            }
        });
        if chips.len() == 1 {
            self.recording.trace.run.chip = chips.pop_first();
        }
        self.each_row("TARGET_INFO_CUDA_DEVICE", &["gpuId", "cudaId", "pid"], |reader, row| {
            let (Some(gpu), Some(number)) = (row.small(0), row.small(1)) else { return };
            match (row.small(2), by_id.get(&i64::from(gpu))) {
                (Some(pid), _) => {
                    reader.recording.gpus_of_processes.insert((pid, number), gpu);
                    reader.recording.gpus_of_processes.entry((0, number)).or_insert(gpu);
                }
                (None, Some(name)) => drop(reader.recording.gpus.insert(number, name.clone())),
                (None, None) => {}
            }
        });
        for (id, name) in by_id {
            if let Ok(number) = u32::try_from(id) {
                self.recording.gpus.entry(number).or_insert(name);
            }
        }
    }
}
