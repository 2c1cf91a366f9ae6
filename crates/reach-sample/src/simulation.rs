//! A cluster that trains a mixture of experts, simulated: who computes when, and who waits for whom.
//!
//! Times are nanoseconds of one true clock. All ranks are simulated together, operator by operator, with one
//! number of state each; what happened is kept only of those ranks that are asked for. So a collection of any
//! number of ranks is made in the same memory, by simulating anew for each block of them.

use std::ops::Range;

use crate::fault::{Fault, held_up};
use crate::kernels::{ATTENTION, EXPERTS, GATING, Kernel, ON_AI_CPU, OPTIMIZER, RESIDUAL};
use crate::layout::{Group, Layout};
use crate::operations::{Communication, Moment, Operation, Recording, StepTimes, Transfer, Work};
use crate::options::Options;
use crate::random::{Random, exponential};

/// Bytes a nanosecond between devices of one host, and of different ones.
const WITHIN_HOST: f64 = 18.0;
const BETWEEN_HOSTS: f64 = 11.0;

/// Bytes of a micro-batch's activations.
const ACTIVATION: f64 = 4_096.0 * 2_048.0 * 2.0;

/// The number of the first step.
const FIRST_STEP: u32 = 10;

/// How many operations a rank has in a run, at most; a send or receive counts as one for each micro-batch.
pub(crate) fn operations_of(options: &Options) -> usize {
    let layer = ATTENTION.len() + GATING.len() + EXPERTS.len() + RESIDUAL.len() + 5;
    let batches = 2 * options.microbatches * (options.layers * layer + 2);
    options.steps.saturating_mul(batches + options.layers + 2)
}

/// Bytes a nanosecond from rank to rank.
pub(crate) fn bandwidth(options: &Options, faults: &[Fault], a: usize, b: usize) -> f64 {
    let usual = if options.host(a) == options.host(b) { WITHIN_HOST } else { BETWEEN_HOSTS };
    let part = faults.iter().filter_map(|fault| match fault {
        Fault::SlowLink { from, to, factor } if (*from, *to) == (a, b) => Some(*factor),
        _ => None,
    });
    part.fold(usual, |speed, factor| speed * factor)
}

/// Simulates a run with the faults, and keeps what happened to some ranks.
pub(crate) fn simulate(options: &Options, faults: &[Fault], ranks: Range<usize>) -> Recording {
    let mut cluster = Cluster::new(options, faults, ranks);
    for step in 0..options.steps {
        cluster.step(FIRST_STEP + step as u32);
    }
    cluster.recording.duration = cluster.now.iter().copied().fold(0.0, f64::max);
    cluster.recording
}

/// The state of all ranks.
struct Cluster<'a> {
    options: &'a Options,
    faults: &'a [Fault],
    layout: Layout,
    ranks: Range<usize>,
    random: Random,
    /// How many times as long each rank computes.
    speed: Vec<f64>,
    tokens: Vec<f64>,
    /// By how much the operators of each rank are launched late.
    held_up: Vec<f64>,
    /// When each rank's main stream, and that of transfers in the background, is done.
    now: Vec<f64>,
    background: Vec<f64>,
    /// Bytes a nanosecond of the slowest link of each group: by kind, then stage and number.
    slowest: Vec<(Group, Vec<f64>)>,
    /// How many collectives there were, by kind, then stage.
    numbers: Vec<(Group, Vec<u32>)>,
    transfers_between_stages: u32,
    current_step: u32,
    /// How many times as long everything takes in this step.
    pace: f64,
    recording: Recording,
    /// By place in the stage.
    starts: Vec<f64>,
    /// By group of the stage: the last start, and the sum of noise.
    last_start: Vec<f64>,
    noise: Vec<f64>,
}

impl<'a> Cluster<'a> {
    fn new(options: &'a Options, faults: &'a [Fault], ranks: Range<usize>) -> Self {
        let layout = options.layout;
        let count = layout.ranks();
        let mut random = Random::new(options.seed);
        let mut speed: Vec<f64> = (0..count).map(|_| 1.0 + 0.004 * random.normal()).collect();
        let mut tokens: Vec<f64> = (0..count).map(|_| 1.0 + 0.02 * random.normal()).collect();
        for fault in faults {
            match *fault {
                Fault::LowFrequency { rank, factor } => speed[rank] *= factor,
                Fault::MoreTokens { rank, factor } => {
                    // Tokens that one gets more are those that the others of its group get less.
                    let size = layout.expert as f64;
                    let own = factor.min(0.9 * size);
                    for member in layout.members(Group::Expert, rank) {
                        tokens[member] *= if member == rank { own } else { (size - own) / (size - 1.0) };
                    }
                }
                _ => {}
            }
        }
        let kinds = [Group::Tensor, Group::Data, Group::Expert];
        let kept = ranks.len();
        let recording = Recording {
            first: ranks.start,
            operations: vec![Vec::new(); layout.pipeline],
            moments: vec![Vec::new(); kept],
            steps: vec![Vec::with_capacity(options.steps); kept],
            tokens: tokens[ranks.clone()].to_vec(),
            duration: 0.0,
        };
        Self {
            options,
            faults,
            layout,
            ranks,
            random,
            speed,
            tokens,
            held_up: (0..count).map(|rank| held_up(faults, rank)).collect(),
            now: vec![0.0; count],
            background: vec![0.0; count],
            slowest: kinds.map(|group| (group, slowest_links(options, faults, group))).to_vec(),
            numbers: kinds.map(|group| (group, vec![0; layout.pipeline])).to_vec(),
            transfers_between_stages: 0,
            current_step: 0,
            pace: 1.0,
            recording,
            starts: vec![0.0; layout.stage_ranks()],
            last_start: Vec::new(),
            noise: Vec::new(),
        }
    }

