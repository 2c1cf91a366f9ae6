//! The choices of which a synthetic profile is made.

use opscope_cann_raw::Chip;

/// How the sampled program executes its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleMode {
    /// The model is loaded once and replayed: tasks are handed out once.
    Static,
    /// Each operator is launched anew in every inference.
    Dynamic,
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
