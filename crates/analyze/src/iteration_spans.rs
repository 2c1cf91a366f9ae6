//! The span by which each iteration is judged, and the part of it in which operators ran.
//!
//! A profile tells when an iteration began and ended. In most that holds all that ran in it. In others (`ProfilerStep#`
//! of PyTorch's) it is the host's: the host launches the work of a step and goes on to the next, while the device is
//! still at the step before. A duration of the one is then no whole of which the other's busy time is a part. There a
//! step is the device's: it begins when the step before has ended, and ends when the host has left it and all that it
//! launched has run. The steps of a device that is never done before its host follow one another without gaps.

use opscope_columns::Column;
use opscope_trace::{IterationId, Nanoseconds, Trace};

use crate::cover::Span;
use crate::scope::is_work;
use crate::statistics::Statistics;

/// The part of the work's time that may end after its iteration before the recorded spans are taken for the host's:
/// clocks of host and device are only so exact.
const LATE_PART: i128 = 100;

/// The clock hands by which the iterations of a profile begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpanBasis {
    /// As they were recorded.
    #[default]
    Recorded,
    /// As the device ran them, while their host was ahead.
    Device,
    /// From when the host began one until all of it had run, because the recorded ones lie across one another.
    HostAndDevice,
}

/// The spans of all iterations of a profile.
#[derive(Clone, Debug, Default)]
pub struct IterationSpans {
    basis: SpanBasis,
    /// By iteration.
    spans: Vec<Span>,
    /// The iterations in the order in which they began.
    order: Vec<u32>,
}

/// The first begin and the last end of the work of an iteration.
type Extent = Option<Span>;

impl IterationSpans {
    /// Looks at all iterations of a trace.
    pub fn of(trace: &Trace) -> Self {
        let (starts, durations) = (trace.iterations.start(), trace.iterations.duration());
        let recorded: Vec<Span> =
            starts.iter().zip(durations).map(|(start, duration)| (*start, *start + *duration)).collect();
        let mut order: Vec<u32> = (0..recorded.len() as u32).collect();
        order.sort_by_key(|index| recorded[*index as usize]);
        let mut extents: Vec<Extent> = vec![None; recorded.len()];
        let (mut late, mut whole) = (0_i128, 0_i128);
        let tasks = &trace.tasks;
        let times =
            tasks.start().iter().zip(tasks.duration()).zip(tasks.unit()).zip(tasks.iteration().iter());
        for (((start, duration), unit), iteration) in times {
            let Some(iteration) = iteration.filter(|_| is_work(*unit)) else { continue };
            let end = *start + *duration;
            let extent = &mut extents[iteration.index()];
            *extent = Some(extent.map_or((*start, end), |(first, last)| (first.min(*start), last.max(end))));
            whole += i128::from(duration.0);
            late += i128::from((end - recorded[iteration.index()].1.max(*start)).0.max(0));
        }
        if !trace.run.layer_times.is_placed() || late * LATE_PART <= whole {
            return Self { basis: SpanBasis::Recorded, spans: recorded, order };
        }
        let (basis, spans) = match follow(&recorded, &order) {
            true => (SpanBasis::Device, of_device(&recorded, &extents, &order)),
            false => (SpanBasis::HostAndDevice, of_both(&recorded, &extents)),
        };
        Self { basis, spans, order }
    }

    /// By which clock hands the iterations begin and end.
    pub fn basis(&self) -> SpanBasis {
        self.basis
    }

    /// The span of an iteration; none for one of another trace.
    pub fn span(&self, iteration: IterationId) -> (Nanoseconds, Nanoseconds) {
        self.spans.get(iteration.index()).copied().unwrap_or_default()
    }

    /// How long an iteration takes.
    pub fn duration(&self, iteration: IterationId) -> Nanoseconds {
        let (start, end) = self.span(iteration);
        end - start
    }

