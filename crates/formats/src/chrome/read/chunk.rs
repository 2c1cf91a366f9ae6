//! The events of one part of a file, in columns' worth of small rows that point into the file.

use std::hash::{BuildHasher, RandomState};

use opscope_trace::ByteMap;

use super::allocations::Allocation;
use super::problems::Problems;
use super::text::Raw;
use crate::reading::Blocks;

/// Names a piece of text of a [`Chunk`]; 0 is no text at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(pub u32);

/// Names a lane of a [`Chunk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkLane(pub u32);

/// Names a row of [`Chunk::details`]; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DetailsId(pub u32);

/// The columns that events of every kind have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub name: Text,
    pub category: Text,
    pub lane: ChunkLane,
    pub details: DetailsId,
    /// Nanoseconds of the file's own clock.
    pub time: i64,
}

/// A complete event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slice {
    pub head: Head,
    pub duration: i64,
}

/// The mark by which the beginning and the end of a slice are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Match {
    /// Its thread, where slices nest.
    Thread,
    /// An id, hashed together with the category.
    Id(u64),
}

/// One end of a slice that was recorded in two events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub head: Head,
    pub begins: bool,
    pub by: Match,
}

/// One end of an arrow between two slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrowEnd {
    /// The id, hashed together with the category.
    pub id: u64,
    pub lane: ChunkLane,
    pub time: i64,
    pub begins: bool,
    /// Whether it is tied to the slice around it; else to the next one on the lane.
    pub to_enclosing: bool,
    /// The slice of this chunk that stands right before it, if it begins at the same time on the
    /// same lane.
    pub behind: Option<u32>,
}

/// A value of a counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub counter: u32,
    pub time: i64,
    pub value: f64,
}

/// The facts by which counters are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CounterKey<'a> {
    pub process: Raw<'a>,
    pub name: Raw<'a>,
    /// An id, or a label among the values; empty if there is none.
    pub id: Raw<'a>,
    /// Which of the event's values it is.
    pub series: &'a [u8],
}

/// A metadata event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metadata<'a> {
    pub what: Raw<'a>,
    pub process: Raw<'a>,
    pub thread: Raw<'a>,
    pub value: Raw<'a>,
}

/// The arguments of a slice that mean something to opscope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Details {
    /// By which calls and the tasks that they launched find each other: Kineto's `correlation`,
    /// msprof's `connection_id`, rocprofv3's `corr_id`.
    pub link: Option<std::num::NonZeroU64>,
    /// By which operators and tasks find each other: Kineto's `External id`.
    pub external: Option<std::num::NonZeroU64>,
    pub stream: u64,
    pub wait: i64,
    pub device: u32,
    pub model: u32,
    pub iteration: u32,
    /// The number by which the format's tables name the task.
    pub task: u32,
    /// A kind of task, layer or range, in the format's word.
    pub kind: Text,
    /// A further word: a range's domain, a task's or type's own name.
    pub word: Text,
    /// The members that describe an operator, as they stand in the file.
    pub signature: Text,
    pub warm_up: bool,
}

impl Details {
    /// No number, in the columns for which 0 means something.
    pub const NONE: u32 = u32::MAX;
    /// No stream.
    pub const NO_STREAM: u64 = u64::MAX;
    /// No wait.
    pub const NO_WAIT: i64 = i64::MIN;
}

impl Default for Details {
    fn default() -> Self {
        Self {
            link: None,
            external: None,
            stream: Self::NO_STREAM,
            wait: Self::NO_WAIT,
            device: Self::NONE,
            model: Self::NONE,
            iteration: Self::NONE,
            task: Self::NONE,
            kind: Text::default(),
            word: Text::default(),
            signature: Text::default(),
            warm_up: false,
        }
    }
}

