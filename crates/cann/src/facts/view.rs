//! A joined profile as its exports see it: the host's times, and the choice of rows.

mod operators;

use opscope_cann_raw::Chip;
use opscope_cann_raw::host::level;
use opscope_columns::Column;
use opscope_trace::{NumberMap, NumberSet};

use crate::columns::made_in_parts;
use crate::dialect::Dialect;
pub(crate) use crate::facts::device_view::DeviceView;
use crate::facts::device_view::{Shown, offset_us};
pub(crate) use crate::facts::view::operators::OpTexts;
use crate::join::{HostTask, Joined};
use crate::kinds::{NodeTaskType, OpUnit, RuntimeKind, device_name, runtime_name};
use crate::options::IterationRange;
use crate::parallel;
use crate::tables::{Api, HostTaskRow, TaskLog};
use crate::text::numbers;
use crate::text::tensor_names::TensorTexts;
use crate::vocabulary;

/// A joined profile, prepared for exporting.
pub(crate) struct View<'a> {
    pub(crate) joined: &'a Joined,
    pub(crate) dialect: Dialect,
    /// The texts of each combination of tensors.
    pub(crate) tensors: Vec<TensorTexts>,
    no_tensors: TensorTexts,
    pub(crate) devices: Vec<DeviceView<'a>>,
    /// The texts of the grids of launches of many threads, and of their blocks.
    grids: NumberMap<[u16; 6], [String; 2]>,
    /// The kinds of tasks by their number, with the runtime's name.
    kinds: NumberMap<u32, (RuntimeKind, &'a str)>,
    /// The numbers of units that have no name, as texts.
    unnamed_units: NumberMap<u32, String>,
    /// Microseconds that `python_local` adds to the host's times.
    pub(crate) host_offset_us: f64,
    pub(crate) level0: bool,
    /// Whether one iteration is shown instead of the whole run.
    pub(crate) one_iteration: bool,
    /// The wall-clock times between which calls are shown.
    call_window: Option<(i64, i64)>,
    /// The calls that loaded models, by thread: their begins and ends in host ticks, by begin.
    loads: NumberMap<u32, Vec<(u64, u64)>>,
    begin: i64,
    /// The streams that the program knows, by the devices' streams that stand for them.
    logical_streams: NumberMap<u32, u32>,
    /// The streams on which AI CPUs launch the communication of fused operators.
    launch_streams: NumberSet<u16>,
    /// The wall-clock times between which the program's ranges and samples are shown.
    sample_window: Option<(i64, i64)>,
}

/// The units of operators that no table lists.
const UNLISTED: [NodeTaskType; 2] = [NodeTaskType::WriteBack, NodeTaskType::Invalid];

/// A task's place: the device's number in [`View::devices`] and the row in its table of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskRef {
    pub(crate) device: u32,
    pub(crate) task: u32,
}

impl<'a> View<'a> {
    /// Shows the chosen iterations, or what the vendor's tool shows where none are chosen, which is a
    /// single iteration on some chips.
    pub(crate) fn new(joined: &'a Joined, range: Option<IterationRange>) -> Self {
        Self::of(joined, range.map_or(Shown::ByDefault, Shown::Iterations))
    }

    /// Shows everything that was recorded, on every chip.
    pub(crate) fn whole(joined: &'a Joined) -> Self {
        Self::of(joined, Shown::Everything)
    }

    fn of(joined: &'a Joined, shown: Shown) -> Self {
        let host = &joined.data.host;
        let chip = joined.data.chip();
        let dialect = match shown {
            Shown::Iterations(_) => Dialect::of_iterations(chip),
            Shown::ByDefault | Shown::Everything => Dialect::of(chip),
        };
        let kinds: NumberSet<u32> = joined.host_tasks.kind().iter().copied().collect();
        let named = |kind| {
            let name = runtime_name(&host.names, kind);
            (kind, (vocabulary::runtime_kind(name), name))
        };
        let kinds: NumberMap<u32, (RuntimeKind, &str)> = kinds.into_iter().map(named).collect();
        let devices = joined.data.devices.values().filter_map(|device| {
            Some(DeviceView::new(device, joined.devices.get(&device.id)?, dialect, shown))
        });
        let devices: Vec<DeviceView<'a>> = devices.collect();
        // Chips of which one inference is shown show the whole run if there is none.
        let is_chosen = matches!(shown, Shown::Iterations(_));
        let one_iteration = is_chosen || devices.iter().any(|device| device.window.is_some());
        let call_window = devices.iter().find_map(DeviceView::call_window);
        let sample_window = devices.iter().find_map(DeviceView::sample_window);
        let metadata = joined.data.profile.metadata();
        Self {
            call_window,
            loads: loads(joined),
            logical_streams: host.logic_streams.rows().map(|row| (row.physical, row.logical)).collect(),
            launch_streams: launch_streams(joined),
            begin: metadata.and_then(|metadata| metadata.session.begin).unwrap_or(i64::MIN),
            sample_window,
            dialect,
            grids: grids(joined, &kinds),
            tensors: tensor_texts(joined),
            no_tensors: TensorTexts::unknown(),
            devices,
            kinds,
            unnamed_units: unnamed_units(joined),
            host_offset_us: metadata.map_or(0.0, |metadata| offset_us(&metadata.session)),
            level0: metadata.is_some_and(|metadata| metadata.sample.level0),
            one_iteration,
            joined,
        }
    }

