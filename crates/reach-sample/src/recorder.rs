//! Makes the tables of a rank's profile of what happened to it.

use crate::clocks::Clocks;
use crate::fault::{Fault, held_up};
use crate::identity::{Identity, OwnGroup};
use crate::layout::Group;
use crate::operations::{Communication, Moment, Operation, Recording, StepTimes, Transfer, Work};
use crate::options::{Damage, Options};
use crate::random::Random;
use crate::simulation::bandwidth;
use crate::tables::{
    Collective, Copy, Input, KernelRow, Launch, LinkTask, LinkUse, Step, Tables, Task, Transport,
};

/// Transfers of a collective beyond these planes have no tasks of their own in a profile.
const PLANES: usize = 15;

/// The frequency of healthy cores, in MHz.
const MEGAHERTZ: f64 = 1_800.0;

impl Tables {
    /// The records of the rank of `identity`, one of those that were kept.
    pub(crate) fn new(options: &Options, clocks: &Clocks, run: &Recording, identity: &Identity) -> Self {
        let rank = identity.rank;
        let operations = &run.operations[options.layout.stage(rank)];
        let mut moments: Vec<&Moment> = run.moments[rank - run.first].iter().collect();
        moments.sort_by(|a, b| a.start.total_cmp(&b.start));
        let is_late = options
            .faults
            .iter()
            .any(|fault| matches!(fault, Fault::LateInput { rank: late, .. } if *late == rank));
        let shift = u32::from(options.is_damaged(rank, Damage::Shifted));
        let mut recorder = Recorder {
            options,
            identity,
            clocks,
            shift,
            held_up: held_up(&options.faults, rank),
            random: Random::new(options.seed.wrapping_mul(1 << 20).wrapping_add(rank as u64 + 1)),
            tables: Self { tokens: run.tokens[rank - run.first], ..Self::default() },
        };
        let mut step_before = None;
        for (number, moment) in moments.iter().enumerate() {
            let operation = &operations[moment.operation as usize];
            // Tasks are launched well before they start, but for the first after a late input, and those of a host that
            // is late with all operators.
            let is_first = step_before.replace(operation.step) != Some(operation.step);
            let is_operator = matches!(operation.work, Work::Compute { .. });
            let is_at_once = is_late && is_first || recorder.held_up > 0.0 && is_operator;
            let lead = if is_at_once { 9_000.0 } else { 150_000.0 };
            recorder.record(number, moment, operation, lead);
        }
        for times in &run.steps[rank - run.first] {
            recorder.step(times, &moments, operations);
        }
        recorder.frequencies();
        recorder.tables
    }
}

/// Fills the tables of one rank.
struct Recorder<'a> {
    options: &'a Options,
    identity: &'a Identity,
    clocks: &'a Clocks,
    /// By how much the numbers of collectives among copies are shifted.
    shift: u32,
    /// By how much its operators are launched late, in nanoseconds.
    held_up: f64,
    random: Random,
    tables: Tables,
}

