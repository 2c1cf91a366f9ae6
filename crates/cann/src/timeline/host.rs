//! The host's lanes: calls of the libraries, and the program's own ranges.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use opscope_cann_raw::host::level;
use opscope_trace::{LanePacker, NumberMap};

use crate::dialect::Dialect;
use crate::facts::calls::call_name;
use crate::facts::marks::event_type;
use crate::facts::view::View;
use crate::kinds::level_name;
use crate::lane_choice::Layer;
use crate::parallel;
use crate::tables::Api;
use crate::timeline::event::{Events, SharedSlice};
use crate::timeline::lanes::{self, Lanes, name_lane, seen};

/// The step between the numbers of a thread's lanes, where it needs several.
pub(super) const NEXT_TRACK: u64 = 1 << 32;

/// The id of the arrow between a mark's two sides.
pub(super) fn mark_arrow(view: &View<'_>, mark: u64) -> u64 {
    // The accelerated reference keeps these ids apart from those of calls.
    const FIRST: u64 = 4_000_000_001;
    if view.dialect == Dialect::Accelerated { mark.saturating_add(FIRST) } else { mark }
}

/// The calls that are shown, and where.
pub(super) struct Calls {
    /// Rows of the table of calls.
    pub(super) rows: Vec<u32>,
    /// The lanes of those that don't fit into their thread's first one, by row.
    tracks: NumberMap<u32, u64>,
    /// How many lanes each thread has.
    threads: BTreeMap<u32, usize>,
    /// The text that the calls of a kind share.
    kinds: NumberMap<CallKind, SharedSlice>,
}

/// A kind of calls: all that differ in nothing but their times and objects.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CallKind {
    thread: u32,
    level: u16,
    kind: u32,
    /// The name's hash, where calls of a type have names of their own.
    name: u64,
}

impl CallKind {
    #[inline(always)]
    fn of(call: &Api) -> Self {
        // Collective operations are named by what they work on.
        let name = if call.level == level::COMMUNICATION { call.item } else { 0 };
        Self { thread: call.thread, level: call.level, kind: call.kind, name }
    }
}

impl Hash for CallKind {
    // In two steps instead of four: a hash is taken of each of millions of calls.
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { thread, level, kind, name } = *self;
        state.write_u64(name);
        state.write_u64(u64::from(thread) << 32 ^ u64::from(level) << 20 ^ u64::from(kind));
    }
}

/// Some of the calls, with what is found out about them on all cores.
#[derive(Default)]
struct SomeCalls {
    rows: Vec<u32>,
    /// Begins and ends as a viewer takes them.
    spans: Vec<(i64, i64)>,
    /// A call of each kind.
    examples: NumberMap<CallKind, Api>,
}

impl SomeCalls {
    /// Adds the shown ones of some rows.
    fn add(&mut self, view: &View<'_>, rows: Range<usize>) {
        for row in rows {
            let call = view.joined.data.host.api.row(row);
            if !view.shows_call(&call) {
                continue;
            }
            self.rows.push(row as u32);
            self.spans.push(seen(view.host_time(call.begin), view.host_time(call.end)));
            self.examples.entry(CallKind::of(&call)).or_insert(call);
        }
    }
}

impl Calls {
    pub(super) fn new(view: &View<'_>, lanes: &Lanes) -> Self {
        let api = &view.joined.data.host.api;
        let mut all = Self {
            rows: Vec::with_capacity(api.len()),
            tracks: NumberMap::default(),
            threads: BTreeMap::new(),
            kinds: NumberMap::default(),
        };
        let mut by_thread: NumberMap<u32, LanePacker<i64>> = NumberMap::default();
        parallel::row_parts(
            api.len(),
            |rows, part: &mut SomeCalls| part.add(view, rows),
            |part| {
                for (&row, span) in part.rows.iter().zip(part.spans.drain(..)) {
                    let track = by_thread.entry(api.thread()[row as usize]).or_default().place(span);
                    if track > 0 {
                        all.tracks.insert(row, track as u64);
                    }
                }
                all.rows.append(&mut part.rows);
                for (kind, call) in part.examples.drain() {
                    all.kinds.entry(kind).or_insert_with(|| shared_slice(view, lanes, &call));
                }
            },
        );
        all.threads = by_thread.into_iter().map(|(thread, tracks)| (thread, tracks.count())).collect();
        all
    }

