//! Generations of chips and tool chains, by how host and devices name the same task.

use opscope_cann_raw::Chip;

use crate::join::tasks::TaskIdentity;

/// A generation, which says where the host's side of tasks is recorded and how the device's side is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// The tool chain of 2022 (CANN 5): the host describes tasks, and a task's number is told apart from the
    /// same one later by the order of both.
    Cann5 {
        /// Whether wraps of task numbers are counted.
        counts_wraps: bool,
        /// Whether the chip's short records lack the stream.
        lacks_streams: bool,
    },
    /// Chip 9: the compiler describes the tasks of models; a device's records name the model instead of the
    /// stream.
    Compiled {
        /// Whether wraps of the host's task numbers are counted.
        counts_wraps: bool,
    },
    /// Chips 15 and 16: task numbers of 32 bits, which don't wrap; a device's short records lack the stream.
    WideNumbers,
    /// The other chips: task numbers of 16 bits.
    ShortNumbers {
        /// Whether wraps of task numbers are counted.
        counts_wraps: bool,
    },
}

impl Generation {
    /// The generation of a chip; `is_cann5` says whether the files are those of the tool chain of 2022, and
    /// `counts_wraps` whether the driver counts wraps of task numbers.
    pub(super) fn of(chip: Chip, is_cann5: bool, counts_wraps: bool) -> Self {
        match chip {
            chip if is_cann5 => {
                let lacks_streams = chip.has_wide_task_ids();
                Self::Cann5 { counts_wraps: counts_wraps && !lacks_streams, lacks_streams }
            }
            chip if chip.names_tasks_by_model() => Self::Compiled { counts_wraps },
            chip if chip.has_wide_task_ids() => Self::WideNumbers,
            _ => Self::ShortNumbers { counts_wraps },
        }
    }

    /// Whether the wraps of the host's task numbers are recorded.
    pub(super) fn has_host_batches(self) -> bool {
        match self {
            Self::Cann5 { counts_wraps, .. }
            | Self::Compiled { counts_wraps }
            | Self::ShortNumbers { counts_wraps } => counts_wraps,
            Self::WideNumbers => false,
        }
    }

    /// Whether the wraps of the devices' task numbers are recorded.
    pub(super) fn has_device_batches(self) -> bool {
        self.has_host_batches() && !matches!(self, Self::Compiled { .. })
    }

    /// Whether devices' records lack the stream, which the host's tasks then tell.
    pub(super) fn lacks_streams(self) -> bool {
        matches!(self, Self::Compiled { .. } | Self::WideNumbers | Self::Cann5 { lacks_streams: true, .. })
    }

    /// The means by which tasks with one number are told apart.
    pub(super) fn task_identity(self) -> TaskIdentity {
        match self {
            Self::Compiled { .. } => TaskIdentity::Model,
            Self::WideNumbers | Self::ShortNumbers { counts_wraps: true } => TaskIdentity::Batch,
            Self::Cann5 { .. } | Self::ShortNumbers { .. } => TaskIdentity::Order,
        }
    }

    /// The files that record the host's side of tasks.
    pub(super) fn host_file(self) -> &'static str {
        match self {
            Self::Cann5 { .. } => "Framework.task_desc_info",
            Self::Compiled { .. } => "*.dbg",
            Self::WideNumbers | Self::ShortNumbers { .. } => "compact.task_track",
        }
    }
}