    /// By iteration, the time within its span in which at least one of some tasks ran: of its own, and where
    /// iterations are as the device ran them, of any, because the device doesn't idle while it is at another's. Never
    /// more than its duration.
    pub(crate) fn busy(&self, trace: &Trace, tasks: impl Iterator<Item = u32>) -> Vec<Nanoseconds> {
        let spans = tasks.filter_map(|row| {
            let row = row as usize;
            let iteration = trace.tasks.iteration()[row]?;
            let start = trace.tasks.start()[row];
            let lane = if self.basis == SpanBasis::Device { 0 } else { iteration.index() as u32 };
            Some((lane, (start, start + trace.tasks.duration()[row])))
        });
        let mut spans: Column<(u32, Span)> = spans.collect();
        // A sort of rows that are in order already costs a look at each.
        spans.sort_unstable();
        let mut busy = vec![Nanoseconds::ZERO; self.spans.len()];
        if self.basis == SpanBasis::Device {
            // The spans follow one another, so that none before the last one that was reached has more.
            let mut next = 0;
            for (begin, end) in merged(spans.iter().map(|(_, span)| *span)) {
                while let Some(&place) = self.order.get(next) {
                    let (from, to) = self.spans[place as usize];
                    busy[place as usize] += (end.min(to) - begin.max(from)).max(Nanoseconds::ZERO);
                    if to >= end {
                        break;
                    }
                    next += 1;
                }
            }
            return busy;
        }
        for of_one in spans.chunk_by(|a, b| a.0 == b.0) {
            let place = of_one[0].0 as usize;
            let (from, to) = self.spans[place];
            let within = merged(of_one.iter().map(|(_, span)| *span));
            busy[place] =
                within.map(|(begin, end)| (end.min(to) - begin.max(from)).max(Nanoseconds::ZERO)).sum();
        }
        busy
    }
}

/// Whether recorded spans follow one another, but for the rounding of their times.
fn follow(recorded: &[Span], order: &[u32]) -> bool {
    order.windows(2).all(|pair| {
        let ((start, end), (next, next_end)) = (recorded[pair[0] as usize], recorded[pair[1] as usize]);
        let shorter = (end - start).min(next_end - next);
        i128::from((end - next).0) * LATE_PART <= i128::from(shorter.0)
    })
}

/// The spans of the device, which has done what one iteration launched before it is at the next.
fn of_device(recorded: &[Span], extents: &[Extent], order: &[u32]) -> Vec<Span> {
    let mut spans = recorded.to_vec();
    let mut done = Nanoseconds(i64::MIN);
    // How long after the host the device began each iteration but the first.
    let mut lags: Vec<Nanoseconds> = Vec::new();
    for place in order.iter().map(|place| *place as usize) {
        let (start, end) = recorded[place];
        let end = extents[place].map_or(end, |(_, last)| end.max(last));
        if done.0 != i64::MIN {
            lags.push((done - start).max(Nanoseconds::ZERO));
        }
        let start = start.max(done);
        spans[place] = (start, end.max(start));
        done = spans[place].1;
    }
    // Of the device before the first iteration's work nothing is known. Where it usually is so far behind, it was at an
    // earlier one's, which wasn't recorded; else the host was late.
    let first = order.first().map(|place| *place as usize);
    if let (Some(first), Some(lag)) = (first, Statistics::of(lags).map(|lags| lags.median))
        && let Some((begun, _)) = extents[first]
        && (Nanoseconds::ZERO..=lag).contains(&(begun - spans[first].0))
    {
        spans[first].0 = begun;
    }
    spans
}

fn of_both(recorded: &[Span], extents: &[Extent]) -> Vec<Span> {
    let both = |((start, end), extent): (&Span, &Extent)| match extent {
        Some((first, last)) => ((*start).min(*first), (*end).max(*last)),
        None => (*start, *end),
    };
    recorded.iter().zip(extents).map(both).collect()
}

