//! A profile of nothing but what a test writes into it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use opscope_cann::join::Joined;
use opscope_cann::{SampleLayout, SampleMode, SampleOptions, write_sample};
use opscope_cann_raw::device::{CompactStarsLog, HwtsLog, MAGIC, StarsLog, function};
use opscope_cann_raw::host::{ApiEvent, Head, NodeBasicInfo, TaskTrack, level};
use opscope_cann_raw::{Chip, DeviceLog, Record, hash_of, host};
use serde_json::Value;
use tempfile::TempDir;

const THREAD: u32 = 777;

/// The stream on which [`Written::run`] and [`Written::track`] see tasks.
pub const STREAM: u16 = 9;

/// Begin and end in microseconds since the begin of the collection.
pub type Span = (i64, i64);

/// A profile in which nothing ran, to which records are added. Times are microseconds since the begin of
/// the collection.
pub struct Written {
    directory: TempDir,
    profile: PathBuf,
    chip: Chip,
    host_begin: u64,
    device_begin: u64,
    /// The records to add to each file, by its path without the number of the slice.
    files: BTreeMap<String, Vec<u8>>,
}

/// A reading in a clock's file.
fn reading(file: &Path) -> u64 {
    let text = std::fs::read_to_string(file).expect("a clock's file");
    let line = text.lines().find_map(|line| line.strip_prefix("cntvct:")).expect("a reading");
    line.trim().parse().expect("a number")
}

