//! The small files beside the data that say what was collected, where and when.
//!
//! | file | content |
//! |---|---|
//! | `info.json[.N]` | machine, processor, clocks' frequencies; one line of JSON |
//! | `sample.json` | what was asked to be collected; one line of JSON |
//! | `start_info[.N]`, `end_info[.N]` | begin and end in wall-clock and monotonic time; JSON |
//! | `host_start.log[.N]` | a simultaneous reading of the host's counter and monotonic clock |
//! | `dev_start.log.N` | the same of the device |

mod json;
mod readings;

use std::path::{Path, PathBuf};

use opscope_cann_raw::Chip;
use serde_json::Value;

use crate::clock::{Clock, SampleClock};
use crate::error::{Error, Result};
use crate::metadata::json::{count, number, rate, read_json, text};
use opscope_trace::{LossKind, Losses};

pub use crate::metadata::readings::Reading;

/// The device number by which metadata names the host.
pub const HOST_ID: u32 = 64;

/// From this driver version on, batches are counted and whole runs exported.
const ALL_EXPORT_DRIVER: i64 = 0x07_2211;

/// Everything that the metadata files of one host or device directory say.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// `info.json`.
    pub info: Info,
    /// `sample.json`.
    pub sample: Sample,
    /// `start_info` and `end_info`.
    pub session: Session,
    /// `host_start.log`.
    pub host_start: Reading,
    /// `dev_start.log`.
    pub device_start: Reading,
}

/// The machine, from `info.json`.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// The processor; `None` only before a file was read.
    pub chip: Option<Chip>,
    /// The number of the device, [`HOST_ID`] for the host.
    pub device: Option<u32>,
    /// Whether the directory describes a host: no device is listed.
    pub is_host: bool,
    /// MHz of the device's counter.
    pub device_clock_mhz: Option<f64>,
    /// MHz of the AI cores.
    pub core_mhz: Option<f64>,
    /// How many AI cores (cube cores) there are.
    pub cores: u32,
    /// How many vector cores there are.
    pub vector_cores: u32,
    /// MHz of the host's counter; `None` means that host times are nanoseconds.
    pub host_clock_mhz: Option<f64>,
    /// The process that was profiled.
    pub pid: u32,
    /// Its name.
    pub process_name: String,
    /// The driver's version.
    pub driver_version: i64,
    /// The version of the collection's files, `1.0` or `2.0`.
    pub collection_version: String,
    /// The version of CANN.
    pub cann_version: String,
    /// The collector, where it isn't CANN's own.
    pub collector: String,
    /// The host's name.
    pub host_name: String,
    /// An id of the host.
    pub host_uid: String,
    /// The job.
    pub job: String,
    /// The rank in a distributed run, −1 for none.
    pub rank: i64,
    /// The host's memory in kB.
    pub memory_kb: u64,
    /// The host's processors.
    pub cpus: u32,
    /// Jiffies per second on the host, 0 where the file doesn't tell.
    pub jiffies_per_second: f64,
    /// Network interfaces and their speed in Mbit/s.
    pub network: Vec<(String, f64)>,
    /// Numbers of the device's control processors, comma-separated.
    pub control_cpus: String,
    /// Numbers of the device's AI CPUs, comma-separated.
    pub ai_cpus: String,
}

