//! One device as the exports see it: its times, and the choice of its tasks.

use crate::data::Device;
use crate::dialect::Dialect;
use crate::facts::last_begun::LastBegun;
use crate::join::JoinedDevice;
use crate::metadata::Session;
use crate::options::IterationRange;
use crate::tables::NO_MODEL;
use crate::text::numbers;

/// One device of a profile, prepared for exporting.
pub(crate) struct DeviceView<'a> {
    pub(crate) device: &'a Device,
    pub(crate) joined: &'a JoinedDevice,
    dialect: Dialect,
    /// The begin of the collection, in wall-clock nanoseconds.
    pub(crate) begin: i64,
    /// The device ticks between which shown tasks lie; `None` if all are shown.
    pub(crate) window: Option<(u64, u64)>,
    /// The iterations that are shown: number, begin and end.
    iterations: Vec<(u64, u64, u64)>,
    /// The begins of those.
    begun: LastBegun,
    offset_us: f64,
}

/// The rows of a profile that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// The vendor's own choice: the whole run, or on some chips the first iteration.
    ByDefault,
    /// Some iterations of one model.
    Iterations(IterationRange),
    /// All that was recorded.
    Everything,
}

impl<'a> DeviceView<'a> {
    pub(super) fn new(device: &'a Device, joined: &'a JoinedDevice, dialect: Dialect, shown: Shown) -> Self {
        let session = &device.metadata.session;
        let (window, iterations) = selected(joined, device, shown);
        let begun = LastBegun::new(iterations.iter().map(|(_, begin, _)| *begin));
        Self {
            device,
            joined,
            window,
            iterations,
            begun,
            dialect,
            begin: session.begin.unwrap_or(i64::MIN),
            offset_us: offset_us(session),
        }
    }
}

impl DeviceView<'_> {
    /// The wall-clock time of a device's counter value, in nanoseconds.
    pub(crate) fn time(&self, ticks: u64) -> i64 {
        match self.dialect {
            Dialect::Accelerated => self.device.clock.local(ticks),
            _ => numbers::python_local(self.device.clock.monotonic_f64(ticks), self.offset_us),
        }
    }

    /// The wall-clock time in the middle between two of the device's counter values.
    pub(crate) fn middle(&self, from: u64, to: u64) -> i64 {
        let clock = &self.device.clock;
        numbers::python_local((clock.monotonic_f64(from) + clock.monotonic_f64(to)) / 2.0, self.offset_us)
    }

    /// The wall-clock time of a time in nanoseconds of the monotonic clock.
    pub(crate) fn monotonic_time(&self, nanoseconds: u64) -> i64 {
        numbers::python_local(nanoseconds as f64, self.offset_us)
    }

    /// The device ticks from the end of the iteration before the shown ones, if there was one, to their
    /// end; `None` if all are shown.
    pub(crate) fn window_with_gap(&self) -> Option<(Option<u64>, u64)> {
        let (start, end) = self.window?;
        let ends = self.joined.iterations.end().iter().copied();
        Some((ends.filter(|&previous| previous <= start).max(), end))
    }

    /// The wall-clock times between which calls belong to the shown iterations: from the end of the
    /// iteration before.
    pub(super) fn call_window(&self) -> Option<(i64, i64)> {
        let (before, end) = self.window_with_gap()?;
        Some((before.map_or(i64::MIN, |ticks| self.time(ticks)), self.time(end)))
    }

    /// The wall-clock times of the shown iterations; what came before a model's first one belongs
    /// to that.
    pub(super) fn sample_window(&self) -> Option<(i64, i64)> {
        let (start, end) = self.window?;
        let has_first = self.iterations.first().is_some_and(|(number, ..)| *number == 1);
        Some((if has_first { i64::MIN } else { self.time(start) }, self.time(end)))
    }

    /// The number of the iteration that a task belongs to; 0 if it isn't known.
    pub(crate) fn iteration(&self, task: usize) -> u64 {
        let start = self.device.tables.tasks.start()[task];
        self.begun.at(start).map_or(0, |place| self.iterations[place].0)
    }

    /// Whether a task is shown: it lies in the chosen iterations, and not before the collection.
    pub(crate) fn shows(&self, task: usize) -> bool {
        let tasks = &self.device.tables.tasks;
        let in_window =
            self.window.is_none_or(|(start, end)| tasks.start()[task] > start && tasks.end()[task] < end);
        in_window && self.end(task) >= self.begin
    }

    /// The start of a task.
    pub(crate) fn start(&self, task: usize) -> i64 {
        self.time(self.device.tables.tasks.start()[task])
    }

    /// The end of a task.
    pub(crate) fn end(&self, task: usize) -> i64 {
        self.time(self.device.tables.tasks.end()[task])
    }

    /// How long a task took, in nanoseconds.
    pub(crate) fn duration(&self, task: usize) -> f64 {
        let tasks = &self.device.tables.tasks;
        let (start, end) = (tasks.start()[task], tasks.end()[task]);
        let clock = &self.device.clock;
        match self.dialect {
            Dialect::Accelerated => (clock.local(end) - clock.local(start)) as f64,
            _ => self.unrounded_duration(task),
        }
    }

    /// As [`DeviceView::duration`], with the fraction of a nanosecond that a clock may leave, which the
    /// accelerated reference cuts off in some tables only.
    pub(crate) fn unrounded_duration(&self, task: usize) -> f64 {
        let tasks = &self.device.tables.tasks;
        let clock = &self.device.clock;
        clock.monotonic_f64(tasks.end()[task]) - clock.monotonic_f64(tasks.start()[task])
    }

    /// Whether a row is the whole of a task for which its sub-tasks stand.
    pub(crate) fn is_doubled(&self, task: usize) -> bool {
        self.joined.is_divided(&self.device.tables, task)
    }
}

