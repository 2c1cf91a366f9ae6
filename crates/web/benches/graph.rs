//! How long a graph takes to be laid out: 10,000 nodes a small part of the second and a half in which a page shows
//! them, and no graph hangs it.

use std::time::Instant;

use opscope_web::graph::layout::layered;

/// Nodes of a block: see [`blocks`].
const BLOCK: u32 = 12;

/// The longest that a layout may take, in seconds for each 10,000 nodes.
const LIMIT: f64 = 0.2;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let sizes: &[u32] = if quick { &[500] } else { &[1_000, 10_000, 50_000] };
    for &count in sizes {
        measure("blocks with edges round them", count, &blocks(count), quick);
        measure("one node that all others read", count, &star(count), quick);
        measure("a chain of which one node reads all", count, &comb(count), quick);
        measure("random links, with circles", count, &random(count), quick);
    }
}

fn measure(name: &str, count: u32, links: &[(u32, u32)], quick: bool) {
    let mut best = f64::INFINITY;
    for _ in 0..if quick { 1 } else { 5 } {
        let begun = Instant::now();
        let layout = layered(count as usize, links);
        best = best.min(begun.elapsed().as_secs_f64());
        assert_eq!(layout.places.len(), count as usize);
    }
    println!("{count:>6} nodes, {:>6} links: {:>6.1} ms ({name})", links.len(), best * 1e3);
    assert!(quick || best <= LIMIT * (f64::from(count) / 1e4).max(1.0), "too slow");
}

/// The graph by which other programs were measured: a chain, and in each block edges over 2, 3 and 6 nodes.
fn blocks(count: u32) -> Vec<(u32, u32)> {
    let mut links: Vec<(u32, u32)> = (1..count).map(|node| (node - 1, node)).collect();
    for first in (0..count.saturating_sub(BLOCK)).step_by(BLOCK as usize) {
        links.extend([(first, first + 6), (first + 6, first + 12), (first, first + 3), (first, first + 2)]);
    }
    links
}

fn star(count: u32) -> Vec<(u32, u32)> {
    (1..count).map(|node| (0, node)).collect()
}

fn comb(count: u32) -> Vec<(u32, u32)> {
    let chain = (1..count - 1).map(|node| (node - 1, node));
    chain.chain((0..count - 1).map(|node| (node, count - 1))).collect()
}

fn random(count: u32) -> Vec<(u32, u32)> {
    let mut numbers = fastrand::Rng::with_seed(5);
    let mut links: Vec<(u32, u32)> =
        (0..2 * count).map(|_| (numbers.u32(..count), numbers.u32(..count))).collect();
    links.retain(|(from, to)| from != to);
    links.sort_unstable();
    links.dedup();
    links
}