/// The settings of the collection, from `sample.json`.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The group of counters of the AI cores, such as `PipeUtilization`.
    pub core_metrics: String,
    /// The event numbers of the AI cores' counters, in their order in the records.
    pub core_events: Vec<u32>,
    /// The group of counters of the vector cores.
    pub vector_metrics: String,
    /// The event numbers of the vector cores' counters.
    pub vector_events: Vec<u32>,
    /// The event numbers of the level-2 cache's counters.
    pub cache_events: Vec<u32>,
    /// The event numbers of the counters of the address translation.
    pub translation_events: Vec<u32>,
    /// The event numbers of the task scheduler's processor.
    pub scheduler_events: Vec<u32>,
    /// The events of the quality of service, in their order in the records.
    pub quality_events: Vec<String>,
    /// Whether cores were sampled over time instead of per task.
    pub sample_based: bool,
    /// The same of the vector cores.
    pub vector_sample_based: bool,
    /// Whether only the lowest level of detail was collected.
    pub level0: bool,
    /// Whether block counters replace context counters of mixed operators.
    pub task_block: bool,
    /// Whether collection was switched on while the program ran.
    pub dynamic: bool,
    /// The quantity sampled of the last-level cache: `read`, `write`, `bandwidth` or `capacity`.
    pub llc: String,
    /// Cycles between two readings of the monitors beside cores.
    pub monitor_cycles: Option<u32>,
    /// Milliseconds between the samples of AI cores, 0 where the file doesn't tell.
    pub core_interval_ms: f64,
    /// Samples per second of the host's disk, 0 where the file doesn't tell.
    pub host_disk_hz: f64,
    /// Everything else, as it stands in the file.
    pub raw: Value,
}

/// Begin and end of the collection.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// Wall-clock begin, in nanoseconds since 1970.
    pub begin: Option<i64>,
    /// Wall-clock end, in nanoseconds since 1970.
    pub end: Option<i64>,
    /// `CLOCK_MONOTONIC_RAW` at the begin, in nanoseconds.
    pub begin_monotonic: Option<i64>,
    /// The begin as text.
    pub begin_date: String,
}

impl Session {
    /// Wall-clock less monotonic nanoseconds; 0 where the files don't tell.
    pub fn offset(&self) -> i64 {
        match (self.begin, self.begin_monotonic) {
            (Some(begin), Some(monotonic)) => begin.saturating_sub(monotonic),
            _ => 0,
        }
    }
}

impl Metadata {
    /// Reads the metadata files of `directory`, which holds `names`. Only an `info.json` with a known processor is
    /// indispensable; what else is missing is counted and gets defaults.
    ///
    /// # Errors
    /// If `info.json` can't be read or names no known processor.
    pub(crate) fn read(directory: &Path, names: &[Listed], losses: &mut Losses) -> Result<Self> {
        let find = |prefix: &str| metadata_file(directory, names, prefix);
        let Some(info_path) = find("info.json") else {
            let missing =
                std::io::Error::new(std::io::ErrorKind::NotFound, "there is no plain file of this name");
            return Err(Error::io("open the file", directory.join("info.json"))(missing));
        };
        let info = Info::from_json(&read_json(&info_path)?, &info_path, losses)?;
        let mut optional = |prefix: &str| {
            let value = find(prefix).map(|path| read_json(&path));
            match value {
                Some(Ok(value)) => value,
                _ => {
                    losses.count(LossKind::MissingMetadata, &place(directory, prefix), 1);
                    Value::Null
                }
            }
        };
        let (sample, start, end) = (optional("sample.json"), optional("start_info"), optional("end_info"));
        let sample = Sample::from_json(sample);
        let mut session = Session::from_json(&start, &end, directory, losses);
        let mut reading = |name: &str, megahertz, is_needed: bool| {
            let found =
                find(name).and_then(|path| Reading::read(&path, &place(directory, name), megahertz, losses));
            if found.is_none() && is_needed {
                losses.count(LossKind::MissingMetadata, &place(directory, name), 1);
            }
            found.unwrap_or_default()
        };
        let needs_host_clock = info.host_clock_mhz.is_some() || !info.is_host;
        let host_start = reading("host_start.log", info.host_clock_mhz, needs_host_clock);
        let device_start = reading("dev_start.log", info.device_clock_mhz, !info.is_host);
        // The readings are taken as the collection begins.
        let reading = || i64::try_from(host_start.monotonic?).ok();
        session.begin_monotonic = session.begin_monotonic.or_else(reading);
        Ok(Self { info, sample, session, host_start, device_start })
    }

    /// The chip; the newest common one where no file was read.
    pub fn chip(&self) -> Chip {
        self.info.chip.unwrap_or(Chip::V4_1_0)
    }

    /// Whether task numbers are matched by batch, which needs a driver that reports their wraps.
    pub fn has_batches(&self) -> bool {
        self.info.driver_version >= ALL_EXPORT_DRIVER && self.chip().exports_whole_run()
    }

