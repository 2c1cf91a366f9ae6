//! Where a step goes, as a mean over ranks and steps.

use crate::rows::CollectiveType;
use crate::run::Run;

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

fn of_rank(run: &Run, index: usize) -> Account {
    let rank = &run.ranks[index];
    let mut account = Account::default();
    for event in &run.events[rank.events.clone()] {
        let begin = run.instances[event.instance as usize].begin;
        let stretch = event.start + (event.exposed_start_ns - event.start_ns) as f64;
        let waited = (begin - stretch).clamp(0.0, event.exposed_longest_ns as f64);
        account.transfer_ns += event.exposed_ns as f64 - waited;
        match event.kind {
            CollectiveType::Receive => account.bubble_ns += waited,
            _ => account.waiting_ns += waited,
        }
    }
    account.compute_ns = rank.compute_ns.values().sum::<i64>() as f64;
    let whole = rank.steps.iter().map(|step| step.duration_ns as f64).sum::<f64>();
    account.host_ns =
        whole - account.compute_ns - account.waiting_ns - account.transfer_ns - account.bubble_ns;
    let steps = rank.steps.len().max(1) as f64;
    Account {
        compute_ns: account.compute_ns / steps,
        waiting_ns: account.waiting_ns / steps,
        transfer_ns: account.transfer_ns / steps,
        bubble_ns: account.bubble_ns / steps,
        host_ns: account.host_ns / steps,
    }
}