    /// The ranks of a stage.
    fn stage(&self, stage: usize) -> Range<usize> {
        stage * self.layout.stage_ranks()..(stage + 1) * self.layout.stage_ranks()
    }

    fn step(&mut self, step: u32) {
        self.current_step = step;
        self.pace = if step == FIRST_STEP { self.options.warm_up } else { 1.0 };
        let begin = self.now.clone();
        for rank in 0..self.now.len() {
            self.now[rank] += 350_000.0 * self.pace;
            self.background[rank] = self.now[rank];
        }
        for fault in self.faults {
            if let Fault::LateInput { rank, microseconds } = *fault {
                self.now[rank] += microseconds * 1_000.0 * self.pace;
            }
        }
        let ready = self.now.clone();
        for _ in 0..self.options.microbatches {
            for stage in 0..self.layout.pipeline {
                if stage > 0 {
                    self.send(stage - 1, stage);
                }
                for _ in 0..self.options.layers {
                    self.layer(stage, false);
                }
            }
        }
        for microbatch in 0..self.options.microbatches {
            for stage in (0..self.layout.pipeline).rev() {
                if stage + 1 < self.layout.pipeline {
                    self.send(stage + 1, stage);
                }
                for _ in 0..self.options.layers {
                    self.layer(stage, true);
                    if microbatch + 1 == self.options.microbatches {
                        let size = 36e6 * self.layout.data as f64;
                        self.collective(stage, Group::Data, Transfer::ReduceScatter, size, true);
                    }
                }
            }
        }
        for stage in 0..self.layout.pipeline {
            for rank in self.stage(stage) {
                self.now[rank] = self.now[rank].max(self.background[rank]);
            }
            self.compute(stage, &OPTIMIZER, false);
            let size = 72e6 * self.layout.data as f64;
            self.collective(stage, Group::Data, Transfer::AllGather, size, false);
        }
        for rank in self.ranks.clone() {
            let times = StepTimes { step, begin: begin[rank], ready: ready[rank], end: self.now[rank] };
            self.recording.steps[rank - self.ranks.start].push(times);
        }
    }

    fn layer(&mut self, stage: usize, backward: bool) {
        self.compute(stage, &ATTENTION, backward);
        self.collective(stage, Group::Tensor, Transfer::AllReduce, ACTIVATION, false);
        self.compute(stage, &GATING, backward);
        self.compute_on_ai_cpu(stage, backward);
        self.collective(stage, Group::Expert, Transfer::AllToAll, ACTIVATION, false);
        self.compute(stage, &EXPERTS, backward);
        self.collective(stage, Group::Expert, Transfer::AllToAll, ACTIVATION, false);
        self.collective(stage, Group::Tensor, Transfer::AllReduce, ACTIVATION, false);
        self.compute(stage, &RESIDUAL, backward);
    }

    fn compute(&mut self, stage: usize, kernels: &'static [Kernel], backward: bool) {
        for kernel in kernels {
            let operation = self.note(stage, Work::Compute { kernel, backward });
            let usual = kernel.microseconds * 1_000.0 * if backward { 2.0 } else { 1.0 };
            for rank in self.stage(stage) {
                let noise = exponential(0.01 * self.random.normal());
                let gap = 1_200.0 + 400.0 * self.random.uniform() + self.held_up[rank];
                let tokens = if kernel.is_by_tokens() { self.tokens[rank] } else { 1.0 };
                let start = self.now[rank] + gap * self.pace;
                let end = start + usual * self.speed[rank] * noise * tokens * self.pace;
                self.now[rank] = end;
                self.keep(rank, Moment { operation, noise: 1.0, start, begin: start, end });
            }
        }
    }

