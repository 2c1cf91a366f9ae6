//! The choices of which a synthetic profile is made.

use opscope_cann_raw::Chip;

/// How the sampled program executes its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleMode {
    /// The model is loaded once and replayed: tasks are handed out once.
    Static,
    /// Each operator is launched anew in every inference.
    Dynamic,
    /// Launches are captured into graphs, which are replayed, on two devices.
    Graph,
    /// As `Dynamic`, with collective operations between inferences whose steps the device's AI CPU launches.
    Collective,
}

/// Which tool chain the files of a sample profile are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SampleLayout {
    /// The present one.
    #[default]
    Current,
    /// The one of 2022 (CANN 5.x): a `PROF_*` directory with records per component.
    Prof2022,
    /// The one of 2022, with the names that training wrote: a single `JOB*` directory.
    Job2022,
}

/// The choices for a synthetic profile.
#[derive(Clone, Copy, Debug)]
pub struct SampleOptions {
    /// The processor; chip 9 has no sample profiles.
    pub chip: Chip,
    /// How many tasks the device executes.
    pub tasks: u64,
    /// How the model is executed.
    pub mode: SampleMode,
    /// Which tool chain it is like.
    pub layout: SampleLayout,
    /// The seed of durations and counters.
    pub seed: u64,
}

impl SampleOptions {
    /// Whether there are such runs: graphs can be captured, and AI CPUs launch, with today's tool chain on some
    /// chips only.
    pub fn is_possible(&self) -> bool {
        let has_graphs =
            matches!(self.chip, Chip::V3_2_0 | Chip::V3_3_0 | Chip::V4_1_0 | Chip::V6_1_0 | Chip::V6_2_0);
        let launches = matches!(self.chip, Chip::V4_1_0 | Chip::V6_1_0 | Chip::V6_2_0);
        let is_current = self.layout == SampleLayout::Current;
        match self.mode {
            SampleMode::Static | SampleMode::Dynamic => true,
            SampleMode::Graph => is_current && has_graphs,
            SampleMode::Collective => is_current && launches,
        }
    }
}
