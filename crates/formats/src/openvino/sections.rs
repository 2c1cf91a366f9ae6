//! Sections of counters, one for each infer request, on their way into the one mean inference that they tell.
//!
//! The engine keeps a running mean of each node over all inferences of a stream, and every request of the stream is
//! given the same: the sections of requests that share a stream don't differ in a digit. None of them is an inference,
//! and between two of them there is no scatter. So sections that are the same count once, and of the others there is
//! the mean, for nothing tells how many inferences each of them is of.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher as _;

use opscope_trace::{DeviceKind, ExecutionUnit, LossKind, Nanoseconds, Trace};

use super::exec_graph::ExecGraph;
use super::{FORMAT, is_executed};
use crate::layers::{Layer, Layers, MILLI, time};

/// A node as a row of a table or an object tells it.
pub(super) struct Node<'t> {
    pub name: &'t str,
    pub status: &'t str,
    pub op_type: &'t str,
    pub kernel: &'t str,
    pub real: &'t str,
    pub cpu: &'t str,
}

/// The time of a node in a section.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Ran {
    /// It didn't run by itself.
    No,
    For(Nanoseconds),
    /// The text is no time.
    Unreadable,
}

/// A row of a section.
#[derive(PartialEq, Eq, Hash)]
struct Row {
    name: String,
    op_type: String,
    kernel: String,
    ran: Ran,
    cpu: Option<Nanoseconds>,
}

/// A node of several sections.
#[derive(Default)]
struct Mean {
    name: String,
    op_type: String,
    kernel: String,
    /// The sum of its times, and of how many sections.
    real: (i128, i128),
    cpu: (i128, i128),
    not_run: i128,
    unreadable: u64,
}

impl Mean {
    fn add(&mut self, row: &Row) {
        match row.ran {
            Ran::No => self.not_run += 1,
            Ran::For(time) => self.real = (self.real.0 + i128::from(time.0), self.real.1 + 1),
            Ran::Unreadable => self.unreadable += 1,
        }
        if let Some(cpu) = row.cpu {
            self.cpu = (self.cpu.0 + i128::from(cpu.0), self.cpu.1 + 1);
        }
    }

    /// The mean over the sections that tell it, of which those where it didn't run count as none.
    fn of(&self, (sum, count): (i128, i128)) -> Option<Nanoseconds> {
        (count > 0).then(|| Nanoseconds((sum as f64 / (count + self.not_run) as f64).round() as i64))
    }
}

/// The mean of sections, each counted once.
#[derive(Default)]
struct Means {
    nodes: Vec<Mean>,
    /// By name, type, and how many of these came before in a section.
    places: HashMap<(String, String, u32), usize>,
    seen: HashSet<u64>,
    state: RandomState,
}

impl Means {
    fn add(&mut self, rows: &[Row]) {
        if rows.is_empty() || !self.seen.insert(self.state.hash_one(rows)) {
            return;
        }
        let mut before: HashMap<(&str, &str), u32> = HashMap::new();
        for row in rows {
            let nth = before.entry((&row.name, &row.op_type)).or_default();
            let key = (row.name.clone(), row.op_type.clone(), *nth);
            *nth += 1;
            let place = *self.places.entry(key).or_insert(self.nodes.len());
            if place == self.nodes.len() {
                let (name, op_type) = (row.name.clone(), row.op_type.clone());
                self.nodes.push(Mean { name, op_type, kernel: row.kernel.clone(), ..Mean::default() });
            }
            self.nodes[place].add(row);
        }
    }
}

/// The sections of a file.
#[derive(Default)]
pub(super) struct Sections {
    rows: Vec<Row>,
    is_whole: bool,
    whole: Means,
    /// The sections that break off, which tell of nodes in the absence of whole ones.
    open: Means,
    /// How many sections don't add up to their totals.
    off_totals: u64,
}

fn milliseconds(text: &str) -> Option<Nanoseconds> {
    text.parse::<f64>().ok().and_then(|value| time(value, MILLI))
}

