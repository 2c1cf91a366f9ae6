//! Places for the nodes of a graph: ranks from top to bottom, columns from left to right.
//!
//! In the way of Sugiyama, Tagawa and Toda (1981): links that would go up are turned, every node stands below all
//! that it reads, and sweeps of barycentres bring nodes near to their neighbours. Places are whole numbers, so that
//! nothing overlaps whatever the sizes of what stands there: a scope that is unfolded makes its rank taller and its
//! column wider, and no node needs another place. Links over several ranks run in lanes between columns. All of it
//! takes time in proportion to nodes and links, but for sorting, and the same graph has the same places always.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Nodes of a rank from which on it becomes several, so that a value with 30,000 users can be looked at.
const WIDEST: usize = 48;

/// Lanes between two columns; of more links, several share one.
const LANES: usize = 6;

/// Sweeps down and up again.
const SWEEPS: usize = 4;

/// Height of a list in columns over the square root of its length, by which it is about as wide as a screen.
const TALL: f64 = 1.44;

/// The place of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its rank, from the top.
    pub rank: u32,
    /// Its column, from the left.
    pub column: u32,
}

/// The way of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Whether it goes up, because its nodes wait for one another in a circle.
    pub is_back: bool,
    /// The column on whose left it runs, and its lane there, where it goes over other ranks.
    pub lane: Option<(u32, u8)>,
}

/// The places of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// That of each node.
    pub places: Vec<Place>,
    /// That of each link.
    pub ways: Vec<Way>,
}

/// Nodes one after another, from top to bottom, in as many columns as make a screen.
pub fn in_columns(count: usize) -> Vec<Place> {
    let height = ((count as f64).sqrt() * TALL).ceil().max(12.0) as usize;
    (0..count).map(|node| Place { rank: (node % height) as u32, column: (node / height) as u32 }).collect()
}

/// Nodes beside one another, in as many ranks as are needed.
pub fn side_by_side(count: usize) -> Vec<Place> {
    (0..count).map(|node| Place { rank: (node / WIDEST) as u32, column: (node % WIDEST) as u32 }).collect()
}

/// Lays out a graph. Links are pairs of different nodes below `count`, each once.
pub fn layered(count: usize, links: &[(u32, u32)]) -> Layout {
    let (order, is_back) = turned(count, links);
    let forward: Vec<(u32, u32)> =
        links.iter().zip(&is_back).filter(|(_, back)| !**back).map(|(&link, _)| link).collect();
    let readers = Neighbours::of(count, forward.iter().copied());
    let sources = Neighbours::of(count, forward.iter().map(|&(from, to)| (to, from)));
    let mut is_linked = vec![false; count];
    for &(from, to) in links {
        is_linked[from as usize] = true;
        is_linked[to as usize] = true;
    }
    let rank = ranks(&order, &readers, &sources);
    let mut ranks = vec![Vec::new(); rank.iter().max().map_or(0, |&last| last as usize + 1)];
    for &node in order.iter().filter(|&&node| is_linked[node as usize]) {
        ranks[rank[node as usize] as usize].push(node);
    }
    let x = sweep(&mut ranks, &rank, &readers, &sources);
    let mut places = placed(count, &ranks, &x);
    place_loose(&mut places, &is_linked);
    let ways = ways(links, &is_back, &places);
    Layout { places, ways }
}

/// Nodes next to each node, by one direction of the links.
struct Neighbours {
    first: Vec<u32>,
    nodes: Vec<u32>,
}

impl Neighbours {
    fn of(count: usize, links: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut first = vec![0; count + 1];
        links.clone().for_each(|(node, _)| first[node as usize + 1] += 1);
        for node in 0..count {
            first[node + 1] += first[node];
        }
        let (mut next, mut nodes) = (first.clone(), vec![0; first[count] as usize]);
        for (node, other) in links {
            nodes[next[node as usize] as usize] = other;
            next[node as usize] += 1;
        }
        Self { first, nodes }
    }

