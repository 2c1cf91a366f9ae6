//! The work between collectives.
//!
//! A collective starts when the task that ended last before its start has ended: the chain of such tasks leads
//! through computing tasks back to another collective (or the run's begin). From that collective's end to the start
//! the rank was on its own: its *segment*. A background transfer that ends in the middle of a computing task held
//! nobody up, and the chain passes it by; a look at collectives alone would take it for the predecessor.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{LATEST_NS, Recording, StatedStep};
use crate::rows::{CollectiveRow, FinishRow, RankRows, StepRow, TaskSpan};

/// How far a predecessor's end may lie behind a start: the clock's own steps.
const TOLERANCE_NS: i64 = 1000;

/// The share of the computing that a table of steps states which tasks must show; where they show less, tasks were lost.
const SHOWN: f64 = 0.8;

/// Derives segments, exposed times and the ends of steps; and says of how many steps a table states more computing than
/// its tasks show, though there are tasks.
pub fn derive(recording: Recording) -> (RankRows, u64) {
    let Recording { mut steps, mut tasks, mut collectives, mut links, frequency_mhz, .. } = recording;
    let mut stated = recording.other_steps;
    stated.extend(recording.stated);
    tasks.sort_by_key(|task| (task.start_ns, task.end_ns));
    collectives.sort_by_key(|row| (row.start_ns, row.end_ns()));
    let are_begins_told = !steps.is_empty() && steps.iter().all(|step| step.start_ns.is_some());
    place_steps(&mut steps, &tasks, &collectives);
    name_steps(&steps, &mut collectives);
    let begin = steps.first().and_then(|step| step.start_ns);
    let finishes = chain(&steps, &tasks, &mut collectives, begin);
    let (mut compute_ns, mut idle_ns) = expose(&steps, &tasks, &mut collectives);
    if !tasks.is_empty() {
        keep_lost(&mut stated, &compute_ns, are_begins_told);
    }
    take_stated(&steps, &stated, &mut collectives, &mut compute_ns, &mut idle_ns);
    let lost = if tasks.is_empty() { 0 } else { stated.len() as u64 };
    let operators = if recording.is_nameless { 0 } else { tasks.len() as u64 };
    // Room to grow would be kept for thousands of ranks at once.
    collectives.shrink_to_fit();
    links.shrink_to_fit();
    let rows = RankRows {
        steps,
        collectives,
        finishes,
        links,
        compute_ns,
        idle_ns,
        operators,
        frequency_mhz,
        ..RankRows::default()
    };
    (rows, lost)
}

/// Keeps what a table states of steps of which tasks were lost: their tasks show less computing. Where begins of steps
/// aren't told, nobody knows which tasks are whose, and all steps are judged together.
fn keep_lost(stated: &mut BTreeMap<i32, StatedStep>, compute_ns: &[(i32, i64)], are_begins_told: bool) {
    let shown = |step: i32| {
        let place = compute_ns.binary_search_by_key(&step, |(number, _)| *number).ok()?;
        Some(compute_ns[place].1 as f64)
    };
    let of_step = |step: i32, its: &StatedStep| Some((shown(step)?, its.shares()?[0] as f64));
    stated.retain(|step, its| of_step(*step, its).is_some());
    let is_less = |(shown, stated): (f64, f64)| shown < SHOWN * stated;
    if are_begins_told {
        stated.retain(|step, its| of_step(*step, its).is_some_and(is_less));
    } else {
        let pairs = stated.iter().filter_map(|(step, its)| of_step(*step, its));
        let sums = pairs.fold((0.0, 0.0), |sums, (shown, stated)| (sums.0 + shown, sums.1 + stated));
        if !is_less(sums) {
            stated.clear();
        }
    }
}

