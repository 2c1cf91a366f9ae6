//! Timelines of TensorFlow and JAX: the profiler writes `*.trace.json.gz` and `perfetto_trace.json.gz` beside its
//! `*.xplane.pb`, with the planes as processes and the lines as threads, so that names mean what they mean there (see
//! [`crate::xplane`]).
//!
//! Operators are on the lines of devices; where there is no device, they are the events of the host that name their
//! HLO. All else on the host is calls, also the steps that a program marks and the profiler's own functions. Planes are
//! no processes: all are parts of one, as in the `*.xplane.pb`.

use std::collections::BTreeMap;

use opscope_trace::{ApiLevel, DeviceKind, ExecutionUnit, Iteration, RangeKind};

use super::builder::{Builder, Item, OperatorKey};
use super::chunk::Details;
use super::dialect::{AboutFile, Dialect, DialectReader};
use super::lanes::LaneId;
use super::text::{number, unquoted};
use crate::reading::Row;
use crate::xplane::meaning::{Content, Role, content_of, unit_of};
use crate::xplane::stat::Known;

/// The dialect of the timelines that the profiler of TensorFlow and JAX writes.
pub(super) struct Xla;

impl Dialect for Xla {
    fn begin<'a>(
        &self,
        about: &AboutFile<'_, 'a>,
        builder: &mut Builder<'a>,
    ) -> Option<Box<dyn DialectReader<'a> + 'a>> {
        let role = |name: &str| Role::of(name.as_bytes());
        let is_known = |name: &str| matches!(role(name), Role::Device(..) | Role::Host | Role::Cuda);
        // Planes of other names stand beside these, such as `/host:metadata` and `/device:CUSTOM:Megascale Trace`.
        let is_plane = |name: &str| name.starts_with("/host:") || name.starts_with("/device:");
        let names = || about.processes().map(|(_, name)| name);
        if !names().any(is_known) || !names().all(|name| is_known(name) || is_plane(name)) {
            return None;
        }
        let devices = names().filter(|name| matches!(role(name), Role::Device(..))).count();
        let lanes = &builder.lanes;
        let has_streams = lanes.iter().any(|lane| lane.name.starts_with("Stream #"));
        let meaning = |lane: &super::lanes::Lane<'a>| match role(&lane.process_name) {
            Role::Device(kind, number) => {
                Meaning::Device { kind, number, content: content_of(lane.name.as_bytes(), has_streams) }
            }
            Role::Cuda => Meaning::Host(ApiLevel::Runtime),
            Role::Host => Meaning::Host(ApiLevel::Framework),
            Role::Other => Meaning::Beside,
        };
        let meanings: Vec<Meaning> = lanes.iter().map(meaning).collect();
        let has_device = meanings.iter().any(|meaning| matches!(meaning, Meaning::Device { .. }));
        let steps = steps(about, &meanings);
        let has_several_devices = devices > 1;
        for (number, (lane, meaning)) in builder.lanes.iter_mut().zip(&meanings).enumerate() {
            let plane = std::mem::take(&mut lane.process_name);
            lane.pid = 0;
            if has_several_devices && meaning.is_of_ranges() {
                lane.name = format!("{plane} {}", lane.name).trim_end().to_owned();
                lane.tid = FIRST_OF_RANGES + number as u64;
            }
        }
        Some(Box::new(XlaReader { meanings, steps, has_device, has_several_devices, unnumbered: 0 }))
    }
}

/// The number of the first thread that stands for a lane of ranges, behind those that a system gives threads and those
/// that lanes with names get.
const FIRST_OF_RANGES: u64 = 1 << 40;

/// The lane whose steps are the inferences: that of the first device that tells of steps, or else that on which the
/// program marked most.
fn steps(about: &AboutFile<'_, '_>, meanings: &[Meaning]) -> Option<LaneId> {
    let mut marked: BTreeMap<LaneId, u64> = BTreeMap::new();
    let mut of_device: Option<LaneId> = None;
    for (chunk, lanes) in about.document.chunks.iter().zip(&about.lanes.of_chunks) {
        for slice in chunk.slices.iter() {
            let lane = lanes[slice.head.lane.0 as usize];
            match meanings[lane.index()] {
                Meaning::Device { content: Content::Steps, .. } => {
                    of_device = Some(of_device.map_or(lane, |known| known.min(lane)));
                }
                Meaning::Host(_) => {
                    let details = (slice.head.details.0 as usize).checked_sub(1);
                    let details = details.and_then(|index| chunk.details.get(index));
                    if details.is_some_and(|details| details.iteration != Details::NONE) {
                        *marked.entry(lane).or_default() += 1;
                    }
                }
                Meaning::Device { .. } | Meaning::Beside => {}
            }
        }
    }
    let most = marked.into_iter().max_by_key(|(lane, count)| (*count, std::cmp::Reverse(*lane)));
    of_device.or(most.map(|(lane, _)| lane))
}