impl Recorder<'_> {
    fn shown(&self, time: f64) -> i64 {
        self.clocks.shown(self.identity.host, time)
    }

    fn record(&mut self, number: usize, moment: &Moment, operation: &Operation, lead: f64) {
        let connection = 1_000 + number as i64;
        let name = match operation.work {
            Work::Compute { kernel, backward } => kernel.kind(backward),
            Work::Communicate(communication) => communication.transfer.name().to_owned(),
        };
        let held_up = if matches!(operation.work, Work::Compute { .. }) { self.held_up } else { 0.0 };
        self.tables.launches.push(Launch {
            held_up_ns: held_up as i64,
            start_ns: self.shown(moment.start - lead),
            end_ns: self.shown(moment.start - lead + 5_500.0),
            connection,
            name: format!("aten::{}", name.to_lowercase()),
        });
        match operation.work {
            Work::Compute { kernel, backward } => {
                let (kind, step) = (task_kind(kernel.unit), operation.step);
                let task = self.task(moment.start, moment.end, connection, kind, 2, number);
                self.tables.kernels.push(KernelRow { step, task, kernel, backward });
            }
            Work::Communicate(communication) => {
                if let Some(own) = self.identity.group(communication.group) {
                    self.collective(number, moment, operation.step, communication, own);
                }
            }
        }
    }

    fn task(
        &mut self,
        start: f64,
        end: f64,
        connection: i64,
        kind: &'static str,
        stream: usize,
        number: usize,
    ) -> usize {
        let (start_ns, end_ns) = (self.shown(start), self.shown(end));
        // Devices number a stream's tasks with 16 bits.
        let number = (number % 65_536) as i64;
        self.tables.tasks.push(Task { start_ns, end_ns, connection, kind, stream: stream as i64, number });
        self.tables.tasks.len() - 1
    }

    fn collective(&mut self, number: usize, moment: &Moment, step: u32, what: Communication, own: &OwnGroup) {
        let connection = 1_000 + number as i64;
        let shift = if what.group == Group::Data { self.shift } else { 0 };
        let digits = &own.hash[own.hash.len().saturating_sub(3)..];
        let begin = moment.begin.min(moment.end);
        let peers: Vec<usize> = if what.transfer.is_between_two() {
            vec![what.peer_stage]
        } else {
            (0..own.members.len()).filter(|place| *place != own.own_place).collect()
        };
        let mut collective = Collective {
            step,
            name: format!("hcom_{}__{digits}_{}_1", what.transfer.name(), what.number + shift),
            group: what.group,
            transfer: what.transfer,
            start_ns: self.shown(moment.start),
            end_ns: self.shown(moment.end),
            connection,
            size: what.size as i64,
            wait: begin - moment.start,
            transit: moment.end - begin,
            links: Vec::with_capacity(peers.len() + 1),
            link_tasks: Vec::with_capacity(2 * peers.len().min(PLANES)),
        };
        for (plane, peer) in peers.into_iter().enumerate() {
            let other = own.members[peer];
            let is_near = self.options.host(other) == self.identity.host;
            let transport = if is_near { Transport::Hccs } else { Transport::Rdma };
            let receives = what.transfer == Transfer::Receive;
            let (from, to) = if receives { (other, self.identity.rank) } else { (self.identity.rank, other) };
            let (source, target) = if receives { (peer, own.own_place) } else { (own.own_place, peer) };
            let speed = bandwidth(self.options, &self.options.faults, from, to);
            let duration = what.link / speed * moment.noise * (1.0 + 0.004 * self.random.uniform());
            collective.links.push(LinkUse { source, target, transport, bytes: what.link, duration });
            if plane < PLANES {
                let copied = moment.end.min(begin + duration);
                let waited = begin.max(moment.start + 20.0);
                let stream = 40 + plane;
                let wait = self.task(moment.start, waited, connection, "EVENT_WAIT", stream, number);
                let copy = self.task(begin, copied, connection, "SDMA", stream, number);
                for (task, bytes) in [(wait, 0), (copy, what.link as i64)] {
                    collective.link_tasks.push(LinkTask { task, plane, peer, transport, bytes });
                }
            }
        }
        if !what.transfer.is_between_two() {
            let (source, target) = (own.own_place, own.own_place);
            let (bytes, duration) = (what.link, what.link / 480.0);
            collective.links.push(LinkUse { source, target, transport: Transport::Local, bytes, duration });
        }
        self.tables.collectives.push(collective);
    }

    fn step(&mut self, times: &StepTimes, moments: &[&Moment], operations: &[Operation]) {
        let work = |moment: &Moment| operations[moment.operation as usize].work;
        let of: Vec<&Moment> = moments
            .iter()
            .copied()
            .filter(|moment| operations[moment.operation as usize].step == times.step)
            .collect();
        let covered = |is_meant: &dyn Fn(Work) -> bool| {
            covered(
                of.iter().filter(|moment| is_meant(work(moment))).map(|moment| (moment.start, moment.end)),
            )
        };
        let computing = covered(&|work| matches!(work, Work::Compute { .. }));
        let communication = covered(&|work| matches!(work, Work::Communicate(_)));
        let receiving =
            covered(&|work| matches!(work, Work::Communicate(what) if what.transfer == Transfer::Receive));
        let both = covered(&|_| true);
        let (exposed, overlapped) = (both - computing, computing + communication - both);
        // Free time and the stage begin with the first task, up to which the step is prepared.
        let preparing = of.first().map_or(0.0, |first| first.start - times.begin);
        let free = times.end - times.begin - preparing - both;
        let stage = computing + exposed + free - receiving;
        let parts = [
            computing,
            exposed,
            overlapped,
            communication,
            free,
            stage,
            receiving,
            exposed - receiving,
            preparing,
        ];
        let (start_ns, end_ns) = (self.shown(times.begin), self.shown(times.end));
        self.tables.steps.push(Step { number: times.step, start_ns, end_ns, parts });

        let start_ns = self.shown(times.begin + 350_000.0);
        self.tables.inputs.push(Input { start_ns, end_ns: self.shown(times.ready).max(start_ns + 60_000) });
        // Behind the connections of all operations.
        let connection = 1_000 + (moments.len() + self.tables.copies.len()) as i64;
        let (begin, end) = (times.begin + 20_000.0, times.begin + 140_000.0);
        let task = self.task(begin, end, connection, "MEMCPY_ASYNC", 3, 0);
        let call = self.tables.tasks[task].start_ns;
        self.tables.copies.push(Copy {
            task,
            call_start_ns: call - 30_000,
            call_end_ns: call - 10_000,
            connection,
        });
    }

    fn frequencies(&mut self) {
        let slow = self.options.faults.iter().filter_map(|fault| match fault {
            Fault::LowFrequency { rank, factor } if *rank == self.identity.rank => Some(*factor),
            _ => None,
        });
        let megahertz = (MEGAHERTZ / slow.product::<f64>()).round() as i64;
        let steps = &self.tables.steps;
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return };
        let (first, last) = (first.start_ns, last.end_ns);
        self.tables.frequencies = (0..8).map(|part| (first + (last - first) * part / 7, megahertz)).collect();
    }
}