/// Takes the time under computing, and with nothing on the device, of some steps from a table: without tasks everything
/// beside collectives would count as the latter, and collectives as not hidden. Which of them computing hides isn't told,
/// so that each has its share.
fn take_stated(
    steps: &[StepRow],
    stated: &BTreeMap<i32, StatedStep>,
    collectives: &mut [CollectiveRow],
    compute_ns: &mut [(i32, i64)],
    idle_ns: &mut [i64],
) {
    let mut shares: BTreeMap<i32, f64> = BTreeMap::new();
    for (step, idle) in steps.iter().zip(idle_ns) {
        let Some([computing, exposed, free]) = stated.get(&step.step).and_then(StatedStep::shares) else {
            continue;
        };
        // Files lie: no part is longer than the step.
        *idle = free.min(step.duration_ns);
        if let Ok(place) = compute_ns.binary_search_by_key(&step.step, |(number, _)| *number) {
            compute_ns[place].1 = computing.min(step.duration_ns - *idle);
        }
        shares.insert(step.step, exposed as f64);
    }
    let mut all: BTreeMap<i32, i64> = BTreeMap::new();
    for row in collectives.iter() {
        let sum = all.entry(row.step).or_default();
        *sum = sum.saturating_add(row.exposed_ns);
    }
    for row in collectives {
        let Some(exposed) = shares.get(&row.step).copied() else { continue };
        let share = (exposed / all[&row.step].max(1) as f64).min(1.0);
        let of = |time: i64| if share < 1.0 { (time as f64 * share) as i64 } else { time };
        row.exposed_ns = of(row.exposed_ns);
        row.exposed_longest_ns = of(row.exposed_longest_ns);
    }
}

/// Gives steps of which only the length is known their begin, and a rank without any the whole recording as one.
fn place_steps(steps: &mut Vec<StepRow>, tasks: &[TaskSpan], collectives: &[CollectiveRow]) {
    let spans = tasks.iter().map(|it| (it.start_ns, it.end_ns));
    let (first, last) = spans
        .chain(collectives.iter().map(|it| (it.start_ns, it.end_ns())))
        .fold((i64::MAX, i64::MIN), |(first, last), (start, end)| (first.min(start), last.max(end)));
    if first > last {
        steps.clear();
        return;
    }
    if steps.is_empty() {
        let (step, start_ns) = (collectives.first().map_or(0, |row| row.step), Some(first));
        steps.push(StepRow { step, start_ns, duration_ns: last - first, preparing_ns: None });
    }
    steps.sort_by_key(|step| (step.start_ns, step.step));
    let mut at = first - steps[0].preparing_ns.unwrap_or(0);
    for step in steps.iter_mut() {
        let start = *step.start_ns.get_or_insert(at);
        at = start.saturating_add(step.duration_ns);
    }
    // Many long ones, one behind the other, lead to where no clock gets.
    steps.retain(|step| step.start_ns.is_some_and(|start| start < LATEST_NS));
}

/// Gives collectives that name no step the one that they lie in, where steps have other numbers than the one that
/// stands for none.
fn name_steps(steps: &[StepRow], collectives: &mut [CollectiveRow]) {
    let is_named = collectives.iter().any(|row| row.step != 0) || steps.iter().any(|step| step.step == 0);
    if is_named || steps.is_empty() {
        return;
    }
    let mut step_at = StepCursor::new(steps);
    collectives.iter_mut().for_each(|row| row.step = step_at.step(row.start_ns));
}

/// A task that is under way, or ended: its end, and the collective at the end of its chain.
type Running = Reverse<(i64, Option<u32>)>;

