//! Slices, marks, values and flows, as events begin and end them on their tracks.

use opscope_trace::LossKind;

use super::texts::TextId;
use super::tracks::TrackId;
use crate::chrome::read::Problems;
use crate::reading::Blocks;

/// A slice; its place is the one of its beginning.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    pub track: TrackId,
    pub name: TextId,
    pub category: TextId,
    pub arguments: TextId,
    pub start: i64,
    /// Nanoseconds; negative while it isn't ended.
    pub duration: i64,
}

/// A slice from or to which something leads.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnd {
    pub id: u64,
    pub time: i64,
    /// The number of the slice.
    pub slice: u32,
    /// Whether the flow ends here, so that its number may be used again.
    pub is_last: bool,
}

/// A value of a counter.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub track: TrackId,
    pub time: i64,
    pub value: f64,
}

/// The kind of an event that is a slice or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Begin,
    End,
    /// A whole slice of so many nanoseconds.
    Whole(i64),
    Mark,
}

/// An event on a track.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub part: Part,
    pub track: TrackId,
    pub time: i64,
    pub name: TextId,
    pub category: TextId,
    pub arguments: TextId,
}

/// Events with the number of their flows, and the flows of all.
type Kept = (Vec<(Event, u32)>, Vec<(u64, bool)>);

/// All slices of a trace.
#[derive(Default)]
pub struct Slices {
    pub all: Blocks<Slice>,
    pub marks: Vec<Slice>,
    pub samples: Vec<Sample>,
    pub flows: Vec<FlowEnd>,
    /// Whether an event came after a later one of its track, so that beginnings and ends don't match as they come.
    pub is_out_of_order: bool,
    /// The events themselves, if they are to be sorted, and the ends of their flows.
    kept: Option<Kept>,
    /// Of every track the slices that are open, and the time of its last event.
    open: Vec<(Vec<u32>, i64)>,
}

impl Slices {
    /// Keeps events until all are there, to take them in the order of time.
    pub fn sorting() -> Self {
        Self { kept: Some(Default::default()), ..Self::default() }
    }

    /// Takes an event, with the numbers of its flows and whether they end here.
    pub fn take(&mut self, event: Event, flows: &[(u64, bool)], problems: &mut Problems) {
        match &mut self.kept {
            Some((events, ends)) => {
                events.push((event, flows.len() as u32));
                ends.extend_from_slice(flows);
            }
            None => self.apply(event, flows, problems),
        }
    }

    /// Takes the events that were kept, and leaves out what was begun and never ended.
    pub fn finish(&mut self, problems: &mut Problems) {
        if let Some((events, ends)) = self.kept.take() {
            let mut at = 0;
            let mut sorted: Vec<(Event, std::ops::Range<usize>)> = Vec::with_capacity(events.len());
            for (event, count) in events {
                let flows = at..at + count as usize;
                at = flows.end;
                sorted.push((event, flows));
            }
            sorted.sort_by_key(|(event, _)| event.time);
            for (event, flows) in sorted {
                self.apply(event, &ends[flows], problems);
            }
        }
        self.drop_open(problems);
    }

    fn apply(&mut self, event: Event, flows: &[(u64, bool)], problems: &mut Problems) {
        let Event { part, track, time, name, category, arguments } = event;
        let slice = Slice { track, name, category, arguments, start: time, duration: -1 };
        let index = track.0 as usize;
        if self.open.len() <= index {
            self.open.resize_with(index + 1, || (Vec::new(), i64::MIN));
        }
        let (open, last) = &mut self.open[index];
        // Marks stand alone, and whole slices are written when they end.
        if matches!(part, Part::Begin | Part::End) {
            self.is_out_of_order |= time < *last;
            *last = time;
        }
        let number = self.all.len() as u32;
        let of_flows = match part {
            Part::Mark => {
                self.marks.push(Slice { duration: 0, ..slice });
                return;
            }
            Part::Whole(duration) => {
                self.all.push(Slice { duration, ..slice });
                number
            }
            Part::Begin => {
                open.push(number);
                self.all.push(slice);
                number
            }
            Part::End => {
                let Some(begun) = open.pop() else {
                    problems.count_all(LossKind::EndWithoutBeginning, 1);
                    return;
                };
                let row = &mut self.all[begun as usize];
                match time.checked_sub(row.start) {
                    // Within a track that isn't in order yet it may be less.
                    Some(duration) => row.duration = duration.max(0),
                    None => problems.count_all(LossKind::EventTimeTooLarge, 1),
                }
                // Some writers know name and arguments only when the slice ends.
                for (known, told) in [(&mut row.name, name), (&mut row.arguments, arguments)] {
                    if *known == TextId::default() {
                        *known = told;
                    }
                }
                begun
            }
        };
        let end = |&(id, is_last): &(u64, bool)| FlowEnd { id, time, slice: of_flows, is_last };
        self.flows.extend(flows.iter().map(end));
    }

    fn drop_open(&mut self, problems: &mut Problems) {
        let open = self.all.iter().filter(|slice| slice.duration < 0).count();
        if open == 0 {
            return;
        }
        problems.count_all(LossKind::BeginningWithoutEnd, open as u64);
        let mut kept = 0;
        let moved: Vec<Option<u32>> = (self.all.iter())
            .map(|slice| {
                (slice.duration >= 0).then(|| {
                    kept += 1;
                    kept - 1
                })
            })
            .collect();
        self.all.retain(|slice| slice.duration >= 0);
        self.flows.retain_mut(|end| match moved[end.slice as usize] {
            Some(number) => {
                end.slice = number;
                true
            }
            None => false,
        });
    }
}