impl Sections {
    /// Begins a section; the one before has ended.
    pub fn begin(&mut self) {
        let means = if self.is_whole { &mut self.whole } else { &mut self.open };
        means.add(&self.rows);
        self.rows.clear();
        self.is_whole = false;
    }

    /// Says that the section is all there.
    pub fn complete(&mut self) {
        self.is_whole = true;
    }

    /// Compares a section with the total that the file states for it, if it states one. Times and totals are rounded to
    /// microseconds, or cut to these.
    pub fn compare_with(&mut self, total: &str) {
        let Some(total) = milliseconds(total) else { return };
        let ran = |row: &Row| if let Ran::For(time) = row.ran { i128::from(time.0) } else { 0 };
        let sum: i128 = self.rows.iter().map(ran).sum();
        let rounded = (self.rows.len() as i128 + 1) * 1_000;
        self.off_totals += u64::from((sum - i128::from(total.0)).abs() > rounded);
    }

    /// Takes a node. One behind a section that is all there belongs to another, whether or not headings stand between.
    pub fn take(&mut self, node: &Node<'_>) {
        if self.is_whole {
            self.begin();
        }
        let of = milliseconds;
        let ran = match of(node.real) {
            Some(Nanoseconds(0)) if !is_executed(node.status) => Ran::No,
            Some(time) => Ran::For(time),
            None => Ran::Unreadable,
        };
        let [name, op_type, kernel] = [node.name, node.op_type, node.kernel].map(str::to_owned);
        self.rows.push(Row { name, op_type, kernel, ran, cpu: of(node.cpu) });
    }

    /// The names of all nodes.
    pub fn names(mut self) -> Vec<String> {
        self.begin();
        let nodes = self.whole.nodes.into_iter().chain(self.open.nodes);
        nodes.map(|node| node.name).collect()
    }

    /// The mean inference as a trace, to which `lost` adds its losses. With an executable graph of the same network,
    /// nodes know the layers that they were made of.
    pub fn into_trace(mut self, graph: Option<&ExecGraph>, lost: impl FnOnce(&mut Layers)) -> Trace {
        self.begin();
        let means = if self.whole.nodes.is_empty() { self.open } else { self.whole };
        let mut layers = Layers::new(FORMAT, DeviceKind::Other, ExecutionUnit::Other);
        layers.trace.run.are_means = true;
        if means.seen.len() > 1 {
            let count = means.seen.len();
            layers.trace.run.note = Some(format!(
                "{count} sections of the counters tell different means, and times are the means of these"
            ));
        }
        lost(&mut layers);
        layers.losses.count(LossKind::OffTotal, "a section of the counters", self.off_totals);
        layers.begin_inference();
        for (position, node) in means.nodes.iter().enumerate() {
            enter(&mut layers, node, u32::try_from(position).ok(), graph);
        }
        layers.finish()
    }
}

