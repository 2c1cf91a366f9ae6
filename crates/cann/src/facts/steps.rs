//! The inferences that devices recorded, numbered for each model.

use crate::facts::view::View;
use crate::join::Iteration;
use crate::tables::NO_MODEL;

/// An inference with what is needed to print it.
pub(crate) struct Step {
    /// The device's number in [`View::devices`].
    pub(crate) device: usize,
    /// Its number, from 1 for each model.
    pub(crate) number: u64,
    /// The inference.
    pub(crate) iteration: Iteration,
    /// The last end of an inference before its forward pass, of whatever model, if there was one.
    pub(crate) previous_end: Option<u64>,
    /// When gradients were reduced over all devices: begins and ends in device ticks.
    pub(crate) reduces: Vec<(u64, u64)>,
    /// When data was fetched, in the same way.
    pub(crate) fetches: Vec<(u64, u64)>,
}

impl Step {
    /// The ticks for which the device waited for data.
    pub(crate) fn data_wait(&self) -> Option<u64> {
        Some(self.iteration.forward.saturating_sub(self.previous_end?))
    }
}

/// All inferences of all devices, by their end.
pub(crate) fn steps(view: &View<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (device, of_device) in view.devices.iter().enumerate() {
        let first = steps.len();
        let iterations = &of_device.joined.iterations;
        for (row, iteration) in iterations.rows().enumerate().filter(|(_, row)| row.model != NO_MODEL) {
            let before = steps[first..].iter().rev().find(|step| step.iteration.model == iteration.model);
            let number = before.map_or(1, |step| step.number + 1);
            let ends_before = &iterations.end()[..row];
            let ended = ends_before.partition_point(|&end| end < iteration.forward);
            let previous_end = ends_before[..ended].last().copied();
            let reduces = of_device.joined.reduces.of_iteration(row as u32);
            let fetches = of_device.joined.fetches.of_iteration(row as u32);
            steps.push(Step { device, number, iteration, previous_end, reduces, fetches });
        }
    }
    steps
}

/// The inferences among the chosen iterations.
pub(crate) fn shown_steps(view: &View<'_>, mut steps: Vec<Step>) -> Vec<Step> {
    steps.retain(|step| {
        let window = view.devices[step.device].window;
        window.is_none_or(|(start, end)| step.iteration.start >= start && step.iteration.end <= end)
    });
    steps
}