    /// As [`View::new`], but of one device only.
    pub(crate) fn of_device(joined: &'a Joined, range: Option<IterationRange>, device: u32) -> Self {
        let mut view = Self::new(joined, range);
        view.devices.retain(|of| of.device.id == device);
        view.call_window = view.devices.iter().find_map(DeviceView::call_window);
        view.sample_window = view.devices.iter().find_map(DeviceView::sample_window);
        view
    }

    /// The text of a hash.
    pub(crate) fn text(&self, hash: u64) -> &'a str {
        self.joined.data.host.names.get(hash).unwrap_or("N/A")
    }

    /// The wall-clock time of a host's counter value.
    pub(crate) fn host_time(&self, ticks: u64) -> i64 {
        let clock = &self.joined.data.host_clock;
        match self.dialect {
            Dialect::Accelerated => clock.local(ticks),
            _ => self.host_time_rounded(ticks),
        }
    }

    /// The wall-clock time of a host's counter value, rounded as the reference's Python code does.
    pub(crate) fn host_time_rounded(&self, ticks: u64) -> i64 {
        numbers::python_local(self.joined.data.host_clock.host_f64(ticks), self.host_offset_us)
    }

    /// The number of the lane that shows a device's stream: that of the stream that the program knows.
    pub(crate) fn lane_of_stream(&self, stream: u16) -> u32 {
        let stream = u32::from(stream);
        self.logical_streams.get(&stream).copied().unwrap_or(stream)
    }

    /// How long a call took, in microseconds with three decimals.
    pub(crate) fn host_duration(&self, begin: u64, end: u64) -> f64 {
        match self.dialect {
            Dialect::Accelerated => self.unrounded_host_duration(begin, end),
            _ => numbers::python_round(self.unrounded_host_duration(begin, end), 3),
        }
    }

    /// How long a call took, in microseconds: whole nanoseconds in the accelerated form.
    pub(crate) fn unrounded_host_duration(&self, begin: u64, end: u64) -> f64 {
        let clock = &self.joined.data.host_clock;
        match self.dialect {
            Dialect::Accelerated => (clock.local(end) - clock.local(begin)) as f64 / 1_000.0,
            _ => clock.micros_f64(end.saturating_sub(begin)),
        }
    }

    /// Whether a call is shown: with chosen iterations, only what overlaps them or the time since
    /// the iteration before. Of what ended before the collection began, or in the plain form began before
    /// it, only the loads of models are.
    pub(crate) fn shows_call(&self, call: &Api) -> bool {
        match (self.call_window, self.dialect) {
            (Some(_), _) => self.is_in_call_window(call),
            (None, Dialect::Accelerated) => self.is_of_collection(call),
            _ => self.host_time(call.begin) >= self.begin || self.is_of_load(call),
        }
    }

    /// Whether a call counts in statistics: as [`View::shows_call`], but in the plain form all of a whole
    /// run do.
    pub(crate) fn counts_call(&self, call: &Api) -> bool {
        self.is_in_call_window(call) && (self.dialect != Dialect::Accelerated || self.is_of_collection(call))
    }

    /// Whether a call overlaps the chosen iterations, if some were chosen.
    fn is_in_call_window(&self, call: &Api) -> bool {
        self.call_window
            .is_none_or(|(first, last)| self.host_time(call.begin) < last && self.host_time(call.end) > first)
    }

    /// Whether a call ended after the collection's begin, or belongs to the load of a model.
    pub(crate) fn is_of_collection(&self, call: &Api) -> bool {
        self.joined.data.host_clock.local(call.end) >= self.begin || self.is_of_load(call)
    }

    /// Whether a call belongs to the load of a model.
    fn is_of_load(&self, call: &Api) -> bool {
        let of_thread = self.loads.get(&call.thread).map_or(&[][..], Vec::as_slice);
        let begun = of_thread.partition_point(|(begin, _)| *begin <= call.begin);
        of_thread[..begun].last().is_some_and(|(_, end)| call.end <= *end)
    }

    /// Whether the timeline shows a range of the program, or a sample: with chosen iterations, only
    /// what begins in them or lasts into them.
    pub(crate) fn shows_span(&self, begin: i64, end: i64) -> bool {
        self.sample_window.is_none_or(|(first, last)| begin < last && (begin >= first || end > first))
    }

    /// Whether work that the host's clock timed is shown: with chosen iterations as [`View::shows_span`], and never
    /// before the collection.
    pub(crate) fn shows_of_host(&self, begin: i64, end: i64) -> bool {
        begin >= self.begin && self.shows_span(begin, end)
    }

    /// Whether a task with an operator only launches the steps of a collective one.
    pub(crate) fn only_launches(&self, host: &HostTask) -> bool {
        self.text(host.name).ends_with("AicpuKernel") || self.launch_streams.contains(&host.stream)
    }

    /// The runtime's name of a kind of task.
    pub(crate) fn kind_name(&self, kind: u32) -> &'a str {
        self.kinds.get(&kind).map_or("UNKNOWN", |(_, name)| name)
    }

    /// The kind of task of a number.
    pub(crate) fn kind(&self, number: u32) -> RuntimeKind {
        self.kinds.get(&number).map_or(RuntimeKind::Unnamed, |(kind, _)| *kind)
    }

    /// Whether tasks of a kind copy while the host goes on.
    pub(crate) fn is_copy(&self, kind: u32) -> bool {
        self.kind(kind) == RuntimeKind::AsyncCopy
    }

    /// The row of the host task of a device task.
    #[inline(always)]
    pub(crate) fn host_row(&self, task: TaskRef) -> Option<HostTaskRow> {
        self.device(task).joined.matches.host_of.get(task.task as usize).copied().flatten()
    }

    /// The host task of a device task.
    // Its columns lie far apart, and callers need some of them only.
    #[inline(always)]
    pub(crate) fn host_task(&self, task: TaskRef) -> Option<HostTask> {
        Some(self.joined.host_tasks.row(self.host_row(task)?.index()))
    }

    /// The devices for each of which tables of what the host did have all their rows. The accelerated
    /// reference has them once, for the host.
    pub(crate) fn devices_of_host_tables(&self) -> Vec<Option<u32>> {
        match self.dialect {
            Dialect::Accelerated => vec![None],
            _ if self.devices.is_empty() => vec![None],
            _ => self.devices.iter().map(|device| Some(device.device.id)).collect(),
        }
    }

    pub(crate) fn device(&self, task: TaskRef) -> &DeviceView<'a> {
        &self.devices[task.device as usize]
    }

    /// The begin of the collection, in wall-clock nanoseconds.
    pub(crate) fn begin(&self) -> i64 {
        self.begin
    }

    /// All tasks of all devices that end after the collection's begin, by device and start.
    pub(crate) fn tasks(&self) -> Column<TaskRef> {
        let mut tasks = Column::new();
        for number in 0..self.devices.len() as u32 {
            tasks.append(&mut self.tasks_of(number));
        }
        tasks
    }

    /// The same of one device, by its place in the view.
    pub(crate) fn tasks_of(&self, device: u32) -> Column<TaskRef> {
        let view = &self.devices[device as usize];
        made_in_parts(view.device.tables.tasks.len(), |rows, shown| {
            let all = rows.filter(|&task| view.shows(task));
            shown.extend(all.map(|task| TaskRef { device, task: task as u32 }));
        })
    }

    /// Which host tasks stand for an operator that tables show.
    pub(crate) fn shown_ops(&self) -> Vec<bool> {
        // Steps of collective operations aren't operators, unless the vector cores do them.
        let shown = |task: HostTask| match self.unit(&task) {
            Some(OpUnit::Named(NodeTaskType::Communication)) => self.text(task.name).ends_with("AivKernel"),
            Some(OpUnit::Named(unit)) => !UNLISTED.contains(&unit),
            Some(OpUnit::Hccl | OpUnit::Unnamed(_) | OpUnit::Unknown) => true,
            Some(OpUnit::CollectiveOnAiCpu) | None => false,
        };
        let tasks = &self.joined.host_tasks;
        parallel::column(tasks.len(), |rows, out| out.extend(rows.map(|row| shown(tasks.row(row)))))
    }

    /// The tasks that execute operators which no table lists, though their time counts.
    pub(crate) fn unlisted_tasks(&self) -> Column<TaskRef> {
        let nodes = self.joined.data.host.nodes.task_type();
        let is_unlisted =
            |unit: &u32| NodeTaskType::from_number(*unit).is_some_and(|unit| UNLISTED.contains(&unit));
        if !nodes.iter().any(is_unlisted) {
            return Column::new();
        }
        let mut tasks = self.tasks();
        tasks.retain(|&task| {
            let host = self.host_task(task);
            let unit = host.as_ref().and_then(|host| self.unit(host));
            matches!(unit, Some(OpUnit::Named(unit)) if UNLISTED.contains(&unit))
        });
        tasks
    }

    /// The tasks that execute operators, by device and start.
    pub(crate) fn op_tasks(&self) -> Column<TaskRef> {
        let shown = self.shown_ops();
        let mut tasks = self.tasks();
        tasks.retain(|&task| self.host_row(task).is_some_and(|host| shown[host.index()]));
        tasks
    }

    /// The kind of a task in the word of the tables.
    pub(crate) fn task_type(&self, task: TaskRef) -> &'a str {
        let row = self.device(task).device.tables.tasks.row(task.task as usize);
        match self.host_task(task).map(|host| host.kind) {
            // The runtime has no kinds for tasks that the compiler describes.
            _ if row.log == TaskLog::NanoStars => device_name(row.log, row.kind),
            // On a 910 the device's kind isn't told.
            None if self.joined.data.chip() == Chip::V2_1_0 => "Other",
            Some(kind) if self.kind(kind) != RuntimeKind::FftsPlus => self.kind_name(kind),
            _ => device_name(row.log, row.kind),
        }
    }
}

