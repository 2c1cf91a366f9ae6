//! A run of captured graphs on two devices, as programs that serve language models make it.
//!
//! | graph | captured | told by |
//! |---|---|---|
//! | first | before the collection began, on two streams | the notes on its operators alone |
//! | second | while it is recorded | the notes on the nodes that are launched |
//! | third | after the second is destroyed, with its number and stream | the notes on its operators alone |
//!
//! In between, operators are launched one by one.

use std::io;

use crate::synthetic::clockwork::Random;
use crate::synthetic::device::DeviceFiles;
use crate::synthetic::execution::{Execution, HostSide, Lane};
use crate::synthetic::host::{AHEAD, HostFiles, STREAM};
use crate::synthetic::network::Network;
use crate::synthetic::options::SampleOptions;

/// How many devices take part.
pub(super) const DEVICES: usize = 2;

/// When the first graph was captured, in nanoseconds before the begin of the collection.
const BEFORE: u64 = 40_000_000;

/// When the devices' first task starts, in nanoseconds since the begin of the collection.
const FIRST_TASK: u64 = 2_000_000;

/// How many operators are launched one by one, in a row.
const LAUNCHED: usize = 6;

/// How often a graph is replayed, in a row; in a run of few tasks, once.
const REPLAYS: usize = 3;

/// A device's tasks up to which a run has few.
const FEW: u64 = 400;

/// A moment on the host, in nanoseconds since the begin of the collection; before it, if negative.
pub(super) type Moment = i64;

/// A graph that is captured on one device.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) number: u16,
    /// When its capture began.
    pub(super) begin: Moment,
    /// Its operators, with when each was captured.
    pub(super) tasks: Vec<(Execution, Moment)>,
    /// The event that it records last, with when that was captured, where the device logs such.
    pub(super) event: Option<(Execution, Moment)>,
}

impl Graph {
    /// Its streams.
    pub(super) fn streams(&self) -> Vec<Lane> {
        let mut lanes: Vec<Lane> = self.tasks.iter().map(|(task, _)| task.lane).collect();
        lanes.sort_by_key(|lane| lane.stream);
        lanes.dedup_by_key(|lane| lane.stream);
        lanes
    }
}

/// One device's part of the run.
struct Part<'a> {
    options: SampleOptions,
    network: &'a Network,
    host: &'a mut HostFiles,
    device: &'a mut DeviceFiles,
    number: u16,
    random: Random,
    /// When the device is free.
    time: u64,
    /// How many tasks it may still execute.
    left: u64,
    /// How many operators were launched one by one.
    launched: u64,
    /// On chips with wide task numbers the next one, which all streams share.
    next_wide: u32,
    /// How often a graph is replayed, in a row.
    replays: usize,
}

/// Writes the run; returns when the last task ended.
pub(super) fn run(
    options: SampleOptions,
    network: &Network,
    host: &mut HostFiles,
    devices: &mut [DeviceFiles],
) -> io::Result<u64> {
    let count = devices.len() as u64;
    let mut end = 0;
    for (number, device) in (0..).zip(devices) {
        let share = options.tasks / count + u64::from(u64::from(number) < options.tasks % count);
        let random = Random::new(options.seed + u64::from(number));
        let replays = if share > FEW { REPLAYS } else { 1 };
        let (time, left, launched, next_wide) = (FIRST_TASK, share, 0, 1);
        let mut part =
            Part { options, network, host, device, number, random, time, left, launched, next_wide, replays };
        part.run()?;
        end = end.max(part.time);
    }
    Ok(end)
}