    /// The host's monotonic time that belongs to the readings of this directory, in nanoseconds. Where
    /// the file with the readings doesn't tell, it is taken for that of the collection's begin.
    fn host_monotonic(&self) -> u64 {
        let begin = || u64::try_from(self.session.begin_monotonic?).ok();
        let monotonic = self.host_start.monotonic.or_else(begin).unwrap_or(0);
        match (self.info.host_clock_mhz, self.host_start.counter_difference) {
            (Some(megahertz), ticks @ 1..) => {
                monotonic.saturating_add((ticks as f64 * 1_000.0 / megahertz).round() as u64)
            }
            _ => monotonic,
        }
    }

    /// The clock of host-side records.
    pub fn host_clock(&self) -> Clock {
        // A processor whose counter advances by nanoseconds records times of the monotonic clock instead.
        const NANOSECONDS_MHZ: f64 = 1_000.0;
        let offset = self.session.offset();
        match (self.info.host_clock_mhz, self.host_start.counter) {
            (Some(NANOSECONDS_MHZ) | None, _) => Clock::nanoseconds(offset),
            (Some(megahertz), Some(counter)) => Clock::new(megahertz, counter, self.host_monotonic(), offset),
            // The counter and the monotonic clock both begin when the machine starts.
            (Some(megahertz), None) => Clock::new(megahertz, 0, 0, offset),
        }
    }

    /// The clock of the device's records.
    pub fn device_clock(&self) -> Clock {
        let megahertz = self.info.device_clock_mhz.unwrap_or_else(|| default_device_mhz(self.chip()));
        let counter = self.device_start.counter.unwrap_or(0);
        Clock::new(megahertz, counter, self.host_monotonic(), self.session.offset())
    }

    /// The clock of sampled hardware files.
    pub fn sample_clock(&self) -> SampleClock {
        SampleClock {
            device_monotonic: self.device_start.monotonic.unwrap_or(0),
            host_monotonic: self.host_monotonic(),
            offset: self.session.offset(),
        }
    }
}

impl Info {
    fn from_json(json: &Value, path: &Path, losses: &mut Losses) -> Result<Self> {
        let version = text(json, "platform_version");
        let chip = version.parse().ok().and_then(Chip::from_platform_version);
        if chip.is_none() {
            return Err(Error::UnknownChip { path: path.to_owned(), found: version });
        }
        let devices = json.get("DeviceInfo").and_then(Value::as_array);
        let device_info = devices.and_then(|list| list.first()).cloned().unwrap_or(Value::Null);
        let device: Option<u32> = text(json, "devices").parse().ok();
        let own_place = place(path.parent().unwrap_or(Path::new("")), "info.json");
        let mut frequency = |json: &Value, key: &str| readings::frequency(json, key, &own_place, losses);
        let device_clock_mhz = frequency(&device_info, "hwts_frequency");
        let core_mhz = frequency(&device_info, "aic_frequency");
        let host_clock_mhz = json.get("CPU").and_then(|list| frequency(list.get(0)?, "Frequency"));
        let is_host = device == Some(HOST_ID) || device_info.is_null();
        if !is_host && text(&device_info, "hwts_frequency").is_empty() {
            losses.count(LossKind::MissingMetadata, &format!("{own_place}: hwts_frequency"), 1);
        }
        Ok(Self {
            chip,
            device,
            is_host,
            device_clock_mhz,
            core_mhz,
            cores: count(&device_info, "ai_core_num"),
            vector_cores: count(&device_info, "aiv_num"),
            host_clock_mhz,
            pid: count(json, "pid"),
            process_name: text(json, "pid_name"),
            driver_version: number(json, "drvVersion").unwrap_or(0.0) as i64,
            collection_version: text(json, "version"),
            cann_version: text(json, "cannVersion"),
            collector: text(json, "collector"),
            host_name: text(json, "hostname"),
            host_uid: text(json, "hostUid"),
            job: text(json, "jobInfo"),
            rank: number(json, "rank_id").unwrap_or(-1.0) as i64,
            memory_kb: number(json, "memoryTotal").unwrap_or(0.0) as u64,
            cpus: count(json, "cpuNums"),
            jiffies_per_second: rate(json, "sysClockFreq"),
            network: network_cards(json),
            control_cpus: text(&device_info, "ctrl_cpu"),
            ai_cpus: text(&device_info, "ai_cpu"),
        })
    }
}

