//! The rows that a rank is reduced to, named as the columns of the tables that they stand for. Times are
//! nanoseconds of the rank's own clock.

/// The operation that ranks carry out together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CollectiveType {
    /// Everyone gets the sum.
    AllReduce,
    /// Everyone gets everyone's part.
    AllGather,
    /// Everyone gets its part of the sum.
    ReduceScatter,
    /// Everyone sends a part to everyone.
    AllToAll,
    /// Everyone waits for everyone.
    Barrier,
    /// One sends to all.
    Broadcast,
    /// One gets the sum.
    Reduce,
    /// One sends everyone a part.
    Scatter,
    /// One gets everyone's part.
    Gather,
    /// One side of a pair.
    Send,
    /// The other side of a pair.
    Receive,
    /// Any other operation.
    #[default]
    Other,
}

impl CollectiveType {
    /// The type of PyTorch's word, such as `_reduce_scatter_base`.
    pub fn of_word(word: &str) -> Self {
        Self::of_name(&word.replace('_', ""))
    }

    /// The type of an operator's name, such as `hcom_allReduce__917_0_1`.
    pub fn of_name(name: &str) -> Self {
        let name = name.to_ascii_lowercase().replace("hcom_", "");
        let is = |word: &str| name.starts_with(word);
        // Longer words first: `reduceScatter` begins as `reduce` does.
        match () {
            () if is("allreduce") => Self::AllReduce,
            () if is("allgather") => Self::AllGather,
            () if is("reducescatter") => Self::ReduceScatter,
            () if is("alltoall") || is("batchsendrecv") => Self::AllToAll,
            () if is("barrier") => Self::Barrier,
            () if is("broadcast") => Self::Broadcast,
            () if is("reduce") => Self::Reduce,
            () if is("scatter") => Self::Scatter,
            () if is("gather") => Self::Gather,
            () if is("send") => Self::Send,
            () if is("receive") || is("recv") => Self::Receive,
            () => Self::Other,
        }
    }

    /// The vendor's word.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "allReduce",
            Self::AllGather => "allGather",
            Self::ReduceScatter => "reduceScatter",
            Self::AllToAll => "alltoall",
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Scatter => "scatter",
            Self::Gather => "gather",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Other => "other",
        }
    }

    /// The type by which a collective is told: a send and its receive are a receive.
    pub fn of_both_sides(self) -> Self {
        if self == Self::Send { Self::Receive } else { self }
    }

    /// Whether it is between two ranks.
    pub fn is_between_two(self) -> bool {
        matches!(self, Self::Send | Self::Receive)
    }

    /// Whether it ends at the same time on all its ranks.
    pub fn ends_together(self) -> bool {
        matches!(
            self,
            Self::AllReduce
                | Self::AllGather
                | Self::ReduceScatter
                | Self::AllToAll
                | Self::Barrier
                | Self::Send
                | Self::Receive
        )
    }
}

/// The sequence number in an operator's name: `hcom_allReduce__917_12_1` is the twelfth of its group.
pub fn sequence_of(name: &str) -> Option<i32> {
    let (before, _) = name.rsplit_once('_')?;
    let (_, number) = before.rsplit_once('_')?;
    number.parse().ok()
}

/// The step of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRow {
    /// Its number.
    pub step: i32,
    /// Its begin; `None` where the profile tells lengths only.
    pub start_ns: Option<i64>,
    /// Its length.
    pub duration_ns: i64,
    /// The time between its begin and its first task, where the profile tells.
    pub preparing_ns: Option<i64>,
}

/// A rank's part in a collective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollectiveRow {
    /// The group, by the vendor's number of its name.
    pub group_key: u64,
    /// The number within the group.
    pub sequence: i32,
    /// The operation.
    pub kind: CollectiveType,
    /// The step that it belongs to.
    pub step: i32,
    /// Its start.
    pub start_ns: i64,
    /// Its length.
    pub duration_ns: i64,
    /// The bytes that the rank contributes; 0 where the profile doesn't tell. The vendor's texts tell what it passed over
    /// links instead, from which the contribution doesn't follow: it depends on the algorithm, and of reductions within
    /// transfers they count none.
    pub bytes: u64,
    /// The other side of a send or receive, by its place in the group.
    pub peer: Option<u32>,
    /// The task that the start waited for, as far as times tell: the rank's collective (by its place in the
    /// order of starts) from whose end the rank did its own work until the start; `None` is the run's begin.
    pub pred: Option<u32>,
    /// The rank's own work between that and the start.
    pub segment_ns: i64,
    /// Time within it that no computing hides, and that no later collective covers.
    pub exposed_ns: i64,
    /// The begin of the longest such stretch.
    pub exposed_start_ns: i64,
    /// The length of that stretch.
    pub exposed_longest_ns: i64,
}