/// Enters a node; one that didn't run by itself is counted.
fn enter(layers: &mut Layers, node: &Mean, position: Option<u32>, graph: Option<&ExecGraph>) {
    let real = node.of(node.real);
    if real.is_none() && node.unreadable == 0 {
        layers.losses.count(LossKind::LayerNotRun, "nodes", 1);
        return;
    }
    let described = graph.and_then(|graph| graph.find(&node.name));
    if described.is_none() && graph.is_some() {
        layers.losses.count(LossKind::LayerNotDescribed, "nodes of the counters", 1);
    }
    let mut layer = described.cloned().unwrap_or_else(|| Layer {
        name: node.name.clone(),
        op_type: node.op_type.clone(),
        ..Layer::default()
    });
    layer.position = position;
    if layer.attributes.is_empty() {
        layer.attributes = vec![("kernel", node.kernel.clone())];
    }
    let operator = layers.operator(&layer);
    layers.losses.count(LossKind::LayerWithoutDuration, &node.name, node.unreadable);
    if real.is_some()
        && let Some(task) = layers.task(operator, real, &node.name)
    {
        let cpu = node.of(node.cpu).map(|cpu| cpu.as_micros());
        layers.measured(task, &[("cpu time", "us", cpu)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node<'t>(name: &'t str, real: &'t str) -> Node<'t> {
        let status = if real == "0.000" { "Status.NOT_RUN" } else { "Status.EXECUTED" };
        Node { name, status, op_type: "Convolution", kernel: "jit", real, cpu: real }
    }

    /// The durations of the sections' mean inference.
    fn durations(sections: &[(&[(&str, &str)], bool)]) -> Trace {
        let mut all = Sections::default();
        for (rows, is_whole) in sections {
            all.begin();
            rows.iter().for_each(|(name, real)| all.take(&node(name, real)));
            if *is_whole {
                all.complete();
            }
        }
        all.into_trace(None, |_| {})
    }

    #[test]
    fn sections_that_are_the_same_are_one_mean_inference() {
        let section: (&[_], _) = (&[("a", "1.250"), ("b", "0.000"), ("a", "0.750")], true);
        let trace = durations(&[section, section, section]);
        assert_eq!((trace.iterations.len(), trace.run.are_means), (1, true));
        assert_eq!(trace.tasks.duration(), [1_250_000, 750_000].map(Nanoseconds));
        assert_eq!(trace.losses.count(), [1], "a node that didn't run");
        assert_eq!(trace.run.note, None);
    }

    #[test]
    fn sections_of_several_streams_are_the_mean_of_them_and_say_so() {
        let (first, second): ((&[_], _), (&[_], _)) =
            ((&[("a", "1.000"), ("b", "0.000")], true), (&[("a", "2.000"), ("b", "0.500")], true));
        let trace = durations(&[first, first, second]);
        assert_eq!(trace.tasks.duration(), [1_500_000, 250_000].map(Nanoseconds));
        assert_eq!(trace.iterations.len(), 1);
        assert!(trace.run.note.is_some_and(|note| note.starts_with("2 sections")));
    }

    #[test]
    fn a_section_that_does_not_add_up_to_its_total_is_told() {
        let trace = |total: &str, times: usize| {
            let mut all = Sections::default();
            (0..times).for_each(|_| all.take(&node("a", "1.250")));
            all.take(&node("b", "0.000"));
            all.compare_with(total);
            all.complete();
            all.into_trace(None, |_| {})
        };
        let told = |trace: Trace| trace.losses.kind().contains(&LossKind::OffTotal);
        assert!(!told(trace("1.250", 1)) && !told(trace("1.251", 1)) && !told(trace("", 1)));
        assert!(told(trace("1.250", 2)) && told(trace("7.000", 1)));
    }

    #[test]
    fn nodes_behind_a_whole_section_are_another_section() {
        let mut all = Sections::default();
        for _ in 0..2 {
            all.take(&node("a", "1.250"));
            all.complete();
        }
        assert_eq!(all.into_trace(None, |_| {}).tasks.duration(), [1_250_000].map(Nanoseconds));
    }

    #[test]
    fn a_section_that_breaks_off_counts_only_where_none_is_whole() {
        let (whole, cut): ((&[_], _), (&[_], _)) =
            ((&[("a", "1.000"), ("b", "1.000")], true), (&[("a", "7.0")], false));
        assert_eq!(durations(&[whole, cut]).tasks.duration(), [1_000_000; 2].map(Nanoseconds));
        assert_eq!(durations(&[cut]).tasks.duration(), [7_000_000].map(Nanoseconds));
    }

    #[test]
    fn a_time_that_is_none_is_counted_and_the_others_stay() {
        let trace =
            durations(&[(&[("a", "1.000")], true), (&[("a", "nan")], true), (&[("a", "3.000")], true)]);
        assert_eq!(trace.tasks.duration(), [2_000_000].map(Nanoseconds));
        assert_eq!(trace.losses.count(), [1]);
    }
}
