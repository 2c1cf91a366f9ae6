//! The work that a rank does by itself before a collective, and its copies in each step, by what was under way.

use crate::host_gaps;
use crate::read::{Executed, Ran, Span};
use crate::rows::{CollectiveRow, RankRows};

/// The parts of a stretch of a rank's own work, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnWork {
    /// Under computing tasks but for those of the AI CPU.
    pub compute_ns: i64,
    /// Under tasks of the AI CPU and no other.
    pub ai_cpu_ns: i64,
    /// Under copies between host and device and no task, where the profile tells of copies.
    pub copy_ns: Option<i64>,
    /// In gaps whose next task started as soon as its host had launched it, where the profile tells of launches.
    pub host_ns: Option<i64>,
}

/// The copies of a step, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Under copies.
    pub copy_ns: i64,
    /// The part of that which no task and no collective hides.
    pub exposed_ns: i64,
}

/// Times at which something was under way.
#[derive(Debug, Default)]
struct Covered {
    /// Stretches one behind the other: begin, end, and the length of all before.
    stretches: Vec<(i64, i64, i64)>,
}

impl Covered {
    /// The times within any of some stretches.
    fn by(mut stretches: Vec<(i64, i64)>) -> Self {
        stretches.sort_unstable();
        let mut merged: Vec<(i64, i64, i64)> = Vec::new();
        for (start, end) in stretches.into_iter().filter(|(start, end)| start < end) {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                last => {
                    let before = last.map_or(0, |last| last.2 + (last.1 - last.0));
                    merged.push((start, end, before));
                }
            }
        }
        Self { stretches: merged }
    }

    /// The time before a moment.
    fn before(&self, moment: i64) -> i64 {
        let behind = self.stretches.partition_point(|(start, ..)| *start < moment);
        let last = behind.checked_sub(1).map(|last| self.stretches[last]);
        last.map_or(0, |(start, end, before)| before + (end.min(moment) - start))
    }

    fn within(&self, (start, end): (i64, i64)) -> i64 {
        self.before(end) - self.before(start.min(end))
    }
}

/// The parts of the work before each of a rank's collectives.
pub fn of_collectives(rows: &RankRows, done: &Executed) -> Vec<OwnWork> {
    let is_on_ai_cpu: Vec<bool> = done.kinds.iter().map(|kind| kind.key.is_on_ai_cpu()).collect();
    let is_on_ai_cpu = |ran: &&Ran| is_on_ai_cpu.get(ran.kind as usize).is_some_and(|it| *it);
    let span = |ran: &Ran| (ran.start, ran.end);
    let mut under_way: Vec<(i64, i64)> =
        done.operators.iter().filter(|it| !is_on_ai_cpu(it)).map(span).collect();
    let computing = Covered::by(under_way.clone());
    under_way.extend(done.operators.iter().filter(is_on_ai_cpu).map(span));
    let tasks = Covered::by(under_way.clone());
    let copies: Vec<(i64, i64)> = done.copies.iter().map(|(start, end, _)| (*start, *end)).collect();
    under_way.extend(&copies);
    let tasks_and_copies = Covered::by(under_way);
    let spans: Vec<Span> = done
        .operators
        .iter()
        .map(|ran| Span { start: ran.start, end: ran.end, key: ran.kind, launch: ran.launch })
        .collect();
    let collectives: Vec<(i64, i64)> = rows.collectives.iter().map(span_of).collect();
    let steps: Vec<i64> = rows.steps.iter().filter_map(|step| step.start_ns).collect();
    let waiting = Covered::by(host_gaps::of(&spans, &collectives, &copies, &steps));
    let tells_launches = done.operators.iter().any(|ran| ran.launch.time().is_some());
    let parts = |row: &CollectiveRow| {
        let own = (row.start_ns.saturating_sub(row.segment_ns), row.start_ns);
        let [computing, tasks, all] = [&computing, &tasks, &tasks_and_copies].map(|it| it.within(own));
        OwnWork {
            compute_ns: computing,
            ai_cpu_ns: tasks - computing,
            copy_ns: done.tells_copies.then_some(all - tasks),
            host_ns: tells_launches.then(|| waiting.within(own)),
        }
    };
    rows.collectives.iter().map(parts).collect()
}

