//! How long an inference takes, and what recording its operators costs on top.
//!
//! A run is measured twice, in turn: timed as a whole, which is what the model takes, and recorded
//! operator by operator, which tells where that goes but takes longer itself. The first gives the figure
//! by which a run is judged, the second the shares of the operators.

use opscope_trace::{ModelId, Nanoseconds, Trace};

use crate::iteration_spans::IterationSpans;
use crate::statistics::Statistics;

/// Up to this many times as long, recorded iterations pass for what the model takes.
const NEGLIGIBLE: f64 = 1.05;

/// Fewer iterations of a kind than that say nothing about the difference of both.
const FEWEST: usize = 5;

/// The durations of a profile's measured iterations. Warm-up ones are left out unless there are no
/// others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Of iterations that were timed as a whole; none in a profile that has only recorded ones.
    pub unrecorded: Vec<Nanoseconds>,
    /// Of iterations whose operators were recorded.
    pub recorded: Vec<Nanoseconds>,
}

impl Latencies {
    /// The durations of a trace, or of one of its models.
    pub fn of(trace: &Trace, model: Option<ModelId>) -> Self {
        let unrecorded = trace.unrecorded_iterations.iter();
        let recorded = trace.iterations.iter();
        let spans = IterationSpans::of(trace);
        Self {
            unrecorded: measured(unrecorded.map(|(_, row)| (row.model, row.warm_up, row.duration)), model),
            recorded: measured(recorded.map(|(id, row)| (row.model, row.warm_up, spans.duration(id))), model),
        }
    }

    /// The durations by which a run is judged: those of inferences of which nothing was recorded, if they were
    /// measured.
    pub fn headline(&self) -> &[Nanoseconds] {
        if self.unrecorded.is_empty() { &self.recorded } else { &self.unrecorded }
    }

    /// The one figure for an inference: the median of those that were timed as a whole, or else the mean
    /// of those that were recorded; `None` without any.
    pub fn typical(&self) -> Option<Nanoseconds> {
        let statistics = Statistics::of(self.headline().iter().copied())?;
        Some(if self.unrecorded.is_empty() { statistics.mean } else { statistics.median })
    }

    /// How many times as long a recorded iteration takes, by the medians; `None` where there are too few of
    /// either kind to tell that from chance.
    pub fn ratio(&self) -> Option<f64> {
        let median = |durations: &[Nanoseconds]| Some(Statistics::of(durations.iter().copied())?.median.0);
        let (recorded, unrecorded) = (median(&self.recorded)?, median(&self.unrecorded)?);
        let enough = self.recorded.len().min(self.unrecorded.len()) >= FEWEST;
        (enough && unrecorded > 0 && recorded > 0).then(|| recorded as f64 / unrecorded as f64)
    }

    /// By what times of recorded operators are to be multiplied so that they are parts of the headline's
    /// iteration: 1 where recording costs next to nothing, or where that isn't known.
    pub fn scale(&self) -> f64 {
        // A busy machine lengthens some iterations of either kind; it doesn't shorten any.
        let fastest = |durations: &[Nanoseconds]| durations.iter().min().map_or(0.0, |least| least.0 as f64);
        let costs = fastest(&self.recorded) > NEGLIGIBLE * fastest(&self.unrecorded);
        self.ratio().filter(|ratio| costs && *ratio > NEGLIGIBLE).map_or(1.0, |ratio| 1.0 / ratio)
    }
}

/// A time multiplied by a scale of [`Latencies::scale`].
pub fn scaled(time: Nanoseconds, scale: f64) -> Nanoseconds {
    if scale == 1.0 { time } else { Nanoseconds((time.0 as f64 * scale).round() as i64) }
}

fn measured(
    rows: impl Iterator<Item = (Option<ModelId>, bool, Nanoseconds)>,
    model: Option<ModelId>,
) -> Vec<Nanoseconds> {
    let rows: Vec<_> = rows.filter(|(of, ..)| model.is_none() || *of == model).collect();
    let only_warm_up = rows.iter().all(|(_, warm_up, _)| *warm_up);
    let counted = rows.into_iter().filter(|(_, warm_up, _)| only_warm_up || !warm_up);
    counted.map(|(.., duration)| duration).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use opscope_trace::{Iteration, UnrecordedIteration};

    fn trace(unrecorded: &[i64], recorded: &[i64]) -> Trace {
        let mut trace = Trace::new();
        let (model, number, start) = (None, 0, Nanoseconds::ZERO);
        for (index, &duration) in unrecorded.iter().enumerate() {
            let (warm_up, duration) = (index == 0, Nanoseconds(duration));
            let row = UnrecordedIteration { model, number, warm_up, start, duration };
            trace.unrecorded_iterations.push(row);
        }
        for (index, &duration) in recorded.iter().enumerate() {
            let (warm_up, duration) = (index == 0, Nanoseconds(duration));
            trace.iterations.push(Iteration { model, number, warm_up, start, duration });
        }
        trace
    }

    #[test]
    fn what_nobody_watched_is_the_headline_and_tells_what_watching_costs() {
        let found =
            Latencies::of(&trace(&[900, 100, 100, 120, 95, 110], &[900, 500, 500, 510, 490, 505]), None);
        assert_eq!(found.headline(), [100, 100, 120, 95, 110].map(Nanoseconds));
        assert_eq!(found.ratio(), Some(5.0), "500 over 100");
        assert_eq!(scaled(Nanoseconds(250), found.scale()), Nanoseconds(50));
    }

    #[test]
    fn a_few_percent_scale_nothing() {
        let found = Latencies::of(&trace(&[0, 100, 100, 100, 100, 100], &[0, 104, 104, 104, 104, 104]), None);
        assert_eq!((found.ratio(), found.scale()), (Some(1.04), 1.0));
    }

    #[test]
    fn a_few_iterations_say_nothing_about_what_recording_costs() {
        let found = Latencies::of(&trace(&[0, 100, 100], &[0, 500, 500]), None);
        assert_eq!((found.ratio(), found.scale(), found.headline().len()), (None, 1.0, 2));
    }

    #[test]
    fn a_profile_of_recorded_iterations_only_is_judged_by_those() {
        let found = Latencies::of(&trace(&[], &[900, 500]), None);
        assert_eq!((found.headline(), found.ratio()), (&[Nanoseconds(500)][..], None));
        let warm_up_only = Latencies::of(&trace(&[], &[900]), None);
        assert_eq!(warm_up_only.headline(), [Nanoseconds(900)]);
    }
}