impl CollectiveRow {
    /// A part of which only its place and time are known.
    pub fn new(
        group_key: u64,
        sequence: i32,
        kind: CollectiveType,
        step: i32,
        start_ns: i64,
        duration_ns: i64,
    ) -> Self {
        Self {
            group_key,
            sequence,
            kind,
            step,
            start_ns,
            duration_ns,
            bytes: 0,
            peer: None,
            pred: None,
            segment_ns: 0,
            exposed_ns: 0,
            exposed_start_ns: 0,
            exposed_longest_ns: 0,
        }
    }

    /// Its end.
    pub fn end_ns(&self) -> i64 {
        self.start_ns + self.duration_ns
    }
}

/// The end of a rank's last task in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinishRow {
    /// The step.
    pub step: i32,
    /// The collective after which the rank did its own work until the end.
    pub pred: Option<u32>,
    /// That work.
    pub segment_ns: i64,
    /// When it ended.
    pub end_ns: i64,
}

/// The traffic of a rank over a link in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRow {
    /// The group, by the vendor's number of its name.
    pub group_key: u64,
    /// The operation.
    pub kind: CollectiveType,
    /// The step.
    pub step: i32,
    /// The sender, by its place in the group.
    pub src: u32,
    /// The receiver, by its place in the group.
    pub dst: u32,
    /// The vendor's word for the kind of link.
    pub transport: Transport,
    /// The bytes.
    pub bytes: f64,
    /// How long they took.
    pub time_ns: f64,
}

/// A kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Transport {
    /// Between devices of a host.
    Hccs,
    /// Between hosts.
    Rdma,
    /// Over the host's bus.
    Pcie,
    /// Between the dies of a device.
    Sio,
    /// Within a device.
    Local,
    /// Any other.
    Other,
}

impl Transport {
    /// The kind of a vendor's word.
    pub fn of_word(word: &str) -> Self {
        match word {
            "HCCS" => Self::Hccs,
            "RDMA" | "ROCE" => Self::Rdma,
            "PCIE" => Self::Pcie,
            "SIO" => Self::Sio,
            "LOCAL" => Self::Local,
            _ => Self::Other,
        }
    }

    /// The vendor's word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hccs => "HCCS",
            Self::Rdma => "RDMA",
            Self::Pcie => "PCIE",
            Self::Sio => "SIO",
            Self::Local => "LOCAL",
            Self::Other => "other",
        }
    }
}

/// A task that computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskSpan {
    /// Its start.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
}

/// The source of a rank's steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepsOrigin {
    /// Its profile.
    #[default]
    Profile,
    /// The period in which its collectives come again.
    Inferred,
    /// Nothing: the whole recording counts as one.
    Whole,
}

impl StepsOrigin {
    /// Its name in sets.
    pub fn name(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Inferred => "inferred",
            Self::Whole => "whole",
        }
    }

    /// The source of a name; sets of earlier programs have none.
    pub fn of_name(name: &str) -> Self {
        [Self::Inferred, Self::Whole].into_iter().find(|it| it.name() == name).unwrap_or_default()
    }
}

/// A rank, reduced to what its peers are compared with.
#[derive(Clone, Debug, Default)]
pub struct RankRows {
    /// Its steps, in order.
    pub steps: Vec<StepRow>,
    /// The source of these.
    pub origin: StepsOrigin,
    /// Its parts in collectives, in the order of their starts.
    pub collectives: Vec<CollectiveRow>,
    /// The ends of its steps.
    pub finishes: Vec<FinishRow>,
    /// Its traffic.
    pub links: Vec<LinkRow>,
    /// Its time under computing tasks, by step.
    pub compute_ns: Vec<(i32, i64)>,
    /// The time within its steps, in their order, in which nothing ran on the device.
    pub idle_ns: Vec<i64>,
    /// How many computing tasks it has.
    pub operators: u64,
    /// The frequency of its AI Cores in MHz, as most of its samples have it (their median).
    pub frequency_mhz: Option<f64>,
}

impl RankRows {
    /// The step at a time; 0 where there are none.
    pub fn step_at(&self, time: i64) -> i32 {
        step_at(&self.steps, time)
    }
}

/// Of steps in order the one at a time; 0 where there are none.
pub fn step_at(steps: &[StepRow], time: i64) -> i32 {
    let behind = steps.partition_point(|step| step.start_ns.unwrap_or(i64::MIN) <= time);
    steps.get(behind.saturating_sub(1)).map_or(0, |step| step.step)
}

/// Writes nanoseconds as a whole number.
///
/// # Errors
/// The writer's.
pub fn whole_ns<S: serde::Serializer>(nanoseconds: &f64, writer: S) -> Result<S::Ok, S::Error> {
    writer.serialize_i64(nanoseconds.round() as i64)
}
