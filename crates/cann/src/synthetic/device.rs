//! The device's files of sample profiles.

use std::io;
use std::path::Path;

use opscope_cann_raw::device::{
    CompactStarsLog, ContextCounters, CoreCounters, EventCount, HwtsLog, MAGIC, StarsLog, StepTrace,
    TrackFlip, TrackHead, TrackTimeline, WideCounters, WideStepTrace, counter_flag, function, track,
};
use opscope_cann_raw::{Chip, DeviceLog, Record, SliceWriter};

use crate::synthetic::clockwork::{Clockwork, Random};
use crate::synthetic::execution::{Execution, Lane};
use crate::synthetic::machine::{core_megahertz, cores};
use crate::synthetic::network::Network;
use crate::synthetic::options::SampleLayout;

/// Writes the device's files.
pub(super) struct DeviceFiles {
    chip: Chip,
    clockwork: Clockwork,
    log: SliceWriter,
    counters: SliceWriter,
    track: SliceWriter,
    buffer: Vec<u8>,
}

impl DeviceFiles {
    /// The files of the device of a number.
    pub(super) fn new(
        directory: &Path,
        number: usize,
        chip: Chip,
        clockwork: Clockwork,
        layout: SampleLayout,
    ) -> Self {
        let (log, counters) = match chip.device_log() {
            DeviceLog::Stars | DeviceLog::CompactStars => ("stars_soc.data", "ffts_profile.data"),
            DeviceLog::Hwts if layout == SampleLayout::Job2022 => ("hwts.log.data", "aicore.data"),
            DeviceLog::Hwts => ("hwts.data", "aicore.data"),
            // Chip 0 has no other log than the track.
            _ => ("unused", "aicore.data"),
        };
        let infix = if layout == SampleLayout::Job2022 { ".45.dev.profiler_default_tag" } else { "" };
        let writer = |name: &str| SliceWriter::new(directory, &format!("{name}{infix}.{number}"));
        Self {
            chip,
            clockwork,
            log: writer(log),
            counters: writer(counters),
            track: writer("ts_track.data"),
            buffer: Vec::with_capacity(256),
        }
    }

    /// Writes what executing an operator leaves behind: start, end, and counters.
    pub(super) fn execute(
        &mut self,
        network: &Network,
        execution: Execution,
        random: &mut Random,
    ) -> io::Result<()> {
        let op = &network.ops[execution.op];
        let start = self.clockwork.device(execution.start);
        let end = self.clockwork.device(execution.start + execution.duration).max(start + 1);
        let megahertz = core_megahertz(self.chip);
        let blocks = u64::from(op.blocks);
        // Blocks beyond the number of cores are executed in further rounds.
        let rounds = blocks.div_ceil(u64::from(cores(self.chip))).max(1);
        let cycles = execution.duration * megahertz / 1_000 * blocks * 4 / 5 / rounds;
        let mut counters = [0; 8];
        counters.iter_mut().for_each(|counter| *counter = cycles * (1 + random.below(50)) / 100);
        let task = execution.low();
        match self.chip.device_log() {
            DeviceLog::Stars => {
                for (edge, time) in [(function::TASK_START, start), (function::TASK_END, end)] {
                    let record = StarsLog {
                        word: edge,
                        magic: MAGIC,
                        stream: execution.lane.stream,
                        task,
                        time,
                        ..StarsLog::default()
                    };
                    put(&mut self.log, &mut self.buffer, &record)?;
                }
                // Kind 1 are the vector cores.
                let vector = u16::from(op.task_type == 2 && self.chip.splits_cores());
                let record = ContextCounters {
                    word: function::CONTEXT_COUNTERS,
                    magic: MAGIC,
                    stream: execution.lane.stream,
                    task,
                    subtask_type: vector,
                    context: 0,
                    ffts: vector << 13,
                    cycles,
                    counters,
                    start,
                    end,
                };
                put(&mut self.counters, &mut self.buffer, &record)
            }
            DeviceLog::CompactStars => {
                let record = |word, time| CompactStarsLog {
                    word,
                    magic: MAGIC,
                    task_low: task,
                    task_high: execution.high(),
                    time,
                    ..CompactStarsLog::default()
                };
                for (word, time) in [(function::TASK_START, start), (function::TASK_END, end)] {
                    put(&mut self.log, &mut self.buffer, &record(word, time))?;
                }
                // The first operator is a part of a fused task, with the mission 5 on the unit of die 0.
                if execution.op == 0 {
                    for (word, time) in [(function::FUSED_START, start), (function::FUSED_END, end)] {
                        let part =
                            CompactStarsLog { fused: 1 << 3 | 5 << 5, accelerator: 9, ..record(word, time) };
                        put(&mut self.log, &mut self.buffer, &part)?;
                    }
                }
                let mut ten = [0; 10];
                ten[..8].copy_from_slice(&counters);
                let record = WideCounters {
                    word: function::WIDE_COUNTERS,
                    magic: MAGIC,
                    task_low: task,
                    task_high: execution.high(),
                    cycles,
                    flags: counter_flag::LEADING,
                    core_type: u8::from(op.task_type == 2),
                    counters: ten,
                    start,
                    end,
                    ..WideCounters::default()
                };
                put(&mut self.counters, &mut self.buffer, &record)?;
                // Two blocks on two cores: one for the first half of the time, one for the last three quarters.
                let length = end - start;
                for (block, (start, end)) in
                    (0..).zip([(start, start + length / 2), (start + length / 4, end)])
                {
                    let word = function::BLOCK_COUNTERS;
                    let record =
                        WideCounters { word, core: 3 + block, block: block.into(), start, end, ..record };
                    put(&mut self.counters, &mut self.buffer, &record)?;
                }
                Ok(())
            }
            DeviceLog::Hwts => {
                let stream = u32::from(execution.lane.stream);
                for (tag, time) in [(0, start), (1, end)] {
                    let record = HwtsLog { tag, task_type: 0, magic: MAGIC, task, time, stream };
                    put(&mut self.log, &mut self.buffer, &record)?;
                }
                let record = CoreCounters { tag: 0, magic: MAGIC, task, cycles, counters, stream };
                put(&mut self.counters, &mut self.buffer, &record)
            }
            _ => {
                let head = TrackHead { mode: 0, tag: track::TIMELINE, size: TrackTimeline::SIZE as u16 };
                for (state, time) in [(1, start.saturating_sub(20)), (2, start), (3, end)] {
                    let record = TrackTimeline {
                        head,
                        task_type: 0,
                        state,
                        stream: execution.lane.stream,
                        task,
                        time,
                        thread: 0,
                        device: 0,
                    };
                    put(&mut self.track, &mut self.buffer, &record)?;
                }
                let head = TrackHead { mode: 0, tag: track::EVENT_COUNT, size: EventCount::SIZE as u16 };
                let blocks = op.blocks as u16;
                let record = EventCount {
                    head,
                    stream: execution.lane.stream,
                    task,
                    counters,
                    cycles,
                    time: end,
                    blocks,
                    ..EventCount::default()
                };
                put(&mut self.counters, &mut self.buffer, &record)
            }
        }
    }

