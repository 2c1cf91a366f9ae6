//! From the profile that ONNX Runtime writes to a [`Recording`].

use std::collections::HashMap;

use opscope_formats::onnxruntime::{NodeEvent, Profile, SessionEventKind};
use opscope_trace::{LossKind, Losses, Nanoseconds, StringId};

use super::failure::lost;
use super::recorder::Recorded;
use crate::engine::{EngineNode, Execution, Recording, Window};
use crate::error::RunError;

/// Reads a profile.
///
/// # Errors
/// When it can't be read.
pub fn read(recorded: &Recorded) -> Result<Recording, RunError> {
    let windows = &recorded.windows[..];
    let profile = Profile::read(&recorded.profile).map_err(|error| lost(error.to_string()))?;
    let runs = Runs::of(&profile, windows);
    let mut recording = Recording { threads: vec!["main".to_owned()], ..Recording::default() };
    let mut nodes = Nodes { profile: &profile, known: HashMap::new() };
    let mut threads: HashMap<i64, u32> = HashMap::new();
    let mut outside = 0;
    for event in &profile.nodes {
        let node = nodes.of(event, &mut recording.nodes);
        let Some(iteration) = runs.containing(event) else {
            outside += u64::from(!(recorded.was_stopped && runs.is_after_last(event)));
            continue;
        };
        // The thread that runs the iterations executes the first node.
        let next = threads.len() as u32;
        let thread = *threads.entry(event.thread).or_insert(next);
        let (start, duration) = runs.place(iteration, event);
        recording.executions.push(Execution { node, iteration: iteration as u32, thread, start, duration });
    }
    recording.threads.extend((1..threads.len()).map(|number| format!("worker {number}")));
    recording.losses = losses(&profile, &runs, windows, outside);
    Ok(recording)
}

/// The iterations and executions that the profile lacks.
fn losses(profile: &Profile, runs: &Runs, windows: &[Window], outside: u64) -> Losses {
    let missing = windows.len().saturating_sub(runs.runs.len()) as u64;
    let executed: std::collections::HashSet<usize> =
        profile.nodes.iter().filter_map(|event| runs.containing(event)).collect();
    // A graph whose result is known beforehand has no node to execute.
    let missing = if profile.nodes.is_empty() { 0 } else { missing };
    let empty = (0..if profile.nodes.is_empty() { 0 } else { runs.runs.len() })
        .filter(|run| !executed.contains(run))
        .count() as u64;
    let mut losses = Losses::default();
    losses.count(LossKind::UnrecordedIteration, "", missing);
    losses.count(LossKind::EmptyIteration, "", empty);
    losses.count(LossKind::ExecutionOutside, "", outside);
    losses
}

/// The inferences in the profile, in order, and how its clock lies to ours.
struct Runs {
    runs: Vec<(Nanoseconds, Nanoseconds)>,
    offset: Nanoseconds,
    windows: Vec<Window>,
}

impl Runs {
    fn of(profile: &Profile, windows: &[Window]) -> Self {
        let runs = profile.sessions.iter().filter(|event| event.kind == SessionEventKind::Run);
        let mut runs: Vec<_> = runs.map(|event| (event.start, event.duration)).collect();
        runs.sort_unstable();
        let offset = clock_offset(windows, &runs);
        Self { runs, offset, windows: windows.to_vec() }
    }

    /// The inference that an event lies in.
    fn containing(&self, event: &NodeEvent) -> Option<usize> {
        let after = self.runs.partition_point(|(start, _)| *start <= event.start);
        let run = after.checked_sub(1)?;
        let (start, duration) = self.runs[run];
        (event.start <= start + duration && run < self.windows.len()).then_some(run)
    }

    /// Whether an event comes after all complete inferences.
    fn is_after_last(&self, event: &NodeEvent) -> bool {
        let last = self.windows.len().checked_sub(1).and_then(|last| self.runs.get(last));
        last.is_none_or(|(start, duration)| event.start > *start + *duration)
    }

    /// An event's time by our clock. The profiler counts whole microseconds, so at the border of an
    /// iteration an event may seem to leave it by one.
    fn place(&self, run: usize, event: &NodeEvent) -> (Nanoseconds, Nanoseconds) {
        let window = self.windows[run];
        let (first, last) = (window.start, window.start + window.duration);
        let start = (event.start + self.offset).clamp(first, last);
        let end = (event.start + event.duration + self.offset).clamp(start, last);
        (start, end - start)
    }
}

/// The zero of ONNX Runtime's clock by ours. A run can't have begun before we asked for it, nor have
/// ended after we had its result, so the middle between both bounds is the best guess.
fn clock_offset(windows: &[Window], runs: &[(Nanoseconds, Nanoseconds)]) -> Nanoseconds {
    let bounds = windows.iter().zip(runs).map(|(window, (start, duration))| {
        let early = window.start - *start;
        (early, early + window.duration - *duration)
    });
    let tightest = bounds.reduce(|(low, high), (early, late)| (low.max(early), high.min(late)));
    tightest.map_or(Nanoseconds::ZERO, |(low, high)| Nanoseconds(low.0 + (high - low).0 / 2))
}

/// The engine's nodes, met one after the other in the events.
struct Nodes<'a> {
    profile: &'a Profile,
    known: HashMap<([StringId; 3], Option<u32>), u32>,
}

impl Nodes<'_> {
    /// The node of an event, which is added when it is met for the first time.
    fn of(&mut self, event: &NodeEvent, nodes: &mut Vec<EngineNode>) -> u32 {
        let key = ([event.name, event.op_name, event.provider], event.node_index);
        *self.known.entry(key).or_insert_with(|| {
            let text = |id: StringId| self.profile.strings.get(id).to_owned();
            let (name, op_type, provider) = (text(event.name), text(event.op_name), text(event.provider));
            nodes.push(EngineNode { name, op_type, provider });
            nodes.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: i64, duration: i64) -> Window {
        Window { start: Nanoseconds(start), duration: Nanoseconds(duration) }
    }

    #[test]
    fn the_clock_is_laid_into_the_middle_of_what_all_iterations_allow() {
        let runs = [(Nanoseconds(100), Nanoseconds(40)), (Nanoseconds(200), Nanoseconds(40))];
        // The first iteration allows 900 to 910, the second 905 to 915.
        let windows = [window(1000, 50), window(1105, 50)];
        assert_eq!(clock_offset(&windows, &runs), Nanoseconds(907));
        assert_eq!(clock_offset(&[], &runs), Nanoseconds::ZERO);
    }
}