/// Finds each collective's predecessor and segment, and the same for the end of each step.
fn chain(
    steps: &[StepRow],
    tasks: &[TaskSpan],
    collectives: &mut [CollectiveRow],
    begin: Option<i64>,
) -> Vec<FinishRow> {
    let mut running: BinaryHeap<Running> = BinaryHeap::new();
    let mut latest: Option<u32> = None;
    let mut next_task = 0;
    let mut last_ends: BTreeMap<i32, (i64, Option<u32>)> = BTreeMap::new();
    let mut step_at = StepCursor::new(steps);
    let end_of = |collectives: &[CollectiveRow], pred: Option<u32>, start: i64| match pred {
        Some(pred) => collectives[pred as usize].end_ns(),
        None => begin.unwrap_or(start).min(start),
    };
    let mut enter = |running: &mut BinaryHeap<Running>, start: i64, end: i64, anchor: Option<u32>| {
        running.push(Reverse((end, anchor)));
        let last = last_ends.entry(step_at.step(start)).or_insert((i64::MIN, None));
        if end > last.0 {
            *last = (end, anchor);
        }
    };
    let mut settle = |running: &mut BinaryHeap<Running>, start: i64| {
        while let Some(&Reverse((end, anchor))) = running.peek()
            && end <= start + TOLERANCE_NS
        {
            latest = anchor;
            running.pop();
        }
        latest
    };
    for index in 0..collectives.len() {
        let start = collectives[index].start_ns;
        while let Some(task) = tasks.get(next_task).filter(|task| task.start_ns < start) {
            let anchor = settle(&mut running, task.start_ns);
            enter(&mut running, task.start_ns, task.end_ns, anchor);
            next_task += 1;
        }
        let pred = settle(&mut running, start);
        collectives[index].segment_ns = start - end_of(collectives, pred, start);
        collectives[index].pred = pred;
        let end = collectives[index].end_ns();
        enter(&mut running, start, end, Some(index as u32));
    }
    for task in &tasks[next_task..] {
        let anchor = settle(&mut running, task.start_ns);
        enter(&mut running, task.start_ns, task.end_ns, anchor);
    }
    let finish = |(step, (end_ns, pred)): (i32, (i64, Option<u32>))| {
        let segment_ns = end_ns - end_of(collectives, pred, end_ns);
        FinishRow { step, pred, segment_ns, end_ns }
    };
    last_ends.into_iter().map(finish).collect()
}

/// The step at times that rise.
struct StepCursor<'s> {
    steps: &'s [StepRow],
    at: usize,
}

impl<'s> StepCursor<'s> {
    fn new(steps: &'s [StepRow]) -> Self {
        Self { steps, at: 0 }
    }

    fn step(&mut self, time: i64) -> i32 {
        while self.steps.get(self.at + 1).is_some_and(|next| next.start_ns.is_some_and(|it| it <= time)) {
            self.at += 1;
        }
        self.steps.get(self.at).map_or(0, |step| step.step)
    }
}

/// A change of what runs at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Ends(u32),
    TaskEnds,
    TaskStarts,
    Starts(u32),
}

/// Divides the time into stretches by what runs: computing, else the collective that started last, else nothing.
/// Returns the time under computing by step, and of each of the steps the time in which nothing ran.
fn expose(
    steps: &[StepRow],
    tasks: &[TaskSpan],
    collectives: &mut [CollectiveRow],
) -> (Vec<(i32, i64)>, Vec<i64>) {
    let mut changes = Vec::with_capacity(2 * (tasks.len() + collectives.len()));
    // A task without length would end before it starts in the order of changes.
    for task in tasks.iter().filter(|task| task.end_ns > task.start_ns) {
        changes.push((task.start_ns, Change::TaskStarts));
        changes.push((task.end_ns, Change::TaskEnds));
    }
    for (index, row) in collectives.iter().enumerate().filter(|(_, row)| row.duration_ns > 0) {
        changes.push((row.start_ns, Change::Starts(index as u32)));
        changes.push((row.end_ns(), Change::Ends(index as u32)));
    }
    changes.sort_unstable();
    let mut compute: BTreeMap<i32, i64> = steps.iter().map(|step| (step.step, 0)).collect();
    let mut step_at = StepCursor::new(steps);
    let (mut computing, mut before) = (0_u32, i64::MIN);
    let mut idle = Idle::new(steps);
    let mut open: Vec<u32> = Vec::new();
    for (time, change) in changes {
        let length = time.saturating_sub(before);
        if length > 0 && computing > 0 {
            *compute.entry(step_at.step(before)).or_default() += length;
        } else if let Some(&last) = open.last().filter(|_| length > 0) {
            let row = &mut collectives[last as usize];
            row.exposed_ns += length;
            if length > row.exposed_longest_ns {
                (row.exposed_start_ns, row.exposed_longest_ns) = (before, length);
            }
        } else {
            idle.add(before, time);
        }
        before = time;
        match change {
            Change::TaskStarts => computing += 1,
            Change::TaskEnds => computing = computing.saturating_sub(1),
            Change::Starts(index) => open.push(index),
            Change::Ends(index) => open.retain(|it| *it != index),
        }
    }
    idle.add(before, i64::MAX);
    (compute.into_iter().collect(), idle.of_steps)
}