impl Sample {
    fn from_json(json: Value) -> Self {
        let level = match text(&json, "profLevel") {
            level if level.is_empty() => text(&json, "prof_level"),
            level => level,
        };
        Self {
            core_metrics: text(&json, "ai_core_metrics"),
            core_events: events(&text(&json, "ai_core_profiling_events")),
            vector_metrics: text(&json, "aiv_metrics"),
            vector_events: events(&text(&json, "aiv_profiling_events")),
            cache_events: events(&text(&json, "l2CacheTaskProfilingEvents")),
            translation_events: events(of_unit(&text(&json, "npuEvents"), "SMMU")),
            scheduler_events: events(&text(&json, "ts_cpu_profiling_events")),
            quality_events: names(&text(&json, "qosEvents")),
            sample_based: text(&json, "ai_core_profiling_mode") == "sample-based",
            vector_sample_based: text(&json, "aiv_profiling_mode") == "sample-based",
            level0: matches!(level.as_str(), "l0" | "level0"),
            task_block: text(&json, "taskBlock") == "on",
            dynamic: text(&json, "dynamic") == "true",
            llc: text(&json, "llc_profiling"),
            monitor_cycles: ["instrProfilingFreq", "instr_profiling_freq"]
                .into_iter()
                .map(|name| rate(&json, name))
                .find(|cycles| (1.0..=f64::from(u32::MAX)).contains(cycles))
                .map(|cycles| cycles as u32),
            core_interval_ms: rate(&json, "aicore_sampling_interval"),
            host_disk_hz: rate(&json, "host_disk_freq"),
            raw: json,
        }
    }
}

impl Session {
    fn from_json(start: &Value, end: &Value, directory: &Path, losses: &mut Losses) -> Self {
        let (in_start, in_end) = (place(directory, "start_info"), place(directory, "end_info"));
        Self {
            begin: readings::wall_clock(start, "collectionTimeBegin", &in_start, losses),
            end: readings::wall_clock(end, "collectionTimeEnd", &in_end, losses),
            begin_monotonic: readings::monotonic(start, "clockMonotonicRaw", &in_start, losses),
            begin_date: text(start, "collectionDateBegin"),
        }
    }
}

/// MHz of a chip's counter where the profile doesn't tell.
fn default_device_mhz(chip: Chip) -> f64 {
    match chip {
        Chip::V1_1_0 => 19.2,
        Chip::V2_1_0 => 100.0,
        Chip::V3_1_0 | Chip::V3_2_0 | Chip::V3_3_0 => 38.4,
        Chip::V4_1_0 => 50.0,
        Chip::V1_1_1 | Chip::V1_1_2 | Chip::V1_1_3 | Chip::V5_1_0 => 48.0,
        Chip::V6_1_0 | Chip::V6_2_0 => 1_000.0,
    }
}

/// An entry of a directory, as its listing tells it: asking for each takes longer than to read small files.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Its name.
    pub(crate) name: String,
    /// Whether it is a file, or a link to one.
    pub(crate) is_file: bool,
    /// Whether it is a directory itself.
    pub(crate) is_directory: bool,
}

/// The entries of a directory by their names.
pub(crate) fn list(directory: &Path) -> Result<Vec<Listed>> {
    let entries = std::fs::read_dir(directory).map_err(Error::io("list the directory", directory))?;
    let listed = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let kind = entry.file_type().ok();
        let is_linked_file = || kind.is_some_and(|kind| kind.is_symlink()) && entry.path().is_file();
        Some(Listed {
            name,
            is_file: kind.is_some_and(|kind| kind.is_file()) || is_linked_file(),
            is_directory: kind.is_some_and(|kind| kind.is_dir()),
        })
    };
    let mut names: Vec<Listed> = entries.filter_map(|entry| listed(entry.ok()?)).collect();
    names.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(names)
}

