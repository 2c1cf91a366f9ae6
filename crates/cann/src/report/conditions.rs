//! Which conditions hold for which operators.

use std::collections::HashSet;
use std::ops::Range;

use crate::facts::spans::{Spans, extend};
use crate::facts::view::{DeviceView, TaskRef, View};
use crate::join::HostTask;
use crate::kinds::{NodeTaskType, OpUnit};
use crate::parallel;
use crate::report::ratios::{RatioMetrics, Ratios};
use crate::tables::HostTaskRow;
use opscope_trace::NumberMap;

/// Conditions, a bit each.
pub(super) mod condition {
    pub(in crate::report) const FEWER_BLOCKS_THAN_CORES: u32 = 1 << 0;
    pub(in crate::report) const CUBE_WORKS: u32 = 1 << 1;
    pub(in crate::report) const TRANS_DATA: u32 = 1 << 2;
    pub(in crate::report) const WORKSPACE: u32 = 1 << 3;
    pub(in crate::report) const LONG_WAIT: u32 = 1 << 4;
    pub(in crate::report) const AI_CPU: u32 = 1 << 5;
    pub(in crate::report) const MEMORY_BOUND: u32 = 1 << 6;
    pub(in crate::report) const VECTOR_BOUND: u32 = 1 << 7;
    pub(in crate::report) const VECTOR_LOW: u32 = 1 << 8;
    pub(in crate::report) const VECTOR_HIGH: u32 = 1 << 9;
    pub(in crate::report) const CUBE_LOW: u32 = 1 << 10;
    pub(in crate::report) const SCALAR_HIGH: u32 = 1 << 11;
    pub(in crate::report) const BANK_GROUP_CONFLICTS: u32 = 1 << 12;
    pub(in crate::report) const BANK_CONFLICTS: u32 = 1 << 13;
    pub(in crate::report) const LONG: u32 = 1 << 14;
    pub(in crate::report) const INT64_INPUT: u32 = 1 << 15;
    pub(in crate::report) const STRIDED_SLICE_GRAD: u32 = 1 << 16;
}

/// An operator is long from here on, in nanoseconds.
const LONG: f64 = 20_000.0;
/// A wait is long from here on, in nanoseconds.
const LONG_WAIT: f64 = 10_000.0;
/// A unit is well used from here on.
const WELL_USED: f64 = 0.8;
/// The share of cycles from which on conflicts in memory banks matter.
const CONFLICTS: f64 = 0.04;

/// Times of runs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Times {
    pub(super) duration: f64,
    pub(super) wait: f64,
}

/// One run of an operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The operator's name, hashed.
    pub(super) name: u64,
    /// The conditions that hold for the operator itself.
    pub(super) fixed: u32,
    /// The host task: runs of one launch are one operator that is executed again.
    pub(super) launch: HostTaskRow,
    /// Begin and end; wall-clock nanoseconds.
    pub(super) span: (i64, i64),
    pub(super) times: Times,
    pub(super) ratios: Ratios,
}

/// The operators of one device, with the conditions that hold for them.
#[derive(Debug, Default)]
pub(super) struct Operators {
    /// Names, hashed, in the order of their first run.
    pub(super) names: Vec<u64>,
    /// The conditions that hold, by name.
    pub(super) holding: NumberMap<u64, u32>,
    /// The times of runs for which a condition holds, by the condition's bit.
    pub(super) times: [Times; 32],
    /// The times of all runs.
    pub(super) all: Times,
    /// The times of runs by the unit that was busy longest: cube, vector, scalar, moves.
    pub(super) by_bound: [f64; 4],
    /// When the AI cores, and when the AI CPU, executed operators, without overlaps.
    pub(super) busy: [Spans; 2],
    /// The launches of conversions of layouts.
    conversions: HashSet<HostTaskRow>,
}

