//! How long transfers typically take: those of one class, in each step.
//!
//! A step may be longer for everybody, as the first one of a program is, or one for which the fabric has less to spare.
//! No group lags behind its like then, so that transfers are compared with those of the same step, where enough groups
//! have such. Of few groups, the typical transfer of all steps is stretched by as much as nearly all groups' transfers
//! are in that step; where the run has few groups of any kind, by as much as the ranks' own work is.

use std::collections::BTreeMap;
use std::ops::RangeBounds;

use crate::clocks::median;
use crate::peers::TailClass;
use crate::run::{Instance, Run};
use crate::step_stretch::{StepStretch, lower_quartile};
use crate::typical::FEWEST;

/// Typical lengths of transfers, in nanoseconds.
pub struct TypicalTransfers {
    classes: BTreeMap<TailClass, OfClass>,
    /// By step, how many times as long nearly all groups' transfers are as they are in most steps.
    stretch: BTreeMap<i32, f64>,
    /// That of the ranks' own work, of steps of which few groups have transfers.
    of_work: StepStretch,
}

/// The typical lengths of one class.
struct OfClass {
    /// In all steps.
    usual: f64,
    /// In each step of which enough groups have some.
    of_steps: BTreeMap<i32, f64>,
}

/// A transfer of a class.
struct Transfer {
    step: i32,
    group: u32,
    tail: f64,
}

impl TypicalTransfers {
    /// The typical transfers of the instances that count. `classes` has the class of each instance.
    pub fn of(
        run: &Run,
        classes: &[TailClass],
        of_work: &StepStretch,
        counts: impl Fn(&Instance) -> bool,
    ) -> Self {
        let counted = || run.instances.iter().zip(classes).filter(|(instance, _)| counts(instance));
        let mut transfers: BTreeMap<TailClass, Vec<Transfer>> = BTreeMap::new();
        for (instance, class) in counted() {
            let (step, group, tail) = (run.first_of(instance).step, instance.group, instance.tail);
            transfers.entry(*class).or_default().push(Transfer { step, group, tail });
        }
        let classes: BTreeMap<TailClass, OfClass> =
            transfers.into_iter().map(|(class, transfers)| (class, OfClass::of(transfers))).collect();
        let mut ratios: BTreeMap<i32, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
        for (instance, class) in counted().filter(|(_, class)| classes[class].usual > 0.0) {
            let of_step = ratios.entry(run.first_of(instance).step).or_default();
            of_step.entry(instance.group).or_default().push(instance.tail / classes[class].usual);
        }
        Self { classes, stretch: stretch(ratios), of_work: of_work.clone() }
    }

    /// The typical length of a class in a step.
    pub fn at(&self, class: &TailClass, step: i32) -> Option<f64> {
        Some(self.in_step(self.classes.get(class)?, step))
    }

    /// The typical lengths of several classes, in their order.
    pub fn range(
        &self,
        classes: impl RangeBounds<TailClass>,
        step: i32,
    ) -> impl DoubleEndedIterator<Item = f64> + '_ {
        self.classes.range(classes).map(move |(_, of_class)| self.in_step(of_class, step))
    }

    fn in_step(&self, class: &OfClass, step: i32) -> f64 {
        let stretched =
            || class.usual * self.stretch.get(&step).copied().unwrap_or_else(|| self.of_work.at(step));
        class.of_steps.get(&step).copied().unwrap_or_else(stretched)
    }
}

impl OfClass {
    fn of(mut transfers: Vec<Transfer>) -> Self {
        transfers.sort_unstable_by_key(|transfer| (transfer.step, transfer.group));
        let of_steps = transfers.chunk_by(|a, b| a.step == b.step).filter_map(|of_step| {
            let groups = of_step.chunk_by(|a, b| a.group == b.group).count();
            (groups >= FEWEST).then(|| (of_step[0].step, median(&mut tails(of_step))))
        });
        let of_steps = of_steps.collect();
        let mut all = tails(&transfers);
        let mut groups: Vec<u32> = transfers.iter().map(|transfer| transfer.group).collect();
        groups.sort_unstable();
        groups.dedup();
        // Of one or two groups half may be slow: the quicker quarter is what the link can do.
        let usual = if groups.len() < FEWEST { lower_quartile(&mut all) } else { median(&mut all) };
        Self { usual, of_steps }
    }
}

fn tails(transfers: &[Transfer]) -> Vec<f64> {
    transfers.iter().map(|transfer| transfer.tail).collect()
}

/// How many times as long nearly all groups' transfers are in a step as in most steps, for the steps of which enough
/// groups have some. `ratios` has, by step and group, those of transfers to what is usual of their class.
fn stretch(ratios: BTreeMap<i32, BTreeMap<u32, Vec<f64>>>) -> BTreeMap<i32, f64> {
    let of_step = |(step, groups): (i32, BTreeMap<u32, Vec<f64>>)| {
        let mut groups: Vec<f64> = groups.into_values().map(|mut ratios| median(&mut ratios)).collect();
        let of_most = lower_quartile(&mut groups);
        // Groups whose transfers take no time tell nothing of the others.
        (groups.len() >= FEWEST && of_most > 0.0).then_some((step, of_most))
    };
    let mut found: BTreeMap<i32, f64> = ratios.into_iter().filter_map(of_step).collect();
    let usual = median(&mut found.values().copied().collect::<Vec<f64>>());
    found.values_mut().for_each(|ratio| *ratio /= usual);
    found
}
