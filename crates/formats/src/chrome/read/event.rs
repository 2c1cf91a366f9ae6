//! Reading one event into the rows of a [`Chunk`].

use opscope_trace::LossKind;

use super::allocations::Allocation;
use super::arguments::Arguments;
use super::chunk::{ArrowEnd, Chunk, ChunkLane, CounterKey, Edge, Head, Match, Metadata, Slice, Value};
use super::text::{Raw, unquoted};
use crate::json::{Scanned, Scanner};
use crate::reading::decimal::{self, NoTime};

/// Reads the next element of the list of events.
pub(super) fn read_event<'a>(
    scanner: &mut Scanner<'a>,
    text: &'a [u8],
    chunk: &mut Chunk<'a>,
) -> Scanned<()> {
    let opens = scanner.peek() == Some(b'{');
    let offset = scanner.position();
    if !opens {
        scanner.value()?;
        chunk.problems.count(LossKind::EventNoObject, offset);
        return Ok(());
    }
    let mut event = Event { text, offset, ..Event::default() };
    scanner.entries("an event", |scanner, name| {
        match name.bytes {
            b"ph" => event.phase = scanner.value()?,
            b"name" => event.name = scanner.value()?,
            b"cat" => event.category = scanner.value()?,
            b"pid" => event.process = scanner.value()?,
            b"tid" => event.thread = scanner.value()?,
            b"ts" => event.time = scanner.value()?,
            b"dur" => event.duration = scanner.value()?,
            b"id" | b"id2" => event.id = scanner.value()?,
            b"scope" => event.scope = scanner.value()?,
            b"bp" => event.binding = scanner.value()?,
            b"args" => event.read_arguments(scanner)?,
            _ => drop(scanner.skip()?),
        }
        Ok(())
    })?;
    chunk.events += 1;
    if let Err(problem) = event.store(chunk) {
        chunk.problems.count(problem, offset);
    }
    Ok(())
}

/// An event's members as they stand in the file.
#[derive(Default)]
struct Event<'a> {
    text: &'a [u8],
    offset: usize,
    phase: Raw<'a>,
    name: Raw<'a>,
    category: Raw<'a>,
    process: Raw<'a>,
    thread: Raw<'a>,
    time: Raw<'a>,
    duration: Raw<'a>,
    id: Raw<'a>,
    scope: Raw<'a>,
    binding: Raw<'a>,
    /// Where the object of arguments begins.
    arguments_at: Option<usize>,
    arguments: Arguments<'a>,
}

impl<'a> Event<'a> {
    fn read_arguments(&mut self, scanner: &mut Scanner<'a>) -> Scanned<()> {
        if scanner.peek() != Some(b'{') {
            return scanner.skip().map(drop);
        }
        self.arguments_at = Some(scanner.position());
        self.arguments.read(self.text, scanner)
    }

    /// Adds the event to the rows of its kind.
    fn store(&self, chunk: &mut Chunk<'a>) -> Result<(), LossKind> {
        let phase = match unquoted(self.phase) {
            [phase] => *phase,
            [] if self.name.is_empty() && self.time.is_empty() => return Ok(()),
            [] => return Err(LossKind::EventWithoutPhase),
            _ => return Err(LossKind::EventOfUnknownPhase),
        };
        match phase {
            b'X' => self.store_slice(chunk),
            b'B' | b'E' => self.store_edge(chunk, phase == b'B', Match::Thread),
            b'b' | b'e' => {
                let id = self.hashed_id(chunk, self.scope);
                self.store_edge(chunk, phase == b'b', Match::Id(id))
            }
            b'S' | b'F' => {
                let id = self.hashed_id(chunk, self.name);
                self.store_edge(chunk, phase == b'S', Match::Id(id))
            }
            b'i' | b'I' | b'R' | b'n' | b'T' | b'p' => self.store_mark(chunk),
            b'C' => self.store_values(chunk),
            b's' | b't' | b'f' => self.store_arrow_end(chunk, phase),
            b'M' => self.store_metadata(chunk),
            _ => Err(LossKind::EventOfUnknownPhase),
        }
    }

    fn store_slice(&self, chunk: &mut Chunk<'a>) -> Result<(), LossKind> {
        let duration = match decimal::from_micros(unquoted(self.duration)) {
            Ok(duration) if duration.0 < 0 => return Err(LossKind::EventNegativeDuration),
            Ok(duration) => duration.0,
            Err(NoTime::NotANumber) => return Err(LossKind::EventWithoutDuration),
            Err(NoTime::TooLarge) => return Err(LossKind::EventTimeTooLarge),
        };
        let head = self.head(chunk)?;
        chunk.slices.push(Slice { head, duration });
        Ok(())
    }

    fn store_edge(&self, chunk: &mut Chunk<'a>, begins: bool, by: Match) -> Result<(), LossKind> {
        let head = self.head(chunk)?;
        chunk.edges.push(Edge { head, begins, by });
        Ok(())
    }

    fn store_mark(&self, chunk: &mut Chunk<'a>) -> Result<(), LossKind> {
        let head = self.head(chunk)?;
        if self.name == b"\"[memory]\"" {
            return self.store_memory(chunk, head.time);
        }
        chunk.marks.push(head);
        Ok(())
    }