    fn compute_on_ai_cpu(&mut self, stage: usize, backward: bool) {
        for fault in self.faults {
            let Fault::AiCpu { rank, microseconds } = *fault else { continue };
            if self.layout.stage(rank) == stage {
                let operation = self.note(stage, Work::Compute { kernel: &ON_AI_CPU, backward });
                let start = self.now[rank] + 3_000.0 * self.pace;
                let end = start + microseconds * 1_000.0 * self.pace;
                self.now[rank] = end;
                self.keep(rank, Moment { operation, noise: 1.0, start, begin: start, end });
            }
        }
    }

    /// A collective of all groups of a kind within a stage. All links of a group work at the same time, and the
    /// slowest one ends it.
    fn collective(&mut self, stage: usize, group: Group, transfer: Transfer, size: f64, in_background: bool) {
        let count = self.layout.size(group);
        let Some(kind) = self.slowest.iter().position(|(of, _)| *of == group).filter(|_| count > 1) else {
            return;
        };
        let link = size * if transfer == Transfer::AllReduce { 2.0 } else { 1.0 } / count as f64;
        let number = self.numbers[kind].1[stage];
        self.numbers[kind].1[stage] += 1;
        let communication = Communication { group, transfer, size, link, number, peer_stage: stage };
        let operation = self.note(stage, Work::Communicate(communication));

        let groups = self.layout.groups(group);
        self.last_start.clear();
        self.last_start.resize(groups, 0.0);
        self.noise.clear();
        self.noise.resize(groups, 0.0);
        let ranks = self.stage(stage);
        for (place, rank) in ranks.clone().enumerate() {
            let clock =
                if in_background { self.background[rank].max(self.now[rank]) } else { self.now[rank] };
            let own = self.layout.group_of(group, place);
            self.starts[place] = clock + 900.0;
            self.last_start[own] = self.last_start[own].max(self.starts[place]);
            self.noise[own] += 0.02 * self.random.normal();
        }
        for (place, rank) in ranks.enumerate() {
            let own = self.layout.group_of(group, place);
            let (start, begin) = (self.starts[place], self.last_start[own]);
            let noise = exponential(self.noise[own] / count as f64) * self.pace;
            let speed = self.slowest[kind].1[stage * groups + own];
            let end = begin + 12_000.0 + link / speed * noise + 600.0 * self.random.uniform();
            if in_background {
                self.background[rank] = end;
            } else {
                self.now[rank] = end;
            }
            self.keep(rank, Moment { operation, noise, start, begin, end });
        }
    }

    /// Activations or gradients go from every rank of a stage to the same place of another.
    fn send(&mut self, source: usize, target: usize) {
        let number = self.transfers_between_stages;
        self.transfers_between_stages += 1;
        let side = |transfer, peer_stage| {
            let (group, size, link) = (Group::Pipeline, ACTIVATION, ACTIVATION);
            Work::Communicate(Communication { group, transfer, size, link, number, peer_stage })
        };
        let sends = self.note(source, side(Transfer::Send, target));
        let receives = self.note(target, side(Transfer::Receive, source));
        for (from, to) in self.stage(source).zip(self.stage(target)) {
            let begin = self.now[from].max(self.now[to]) + 900.0;
            let link = ACTIVATION / bandwidth(self.options, self.faults, from, to);
            let end = begin + (15_000.0 + link) * self.pace;
            for (rank, operation) in [(from, sends), (to, receives)] {
                let start = self.now[rank] + 900.0;
                let end = end + 300.0 * self.random.uniform();
                self.now[rank] = end;
                self.keep(rank, Moment { operation, noise: self.pace, start, begin, end });
            }
        }
    }

    /// Notes what a stage does, where one of its ranks is kept; gives the place in the list.
    fn note(&mut self, stage: usize, work: Work) -> u32 {
        let ranks = self.stage(stage);
        let operations = &mut self.recording.operations[stage];
        if ranks.start < self.ranks.end && self.ranks.start < ranks.end {
            operations.push(Operation { step: self.current_step, work });
        }
        operations.len().saturating_sub(1) as u32
    }

    #[inline]
    fn keep(&mut self, rank: usize, moment: Moment) {
        if self.ranks.contains(&rank) {
            self.recording.moments[rank - self.ranks.start].push(moment);
        }
    }
}

/// The bandwidth of the slowest link of each group of a kind, by stage and number.
fn slowest_links(options: &Options, faults: &[Fault], group: Group) -> Vec<f64> {
    let layout = &options.layout;
    let groups = layout.groups(group);
    let mut slowest = vec![WITHIN_HOST; groups * layout.pipeline];
    let mut first = vec![None; slowest.len()];
    let place =
        |rank: usize| layout.stage(rank) * groups + layout.group_of(group, rank % layout.stage_ranks());
    for rank in 0..layout.ranks() {
        let own = place(rank);
        if options.host(*first[own].get_or_insert(rank)) != options.host(rank) {
            slowest[own] = BETWEEN_HOSTS;
        }
    }
    for fault in faults {
        if let Fault::SlowLink { from, to, .. } = *fault
            && layout.stage(from) == layout.stage(to)
            && place(from) == place(to)
        {
            slowest[place(from)] = slowest[place(from)].min(bandwidth(options, faults, from, to));
        }
    }
    slowest
}

