//! Which captured graph a task belongs to, and which operator of it it is.
//!
//! The runtime reports the tasks of a captured graph with the times at which they were captured, mostly
//! outside of every call; the notes on its streams and operators tell the rest. Numbers of streams and graphs
//! are used again once a graph is destroyed. So the time of each stream is divided into lives, at the begin
//! of each capture and where its graph or the stream itself was destroyed, and a note belongs to the tasks of
//! its own life only.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use crate::decode::CAPTURED_OP_NOTES;
use crate::join::batches::DESTROYED;
use crate::tables::{CapturedOp, HostTables, TaskTrack};
use opscope_trace::{LossKind, Losses, NumberMap, NumberSet};

/// The device and number of a stream.
type StreamKey = (u16, u16);

/// The place of a task of a graph: its stream, the life of that, and the task's number.
type TaskKey = (StreamKey, usize, u32);

/// A part of a stream's time, up to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    begin: u64,
    /// The graph into which the stream was captured, if that was noted.
    graph: Option<u32>,
}

/// A task's place in a captured graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The graph.
    pub(super) graph: u32,
    /// The operator, a row of the captured graphs' operators, if it was noted.
    pub(super) op: Option<usize>,
}

/// The captured graphs of a profile.
#[derive(Debug, Default)]
pub(super) struct Captured {
    lives: NumberMap<StreamKey, Vec<Life>>,
    /// The row of each task's operator; `None` where notes contradict one another.
    ops: NumberMap<TaskKey, Option<usize>>,
    /// Notes that belong to no life, or to none for sure.
    homeless: u64,
}

/// The lives of graphs, by their streams and numbers.
type LivesOfGraphs = NumberMap<(StreamKey, u32), LifeOfGraph>;

/// The life that a graph had on a stream.
#[derive(Clone, Copy, Debug)]
struct LifeOfGraph {
    first: usize,
    /// Whether no other graph had the number on that stream.
    is_only: bool,
}

/// An event that ends a life of a stream, or begins one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Border {
    GraphEnd(u32),
    StreamEnd,
    Capture(u32),
}

impl Captured {
    pub(super) fn new(host: &HostTables, losses: &mut Losses) -> Self {
        let mut captured = Self::default();
        if host.captures.is_empty() {
            return captured;
        }
        captured.lives =
            borders(host).into_iter().map(|(stream, borders)| (stream, lives(borders))).collect();
        let contradicted = captured.take_notes(host);
        losses.count(LossKind::ConflictingNote, CAPTURED_OP_NOTES, contradicted);
        captured
    }

    /// Gives each life its operators. Returns how many notes contradict another one.
    fn take_notes(&mut self, host: &HostTables) -> u64 {
        let ops = &host.captures.ops;
        let of_graphs = self.lives_of_graphs();
        let mut contradicted = 0;
        for row in 0..ops.len() {
            let op = ops.row(row);
            let Some(life) = self.life_of_note(&op, &of_graphs) else {
                self.homeless += 1;
                continue;
            };
            match self.ops.entry(((op.device, op.stream), life, op.task)) {
                Entry::Vacant(place) => {
                    place.insert(Some(row));
                }
                // A task that was updated has a later note.
                Entry::Occupied(mut place) => {
                    let known = place.get().map(|known| ops.row(known));
                    if known.is_some_and(|known| known.graph == op.graph && known.time < op.time) {
                        place.insert(Some(row));
                    } else {
                        contradicted += 1 + u64::from(place.insert(None).is_some());
                    }
                }
            }
        }
        contradicted
    }

    /// The life that a note belongs to: that of its graph, and where the graph's number was used again, that
    /// of its time.
    fn life_of_note(&self, op: &CapturedOp, of_graphs: &LivesOfGraphs) -> Option<usize> {
        let stream = (op.device, op.stream);
        let of_graph = of_graphs.get(&(stream, op.graph));
        if let Some(LifeOfGraph { first, is_only: true }) = of_graph {
            return Some(*first);
        }
        let lives = self.lives.get(&stream)?;
        let expected = of_graph.map(|_| op.graph);
        life_at(lives, op.time).filter(|&life| lives[life].graph == expected)
    }

    /// The lives that graphs had on their streams.
    fn lives_of_graphs(&self) -> LivesOfGraphs {
        let mut found = LivesOfGraphs::default();
        for (&stream, lives) in &self.lives {
            for (number, life) in lives.iter().enumerate() {
                let Some(graph) = life.graph else { continue };
                let is_again = |known: &mut LifeOfGraph| known.is_only = false;
                let first = LifeOfGraph { first: number, is_only: true };
                found.entry((stream, graph)).and_modify(is_again).or_insert(first);
            }
        }
        found
    }