    /// Names the lanes.
    pub(super) fn names(&self, lanes: &Lanes, events: &mut Events) {
        let libraries = self.libraries(lanes);
        lanes.name_layer(events, Layer::Cann, None, lanes.name_of(lanes::CALLS, &libraries));
        for (&thread, &tracks) in &self.threads {
            name_threads(lanes, events, Layer::Cann, thread, tracks);
        }
    }

    /// The libraries whose calls are shown: in 2022 each had a row of its name, with AscendCL's above.
    fn libraries(&self, lanes: &Lanes) -> String {
        let mut levels: Vec<u16> = self.kinds.keys().map(|kind| kind.level).collect();
        levels.sort_unstable();
        levels.dedup();
        let names: Vec<&str> =
            levels.into_iter().rev().map(|level| library(level, lanes.dialect())).collect();
        names.join(", ")
    }

    /// Writes the call with a number among the shown ones; `launches` tells by row whether an arrow
    /// leads from it to a device.
    pub(super) fn write(
        &self,
        view: &View<'_>,
        lanes: &Lanes,
        launches: &[bool],
        index: usize,
        events: &mut Events,
    ) {
        let row = self.rows[index];
        let call = view.joined.data.host.api.row(row as usize);
        let Some(shared) = self.kinds.get(&CallKind::of(&call)) else { return };
        let track = self.tracks.get(&row).copied().unwrap_or(0);
        let tid = u64::from(call.thread) + track * NEXT_TRACK;
        let (start, end) = (view.host_time(call.begin), view.host_time(call.end));
        let connection = u64::from(row) + 1;
        events.shared_slice(shared, tid, start, end.saturating_sub(start), |args| {
            item(view, &call, args);
            args.integer("connection_id", connection);
        });
        if launches.get(row as usize).copied().unwrap_or(false) {
            let lane = lanes.lane(Layer::Cann, None, tid);
            events.arrow("HostToDevice", "HostToDevice", connection << 32, lane, start, false);
        }
    }
}

/// The text that is the same for all calls of this one's kind.
fn shared_slice(view: &View<'_>, lanes: &Lanes, call: &Api) -> SharedSlice {
    let name = call_name(view, call);
    let kind = view.joined.data.host.names.type_name(call.level, call.kind).unwrap_or(name);
    let title = [library(call.level, view.dialect), "@", name];
    SharedSlice::new(title, lanes.pid(Layer::Cann, None), |args| {
        args.integer("Thread Id", call.thread)
            .text("Mode", mode(call, kind))
            .text("level", shown_level(call.level, view.dialect))
            .text("id", if call.level == level::ACL { name } else { "0" });
    })
}

fn name_threads(lanes: &Lanes, events: &mut Events, layer: Layer, thread: u32, tracks: usize) {
    for track in 0..tracks as u64 {
        let lane = lanes.lane(layer, None, u64::from(thread) + track * NEXT_TRACK);
        name_lane(events, lane, &format!("Thread {thread}"), u64::from(thread));
    }
}

/// The name of a layer of software; the accelerated reference has none for those that it doesn't know.
fn shown_level(number: u16, dialect: Dialect) -> &'static str {
    let is_known =
        matches!(number, level::ACL | level::MODEL | level::NODE | level::COMMUNICATION | level::RUNTIME);
    if is_known || dialect != Dialect::Accelerated { level_name(number) } else { "" }
}

/// The library behind a layer of software.
fn library(number: u16, dialect: Dialect) -> &'static str {
    match number {
        level::ACL => lanes::ACL,
        level::MODEL => "Model",
        level::NODE => "Node",
        level::COMMUNICATION => "Communication",
        level::RUNTIME => lanes::RUNTIME,
        _ if dialect == Dialect::Accelerated => "Api",
        other => level_name(other),
    }
}

