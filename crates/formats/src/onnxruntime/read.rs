//! Decoding a profile, as much of it as there is.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use opscope_trace::{Nanoseconds, Pool, Span, StringId};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::event::{Event, Micros, Number, PoolStats, RawArguments};
use super::profile::{
    DeviceEvent, DeviceEventKind, Memory, NodeEvent, Position, Profile, Scheduling, SessionEvent,
    SessionEventKind, Worker,
};
use super::repetitions::Repetitions;
use crate::input::Input;
use crate::reading::Stop;

/// A file that could not be read as a profile of ONNX Runtime.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file doesn't begin as a profile does.
    #[error("{}: {position}: expected '[' and a list of events, found {found}", path.display())]
    NoList {
        /// The file.
        path: PathBuf,
        /// Where.
        position: Position,
        /// The content, in words.
        found: String,
    },
    /// The file is a list, but none of it comes from ONNX Runtime.
    #[error(
        "{}: none of its {items} items is an event of ONNX Runtime, which has \"cat\" Session or Node",
        path.display()
    )]
    NoEvents {
        /// The file.
        path: PathBuf,
        /// How many items the list has.
        items: u64,
    },
}

/// How many damaged places are kept with their reason; the others are only counted.
const DAMAGED_PLACES: usize = 20;

impl Profile {
    /// Reads a profile, compressed with gzip or not.
    ///
    /// Damaged events are left out and told in [`Profile::damage`], and the rest is kept: also
    /// everything before the place where the file was cut off.
    ///
    /// # Errors
    /// When the file can't be read, or when it is no list of ONNX Runtime's events.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::read_until(path, &Stop::default())
    }

    /// As [`Profile::read`], cut short where `stop` is wanted.
    ///
    /// # Errors
    /// As [`Profile::read`].
    pub fn read_until(path: &Path, stop: &Stop) -> Result<Self, ReadError> {
        let input = Input::open(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
        Self::parse_until(&input, path, stop)
    }

    /// Decodes the bytes of a profile; `path` says where they come from.
    ///
    /// # Errors
    /// When they are no list of ONNX Runtime's events.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, ReadError> {
        Self::parse_until(bytes, path, &Stop::default())
    }

    /// As [`Profile::parse`], cut short where `stop` is wanted.
    ///
    /// # Errors
    /// As [`Profile::parse`].
    pub fn parse_until(bytes: &[u8], path: &Path, stop: &Stop) -> Result<Self, ReadError> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(bytes),
        };
        let mut decoder = Decoder::new(&text, path);
        decoder.profile.damage.not_utf8 = matches!(text, Cow::Owned(_));
        decoder.decode(stop)?;
        Ok(decoder.profile)
    }
}

struct Decoder<'t> {
    text: &'t str,
    /// How much of the text has been read.
    offset: usize,
    profile: Profile,
    /// The last execution of each node, by the name of its event.
    last_node: HashMap<StringId, u32>,
    /// The place of each category in [`Profile::others`].
    others: HashMap<StringId, usize>,
    repetitions: Repetitions,
}

impl<'t> Decoder<'t> {
    fn new(text: &'t str, path: &Path) -> Self {
        let profile = Profile { path: path.to_owned(), ..Profile::default() };
        Self {
            text,
            offset: 0,
            profile,
            last_node: HashMap::new(),
            others: HashMap::new(),
            repetitions: Repetitions::default(),
        }
    }

    fn decode(&mut self, stop: &Stop) -> Result<(), ReadError> {
        self.skip(&[]);
        if self.peek() != Some(b'[') {
            return Err(self.no_list());
        }
        self.offset += 1;
        let mut turns = stop.within(0u64..);
        while turns.next().is_some() && self.decode_item() {}
        let profile = &self.profile;
        let known = profile.sessions.len() + profile.nodes.len() + profile.devices.len();
        let items = profile.others.iter().map(|(_, count)| count).sum::<u64>() + profile.damage.events;
        if known == 0 && profile.fences == 0 && items > 0 {
            return Err(ReadError::NoEvents { path: profile.path.clone(), items });
        }
        Ok(())
    }

