//! Where a step goes, as a mean over ranks and steps.

use std::collections::BTreeMap;

use crate::rows::CollectiveType;
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
    /// With nothing on the device.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub host_ns: f64,
}

/// The mean step of each rank's.
pub fn of_ranks(run: &Run) -> Vec<Account> {
    (0..run.ranks.len()).map(|rank| of_rank(run, rank)).collect()
}

/// The mean over ranks.
pub fn mean(accounts: &[Account]) -> Account {
    let count = accounts.len().max(1) as f64;
    let mean = |part: fn(&Account) -> f64| accounts.iter().map(part).sum::<f64>() / count;
    Account {
        compute_ns: mean(|it| it.compute_ns),
        waiting_ns: mean(|it| it.waiting_ns),
        transfer_ns: mean(|it| it.transfer_ns),
        bubble_ns: mean(|it| it.bubble_ns),
        host_ns: mean(|it| it.host_ns),
    }
}

/// The account of each step of a rank, by the step's number.
pub fn of_steps(run: &Run, index: usize) -> BTreeMap<i32, Account> {
    let rank = &run.ranks[index];
    let mut accounts: BTreeMap<i32, Account> = BTreeMap::new();
    for event in &run.events[rank.events.clone()] {
        accounts.entry(event.step).or_default().add(run, event);
    }
    for step in &rank.steps {
        let account = accounts.entry(step.step).or_default();
        account.compute_ns = rank.compute_ns.get(&step.step).copied().unwrap_or(0) as f64;
        account.leave_to_host(step.duration_ns as f64);
    }
    // Collectives outside of all steps belong to none.
    accounts.retain(|number, _| rank.steps.iter().any(|step| step.step == *number));
    accounts
}

impl Account {
    /// Adds what a part in a collective took that no computing hides.
    fn add(&mut self, run: &Run, event: &Event) {
        let begin = run.instances[event.instance as usize].begin;
        let stretch = event.start + (event.exposed_start_ns - event.start_ns) as f64;
        let waited = (begin - stretch).clamp(0.0, event.exposed_longest_ns as f64);
        self.transfer_ns += event.exposed_ns as f64 - waited;
        match event.kind {
            CollectiveType::Receive => self.bubble_ns += waited,
            _ => self.waiting_ns += waited,
        }
    }

    /// Leaves to the host what the other parts don't take of some time.
    fn leave_to_host(&mut self, whole: f64) {
        self.host_ns = whole - self.compute_ns - self.waiting_ns - self.transfer_ns - self.bubble_ns;
    }
}

fn of_rank(run: &Run, index: usize) -> Account {
    let rank = &run.ranks[index];
    let mut account = Account::default();
    run.events[rank.events.clone()].iter().for_each(|event| account.add(run, event));
    account.compute_ns = rank.compute_ns.values().sum::<i64>() as f64;
    account.leave_to_host(rank.steps.iter().map(|step| step.duration_ns as f64).sum());
    let steps = rank.steps.len().max(1) as f64;
    Account {
        compute_ns: account.compute_ns / steps,
        waiting_ns: account.waiting_ns / steps,
        transfer_ns: account.transfer_ns / steps,
        bubble_ns: account.bubble_ns / steps,
        host_ns: account.host_ns / steps,
    }
}