impl Operators {
    /// Looks at all runs of a device's operators, given in the order of their start.
    pub(super) fn new(view: &View<'_>, tasks: &[TaskRef]) -> Self {
        let Some(&first) = tasks.first() else { return Self::default() };
        let looker = Looker::new(view, view.device(first));
        let look = |rows: Range<usize>, part: &mut Self| {
            let mut known = NumberMap::default();
            for index in rows {
                let previous = index.checked_sub(1).map(|previous| tasks[previous]);
                if let Some(run) = looker.run(tasks[index], previous, &mut known) {
                    part.add(run);
                }
            }
        };
        let mut whole = Self::default();
        parallel::row_parts(tasks.len(), look, |part| whole.append(std::mem::take(part)));
        whole
    }

    /// Takes in one run.
    pub(super) fn add(&mut self, run: Run) {
        let holding = run.fixed | of_times(run.times) | of_ratios(&run.ratios);
        self.hold(run.name, holding);
        self.all = self.all + run.times;
        let mut bits = holding;
        while bits != 0 {
            let bit = bits.trailing_zeros() as usize;
            self.times[bit] = self.times[bit] + run.times;
            bits &= bits - 1;
        }
        if run.fixed & condition::TRANS_DATA != 0 {
            self.conversions.insert(run.launch);
        }
        if let Some(bound) = run.ratios.bound() {
            self.by_bound[bound] += run.times.duration;
        }
        extend(&mut self.busy[usize::from(run.fixed & condition::AI_CPU != 0)], run.span);
    }

    fn hold(&mut self, name: u64, holding: u32) {
        match self.holding.get_mut(&name) {
            Some(known) => *known |= holding,
            None => {
                self.holding.insert(name, holding);
                self.names.push(name);
            }
        }
    }

    /// Takes in the runs that follow.
    fn append(&mut self, next: Self) {
        for name in next.names {
            self.hold(name, next.holding.get(&name).copied().unwrap_or(0));
        }
        self.times.iter_mut().zip(next.times).for_each(|(sum, times)| *sum = *sum + times);
        self.all = self.all + next.all;
        self.by_bound.iter_mut().zip(next.by_bound).for_each(|(sum, time)| *sum += time);
        for (busy, spans) in self.busy.iter_mut().zip(next.busy) {
            spans.iter().for_each(|span| extend(busy, *span));
        }
        self.conversions.extend(next.conversions);
    }

    /// How many operators convert layouts: launches, not runs.
    pub(super) fn conversions(&self) -> u64 {
        self.conversions.len() as u64
    }

    /// The names, hashed, of the operators for which all of some conditions hold.
    pub(super) fn matching(&self, conditions: u32) -> impl Iterator<Item = u64> {
        let holds = move |name: &&u64| self.holding.get(name).is_some_and(|h| h & conditions == conditions);
        self.names.iter().filter(holds).copied()
    }
}

impl std::ops::Add for Times {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { duration: self.duration + other.duration, wait: self.wait + other.wait }
    }
}

/// The tables from which conditions are found.
struct Looker<'a> {
    view: &'a View<'a>,
    device: &'a DeviceView<'a>,
    columns: RatioMetrics,
    /// Which combinations of tensors have an input of 64-bit integers.
    int64: Vec<bool>,
    /// The fused operators that have a workspace.
    workspace: HashSet<u64>,
}

/// The conditions that operators fulfil whenever they run, by name, type and unit.
type Known = NumberMap<(u64, u64, u64), u32>;

impl<'a> Looker<'a> {
    fn new(view: &'a View<'a>, device: &'a DeviceView<'a>) -> Self {
        let has_int64 = |texts: &str| texts.split(';').any(|data_type| data_type == "INT64");
        let fusions = view.joined.data.host.fusions.rows();
        Self {
            view,
            device,
            columns: RatioMetrics::new(device),
            int64: view.tensors.iter().map(|texts| has_int64(&texts.input_data_types)).collect(),
            workspace: fusions
                .filter(|fusion| fusion.workspace_bytes > 0)
                .map(|fusion| fusion.name)
                .collect(),
        }
    }