    /// Reads one item of the list; `false` at its end.
    ///
    /// Every event is decoded by itself, so that a damaged one takes no other with it.
    fn decode_item(&mut self) -> bool {
        self.skip(b",");
        match self.peek() {
            None => {
                self.profile.damage.cut_off = Some(self.position());
                return false;
            }
            Some(b']') => {
                self.offset += 1;
                self.skip(&[]);
                if self.peek().is_some() {
                    self.note_damage("there is more behind the end of the list".to_owned());
                }
                return false;
            }
            Some(_) => {}
        }
        let mut values =
            serde_json::Deserializer::from_str(&self.text[self.offset..]).into_iter::<Event<'t>>();
        match values.next() {
            Some(Ok(event)) => {
                let end = self.offset + values.byte_offset();
                if let Err(reason) = self.take(event, &self.text[self.offset..end]) {
                    self.note_damage(reason.to_owned());
                }
                self.offset = end;
                true
            }
            Some(Err(error)) if error.is_eof() => {
                self.profile.damage.cut_off = Some(self.position());
                self.profile.damage.events += 1;
                false
            }
            Some(Err(error)) => {
                let reason = error.to_string();
                // serde_json counts lines and columns from the event's start, which is misleading.
                let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
                self.note_damage(reason);
                self.skip_damaged()
            }
            None => false,
        }
    }

    /// Moves on behind a damaged item; `false` when there is no telling where it ends.
    fn skip_damaged(&mut self) -> bool {
        let rest = &self.text[self.offset..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        let skipped = match values.next() {
            // It is JSON, only not an event.
            Some(Ok(_)) => Some(values.byte_offset()),
            // The runtime begins a line for every event. The damage shows on the line of the
            // event, or on a later one that may be a sound event.
            Some(Err(error)) => line_start(rest, error.line().max(2)),
            None => None,
        };
        match skipped {
            Some(length) => self.offset += length,
            None => self.profile.damage.cut_off = Some(self.position()),
        }
        skipped.is_some()
    }

    /// Adds an event to the table of its kind; `json` is all of it.
    fn take(&mut self, event: Event<'t>, json: &'t str) -> Result<(), &'static str> {
        let kind = EventKind::of(&event);
        if kind == EventKind::Other {
            self.count_other(&event);
            return Ok(());
        }
        let (Some(Micros(start)), Some(Micros(duration))) = (event.start, event.duration) else {
            return Err("the event has no \"ts\" or no \"dur\"");
        };
        if duration < Nanoseconds::ZERO {
            return Err("the event has a negative \"dur\"");
        }
        match kind {
            EventKind::Session => {
                let event = SessionEvent {
                    kind: SessionEventKind::of(&event.name),
                    name: self.profile.strings.intern(&event.name),
                    process: event.pid,
                    thread: event.tid,
                    start,
                    duration,
                };
                match self.repetitions.is_session_known(&event, &self.profile) {
                    true => self.profile.repeated += 1,
                    false => self.profile.sessions.push(event),
                }
            }
            EventKind::Node => self.take_node(event, start, duration),
            EventKind::Device(kind) => self.take_device_event(event, json, kind, start, duration),
            EventKind::Fence => self.profile.fences += 1,
            EventKind::Other => {}
        }
        Ok(())
    }

    fn count_other(&mut self, event: &Event<'t>) {
        let category = self.profile.strings.intern(&event.category);
        let others = &mut self.profile.others;
        let place = *self.others.entry(category).or_insert_with(|| {
            others.push((category, 0));
            others.len() - 1
        });
        others[place].1 += 1;
    }

    fn take_node(&mut self, event: Event<'t>, start: Nanoseconds, duration: Nanoseconds) {
        let arguments = event.arguments;
        let scheduling = arguments.thread_scheduling_stats.0.map(|stats| self.take_scheduling(stats));
        let strings = &mut self.profile.strings;
        let mut intern_json = |json: Option<&RawValue>| json.map(|json| strings.intern(json.get()));
        let (inputs, outputs) =
            (intern_json(arguments.input_type_shape), intern_json(arguments.output_type_shape));
        let node = NodeEvent {
            name: strings.intern(event.name.strip_suffix(KERNEL_TIME).unwrap_or(&event.name)),
            op_name: strings.intern(&arguments.op_name),
            provider: strings.intern(&arguments.provider),
            node_index: arguments.node_index.unsigned().or(arguments.exec_plan_index.unsigned()),
            process: event.pid,
            thread: event.tid,
            start,
            duration,
            inputs,
            outputs,
            activation_size: arguments.activation_size.unsigned(),
            parameter_size: arguments.parameter_size.unsigned(),
            output_size: arguments.output_size.unsigned(),
            memory: Memory {
                bytes_in_use: arguments.mem_bytes_in_use.0,
                requested_in_use: arguments.mem_bytes_requested_in_use.0,
                in_use_peak: arguments.mem_in_use_peak.0,
                arena_held: arguments.mem_arena_held.0,
                in_use_delta: arguments.mem_in_use_delta.0,
                requested_in_use_delta: arguments.mem_requested_in_use_delta.0,
                arena_held_delta: arguments.mem_arena_held_delta.0,
            },
            scheduling,
        };
        if self.repetitions.is_node_known(&node, &self.profile) {
            self.profile.repeated += 1;
            return;
        }
        if let Ok(index) = u32::try_from(self.profile.nodes.len()) {
            self.last_node.insert(self.profile.strings.intern(&event.name), index);
        }
        self.profile.nodes.push(node);
    }

