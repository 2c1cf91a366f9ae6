//! Slices that were recorded as two events, their beginning and their end.

use std::collections::HashMap;

use opscope_trace::{LossKind, Nanoseconds, RangeKind};

use super::builder::{Builder, ChunkNames, Item};
use super::chunk::{Chunk, Edge, Match};
use super::lanes::{LaneId, Lanes};

/// The mark by which both ends of a slice find each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Lane(LaneId),
    Id(u64),
}

/// An end with its place: the chunk and the key by which it finds the other end.
#[derive(Clone, Copy)]
struct Placed {
    chunk: usize,
    key: Key,
    edge: Edge,
}

/// Matches beginnings with ends: on a thread they nest, so an end closes what began last; elsewhere
/// an id tells what belongs together. A pair tied by an id is a range; `slice` makes a row of
/// any other.
pub(super) fn match_edges<'a>(
    builder: &mut Builder<'a>,
    chunks: &[Chunk<'a>],
    lanes: &Lanes<'a>,
    mut slice: impl FnMut(&mut Builder<'a>, &Item<'a>),
) {
    let mut edges = placed(chunks, lanes);
    if edges.is_empty() {
        return;
    }
    if !is_in_order(&edges) {
        edges.sort_by_key(|placed| placed.edge.head.time);
    }
    let mut names: Vec<ChunkNames> = chunks.iter().map(ChunkNames::new).collect();
    let mut open: HashMap<Key, Vec<Placed>> = HashMap::new();
    for end in edges {
        if end.edge.begins {
            open.entry(end.key).or_default().push(end);
            continue;
        }
        let Some(begin) = open.get_mut(&end.key).and_then(Vec::pop) else {
            builder.problems.count_all(LossKind::EndWithoutBeginning, 1);
            continue;
        };
        let Some(duration) = end.edge.head.time.checked_sub(begin.edge.head.time) else {
            builder.problems.count_all(LossKind::EventTimeTooLarge, 1);
            continue;
        };
        let mut item_of = |placed: Placed, builder: &mut Builder<'a>| {
            let (chunk, lanes) = (&chunks[placed.chunk], &lanes.of_chunks[placed.chunk]);
            names[placed.chunk].item(builder, chunk, lanes, &placed.edge.head, duration)
        };
        let mut item = item_of(begin, builder);
        if begin.edge.head.details.0 == 0 && end.edge.head.details.0 != 0 {
            // Some writers know the arguments only when the slice ends.
            let Item { details, kind, word, signature, .. } = item_of(end, builder);
            item = Item { details, kind, word, signature, ..item };
        }
        match end.key {
            Key::Lane(_) => slice(builder, &item),
            Key::Id(_) => drop(builder.range(&item, RangeKind::StartStop, item.category)),
        }
    }
    let unmatched: usize = open.values().map(Vec::len).sum();
    builder.problems.count_all(LossKind::BeginningWithoutEnd, unmatched as u64);
}

fn placed<'a>(chunks: &[Chunk<'a>], lanes: &Lanes<'a>) -> Vec<Placed> {
    let mut placed = Vec::with_capacity(chunks.iter().map(|chunk| chunk.edges.len()).sum());
    for (index, chunk) in chunks.iter().enumerate() {
        placed.extend(chunk.edges.iter().map(|&edge| {
            let key = match edge.by {
                Match::Thread => Key::Lane(lanes.of_chunks[index][edge.head.lane.0 as usize]),
                Match::Id(id) => Key::Id(id),
            };
            Placed { chunk: index, key, edge }
        }));
    }
    placed
}

/// Whether the ends that belong together come in the order of time.
fn is_in_order(edges: &[Placed]) -> bool {
    let mut last: HashMap<Key, Nanoseconds> = HashMap::new();
    edges.iter().all(|placed| {
        let time = Nanoseconds(placed.edge.head.time);
        last.insert(placed.key, time).is_none_or(|before| before <= time)
    })
}
