//! The packets of a file, one after another.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::ZlibDecoder;
use opscope_trace::{LossKind, NumberMap};

use super::super::EVENTS;
use super::super::fields::{metadata, packet, thread, trace};
use super::annotations::is_json;
use super::clocks::{Clocks, TooLarge};
use super::part::{self, Item, PlainEvent};
use super::sequence::Sequence;
use super::slices::Slices;
use super::texts::{TextId, Texts};
use super::tracks::Tracks;
use super::{ReadError, loss_of};
use crate::chrome::read::Problems;
use crate::chrome::text::push_number;
use crate::reading::{Stop, decimal};
use opscope_protobuf::{Fields, Value};

/// The order in which events are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they stand in the file.
    AsWritten,
    /// By their times.
    ByTime,
}

/// The content of a file.
pub struct Packets {
    pub tracks: Tracks,
    pub slices: Slices,
    pub clocks: Clocks,
    pub problems: Problems,
    /// Names and values about the whole trace, as JSON.
    pub metadata: Vec<(TextId, TextId)>,
    /// Packets of kinds that have no place in a trace, by the field of their content.
    pub placeless: BTreeMap<u32, u64>,
    /// The bytes that came out of compressed packets.
    unpacked: u64,
    /// How many texts were named by numbers that no packet had told.
    pub missing_names: u64,
    pub(super) sequences: Vec<Sequence>,
    by_id: NumberMap<u32, usize>,
    last_sequence: Option<(u32, usize)>,
    pub(super) scratch: Scratch,
}

/// Lists that are used again for each event.
#[derive(Default)]
pub(super) struct Scratch {
    pub flows: Vec<(u64, bool)>,
    pub annotations: Vec<u8>,
}

/// The fields of a packet beside its content.
#[derive(Clone, Copy, Default)]
pub struct Head {
    pub time: Option<u64>,
    pub clock: Option<u32>,
    pub sequence: u32,
    pub flags: u64,
    pub is_dropped: bool,
}

impl Packets {
    /// Reads all packets.
    pub fn read(bytes: &[u8], order: Order, texts: &mut Texts, stop: &Stop) -> Result<Self, ReadError> {
        let slices = if order == Order::ByTime { Slices::sorting() } else { Slices::default() };
        let mut packets = Self {
            tracks: Tracks::default(),
            slices,
            clocks: Clocks::default(),
            problems: Problems::default(),
            metadata: Vec::new(),
            placeless: BTreeMap::new(),
            unpacked: 0,
            missing_names: 0,
            sequences: Vec::new(),
            by_id: NumberMap::default(),
            last_sequence: None,
            scratch: Scratch::default(),
        };
        if let Some(Err(_)) = Fields::of(bytes).next() {
            return Err(ReadError::NoPacket { offset: 0 });
        }
        let begins = part::begins(bytes);
        let (mut told, mut last) = (0, 0);
        opscope_parallel::parts(
            begins.len(),
            |number, items| part::read(bytes, &begins, number, items),
            |items: &mut Vec<(usize, Item<'_>)>| {
                if stop.is_wanted() {
                    return Err(ReadError::Stopped);
                }
                for (start, item) in items.drain(..) {
                    packets.take(item, start, texts);
                    last = start;
                }
                stop.has_read(last - std::mem::replace(&mut told, last));
                Ok(())
            },
        )?;
        packets.slices.finish(&mut packets.problems);
        Ok(packets)
    }

    /// Whether there are fewer events than the file says that it has. Packets have no end that would be missed where a
    /// file is cut off between two of them, so those that are written here tell their number.
    pub fn lacks_events(&self, texts: &Texts) -> bool {
        let told = self.metadata.iter().find(|(name, _)| texts.json(*name) == EVENTS.json);
        let told = told.and_then(|(_, number)| decimal::whole(texts.json(*number)).ok());
        let Slices { all, marks, samples, .. } = &self.slices;
        told.is_some_and(|told| ((all.len() + marks.len() + samples.len()) as i64) < told)
    }

    fn take(&mut self, item: Item<'_>, start: usize, texts: &mut Texts) {
        match item {
            Item::Plain(event) => self.plain_event(&event, start, texts),
            Item::Packet(body) => self.packet(body, start, texts, true),
            // Fields beside the packets are none of the format, but harm nothing.
            Item::Beside => self.problems.count(LossKind::DamagedPacket, start),
            Item::Fault(fault) => self.problems.count(loss_of(fault), start),
        }
    }