    fn store_arrow_end(&self, chunk: &mut Chunk<'a>, phase: u8) -> Result<(), LossKind> {
        let time = self.time(chunk)?;
        let lane = self.lane(chunk);
        let behind = chunk.slices.last().filter(|slice| slice.head.lane == lane && slice.head.time == time);
        let end = ArrowEnd {
            id: self.hashed_id(chunk, b""),
            lane,
            time,
            begins: phase == b's',
            to_enclosing: phase != b'f' || unquoted(self.binding) == b"e",
            behind: behind.map(|_| (chunk.slices.len() - 1) as u32),
        };
        chunk.arrows.push(end);
        Ok(())
    }

    fn store_metadata(&self, chunk: &mut Chunk<'a>) -> Result<(), LossKind> {
        let wanted = match unquoted(self.name) {
            b"process_name" | b"thread_name" => b"name".as_slice(),
            b"process_labels" => b"labels",
            b"process_sort_index" | b"thread_sort_index" => return Ok(()),
            _ => return Err(LossKind::UnknownMetadata),
        };
        let mut value = Raw::default();
        self.each_argument(|name, argument| {
            if name == wanted {
                value = argument;
            }
        });
        chunk.metadata.push(Metadata { what: self.name, process: self.process, thread: self.thread, value });
        Ok(())
    }

    /// Every number among the arguments is a series of the counter; one whose name ends in `id`
    /// tells counters of the same name apart.
    fn store_values(&self, chunk: &mut Chunk<'a>) -> Result<(), LossKind> {
        let time = self.time(chunk)?;
        let is_label = |name: &[u8]| name.ends_with(b"_id") || name.ends_with(b"Id") || name == b"id";
        let mut id = self.id;
        let mut found = false;
        self.each_argument(|name, argument| {
            if is_label(name) {
                id = argument;
            }
        });
        self.each_argument(|name, argument| {
            if !is_label(name)
                && let Some(value) = float(argument)
            {
                let key = CounterKey { process: self.process, name: self.name, id, series: name };
                let counter = chunk.counter(key);
                chunk.values.push(Value { counter, time, value });
                found = true;
            }
        });
        if found { Ok(()) } else { Err(LossKind::ValueNoNumber) }
    }

    /// PyTorch writes the state of its allocators as marks: `Device Type` is 0 for the host,
    /// `Total Allocated` and `Total Reserved` are bytes, which versions before 1.10 don't tell: each mark has the bytes
    /// that were taken or given back then.
    fn store_memory(&self, chunk: &mut Chunk<'a>, time: i64) -> Result<(), LossKind> {
        let (mut on_host, mut device) = (false, Raw::default());
        let (mut bytes, mut address, mut allocated) = (None, Raw::default(), None);
        self.each_argument(|name, argument| match name {
            b"Device Type" => on_host = argument == b"0",
            b"Device Id" => device = argument,
            b"Bytes" => bytes = float(argument),
            b"Addr" => address = argument,
            b"Total Allocated" => allocated = float(argument),
            _ => {}
        });
        let id = if on_host { Raw::default() } else { device };
        if let Some(bytes) = bytes.filter(|bytes| bytes.is_finite()) {
            let lane = self.lane(chunk);
            chunk.allocations.push(Allocation { lane, time, bytes, address, device: id, allocated });
        }
        let mut found = bytes.is_some_and(f64::is_finite);
        self.each_argument(|name, argument| {
            if matches!(name, b"Total Allocated" | b"Total Reserved")
                && let Some(value) = float(argument)
            {
                let key = CounterKey { process: b"", name: self.name, id, series: name };
                let counter = chunk.counter(key);
                chunk.values.push(Value { counter, time, value });
                found = true;
            }
        });
        if found { Ok(()) } else { Err(LossKind::ValueNoNumber) }
    }

    /// The arguments once more, one by one; the event was read before, so nothing can fail.
    fn each_argument(&self, mut argument: impl FnMut(&'a [u8], Raw<'a>)) {
        let Some(at) = self.arguments_at else { return };
        let read = Scanner::starting_at(self.text, at).entries("an object of arguments", |scanner, name| {
            argument(name.bytes, scanner.value()?);
            Ok(())
        });
        debug_assert!(read.is_ok(), "{read:?}");
    }

    fn head(&self, chunk: &mut Chunk<'a>) -> Result<Head, LossKind> {
        Ok(Head {
            time: self.time(chunk)?,
            name: chunk.text(self.name),
            category: chunk.text(self.category),
            lane: self.lane(chunk),
            details: self.arguments.enter(self.text, chunk),
        })
    }

    fn lane(&self, chunk: &mut Chunk<'a>) -> ChunkLane {
        chunk.lane(self.process, self.thread)
    }

    fn time(&self, chunk: &mut Chunk<'a>) -> Result<i64, LossKind> {
        match decimal::from_micros(unquoted(self.time)) {
            Ok(time) => {
                if time.0 < 0 {
                    chunk.problems.count(LossKind::EventTimeBeforeZero, self.offset);
                }
                Ok(time.0)
            }
            Err(NoTime::NotANumber) => Err(LossKind::EventWithoutTime),
            Err(NoTime::TooLarge) => Err(LossKind::EventTimeTooLarge),
        }
    }

    /// The id within the category and whatever else it is bound to. Some files write one number
    /// with quotes and without.
    fn hashed_id(&self, chunk: &Chunk<'a>, further: &[u8]) -> u64 {
        // An id of `id2` is an object; it may hold for its process only.
        let local = self.id.starts_with(b"{") && self.id.windows(7).any(|part| part == b"\"local\"");
        let process = if local { self.process } else { b"" };
        chunk.id(&[self.category, unquoted(self.id), further, process])
    }
}

fn float(raw: Raw<'_>) -> Option<f64> {
    std::str::from_utf8(unquoted(raw)).ok()?.parse().ok()
}