/// The device ticks between which shown tasks lie, if not all are shown, and the shown iterations:
/// number, begin and end.
type Selection = (Option<(u64, u64)>, Vec<(u64, u64, u64)>);

/// The shown rows of a device.
fn selected(joined: &JoinedDevice, device: &Device, shown: Shown) -> Selection {
    let iterations = &joined.iterations;
    let all = || (0..iterations.len() as u32).filter(|&row| iterations.model()[row as usize] != NO_MODEL);
    let range = match shown {
        Shown::Everything => return (None, Vec::new()),
        Shown::Iterations(range) => range,
        Shown::ByDefault if device.metadata.chip().exports_whole_run() => return (None, Vec::new()),
        Shown::ByDefault => match all().map(|row| iterations.model()[row as usize]).min() {
            Some(model) => IterationRange { model, first: 1, count: 1 },
            None => return (None, Vec::new()),
        },
    };
    let of_model = all().filter(|&row| iterations.model()[row as usize] == range.model);
    let span = |row: u32| (iterations.start()[row as usize], iterations.end()[row as usize]);
    let numbered = (1..).zip(of_model.map(span)).map(|(number, (start, end))| (number, start, end));
    let last = range.first.saturating_add(range.count.max(1) - 1);
    let rows: Vec<(u64, u64, u64)> = numbered.filter(|row| (range.first..=last).contains(&row.0)).collect();
    let window = match (rows.first(), rows.last()) {
        (Some(&(_, start, _)), Some(&(_, _, end))) => (start, end),
        // No such iteration: nothing is shown.
        _ => (u64::MAX, 0),
    };
    (Some(window), rows)
}

/// Microseconds that the reference's Python code adds to monotonic times.
pub(super) fn offset_us(session: &Session) -> f64 {
    match (session.begin, session.begin_monotonic) {
        (Some(begin), Some(monotonic)) => (begin / 1_000) as f64 - monotonic as f64 / 1_000.0,
        _ => 0.0,
    }
}