    fn take_scheduling(&mut self, stats: PoolStats<'t>) -> Scheduling {
        let main = stats.main_thread;
        let micros = |number: Number| Nanoseconds::from_micros(number.0.unwrap_or_default());
        let workers = stats.sub_threads.iter().map(|(thread, worker)| Worker {
            thread: thread.parse().unwrap_or_default(),
            runs: worker.num_run.0.unwrap_or_default(),
            core: worker.core.0.unwrap_or(-1),
        });
        Scheduling {
            pool: self.profile.strings.intern(&main.thread_pool_name),
            core: main.core.0.unwrap_or(-1),
            block_sizes: push(&mut self.profile.block_sizes, main.block_size),
            distribution: micros(main.distribution),
            enqueue: micros(main.enqueue),
            run: micros(main.run),
            wait: micros(main.wait),
            revoke: micros(main.revoke),
            workers: push(&mut self.profile.workers, workers.collect()),
        }
    }

    fn take_device_event(
        &mut self,
        event: Event<'t>,
        json: &'t str,
        kind: DeviceEventKind,
        start: Nanoseconds,
        duration: Nanoseconds,
    ) {
        let all_arguments = serde_json::from_str(json).map_or("{}", |RawArguments { json }| json.get());
        let strings = &mut self.profile.strings;
        // The runtime writes what a node launched right behind the node's event.
        let parent = strings.lookup(&event.arguments.parent_name);
        let event = DeviceEvent {
            kind,
            name: strings.intern(&event.name),
            node: parent.and_then(|parent| self.last_node.get(&parent).copied()),
            stream: event.arguments.stream.unsigned(),
            process: event.pid,
            thread: event.tid,
            start,
            duration,
            arguments: strings.intern(all_arguments),
        };
        match self.repetitions.is_device_event_known(&event, &self.profile) {
            true => self.profile.repeated += 1,
            false => self.profile.devices.push(event),
        }
    }

    /// Skips blanks, and the bytes in `also`.
    fn skip(&mut self, also: &[u8]) {
        let rest = &self.text.as_bytes()[self.offset..];
        let skipped = rest.iter().take_while(|byte| byte.is_ascii_whitespace() || also.contains(byte));
        self.offset += skipped.count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn position(&self) -> Position {
        Position::of(self.text, self.offset)
    }

    fn note_damage(&mut self, reason: String) {
        self.profile.damage.events += 1;
        if self.profile.damage.places.len() < DAMAGED_PLACES {
            let position = self.position();
            self.profile.damage.places.push((position, reason));
        }
    }

    fn no_list(&self) -> ReadError {
        let found: String = self.text[self.offset..].chars().take(20).collect();
        let found = if found.is_empty() { "the end of the file".to_owned() } else { format!("{found:?}") };
        ReadError::NoList { path: self.profile.path.clone(), position: self.position(), found }
    }
}

/// Adds a list to a pool; the empty one when the pool would overflow.
fn push<Item: Copy>(pool: &mut Pool<Item>, list: Vec<Item>) -> Span<Item> {
    if u32::try_from(pool.len() + list.len()).is_ok() { pool.push(list) } else { Span::default() }
}

/// Where the line of a number begins, counted from 1.
fn line_start(text: &str, line: usize) -> Option<usize> {
    let mut ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(end, _)| end);
    ends.nth(line.checked_sub(2)?).map(|end| end + 1)
}

/// The end of the names of nodes' events.
const KERNEL_TIME: &str = "_kernel_time";

/// The kinds of events, as their category and name tell.
#[derive(PartialEq)]
enum EventKind {
    Session,
    Node,
    Fence,
    Device(DeviceEventKind),
    Other,
}

impl EventKind {
    fn of(event: &Event<'_>) -> Self {
        match &*event.category {
            "Session" => Self::Session,
            "Node" if event.name.ends_with(KERNEL_TIME) => Self::Node,
            "Node" if event.name.ends_with("_fence_before") || event.name.ends_with("_fence_after") => {
                Self::Fence
            }
            "Kernel" => Self::Device(DeviceEventKind::Kernel),
            "Api" => Self::Device(DeviceEventKind::Call),
            _ => Self::Other,
        }
    }
}
