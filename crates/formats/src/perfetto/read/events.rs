//! Track events: slices, marks and values of counters.

use opscope_trace::{LossKind, NumberMap};

use super::super::fields::{event, legacy};
use super::annotations::push_object;
use super::clocks::TooLarge;
use super::packets::Packets;
use super::slices::{Event, Part, Sample};
use super::texts::{TextId, Texts};
use super::tracks::TrackId;
use opscope_protobuf::Fields;

impl Packets {
    /// Reads an event of a sequence; `time` is that of its packet, if it has one.
    pub(super) fn event(
        &mut self,
        body: &[u8],
        sequence: usize,
        time: Option<Result<i64, TooLarge>>,
        start: usize,
        texts: &mut Texts,
    ) {
        let mut found = Found::default();
        let flows = &mut self.scratch.flows;
        flows.clear();
        // Annotations mostly follow one another, and then their bytes are what tells them from others.
        let annotations = &mut found.annotations;
        let mut fields = Fields::of(body);
        loop {
            let at = fields.position();
            let Some(field) = fields.next() else { break };
            let Ok((number, value)) = field else {
                return self.problems.count(LossKind::DamagedPacket, start);
            };
            match number {
                event::TYPE => found.kind = value.number(),
                event::TRACK => found.track = Some(value.number()),
                event::NAME_IID => found.name_iid = value.number(),
                event::NAME => found.name = Some(value.bytes()),
                event::CATEGORY_IIDS if found.category_iid == 0 => {
                    found.category_iid = value.numbers().next().unwrap_or(0);
                }
                event::CATEGORIES if found.category.is_none() => found.category = Some(value.bytes()),
                event::ANNOTATIONS => {
                    let end = fields.position();
                    *annotations = Some(match *annotations {
                        None => (at, end, true),
                        Some((first, last, is_run)) => (first, end, is_run && last == at),
                    });
                }
                event::COUNTER_VALUE => found.value = Some(value.signed() as f64),
                event::DOUBLE_VALUE => found.value = Some(value.double()),
                event::FLOWS => flows.extend(value.fixed_numbers().map(|id| (id, false))),
                event::LAST_FLOWS => flows.extend(value.fixed_numbers().map(|id| (id, true))),
                event::FLOWS_OLD => flows.extend(value.numbers().map(|id| (id, false))),
                event::LAST_FLOWS_OLD => flows.extend(value.numbers().map(|id| (id, true))),
                event::EXTRA_VALUES | event::EXTRA_DOUBLE_VALUES => found.has_extra = true,
                event::TIME_DELTA_US => found.delta = Some(value.signed()),
                event::TIME_ABSOLUTE_US => found.absolute = Some(value.signed()),
                event::LEGACY => found.legacy = Some(value.bytes()),
                _ => {}
            }
        }
        self.found_event(found, body, sequence, time, start, texts);
    }

    /// Takes an event whose fields were found in `body`, and its flows in the scratch lists.
    pub(super) fn found_event(
        &mut self,
        mut found: Found<'_>,
        body: &[u8],
        sequence: usize,
        time: Option<Result<i64, TooLarge>>,
        start: usize,
        texts: &mut Texts,
    ) {
        let row = &mut self.sequences[sequence];
        if let Some(delta) = found.delta {
            row.reference = row.reference.saturating_add(delta.saturating_mul(1_000));
        }
        let old = || {
            let absolute = found.absolute.map(|time| time.saturating_mul(1_000));
            absolute.or(found.delta.map(|_| row.reference)).map(Ok)
        };
        let time = match time.or_else(old) {
            Some(Ok(time)) => time,
            Some(Err(TooLarge)) => return self.problems.count(LossKind::EventTimeTooLarge, start),
            None => return self.problems.count(LossKind::EventWithoutTime, start),
        };
        if found.has_extra {
            self.extra_values(body, sequence, time);
        }
        let row = &mut self.sequences[sequence];
        let track = self.tracks.of(found.track.or(row.track).unwrap_or(0));
        if found.kind == event::COUNTER {
            return match found.value {
                Some(told) => self.sample(sequence, track, time, told),
                None => self.problems.count(LossKind::ValueNoNumber, start),
            };
        }
        let part = match (found.kind, found.legacy) {
            (event::SLICE_BEGIN, _) => Part::Begin,
            (event::SLICE_END, _) => Part::End,
            (event::INSTANT, _) => Part::Mark,
            (_, Some(body)) => match legacy_part(body) {
                Ok((part, name_iid)) => {
                    found.name_iid = if found.name_iid == 0 { name_iid } else { found.name_iid };
                    part
                }
                Err(kind) => return self.problems.count(kind, start),
            },
            _ => return self.problems.count(LossKind::EventWithoutPhase, start),
        };
        let names = &row.names;
        let mut named = |text: Option<&[u8]>, iid: u64, known: &NumberMap<u64, TextId>| match (text, iid) {
            (Some(text), _) => texts.text(text),
            (None, 0) => TextId::default(),
            (None, iid) => known.get(&iid).copied().unwrap_or_else(|| {
                self.missing_names += 1;
                TextId::default()
            }),
        };
        let name = named(found.name, found.name_iid, &names.events);
        let category = named(found.category, found.category_iid, &names.categories);
        let arguments = match found.annotations {
            None => TextId::default(),
            Some((first, end, true)) => self.arguments(&body[first..end], sequence, texts),
            Some(_) => {
                let mut run = std::mem::take(&mut self.scratch.annotations);
                run.clear();
                for (number, value) in Fields::of(body).flatten() {
                    if number == event::ANNOTATIONS {
                        opscope_protobuf::push_bytes(&mut run, number, value.bytes());
                    }
                }
                let arguments = self.arguments(&run, sequence, texts);
                self.scratch.annotations = run;
                arguments
            }
        };
        let event = Event { part, track, time, name, category, arguments };
        self.slices.take(event, &self.scratch.flows, &mut self.problems);
    }