    /// As [`packet`](Self::packet), for one that was read already.
    fn plain_event(&mut self, plain: &PlainEvent, start: usize, texts: &mut Texts) {
        let head = plain.head();
        let sequence = self.sequence(head.sequence);
        self.keep_state(sequence, &head, start);
        if self.lacks_state(sequence, &head, start) {
            return;
        }
        let time = self.time(sequence, &head);
        self.scratch.flows.clear();
        self.found_event(plain.found(), &[], sequence, time, start, texts);
    }

    /// Reads one packet; `start` is where it stands in the file.
    fn packet(&mut self, body: &[u8], start: usize, texts: &mut Texts, may_be_packed: bool) {
        let mut head = Head::default();
        let (mut content, mut names, mut defaults) = (None, None, None);
        for field in Fields::of(body) {
            let (number, value) = match field {
                Ok(field) => field,
                Err(_) => return self.problems.count(LossKind::DamagedPacket, start),
            };
            match number {
                packet::TIMESTAMP => head.time = Some(value.number()),
                packet::CLOCK => head.clock = Some(value.number() as u32),
                packet::SEQUENCE => head.sequence = value.number() as u32,
                packet::SEQUENCE_FLAGS => head.flags |= value.number(),
                packet::STATE_CLEARED if value.number() != 0 => head.flags |= packet::FLAG_CLEARED,
                packet::PREVIOUS_DROPPED => head.is_dropped = value.number() != 0,
                packet::INTERNED_DATA => names = Some(value.bytes()),
                packet::DEFAULTS => defaults = Some(value.bytes()),
                packet::TRUSTED_UID
                | packet::STATE_CLEARED
                | packet::TRUSTED_PID
                | packet::FIRST_ON_SEQUENCE
                | packet::MACHINE => {}
                number => content = Some((number, value.bytes())),
            }
        }
        let sequence = self.sequence(head.sequence);
        self.keep_state(sequence, &head, start);
        if let Some(names) = names {
            self.sequences[sequence].take_names(names, texts);
        }
        if let Some(defaults) = defaults {
            self.sequences[sequence].take_defaults(defaults);
        }
        if self.lacks_state(sequence, &head, start) {
            return;
        }
        if let Some((packet::CLOCK_SNAPSHOT, body)) = content {
            self.clocks.snapshot(head.sequence, body);
        }
        let time = self.time(sequence, &head);
        match content {
            Some((packet::TRACK_EVENT, body)) => self.event(body, sequence, time, start, texts),
            Some((number, body)) => self.content(number, body, sequence, start, texts, may_be_packed),
            None => {}
        }
    }

    /// Whether a packet rests on others that were dropped, which is counted.
    fn lacks_state(&mut self, sequence: usize, head: &Head, start: usize) -> bool {
        let lacks = head.flags & packet::FLAG_NEEDS_STATE != 0 && !self.sequences[sequence].is_whole;
        if lacks {
            self.problems.count(LossKind::PacketWithoutState, start);
        }
        lacks
    }

    /// The time of a packet. A clock that counts on has to hear of every one.
    fn time(&mut self, sequence: usize, head: &Head) -> Option<Result<i64, TooLarge>> {
        let clock = head.clock.or(self.sequences[sequence].clock);
        head.time.map(|time| self.clocks.time(head.sequence, clock, time))
    }

    fn sequence(&mut self, id: u32) -> usize {
        if let Some((last, index)) = self.last_sequence
            && last == id
        {
            return index;
        }
        let index = *self.by_id.entry(id).or_insert_with(|| {
            self.sequences.push(Sequence { id, ..Sequence::default() });
            self.sequences.len() - 1
        });
        self.last_sequence = Some((id, index));
        index
    }

    /// Heeds what a packet says of those before it on its sequence.
    fn keep_state(&mut self, sequence: usize, head: &Head, start: usize) {
        let sequence = &mut self.sequences[sequence];
        if head.is_dropped {
            // Of the first packet on a sequence the recorder always says so.
            if sequence.is_begun {
                self.problems.count(LossKind::DroppedPackets, start);
            }
            sequence.is_whole = false;
        }
        if head.flags & packet::FLAG_CLEARED != 0 {
            sequence.clear();
        }
        sequence.is_begun = true;
    }

    fn content(
        &mut self,
        number: u32,
        body: &[u8],
        sequence: usize,
        start: usize,
        texts: &mut Texts,
        may_be_packed: bool,
    ) {
        match number {
            packet::TRACK_DESCRIPTOR => self.tracks.describe(body, texts),
            packet::CLOCK_SNAPSHOT => {}
            packet::PROCESS_TREE => self.tracks.process_tree(body, texts),
            packet::PROCESS_DESCRIPTOR => drop(self.tracks.process(body, texts)),
            packet::THREAD_DESCRIPTOR => self.thread_of_sequence(body, sequence, texts),
            packet::CHROME_EVENTS => self.chrome_events(body, texts),
            packet::COMPRESSED if may_be_packed => self.unpack(body, start, texts),
            packet::COMPRESSED | packet::ZSTD_COMPRESSED => {
                self.problems.count(LossKind::PackedPackets, start);
            }
            number if packet::ABOUT_RECORDING.contains(&number) => {}
            number => *self.placeless.entry(number).or_default() += 1,
        }
    }

