//! Tasks of the devices, the operators behind them, and collective operations.

use std::collections::HashMap;

use opscope_trace::{ExecutionUnit, LossKind, Nanoseconds, Operator, OperatorId, StringId, Task, TaskId};

use super::operation_devices::OperationDevices;
use super::reader::{Reader, kind_of};
use crate::database::schema::{
    COMMUNICATION_OP, COMMUNICATION_SCHEDULE_TASK_INFO, COMMUNICATION_TASK_INFO, COMPUTE_TASK_INFO, TASK,
};
use crate::kinds::communication::{attributes_of_pair, bytes, is_between_two};
use crate::read::operators::{Described, Operators, Side};
use crate::vocabulary;
use crate::waits::Waits;

/// The operator of a task's number: a row of `COMPUTE_TASK_INFO`, or of `COMMUNICATION_SCHEDULE_TASK_INFO`.
#[derive(Clone, Copy)]
struct Computed {
    name: StringId,
    op_type: StringId,
    /// The kind of task: `AI_CORE`, `MIX_AIV`, …
    kind: StringId,
    inputs: Side,
    outputs: Side,
    dynamic: Option<bool>,
    /// How many blocks it was split into, and how many of the other kind of core.
    blocks: [f64; 2],
}

/// A row of `TASK`.
#[derive(Clone, Copy)]
pub(super) struct TaskRow {
    pub start: Nanoseconds,
    pub duration: Nanoseconds,
    pub device: u32,
    stream: u64,
    /// The number of the task within its stream, which is used again.
    task: i64,
    /// The part of the task that this row is about; nothing for the whole.
    context: Option<i64>,
    pub model: Option<u64>,
    pub connection: Option<i64>,
    /// The number that all runs of a task share.
    pub global: i64,
    kind: StringId,
}

impl TaskRow {
    fn end(&self) -> Nanoseconds {
        self.start + self.duration
    }
}

