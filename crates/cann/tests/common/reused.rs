//! Runs of two devices whose task numbers are soon used again.
//!
//! Two threads launch operators on two streams of each device, with operators of the general processors
//! between. An operator's counters are a function of its number, so a test knows whose they are.

use std::collections::BTreeMap;

use opscope_cann_raw::device::{
    ContextCounters, CoreCounters, EventCount, HwtsLog, MAGIC, StarsLog, TrackFlip, TrackHead, TrackTaskType,
    TrackTimeline, function, track,
};
use opscope_cann_raw::host::{self, ApiEvent, Head, NodeBasicInfo, TaskTrack, level};
use opscope_cann_raw::{Chip, DeviceLog, Record};

use super::written::Written;

/// How many operators are launched.
pub const OPERATORS: u64 = 300;

/// How many numbers a stream has for its tasks.
const NUMBERS: u16 = 23;

const FIRST_STREAM: u16 = 2;
const AI_CORE: u16 = 0;
const AI_CPU: u16 = 1;
const FLIP_TASK: u64 = 98;

/// Whether an operator runs on the general processors, which leave no counters.
pub fn is_on_cpu(operator: u64) -> bool {
    operator % 5 == 3 || operator % 7 == 2
}

/// The name of an operator.
pub fn name(operator: u64) -> String {
    format!("op_{operator}")
}

/// The cycles that an operator's counters have.
pub fn cycles(operator: u64) -> u64 {
    10_000 + operator
}

/// When an operator begins on the device, in microseconds since the begin of the collection.
pub fn begin(operator: u64) -> i64 {
    1_100 + operator as i64 * 20
}

/// One run of an operator: its place on the device, its number, and its time in microseconds.
#[derive(Clone, Copy)]
struct Run {
    operator: u64,
    device: u16,
    stream: u16,
    task: u16,
    begin: i64,
    end: i64,
}

/// A profile of a chip. Operators for which `keeps_record` is false leave no counters.
pub fn write(chip: Chip, keeps_record: impl Fn(u64) -> bool) -> Written {
    let mut profile = Written::new(chip);
    profile.add_device(1);
    profile.name_type(level::RUNTIME, FLIP_TASK as u32, "FLIP_TASK");
    let mut used: BTreeMap<(u16, u16), u64> = BTreeMap::new();
    for operator in 0..OPERATORS {
        let (device, stream) = ((operator / 3 % 2) as u16, FIRST_STREAM + (operator * 7 / 4 % 2) as u16);
        let count = used.entry((device, stream)).or_default();
        let (task, wraps) = ((*count % u64::from(NUMBERS)) as u16, *count / u64::from(NUMBERS));
        *count += 1;
        let begin = begin(operator);
        let run = Run { operator, device, stream, task, begin, end: begin + 30 };
        if task == 0 && wraps > 0 {
            flip(&mut profile, chip, run, wraps as u16);
        }
        launch(&mut profile, run, begin - 100);
        execute(&mut profile, chip, run);
        if !is_on_cpu(operator) && keeps_record(operator) {
            count_cycles(&mut profile, chip, run);
        }
    }
    profile
}

/// The head of a host's record of the thread that launches an operator.
fn head(profile: &Written, run: Run, level: u16, kind: u32, at: i64) -> Head {
    Head { thread: 4_242 + (run.operator % 2) as u32, ..profile.head(level, kind, at) }
}

fn launch(profile: &mut Written, run: Run, at: i64) {
    let name = profile.hash(&name(run.operator));
    let unit = if is_on_cpu(run.operator) { AI_CPU } else { AI_CORE };
    let op_type = profile.hash(if unit == AI_CPU { "Where" } else { "Add" });
    let Head { thread, time: begin, .. } = head(profile, run, level::NODE, 0, at);
    let end = profile.host_ticks(at + 10);
    let call = ApiEvent {
        magic: host::MAGIC,
        level: level::NODE,
        kind: 5,
        thread,
        begin,
        end,
        item: name,
        ..ApiEvent::default()
    };
    profile.add("api_event.data", &call);
    let head_of_track = head(profile, run, level::RUNTIME, 802, at + 3);
    let Run { device, stream, task, .. } = run;
    let task_type = u64::from(unit);
    let launched = TaskTrack { head: head_of_track, device, stream, task, task_type, ..TaskTrack::default() };
    profile.add("compact.task_track", &launched);
    let head = head(profile, run, level::NODE, 0, at + 5);
    let task_type = u32::from(unit);
    let note = NodeBasicInfo { head, name, task_type, op_type, blocks: 1, ..NodeBasicInfo::default() };
    profile.add("compact.node_basic_info", &note);
}

