//! The machine as `info.json` describes it, and the local time as the files spell it.

use super::json::quoted;

/// The machine that a profile was made on.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Its name in the network.
    pub host_name: String,
    /// Its system, such as `Linux-6.1`.
    pub system: String,
    /// The processors' name.
    pub processor: String,
    /// How many processors there are.
    pub processors: u32,
    /// Memory in kB.
    pub memory_kb: u64,
    /// Jiffies per second.
    pub jiffies: u64,
    /// Seconds since it was started, as `/proc/uptime` has them.
    pub up_time: String,
    /// Network interfaces and their speed in Mbit/s.
    pub network: Vec<(String, u64)>,
}

/// A network interface that doesn't tell its speed (those of virtual machines) counts as this fast.
const ASSUMED_MBITS: u64 = 10_000;

/// The processor family that the files name. They must name one; a profile without a device tells
/// nothing of it.
const PLATFORM: &str = "5";

impl Machine {
    /// Looks at the machine. Facts that it doesn't tell stay empty.
    pub fn read() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            line.and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()))
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        let present = read("/proc/stat").lines().filter(|line| is_processor(line)).count() as u32;
        // SAFETY: the call has no preconditions.
        let jiffies = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        Self {
            host_name: read("/proc/sys/kernel/hostname").trim().to_owned(),
            system: format!("Linux-{}", read("/proc/sys/kernel/osrelease").trim()),
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
            processors: present.max(processors),
            memory_kb: memory.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0),
            jiffies: u64::try_from(jiffies).unwrap_or(100),
            up_time: read("/proc/uptime").trim().to_owned(),
            network: network(),
        }
    }

    /// `info.json` of a host directory. An empty `frequency` says that times are nanoseconds.
    pub fn info_json(&self, process: u32, name: &str, frequency: &str) -> String {
        let card = |(name, speed): &(String, u64)| {
            format!(r#"{{"netCardName": {}, "speed": {speed}}}"#, quoted(name))
        };
        let cards: Vec<String> = self.network.iter().map(card).collect();
        let pairs = [
            ("version", quoted("1.0")),
            ("jobInfo", quoted("NA")),
            ("OS", quoted(&self.system)),
            ("hostname", quoted(&self.host_name)),
            ("hwtype", quoted("")),
            ("platform", quoted("")),
            ("platform_version", quoted(PLATFORM)),
            ("pid", quoted(&process.to_string())),
            ("pid_name", quoted(name)),
            ("upTime", quoted(&self.up_time)),
            ("memoryTotal", self.memory_kb.to_string()),
            ("cpuNums", self.processors.to_string()),
            ("sysClockFreq", self.jiffies.to_string()),
            ("netCardNums", self.network.len().to_string()),
            ("rank_id", "-1".to_owned()),
            ("drvVersion", "467730".to_owned()),
            ("collector", quoted(concat!("opscope ", env!("CARGO_PKG_VERSION")))),
            (
                "CPU",
                format!(
                    r#"[{{"Id": 0, "Name": {}, "Frequency": {}, "Logical_CPU_Count": {}, "Type": {}}}]"#,
                    quoted(&self.processor),
                    quoted(frequency),
                    self.processors,
                    quoted(std::env::consts::ARCH),
                ),
            ),
            ("netCard", format!("[{}]", cards.join(", "))),
            ("devices", quoted("64")),
            ("DeviceInfo", "[]".to_owned()),
        ];
        let pairs = pairs.map(|(name, value)| format!("{}: {value}", quoted(name)));
        format!("{{{}}}", pairs.join(", "))
    }
}

/// Whether a line of `/proc/stat` is that of one processor.
fn is_processor(line: &str) -> bool {
    line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
}

fn network() -> Vec<(String, u64)> {
    let Ok(entries) = std::fs::read_dir("/sys/class/net") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut cards: Vec<(String, u64)> = names
        .filter(|name| name != "lo")
        .map(|name| {
            let speed = std::fs::read_to_string(format!("/sys/class/net/{name}/speed"));
            let speed = speed.ok().and_then(|text| text.trim().parse::<i64>().ok());
            let known = speed.and_then(|speed| u64::try_from(speed).ok()).filter(|speed| *speed > 0);
            (name, known.unwrap_or(ASSUMED_MBITS))
        })
        .collect();
    cards.sort();
    cards
}

/// A moment in the local time zone.
pub(super) struct LocalTime {
    fields: libc::tm,
    micros: u64,
}

/// The local time of nanoseconds since 1970.
pub(super) fn local_time(wall: u64) -> LocalTime {
    let seconds = (wall / 1_000_000_000) as libc::time_t;
    // SAFETY: an all-zero `tm` is valid, and is filled in by the call.
    let mut fields: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both are valid places; on failure the zeros stay.
    unsafe { libc::localtime_r(&seconds, &mut fields) };
    LocalTime { fields, micros: wall / 1_000 % 1_000_000 }
}

impl LocalTime {
    fn parts(&self) -> [i32; 6] {
        let time = &self.fields;
        [time.tm_year + 1900, time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec]
    }

    /// `20251009085320000`: to the millisecond.
    pub(super) fn digits(&self) -> String {
        let [year, month, day, hour, minute, second] = self.parts();
        let millis = self.micros / 1_000;
        format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}{millis:03}")
    }

    /// `2025-10-09 08:53:20.000000`.
    pub(super) fn date(&self) -> String {
        let [year, month, day, hour, minute, second] = self.parts();
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{:06}", self.micros)
    }
}