    /// A run with its conditions; `None` if its operator isn't known.
    fn run(&self, task: TaskRef, previous: Option<TaskRef>, known: &mut Known) -> Option<Run> {
        let number = task.task as usize;
        let launch = self.view.host_row(task)?;
        let host = self.view.joined.host_tasks.row(launch.index());
        let (start, end) = (self.device.start(number), self.device.end(number));
        let wait =
            previous.map_or(0, |previous| start.saturating_sub(self.device.end(previous.task as usize)));
        let (op_type, unit) = self.view.op_number(&host);
        let fixed = *known.entry((host.name, op_type, unit)).or_insert_with(|| self.fixed(&host));
        let blocks = self.view.joined.data.host.nodes.blocks();
        let blocks = host.node.map_or(0, |node| blocks[node.index()] & 0xFFFF);
        let few = blocks > 0 && blocks < self.device.device.metadata.info.cores;
        let int64 = host.tensors.is_some_and(|set| self.int64[set.index()]);
        Some(Run {
            name: host.name,
            fixed: fixed
                | bit_if(few, condition::FEWER_BLOCKS_THAN_CORES)
                | bit_if(int64, condition::INT64_INPUT),
            launch,
            span: (start, end),
            times: Times { duration: self.device.duration(number), wait: wait.max(0) as f64 },
            ratios: self.columns.ratios(self.device, number),
        })
    }

    fn fixed(&self, host: &HostTask) -> u32 {
        let Some(op) = self.view.op(host) else { return 0 };
        let mut holding = 0;
        let mut hold = |holds: bool, condition: u32| holding |= bit_if(holds, condition);
        hold(op.op_type == "TransData", condition::TRANS_DATA);
        hold(op.unit == OpUnit::Named(NodeTaskType::AiCpu), condition::AI_CPU);
        hold(op.name.contains("StridedSliceGrad"), condition::STRIDED_SLICE_GRAD);
        hold(self.workspace.contains(&host.name), condition::WORKSPACE);
        holding
    }
}

/// The condition if it holds, else none.
fn bit_if(holds: bool, condition: u32) -> u32 {
    if holds { condition } else { 0 }
}

fn of_times(times: Times) -> u32 {
    bit_if(times.duration > LONG, condition::LONG) | bit_if(times.wait > LONG_WAIT, condition::LONG_WAIT)
}

