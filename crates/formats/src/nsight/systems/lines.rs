//! Lines of JSON (`nsys export --type jsonlines`): an object on each, with one event.
//!
//! | member | what it makes |
//! |---|---|
//! | `data` | the texts that events name by their places in this list |
//! | `CudaEvent` with `kernel`, `memcpy`, `memset`, `sync` | tasks |
//! | `TraceProcessEvent` | calls; `correlationId` ties tasks to those of CUDA, by `eventClass` |
//! | `NvtxEvent` | ranges, marks and names of domains, by `Type` as in databases |
//!
//! Most numbers stand in quotes. Other events have no place in a trace and are counted.

use std::collections::{BTreeMap, HashMap};

use opscope_trace::{ApiLevel, LossKind, Nanoseconds, Range, RangeKind, StringId, Trace};

use super::ranges::kind_of;
use super::recording::{Place, Recording, copy_word, process_of};
use crate::json::{Scanned, Scanner, string_text};
use crate::reading::{Stop, decimal};

/// Text that is no such export.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinesError {
    /// No line is an event.
    #[error("no line of this text is an event of Nsight Systems")]
    NoEvent,
    /// Whoever asked for it wants it no more.
    #[error("the reading was stopped")]
    Stopped,
}

/// The members by which lines are known.
const EVENTS: [&[u8]; 3] = [b"CudaEvent", b"TraceProcessEvent", b"NvtxEvent"];

/// Whether text that begins so is such an export: its first line is the list of texts, or one of the first lines an
/// event.
pub fn looks_like(head: &[u8]) -> bool {
    /// Facts about the machine may come first.
    const LINES: usize = 200;
    let is_event = |line: &[u8]| {
        let (mut scanner, mut is_one) = (Scanner::new(line), false);
        if scanner.peek() == Some(b'{') {
            // The last line may be cut off, which is an error behind what was found.
            let _ = scanner.entries("an object", |scanner, name| {
                is_one |= EVENTS.contains(&name.bytes);
                scanner.skip().map(drop)
            });
        }
        is_one
    };
    head.starts_with(b"{\"data\":[\"") || head.split(|byte| *byte == b'\n').take(LINES).any(is_event)
}

/// Reads all lines.
///
/// # Errors
/// When none is an event, or the reading was stopped.
pub fn read(text: &[u8], stop: &Stop) -> Result<Trace, LinesError> {
    stop.expects(|| text.len() as u64);
    let mut lines = Lines::default();
    for line in stop.within(text.split(|byte| *byte == b'\n')) {
        let line = line.trim_ascii();
        if !line.is_empty() && lines.line(line).is_err() {
            lines.unreadable += 1;
        }
    }
    stop.has_read(text.len());
    if stop.is_wanted() {
        return Err(LinesError::Stopped);
    }
    if lines.events == 0 {
        return Err(LinesError::NoEvent);
    }
    Ok(lines.finish())
}

/// A trace while lines are read.
#[derive(Default)]
struct Lines {
    recording: Recording,
    domains: HashMap<(u32, i64), StringId>,
    events: u64,
    unreadable: u64,
    placeless: BTreeMap<String, u64>,
    /// Records by what is wrong with them.
    wrong: BTreeMap<LossKind, u64>,
}

