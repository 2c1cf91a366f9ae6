//! The shares of a run's cycles in which units were busy, out of its counters.

use crate::dialect::Dialect;
use crate::facts::view::DeviceView;
use crate::metrics::{Load, Metric, group};
use crate::tables::{CounterRow, Counters};

/// The shares of an operator's cycles in which units were busy; `None` if it wasn't counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Ratios {
    pub(super) cube: Option<f64>,
    pub(super) vector: Option<f64>,
    pub(super) scalar: Option<f64>,
    /// Of moving data into the core's inner memory, from outside, and back.
    pub(super) moves: [Option<f64>; 3],
    pub(super) bank_group_conflicts: Option<f64>,
    pub(super) bank_conflicts: Option<f64>,
    /// Whether cube and vector core are counted apart, so that no ratio compares the two.
    pub(super) split: bool,
}

impl Ratios {
    /// Moving data into the core, compared with computing.
    pub(super) fn memory_bound(&self) -> Option<f64> {
        let (cube, vector, moves) = (self.cube?, self.vector?, self.moves[1]?);
        let compute = cube.max(vector);
        (!self.split && compute > 0.0).then(|| moves / compute)
    }

    /// Computing on vectors, compared with everything else.
    pub(super) fn vector_bound(&self) -> Option<f64> {
        let (cube, vector, moves) = (self.cube?, self.vector?, self.moves[1]?);
        let rest = cube.max(moves);
        (!self.split && rest > 0.0).then(|| vector / rest)
    }

    /// Which unit was busy longest: 0 cube, 1 vector, 2 scalar, 3 moves.
    pub(super) fn bound(&self) -> Option<usize> {
        let moves = self.moves.iter().copied().flatten().fold(0.0, f64::max);
        let shares =
            [self.cube.unwrap_or(0.0), self.vector.unwrap_or(0.0), self.scalar.unwrap_or(0.0), moves];
        let (unit, share) = shares.into_iter().enumerate().rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (share > 0.0).then_some(unit)
    }
}

/// Where the ratios of a device's counters come from.
pub(super) struct RatioMetrics {
    cube: Wanted,
    vector: Wanted,
    split: bool,
}

/// The metrics of one core that ratios are taken from.
#[derive(Default)]
struct Wanted {
    cube: Option<Metric>,
    vector: Option<Metric>,
    scalar: Option<Metric>,
    moves: [Option<Metric>; 3],
    bank_group_conflicts: Option<Metric>,
    bank_conflicts: Option<Metric>,
}

impl Wanted {
    fn new(metrics: &[Metric]) -> Self {
        let find = |names: &[&str]| metrics.iter().find(|metric| names.contains(&metric.name)).cloned();
        Self {
            cube: find(&["mac_ratio", "mac_ratio_extra", "mac_exe_ratio"]),
            vector: find(&["vec_ratio", "vec_exe_ratio"]),
            scalar: find(&["scalar_ratio", "scalar_exe_ratio"]),
            moves: [
                find(&["mte1_ratio", "mte1_ratio_extra", "mte1_exe_ratio"]),
                find(&["mte2_ratio", "mte2_exe_ratio"]),
                find(&["mte3_ratio", "mte3_exe_ratio"]),
            ],
            bank_group_conflicts: find(&["vec_bankgroup_cflt_ratio"]),
            bank_conflicts: find(&["vec_bank_cflt_ratio"]),
        }
    }
}

impl RatioMetrics {
    pub(super) fn new(device: &DeviceView<'_>) -> Self {
        let (chip, sample) = (device.device.metadata.chip(), &device.device.metadata.sample);
        let dialect = Dialect::of(chip);
        let cube = Wanted::new(&group(&sample.core_metrics, chip, dialect));
        let split = chip.splits_cores();
        let vector = if split {
            Wanted::new(&group(&sample.vector_metrics, chip, dialect))
        } else {
            Wanted::default()
        };
        Self { cube, vector, split }
    }

    /// The ratios of a run. Where the cores are counted apart, each tells of its own unit, and of
    /// what both have the busier one counts.
    pub(super) fn ratios(&self, device: &DeviceView<'_>, task: usize) -> Ratios {
        let (tables, joined) = (&device.device.tables, &device.joined.counters);
        let sample = &device.device.metadata.sample;
        let of = |rows: &[Option<CounterRow>]| rows.get(task).and_then(|row| joined.get(tables, *row));
        let cube = of(&joined.cube).map(|counters| Values { counters, events: &sample.core_events });
        if !self.split {
            let Some(core) = cube else { return Ratios::default() };
            return Ratios {
                cube: core.ratio(&self.cube.cube),
                vector: core.ratio(&self.cube.vector),
                scalar: core.ratio(&self.cube.scalar),
                moves: [0, 1, 2].map(|i| core.ratio(&self.cube.moves[i])),
                bank_group_conflicts: core.ratio(&self.cube.bank_group_conflicts),
                bank_conflicts: core.ratio(&self.cube.bank_conflicts),
                split: false,
            };
        }
        let vector = of(&joined.vector).map(|counters| Values { counters, events: &sample.vector_events });
        let cube_ratio = |metric: &Option<Metric>| cube.as_ref().and_then(|core| core.ratio(metric));
        let vector_ratio = |metric: &Option<Metric>| vector.as_ref().and_then(|core| core.ratio(metric));
        let busier = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        Ratios {
            cube: cube_ratio(&self.cube.cube),
            vector: vector_ratio(&self.vector.vector),
            scalar: busier(cube_ratio(&self.cube.scalar), vector_ratio(&self.vector.scalar)),
            moves: [0, 1, 2]
                .map(|i| busier(cube_ratio(&self.cube.moves[i]), vector_ratio(&self.vector.moves[i]))),
            bank_group_conflicts: vector_ratio(&self.vector.bank_group_conflicts),
            bank_conflicts: vector_ratio(&self.vector.bank_conflicts),
            split: true,
        }
    }
}

/// The counters of one core in one run.
struct Values<'a> {
    counters: Counters,
    events: &'a [u32],
}

impl Values<'_> {
    /// A ratio with the three decimals that tables show, so that they explain what is found.
    fn ratio(&self, metric: &Option<Metric>) -> Option<f64> {
        let metric = metric.as_ref()?;
        let load =
            Load { counters: &self.counters, events: self.events, total_time: 0.0, hertz: 0.0, rounds: 1.0 };
        (self.counters.cycles > 0).then(|| (metric.value(&load) * 1_000.0).round() / 1_000.0)
    }
}
