//! Work of the units for collective communication (CCU) with what the host noted on it.

use opscope_trace::NumberMap;

use crate::facts::view::{DeviceView, View};
use crate::kinds::communication::{data_type_name, reduction_name};
use crate::tables::{ChannelSample, LoopNote, Mission, WaitNote};

/// The bytes of a package, to which delays of channels refer.
const PACKAGE: f64 = 4_096.0;

const MEGABYTE: f64 = 1_048_576.0;

/// Ticks of a unit of [`Mission::arrivals`].
const TICKS_OF_ARRIVAL: u64 = 4;

/// A loop or a wait of a unit.
#[derive(Clone, Debug)]
pub(crate) struct CcuSpan {
    /// Begin and end; wall-clock nanoseconds.
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// 65535 where no task of the host has the number.
    pub(crate) stream: u16,
    pub(crate) task: u32,
    pub(crate) instruction: u16,
    pub(crate) work: CcuWork,
}

/// The content of a span.
#[derive(Clone, Debug)]
pub(crate) enum CcuWork {
    Loop {
        note: Option<LoopNote>,
    },
    Wait {
        /// The rank whose notice came last.
        rank: u8,
        /// The channel of the note with the longest mean delay before the end, and that delay in ticks.
        slowest: Option<(u8, u32)>,
        note: Option<WaitNote>,
    },
}

impl CcuSpan {
    /// The span's name in all outputs.
    pub(crate) fn name(&self) -> &'static str {
        match self.work {
            CcuWork::Loop { .. } => "LoopGroup",
            CcuWork::Wait { .. } => "Wait",
        }
    }

    /// MB/s of a loop whose bytes are known.
    pub(crate) fn bandwidth(&self) -> Option<f64> {
        let CcuWork::Loop { note: Some(note) } = &self.work else { return None };
        let nanoseconds = self.end.saturating_sub(self.start);
        (nanoseconds > 0).then(|| note.size as f64 / (nanoseconds as f64 / 1e9) / MEGABYTE)
    }

    /// The reduction and both element types of a loop that reduces.
    pub(crate) fn reduction(&self) -> Option<[&'static str; 3]> {
        let CcuWork::Loop { note: Some(note) } = &self.work else { return None };
        let reduction = reduction_name(note.reduction)?;
        let element = |number: u8| data_type_name(u32::from(number));
        Some([reduction, element(note.input), element(note.output)])
    }
}

/// The ranks' notices of a wait with their arrivals in device ticks, the last rank first.
pub(crate) fn arrivals(mission: &Mission) -> impl Iterator<Item = (u8, u64)> + '_ {
    let ticks = |units: u16| mission.wait_start.saturating_add(u64::from(units) * TICKS_OF_ARRIVAL);
    (0..16).rev().zip(mission.arrivals.map(ticks))
}

/// Loops and waits of a device by begin. A wait ends with the last notice.
pub(crate) fn ccu_spans(view: &View<'_>, device: &DeviceView<'_>) -> Vec<CcuSpan> {
    let tables = &device.device.tables.ccu;
    let notes = &view.joined.data.host.ccu;
    let streams = host_streams(view, device);
    let mut loops: NumberMap<(u32, u16), LoopNote> = NumberMap::default();
    notes.loops.rows().for_each(|note| {
        loops.entry((note.task, note.instruction)).or_insert(note);
    });
    let mut waits: NumberMap<(u32, u16), WaitNote> = NumberMap::default();
    notes.waits.rows().for_each(|note| {
        waits.entry((note.task, note.instruction)).or_insert(note);
    });
    let delays = Delays::new(device);
    let span = |mission: Mission| {
        let stream = streams.get(&mission.task).copied().unwrap_or(u16::MAX);
        let of = |instruction, from, to, work| {
            let (start, end) = (device.time(from), device.time(to));
            CcuSpan { start, end: end.max(start), stream, task: mission.task, instruction, work }
        };
        if mission.wait_start != 0 {
            // Of equal arrivals the first one counts, as in the reference.
            let (rank, end) = arrivals(&mission).reduce(|a, b| if b.1 > a.1 { b } else { a })?;
            let note = waits.get(&(mission.task, mission.wait_instruction)).copied();
            let slowest = note.and_then(|note| delays.slowest(&note.channels, end));
            let work = CcuWork::Wait { rank, slowest, note };
            return Some(of(mission.wait_instruction, mission.wait_start, end, work));
        }
        let note = loops.get(&(mission.task, mission.loop_instruction)).copied();
        (mission.loop_start != 0).then(|| {
            of(mission.loop_instruction, mission.loop_start, mission.loop_end, CcuWork::Loop { note })
        })
    };
    let mut spans: Vec<CcuSpan> = tables.missions.rows().filter_map(span).collect();
    spans.sort_by_key(|span| (span.start, span.end));
    spans
}

/// The streams of the host's tasks on a device, by the tasks' numbers.
pub(crate) fn host_streams(view: &View<'_>, device: &DeviceView<'_>) -> NumberMap<u32, u16> {
    let mut streams = NumberMap::default();
    let tasks = &view.joined.host_tasks;
    for row in 0..tasks.len() {
        if u32::from(tasks.device()[row]) == device.device.id {
            streams.entry(tasks.task()[row]).or_insert(tasks.stream()[row]);
        }
    }
    streams
}

/// The longest mean delay of each channel up to each sample, by time.
struct Delays(NumberMap<u8, Vec<(u64, u32)>>);

impl Delays {
    fn new(device: &DeviceView<'_>) -> Self {
        let mut samples: Vec<ChannelSample> = device.device.tables.ccu.channels.rows().collect();
        samples.sort_by_key(|sample| sample.delays.time);
        let mut channels: NumberMap<u8, Vec<(u64, u32)>> = NumberMap::default();
        for ChannelSample { channel, delays, .. } in samples {
            let known = channels.entry(channel).or_default();
            let longest = known.last().map_or(0, |(_, longest)| *longest).max(delays.mean);
            known.push((delays.time, longest));
        }
        Self(channels)
    }

    /// The channel of some with the longest mean delay before a time.
    fn slowest(&self, channels: &[u16], before: u64) -> Option<(u8, u32)> {
        let used = channels.iter().filter_map(|channel| u8::try_from(*channel).ok());
        let longest = used.filter_map(|channel| {
            let samples = self.0.get(&channel)?;
            let earlier = samples.partition_point(|(time, _)| *time < before);
            Some((channel, samples[..earlier].last()?.1))
        });
        longest.filter(|(_, delay)| *delay > 0).reduce(|a, b| if b.1 > a.1 { b } else { a })
    }
}

/// MB/s of a channel with a delay in ticks; 0 without one.
pub(crate) fn channel_rate(device: &DeviceView<'_>, ticks: u32) -> f64 {
    let micros = device.device.clock.duration_micros_f64(u64::from(ticks));
    if micros > 0.0 { PACKAGE / micros * (1e6 / MEGABYTE) } else { 0.0 }
}