/// Notes on both sides that a stream's numbers start again.
fn flip(profile: &mut Written, chip: Chip, run: Run, number: u16) {
    let Run { device, stream, .. } = run;
    let head = head(profile, run, level::RUNTIME, 802, run.begin - 101);
    let (batch, task_type) = (number, FLIP_TASK);
    let noted = TaskTrack { head, device, stream, batch, task_type, ..TaskTrack::default() };
    profile.add("compact.task_track", &noted);
    if chip.exports_whole_run() {
        let time = profile.device_ticks(run.begin) - 1;
        let head = TrackHead { mode: 0, tag: track::FLIP, size: TrackFlip::SIZE as u16 };
        let record = TrackFlip { head, time, stream, flip: number, task: 0 };
        profile.add_to(device, "ts_track.data", &record);
    }
}

/// The device's records of start and end.
fn execute(profile: &mut Written, chip: Chip, run: Run) {
    let Run { device, stream, task, .. } = run;
    let kind = if is_on_cpu(run.operator) { AI_CPU } else { AI_CORE };
    let [begin, end] = [run.begin, run.end].map(|at| profile.device_ticks(at));
    for (is_end, time) in [(0, begin), (1, end)] {
        let head = |tag, size: usize| TrackHead { mode: 0, tag, size: size as u16 };
        match chip.device_log() {
            DeviceLog::TaskScheduler => {
                let head = head(track::TIMELINE, TrackTimeline::SIZE);
                let (task_type, state) = (kind, 2 + is_end);
                let record =
                    TrackTimeline { head, task_type, state, stream, task, time, thread: 0, device: 0 };
                profile.add_to(device, "ts_track.data", &record);
            }
            DeviceLog::Hwts if kind == AI_CPU && chip == Chip::V2_1_0 => {
                let head = head(track::TASK_TYPE, TrackTaskType::SIZE);
                let state = 1 + is_end as u8;
                let record = TrackTaskType { head, time, stream, task, task_type: kind, state };
                profile.add_to(device, "ts_track.data", &record);
            }
            DeviceLog::Hwts => {
                let (tag, task_type, stream) = (is_end as u8, kind as u8, u32::from(stream));
                let record = HwtsLog { tag, task_type, magic: MAGIC, task, time, stream };
                profile.add_to(device, "hwts.data", &record);
            }
            _ => {
                let word = [function::TASK_START, function::TASK_END][usize::from(is_end)] | kind << 10;
                let record = StarsLog { word, magic: MAGIC, stream, task, time, ..StarsLog::default() };
                profile.add_to(device, "stars_soc.data", &record);
            }
        }
    }
}

fn count_cycles(profile: &mut Written, chip: Chip, run: Run) {
    let Run { device, stream, task, .. } = run;
    let [start, end] = [run.begin, run.end].map(|at| profile.device_ticks(at));
    let (cycles, magic) = (cycles(run.operator), MAGIC);
    let counters = [cycles / 2; 8];
    match chip.device_log() {
        DeviceLog::TaskScheduler => {
            let head = TrackHead { mode: 0, tag: track::EVENT_COUNT, size: EventCount::SIZE as u16 };
            let (time, blocks) = (end, 1);
            let record =
                EventCount { head, stream, task, counters, cycles, time, blocks, ..EventCount::default() };
            profile.add_to(device, "aicore.data", &record);
        }
        DeviceLog::Hwts => {
            let stream = u32::from(stream);
            let record = CoreCounters { tag: 0, magic, task, cycles, counters, stream };
            profile.add_to(device, "aicore.data", &record);
        }
        _ => {
            let word = function::CONTEXT_COUNTERS;
            let record = ContextCounters {
                word,
                magic,
                stream,
                task,
                cycles,
                counters,
                start,
                end,
                ..ContextCounters::default()
            };
            profile.add_to(device, "ffts_profile.data", &record);
        }
    }
}
