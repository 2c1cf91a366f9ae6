//! Which nodes read each value, so that neither a value with many readers nor a node with many inputs costs
//! more than its share when one of them changes.

use std::collections::{BTreeSet, HashMap};

use super::{NodeIndex, Slot};

/// A place at which a node reads a value: one of its inputs, by position, or behind those what its subgraphs
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reading {
    pub node: NodeIndex,
    pub place: usize,
}

/// The readings of all values.
#[derive(Clone, Debug, Default)]
pub struct Readers {
    by_value: HashMap<String, BTreeSet<Reading>>,
    /// How many subgraphs read each value that any does.
    captured: HashMap<String, usize>,
}

static NONE: BTreeSet<Reading> = BTreeSet::new();

impl Readers {
    /// The readings of a value, by node and position.
    pub fn of(&self, value: &str) -> &BTreeSet<Reading> {
        self.by_value.get(value).unwrap_or(&NONE)
    }

    /// Whether anyone reads a value.
    pub fn are_there(&self, value: &str) -> bool {
        self.by_value.contains_key(value)
    }

    /// Whether a subgraph of a node reads a value.
    pub fn are_subgraphs(&self, value: &str) -> bool {
        self.captured.contains_key(value)
    }

    /// Notes what a node reads.
    pub fn enter(&mut self, node: NodeIndex, slot: &Slot) {
        for (place, name) in readings(slot) {
            self.by_value.entry(name.clone()).or_default().insert(Reading { node, place });
        }
        for name in &slot.captured {
            *self.captured.entry(name.clone()).or_default() += 1;
        }
    }

    /// Forgets what a node reads.
    pub fn leave(&mut self, node: NodeIndex, slot: &Slot) {
        for (place, name) in readings(slot) {
            if let Some(known) = self.by_value.get_mut(name) {
                known.remove(&Reading { node, place });
                if known.is_empty() {
                    self.by_value.remove(name);
                }
            }
        }
        for name in &slot.captured {
            if let Some(count) = self.captured.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.captured.remove(name);
                }
            }
        }
    }

    /// Makes all readings of one value readings of another, and gives them.
    pub fn hand_over(&mut self, from: &str, to: &str) -> BTreeSet<Reading> {
        let moved = self.by_value.remove(from).unwrap_or_default();
        if !moved.is_empty() {
            self.by_value.entry(to.to_owned()).or_default().extend(&moved);
        }
        moved
    }
}

/// The values that a node reads, by position.
fn readings(slot: &Slot) -> impl Iterator<Item = (usize, &String)> {
    let names = slot.proto.input.iter().chain(&slot.captured);
    names.enumerate().filter(|(_, name)| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::super::STEPS;
    use crate::testing::net;
    use crate::{ALL, rewrite};

    /// Nodes of one line each, and one that reads what all of them compute.
    fn joined(count: usize, line: impl Fn(usize) -> String) -> String {
        let names: Vec<String> = (0..count).map(|at| format!("a{at}")).collect();
        let lines: Vec<String> = (0..count).map(line).collect();
        format!("{}\ny = Concat({}) axis=0; output y", lines.join("\n"), names.join(", "))
    }

    fn alphas(at: usize) -> f64 {
        f64::from(u16::try_from(at).expect("a few nodes") + 1) / 65_536.0
    }

    #[test]
    fn a_graph_of_four_times_the_size_takes_about_four_times_the_steps() {
        type Graph = fn(usize) -> String;
        let input = "input x f32[4]";
        let graphs: [(&str, Graph); 10] = [
            ("a value with many readers", |n| {
                joined(n, |at| format!("a{at} = LeakyRelu(x) alpha={}", alphas(at)))
            }),
            ("equal nodes", |n| joined(n, |at| format!("a{at} = Sigmoid(x)"))),
            ("copies of one value", |n| {
                joined(n, |at| format!("i{at} = Identity(x)\na{at} = LeakyRelu(i{at}) alpha={}", alphas(at)))
            }),
            ("copies into one node", |n| {
                joined(n, |at| format!("i{at} = LeakyRelu(x) alpha={}\na{at} = Identity(i{at})", alphas(at)))
            }),
            ("parts of one value", |n| {
                joined(n, |at| format!("const c{at} i64[1] 0\na{at} = Gather(x, c{at}) axis=0\n"))
            }),
            ("concatenations in one", |n| {
                joined(n, |at| {
                    format!("i{at} = LeakyRelu(x) alpha={}\na{at} = Concat(i{at}, x) axis=0", alphas(at))
                })
            }),
            ("parts by one list of indices", |n| {
                let part = |at: usize| {
                    format!("i{at} = LeakyRelu(x) alpha={}\na{at} = Gather(i{at}, c)", alphas(at))
                };
                format!("const c i64[1] 0\n{}", joined(n, part))
            }),
            ("parts of one shape", |n| {
                let part = |at: usize| {
                    format!(
                        "const c{at} i64[1] 0\ng{at} = Gather(s, c{at})\nf{at} = Cast(g{at}) to=1\na{at} = Add(f{at}, x)"
                    )
                };
                format!("s = Shape(x)\n{}", joined(n, part))
            }),
            ("normalisations of one weight", |n| {
                let one = |at: usize| {
                    format!("c{at} = Conv(i{at}, w)\na{at} = BatchNormalization(c{at}, s, b, m, v)")
                };
                let inputs: Vec<String> =
                    (0..n).map(|at| format!("i{at} = LeakyRelu(image) alpha={}", alphas(at))).collect();
                let statistics =
                    "const s random[1]; const b random[1]; const m random[1]; const v positive[1]";
                format!(
                    "{statistics}; input image f32[1,1,2,2]; const w random[1,1,1,1]\n{}\n{}",
                    inputs.join("\n"),
                    joined(n, one)
                )
            }),
            ("a chain", |n| {
                let mut text = "a0 = Neg(x)\n".to_owned();
                for at in 1..n {
                    let operator = ["Abs", "Identity", "Neg"][at % 3];
                    writeln!(text, "a{at} = {operator}(a{})", at - 1).expect("a text takes everything");
                }
                format!("{text}y = Neg(a{}); output y", n - 1)
            }),
        ];
        for (name, graph) in graphs {
            let steps = |count: usize| {
                let model = net(&format!("{input}\n{}", graph(count)));
                let before = STEPS.get();
                rewrite(&model, ALL, None, true).unwrap_or_else(|error| panic!("{name}: {error}"));
                STEPS.get() - before
            };
            let (small, large) = (steps(200), steps(800));
            assert!(small > 200 && large < small * 5, "{name}: {small} steps, then {large}");
        }
    }
}