/// The events of one part of a file, each kind in the order of the file.
pub(crate) struct Chunk<'a> {
    pub slices: Blocks<Slice>,
    pub edges: Vec<Edge>,
    pub marks: Vec<Head>,
    pub arrows: Vec<ArrowEnd>,
    pub values: Vec<Value>,
    pub allocations: Vec<Allocation<'a>>,
    pub metadata: Vec<Metadata<'a>>,
    pub details: Vec<Details>,
    pub problems: Problems,
    /// How many events there were, of whatever kind.
    pub events: u64,
    texts: Interned<Raw<'a>>,
    lanes: Interned<(Raw<'a>, Raw<'a>)>,
    counters: Interned<CounterKey<'a>>,
    ids: RandomState,
    last_lane: Option<(Raw<'a>, Raw<'a>, ChunkLane)>,
}

impl<'a> Chunk<'a> {
    /// An empty chunk; all chunks of a file must be given the same hasher of `ids`.
    pub fn new(ids: RandomState) -> Self {
        Self {
            slices: Blocks::default(),
            edges: Vec::new(),
            marks: Vec::new(),
            arrows: Vec::new(),
            values: Vec::new(),
            allocations: Vec::new(),
            metadata: Vec::new(),
            details: Vec::new(),
            problems: Problems::default(),
            events: 0,
            texts: Interned::default(),
            lanes: Interned::default(),
            counters: Interned::default(),
            ids,
            last_lane: None,
        }
    }

    /// Gives back the room that was kept for further rows, and the indexes for finding equal text.
    pub fn shrink(&mut self) {
        self.slices.shrink_to_fit();
        self.edges.shrink_to_fit();
        self.marks.shrink_to_fit();
        self.arrows.shrink_to_fit();
        self.values.shrink_to_fit();
        self.allocations.shrink_to_fit();
        self.details.shrink_to_fit();
        self.texts.numbers = ByteMap::default();
        self.lanes.numbers = ByteMap::default();
        self.counters.numbers = ByteMap::default();
    }

    pub fn text(&mut self, raw: Raw<'a>) -> Text {
        if raw.is_empty() { Text::default() } else { Text(self.texts.intern(raw) + 1) }
    }

    /// The text of a name; nothing for no text.
    pub fn raw(&self, text: Text) -> Raw<'a> {
        let index = text.0.checked_sub(1);
        index.and_then(|index| self.texts.values.get(index as usize)).copied().unwrap_or_default()
    }

    pub fn texts(&self) -> &[Raw<'a>] {
        &self.texts.values
    }

    pub fn lane(&mut self, process: Raw<'a>, thread: Raw<'a>) -> ChunkLane {
        // Neighbours in a file mostly share their lane.
        if let Some((last_process, last_thread, lane)) = self.last_lane
            && (last_process, last_thread) == (process, thread)
        {
            return lane;
        }
        let lane = ChunkLane(self.lanes.intern((process, thread)));
        self.last_lane = Some((process, thread, lane));
        lane
    }

    /// The process and thread of every lane.
    pub fn lanes(&self) -> &[(Raw<'a>, Raw<'a>)] {
        &self.lanes.values
    }

    pub fn counter(&mut self, key: CounterKey<'a>) -> u32 {
        self.counters.intern(key)
    }

    pub fn counters(&self) -> &[CounterKey<'a>] {
        &self.counters.values
    }

    /// Names an id within its category, alike for all chunks of a file.
    pub fn id(&self, parts: &[&[u8]]) -> u64 {
        self.ids.hash_one(parts)
    }
}

/// Values, each stored once and named by its number.
struct Interned<Value> {
    values: Vec<Value>,
    numbers: ByteMap<Value, u32>,
}

impl<Value> Default for Interned<Value> {
    fn default() -> Self {
        Self { values: Vec::new(), numbers: ByteMap::default() }
    }
}

impl<Value: Copy + Eq + std::hash::Hash> Interned<Value> {
    fn intern(&mut self, value: Value) -> u32 {
        *self.numbers.entry(value).or_insert_with(|| {
            self.values.push(value);
            // A chunk has fewer bytes than this could count.
            (self.values.len() - 1) as u32
        })
    }
}
