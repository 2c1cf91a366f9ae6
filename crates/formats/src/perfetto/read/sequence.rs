//! The state of a sequence: what its earlier packets told, on which later ones rest.

use std::collections::HashMap;

use opscope_trace::NumberMap;

use super::super::fields::{defaults, event, interned};
use super::texts::{TextId, Texts};
use super::tracks::TrackId;
use opscope_protobuf::{Fields, Value};

/// The texts that the packets of a sequence name by numbers.
#[derive(Default)]
pub struct Names {
    pub events: NumberMap<u64, TextId>,
    pub categories: NumberMap<u64, TextId>,
    pub annotations: NumberMap<u64, TextId>,
    pub annotation_texts: NumberMap<u64, TextId>,
}

/// A sequence.
#[derive(Default)]
pub struct Sequence {
    pub id: u32,
    /// Whether the state is whole: nothing was dropped since it was cleared.
    pub is_whole: bool,
    /// Whether any packet of it was seen.
    pub is_begun: bool,
    pub names: Names,
    /// Objects of arguments by the bytes of their annotations.
    pub arguments: HashMap<Box<[u8]>, TextId>,
    pub clock: Option<u32>,
    pub track: Option<u64>,
    pub counters: Vec<u64>,
    pub double_counters: Vec<u64>,
    /// Last values of counters that are told as differences.
    pub values: NumberMap<u32, f64>,
    /// The time in nanoseconds to which events of the oldest writers add up.
    pub reference: i64,
}

impl Sequence {
    /// Forgets all but what holds for a sequence as long as it lasts.
    pub fn clear(&mut self) {
        let Self { id, track, is_begun, reference, .. } = *self;
        // A thread that the oldest writers describe stays.
        *self = Self { id, track, is_begun, reference, is_whole: true, ..Self::default() };
    }

    /// Takes the defaults of further packets in.
    pub fn take_defaults(&mut self, body: &[u8]) {
        for (number, value) in Fields::of(body).flatten() {
            match number {
                defaults::CLOCK => self.clock = Some(value.number() as u32),
                defaults::TRACK_EVENT => {
                    self.counters.clear();
                    self.double_counters.clear();
                    for (number, value) in Fields::of(value.bytes()).flatten() {
                        match number {
                            event::TRACK => self.track = Some(value.number()),
                            event::EXTRA_TRACKS => self.counters.extend(value.numbers()),
                            event::EXTRA_DOUBLE_TRACKS => self.double_counters.extend(value.numbers()),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes texts in that further packets name.
    pub fn take_names(&mut self, body: &[u8], texts: &mut Texts) {
        for (number, value) in Fields::of(body).flatten() {
            let names = match number {
                interned::CATEGORIES => &mut self.names.categories,
                interned::NAMES => &mut self.names.events,
                interned::ANNOTATION_NAMES => &mut self.names.annotations,
                interned::ANNOTATION_TEXTS => &mut self.names.annotation_texts,
                _ => continue,
            };
            let (mut number, mut text) = (0, &[] as &[u8]);
            for (field, value) in Fields::of(value.bytes()).flatten() {
                match (field, value) {
                    (interned::NUMBER, value) => number = value.number(),
                    (interned::TEXT, Value::Bytes(bytes)) => text = bytes,
                    _ => {}
                }
            }
            // A number is given to one text for good; objects that were made with it stay right.
            names.entry(number).or_insert_with(|| texts.text(text));
        }
    }

    /// The value of a counter, given what an event tells of it.
    pub fn value(&mut self, track: TrackId, is_incremental: bool, told: f64) -> f64 {
        if !is_incremental {
            return told;
        }
        let value = self.values.entry(track.0).or_default();
        *value += told;
        *value
    }
}