/// The copies of each of a rank's steps whose begin is known; none where the profile doesn't tell of copies.
pub fn of_steps(rows: &RankRows, done: &Executed) -> Vec<Option<Copied>> {
    if !done.tells_copies {
        return vec![None; rows.steps.len()];
    }
    let copies: Vec<(i64, i64)> = done.copies.iter().map(|(start, end, _)| (*start, *end)).collect();
    let mut under_way: Vec<(i64, i64)> = done.operators.iter().map(|ran| (ran.start, ran.end)).collect();
    under_way.extend(rows.collectives.iter().map(span_of));
    let hidden = Covered::by(under_way.clone());
    under_way.extend(&copies);
    let (all, copies) = (Covered::by(under_way), Covered::by(copies));
    let parts = |start: i64, duration: i64| {
        let step = (start, start.saturating_add(duration));
        Copied { copy_ns: copies.within(step), exposed_ns: all.within(step) - hidden.within(step) }
    };
    rows.steps.iter().map(|step| step.start_ns.map(|at| parts(at, step.duration_ns))).collect()
}

fn span_of(row: &CollectiveRow) -> (i64, i64) {
    (row.start_ns, row.end_ns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{Kind, Launch, OperatorKey, Work};
    use crate::rows::{CollectiveType, StepRow};

    fn kind(unit: &str) -> Kind {
        let key = OperatorKey { name: "a".to_owned(), op_type: "A".to_owned(), unit: unit.to_owned() };
        Kind { key, shapes: String::new(), types: String::new() }
    }

    fn ran(start: i64, end: i64, kind: u32, launched: i64) -> Ran {
        Ran { start, end, kind, stream: None, launch: Launch::at(Some(launched)) }
    }

    #[test]
    fn the_work_before_a_collective_is_divided_by_what_was_under_way() {
        let mut done = Executed::default();
        done.tells_copies();
        ["AI_CORE", "AI_CPU"].into_iter().for_each(|unit| done.kind(kind(unit)));
        done.operator(ran(100_000, 200_000, 0, 0));
        // Half of it beside another task.
        done.operator(ran(150_000, 250_000, 1, 0));
        done.copy("MEMCPY", 240_000, 270_000);
        // Launched when the device had long been idle.
        done.operator(ran(400_000, 450_000, 0, 395_000));
        done.sort();
        let row = CollectiveRow {
            segment_ns: 350_000,
            ..CollectiveRow::new(1, 0, CollectiveType::AllReduce, 1, 500_000, 50_000)
        };
        let step = StepRow { step: 1, start_ns: Some(90_000), duration_ns: 460_000, preparing_ns: None };
        let rows = RankRows { collectives: vec![row], steps: vec![step], ..RankRows::default() };
        let (copy_ns, host_ns) = (Some(20_000), Some(130_000));
        let parts = OwnWork { compute_ns: 100_000, ai_cpu_ns: 50_000, copy_ns, host_ns };
        assert_eq!(of_collectives(&rows, &done), [parts]);
        assert_eq!(of_steps(&rows, &done), [Some(Copied { copy_ns: 30_000, exposed_ns: 20_000 })]);
        // A table of kernels tells neither copies nor launches.
        (done.tells_copies, done.copies) = (false, Vec::new());
        done.operators.iter_mut().for_each(|ran| ran.launch = Launch::UNTOLD);
        let parts = OwnWork { copy_ns: None, host_ns: None, ..parts };
        assert_eq!((of_collectives(&rows, &done), of_steps(&rows, &done)), (vec![parts], vec![None]));
    }

    #[test]
    fn stretches_that_touch_or_overlap_count_once() {
        let covered = Covered::by(vec![(10, 20), (15, 30), (30, 40), (50, 60), (70, 70)]);
        assert_eq!([(0, 100), (12, 35), (45, 55), (60, 100)].map(|it| covered.within(it)), [40, 23, 5, 0]);
    }
}