    /// Writes the start and end of a task that only records an event, where the device logs such.
    pub(super) fn record_event(&mut self, execution: Execution) -> io::Result<()> {
        const EVENT_RECORD: u16 = 4 << 10;
        let Execution { lane, start, duration, .. } = execution;
        let start = self.clockwork.device(start);
        let end = self.clockwork.device(execution.start + duration).max(start + 1);
        for (edge, time) in [(function::TASK_START, start), (function::TASK_END, end)] {
            let (word, magic, task) = (edge | EVENT_RECORD, MAGIC, execution.low());
            let rest = StarsLog::default();
            let record = StarsLog { word, magic, stream: lane.stream, task, time, ..rest };
            put(&mut self.log, &mut self.buffer, &record)?;
        }
        Ok(())
    }

    /// Writes the start and end of a task of a kind of queue entry, of which nothing is counted.
    pub(super) fn log_task(
        &mut self,
        lane: Lane,
        task: u32,
        kind: u16,
        start: u64,
        end: u64,
    ) -> io::Result<()> {
        let (start, end) = (self.clockwork.device(start), self.clockwork.device(end));
        for (edge, time) in [(function::TASK_START, start), (function::TASK_END, end)] {
            let (word, magic) = (edge | kind << 10, MAGIC);
            if self.chip.has_wide_task_ids() {
                let (task_low, task_high) = (task as u16, (task >> 16) as u16);
                let record =
                    CompactStarsLog { word, magic, task_low, task_high, time, ..CompactStarsLog::default() };
                put(&mut self.log, &mut self.buffer, &record)?;
            } else {
                let rest = StarsLog::default();
                let record = StarsLog { word, magic, stream: lane.stream, task: task as u16, time, ..rest };
                put(&mut self.log, &mut self.buffer, &record)?;
            }
        }
        Ok(())
    }

    /// Notes that the task numbers of a stream start again at a moment.
    pub(super) fn flip_at(&mut self, lane: Lane, time: u64, number: u16) -> io::Result<()> {
        let head = TrackHead { mode: 0, tag: track::FLIP, size: TrackFlip::SIZE as u16 };
        let (time, stream) = (self.clockwork.device(time), lane.stream);
        let record = TrackFlip { head, time, stream, flip: number, task: 0 };
        put(&mut self.track, &mut self.buffer, &record)
    }

    /// Notes that the task numbers start again with this execution.
    pub(super) fn flip(&mut self, execution: Execution, number: u16) -> io::Result<()> {
        // Without batches nothing reads the note.
        if !self.chip.exports_whole_run() {
            return Ok(());
        }
        let head = TrackHead { mode: 0, tag: track::FLIP, size: TrackFlip::SIZE as u16 };
        let time = self.clockwork.device(execution.start) - 1;
        let stream = execution.lane.stream;
        let record = TrackFlip { head, time, stream, flip: number, task: 0 };
        put(&mut self.track, &mut self.buffer, &record)
    }

    fn step(&mut self, nanoseconds: u64, index: u64, tag: u16) -> io::Result<()> {
        let head = TrackHead { mode: 0, tag: track::STEP, size: StepTrace::SIZE as u16 };
        let time = self.clockwork.device(nanoseconds);
        if self.chip.has_wide_task_ids() {
            let record = WideStepTrace { head, time, index, model: 1, tag, stream: 1, task: index as u32 };
            return put(&mut self.track, &mut self.buffer, &record);
        }
        let record = StepTrace { head, time, index, model: 1, stream: 1, task: index as u16, tag };
        put(&mut self.track, &mut self.buffer, &record)
    }

    /// Notes the begin of an inference.
    pub(super) fn model_start(&mut self, nanoseconds: u64, inference: u64) -> io::Result<()> {
        self.step(nanoseconds, inference, 0)
    }

    /// Notes the end of an inference.
    pub(super) fn model_end(&mut self, nanoseconds: u64, inference: u64) -> io::Result<()> {
        self.step(nanoseconds, inference, 1)
    }

    /// Completes the files.
    pub(super) fn finish(self) -> io::Result<()> {
        [self.log, self.counters, self.track].into_iter().try_for_each(SliceWriter::finish)
    }
}

fn put(writer: &mut SliceWriter, buffer: &mut Vec<u8>, record: &impl Record) -> io::Result<()> {
    buffer.clear();
    record.append_to(buffer);
    writer.write(buffer)
}
