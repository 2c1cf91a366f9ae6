//! Tracks: the lanes that slices and marks are on, and the counters.

use opscope_trace::NumberMap;

use super::super::fields::{counter, process, thread, track, tree};
use super::texts::{TextId, Texts};
use opscope_protobuf::Fields;

/// Names a track by its place in [`Tracks::all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId(pub u32);

/// A track, as far as packets describe it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Track {
    pub uuid: u64,
    pub parent: Option<u64>,
    /// Whether a packet describes it.
    pub is_described: bool,
    pub name: TextId,
    pub pid: Option<u64>,
    pub process_name: TextId,
    pub tid: Option<u64>,
    pub counter: Option<CounterTrack>,
}

/// The quantity that is counted on a track.
#[derive(Clone, Copy, Debug, Default)]
pub struct CounterTrack {
    pub unit: u64,
    pub unit_name: TextId,
    pub multiplier: Option<i64>,
    pub is_incremental: bool,
}

/// The end of the chain of parents of a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    pub pid: Option<u64>,
    /// The topmost track, where none of the chain is of a process.
    pub root: Option<TrackId>,
    /// Whether the chain leads back to itself.
    pub is_cycle: bool,
}

/// All tracks, processes and threads.
#[derive(Default)]
pub struct Tracks {
    pub all: Vec<Track>,
    by_uuid: NumberMap<u64, TrackId>,
    /// The track that was asked for last: events mostly follow others of their track.
    last: Option<(u64, TrackId)>,
    /// Names of processes by their numbers, and of threads by those of process and thread.
    pub processes: NumberMap<u64, TextId>,
    pub threads: NumberMap<(u64, u64), TextId>,
}

impl Tracks {
    /// The track of a number, entered if it is new.
    pub fn of(&mut self, uuid: u64) -> TrackId {
        if let Some((last, id)) = self.last
            && last == uuid
        {
            return id;
        }
        let id = *self.by_uuid.entry(uuid).or_insert_with(|| {
            self.all.push(Track { uuid, ..Track::default() });
            TrackId((self.all.len() - 1) as u32)
        });
        self.last = Some((uuid, id));
        id
    }

    /// The track of a number, if anything named it.
    pub fn get(&self, uuid: u64) -> Option<&Track> {
        self.by_uuid.get(&uuid).map(|id| &self.all[id.0 as usize])
    }

    /// Takes the description of a track in; one that is told again is completed.
    pub fn describe(&mut self, body: &[u8], texts: &mut Texts) {
        let uuid = Fields::of(body).flatten().find(|(number, _)| *number == track::UUID);
        let id = self.of(uuid.map_or(0, |(_, value)| value.number()));
        let mut row = self.all[id.0 as usize];
        row.is_described = true;
        for (number, value) in Fields::of(body).flatten() {
            match number {
                track::PARENT => row.parent = Some(value.number()),
                track::NAME | track::STATIC_NAME | track::ATRACE_NAME => row.name = texts.text(value.bytes()),
                track::PROCESS => {
                    let (pid, name) = self.process(value.bytes(), texts);
                    row.pid = pid.or(row.pid);
                    row.process_name = name;
                }
                track::THREAD => {
                    let (pid, tid) = self.thread(value.bytes(), texts);
                    (row.pid, row.tid) = (pid, tid);
                }
                track::COUNTER => row.counter = Some(counter_track(value.bytes(), texts)),
                _ => {}
            }
        }
        self.all[id.0 as usize] = row;
    }

    /// Takes a description of a process in; gives its number and name.
    pub fn process(&mut self, body: &[u8], texts: &mut Texts) -> (Option<u64>, TextId) {
        let (mut pid, mut name) = (None, TextId::default());
        for (number, value) in Fields::of(body).flatten() {
            match number {
                process::PID => pid = Some(value.number()),
                process::NAME => name = texts.text(value.bytes()),
                _ => {}
            }
        }
        if let (Some(pid), true) = (pid, name != TextId::default()) {
            self.processes.insert(pid, name);
        }
        (pid, name)
    }

    /// Takes a description of a thread in; gives the numbers of its process and itself.
    pub fn thread(&mut self, body: &[u8], texts: &mut Texts) -> (Option<u64>, Option<u64>) {
        let (mut pid, mut tid, mut name) = (None, None, TextId::default());
        for (number, value) in Fields::of(body).flatten() {
            match number {
                thread::PID => pid = Some(value.number()),
                thread::TID => tid = Some(value.number()),
                thread::NAME => name = texts.text(value.bytes()),
                _ => {}
            }
        }
        if let (Some(pid), Some(tid), true) = (pid, tid, name != TextId::default()) {
            self.threads.insert((pid, tid), name);
        }
        (pid, tid)
    }

    /// Takes the names of the system's processes and threads in, where no track has told them.
    pub fn process_tree(&mut self, body: &[u8], texts: &mut Texts) {
        for (number, value) in Fields::of(body).flatten() {
            let of = |wanted: u32| {
                Fields::of(value.bytes())
                    .flatten()
                    .find(|(number, _)| *number == wanted)
                    .map(|(_, value)| value)
            };
            match number {
                tree::PROCESSES => {
                    // Of the words of the command, the first is the program's.
                    if let (Some(pid), Some(name)) = (of(tree::PROCESS_PID), of(tree::PROCESS_COMMAND)) {
                        let name = texts.text(name.bytes());
                        self.processes.entry(pid.number()).or_insert(name);
                    }
                }
                tree::THREADS => {
                    let [tid, pid, name] =
                        [tree::THREAD_TID, tree::THREAD_PROCESS, tree::THREAD_NAME].map(of);
                    if let (Some(tid), Some(pid), Some(name)) = (tid, pid, name) {
                        let name = texts.text(name.bytes());
                        self.threads.entry((pid.number(), tid.number())).or_insert(name);
                    }
                }
                _ => {}
            }
        }
    }

    /// The process of a track, or of the next track above it that has one.
    pub fn owner(&self, track: TrackId) -> Owner {
        /// No sensible tree is as deep.
        const DEEPEST: usize = 64;
        let mut id = track;
        for _ in 0..DEEPEST {
            let row = &self.all[id.0 as usize];
            if row.pid.is_some() {
                return Owner { pid: row.pid, ..Owner::default() };
            }
            // Number 0 stands for the whole trace.
            let parent = row.parent.filter(|&parent| parent != 0);
            match parent.and_then(|parent| self.by_uuid.get(&parent)) {
                Some(&parent) => id = parent,
                None => return Owner { root: Some(id), ..Owner::default() },
            }
        }
        Owner { root: Some(track), is_cycle: true, ..Owner::default() }
    }
}

fn counter_track(body: &[u8], texts: &mut Texts) -> CounterTrack {
    let mut row = CounterTrack::default();
    for (number, value) in Fields::of(body).flatten() {
        match number {
            counter::UNIT => row.unit = value.number(),
            counter::UNIT_NAME => row.unit_name = texts.text(value.bytes()),
            counter::MULTIPLIER => row.multiplier = Some(value.signed()),
            counter::INCREMENTAL => row.is_incremental = value.number() != 0,
            _ => {}
        }
    }
    row
}