    /// The place of a task in a captured graph, if it has one.
    pub(super) fn place_of(&self, track: &TaskTrack, host: &HostTables) -> Option<Place> {
        if self.lives.is_empty() {
            return None;
        }
        let (lives, life) = self.life_of(track)?;
        let op = self.note_of(track).and_then(|key| self.ops.get(&key).copied().flatten());
        let graph = lives[life].graph.or_else(|| Some(host.captures.ops.graph()[op?]))?;
        Some(Place { graph, op })
    }

    /// The lives of a task's stream, and the number of the task's.
    fn life_of(&self, track: &TaskTrack) -> Option<(&[Life], usize)> {
        let lives = self.lives.get(&(track.device, track.stream))?;
        Some((lives, life_at(lives, track.time)?))
    }

    /// The key of the note on a task, if there is one: of its own life, or before a capture of that, as long
    /// as no other stream had its number in between.
    fn note_of(&self, track: &TaskTrack) -> Option<TaskKey> {
        let (lives, life) = self.life_of(track)?;
        let later = lives.get(life + 1).filter(|next| lives[life].graph.is_none() && next.graph.is_some());
        let lives = [Some(life), later.map(|_| life + 1)].into_iter().flatten();
        let mut keys = lives.map(|life| ((track.device, track.stream), life, track.task));
        keys.find(|key| self.ops.contains_key(key))
    }

    /// Counts the notes that belong to no task.
    pub(super) fn count_unused(&self, host: &HostTables, losses: &mut Losses) {
        if self.lives.is_empty() {
            return;
        }
        let mut used: NumberSet<TaskKey> = NumberSet::default();
        let mut lived: NumberSet<(StreamKey, usize)> = NumberSet::default();
        for track in host.task_tracks.rows() {
            let Some((_, life)) = self.life_of(&track) else { continue };
            let note = self.note_of(&track);
            used.extend(note);
            let life = note.map_or(life, |(_, life, _)| life);
            lived.insert(((track.device, track.stream), life));
        }
        let without_task = self.ops.keys().filter(|key| !used.contains(key)).count() as u64;
        losses.count(LossKind::UnmatchedNote, CAPTURED_OP_NOTES, self.homeless + without_task);
        let empty = self.lives.iter().flat_map(|(&stream, lives)| {
            (0..)
                .zip(lives)
                .filter(move |(_, life)| life.graph.is_some())
                .map(move |(number, _)| (stream, number))
        });
        let empty = empty.filter(|life| !lived.contains(life)).count() as u64;
        losses.count(LossKind::UnmatchedNote, "compact.capture_stream_info", empty);
    }
}

/// The events that divide the time of each stream that captured graphs executed on.
fn borders(host: &HostTables) -> BTreeMap<StreamKey, Vec<(u64, Border)>> {
    let ends = ends(host);
    let mut all: BTreeMap<StreamKey, Vec<(u64, Border)>> = BTreeMap::new();
    for op in host.captures.ops.rows() {
        all.entry((op.device, op.stream)).or_default();
    }
    for capture in host.captures.streams.rows() {
        let graph = u32::from(capture.graph);
        let borders = all.entry((capture.device, capture.stream)).or_default();
        borders.push((capture.time, Border::Capture(graph)));
        let ends = ends.get(&(capture.device, capture.graph)).map_or(&[][..], Vec::as_slice);
        if let Some(end) = ends.get(ends.partition_point(|end| *end < capture.time)) {
            borders.push((end.saturating_add(1), Border::GraphEnd(graph)));
        }
    }
    // An event at the time of an end still belongs to the stretch that ends.
    for flip in host.flips.rows().filter(|flip| flip.number == DESTROYED) {
        if let Some(borders) = all.get_mut(&(flip.device, flip.stream)) {
            borders.push((flip.time.saturating_add(1), Border::StreamEnd));
        }
    }
    all
}

/// When each graph was destroyed, by its device and number.
fn ends(host: &HostTables) -> NumberMap<(u16, u16), Vec<u64>> {
    let mut ends: NumberMap<(u16, u16), Vec<u64>> = NumberMap::default();
    for end in host.captures.ends.rows() {
        ends.entry((end.device, end.graph)).or_default().push(end.time);
    }
    ends
}

/// The lives of a stream, by their begin.
fn lives(mut borders: Vec<(u64, Border)>) -> Vec<Life> {
    borders.sort_unstable();
    let mut lives = vec![Life { begin: 0, graph: None }];
    for (begin, border) in borders {
        let current = lives.last().and_then(|life| life.graph);
        let graph = match border {
            Border::Capture(graph) => Some(graph),
            Border::GraphEnd(_) | Border::StreamEnd => None,
        };
        match border {
            // A capture may be noted again, and a graph's end may come when its stream has another one.
            Border::Capture(graph) if current == Some(graph) => {}
            Border::GraphEnd(graph) if current != Some(graph) => {}
            _ => lives.push(Life { begin, graph }),
        }
    }
    lives
}

/// The number of the life that contains a time.
fn life_at(lives: &[Life], time: u64) -> Option<usize> {
    lives.partition_point(|life| life.begin <= time).checked_sub(1)
}