    fn get(&self, node: u32) -> &[u32] {
        &self.nodes[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// An order in which nearly all links lead from earlier to later nodes, and which of them don't. Of nodes that
/// wait for one another the first comes first.
pub(super) fn turned(count: usize, links: &[(u32, u32)]) -> (Vec<u32>, Vec<bool>) {
    let readers = Neighbours::of(count, links.iter().copied());
    let mut waits_for = vec![0_u32; count];
    links.iter().for_each(|&(_, to)| waits_for[to as usize] += 1);
    let mut ready: BinaryHeap<Reverse<u32>> =
        (0..count as u32).filter(|&node| waits_for[node as usize] == 0).map(Reverse).collect();
    let (mut order, mut position) = (Vec::with_capacity(count), vec![u32::MAX; count]);
    let mut lowest = 0;
    while order.len() < count {
        let node = ready.pop().map_or_else(
            || {
                while position[lowest] != u32::MAX {
                    lowest += 1;
                }
                lowest as u32
            },
            |Reverse(node)| node,
        );
        if position[node as usize] != u32::MAX {
            continue;
        }
        position[node as usize] = order.len() as u32;
        order.push(node);
        for &reader in readers.get(node) {
            waits_for[reader as usize] -= 1;
            if waits_for[reader as usize] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    let is_back = links.iter().map(|&(from, to)| position[from as usize] >= position[to as usize]).collect();
    (order, is_back)
}

/// The rank of each node: below all that it reads, and where it reads nothing just above its first reader.
fn ranks(order: &[u32], readers: &Neighbours, sources: &Neighbours) -> Vec<u32> {
    let mut rank = vec![0_u32; order.len()];
    for &node in order {
        for &reader in readers.get(node) {
            rank[reader as usize] = rank[reader as usize].max(rank[node as usize] + 1);
        }
    }
    for &node in order.iter().filter(|&&node| sources.get(node).is_empty()) {
        if let Some(first) = readers.get(node).iter().map(|&reader| rank[reader as usize]).min() {
            rank[node as usize] = first - 1;
        }
    }
    rank
}

/// Orders each rank by where its nodes' neighbours stand, down and up several times; where each node would best
/// stand, at least one apart within a rank.
fn sweep(ranks: &mut [Vec<u32>], rank: &[u32], readers: &Neighbours, sources: &Neighbours) -> Vec<f64> {
    let mut x = vec![0.0; rank.len()];
    for nodes in &*ranks {
        let middle = (nodes.len() as f64 - 1.0) / 2.0;
        nodes.iter().enumerate().for_each(|(at, &node)| x[node as usize] = at as f64 - middle);
    }
    let last = ranks.len();
    for pass in 0..2 * SWEEPS + 1 {
        let goes_down = pass % 2 == 0;
        let neighbours = if goes_down { sources } else { readers };
        for step in 0..last {
            let at = if goes_down { step } else { last - 1 - step };
            let mut wanted: Vec<(f64, u32)> =
                ranks[at].iter().map(|&node| (wish(node, rank, neighbours, &x), node)).collect();
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let spread = spread(&wanted);
            for (place, (&(_, node), to)) in wanted.iter().zip(spread).enumerate() {
                ranks[at][place] = node;
                x[node as usize] = to;
            }
        }
    }
    x
}

/// The middle of a node's neighbours: of those in the next rank if there are any, so that links over several ranks
/// don't bend a straight chain.
fn wish(node: u32, rank: &[u32], neighbours: &Neighbours, x: &[f64]) -> f64 {
    let all = neighbours.get(node);
    let near = |&&other: &&u32| rank[node as usize].abs_diff(rank[other as usize]) == 1;
    let mean = |sum: f64, count: usize| (count > 0).then(|| sum / count as f64);
    let of = |nodes: &mut dyn Iterator<Item = &u32>| {
        let (sum, count) = nodes.fold((0.0, 0), |(sum, count), &other| (sum + x[other as usize], count + 1));
        mean(sum, count)
    };
    of(&mut all.iter().filter(near)).or_else(|| of(&mut all.iter())).unwrap_or(x[node as usize])
}

/// Places at least one apart in the given order, nearest to those wanted by the sum of squares: neighbours that
/// want to stand too near are pooled and stand about their mean.
fn spread(wanted: &[(f64, u32)]) -> impl Iterator<Item = f64> + use<> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (at, &(want, _)) in wanted.iter().enumerate() {
        pools.push((want - at as f64, 1));
        while let [.., (before, many), (sum, few)] = pools[..]
            && before / many as f64 > sum / few as f64
        {
            pools.pop();
            *pools.last_mut().expect("two pools") = (before + sum, many + few);
        }
    }
    let means = pools.into_iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / count as f64, count));
    means.enumerate().map(|(at, mean)| mean + at as f64)
}

/// Whole columns, of which none is empty; ranks that are too wide become several.
fn placed(count: usize, ranks: &[Vec<u32>], x: &[f64]) -> Vec<Place> {
    let mut at = Vec::with_capacity(count);
    let mut rank = 0;
    for nodes in ranks {
        let middle = nodes.iter().map(|&node| x[node as usize]).sum::<f64>() / nodes.len().max(1) as f64;
        let wraps = nodes.len() > WIDEST;
        for (place, &node) in nodes.iter().enumerate() {
            let column = match wraps {
                true => middle.round() as i64 + (place % WIDEST) as i64 - WIDEST as i64 / 2,
                false => (x[node as usize] + 0.5).floor() as i64,
            };
            at.push((node, rank + (place / WIDEST) as u32, column));
        }
        rank += nodes.len().div_ceil(WIDEST) as u32;
    }
    let mut columns: Vec<i64> = at.iter().map(|&(_, _, column)| column).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut places = vec![Place::default(); count];
    for (node, rank, column) in at {
        let column = columns.binary_search(&column).expect("a column that is there") as u32;
        places[node as usize] = Place { rank, column };
    }
    places
}

/// Places nodes without links below the others, in rows.
fn place_loose(places: &mut [Place], is_linked: &[bool]) {
    let loose: Vec<usize> = (0..places.len()).filter(|&node| !is_linked[node]).collect();
    let linked = (0..places.len()).filter(|&node| is_linked[node]);
    let below = linked.map(|node| places[node].rank + 1).max().unwrap_or(0);
    // A few, such as the parts of a fused operator of which no link is known, stand below one another.
    let width = if loose.len() < 7 { 1 } else { ((loose.len() as f64).sqrt().ceil() as usize).min(WIDEST) };
    for (at, node) in loose.into_iter().enumerate() {
        places[node] = Place { rank: below + (at / width) as u32, column: (at % width) as u32 };
    }
}

/// The way of each link: those that pass other ranks share lanes only where there are too few, or where they come
/// from the same node.
fn ways(links: &[(u32, u32)], is_back: &[bool], places: &[Place]) -> Vec<Way> {
    // By gutter, first rank and node that they come from: the rank at which the last of them ends.
    let mut strips: BTreeMap<(u32, u32, u32), u32> = BTreeMap::new();
    let strip_of = |&(from, to): &(u32, u32), is_back: bool| {
        let (a, b) = (places[from as usize], places[to as usize]);
        let (top, bottom) = (a.rank.min(b.rank), a.rank.max(b.rank));
        let gutter = if b.column < a.column && !is_back {
            a.column
        } else {
            a.column.max(b.column * u32::from(is_back)) + 1
        };
        (is_back || bottom > top + 1).then_some(((gutter, top, from), bottom))
    };
    for (link, &is_back) in links.iter().zip(is_back) {
        if let Some((strip, bottom)) = strip_of(link, is_back) {
            let end = strips.entry(strip).or_insert(bottom);
            *end = bottom.max(*end);
        }
    }
    let mut lanes: BTreeMap<(u32, u32, u32), u8> = BTreeMap::new();
    let (mut gutter, mut ends) = (u32::MAX, [0; LANES]);
    for (&strip, &bottom) in &strips {
        if strip.0 != gutter {
            (gutter, ends) = (strip.0, [0; LANES]);
        }
        let free = (0..LANES).find(|&lane| ends[lane] <= strip.1);
        let lane = free.unwrap_or_else(|| (0..LANES).min_by_key(|&lane| ends[lane]).unwrap_or(0));
        ends[lane] = bottom.max(ends[lane]);
        lanes.insert(strip, lane as u8);
    }
    let way = |(link, &is_back): (&(u32, u32), &bool)| Way {
        is_back,
        lane: strip_of(link, is_back).map(|(strip, _)| (strip.0, lanes[&strip])),
    };
    links.iter().zip(is_back).map(way).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Links of different nodes, each once.
    fn distinct(mut links: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
        links.retain(|(from, to)| from != to);
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Asserts everything that holds of any graph's places.
    fn check(count: usize, links: &[(u32, u32)]) -> Layout {
        let layout = layered(count, links);
        assert_eq!((layout.places.len(), layout.ways.len()), (count, links.len()));
        let mut taken: Vec<(u32, u32)> = layout.places.iter().map(|at| (at.rank, at.column)).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), count, "two nodes stand at one place");
        for (&(from, to), way) in links.iter().zip(&layout.ways) {
            let (from, to) = (layout.places[from as usize].rank, layout.places[to as usize].rank);
            assert!(way.is_back || from < to, "a link goes up and isn't marked");
            assert!(way.lane.is_some() || (!way.is_back && to == from + 1), "a link goes through a node");
        }
        assert_eq!(layout, layered(count, links), "the same graph lies otherwise");
        layout
    }

    #[test]
    fn a_chain_is_straight_and_what_skips_nodes_runs_beside_it() {
        let layout = check(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (0, 3)]);
        assert!(layout.places.iter().enumerate().all(|(node, at)| (at.rank, at.column) == (node as u32, 0)));
        assert_eq!(layout.ways[4].lane, Some((1, 0)));
    }

