//! A generated profile of which some files are replaced.

use std::path::PathBuf;

use opscope_cann::join::Joined;
use opscope_cann::{SampleLayout, SampleMode, SampleOptions, write_sample};
use opscope_cann_raw::{Chip, Record};
use serde_json::Value;
use tempfile::TempDir;

/// A generated profile of which some files are replaced.
pub struct Edited {
    directory: TempDir,
    pub profile: PathBuf,
}

impl Edited {
    /// A profile of a model that is loaded once and executes as many tasks.
    pub fn new(chip: Chip, tasks: u64) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (mode, layout) = (SampleMode::Static, SampleLayout::Current);
        let options = SampleOptions { chip, tasks, mode, layout, seed: 1 };
        let profile = write_sample(directory.path(), options).expect("a profile");
        Self { directory, profile }
    }

    /// With another description of the device.
    pub fn with_device_info(self, key: &str, value: &str) -> Self {
        let file = self.profile.join("device_0/info.json.0");
        let text = std::fs::read_to_string(&file).expect("the description");
        let mut info: Value = serde_json::from_str(&text).expect("JSON");
        info["DeviceInfo"][0][key] = value.into();
        std::fs::write(&file, info.to_string()).expect("space on disk");
        self
    }

    /// With a device's file of these bytes only.
    pub fn with_bytes(self, device: u32, stream: &str, bytes: &[u8]) -> Self {
        let data = self.profile.join(format!("device_{device}/data"));
        for entry in std::fs::read_dir(&data).expect("a listing").flatten() {
            if entry.file_name().to_string_lossy().starts_with(stream) {
                std::fs::remove_file(entry.path()).expect("a file");
            }
        }
        std::fs::write(data.join(format!("{stream}.{device}.slice_0")), bytes).expect("space on disk");
        self
    }

    /// With a device's file of these records only.
    pub fn with<R: Record>(self, device: u32, stream: &str, records: &[R]) -> Self {
        let mut bytes = Vec::new();
        records.iter().for_each(|record| record.append_to(&mut bytes));
        self.with_bytes(device, stream, &bytes)
    }

    /// The reading of the device's counter to which its times relate.
    pub fn device_begin(&self) -> u64 {
        let text = std::fs::read_to_string(self.profile.join("device_0/dev_start.log.0")).expect("a file");
        let line = text.lines().find_map(|line| line.strip_prefix("cntvct")).expect("a reading");
        line.trim_start_matches([':', ' ']).parse().expect("a number")
    }

    pub fn joined(&self) -> Joined {
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