/// The kind of a task on a unit.
fn task_kind(unit: &str) -> &'static str {
    match unit {
        "AI_CORE" => "KERNEL_AICORE",
        "AI_VECTOR_CORE" => "KERNEL_AIVEC",
        "MIX_AIC" => "KERNEL_MIX_AIC",
        _ => "KERNEL_AICPU",
    }
}

/// How much time intervals cover that are sorted by their begin.
fn covered(intervals: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut until) = (0.0, f64::NEG_INFINITY);
    for (start, end) in intervals {
        if end > until {
            sum += end - start.max(until);
            until = end;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::covered;
    use crate::clocks::Clocks;
    use crate::identity::Identity;
    use crate::layout::Layout;
    use crate::options::{ClockErrors, Options};
    use crate::simulation::simulate;
    use crate::tables::Tables;

    fn tables(options: &Options, rank: usize) -> Tables {
        let ranks = options.layout.ranks();
        let run = simulate(options, &options.faults, 0..ranks);
        Tables::new(options, &Clocks::new(options), &run, &Identity::new(options, rank))
    }

    #[test]
    fn covered_time_counts_once_what_overlaps() {
        let intervals = [(0.0, 10.0), (2.0, 5.0), (8.0, 12.0), (20.0, 21.0)];
        assert_eq!(covered(intervals.into_iter()), 13.0);
    }

    #[test]
    fn clocks_shift_nothing_but_times() {
        let options = |clocks| Options { clocks, steps: 1, ..Options::new(Layout::of(32).unwrap()) };
        let right = options(ClockErrors::None);
        let far = options(ClockErrors::Far);
        // The host in the middle of four is the one that is 73 s ahead.
        for (rank, ahead) in [(3, 0), (17, 73_000_000_000)] {
            let (right, far) = (tables(&right, rank), tables(&far, rank));
            assert_eq!(
                (right.tasks.len(), right.collectives.len()),
                (far.tasks.len(), far.collectives.len())
            );
            for (a, b) in right.tasks.iter().zip(&far.tasks) {
                assert_eq!((a.connection, a.kind, a.stream), (b.connection, b.kind, b.stream));
                // Five millionths of a step are some microseconds; offsets are some milliseconds.
                assert!(((a.end_ns - a.start_ns) - (b.end_ns - b.start_ns)).abs() < 5_000);
                assert!((b.start_ns - a.start_ns - ahead).abs() < 15_000_000 && a.start_ns != b.start_ns);
            }
            for (a, b) in right.collectives.iter().zip(&far.collectives) {
                assert_eq!((&a.name, a.wait, a.transit), (&b.name, b.wait, b.transit));
            }
            for (a, b) in right.steps.iter().zip(&far.steps) {
                assert_eq!(a.parts, b.parts);
            }
        }
    }

    #[test]
    fn the_parts_of_a_step_sum_to_it() {
        let options = Options::new(Layout::of(8).unwrap());
        for rank in 0..8 {
            let tables = tables(&options, rank);
            assert_eq!(tables.steps.len(), 2);
            for step in &tables.steps {
                let [computing, exposed, overlapped, communication, free, _, _, _, preparing] = step.parts;
                let whole = (step.end_ns - step.start_ns) as f64;
                let sum = computing + exposed + free + preparing;
                assert!((sum - whole).abs() < whole * 1e-4, "{rank}: {step:?}");
                assert!((exposed + overlapped - communication).abs() < 1.0);
                assert!(step.parts.iter().all(|part| *part >= 0.0), "{rank}: {step:?}");
            }
        }
    }
}