/// Sums up stretches without anything by the steps that they lie in; they come in the order of time.
struct Idle<'s> {
    steps: &'s [StepRow],
    /// The first step that a later stretch can lie in.
    from: usize,
    of_steps: Vec<i64>,
}

impl<'s> Idle<'s> {
    fn new(steps: &'s [StepRow]) -> Self {
        Self { steps, from: 0, of_steps: vec![0; steps.len()] }
    }

    fn add(&mut self, begin: i64, end: i64) {
        let span = |step: &StepRow| {
            let start = step.start_ns.unwrap_or(0);
            (start, start.saturating_add(step.duration_ns))
        };
        while self.steps.get(self.from).is_some_and(|step| span(step).1 <= begin) {
            self.from += 1;
        }
        for (step, idle) in self.steps.iter().zip(&mut self.of_steps).skip(self.from) {
            let (start, stop) = span(step);
            if start >= end {
                break;
            }
            *idle += (end.min(stop) - begin.max(start)).max(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(recording: Recording) -> RankRows {
        derive(recording).0
    }

    fn recording(tasks: &[(i64, i64)], collectives: &[(i64, i64)]) -> Recording {
        let mut recording = Recording::default();
        for &(start_ns, end_ns) in tasks {
            recording.tasks.push(TaskSpan { start_ns, end_ns });
        }
        for (number, &(start, end)) in collectives.iter().enumerate() {
            let name = format!("hcom_allReduce__1_{number}_1");
            recording.collective(&name, 7, 0, start, end - start).expect("a number in its name");
        }
        recording
    }

    #[test]
    fn a_background_transfer_that_ends_under_a_task_holds_nobody_up() {
        // A blocking one until 20 µs, tasks until 90 µs, and a background one that ends at 50 µs.
        let tasks = [(21_500, 60_000), (61_500, 90_000)];
        let rows = derived(recording(&tasks, &[(10_000, 20_000), (15_000, 50_000), (91_000, 95_000)]));
        assert_eq!(rows.collectives[2].pred, Some(0));
        assert_eq!(rows.collectives[2].segment_ns, 71_000);
    }

    #[test]
    fn the_work_before_the_first_collective_counts_from_the_steps_begin() {
        let mut recorded = recording(&[(12_000, 30_000)], &[(31_000, 40_000)]);
        recorded.steps.push(StepRow {
            step: 3,
            start_ns: Some(10_000),
            duration_ns: 40_000,
            preparing_ns: None,
        });
        let rows = derived(recorded);
        assert_eq!((rows.collectives[0].pred, rows.collectives[0].segment_ns), (None, 21_000));
        assert_eq!(rows.finishes, [FinishRow { step: 3, pred: Some(0), segment_ns: 0, end_ns: 40_000 }]);
        assert_eq!(rows.compute_ns, [(3, 18_000)]);
        // Before the first task, between it and the collective, and behind that.
        assert_eq!(rows.idle_ns, [2_000 + 1_000 + 10_000]);
    }

    #[test]
    fn times_that_no_clock_shows_are_dropped_before_they_are_subtracted() {
        let year = crate::read::LONGEST_NS;
        let mut recorded = recording(&[(i64::MIN, i64::MIN + 5), (i64::MAX - 5, i64::MAX)], &[(i64::MAX, 0)]);
        recorded.tasks.push(TaskSpan { start_ns: 10, end_ns: 20 });
        let step = StepRow { step: 1, start_ns: None, duration_ns: year - 1, preparing_ns: Some(i64::MIN) };
        recorded.steps.push(step);
        recorded.steps.extend((0..400).map(|number| StepRow { step: number, preparing_ns: None, ..step }));
        assert_eq!(recorded.drop_impossible(), 2 + 1 + 1);
        let rows = derived(recorded);
        assert_eq!((rows.operators, rows.collectives.len()), (1, 0));
        // A hundred of the longest lead to where no clock gets.
        assert_eq!(rows.steps.len(), 100);
    }

    #[test]
    fn without_tasks_a_table_of_steps_tells_what_was_computed() {
        let mut recorded = recording(&[], &[(10_000, 30_000)]);
        let stated = |computing, free| StatedStep {
            computing: Some(computing),
            exposed: Some(15.0),
            overlapped: Some(5.0),
            free: Some(free),
            preparing: None,
        };
        recorded.stated_step(4, stated(25.0, 10.0));
        let rows = derived(recorded);
        assert_eq!((&rows.compute_ns[..], &rows.idle_ns[..]), (&[(4, 25_000)][..], &[10_000][..]));
        assert_eq!(rows.collectives.iter().map(|row| row.exposed_ns).sum::<i64>(), 15_000);
        // A file may say anything.
        let mut recorded = recording(&[], &[(10_000, 30_000)]);
        recorded.steps.push(StepRow { step: 4, start_ns: None, duration_ns: 50_000, preparing_ns: None });
        recorded.stated.insert(4, stated(1e300, 40.0));
        let rows = derived(recorded);
        assert_eq!((&rows.compute_ns[..], &rows.idle_ns[..]), (&[(4, 10_000)][..], &[40_000][..]));
    }

    #[test]
    fn where_a_table_of_steps_tells_of_more_work_than_its_tasks_are_the_tasks_were_lost() {
        let step = StepRow { step: 4, start_ns: Some(10_000), duration_ns: 90_000, preparing_ns: None };
        let stated = |computing| StatedStep {
            computing: Some(computing),
            exposed: Some(20.0),
            overlapped: Some(0.0),
            free: Some(70.0 - computing),
            preparing: None,
        };
        // Half of what is stated; and as much but for what clocks and rounding take.
        for (computing, expected, lost) in [(60.0, 60_000, 1), (31.0, 30_000, 0)] {
            let mut recorded = recording(&[(20_000, 50_000)], &[(70_000, 90_000)]);
            recorded.steps.push(step);
            recorded.other_steps.insert(4, stated(computing));
            let (rows, steps) = derive(recorded);
            assert_eq!((&rows.compute_ns[..], steps), (&[(4, expected)][..], lost));
        }
    }

    #[test]
    fn tasks_of_steps_whose_begins_are_not_told_are_lost_only_where_all_together_show_too_little() {
        // Two steps of 50 µs, far apart: laid end to end, the second one's task lies behind both.
        let stated = StatedStep {
            computing: Some(30.0),
            exposed: Some(20.0),
            overlapped: Some(0.0),
            free: Some(0.0),
            preparing: None,
        };
        let tasks = [(10_000, 40_000), (910_000, 940_000)];
        for (count, lost) in [(2, 0), (1, 2)] {
            let mut recorded = recording(&tasks[..count], &[(41_000, 60_000), (941_000, 960_000)]);
            recorded.stated_step(4, stated);
            recorded.stated_step(5, stated);
            assert_eq!(derive(recorded).1, lost);
        }
    }

    #[test]
    fn only_time_that_no_task_hides_is_exposed() {
        let rows = derived(recording(&[(20_000, 60_000)], &[(10_000, 100_000)]));
        let row = &rows.collectives[0];
        assert_eq!((row.exposed_ns, row.exposed_start_ns, row.exposed_longest_ns), (50_000, 60_000, 40_000));
    }
}
