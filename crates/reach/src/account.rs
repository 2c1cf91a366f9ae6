//! Where a step goes, as a mean over ranks and steps.

use std::collections::BTreeMap;

use crate::absent::{self, Absent};
use crate::discover::Role;
use crate::rows::{CollectiveType, StepsOrigin};
use crate::run::{Event, Run};

/// The parts of a step, in nanoseconds; they sum to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Account {
    /// Under computing tasks.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub compute_ns: f64,
    /// In collectives before the last rank came, with nothing computed meanwhile.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub waiting_ns: f64,
    /// In transfers that no computing hides.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub transfer_ns: f64,
    /// In receives before the sender came.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub bubble_ns: f64,
    /// With neither operators nor collectives on the device.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub host_ns: f64,
    /// The rest: tasks that reach into the next step, or tables that contradict each other.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub unaccounted_ns: f64,
}

impl Account {
    /// The length of the step.
    pub fn whole_ns(&self) -> f64 {
        let parts = [self.compute_ns, self.waiting_ns, self.transfer_ns, self.bubble_ns, self.host_ns];
        parts.iter().sum::<f64>() + self.unaccounted_ns
    }
}

/// The mean step of each rank's.
pub fn of_ranks(run: &Run, absent: &Absent) -> Vec<Account> {
    (0..run.ranks.len()).map(|rank| of_rank(run, absent, rank)).collect()
}

/// The mean over steps of what the ranks that have a step, and [count](Run::counts), have in it on average. Each step weighs
/// the same however many ranks lack it, as in the run's step: a mean over the means of ranks would be longer than that where
/// a rank lacks the short ones.
pub fn mean(run: &Run, absent: &Absent) -> Account {
    let mut steps: BTreeMap<i32, Vec<StepAccount>> = BTreeMap::new();
    for rank in (0..run.ranks.len()).filter(|rank| run.counts(*rank)) {
        for account in of_steps(run, absent, rank) {
            steps.entry(account.step).or_default().push(account);
        }
    }
    let of_step = |ranks: &[StepAccount], part: fn(&StepAccount) -> i64| {
        ranks.iter().map(|it| part(it) as f64).sum::<f64>() / ranks.len() as f64
    };
    let mean = |part: fn(&StepAccount) -> i64| {
        steps.values().map(|ranks| of_step(ranks, part)).sum::<f64>() / steps.len().max(1) as f64
    };
    Account {
        compute_ns: mean(|it| it.compute_ns),
        waiting_ns: mean(|it| it.waiting_ns),
        transfer_ns: mean(|it| it.transfer_ns),
        bubble_ns: mean(|it| it.bubble_ns),
        host_ns: mean(|it| it.idle_ns),
        unaccounted_ns: mean(StepAccount::unaccounted_ns),
    }
}

fn of_rank(run: &Run, absent: &Absent, index: usize) -> Account {
    let rank = &run.ranks[index];
    let mut account = Account::default();
    for event in &run.events[rank.events.clone()] {
        let waited = waited(run, absent, event);
        account.transfer_ns += event.exposed_ns as f64 - waited;
        match event.kind {
            CollectiveType::Receive => account.bubble_ns += waited,
            _ => account.waiting_ns += waited,
        }
    }
    account.compute_ns = rank.compute_ns.values().map(|time| *time as f64).sum::<f64>();
    let whole = rank.steps.iter().map(|step| step.duration_ns as f64).sum::<f64>();
    account.host_ns = rank.idle_ns.iter().map(|time| *time as f64).sum();
    account.unaccounted_ns = whole - account.whole_ns();
    let steps = rank.steps.len().max(1) as f64;
    Account {
        compute_ns: account.compute_ns / steps,
        waiting_ns: account.waiting_ns / steps,
        transfer_ns: account.transfer_ns / steps,
        bubble_ns: account.bubble_ns / steps,
        host_ns: account.host_ns / steps,
        unaccounted_ns: account.unaccounted_ns / steps,
    }
}

/// The bubble that a pipeline can't avoid.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct IdealBubble {
    /// How many stages the pipeline has.
    pub stages: u32,
    /// How many sends of a step go from a stage to the next, each of which counts as a micro-batch.
    pub micro_batches: u32,
    /// The share of the pipelined part of a step in which each stage has nothing to do, if all take equally long.
    pub share: f64,
}