    #[test]
    fn a_node_that_reads_nothing_stands_just_above_its_first_reader() {
        let layout = check(5, &[(0, 1), (1, 2), (2, 3), (4, 3)]);
        assert_eq!(layout.places[4].rank, 2);
    }

    #[test]
    fn links_of_a_circle_go_up_and_say_so() {
        let links = [(0, 1), (1, 2), (2, 0), (2, 3)];
        let layout = check(4, &links);
        let back: Vec<usize> = (0..links.len()).filter(|&link| layout.ways[link].is_back).collect();
        assert_eq!(back, [2]);
    }

    #[test]
    fn parallel_branches_of_a_block_keep_to_their_columns() {
        // Two branches of three nodes each between a begin and an end.
        let layout = check(8, &[(0, 1), (1, 2), (2, 3), (3, 7), (0, 4), (4, 5), (5, 6), (6, 7)]);
        for branch in [[1, 2, 3], [4, 5, 6]] {
            let columns: Vec<u32> = branch.iter().map(|&node| layout.places[node].column).collect();
            assert!(columns.windows(2).all(|pair| pair[0] == pair[1]), "{columns:?}");
        }
    }

    #[test]
    fn a_node_with_thirty_thousand_readers_makes_a_picture_that_fits_a_screen() {
        let links: Vec<(u32, u32)> = (1..=30_000).map(|node| (0, node)).collect();
        let star = check(30_001, &links);
        assert!(star.places.iter().all(|at| at.column < 2 * WIDEST as u32));
        // The same with a chain of the readers, so that all but the first link run in lanes; and all into one.
        let chain = (1..30_000).map(|node| (node, node + 1));
        check(30_001, &distinct(links.iter().copied().chain(chain.clone()).collect()));
        check(30_002, &distinct(chain.clone().chain((1..30_000).map(|node| (node, 30_001))).collect()));
        check(30_001, &chain.chain([(30_000, 1)]).collect::<Vec<_>>());
        assert!(check(5_000, &[]).places.iter().all(|at| at.column < WIDEST as u32));
    }

    #[test]
    fn a_list_goes_down_its_columns() {
        let places = in_columns(1000);
        assert_eq!((places[0], places[1]), (Place::default(), Place { rank: 1, column: 0 }));
        let (tall, wide) = (places.iter().map(|at| at.rank).max(), places.iter().map(|at| at.column).max());
        assert_eq!((tall, wide), (Some(45), Some(21)));
    }

    proptest! {
        #[test]
        fn any_graph_has_a_place_for_each_node_and_no_unmarked_link_upwards(
            count in 1_u32..60,
            links in prop::collection::vec((0_u32..60, 0_u32..60), 0..200),
        ) {
            let links = links.into_iter().map(|(from, to)| (from % count, to % count)).collect();
            check(count as usize, &distinct(links));
        }
    }
}