/// Spans that are sorted by start, those that touch as one.
fn merged(spans: impl Iterator<Item = Span>) -> impl Iterator<Item = Span> {
    let mut spans = spans.filter(|(start, end)| start < end).peekable();
    std::iter::from_fn(move || {
        let (start, mut end) = spans.next()?;
        while let Some((_, further)) = spans.next_if(|(next, _)| *next <= end) {
            end = end.max(further);
        }
        Some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column as QueryColumn, *};
    use opscope_trace::{Device, DeviceKind, Iteration, Stream, Task};

    /// Iterations as the host recorded them, and tasks: the stream, the iteration's place, begin and end.
    fn trace(iterations: &[(i64, i64)], tasks: &[(usize, usize, i64, i64)]) -> Trace {
        let mut trace = Trace::new();
        let name = trace.strings.intern("kernel");
        let device = trace.devices.push(Device { kind: DeviceKind::Gpu, number: 0, name });
        let streams = [0, 1].map(|number| trace.streams.push(Stream { device, number, name, thread: None }));
        let ids: Vec<IterationId> = iterations
            .iter()
            .zip(1..)
            .map(|((start, end), number)| {
                let (start, duration) = (Nanoseconds(*start), Nanoseconds(end - start));
                trace.iterations.push(Iteration { model: None, number, warm_up: false, start, duration })
            })
            .collect();
        for (stream, iteration, start, end) in tasks {
            let task = Task::new(name, Nanoseconds(*start), Nanoseconds(end - start));
            let (stream, iteration) = (Some(streams[*stream]), Some(ids[*iteration]));
            trace.tasks.push(Task { stream, iteration, ..task });
        }
        trace
    }

    fn spans(trace: &Trace) -> Vec<(i64, i64)> {
        let found = IterationSpans::of(trace);
        trace.iterations.ids().map(|id| found.span(id)).map(|(start, end)| (start.0, end.0)).collect()
    }

    /// Every way in which iterations are shown has a busy time that is no more than the wall time, and as an answer to
    /// all of them together the union of what ran.
    fn conserves(trace: &Trace) -> (i64, i64) {
        let of = |iterations| {
            let scope = Scope { iterations, ..Scope::default() };
            let overview = Overview::of(trace, scope).unwrap();
            assert_eq!(overview.busy + overview.idle(), overview.wall);
            assert!(overview.busy.0 >= 0 && overview.idle().0 >= 0, "{iterations:?}: {overview:?}");
            assert!(overview.devices.iter().all(|device| device.busy <= overview.busy));
            overview
        };
        let measured = of(Iterations::Measured);
        of(Iterations::All);
        let count = trace.iterations.len() as u32;
        let alone = (1..=count).map(|number| of(Iterations::Numbers(number, number)));
        let (wall, busy) = alone.fold((0, 0), |sum, it| (sum.0 + it.wall.0, sum.1 + it.busy.0));
        assert_eq!((wall / i64::from(count), busy / i64::from(count)), (measured.wall.0, measured.busy.0));
        let rows = Query { group_by: GroupBy::Iteration, ..Query::default() }.run(trace).unwrap().rows;
        let walls: i64 = rows.iter().filter_map(|row| row.wall).map(|wall| wall.0).sum();
        assert_eq!(walls, wall);
        assert!(rows.iter().all(|row| QueryColumn::Wall.of(trace, row) == Cell::Time(row.wall.unwrap())));
        assert_eq!(Latencies::of(trace, None).recorded.iter().sum::<Nanoseconds>().0, wall);
        let summary = Summary::of(trace);
        assert!(summary.inside <= summary.latency.unwrap().max, "{summary:?}");
        let comparison = Comparison::of(trace, trace);
        assert_eq!(comparison.before, measured.wall);
        (measured.wall.0, measured.busy.0)
    }

    #[test]
    fn iterations_that_hold_their_work_are_as_recorded() {
        let trace = trace(&[(0, 100), (120, 200)], &[(0, 0, 10, 90), (0, 1, 130, 190)]);
        assert_eq!(spans(&trace), [(0, 100), (120, 200)]);
        assert_eq!(IterationSpans::of(&trace).basis(), SpanBasis::Recorded);
        assert_eq!(conserves(&trace), (90, 70));
        assert_eq!(Overview::of(&trace, Scope::default()).unwrap().host_wall, None);
    }

    #[test]
    fn a_device_behind_its_host_has_steps_of_its_own() {
        // The host takes 20 for each step, the device 100.
        let tasks = [(0, 0, 10, 110), (0, 1, 112, 210), (0, 2, 210, 310)];
        let trace = trace(&[(0, 20), (20, 40), (40, 60)], &tasks);
        assert_eq!(spans(&trace), [(10, 110), (110, 210), (210, 310)]);
        assert_eq!(conserves(&trace), (100, 99));
        let overview = Overview::of(&trace, Scope::default()).unwrap();
        assert_eq!((overview.basis, overview.host_wall), (SpanBasis::Device, Some(Nanoseconds(20))));
        assert_eq!(Comparison::of(&trace, &Trace::new()).iteration_basis.0, SpanBasis::Device);
    }

    #[test]
    fn where_the_host_is_the_slower_one_it_ends_the_step() {
        // The first step is the device's, the second the host's.
        let trace =
            trace(&[(0, 20), (20, 300), (300, 320)], &[(0, 0, 5, 100), (0, 1, 100, 120), (0, 2, 310, 400)]);
        assert_eq!(spans(&trace), [(5, 100), (100, 300), (300, 400)]);
        assert_eq!(conserves(&trace), (131, 68));
    }

    #[test]
    fn before_its_first_work_a_device_idles_only_if_it_is_no_further_behind_later() {
        let late = |first: i64| [(0, 0, first, 110), (0, 1, 112, 210), (0, 2, 210, 310)];
        let steps = [(0, 50), (50, 100), (100, 150)];
        // It begins the second 60 after the host, the third 110.
        assert_eq!(spans(&trace(&steps, &late(30)))[0], (30, 110));
        assert_eq!(spans(&trace(&steps, &late(109)))[0], (0, 110));
        assert_eq!(spans(&trace(&steps[..1], &late(30)[..1])), [(0, 110)], "nothing tells of others");
    }

    #[test]
    fn steps_that_share_the_device_count_no_moment_twice() {
        // A copy of the second step runs beside the first, and one of the first long into the second.
        let tasks = [(0, 0, 0, 100), (1, 1, 40, 80), (1, 0, 90, 150), (0, 1, 100, 190)];
        let trace = trace(&[(0, 20), (20, 40)], &tasks);
        assert_eq!(spans(&trace), [(0, 150), (150, 190)]);
        assert_eq!(conserves(&trace), (95, 95));
    }

    #[test]
    fn iterations_across_one_another_end_with_their_own_work() {
        let tasks = [(0, 0, 10, 150), (1, 1, 60, 200)];
        let trace = trace(&[(0, 100), (50, 140)], &tasks);
        assert_eq!(spans(&trace), [(0, 150), (50, 200)]);
        assert_eq!(IterationSpans::of(&trace).basis(), SpanBasis::HostAndDevice);
        assert_eq!(conserves(&trace), (150, 140));
    }

    #[test]
    fn clocks_that_are_apart_by_little_change_nothing_and_are_cut() {
        let trace = trace(&[(0, 10_000)], &[(0, 0, 1, 10_001)]);
        assert_eq!(spans(&trace), [(0, 10_000)]);
        assert_eq!(conserves(&trace), (10_000, 9_999));
    }

    proptest::proptest! {
        #[test]
        fn busy_time_is_a_part_of_the_wall_time_whatever_ran_when(
            iterations in proptest::collection::vec((0..500_i64, 0..200_i64), 1..6),
            tasks in proptest::collection::vec((0..2_usize, 0..6_usize, 0..900_i64, 0..300_i64), 0..20),
        ) {
            let count = iterations.len();
            let iterations: Vec<_> = iterations.iter().map(|(start, length)| (*start, start + length)).collect();
            let tasks: Vec<_> = tasks
                .iter()
                .map(|(stream, iteration, start, length)| (*stream, iteration % count, *start, start + length))
                .collect();
            let trace = trace(&iterations, &tasks);
            let scopes = [Iterations::Measured, Iterations::All].into_iter();
            for iterations in scopes.chain((1..=count as u32).map(|number| Iterations::Numbers(number, number))) {
                let overview = Overview::of(&trace, Scope { iterations, ..Scope::default() }).unwrap();
                proptest::prop_assert!(overview.busy.0 >= 0 && overview.busy <= overview.wall, "{overview:?}");
            }
        }
    }
}