impl Part<'_> {
    fn run(&mut self) -> io::Result<()> {
        let ops = self.network.ops.len();
        let first = self.graph(101, -(BEFORE as Moment), &[40, 41], 0..ops / 2);
        self.host.capture(self.network, &first, false)?;
        self.launch_some()?;
        let second = self.graph(102, self.time as Moment, &[42], ops / 2..ops * 3 / 4);
        self.host.capture(self.network, &second, true)?;
        self.time += 1_000_000;
        for graph in [&first, &second] {
            self.replay(graph)?;
        }
        self.destroy(&second)?;
        let third = self.graph(102, self.time as Moment + 2_000, &[42], ops * 3 / 4..ops);
        self.host.capture(self.network, &third, false)?;
        self.time += 1_000_000;
        while self.left > 0 {
            self.replay(&third)?;
            self.replay(&first)?;
            self.launch_some()?;
        }
        Ok(())
    }

    /// A graph of some of the network's operators, which take turns on its streams.
    fn graph(&mut self, number: u16, begin: Moment, streams: &[u16], ops: std::ops::Range<usize>) -> Graph {
        let mut captured = begin;
        let mut next = vec![1; streams.len()];
        let mut task = |part: &mut Self, place: usize, op: usize| {
            let stream = place % streams.len();
            let lane = Lane { device: part.number, stream: streams[stream] };
            let task = part.task_number(next[stream]);
            next[stream] += 1;
            captured += 1_000;
            (Execution { lane, op, task, start: 0, duration: 0 }, captured)
        };
        let tasks = ops.clone().enumerate().map(|(place, op)| task(self, place, op)).collect();
        let event = (!self.options.chip.has_wide_task_ids() && self.options.chip.has_stars())
            .then(|| task(self, 0, ops.start));
        Graph { number, begin, tasks, event }
    }

    /// A task's number, given that on its stream.
    fn task_number(&mut self, on_stream: u32) -> u32 {
        if !self.options.chip.has_wide_task_ids() {
            return on_stream;
        }
        self.next_wide += 1;
        self.next_wide - 1
    }

    /// Launches operators one by one.
    fn launch_some(&mut self) -> io::Result<()> {
        for _ in 0..LAUNCHED {
            if self.left == 0 {
                return Ok(());
            }
            let op = (self.launched % self.network.ops.len() as u64) as usize;
            let lane = Lane { device: self.number, stream: STREAM };
            let task = self.task_number(u32::from(self.launched as u16));
            let execution = self.next_execution(Execution { lane, op, task, start: 0, duration: 0 });
            if !self.options.chip.has_wide_task_ids() && task == 0 && self.launched > 0 {
                let flip = (self.launched >> 16) as u16;
                self.host.flip(execution, flip)?;
                self.device.flip(execution, flip)?;
            }
            self.host.launch(self.network, execution, true)?;
            self.device.execute(self.network, execution, &mut self.random)?;
            self.launched += 1;
            self.left -= 1;
        }
        Ok(())
    }

    /// Replays a graph some times.
    fn replay(&mut self, graph: &Graph) -> io::Result<()> {
        for _ in 0..self.replays {
            self.host.replay(graph, self.number, self.time.saturating_sub(AHEAD))?;
            for (task, _) in &graph.tasks {
                if self.left == 0 {
                    return Ok(());
                }
                let execution = self.next_execution(*task);
                self.device.execute(self.network, execution, &mut self.random)?;
                self.left -= 1;
            }
            if let Some((event, _)) = graph.event.filter(|_| self.left > 0) {
                let event = Execution { start: self.time + 300, duration: 40, ..event };
                self.device.record_event(event)?;
                self.time = event.start + event.duration;
                self.left -= 1;
            }
            self.time += 5_000;
        }
        Ok(())
    }

    /// Destroys a graph with its streams.
    fn destroy(&mut self, graph: &Graph) -> io::Result<()> {
        const DESTROYED: u16 = u16::MAX;
        self.host.destroy(graph, self.number, self.time)?;
        self.time += AHEAD + 2_000;
        for lane in graph.streams() {
            let execution = Execution { lane, op: 0, task: 0, start: self.time, duration: 0 };
            if !self.options.chip.has_wide_task_ids() {
                self.host.flip(execution, DESTROYED)?;
                self.device.flip(execution, DESTROYED)?;
            }
        }
        Ok(())
    }

    /// A task with the time at which the device executes it next.
    fn next_execution(&mut self, task: Execution) -> Execution {
        let start = self.time + 600 + self.random.below(900);
        let base = self.network.ops[task.op].nanoseconds;
        let duration = base + self.random.below(base / 8 + 1);
        self.time = start + duration;
        Execution { start, duration, ..task }
    }
}