fn of_ratios(ratios: &Ratios) -> u32 {
    let mut holding = 0;
    let mut hold = |value: Option<f64>, holds: fn(f64) -> bool, condition: u32| {
        holding |= bit_if(value.is_some_and(holds), condition);
    };
    hold(ratios.cube, |cube| cube > 0.0, condition::CUBE_WORKS);
    hold(ratios.cube, |cube| cube < WELL_USED, condition::CUBE_LOW);
    hold(ratios.vector, |vector| vector < WELL_USED, condition::VECTOR_LOW);
    hold(ratios.vector, |vector| vector > WELL_USED, condition::VECTOR_HIGH);
    hold(ratios.scalar, |scalar| scalar > WELL_USED, condition::SCALAR_HIGH);
    hold(ratios.memory_bound(), |bound| bound > 1.0, condition::MEMORY_BOUND);
    hold(ratios.vector_bound(), |bound| bound > 1.0, condition::VECTOR_BOUND);
    hold(ratios.bank_group_conflicts, |share| share > CONFLICTS, condition::BANK_GROUP_CONFLICTS);
    hold(ratios.bank_conflicts, |share| share > CONFLICTS, condition::BANK_CONFLICTS);
    holding
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Operators of which each run is given with its own launch.
    pub(in crate::report) fn operators(runs: &[(u64, u32, Times, Ratios)]) -> Operators {
        let mut operators = Operators::default();
        for (number, &(name, fixed, times, ratios)) in runs.iter().enumerate() {
            let (launch, span) = (HostTaskRow::from_index(number), (number as i64, number as i64));
            operators.add(Run { name, fixed, launch, span, times, ratios });
        }
        operators
    }

    fn holding(ratios: Ratios) -> u32 {
        of_ratios(&ratios)
    }

    #[test]
    fn what_was_not_counted_fulfils_no_condition() {
        assert_eq!(holding(Ratios::default()), 0);
        let vector = Ratios { vector: Some(0.1), ..Ratios::default() };
        assert_eq!(holding(vector), condition::VECTOR_LOW);
    }

    #[test]
    fn thresholds_are_exclusive() {
        let ratios = Ratios {
            cube: Some(0.8),
            vector: Some(0.8),
            scalar: Some(0.8),
            moves: [None, Some(0.8), None],
            bank_group_conflicts: Some(0.04),
            bank_conflicts: Some(0.04),
            split: false,
        };
        assert_eq!(holding(ratios), condition::CUBE_WORKS);
        assert_eq!(of_times(Times { duration: 20_000.0, wait: 10_000.0 }), 0);
        let beyond = of_times(Times { duration: 20_001.0, wait: 10_001.0 });
        assert_eq!(beyond, condition::LONG | condition::LONG_WAIT);
    }

    #[test]
    fn bounds_compare_units_of_one_core_only() {
        let ratios = Ratios {
            cube: Some(0.2),
            vector: Some(0.3),
            moves: [None, Some(0.4), None],
            ..Ratios::default()
        };
        assert_ne!(holding(ratios) & condition::MEMORY_BOUND, 0);
        assert_eq!(holding(Ratios { split: true, ..ratios }) & condition::MEMORY_BOUND, 0);
        let ratios = Ratios { vector: Some(0.5), ..ratios };
        assert_ne!(holding(ratios) & condition::VECTOR_BOUND, 0);
        assert_eq!(holding(ratios) & condition::MEMORY_BOUND, 0);
        let idle = Ratios { cube: Some(0.0), vector: Some(0.0), moves: [None, Some(0.9), None], ..ratios };
        assert_eq!(holding(idle) & condition::MEMORY_BOUND, 0, "nothing computes, so there is no ratio");
    }

    #[test]
    fn a_replayed_operator_counts_once_and_its_time_each_time() {
        let times = Times { duration: 5.0, wait: 1.0 };
        let mut operators = Operators::default();
        for (start, launch) in [(0, 1), (10, 1), (20, 2)] {
            let (fixed, span) = (condition::TRANS_DATA, (start, start + 5));
            let launch = HostTaskRow::from_index(launch);
            operators.add(Run { name: 7, fixed, launch, span, times, ratios: Ratios::default() });
        }
        assert_eq!(operators.conversions(), 2);
        let bit = condition::TRANS_DATA.trailing_zeros() as usize;
        assert_eq!(operators.times[bit], Times { duration: 15.0, wait: 3.0 });
        assert_eq!(operators.matching(condition::TRANS_DATA).collect::<Vec<_>>(), [7]);
        assert_eq!(*operators.busy[0], [(0, 5), (10, 15), (20, 25)]);
    }

    #[test]
    fn parts_put_together_are_the_same_as_the_whole() {
        let run = |number: u32, name, fixed| {
            let (launch, start) = (HostTaskRow::from_index(number as usize), i64::from(number) * 4);
            let times = Times { duration: 5.0, wait: 11_000.0 };
            let ratios = Ratios { vector: Some(0.1), ..Ratios::default() };
            Run { name, fixed, launch, span: (start, start + 5), times, ratios }
        };
        let runs =
            [run(0, 7, 0), run(1, 8, condition::TRANS_DATA), run(2, 7, condition::AI_CPU), run(3, 9, 0)];
        let mut whole = Operators::default();
        runs.iter().for_each(|run| whole.add(*run));
        for cut in 0..=runs.len() {
            let (mut first, mut second) = (Operators::default(), Operators::default());
            runs[..cut].iter().for_each(|run| first.add(*run));
            runs[cut..].iter().for_each(|run| second.add(*run));
            first.append(second);
            assert_eq!(first.names, whole.names);
            assert_eq!((first.all, first.times, first.by_bound), (whole.all, whole.times, whole.by_bound));
            assert_eq!((&first.busy, &first.holding), (&whole.busy, &whole.holding));
            assert_eq!(first.conversions(), whole.conversions());
        }
    }
}