    /// Packets that are packed together by zlib.
    fn unpack(&mut self, body: &[u8], start: usize, texts: &mut Texts) {
        /// Writers keep to half a megabyte for a packet; a few bytes can claim to be gigabytes.
        const MOST: u64 = 64 << 20;
        // Of all packets together, no more than of a compressed file.
        let most = MOST.min((crate::memory::allowed() / 3).saturating_sub(self.unpacked));
        let mut unpacked = Vec::new();
        let whole = ZlibDecoder::new(body).take(most + 1).read_to_end(&mut unpacked);
        if whole.is_err() || unpacked.len() as u64 > most {
            self.problems.count(LossKind::PackedPackets, start);
            unpacked.truncate(most as usize);
        }
        self.unpacked += unpacked.len() as u64;
        for field in Fields::of(&unpacked) {
            match field {
                Ok((trace::PACKET, Value::Bytes(body))) => self.packet(body, start, texts, false),
                Ok(_) => self.problems.count(LossKind::DamagedPacket, start),
                Err(fault) => self.problems.count(loss_of(fault), start),
            }
        }
    }

    /// The thread of a sequence, as the oldest writers tell it.
    fn thread_of_sequence(&mut self, body: &[u8], sequence: usize, texts: &mut Texts) {
        let (pid, tid) = self.tracks.thread(body, texts);
        let reference = Fields::of(body).flatten().find(|(number, _)| *number == thread::REFERENCE_US);
        let row = &mut self.sequences[sequence];
        if let Some((_, value)) = reference {
            row.reference = value.signed().saturating_mul(1_000);
        }
        if let (Some(pid), Some(tid)) = (pid, tid) {
            // No writer numbers tracks so.
            let uuid = 0xfeed_0000_0000_0000 | u64::from(row.id);
            row.track = Some(uuid);
            let track = self.tracks.of(uuid);
            let track = &mut self.tracks.all[track.0 as usize];
            (track.is_described, track.pid, track.tid) = (true, Some(pid), Some(tid));
        }
    }

    /// Of the events of Chrome's oldest recorder only what is told about the whole trace.
    fn chrome_events(&mut self, body: &[u8], texts: &mut Texts) {
        for (number, value) in Fields::of(body).flatten() {
            if number != metadata::METADATA {
                *self.placeless.entry(packet::CHROME_EVENTS).or_default() += 1;
                continue;
            }
            let (mut name, mut content) = (TextId::default(), TextId::default());
            for (number, value) in Fields::of(value.bytes()).flatten() {
                match number {
                    metadata::NAME => name = texts.text(value.bytes()),
                    metadata::TEXT => content = texts.text(value.bytes()),
                    metadata::JSON if !is_json(value.bytes()) => content = texts.text(value.bytes()),
                    metadata::JSON => content = texts.push(|json| json.extend_from_slice(value.bytes())),
                    metadata::NUMBER => content = texts.push(|json| push_number(json, value.signed())),
                    metadata::BOOLEAN => {
                        let word = if value.number() == 0 { "false" } else { "true" };
                        content = texts.push(|json| json.extend_from_slice(word.as_bytes()));
                    }
                    _ => {}
                }
            }
            if name != TextId::default() && content != TextId::default() {
                self.metadata.push((name, content));
            }
        }
    }
}

/// The names of the contents that are counted as having no place, as far as anybody meets them.
pub fn content_name(number: u32) -> String {
    let name = match number {
        packet::FTRACE_EVENTS => "ftrace_events",
        packet::CHROME_EVENTS => "chrome_events",
        7 => "sys_stats",
        9 => "process_stats",
        37 => "profile_packet",
        39 => "android_log",
        49 => "perfetto_metatrace",
        52 => "gpu_counter_event",
        53 => "gpu_render_stage_event",
        54 => "streaming_profile_packet",
        66 => "perf_sample",
        71 => "gpu_mem_total_event",
        76 => "frame_timeline_event",
        other => return format!("packets with field {other}"),
    };
    name.to_owned()
}

/// An object of JSON of names and values.
pub fn push_members(json: &mut Vec<u8>, members: &[(TextId, TextId)], texts: &Texts) {
    json.push(b'{');
    for (index, &(name, value)) in members.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        json.extend_from_slice(texts.json(name));
        json.push(b':');
        json.extend_from_slice(texts.json(value));
    }
    json.push(b'}');
}