    /// The object of a run of annotations, which is made once for all events of a sequence that have the same.
    fn arguments(&mut self, run: &[u8], sequence: usize, texts: &mut Texts) -> TextId {
        /// Where every event has other arguments, nothing is gained by keeping them.
        const MOST: usize = 1 << 14;
        let row = &mut self.sequences[sequence];
        if let Some(&known) = row.arguments.get(run) {
            return known;
        }
        let annotations: Vec<&[u8]> = Fields::of(run).flatten().map(|(_, value)| value.bytes()).collect();
        let mut object = Vec::new();
        push_object(&mut object, &annotations, &row.names, texts, &mut self.missing_names);
        // Each object may differ, however few bytes made it.
        if (texts.len() + object.len()) as u64 > crate::memory::allowed() / 3 {
            self.missing_names += 1;
            return TextId::default();
        }
        let text = texts.push(|json| json.extend_from_slice(&object));
        if row.arguments.len() >= MOST {
            row.arguments.clear();
        }
        row.arguments.insert(run.into(), text);
        text
    }

    fn sample(&mut self, sequence: usize, track: TrackId, time: i64, told: f64) {
        let counter = self.tracks.all[track.0 as usize].counter.unwrap_or_default();
        let value = self.sequences[sequence].value(track, counter.is_incremental, told);
        let value = value * counter.multiplier.unwrap_or(1) as f64;
        self.slices.samples.push(Sample { track, time, value });
    }

    /// Values of counters beside an event: the numbers of their tracks stand in the event, or are the sequence's.
    fn extra_values(&mut self, body: &[u8], sequence: usize, time: i64) {
        let (mut tracks, mut double_tracks) = (Vec::new(), Vec::new());
        let (mut values, mut doubles) = (Vec::new(), Vec::new());
        for (number, value) in Fields::of(body).flatten() {
            match number {
                event::EXTRA_TRACKS => tracks.extend(value.numbers()),
                event::EXTRA_DOUBLE_TRACKS => double_tracks.extend(value.numbers()),
                event::EXTRA_VALUES => values.extend(value.numbers().map(|value| value.cast_signed() as f64)),
                event::EXTRA_DOUBLE_VALUES => doubles.extend(value.fixed_numbers().map(f64::from_bits)),
                _ => {}
            }
        }
        let row = &self.sequences[sequence];
        // A sequence may name any number of counters, and an event have one value.
        let or_default = |own: Vec<u64>, known: &[u64], values: usize| match own.is_empty() {
            true => known[..known.len().min(values)].to_vec(),
            false => own,
        };
        let tracks = or_default(tracks, &row.counters, values.len()).into_iter().zip(values);
        let double_tracks =
            or_default(double_tracks, &row.double_counters, doubles.len()).into_iter().zip(doubles);
        for (uuid, value) in tracks.chain(double_tracks).collect::<Vec<_>>() {
            let track = self.tracks.of(uuid);
            self.sample(sequence, track, time, value);
        }
    }
}

/// The fields of an event.
#[derive(Default)]
pub(super) struct Found<'a> {
    pub kind: u64,
    pub track: Option<u64>,
    pub name_iid: u64,
    pub name: Option<&'a [u8]>,
    pub category_iid: u64,
    pub category: Option<&'a [u8]>,
    pub value: Option<f64>,
    pub has_extra: bool,
    pub delta: Option<i64>,
    pub absolute: Option<i64>,
    pub legacy: Option<&'a [u8]>,
    /// Where the annotations begin and end, and whether nothing else stands between.
    pub annotations: Option<(usize, usize, bool)>,
}

/// The part of a slice that an event of Chrome's in its other form is, by its phase, and the number of its name.
fn legacy_part(body: &[u8]) -> Result<(Part, u64), LossKind> {
    let (mut phase, mut duration, mut name) = (0, 0_i64, 0);
    for (number, value) in Fields::of(body).flatten() {
        match number {
            legacy::PHASE => phase = value.number(),
            legacy::DURATION_US => duration = value.signed(),
            legacy::NAME_IID => name = value.number(),
            _ => {}
        }
    }
    let part = match u8::try_from(phase) {
        Ok(b'B') => Part::Begin,
        Ok(b'E') => Part::End,
        Ok(b'I' | b'i' | b'R') => Part::Mark,
        Ok(b'X') if duration < 0 => return Err(LossKind::EventNegativeDuration),
        Ok(b'X') => Part::Whole(duration.checked_mul(1_000).ok_or(LossKind::EventTimeTooLarge)?),
        _ => return Err(LossKind::EventOfUnknownPhase),
    };
    Ok((part, name))
}