/// The calls that loaded models, by thread: their begins and ends, by begin.
fn loads(joined: &Joined) -> NumberMap<u32, Vec<(u64, u64)>> {
    let host = &joined.data.host;
    let mut loads: NumberMap<u32, Vec<(u64, u64)>> = NumberMap::default();
    for row in (0..host.api.len()).filter(|&row| host.api.level()[row] == level::MODEL) {
        let call = host.api.row(row);
        if host.names.type_name(call.level, call.kind) == Some("ModelLoad") {
            loads.entry(call.thread).or_default().push((call.begin, call.end));
        }
    }
    loads
}

/// The streams on which AI CPUs launch the communication of fused operators.
fn launch_streams(joined: &Joined) -> NumberSet<u16> {
    let streams = joined.data.host.group_streams.launch_stream().iter();
    streams.filter_map(|&stream| u16::try_from(stream).ok()).collect()
}

/// The numbers of units that nodes name and that have no name, as texts.
fn unnamed_units(joined: &Joined) -> NumberMap<u32, String> {
    let units = joined.data.host.nodes.task_type().iter();
    let unnamed = units.filter(|&&unit| NodeTaskType::from_number(unit).is_none());
    unnamed.map(|&unit| (unit, unit.to_string())).collect()
}

/// The texts of the grids of launches, and of their blocks, if there are `kinds` of launches that have such.
fn grids(joined: &Joined, kinds: &NumberMap<u32, (RuntimeKind, &str)>) -> NumberMap<[u16; 6], [String; 2]> {
    if !kinds.values().any(|(kind, _)| *kind == RuntimeKind::Simt) {
        return NumberMap::default();
    }
    let extents = joined.data.host.extents.iter();
    let texts = |&[x, y, z, block_x, block_y, block_z]: &[u16; 6]| {
        [format!("{x},{y},{z}"), format!("{block_x},{block_y},{block_z}")]
    };
    extents.map(|extent| (*extent, texts(extent))).collect()
}

/// The texts of each combination of tensors. Shapes that the compiler of chip 9 tells have no
/// quotes in the vendor's tables.
fn tensor_texts(joined: &Joined) -> Vec<TensorTexts> {
    let mut texts = TensorTexts::of_all(&joined.data.host.tensor_sets);
    if joined.data.chip().names_tasks_by_model() {
        for shapes in texts.iter_mut().flat_map(|of| [&mut of.input_shapes, &mut of.output_shapes]) {
            shapes.retain(|letter| letter != '"');
        }
    }
    texts
}