/// The bubble of a pipeline that isn't interleaved, `(p − 1) / (m + p − 1)` with `p` stages and `m` micro-batches; `None`
/// where stages don't send the same number of times in every step, or the last sends to the first, as those of
/// interleaved pipelines do, or nothing tells how many steps the sends are of.
pub fn ideal_bubble(run: &Run) -> Option<IdealBubble> {
    let is_pipeline = |event: &&Event| {
        event.kind == CollectiveType::Send && run.groups[event.group as usize].role == Role::Pp
    };
    // By group, sender and receiver, and step.
    let mut sends: BTreeMap<(u32, usize, usize, i32), u32> = BTreeMap::new();
    for event in run.events.iter().filter(is_pipeline) {
        if run.ranks[event.rank as usize].origin == StepsOrigin::Whole {
            return None;
        }
        let members = &run.groups[event.group as usize].ranks;
        let number = run.ranks[event.rank as usize].number;
        let from = members.iter().position(|member| *member == number)?;
        // Texts don't tell whom a send goes to; its receive was matched, or is that of a member that wasn't recorded.
        let received = || {
            let instance = &run.instances[event.instance as usize];
            let other = run.events_of(instance).find(|part| part.rank != event.rank);
            let other = match other {
                Some(part) => run.ranks[part.rank as usize].number,
                None => *absent::missing(run, instance).first()?,
            };
            members.iter().position(|member| *member == other)
        };
        let to = event.peer.map(|peer| peer as usize).or_else(received)?;
        *sends.entry((event.group, from, to, event.step)).or_default() += 1;
    }
    let (&(group, ..), &micro_batches) = sends.first_key_value()?;
    let stages = run.groups[group as usize].ranks.len();
    let is_plain = |(&(group, from, to, _), count): (&(u32, usize, usize, i32), &u32)| {
        from.abs_diff(to) == 1 && run.groups[group as usize].ranks.len() == stages && *count == micro_batches
    };
    let waits = stages.checked_sub(1).filter(|waits| *waits > 0)? as f64;
    sends.iter().all(is_plain).then_some(IdealBubble {
        stages: stages as u32,
        micro_batches,
        share: waits / (f64::from(micro_batches) + waits),
    })
}

/// The time that a rank waits in a collective for others, with nothing computed meanwhile; for those that weren't recorded
/// until they are taken to have come.
fn waited(run: &Run, absent: &Absent, event: &Event) -> f64 {
    let begin = absent.begin(run, event.instance);
    let stretch = event.start + (event.exposed_start_ns - event.start_ns) as f64;
    (begin - stretch).clamp(0.0, event.exposed_longest_ns as f64)
}

/// Where one step of a rank goes, in nanoseconds. Each part is measured by itself: nothing is what is left over, so
/// that their sum can be held against the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct StepAccount {
    /// The step's number.
    pub step: i32,
    /// Its length.
    pub step_ns: i64,
    /// Under computing tasks.
    pub compute_ns: i64,
    /// In collectives before the last rank came, with nothing computed meanwhile.
    pub waiting_ns: i64,
    /// In receives before the sender came.
    pub bubble_ns: i64,
    /// In transfers that no computing hides.
    pub transfer_ns: i64,
    /// With neither operators nor collectives on the device: the host was late, or had nothing to do, or data were copied.
    pub idle_ns: i64,
}

impl StepAccount {
    /// The length of the step less its parts: what tasks reach into the next step, or times that contradict.
    pub fn unaccounted_ns(&self) -> i64 {
        let parts = [self.compute_ns, self.waiting_ns, self.bubble_ns, self.transfer_ns, self.idle_ns];
        parts.iter().fold(self.step_ns, |rest, part| rest.saturating_sub(*part))
    }
}

/// Adds a time; many of the longest that can be claimed are more than a number holds.
fn add(sum: &mut i64, time: i64) {
    *sum = sum.saturating_add(time);
}

/// The steps of a rank, by their numbers.
pub fn of_steps(run: &Run, absent: &Absent, rank: usize) -> Vec<StepAccount> {
    let rank = &run.ranks[rank];
    let mut steps: BTreeMap<i32, StepAccount> = BTreeMap::new();
    for (step, idle) in rank.steps.iter().zip(&rank.idle_ns) {
        let account = steps.entry(step.step).or_default();
        add(&mut account.step_ns, step.duration_ns);
        add(&mut account.idle_ns, *idle);
        account.compute_ns = rank.compute_ns.get(&step.step).copied().unwrap_or(0);
    }
    for event in &run.events[rank.events.clone()] {
        let Some(account) = steps.get_mut(&event.step) else { continue };
        let waited = (waited(run, absent, event).round() as i64).min(event.exposed_ns);
        add(&mut account.transfer_ns, event.exposed_ns - waited);
        match event.kind {
            CollectiveType::Receive => add(&mut account.bubble_ns, waited),
            _ => add(&mut account.waiting_ns, waited),
        }
    }
    steps.into_iter().map(|(step, account)| StepAccount { step, ..account }).collect()
}