/// The meaning of a lane.
#[derive(Clone, Copy)]
enum Meaning {
    Device {
        kind: DeviceKind,
        number: u32,
        content: Content,
    },
    Host(ApiLevel),
    /// A plane of something else, of which only ranges are kept.
    Beside,
}

impl Meaning {
    /// Whether slices of the lane are ranges.
    fn is_of_ranges(self) -> bool {
        matches!(self, Self::Beside | Self::Device { content: Content::Executed | Content::Ranges, .. })
    }
}

struct XlaReader {
    /// By lane.
    meanings: Vec<Meaning>,
    steps: Option<LaneId>,
    has_device: bool,
    /// Whether there are several, so that ranges lie within one another by their lanes alone.
    has_several_devices: bool,
    /// Steps of the device whose names are no numbers.
    unnumbered: u32,
}

impl<'a> DialectReader<'a> for XlaReader {
    fn slice(&mut self, builder: &mut Builder<'a>, slice: &Item<'a>) -> Option<Row> {
        Some(match self.meanings[slice.lane.index()] {
            Meaning::Host(level) => self.of_host(builder, slice, level),
            Meaning::Beside => self.range(builder, slice),
            Meaning::Device { kind, number, content } => match content {
                Content::Work | Content::Beside | Content::Waits => {
                    device_task(builder, slice, (kind, number), content)
                }
                Content::Steps if self.steps == Some(slice.lane) => self.step(builder, slice),
                Content::Steps | Content::Repeated => {
                    builder.repeated += 1;
                    Row::Other
                }
                // Threads have those that are executed.
                Content::Executed | Content::Ranges => self.range(builder, slice),
            },
        })
    }
}

impl XlaReader {
    fn step(&mut self, builder: &mut Builder<'_>, slice: &Item<'_>) -> Row {
        self.unnumbered += 1;
        let number = number(slice.raw_name).and_then(|number| u32::try_from(number).ok());
        let (start, duration) = (slice.start, slice.duration);
        let number = number.unwrap_or(self.unnumbered);
        builder.iterations.push(Iteration { model: None, number, warm_up: false, start, duration });
        Row::Other
    }

    fn of_host<'a>(&self, builder: &mut Builder<'a>, slice: &Item<'a>, level: ApiLevel) -> Row {
        if !self.has_device && !slice.word.is_empty() {
            let stream = builder.host_stream(slice.lane);
            let operator = operator(builder, slice);
            return builder.task(slice, Some(stream), ExecutionUnit::Cpu, Some(operator));
        }
        if self.steps == Some(slice.lane)
            && let Some(number) = slice.iteration()
        {
            let (start, duration) = (slice.start, slice.duration);
            builder.iterations.push(Iteration { model: None, number, warm_up: false, start, duration });
        }
        // Python's functions begin with a sign, behind which file and line stand.
        let is_function = unquoted(slice.raw_name).starts_with(b"$");
        let level = if is_function { ApiLevel::Other } else { level };
        builder.call(slice, slice.name, level)
    }

    /// A range, of several devices on the thread that stands for its lane.
    fn range<'a>(&self, builder: &mut Builder<'a>, slice: &Item<'a>) -> Row {
        let kind = if slice.duration.0 == 0 { RangeKind::Mark } else { RangeKind::StartStop };
        let thread = if self.has_several_devices { builder.thread(slice.lane) } else { None };
        builder.range_of(slice, kind, slice.category, thread)
    }
}

/// The operator that an event ran: the HLO that it names, or itself.
fn operator<'a>(builder: &mut Builder<'a>, slice: &Item<'a>) -> opscope_trace::OperatorId {
    let name = if slice.word.is_empty() { slice.name } else { builder.intern(slice.word) };
    let op_type = match slice.kind {
        b"" => slice.name,
        category => builder.trace.strings.intern(&String::from_utf8_lossy(category)),
    };
    builder.operator(OperatorKey { name, op_type, model: None, signature: slice.signature })
}

fn device_task<'a>(
    builder: &mut Builder<'a>,
    slice: &Item<'a>,
    (kind, number): (DeviceKind, u32),
    content: Content,
) -> Row {
    let word = unquoted(slice.word);
    let known = Known { category: slice.kind, hlo_op: word, ..Known::default() };
    let unit = unit_of(unquoted(slice.raw_name), &known, content, kind);
    let lane = builder.lane(slice.lane);
    let (line, thread) = (lane.name.clone(), lane.tid);
    // `Stream #7(Compute)`: the number is CUDA's, the rest says what runs there.
    let of_cuda = line.strip_prefix("Stream #").map(|rest| {
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    });
    let stream = builder.device_stream(kind, number, "", of_cuda.flatten().unwrap_or(thread), &line);
    let is_copy = unit == ExecutionUnit::MemoryCopy && content == Content::Work && word.is_empty();
    let operator = if content == Content::Waits || is_copy { None } else { Some(operator(builder, slice)) };
    builder.task(slice, Some(stream), unit, operator)
}