/// The members of an event that mean something, and of the object within it that says what it was.
#[derive(Default)]
struct Event {
    numbers: [Option<i64>; MEMBERS.len()],
    text: Option<String>,
    inner: Option<Inner>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inner {
    Kernel,
    Copy,
    Fill,
    Wait(&'static str),
    /// An object of a graph, of which no public layout tells the members.
    Graph,
    Other,
}

/// The names of members that are numbers, in the order of [`Member`].
const MEMBERS: [&[u8]; 19] = [
    b"startNs",
    b"endNs",
    b"deviceId",
    b"contextId",
    b"streamId",
    b"correlationId",
    b"eventClass",
    b"globalPid",
    b"globalTid",
    b"name",
    b"demangledName",
    b"shortName",
    b"mangledName",
    b"copyKind",
    b"Timestamp",
    b"EndTimestamp",
    b"GlobalTid",
    b"DomainId",
    b"TextId",
];

/// Places in [`MEMBERS`].
#[derive(Clone, Copy)]
enum Member {
    Start,
    End,
    Device,
    Context,
    Stream,
    Correlation,
    Class,
    Process,
    Thread,
    Name,
    Demangled,
    Short,
    Mangled,
    CopyKind,
    Timestamp,
    EndTimestamp,
    NvtxThread,
    Domain,
    TextId,
}

impl Event {
    fn get(&self, member: Member) -> Option<i64> {
        self.numbers[member as usize]
    }

    fn number(&self, member: Member) -> Option<u64> {
        self.get(member).and_then(|number| u64::try_from(number).ok())
    }

    /// Reads an object, and the objects within it.
    fn read(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        scanner.entries("an event", |scanner, name| {
            let inner = match name.bytes {
                b"kernel" => Some(Inner::Kernel),
                b"memcpy" => Some(Inner::Copy),
                b"memset" => Some(Inner::Fill),
                b"sync" => Some(Inner::Wait("wait")),
                b"cudaEventRecord" => Some(Inner::Other),
                _ => None,
            };
            if let Some(inner) = inner {
                self.inner = Some(inner);
                return if scanner.peek() == Some(b'{') {
                    self.read(scanner)
                } else {
                    scanner.skip().map(drop)
                };
            }
            if let Some(place) = MEMBERS.iter().position(|member| *member == name.bytes) {
                let value = scanner.value()?;
                let digits =
                    value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value);
                self.numbers[place] = decimal::whole(digits).ok();
                return Ok(());
            }
            match name.bytes {
                b"Text" => self.text = Some(string_text(scanner.value()?).into_owned()),
                b"syncType" => self.inner = Some(Inner::Wait(wait_of(scanner.value()?))),
                other => {
                    if scanner.peek() == Some(b'{') && has_graph(other) {
                        self.inner.get_or_insert(Inner::Graph);
                    }
                    scanner.skip()?;
                }
            }
            Ok(())
        })
    }
}

/// The level of a call by its class, as the tool's documentation of databases numbers classes; of one that tells none, that
/// of CUDA.
fn level_of(class: Option<i64>) -> ApiLevel {
    match class {
        // CUDA's runtime and driver, that of EGL, and any other of its interfaces.
        None | Some(0 | 1 | 13 | 26) => ApiLevel::Runtime,
        // The operating system.
        Some(27 | 31 | 32) => ApiLevel::System,
        // cuDNN and cuBLAS.
        Some(28 | 29 | 33..=36) => ApiLevel::Node,
        Some(_) => ApiLevel::Other,
    }
}

/// Whether a name has the word in it.
fn has_graph(name: &[u8]) -> bool {
    name.windows(b"graph".len()).any(|word| word.eq_ignore_ascii_case(b"graph"))
}

/// The word for a wait.
fn wait_of(value: &[u8]) -> &'static str {
    match value.strip_prefix(b"\"SYNCHRONIZATION_TYPE_").unwrap_or(value) {
        b"EVENT_SYNCHRONIZE\"" | b"1" => "wait for event",
        b"STREAM_WAIT_EVENT\"" | b"2" => "stream waits for event",
        b"STREAM_SYNCHRONIZE\"" | b"3" => "wait for stream",
        b"CONTEXT_SYNCHRONIZE\"" | b"4" => "wait for context",
        _ => "wait",
    }
}

impl Lines {
    fn line(&mut self, line: &[u8]) -> Scanned<()> {
        let mut scanner = Scanner::new(line);
        let mut kind = None;
        scanner.entries("an object", |scanner, name| {
            match name.bytes {
                b"Type" => kind = decimal::whole(scanner.value()?).ok(),
                b"data" if scanner.peek() == Some(b'[') => self.texts(scanner)?,
                b"CudaEvent" | b"TraceProcessEvent" | b"NvtxEvent" if scanner.peek() == Some(b'{') => {
                    let mut event = Event::default();
                    event.read(scanner)?;
                    self.events += 1;
                    match name.bytes {
                        b"CudaEvent" => self.cuda(&event),
                        b"NvtxEvent" => self.nvtx(&event, kind),
                        _ => self.call(&event),
                    }
                }
                other => {
                    let is_event = other.ends_with(b"Event") || other.ends_with(b"Events");
                    if is_event {
                        self.leave_out(&String::from_utf8_lossy(other));
                    }
                    scanner.skip()?;
                }
            }
            Ok(())
        })?;
        scanner.end()
    }

    /// The texts, whose ids are their places from 0.
    fn texts(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        let mut id = 0;
        scanner.array("a list of texts", |scanner| {
            let text = self.recording.trace.strings.intern(&string_text(scanner.value()?));
            self.recording.texts.insert(id, text);
            id += 1;
            Ok(())
        })
    }

