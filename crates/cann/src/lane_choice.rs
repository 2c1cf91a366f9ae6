//! Which groups of lanes a timeline shows, as the vendor's `--reports` file chooses them.

use serde_json::Value;

/// A group of lanes, shown as a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// Ranges and marks of the program.
    Program,
    /// Calls of the host's libraries.
    Cann,
    /// Work of data processing units.
    Dpu,
    /// Tasks of a device.
    Hardware,
    /// Collective operations.
    Communication,
    /// The AI cores' frequency.
    Frequency,
    /// Voltages.
    Voltage,
    /// Memory in use.
    NpuMemory,
    /// Traffic of the HBM.
    Hbm,
    /// Traffic of the DDR memory.
    Ddr,
    /// Traffic over PCIe.
    Pcie,
    /// Traffic between processors.
    Hccs,
    /// Traffic of the network card.
    Nic,
    /// Traffic through RDMA.
    Roce,
    /// Use of the last-level cache.
    Llc,
    /// Parts of the last-level cache that control processors hold.
    LlcControl,
    /// Levels of the accelerators' bandwidth.
    Accelerators,
    /// Levels of bandwidth within the chip.
    Bandwidths,
    /// Traffic over links of the chip.
    ChipLinks,
    /// Traffic between dies.
    Dies,
    /// Bandwidth by quality of service.
    Quality,
    /// Traffic of the unified bus.
    UnifiedBus,
    /// Instructions of cores.
    Instructions,
    /// Work of the units for collective communication.
    Ccu,
    /// Parts of fused tasks.
    Fused,
    /// Blocks of tasks.
    Blocks,
    /// How much the AI cores work.
    CoreUse,
    /// Use of the host's processors.
    HostCpu,
    /// Use of the host's memory.
    HostMemory,
    /// Use of the host's network.
    HostNetwork,
    /// Use of the host's disks.
    HostDisk,
    /// Calls of the operating system and of threads.
    OsCalls,
    /// How computing and communication overlap.
    Overlap,
    /// Operators that other recorders saw.
    OtherRecorders,
}

/// Which groups of lanes a timeline shows; by default all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneChoice {
    /// A bit for each hidden group, by its place in [`GROUPS`].
    hidden: u64,
}

/// Why a file doesn't choose lanes.
#[derive(Debug, thiserror::Error)]
pub enum LaneChoiceError {
    /// The file isn't JSON.
    #[error("the file isn't JSON; expected {{\"json_process\": {{\"ascend\": true, …}}}}")]
    Json(#[from] serde_json::Error),
    /// The value of a group is neither `true` nor `false`.
    #[error("json_process.{group} is {found}; expected true or false")]
    NoBoolean {
        /// The group.
        group: String,
        /// The value.
        found: String,
    },
}

/// The groups of lanes, as the file names them.
const GROUPS: [(&str, Layer); 33] = [
    ("ascend", Layer::Hardware),
    ("cann", Layer::Cann),
    ("dpu", Layer::Dpu),
    ("msproftx", Layer::Program),
    ("communication", Layer::Communication),
    ("overlap_analyse", Layer::Overlap),
    ("freq", Layer::Frequency),
    ("freq", Layer::Voltage),
    ("npu_mem", Layer::NpuMemory),
    ("hbm", Layer::Hbm),
    ("ddr", Layer::Ddr),
    ("pcie", Layer::Pcie),
    ("hccs", Layer::Hccs),
    ("nic", Layer::Nic),
    ("roce", Layer::Roce),
    ("llc", Layer::Llc),
    ("llc", Layer::LlcControl),
    ("acc_pmu", Layer::Accelerators),
    ("stars_soc", Layer::Bandwidths),
    ("stars_chip_trans", Layer::ChipLinks),
    ("sio", Layer::Dies),
    ("qos", Layer::Quality),
    ("ub", Layer::UnifiedBus),
    ("biu_perf", Layer::Instructions),
    ("ccu", Layer::Ccu),
    ("fusion_task", Layer::Fused),
    ("block_detail", Layer::Blocks),
    ("ai_core_utilization", Layer::CoreUse),
    ("cpu_usage", Layer::HostCpu),
    ("memory_usage", Layer::HostMemory),
    ("network_usage", Layer::HostNetwork),
    ("disk_usage", Layer::HostDisk),
    ("os_runtime_api", Layer::OsCalls),
];

/// Groups that aren't layers of their own: inferences, and the devices' sides of marks.
const STEPS: (&str, u32) = ("step_trace", 62);
const MARKS: (&str, u32) = ("device_tx", 63);

impl LaneChoice {
    /// All lanes.
    pub const ALL: Self = Self { hidden: 0 };

    /// Reads the text of a `--reports` file: `{"json_process": {"ascend": true, "cann": false}}`.
    /// Groups that the file names as `false` or doesn't name are hidden; without `json_process`
    /// all are shown. Names of groups that aren't known are ignored.
    ///
    /// # Errors
    /// If the text isn't JSON, or a group is neither `true` nor `false`.
    pub fn from_json(text: &str) -> Result<Self, LaneChoiceError> {
        let file: Value = serde_json::from_str(text)?;
        let Some(groups) = file.get("json_process").and_then(Value::as_object).filter(|g| !g.is_empty())
        else {
            return Ok(Self::default());
        };
        for (group, value) in groups {
            if !value.is_boolean() {
                return Err(LaneChoiceError::NoBoolean { group: group.clone(), found: value.to_string() });
            }
        }
        let is_shown = |name: &str| groups.get(name).and_then(Value::as_bool).unwrap_or(false);
        let layers = (0..).zip(GROUPS).map(|(bit, (name, _))| (name, bit));
        let hidden = layers.chain([STEPS, MARKS]).filter(|(name, _)| !is_shown(name));
        Ok(Self { hidden: hidden.fold(0, |bits, (_, bit)| bits | 1 << bit) })
    }

    /// Whether a layer is shown.
    pub(crate) fn shows(self, layer: Layer) -> bool {
        let place = GROUPS.iter().position(|(_, known)| *known == layer);
        place.is_none_or(|place| self.hidden & 1 << place == 0)
    }

    /// Whether inferences are shown.
    pub(crate) fn shows_steps(self) -> bool {
        self.hidden & 1 << STEPS.1 == 0
    }

    /// Whether the devices' sides of marks are shown.
    pub(crate) fn shows_marks(self) -> bool {
        self.hidden & 1 << MARKS.1 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_file_does_not_allow_is_hidden() {
        let choice =
            LaneChoice::from_json(r#"{"json_process": {"ascend": true, "cann": false, "sio": true}}"#);
        let choice = choice.expect("a choice");
        assert!(choice.shows(Layer::Hardware));
        assert!(!choice.shows(Layer::Cann) && !choice.shows(Layer::Hbm));
        assert!(!choice.shows_steps() && !choice.shows_marks());
    }

    #[test]
    fn without_a_choice_everything_is_shown() {
        for text in ["{}", r#"{"json_process": {}}"#, "[]"] {
            assert_eq!(LaneChoice::from_json(text).expect("a choice"), LaneChoice::default(), "{text}");
        }
        assert!(LaneChoice::default().shows(Layer::Cann) && LaneChoice::default().shows_steps());
    }

    #[test]
    fn mistakes_are_named() {
        let mistake = LaneChoice::from_json(r#"{"json_process": {"cann": "yes"}}"#).expect_err("a mistake");
        assert_eq!(mistake.to_string(), "json_process.cann is \"yes\"; expected true or false");
        assert!(LaneChoice::from_json("ascend").is_err());
    }
}
