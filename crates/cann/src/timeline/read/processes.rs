//! The real processes and the devices behind the processes of a timeline.
//!
//! A label `NPU 1` tells the device. PyTorch's timelines label all devices `NPU` alone, and those of 2022
//! nothing at all; their numbers hold the device where they are composed as the vendor's exporters do it
//! (`pid << 10 | layer << 5 | device`). Numbers that aren't are the system's, or anything, and tell none.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::timeline::lanes;

/// The number that stands for the host among those of devices.
const HOST: u32 = 31;

/// The labels of processes on the host, and of those on a device of which no more is told.
const HOST_LABEL: &str = "CPU";
const DEVICE_LABEL: &str = "NPU";

/// The processes of a timeline.
pub(super) struct Processes {
    /// Whether the vendor's numbers are composed of process, layer and device.
    composed: bool,
    /// The real processes that composed numbers hold.
    real: HashSet<u32>,
    /// The devices that labels tell.
    labelled: HashMap<u32, u32>,
    /// Processes that are labelled as the host's.
    of_host: HashSet<u32>,
    /// Processes of devices of which nothing tells the number: the place among those of the same name.
    unnumbered: HashMap<u32, u32>,
}

impl Processes {
    /// Looks at number, name and label of each process; nothing where no process is one of Ascend's.
    pub fn new(processes: &[(u32, &str, &str)]) -> Option<Self> {
        let vendors = || processes.iter().filter(|(pid, name, _)| is_vendors(*pid, name));
        vendors().next()?;
        let labelled: HashMap<u32, u32> =
            processes.iter().filter_map(|(pid, _, label)| Some((*pid, labelled_device(label)?))).collect();
        let agrees = |pid: u32| labelled.get(&pid).is_none_or(|device| *device == device_bits(pid));
        // A number is composed for sure where its label says the same, the layer is that of its name, or the
        // real process has lanes as well.
        let is_sure = |pid: u32, name: &str| {
            pid >> 10 != 0
                && (labelled.contains_key(&pid)
                    || has_layer(pid, name)
                    || processes.iter().any(|(other, ..)| *other == pid >> 10))
        };
        let sure = vendors().filter(|(pid, name, _)| is_sure(*pid, name));
        let mut real: HashSet<u32> = sure.map(|(pid, ..)| pid >> 10).collect();
        let composed = vendors().all(|(pid, ..)| agrees(*pid) && real.contains(&(pid >> 10)));
        if !composed {
            real.clear();
        }
        let of_host =
            processes.iter().filter(|(.., label)| *label == HOST_LABEL).map(|(pid, ..)| *pid).collect();
        let mut unnumbered = HashMap::new();
        if !composed {
            let mut of_devices: BTreeSet<(&str, u32)> = processes
                .iter()
                .filter(|(_, name, label)| is_of_device(name) || *label == DEVICE_LABEL)
                .map(|(pid, name, _)| (*name, *pid))
                .collect();
            of_devices.retain(|(_, pid)| !labelled.contains_key(pid));
            let mut last = ("", 0);
            for (name, pid) in of_devices {
                last = if name == last.0 { (name, last.1 + 1) } else { (name, 0) };
                unnumbered.insert(pid, last.1);
            }
        }
        Some(Self { composed, real, labelled, of_host, unnumbered })
    }

    /// For a timeline that shows nothing but inferences.
    pub fn none() -> Self {
        Self {
            composed: true,
            real: HashSet::new(),
            labelled: HashMap::new(),
            of_host: HashSet::new(),
            unnumbered: HashMap::new(),
        }
    }

    /// Whether a process is one of the vendor's, of whatever name.
    pub fn is_vendors(&self, pid: u32) -> bool {
        match self.composed {
            true => self.real.contains(&(pid >> 10)),
            false => self.labelled.contains_key(&pid) || self.unnumbered.contains_key(&pid),
        }
    }

    /// The device that a process is about; nothing for the host, and where it isn't one of the vendor's.
    pub fn device(&self, pid: u32) -> Option<u32> {
        if let Some(device) = self.labelled.get(&pid).or_else(|| self.unnumbered.get(&pid)) {
            return Some(*device);
        }
        let is_told = self.composed && self.real.contains(&(pid >> 10)) && !self.of_host.contains(&pid);
        is_told.then(|| device_bits(pid)).filter(|device| *device != HOST)
    }

    /// The real process behind one of the vendor's.
    pub fn real(&self, pid: u32) -> u32 {
        if self.composed { pid >> 10 } else { pid }
    }

    /// How many devices were numbered from 0 in the order of their processes; a single one of which nothing
    /// tells the number is the first, as in tables and databases without devices.
    pub fn counted_devices(&self) -> u64 {
        self.unnumbered.values().max().filter(|last| **last > 0).map_or(0, |last| u64::from(*last) + 1)
    }
}

/// The number in `NPU 1`.
fn labelled_device(label: &str) -> Option<u32> {
    label.strip_prefix(DEVICE_LABEL)?.strip_prefix(' ')?.parse().ok()
}

fn device_bits(pid: u32) -> u32 {
    pid & 31
}

fn layer_bits(pid: u32) -> u64 {
    u64::from(pid >> 5 & 31)
}

/// Whether a number holds the layer that processes of this name have.
fn has_layer(pid: u32, name: &str) -> bool {
    let layer = layer_bits(pid);
    match name {
        lanes::CALLS => layer == lanes::CALLS_LAYER,
        name if name == lanes::HARDWARE[0] => {
            matches!(layer, lanes::HARDWARE_LAYER | lanes::PYTORCH_HARDWARE_LAYER)
        }
        // The others are known by their layer.
        _ => true,
    }
}

/// Whether only an Ascend timeline has this process. Boards' timelines have the names of 2022 as well, but
/// no layers in the numbers of processes.
fn is_vendors(pid: u32, name: &str) -> bool {
    let layer = layer_bits(pid);
    name == lanes::HARDWARE[0]
        || name == lanes::CALLS
        || (layer == lanes::HARDWARE_LAYER && is_hardware(name))
        || (layer == lanes::CALLS_LAYER && is_of_calls(name))
        || (layer == lanes::PROGRAM_LAYER && name == lanes::RANGES_OF_2022)
}

/// Whether a process shows tasks, today or in 2022.
pub(super) fn is_hardware(name: &str) -> bool {
    lanes::HARDWARE.contains(&name)
}

/// Whether a process shows collective operations.
pub(super) fn is_of_communication(name: &str) -> bool {
    matches!(name, "HCCL" | "Communication")
}

/// Whether a process shows the calls of the host's libraries, which named it in 2022: `AscendCL, Runtime`.
pub(super) fn is_of_calls(name: &str) -> bool {
    name == lanes::CALLS || name.split(", ").any(|library| matches!(library, lanes::ACL | lanes::RUNTIME))
}

fn is_of_device(name: &str) -> bool {
    is_hardware(name) || is_of_communication(name)
}