/// The file `prefix` or `prefix.<number>` of a directory; a pipe of that name would be waited for.
fn metadata_file(directory: &Path, names: &[Listed], prefix: &str) -> Option<PathBuf> {
    let is_it = |entry: &&Listed| entry.is_file && is_numbered(&entry.name, prefix);
    names.iter().find(is_it).map(|file| directory.join(&file.name))
}

/// Whether a name is `prefix` or `prefix.<number>`.
fn is_numbered(name: &str, prefix: &str) -> bool {
    match name.strip_prefix(prefix) {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('.')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())),
        None => false,
    }
}

/// Whether a file name is that of an `info.json`.
pub(crate) fn is_info_json(name: &str) -> bool {
    is_numbered(name, "info.json")
}

fn place(directory: &Path, file: &str) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}/{file}")
}

fn network_cards(json: &Value) -> Vec<(String, f64)> {
    let cards = json.get("netCard").and_then(Value::as_array);
    let card = |card: &Value| (text(card, "netCardName"), number(card, "speed").unwrap_or(0.0));
    cards.map(|list| list.iter().map(card).collect()).unwrap_or_default()
}

/// The events of one unit in a list such as `SMMU:0x2,0x8a;HBM:0x1`.
fn of_unit<'a>(list: &'a str, unit: &str) -> &'a str {
    let mut units = list.split(';').filter_map(|part| part.split_once(':'));
    units.find(|(name, _)| name.trim().eq_ignore_ascii_case(unit)).map_or("", |(_, events)| events)
}

/// A comma-separated list of names.
fn names(list: &str) -> Vec<String> {
    list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// A comma-separated list of hexadecimal event numbers.
fn events(list: &str) -> Vec<u32> {
    let event = |text: &str| {
        let text = text.trim();
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        u32::from_str_radix(digits, 16).ok()
    };
    list.split(',').filter(|text| !text.trim().is_empty()).filter_map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_whether_quoted_or_not() {
        let json: Value = serde_json::json!({"a": "50.000000", "b": 50, "c": [], "d": "x"});
        assert_eq!(number(&json, "a"), Some(50.0));
        assert_eq!(number(&json, "b"), Some(50.0));
        assert_eq!(number(&json, "c"), None);
        assert_eq!(number(&json, "d"), None);
    }

    #[test]
    fn event_lists_are_hexadecimal_with_or_without_prefix() {
        assert_eq!(events("0x8,0xa, 54,,zz"), [8, 10, 0x54]);
        assert_eq!(events(""), [0u32; 0]);
        assert_eq!(events(of_unit("HBM:0x1;smmu: 0x2,0x8a", "SMMU")), [2, 0x8a]);
        assert_eq!(of_unit("HBM", "SMMU"), "");
    }

    #[test]
    fn an_unknown_processor_is_an_error_that_names_it() {
        let json = serde_json::json!({"platform_version": "6"});
        let error = Info::from_json(&json, Path::new("info.json"), &mut Losses::default()).err();
        let error = error.map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("platform_version 6")));
    }

    #[test]
    fn times_of_a_host_counter_of_a_gigahertz_are_nanoseconds_already() {
        let local = |megahertz| {
            let info = Info { host_clock_mhz: Some(megahertz), ..Info::default() };
            let host_start = Reading { monotonic: Some(5_000), counter: Some(70), counter_difference: 0 };
            Metadata { info, host_start, ..Metadata::default() }.host_clock().local(100)
        };
        assert_eq!(local(1_000.0), 100);
        assert_eq!(local(100.0), 5_300);
    }

    #[test]
    fn metadata_files_may_carry_the_devices_number() {
        assert!(is_info_json("info.json") && is_info_json("info.json.0") && is_info_json("info.json.12"));
        assert!(!is_info_json("info.json.bak") && !is_info_json("info.jsonx") && !is_info_json("info.json."));
    }
}
