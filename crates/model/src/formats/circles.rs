//! Circles among the operators of a file: operators that wait for one another, so that none of them could run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::assembly::{Told, shortened};
use crate::proto::NodeProto;

/// Circles that are sought one by one; in a file with more, whatever waits at all loses what it waits for.
const MOST_SOUGHT: usize = 1_000;

/// Takes from operators the inputs that close circles; of a circle, those of the operator that the file has first.
/// Returns what was taken, and hands the name of each value over.
pub(super) fn open(nodes: &mut [NodeProto], mut note: impl FnMut(String)) -> Told {
    let mut taken = Told::default();
    let mut order = Order::of(nodes);
    let mut sought = 0;
    loop {
        order.run();
        let Some(stuck) = order.first_waiting() else { return taken };
        sought += 1;
        let circle = if sought > MOST_SOUGHT { Vec::new() } else { order.circle(stuck) };
        let at = circle.iter().copied().min().unwrap_or(stuck);
        let closes = |producer: usize| circle.is_empty() || circle.contains(&producer);
        let waits_for: Vec<(usize, usize)> = order.producers[at].clone();
        for (input, producer) in waits_for {
            if !order.is_done[producer] && closes(producer) {
                let node = &mut nodes[at];
                let name = std::mem::take(&mut node.input[input]);
                taken.add(|| format!("{} of {}", shortened(&name), shortened(node.name())));
                note(name);
                order.forget(at, input);
            }
        }
    }
}

/// An order in which operators can run, as far as it was found.
struct Order {
    /// Of each operator the inputs that others compute, and those others.
    producers: Vec<Vec<(usize, usize)>>,
    waiters: Vec<Vec<usize>>,
    waiting_for: Vec<usize>,
    is_done: Vec<bool>,
    ready: BinaryHeap<Reverse<usize>>,
    /// No operator before this one waits.
    from: usize,
}

impl Order {
    fn of(nodes: &[NodeProto]) -> Self {
        let mut makers: HashMap<&str, usize> = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            let named = node.output.iter().filter(|output| !output.is_empty());
            makers.extend(named.map(|output| (output.as_str(), place)));
        }
        let (mut producers, mut waiters) = (Vec::new(), vec![Vec::new(); nodes.len()]);
        for (place, node) in nodes.iter().enumerate() {
            let inputs = node.input.iter().enumerate();
            let of_node: Vec<(usize, usize)> =
                inputs.filter_map(|(input, name)| Some((input, *makers.get(name.as_str())?))).collect();
            of_node.iter().for_each(|(_, producer)| waiters[*producer].push(place));
            producers.push(of_node);
        }
        let waiting_for: Vec<usize> = producers.iter().map(Vec::len).collect();
        let ready = waiting_for.iter().enumerate().filter(|(_, count)| **count == 0);
        let ready = ready.map(|(place, _)| Reverse(place)).collect();
        Self { waiters, is_done: vec![false; waiting_for.len()], waiting_for, producers, ready, from: 0 }
    }

    /// Runs whatever can run.
    fn run(&mut self) {
        while let Some(Reverse(place)) = self.ready.pop() {
            self.is_done[place] = true;
            for waiter in std::mem::take(&mut self.waiters[place]) {
                // An input that was taken is no longer among those of its operator.
                if self.producers[waiter].iter().any(|(_, producer)| *producer == place) {
                    self.count_down(waiter);
                }
            }
        }
    }

    fn count_down(&mut self, place: usize) {
        self.waiting_for[place] = self.waiting_for[place].saturating_sub(1);
        if self.waiting_for[place] == 0 && !self.is_done[place] {
            self.ready.push(Reverse(place));
        }
    }

    /// Takes an input from an operator.
    fn forget(&mut self, place: usize, input: usize) {
        self.producers[place].retain(|(other, _)| *other != input);
        self.count_down(place);
    }

    fn first_waiting(&mut self) -> Option<usize> {
        self.from += self.is_done[self.from..].iter().take_while(|done| **done).count();
        (self.from < self.is_done.len()).then_some(self.from)
    }

    /// The circle that an operator waits for, or is in: back through what it waits for until one comes again.
    fn circle(&self, from: usize) -> Vec<usize> {
        let (mut path, mut places) = (Vec::new(), HashMap::new());
        let mut next = Some(from);
        while let Some(at) = next {
            if let Some(start) = places.insert(at, path.len()) {
                path.drain(..start);
                return path;
            }
            path.push(at);
            let waits_for = self.producers[at].iter().map(|(_, producer)| *producer);
            next = waits_for.filter(|producer| !self.is_done[*producer]).min();
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn node(name: &str, inputs: &[String]) -> NodeProto {
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        NodeProto { name: Some(name.to_owned()), ..crate::testing::node("x:Op", &inputs, &[name]) }
    }

    fn nodes(inputs: &[&[&str]]) -> Vec<NodeProto> {
        let texts = |names: &&[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        inputs.iter().enumerate().map(|(place, names)| node(&format!("n{place}"), &texts(names))).collect()
    }

    #[test]
    fn the_first_of_a_circle_loses_the_input_that_closes_it_and_nobody_else_anything() {
        // n0 is behind the circle of n1 and n2; n3 waits for itself.
        let mut graph = nodes(&[&["n2"], &["x", "n2"], &["n1"], &["n3", "n0"]]);
        let mut names = Vec::new();
        let taken = open(&mut graph, |name| names.push(name));
        let inputs: Vec<&[String]> = graph.iter().map(|node| &node.input[..]).collect();
        assert_eq!(inputs, [&["n2"][..], &["x", ""], &["n1"], &["", "n0"]]);
        assert_eq!(taken.sentence("{} were taken: {}").as_deref(), Some("2 were taken: n2 of n1, n3 of n3"));
        assert_eq!(names, ["n2", "n3"]);
    }

    proptest! {
        /// In the end all can run, however they wait for one another, and a graph without circles stays as it is.
        #[test]
        fn no_circle_is_left(edges in proptest::collection::vec((0_usize..8, 0_usize..8), 0..30)) {
            let mut inputs: Vec<Vec<String>> = vec![Vec::new(); 8];
            edges.iter().for_each(|(from, to)| inputs[*to].push(format!("n{from}")));
            let mut graph: Vec<NodeProto> =
                inputs.iter().enumerate().map(|(place, names)| node(&format!("n{place}"), names)).collect();
            let before = graph.clone();
            let told = open(&mut graph, |_| {}).sentence("{} taken: {}");
            let mut order = Order::of(&graph);
            order.run();
            prop_assert!(order.first_waiting().is_none());
            if edges.iter().all(|(from, to)| from < to) {
                prop_assert!(told.is_none() && graph == before);
            }
        }
    }
}
