//! Jobs of which a scheduler lost track.
//!
//! The scheduler gives the tasks of an executor that is gone to others. That of Ballista 55.0 loses track of some jobs
//! while it does so: they are under way for ever, and no executor has a task of theirs. Its lists show both. Where other
//! jobs keep executors busy, one without a task may only wait for its turn, and nothing is concluded.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::scheduler::{Fate, Scheduler};

/// The time between two looks at the lists.
const PACE: Duration = Duration::from_secs(3);

/// How long no executor may have a task after one has gone. The scheduler hands them out within a second.
const PATIENCE: Duration = Duration::from_secs(15);

/// Waits until a job is under way and executors are there, but none has a task, and gives the job's name; for ever
/// where that doesn't happen, and where the scheduler doesn't tell it.
pub(super) async fn until_stuck(scheduler: &Scheduler, job: impl Fn() -> Option<String>) -> String {
    let mut seen = BTreeSet::new();
    let mut without_task: Option<Instant> = None;
    loop {
        let is_one_lost = lost_an_executor(scheduler, &mut seen).await;
        match job() {
            Some(job) if is_one_lost && is_without_task(scheduler, &job).await => {
                if without_task.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                    return job;
                }
            }
            _ => without_task = None,
        }
        tokio::time::sleep(PACE).await;
    }
}

/// Whether an executor is gone that was `seen` before, and others are left.
async fn lost_an_executor(scheduler: &Scheduler, seen: &mut BTreeSet<String>) -> bool {
    let Some(executors) = scheduler.executors().await else { return false };
    let is_lost = !seen.is_subset(&executors) && !executors.is_empty();
    seen.extend(executors);
    is_lost
}

/// Whether a job is under way, and no executor has a task.
async fn is_without_task(scheduler: &Scheduler, job: &str) -> bool {
    // A job that is done has no task either, so its end is asked for last.
    scheduler.has_work().await == Some(false) && matches!(scheduler.fate_of(job).await, Some(Fate::Running))
}