    /// Start and duration; what is wrong with them is counted.
    fn span(&mut self, start: Option<i64>, end: Option<i64>) -> Option<(Nanoseconds, Nanoseconds)> {
        let problem = match (start, end) {
            (Some(start), Some(end)) => match end.checked_sub(start) {
                Some(duration @ 0..) => return Some((Nanoseconds(start), Nanoseconds(duration))),
                _ => LossKind::RecordEndsBeforeStart,
            },
            _ => LossKind::RecordWithoutTime,
        };
        *self.wrong.entry(problem).or_default() += 1;
        None
    }

    fn cuda(&mut self, event: &Event) {
        let inner = match event.inner {
            None | Some(Inner::Other) => return self.leave_out("CudaEvent"),
            Some(Inner::Graph) => return self.leave_out("CudaEvent of a graph"),
            Some(inner) => inner,
        };
        let Some(span) = self.span(event.get(Member::Start), event.get(Member::End)) else { return };
        let place = Place {
            device: event.number(Member::Device).and_then(|device| u32::try_from(device).ok()),
            context: event.number(Member::Context),
            stream: event.number(Member::Stream),
            correlation: event.number(Member::Correlation),
            process: process_of(event.number(Member::Process).unwrap_or(0)),
        };
        match inner {
            Inner::Kernel => {
                let names = [Member::Demangled, Member::Short, Member::Mangled].map(|name| event.get(name));
                self.recording.kernel(names, place, span);
            }
            Inner::Copy => self.recording.copy(copy_word(event.get(Member::CopyKind)), place, span),
            Inner::Fill => self.recording.copy("memset", place, span),
            Inner::Wait(word) => self.recording.wait(word, place, span),
            Inner::Graph | Inner::Other => {}
        }
    }

    fn call(&mut self, event: &Event) {
        let Some(span) = self.span(event.get(Member::Start), event.get(Member::End)) else { return };
        let (thread, name) = (event.get(Member::Thread), event.get(Member::Name));
        let level = level_of(event.get(Member::Class));
        self.recording.call(level, thread, name, event.number(Member::Correlation), span);
    }

    fn nvtx(&mut self, event: &Event, kind: Option<i64>) {
        let global = event.get(Member::NvtxThread);
        let process = global.map_or(0, |global| process_of(global.cast_unsigned()));
        let Some(kind) = kind_of(kind) else {
            // Domains are told before their ranges; names of categories and threads have no place.
            match event.get(Member::Domain).filter(|_| kind == Some(super::ranges::kind::DOMAIN)) {
                Some(domain) => {
                    let name = self.text(event);
                    self.domains.insert((process, domain), name);
                }
                None => self.leave_out("NvtxEvent"),
            }
            return;
        };
        let start = event.get(Member::Timestamp);
        let end = match (kind, event.get(Member::EndTimestamp)) {
            (RangeKind::Mark, _) => start,
            (_, None) if start.is_some() => {
                *self.wrong.entry(LossKind::OpenRange).or_default() += 1;
                return;
            }
            (_, end) => end,
        };
        let Some((start, duration)) = self.span(start, end) else { return };
        let domain =
            event.get(Member::Domain).and_then(|domain| self.domains.get(&(process, domain)).copied());
        let (thread, name) = (self.recording.thread(global), self.text(event));
        self.recording.trace.ranges.push(Range { thread, kind, name, domain, start, duration });
    }

    /// The text of a range or domain: its own, or a registered one by its id.
    fn text(&mut self, event: &Event) -> StringId {
        match &event.text {
            Some(text) => self.recording.trace.strings.intern(text),
            None => self.recording.text(event.get(Member::TextId)),
        }
    }

    /// Counts an event for which a trace has no place.
    fn leave_out(&mut self, name: &str) {
        match self.placeless.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(self.placeless.insert(name.to_owned(), 1)),
        }
    }

    fn finish(mut self) -> Trace {
        let trace = &mut self.recording.trace;
        for (kind, count) in self.wrong {
            trace.count_loss(kind, count, "");
        }
        for (name, count) in self.placeless {
            trace.count_loss(LossKind::PlacelessRecord, count, &name);
        }
        trace.count_loss(LossKind::UnreadableRecord, self.unreadable, "lines");
        self.recording.finish("data")
    }
}
