//! The rows of Chrome's events, made of those of packets.

use std::collections::HashSet;
use std::hash::RandomState;

use opscope_trace::LossKind;

use super::super::fields::counter;
use super::packets::{Packets, content_name, push_members};
use super::slices::{FlowEnd, Slice};
use super::texts::{TextId, Texts};
use super::tracks::{CounterTrack, Track, TrackId};
use crate::chrome::read::{
    Arguments, ArrowEnd, Chunk, ChunkLane, CounterKey, DetailsId, Document, Head, Metadata, Slice as Row,
    Text, Value,
};
use crate::chrome::text::push_number;
use crate::json::Scanner;

/// The texts of a document that no packet has as such.
pub struct Frame {
    /// Of every track the texts by which events name process and thread.
    lanes: Vec<(TextId, TextId)>,
    /// Names of processes, and of the threads of processes.
    process_names: Vec<(TextId, TextId)>,
    thread_names: Vec<(TextId, TextId, TextId)>,
    /// Of every track with values the name with its unit, and the text that tells it from others.
    counters: Vec<(TextId, TextId)>,
    about: TextId,
    wall_zero: TextId,
}

impl Frame {
    /// Makes the texts.
    pub fn new(packets: &mut Packets, texts: &mut Texts) -> Self {
        let mut frame = Self {
            lanes: Vec::new(),
            process_names: Vec::new(),
            thread_names: Vec::new(),
            counters: Vec::new(),
            about: TextId::default(),
            wall_zero: TextId::default(),
        };
        let mut is_used = vec![false; packets.tracks.all.len()];
        let slices = packets.slices.all.iter().chain(&packets.slices.marks).map(|slice| slice.track);
        slices.for_each(|track| is_used[track.0 as usize] = true);
        for (index, is_used) in is_used.into_iter().enumerate() {
            frame.add_track(packets, TrackId(index as u32), is_used, texts);
        }
        let mut object = Vec::new();
        push_members(&mut object, &packets.metadata, texts);
        frame.about = texts.push(|json| json.extend_from_slice(&object));
        if let Some(zero) = packets.clocks.wall_zero {
            frame.wall_zero = texts.push(|json| push_number(json, zero));
        }
        frame
    }

    fn add_track(&mut self, packets: &mut Packets, id: TrackId, is_used: bool, texts: &mut Texts) {
        let tracks = &packets.tracks;
        let track = tracks.all[id.0 as usize];
        let owner = tracks.owner(id);
        let is_known = track.is_described || track.uuid == 0;
        if is_used && !is_known {
            packets.problems.count_all(LossKind::UndescribedTrack, 1);
        }
        if owner.is_cycle {
            packets.problems.count_all(LossKind::TrackCycle, 1);
        }
        let own = |track: &Track, texts: &mut Texts| texts.text(format!("track {}", track.uuid).as_bytes());
        let process = match (owner.pid, owner.root) {
            (Some(pid), _) => {
                let process = texts.text(pid.to_string().as_bytes());
                if let Some(&name) = tracks.processes.get(&pid) {
                    self.process_names.push((process, name));
                }
                process
            }
            // A track above others, of no process, is a group of its own.
            (None, Some(root)) if root != id => {
                let root = &tracks.all[root.0 as usize];
                let process = own(root, texts);
                self.process_names.push((process, root.name));
                process
            }
            _ => TextId::default(),
        };
        let (thread, name) = match (track.pid, track.tid) {
            (Some(pid), Some(tid)) => {
                let name = tracks.threads.get(&(pid, tid)).copied().unwrap_or(track.name);
                (texts.text(tid.to_string().as_bytes()), name)
            }
            _ => (own(&track, texts), track.name),
        };
        self.lanes.push((process, thread));
        if name != TextId::default() {
            self.thread_names.push((process, thread, name));
        }
        let above = track.parent.filter(|_| track.counter.is_some());
        let above = above.and_then(|parent| tracks.get(parent));
        let tid = above.and_then(|above| above.tid);
        let label = tid.map_or(TextId::default(), |tid| texts.text(tid.to_string().as_bytes()));
        self.counters.push((counter_name(&track, texts), label));
    }
}

/// The name of a counter with its unit in brackets, as Chrome's events have it.
fn counter_name(track: &Track, texts: &mut Texts) -> TextId {
    let CounterTrack { unit, unit_name, .. } = track.counter.unwrap_or_default();
    let unit = match unit {
        _ if unit_name != TextId::default() => unquoted(texts.json(unit_name)).to_owned(),
        counter::UNIT_TIME_NS => b"ns".to_vec(),
        counter::UNIT_SIZE_BYTES => b"B".to_vec(),
        _ => Vec::new(),
    };
    let name = match unquoted(texts.json(track.name)) {
        b"" => format!("counter {}", track.uuid).into_bytes(),
        name => name.to_owned(),
    };
    if unit.is_empty() {
        return if track.name == TextId::default() { texts.text(&name) } else { track.name };
    }
    texts.push(|json| {
        json.push(b'"');
        json.extend([&name[..], b" (", &unit, b")"].concat());
        json.push(b'"');
    })
}

fn unquoted(json: &[u8]) -> &[u8] {
    json.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(json)
}