impl Written {
    pub fn new(chip: Chip) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (mode, layout) = (SampleMode::Dynamic, SampleLayout::Current);
        let options = SampleOptions { chip, tasks: 0, mode, layout, seed: 1 };
        let profile = write_sample(directory.path(), options).expect("a profile");
        let host_begin = reading(&profile.join("host/host_start.log"));
        let device_begin = reading(&profile.join("device_0/dev_start.log.0"));
        Self { directory, profile, chip, host_begin, device_begin, files: BTreeMap::new() }
    }

    /// With an option of the collection.
    pub fn with_option(self, name: &str, value: &str) -> Self {
        for file in ["host/sample.json", "device_0/sample.json"].map(|file| self.profile.join(file)) {
            let text = std::fs::read_to_string(&file).expect("the description");
            let mut sample: Value = serde_json::from_str(&text).expect("JSON");
            sample[name] = value.into();
            std::fs::write(&file, sample.to_string()).expect("space on disk");
        }
        self
    }

    fn bytes(&mut self, file: &str) -> &mut Vec<u8> {
        self.files.entry(file.to_owned()).or_default()
    }

    /// Adds a record to a stream of the host.
    pub fn add(&mut self, stream: &str, record: &impl Record) {
        record.append_to(self.bytes(&format!("host/data/aging.{stream}")));
    }

    /// Adds a record to a stream of the device.
    pub fn add_to_device(&mut self, stream: &str, record: &impl Record) {
        self.add_to(0, stream, record);
    }

    /// Adds bytes to a stream of the device.
    pub fn add_bytes_to_device(&mut self, stream: &str, bytes: &[u8]) {
        self.bytes(&format!("device_0/data/{stream}.0")).extend(bytes);
    }

    /// Adds a further device, with the same clock.
    pub fn add_device(&mut self, device: u32) {
        super::copy_device(&self.profile, 0, device);
    }

    /// Adds a record to a stream of a device.
    pub fn add_to(&mut self, device: u16, stream: &str, record: &impl Record) {
        record.append_to(self.bytes(&format!("device_{device}/data/{stream}.{device}")));
    }

    /// The hash of a text that the dictionary has.
    pub fn hash(&mut self, text: &str) -> u64 {
        let line = format!("{}:{text}\n", hash_of(text));
        self.bytes("host/data/unaging.additional.hash_dic").extend(line.bytes());
        hash_of(text)
    }

    /// Names a type of calls or tasks.
    pub fn name_type(&mut self, level: u16, number: u32, name: &str) {
        let line = format!("{level}_{number}:{name}\n");
        self.bytes("host/data/unaging.additional.type_info_dic").extend(line.bytes());
    }

    /// The host's counter.
    pub fn host_ticks(&self, micros: i64) -> u64 {
        self.host_begin.wrapping_add_signed(micros * 100)
    }

    /// The device's counter.
    pub fn device_ticks(&self, micros: i64) -> u64 {
        let megahertz = match self.chip.device_log() {
            DeviceLog::Hwts => 100,
            DeviceLog::CompactStars => 1_000,
            _ => 50,
        };
        self.device_begin.wrapping_add_signed(micros * megahertz)
    }

    pub fn head(&self, level: u16, kind: u32, at: i64) -> Head {
        let time = self.host_ticks(at);
        Head { magic: host::MAGIC, level, kind, thread: THREAD, length: 0, time }
    }

    /// A call in the host's ticks.
    pub fn call_of_ticks(&mut self, level: u16, kind: u32, begin: u64, end: u64, item: u64) {
        let (magic, thread) = (host::MAGIC, THREAD);
        let call = ApiEvent { magic, level, kind, thread, begin, end, item, ..ApiEvent::default() };
        self.add("api_event.data", &call);
    }

    pub fn call(&mut self, level: u16, kind: u32, (begin, end): Span) {
        self.call_of_ticks(level, kind, self.host_ticks(begin), self.host_ticks(end), 0);
    }

    /// The call that launches a node.
    pub fn launch(&mut self, name: &str, (begin, end): Span) {
        let item = self.hash(name);
        self.call_of_ticks(level::NODE, 5, self.host_ticks(begin), self.host_ticks(end), item);
    }

    /// Notes that a node is an operator for the AI core, of eight blocks.
    pub fn note(&mut self, name: &str, op_type: &str, at: i64) {
        self.note_of_unit(name, op_type, 0, at);
    }

    /// As [`Written::note`], for a unit by its number.
    pub fn note_of_unit(&mut self, name: &str, op_type: &str, unit: u32, at: i64) {
        let head = self.head(level::NODE, 0, at);
        let (name, op_type) = (self.hash(name), self.hash(op_type));
        let task_type = unit;
        let note = NodeBasicInfo { head, name, task_type, op_type, blocks: 8, ..NodeBasicInfo::default() };
        self.add("compact.node_basic_info", &note);
    }

    /// The runtime's record of handing over a task.
    pub fn track(&mut self, task: u16, kind: u64, at: i64) {
        let head = self.head(level::RUNTIME, 802, at);
        let track = TaskTrack { head, stream: STREAM, task, task_type: kind, ..TaskTrack::default() };
        self.add("compact.task_track", &track);
    }

    /// A task that the device executed; its kind is the chip's.
    pub fn run(&mut self, task: u16, kind: u16, (begin, end): Span) {
        let edges = [(function::TASK_START, begin), (function::TASK_END, end)];
        for (edge, time) in edges.map(|(edge, at)| (edge, self.device_ticks(at))) {
            let (word, magic, stream) = (edge | kind << 10, MAGIC, STREAM);
            match self.chip.device_log() {
                DeviceLog::Hwts => {
                    let (tag, stream) = (edge as u8, u32::from(STREAM));
                    let log = HwtsLog { tag, task_type: 0, magic, task, time, stream };
                    self.add_to_device("hwts.data", &log);
                }
                DeviceLog::CompactStars => {
                    let log =
                        CompactStarsLog { word, magic, task_low: task, time, ..CompactStarsLog::default() };
                    self.add_to_device("stars_soc.data", &log);
                }
                _ => {
                    let log = StarsLog { word, magic, stream, task, time, ..StarsLog::default() };
                    self.add_to_device("stars_soc.data", &log);
                }
            }
        }
    }

    /// An operator: launched within 20 microseconds and executed for ten from 100 after that on.
    pub fn operator(&mut self, name: &str, task: u16, at: i64) {
        self.launch(name, (at, at + 20));
        self.track(task, 0, at + 5);
        self.note(name, "Add", at + 10);
        self.run(task, 0, (at + 100, at + 110));
    }

    pub fn joined(&self) -> Joined {
        for (file, bytes) in &self.files {
            // The dictionaries have a slice already.
            std::fs::write(self.profile.join(format!("{file}.slice_1")), bytes).expect("space on disk");
        }
        super::joined(self.directory.path())
    }

    /// The cells of the given columns of a table, row by row.
    pub fn cells(&self, kind: &str, columns: &[&str]) -> Vec<Vec<String>> {
        super::cells(&self.joined(), kind, columns)
    }

    /// The events of the whole timeline.
    pub fn timeline(&self) -> Vec<Value> {
        super::timeline(&self.joined())
    }
}