impl Reader<'_> {
    /// Reads tasks, operators, collective operations, and to which inference they belong.
    pub(super) fn read_tasks(&mut self) {
        let computed = self.read_computed();
        let mut rows = self.read_task_rows();
        let parts = Parts::new(&rows);
        let all = rows.len();
        rows.retain(|row| computed.contains_key(&row.global) || !parts.make_up(row));
        self.trace.count_loss(LossKind::DividedTask, (all - rows.len()) as u64, TASK.name);
        let mut operators = Operators::default();
        let mut metrics = self.read_metrics();
        let mut ids: Vec<TaskId> = Vec::with_capacity(rows.len());
        for row in self.stop.within(&rows) {
            let info = computed.get(&row.global);
            let task = self.enter_task(row, info, &mut operators);
            let blocks = info.map_or([f64::NAN; 2], |info| info.blocks);
            metrics.enter(&mut self.trace, task, row.global, blocks);
            self.enter_launch_site(task, row.connection);
            ids.push(task);
        }
        Waits::enter(&mut self.trace);
        let pairs = self.read_collective_operations(&rows, &mut operators);
        self.read_peers(&pairs);
        self.read_dpu_tasks(&mut operators);
        self.read_links(&rows);
        if !self.stop.is_wanted() {
            self.read_iterations(&rows, &ids);
        }
    }

    fn read_computed(&mut self) -> HashMap<i64, Computed> {
        const COLUMNS: [&str; 14] = COMPUTE_TASK_INFO.select([
            "globalTaskId",
            "name",
            "opType",
            "taskType",
            "inputShapes",
            "inputDataTypes",
            "inputFormats",
            "outputShapes",
            "outputDataTypes",
            "outputFormats",
            "blockNum",
            "mixBlockNum",
            "opState",
            "blockDim",
        ]);
        // Versions that call the number of blocks their dimension have one more.
        let columns = [&COLUMNS[..], &["mixBlockDim"]].concat();
        let mut computed = HashMap::new();
        self.each_row(COMPUTE_TASK_INFO.name, &columns, |reader, row| {
            let Some(global) = row.integer(0) else { return };
            let mut text = |column| reader.texts.find(row.integer(column));
            let state = text(12);
            let info = Computed {
                name: text(1),
                op_type: text(2),
                kind: text(3),
                inputs: Side { shapes: text(4), types: text(5), formats: text(6) },
                outputs: Side { shapes: text(7), types: text(8), formats: text(9) },
                dynamic: vocabulary::is_dynamic(reader.texts.table.get(state)),
                // Earlier versions call the number of blocks their dimension.
                blocks: [(10, 13), (11, 14)]
                    .map(|(new, old)| row.float(new).or(row.float(old)).unwrap_or(f64::NAN)),
            };
            computed.insert(global, info);
        });
        self.read_scheduling(&mut computed);
        computed
    }

    /// Reads the kernels with which the AI CPU launches the steps of collective operations.
    fn read_scheduling(&mut self, computed: &mut HashMap<i64, Computed>) {
        const TABLE: &str = COMMUNICATION_SCHEDULE_TASK_INFO.name;
        const COLUMNS: [&str; 4] =
            COMMUNICATION_SCHEDULE_TASK_INFO.select(["globalTaskId", "name", "opType", "taskType"]);
        self.each_row(TABLE, &COLUMNS, |reader, row| {
            let Some(global) = row.integer(0) else { return };
            let [name, op_type, kind] = [1, 2, 3].map(|column| reader.texts.find(row.integer(column)));
            let nothing = reader.texts.find(None);
            let side = Side { shapes: nothing, types: nothing, formats: nothing };
            let (inputs, outputs, blocks) = (side, side, [f64::NAN; 2]);
            let info = Computed { name, op_type, kind, inputs, outputs, dynamic: None, blocks };
            computed.entry(global).or_insert(info);
        });
    }

    fn read_task_rows(&mut self) -> Vec<TaskRow> {
        const COLUMNS: [&str; 10] = TASK.select([
            "startNs",
            "endNs",
            "deviceId",
            "streamId",
            "taskId",
            "contextId",
            "modelId",
            "connectionId",
            "globalTaskId",
            "taskType",
        ]);
        // A table without devices is of the only one that the database names.
        let only = self.chips.keys().next().copied().filter(|_| self.chips.len() == 1);
        let mut rows = Vec::new();
        self.each_row(TASK.name, &COLUMNS, |reader, row| {
            let (start, duration) = match row.span(0, 1) {
                Ok(span) => span,
                Err(problem) => return reader.trace.count_loss(kind_of(problem), 1, TASK.name),
            };
            rows.push(TaskRow {
                start: start - reader.zero,
                duration,
                device: row.small(2).or(only).unwrap_or(0),
                stream: row.number(3).unwrap_or(0),
                task: row.integer(4).unwrap_or(-1),
                context: row.integer(5).filter(|context| *context != vocabulary::NONE as i64),
                model: row.number(6).filter(|model| *model != vocabulary::NONE),
                connection: row.integer(7),
                global: row.integer(8).unwrap_or(-1),
                kind: reader.texts.find(row.integer(9)),
            });
        });
        rows
    }

    fn enter_task(&mut self, row: &TaskRow, info: Option<&Computed>, operators: &mut Operators) -> TaskId {
        let device = self.device(row.device);
        let nameless = self.trace.strings.intern("");
        let stream = Some(self.places.stream(&mut self.trace, device, row.stream, None, nameless));
        let (name, kind) = info.map_or((row.kind, row.kind), |info| (info.name, info.kind));
        let [kind, own_kind] = [kind, row.kind].map(|kind| self.texts.table.get(kind));
        let unit = vocabulary::unit(vocabulary::known(kind).unwrap_or(own_kind));
        let operator = info.map(|info| {
            let model = row.model.map(|model| self.trace.enter_model(model));
            let &Computed { name, op_type, inputs, outputs, dynamic, .. } = info;
            let described = Described { model, name, op_type, inputs, outputs, dynamic };
            operators.find(&mut self.trace, &self.texts.table, described)
        });
        let name = match row.connection.and_then(|connection| self.marks.get(&connection)) {
            Some(message) if own_kind == vocabulary::MARK => *message,
            _ => self.trace.strings.intern(self.texts.table.get(name)),
        };
        let launched_by = row.connection.and_then(|connection| self.calls.get(&connection).copied());
        self.trace.tasks.push(Task {
            operator,
            number: u32::try_from(row.task).ok(),
            stream,
            unit,
            launched_by,
            ..Task::new(name, row.start, row.duration)
        })
    }

    /// Reads the collective operations as a whole; the tasks of their steps stand in `TASK`. Returns the operators of
    /// those between two ranks, by the operations' ids.
    fn read_collective_operations(&mut self, rows: &[TaskRow], operators: &mut Operators) -> Pairs {
        const COLUMNS: [&str; 10] = COMMUNICATION_OP.select([
            "startNs",
            "endNs",
            "opName",
            "opType",
            "groupName",
            "connectionId",
            "deviceId",
            "opId",
            "count",
            "dataType",
        ]);
        let mut pairs = Pairs::default();
        let mut groups: Vec<StringId> = Vec::new();
        let mut devices: Option<OperationDevices> = None;
        self.each_row(COMMUNICATION_OP.name, &COLUMNS, |reader, row| {
            let (start, duration) = match row.span(0, 1) {
                Ok(span) => span,
                Err(problem) => return reader.trace.count_loss(kind_of(problem), 1, COMMUNICATION_OP.name),
            };
            let group = reader.texts.find(row.integer(4));
            let number = groups.iter().position(|known| *known == group).unwrap_or_else(|| {
                groups.push(group);
                groups.len() - 1
            });
            let device = row.small(6).or_else(|| {
                let named = reader.chips.keys().copied();
                let devices =
                    devices.get_or_insert_with(|| OperationDevices::new(reader.database, rows, named));
                devices.find(row.integer(7), row.integer(5))
            });
            if device.is_none() {
                reader.trace.count_loss(LossKind::MissingMetadata, 1, "COMMUNICATION_OP: device");
            }
            let title = format!("Group {} Communication", reader.texts.table.get(group));
            let title = reader.trace.strings.intern(&title);
            let number = vocabulary::FIRST_GROUP_STREAM + number as u64;
            let stream = device.map(|device| {
                let device = reader.device(device);
                reader.places.stream(&mut reader.trace, device, number, None, title)
            });
            let (name, op_type) = (reader.texts.find(row.integer(2)), reader.texts.find(row.integer(3)));
            let nothing = reader.texts.find(None);
            let side = Side { shapes: nothing, types: nothing, formats: nothing };
            let described =
                Described { model: None, name, op_type, inputs: side, outputs: side, dynamic: None };
            let is_pair = is_between_two(reader.texts.table.get(name));
            // Devices of one database may have pairs of one name, each with another peer.
            let operator = match is_pair {
                true => {
                    let [name, op_type] =
                        [name, op_type].map(|id| reader.trace.strings.intern(reader.texts.table.get(id)));
                    reader.trace.operators.push(Operator::new(name, op_type))
                }
                false => operators.find(&mut reader.trace, &reader.texts.table, described),
            };
            let bytes_read = row.number(8).zip(row.number(9));
            if let Some(bytes) = bytes_read.and_then(|(count, data_type)| bytes(data_type, count)) {
                let entered = reader.trace.operators.get(operator);
                reader.trace.operators.set(operator, Operator { bytes_read: Some(bytes), ..entered });
            }
            if let Some(id) = row.integer(7).filter(|_| is_pair) {
                pairs.insert(id, operator);
            }
            let operator = Some(operator);
            let name = reader.trace.strings.intern(reader.texts.table.get(name));
            let launched_by = row.integer(5).and_then(|connection| reader.calls.get(&connection).copied());
            let start = start - reader.zero;
            let unit = ExecutionUnit::Communication;
            let task = Task { operator, stream, unit, launched_by, ..Task::new(name, start, duration) };
            let task = reader.trace.tasks.push(task);
            reader.enter_launch_site(task, row.integer(5));
        });
        pairs
    }

    /// Enters the other side of operations between two ranks, which their steps name.
    fn read_peers(&mut self, pairs: &Pairs) {
        if pairs.is_empty() {
            return;
        }
        const COLUMNS: [&str; 3] = COMMUNICATION_TASK_INFO.select(["opId", "srcRank", "dstRank"]);
        let is_rank = |number: &u64| *number != vocabulary::NONE;
        self.each_row(COMMUNICATION_TASK_INFO.name, &COLUMNS, |reader, row| {
            let operator = row.integer(0).and_then(|id| pairs.get(&id));
            let ends = row.number(1).filter(is_rank).zip(row.number(2).filter(is_rank));
            if let (Some(operator), Some((own, other))) = (operator, ends)
                && own != other
            {
                let attributes = Some(reader.trace.strings.intern(&attributes_of_pair(other)));
                let entered = reader.trace.operators.get(*operator);
                reader.trace.operators.set(*operator, Operator { attributes, ..entered });
            }
        });
    }
}

/// Operations between two ranks, by their ids.
type Pairs = HashMap<i64, OperatorId>;

/// The starts of those rows that are about parts of a task, by device, stream and task.
struct Parts {
    starts: HashMap<(u32, u64, i64), Vec<Nanoseconds>>,
}

impl Parts {
    fn new(rows: &[TaskRow]) -> Self {
        let mut starts: HashMap<(u32, u64, i64), Vec<Nanoseconds>> = HashMap::new();
        for row in rows.iter().filter(|row| row.context.is_some()) {
            starts.entry((row.device, row.stream, row.task)).or_default().push(row.start);
        }
        starts.values_mut().for_each(|starts| starts.sort_unstable());
        Self { starts }
    }

    /// Whether a row is about a whole task whose parts are rows as well. Numbers of tasks are used
    /// again, so the parts must also lie in its time.
    fn make_up(&self, row: &TaskRow) -> bool {
        let starts = self.starts.get(&(row.device, row.stream, row.task));
        row.context.is_none()
            && starts.is_some_and(|starts| {
                let first = starts.partition_point(|start| *start < row.start);
                starts.get(first).is_some_and(|start| *start <= row.end())
            })
    }
}