#[cfg(test)]
mod tests {
    use super::simulate;
    use crate::fault::{Fault, default_faults};
    use crate::layout::Layout;
    use crate::operations::Recording;
    use crate::options::Options;

    fn options(ranks: usize) -> Options {
        Options { steps: 1, ..Options::new(Layout::of(ranks).unwrap()) }
    }

    #[test]
    fn ranks_do_one_thing_at_a_time_and_wait_for_the_last_of_their_group() {
        let options = options(16);
        let run = simulate(&options, &options.faults, 0..16);
        for (rank, moments) in run.moments.iter().enumerate() {
            assert!(moments.len() > 500, "{rank}: {}", moments.len());
            for moment in moments {
                assert!(moment.start <= moment.begin && moment.begin < moment.end, "{rank}: {moment:?}");
            }
        }
    }

    #[test]
    fn a_first_step_that_is_longer_for_everybody_leaves_the_others_as_they_are() {
        let lengths = |warm_up: f64| {
            // Of several stages the first ones begin the next step before the last ones end this one.
            let layout = "tp=2,pp=1,dp=4,ep=1".parse().unwrap();
            let options = Options { steps: 3, warm_up, ..Options::new(layout) };
            let run = simulate(&options, &[], 0..8);
            run.steps
                .into_iter()
                .map(|of_rank| of_rank.iter().map(|it| it.end - it.begin).collect())
                .collect::<Vec<Vec<f64>>>()
        };
        for (usual, longer) in lengths(1.0).iter().zip(lengths(1.8)) {
            let times: Vec<f64> = usual.iter().zip(longer).map(|(usual, longer)| longer / usual).collect();
            assert!((times[0] - 1.8).abs() < 0.05, "{times:?}");
            assert!(times[1..].iter().all(|it| (it - 1.0).abs() < 0.05), "{times:?}");
        }
    }

    #[test]
    fn blocks_of_ranks_are_parts_of_the_same_run() {
        let options = options(16);
        let all = simulate(&options, &options.faults, 0..16);
        for block in [0..5, 5..11, 11..16] {
            let part = simulate(&options, &options.faults, block.clone());
            let times = |run: &Recording, rank: usize| -> Vec<(f64, f64)> {
                run.moments[rank - run.first].iter().map(|moment| (moment.start, moment.end)).collect()
            };
            block.for_each(|rank| assert_eq!(times(&part, rank), times(&all, rank), "{rank}"));
        }
    }

    #[test]
    fn removing_a_fault_never_lengthens_the_run() {
        for (ranks, seed) in [(8, 1), (16, 2), (32, 3), (64, 4)] {
            let options = Options { seed, ..options(ranks) };
            // More tokens of one rank are fewer of others, so that fault is judged by its own test.
            let mut faults = default_faults(&options.layout);
            faults.retain(|fault| !matches!(fault, Fault::MoreTokens { .. }));
            while !faults.is_empty() {
                let with = simulate(&options, &faults, 0..0).duration;
                for without in 0..faults.len() {
                    let mut others = faults.clone();
                    others.remove(without);
                    let duration = simulate(&options, &others, 0..0).duration;
                    assert!(duration <= with, "{ranks} ranks without {}: {duration} {with}", faults[without]);
                }
                faults.pop();
            }
        }
    }

    #[test]
    fn more_tokens_on_one_rank_are_fewer_on_the_others_of_its_group() {
        let options = options(64);
        let hot = Fault::MoreTokens { rank: 5, factor: 2.0 };
        let (usual, run) = (simulate(&options, &[], 0..64), simulate(&options, &[hot], 0..64));
        let sum = |run: &Recording| -> f64 { run.tokens.iter().sum() };
        assert!((sum(&run) / sum(&usual) - 1.0).abs() < 0.01);
        assert!((run.tokens[5] / usual.tokens[5] - 2.0).abs() < 1e-12 && run.tokens[1] < usual.tokens[1]);
        assert!(run.duration > usual.duration);
    }

    #[test]
    fn a_kept_range_of_no_rank_keeps_nothing_and_lasts_as_long() {
        let options = options(8);
        let (nothing, all) = (simulate(&options, &[], 0..0), simulate(&options, &[], 0..8));
        assert!(nothing.operations.iter().all(Vec::is_empty));
        assert_eq!(nothing.duration, all.duration);
    }
}