/// The group of an AscendCL call; the kind of others.
fn mode<'a>(call: &Api, kind: &'a str) -> &'a str {
    match (call.level, call.kind >> 16) {
        (level::ACL, 1) => "ACL_OP",
        (level::ACL, 2) => "ACL_MODEL",
        (level::ACL, 3) => "ACL_RTS",
        (level::ACL, 4) => "ACL_OTHERS",
        (level::ACL, 5) => "ACL_NN",
        (level::ACL, 6) => "ACL_ASCENDC",
        (level::ACL, 7) => "HOST_HCCL",
        (level::ACL, 9) => "ACL_DVPP",
        (level::ACL, 10) => "ACL_GRAPH",
        (level::ACL, 11) => "ACL_ATB",
        _ => kind,
    }
}

/// The object of a call: a model's number, or a name if the dictionaries have it.
fn item(view: &View<'_>, call: &Api, args: &mut crate::timeline::event::Args<'_>) {
    // Most calls name nothing, which needs no look into the dictionaries.
    let is_name = call.item != 0 && call.level != level::MODEL;
    match Some(call.item).filter(|_| is_name).and_then(|item| view.joined.data.host.names.get(item)) {
        Some(name) => args.text("item_id", name),
        None => args.integer_text("item_id", call.item),
    };
}

/// Names the lanes of the program's ranges.
pub(super) fn name_ranges(view: &View<'_>, lanes: &Lanes, events: &mut Events) {
    let name = view.joined.data.profile.metadata().map_or("", |metadata| &metadata.info.process_name);
    lanes.name_layer(events, Layer::Program, None, lanes.name_of(name, lanes::RANGES_OF_2022));
    for (thread, tracks) in range_tracks(view).1 {
        name_threads(lanes, events, Layer::Program, thread, tracks);
    }
}

/// The lane of each range, and how many lanes each thread needs.
fn range_tracks(view: &View<'_>) -> (Vec<u64>, BTreeMap<u32, usize>) {
    let tx = &view.joined.data.host.tx;
    let mut by_thread: BTreeMap<u32, LanePacker<i64>> = BTreeMap::new();
    let place = |row: usize| {
        let (start, end) = (view.host_time(tx.start()[row]), view.host_time(tx.end()[row]));
        by_thread.entry(tx.thread()[row]).or_default().place(seen(start, end)) as u64
    };
    let tracks = (0..tx.len()).map(place).collect();
    (tracks, by_thread.into_iter().map(|(thread, tracks)| (thread, tracks.count())).collect())
}

/// Writes the program's ranges; without `all` only those of the chosen iterations. Where arrows are shown,
/// one begins at each mark, whether a device recorded it or not.
pub(super) fn ranges(view: &View<'_>, lanes: &Lanes, with_arrows: bool, all: bool, events: &mut Events) {
    let host = &view.joined.data.host;
    let (tracks, _) = range_tracks(view);
    for (tx, track) in host.tx.rows().zip(tracks) {
        let lane = lanes.lane(Layer::Program, None, u64::from(tx.thread) + track * NEXT_TRACK);
        let (start, end) = (view.host_time(tx.start), view.host_time(tx.end));
        if !all && !view.shows_span(start, end) {
            continue;
        }
        let message = host.messages.get(tx.message as usize).map_or("", String::as_str);
        events.slice([message], lane, start, end.saturating_sub(start), None, |args| {
            if tx.mstx {
                args.text("event_type", event_type(tx.event_type)).text("domain", view.text(tx.domain));
                return;
            }
            args.integer_text("Category", tx.category);
            args.integer("Payload_type", tx.payload_type).integer("Payload_value", tx.payload);
            args.integer("Message_type", tx.message_type).text("event_type", event_type(tx.event_type));
        });
        if tx.mstx && with_arrows {
            events.arrow("MsTx_", "MsTx", mark_arrow(view, tx.mark), lane, start, false);
        }
    }
}
