//! Brings together what host and device recorded of the same work.
//!
//! 1. [`host_tasks`] walks the calls of each thread and gives every task that was handed to a
//!    device its node, model and launching call.
//!    [`communication`] finds the collective operations among them.
//! 2. [`batches`] numbers the wraps of task numbers, on both sides.
//! 3. [`tasks`] pairs host and device tasks.
//! 4. [`counters`] gives device tasks their counters.
//! 5. [`iterations`] finds the inferences in the steps that the device recorded.

mod batches;
mod call_tree;
mod communication;
mod counters;
mod cursor;
mod described_tasks;
mod host_tasks;
mod iterations;
mod tasks;

pub use communication::{Collective, CollectiveTable, Communication, Step, StepTable};
pub use counters::TaskCounters;
pub use host_tasks::{HostTask, HostTaskTable, OpSource};
pub use iterations::{Iteration, IterationTable};
pub use tasks::Matches;

use std::collections::BTreeMap;

use opscope_cann_raw::Chip;

use crate::data::{Data, Device};
use crate::join::tasks::Apart;
use crate::losses::{Losses, Reason};
use crate::parallel;
use crate::tables::NO_MODEL;

/// A profile whose host and device sides were brought together.
#[derive(Debug)]
pub struct Joined {
    /// The native tables. The batches of host and device tasks are filled in.
    pub data: Data,
    /// Tasks that the host handed to devices, by thread and time.
    pub host_tasks: HostTaskTable,
    /// The collective operations that the host launched.
    pub communication: Communication,
    /// For each note on a fused operator the model that it belongs to.
    pub fusion_models: Vec<u64>,
    /// What belongs together, by device number.
    pub devices: BTreeMap<u32, JoinedDevice>,
    /// What didn't fit together.
    pub losses: Losses,
}

/// What belongs together on one device.
#[derive(Debug, Default)]
pub struct JoinedDevice {
    /// Which host task each device task belongs to.
    pub matches: Matches,
    /// Which counters each device task has.
    pub counters: TaskCounters,
    /// The inferences, in the order of their ends.
    pub iterations: IterationTable,
}

/// How many tasks of a device ended before the collection began, which no result shows.
fn tasks_before_begin(device: &Device) -> u64 {
    let Some(begin) = device.metadata.session.begin else { return 0 };
    device.tables.tasks.end().iter().filter(|&&end| device.clock.local(end) < begin).count() as u64
}

impl Joined {
    /// Joins a decoded profile.
    pub fn new(mut data: Data) -> Self {
        let mut losses = Losses::default();
        let has_batches = data
            .devices
            .values()
            .next()
            .map_or(data.profile.metadata(), |d| Some(&d.metadata))
            .is_some_and(|m| m.has_batches());
        if has_batches && !data.chip().has_wide_task_ids() {
            batches::of_host(&mut data.host);
        }
        let by_model = data.chip().names_tasks_by_model() && !data.host.legacy;
        let has_batches = has_batches && !by_model;
        let (host_tasks, fusion_models) = if data.host.legacy {
            (described_tasks::host_tasks(&data.host), data.host.described_fusion_models.clone())
        } else if by_model {
            let devices: Vec<u32> = data.devices.keys().copied().collect();
            (described_tasks::tasks_of_models(&data.host, &devices), Vec::new())
        } else {
            host_tasks::host_tasks(&data.host, data.chip(), &mut losses)
        };
        let communication = communication::communication(&data.host, &host_tasks);
        let wide = data.chip().has_wide_task_ids();
        // The files that tell of the host's tasks.
        let told_in = match data.host.legacy {
            true => "Framework.task_desc_info",
            false if by_model => "*.dbg",
            false => "compact.task_track",
        };
        let mut parts: Vec<(&mut Device, Losses, JoinedDevice)> = data
            .devices
            .values_mut()
            .map(|device| (device, Losses::default(), JoinedDevice::default()))
            .collect();
        for (device, losses, joined) in &mut parts {
            if has_batches && !wide {
                batches::of_device(&mut device.tables);
            }
            if wide {
                tasks::fill_streams(device, &host_tasks);
            }
            if by_model {
                tasks::fill_streams_of_models(device, &host_tasks);
            }
            // The tool chain of 2022 told nothing of wraps to the device.
            let apart = match data.host.legacy {
                false if by_model => Apart::Model,
                false if has_batches || wide => Apart::Batch,
                _ => Apart::Order,
            };
            let is_chip_0 = device.metadata.chip() == Chip::V1_1_0;
            let tables = &device.tables;
            let (matches, counters) = parallel::join(
                || tasks::matches(tables, &host_tasks, device.id, apart),
                || counters::task_counters(tables, is_chip_0),
            );
            joined.matches = matches.0;
            joined.counters = counters.0;
            losses.merge(matches.1);
            losses.count(Reason::HostTaskWithoutDevice, told_in, joined.matches.host_only.len() as u64);
            losses.merge(counters.1);
            joined.iterations = iterations::iterations(&tables.steps);
            losses.count(Reason::TimeBeforeStart, "device tasks", tasks_before_begin(device));
        }
        let mut devices = BTreeMap::new();
        for (device, device_losses, joined) in parts {
            losses.merge(device_losses);
            devices.insert(device.id, joined);
        }
        Self { data, host_tasks, communication, fusion_models, devices, losses }
    }

    /// How many inferences of each model were recorded, by the model's number.
    pub fn inferences(&self) -> BTreeMap<u64, u64> {
        let mut most = BTreeMap::new();
        for device in self.devices.values() {
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            for model in device.iterations.model().iter().filter(|model| **model != NO_MODEL) {
                *counts.entry(*model).or_default() += 1;
            }
            for (model, count) in counts {
                let known = most.entry(model).or_insert(count);
                *known = count.max(*known);
            }
        }
        most
    }

    /// Everything that was dropped or doubted, while decoding and while joining.
    pub fn all_losses(&self) -> Losses {
        let mut all = self.data.losses();
        all.merge(self.losses.clone());
        all
    }
}