/// Makes the rows.
pub fn document<'t>(packets: Packets, frame: &Frame, texts: &'t Texts) -> Document<'t> {
    let Packets { slices, clocks, problems, placeless, missing_names, .. } = packets;
    let mut chunk = Chunk::new(RandomState::new());
    chunk.problems = problems;
    chunk.problems.count_all(LossKind::MissingInterned, missing_names);
    chunk.problems.count_all(LossKind::UntiedClock, clocks.untied);
    chunk.events = (slices.all.len() + slices.marks.len() + slices.samples.len()) as u64;
    add_names(&mut chunk, frame, texts);
    let lanes = vec![None; frame.lanes.len()];
    let mut rows = Rows { texts, frame, lanes, text: Vec::new(), details: Vec::new() };
    // A list of rows of the same size takes the place of the one that it is made of.
    const { assert!(size_of::<Slice>() == size_of::<Row>() && align_of::<Slice>() == align_of::<Row>()) };
    let row = |slice: Slice| Row { head: rows.head(&slice, &mut chunk), duration: slice.duration };
    chunk.slices = slices.all.map(row);
    for mark in &slices.marks {
        let head = rows.head(mark, &mut chunk);
        chunk.marks.push(head);
    }
    add_arrows(&mut chunk, slices.flows);
    let mut counters: Vec<Option<u32>> = vec![None; frame.counters.len()];
    for sample in &slices.samples {
        let index = sample.track.0 as usize;
        let counter = *counters[index].get_or_insert_with(|| {
            let (name, label) = frame.counters[index];
            let (process, name, id) = (texts.json(frame.lanes[index].0), texts.json(name), texts.json(label));
            chunk.counter(CounterKey { process, name, id, series: b"value" })
        });
        chunk.values.push(Value { counter, time: sample.time, value: sample.value });
    }
    let mut members: Vec<(&[u8], &[u8])> = vec![(b"otherData", texts.json(frame.about))];
    if frame.wall_zero != TextId::default() {
        members.push((b"baseTimeNanoseconds", texts.json(frame.wall_zero)));
    }
    let left_out = placeless.into_iter().map(|(field, count)| (content_name(field), count)).collect();
    Document { chunks: vec![chunk], members, has_events: true, failure: None, left_out }
}

fn add_names<'t>(chunk: &mut Chunk<'t>, frame: &Frame, texts: &'t Texts) {
    let mut told = HashSet::new();
    for &(process, name) in frame.process_names.iter().filter(|(process, _)| told.insert(process.0)) {
        let (process, value) = (texts.json(process), texts.json(name));
        chunk.metadata.push(Metadata { what: b"\"process_name\"", process, thread: b"", value });
    }
    for &(process, thread, name) in &frame.thread_names {
        let (process, thread, value) = (texts.json(process), texts.json(thread), texts.json(name));
        chunk.metadata.push(Metadata { what: b"\"thread_name\"", process, thread, value });
    }
}

/// Makes rows of slices, each text and object of arguments once.
struct Rows<'t, 'f> {
    texts: &'t Texts,
    frame: &'f Frame,
    /// The lanes of the tracks that were met; a track without a slice is none.
    lanes: Vec<Option<ChunkLane>>,
    text: Vec<Option<Text>>,
    details: Vec<Option<DetailsId>>,
}

impl<'t> Rows<'t, '_> {
    fn head(&mut self, slice: &Slice, chunk: &mut Chunk<'t>) -> Head {
        Head {
            name: self.text(slice.name, chunk),
            category: self.text(slice.category, chunk),
            lane: self.lane(slice.track, chunk),
            details: self.details(slice.arguments, chunk),
            time: slice.start,
        }
    }

    fn lane(&mut self, track: TrackId, chunk: &mut Chunk<'t>) -> ChunkLane {
        let index = track.0 as usize;
        let (process, thread) = self.frame.lanes[index];
        *self.lanes[index]
            .get_or_insert_with(|| chunk.lane(self.texts.json(process), self.texts.json(thread)))
    }

    fn text(&mut self, text: TextId, chunk: &mut Chunk<'t>) -> Text {
        let index = text.0 as usize;
        if self.text.len() <= index {
            self.text.resize(index + 1, None);
        }
        *self.text[index].get_or_insert_with(|| chunk.text(self.texts.json(text)))
    }

    fn details(&mut self, object: TextId, chunk: &mut Chunk<'t>) -> DetailsId {
        if object == TextId::default() {
            return DetailsId::default();
        }
        let index = object.0 as usize;
        if self.details.len() <= index {
            self.details.resize(index + 1, None);
        }
        *self.details[index].get_or_insert_with(|| {
            let (json, start) = self.texts.place(object);
            let mut arguments = Arguments::default();
            let read = arguments.read(json, &mut Scanner::starting_at(json, start));
            debug_assert!(read.is_ok(), "{read:?}");
            arguments.enter(json, chunk)
        })
    }
}

/// A flow leads from each of its slices to the next, in the order of time.
fn add_arrows(chunk: &mut Chunk<'_>, mut flows: Vec<FlowEnd>) {
    flows.sort_by_key(|end| (end.id, end.time));
    for (index, end) in flows.iter().enumerate() {
        let comes_from = |before: &FlowEnd| before.id == end.id && !before.is_last;
        let has_before = index.checked_sub(1).is_some_and(|before| comes_from(&flows[before]));
        let has_next = !end.is_last && flows.get(index + 1).is_some_and(|next| next.id == end.id);
        let row = ArrowEnd {
            id: end.id,
            lane: chunk.slices[end.slice as usize].head.lane,
            time: end.time,
            begins: false,
            to_enclosing: true,
            behind: Some(end.slice),
        };
        if has_before {
            chunk.arrows.push(row);
        }
        if has_next {
            chunk.arrows.push(ArrowEnd { begins: true, ..row });
        }
    }
}
