//! The tables of the database, declared once for creating, writing, reading and explaining them.

use opscope_trace::{
    ApiCall, Counter, Device, Figure, Iteration, LaunchSite, Loss, LossId, LossKind, Metric, Model, Operator,
    Process, Range, Reading, Sample, Stream, Task, Tensor, Thread, Trace, UnrecordedIteration,
};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

use super::cell::{Cell, CellProblem, text};
use crate::sqlite_file::Row;

/// A table of the database, which holds one table of a trace.
///
/// Every table has the column `id`, the row's number in the trace from 0, and then `columns`.
pub(super) struct Table {
    pub name: &'static str,
    /// A row's meaning.
    pub about: &'static str,
    pub columns: &'static [Column],
    /// How many rows the trace has for it.
    pub len: fn(&Trace) -> usize,
    /// Writes all columns but `id` of one row.
    pub put: fn(&Trace, usize, &mut Values<'_, '_>),
    /// Adds a row to the trace.
    pub take: fn(&mut Cells<'_, '_>, &mut Trace) -> Result<(), CellError>,
}

/// A column of a table.
pub(super) struct Column {
    pub name: &'static str,
    pub about: &'static str,
    sql_type: &'static str,
    nullable: bool,
    references: Option<&'static str>,
}

impl Column {
    /// The column that holds the values that `field` picks from a row.
    const fn of<Row, Value: Cell>(
        name: &'static str,
        about: &'static str,
        _field: fn(&Row) -> &Value,
    ) -> Self {
        let (nullable, references) = (Value::NULLABLE, Value::REFERENCES);
        Self { name, about, sql_type: Value::TYPE, nullable, references }
    }

    /// A column of text that stands in the table itself.
    const fn text(name: &'static str, about: &'static str) -> Self {
        Self { name, about, sql_type: "TEXT", nullable: false, references: None }
    }
}

impl Table {
    /// The statement that creates the table.
    pub(super) fn ddl(&self) -> String {
        let columns: String = self
            .columns
            .iter()
            .map(|column| {
                let constraint = if column.nullable { "" } else { " NOT NULL" };
                let references =
                    column.references.map_or(String::new(), |table| format!(" REFERENCES {table}(id)"));
                format!(",\n  {} {}{constraint}{references}", column.name, column.sql_type)
            })
            .collect();
        format!("CREATE TABLE {} (\n  id INTEGER PRIMARY KEY{columns}\n)", self.name)
    }

    /// The statement that reads all rows.
    pub(super) fn select(&self) -> String {
        let columns: String = self.columns.iter().map(|column| format!(", {}", column.name)).collect();
        format!("SELECT id{columns} FROM {} ORDER BY id", self.name)
    }
}

/// Writes the values of a row one after another.
pub(super) struct Values<'r, 'b>(pub &'r mut Row<'b>);

impl Values<'_, '_> {
    pub(super) fn put<'t>(&mut self, value: impl Into<ToSqlOutput<'t>>) {
        match value.into() {
            ToSqlOutput::Owned(Value::Text(text)) => self.0.text(&text),
            ToSqlOutput::Owned(value) => self.put_value((&value).into()),
            ToSqlOutput::Borrowed(value) => self.put_value(value),
            // The library may come to know other kinds of values, none of which a cell gives.
            _ => self.0.null(),
        }
    }

    fn put_value(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.0.null(),
            ValueRef::Integer(number) => self.0.integer(number),
            ValueRef::Real(number) => self.0.real(number),
            // All texts of a trace are UTF-8, and it has no bytes.
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                self.0.text(std::str::from_utf8(text).unwrap_or_default());
            }
        }
    }
}

/// Takes the cells of a row one after another.
pub(super) struct Cells<'r, 's> {
    row: &'r rusqlite::Row<'s>,
    next: usize,
}

/// Why a cell could not be read.
pub(super) enum CellError {
    /// The value doesn't belong there.
    Value { column: usize, problem: CellProblem },
    /// SQLite reports damage.
    Sqlite(rusqlite::Error),
}

impl<'r, 's> Cells<'r, 's> {
    /// The cells from `id` on.
    pub(super) fn new(row: &'r rusqlite::Row<'s>) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn take<Value: Cell>(&mut self, trace: &mut Trace) -> Result<Value, CellError> {
        self.take_with(|value| Value::take(value, trace))
    }

    /// Takes the first cell, which counts the rows.
    pub(super) fn take_id(&mut self, number: usize) -> Result<(), CellError> {
        // A trace names its rows with 32 bits.
        let expected = i64::from(u32::try_from(number).unwrap_or(u32::MAX));
        self.take_with(|value| match value {
            ValueRef::Integer(id) if id == expected && id < i64::from(u32::MAX - 1) => Ok(()),
            other => Err(CellProblem::new(format!("the row's number {expected}"), other)),
        })
    }

    fn take_with<Value>(
        &mut self,
        read: impl FnOnce(ValueRef<'_>) -> Result<Value, CellProblem>,
    ) -> Result<Value, CellError> {
        let column = self.next;
        self.next += 1;
        let value = self.row.get_ref(column).map_err(CellError::Sqlite)?;
        read(value).map_err(|problem| CellError::Value { column, problem })
    }
}

/// Declares the database's table for a table of the trace. The comments become the help text.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $name:ident: $row:ident {
            $($(#[doc = $column_about:literal])+ $field:ident => $column:literal,)+
        }
    ) => {
        Table {
            name: stringify!($name),
            about: concat!($($about),+),
            columns: &[$(
                Column::of($column, concat!($($column_about),+), |row: &$row| &row.$field),
            )+],
            len: |trace| trace.$name.len(),
            put: |trace, index, values| {
                $(values.put(trace.$name.$field()[index].put(trace));)+
            },
            take: |cells, trace| {
                let row = $row { $($field: cells.take(trace)?,)+ };
                trace.$name.push(row);
                Ok(())
            },
        }
    };
}

/// All tables; each refers only to those before it.
pub(super) const TABLES: &[Table] = &[
    Table {
        name: "strings",
        about: "Text, each piece once; the views show it where other tables name it.",
        columns: &[Column::text("text", "The text.")],
        len: |trace| trace.strings.len(),
        put: |trace, index, values| values.put(trace.strings.get(opscope_trace::StringId::from_index(index))),
        take: |cells, trace| {
            cells.take_with(|value| {
                let rows_before = trace.strings.len();
                let id = trace.strings.intern(text(value)?);
                let is_new = id.index() == rows_before;
                is_new.then_some(()).ok_or_else(|| CellProblem::new("a text that no row before has", value))
            })
        },
    },
    Table {
        name: "run_facts",
        about: "What is known of the run as a whole.",
        columns: &[
            Column::text("key", "The fact, such as engine or threads."),
            Column::text("value", "What it is."),
        ],
        len: |trace| trace.run.facts().len(),
        put: |trace, index, values| {
            let facts = trace.run.facts();
            let (key, value) = &facts[index];
            values.put(key.as_str());
            values.put(value.to_string());
        },
        take: |cells, trace| {
            let key = cells.take_with(|value| Ok(text(value)?.to_owned()))?;
            cells.take_with(|value| {
                let is_fact = trace.run.read_fact(&key, text(value)?);
                is_fact.then_some(()).ok_or_else(|| CellProblem::new(format!("a value of {key}"), value))
            })
        },
    },
    Table {
        name: "remarks",
        about: "What else the producer said of the run, in its own words; opscope only shows it.",
        columns: &[Column::text("key", "What is said."), Column::text("value", "What it is.")],
        len: |trace| trace.run.remarks.len(),
        put: |trace, index, values| {
            let (key, value) = &trace.run.remarks[index];
            values.put(key.as_str());
            values.put(value.as_str());
        },
        take: |cells, trace| {
            let key = cells.take_with(|value| Ok(text(value)?.to_owned()))?;
            let value = cells.take_with(|value| Ok(text(value)?.to_owned()))?;
            trace.run.remarks.push((key, value));
            Ok(())
        },
    },
    table! {
        /// Operating system processes.
        processes: Process {
            /// The system's number.
            pid => "pid",
            /// The program's name.
            name => "name_id",
        }
    },
    table! {
        /// Threads of the processes.
        threads: Thread {
            /// Its process.
            process => "process_id",
            /// The system's number, or the format's.
            tid => "tid",
            /// Its name.
            name => "name_id",
        }
    },
    table! {
        /// Devices that executed tasks; the host's processor counts as one.
        devices: Device {
            /// The device's number.
            number => "number",
            /// cpu, gpu, npu or other.
            kind => "kind",
            /// The chip or execution provider.
            name => "name_id",
        }
    },
    table! {
        /// Queues of a device; a thread that executes operators counts as one.
        streams: Stream {
            /// Its device.
            device => "device_id",
            /// The stream's number.
            number => "number",
            /// The thread that executes it, if the device is the host.
            thread => "thread_id",
            /// Its name.
            name => "name_id",
        }
    },
    table! {
        /// Models that were loaded or run.
        models: Model {
            /// The model's number.
            number => "number",
            /// Its name or file.
            name => "name_id",
        }
    },
    table! {
        /// Inferences, warm-up ones included.
        iterations: Iteration {
            /// The model that was run.
            model => "model_id",
            /// Its number: what the program or the vendor's tool calls it, else its place among those of its model from 1.
            number => "number",
            /// 1 if it served to warm up.
            warm_up => "warm_up",
            /// When it began.
            start => "start_ns",
            /// How long it took.
            duration => "duration_ns",
        }
    },
    table! {
        /// Inferences that were timed as a whole, in turn with those whose tasks were recorded.
        unrecorded_iterations: UnrecordedIteration {
            /// The model that was run.
            model => "model_id",
            /// Its number among the unrecorded ones, from 1.
            number => "number",
            /// 1 if it served to warm up.
            warm_up => "warm_up",
            /// When it began.
            start => "start_ns",
            /// How long it took.
            duration => "duration_ns",
        }
    },
    table! {
        /// Calls that the host made: loading, executing, launching.
        api_calls: ApiCall {
            /// The calling thread.
            thread => "thread_id",
            /// framework, application, model, node, communication, runtime, system or other.
            level => "level",
            /// The call's name.
            name => "name_id",
            /// When it began.
            start => "start_ns",
            /// How long it took.
            duration => "duration_ns",
            /// The inference that it belongs to.
            iteration => "iteration_id",
        }
    },
    table! {
        /// Inputs and outputs of operators.
        tensors: Tensor {
            /// The value's name in the model.
            name => "name_id",
            /// The element type, such as float32.
            data_type => "data_type",
            /// The dimensions as JSON, such as [1,3,224,224]; -1 is one that isn't known.
            dimensions => "dimensions",
            /// The memory layout, such as NCHW.
            layout => "layout_id",
            /// 1 if it is a constant of the model.
            parameter => "parameter",
        }
    },
    table! {
        /// Nodes of the models, a row for every combination of shapes.
        operators: Operator {
            /// Its model.
            model => "model_id",
            /// Its name in the model.
            name => "name_id",
            /// Its type, such as Conv; one that stands for several nodes joins their types with +.
            op_type => "op_type_id",
            /// The type that the engine ran it as, such as QuickGelu for Sigmoid+Mul.
            engine_type => "engine_type_id",
            /// Its position in the order of execution.
            position => "position",
            /// How it was matched with the graph: no-graph, exact, fused, engine, unattributed, removed.
            attribution => "attribution",
            /// The graph's nodes that it stands for, as JSON.
            origins => "origins",
            /// Its first input.
            first_input => "first_input_id",
            /// How many inputs it has; their ids follow the first.
            input_count => "input_count",
            /// Its first output.
            first_output => "first_output_id",
            /// How many outputs it has; their ids follow the first.
            output_count => "output_count",
            /// Its attributes as JSON.
            attributes => "attributes_id",
            /// 1 if its shapes became known only when it ran.
            dynamic => "dynamic",
            /// Operations of one execution; a multiplication and an addition are two.
            flops => "flops",
            /// Bytes of all inputs, parameters included.
            bytes_read => "bytes_read",
            /// Bytes of all outputs.
            bytes_written => "bytes_written",
            /// How many elements its parameters have.
            parameters => "parameters",
        }
    },
    table! {
        /// Units of work on the streams: executions of operators, copies, waits.
        tasks: Task {
            /// The operator that it executed.
            operator => "operator_id",
            /// The engine's or device's own name for it.
            name => "name_id",
            /// The number by which its format's tables name it.
            number => "number",
            /// The stream that it ran on.
            stream => "stream_id",
            /// The part of the device that executed it, such as cpu or ai-core.
            unit => "unit",
            /// The inference that it belongs to.
            iteration => "iteration_id",
            /// The call that launched it.
            launched_by => "launched_by_id",
            /// When it began.
            start => "start_ns",
            /// How long it took, with the tasks that ran within it on its stream.
            duration => "duration_ns",
            /// How long it waited before its first kernel.
            wait => "wait_ns",
        }
    },
    table! {
        /// The framework's calls that asked for tasks, as far as the framework tells.
        launch_sites: LaunchSite {
            /// The task.
            task => "task_id",
            /// The framework's call, which may have launched it through a queue.
            call => "call_id",
            /// The program's lines that led there, the innermost first.
            stack => "stack_id",
        }
    },
    table! {
        /// Quantities that hardware reports for single tasks.
        metrics: Metric {
            /// The measured quantity, in the vendor's word.
            name => "name_id",
            /// The unit of the values; empty for counts and ratios.
            unit => "unit_id",
        }
    },
    table! {
        /// Values that hardware reported, a row for each task.
        readings: Reading {
            /// The task.
            task => "task_id",
            /// The ids of what was measured, as JSON.
            metrics => "metric_ids",
            /// The values as JSON, one for each metric.
            values => "metric_values",
        }
    },
    table! {
        /// Ranges and marks that the program set.
        ranges: Range {
            /// The thread that set it.
            thread => "thread_id",
            /// push-pop, start-stop or mark.
            kind => "kind",
            /// The program's text.
            name => "name_id",
            /// The program's domain or category.
            domain => "domain_id",
            /// When it began.
            start => "start_ns",
            /// How long it lasted; 0 for a mark.
            duration => "duration_ns",
        }
    },
    table! {
        /// Quantities that were sampled over time.
        counters: Counter {
            /// The counted quantity.
            name => "name_id",
            /// The unit of the samples.
            unit => "unit_id",
            /// The device that it belongs to; empty for the host.
            device => "device_id",
        }
    },
    table! {
        /// Samples of the counters.
        samples: Sample {
            /// Its counter.
            counter => "counter_id",
            /// When.
            time => "time_ns",
            /// The value in the counter's unit.
            value => "value",
        }
    },
    table! {
        /// Figures that files beside the records state of steps, operations or operators.
        figures: Figure {
            /// The kind of subject, such as step, collective or transport.
            topic => "topic",
            /// The file or table that states it.
            source => "source_id",
            /// The step; an empty text for the whole profile.
            step => "step_id",
            /// The subject, such as the name of an operation.
            subject => "subject_id",
            /// A part of it, such as a kind of link; an empty text for the whole.
            part => "part_id",
            /// The quantity.
            name => "name_id",
            /// The unit of the value; an empty text for counts and ratios.
            unit => "unit_id",
            /// The value.
            value => "value",
        }
    },
    Table {
        name: "losses",
        about: "What was dropped or doubted while the profile was read.",
        columns: &[
            Column::text("kind", "What was lost, in a word."),
            Column::text("severity", "How much it matters: lost (figures may be wrong), doubted, or remark."),
            Column::text("source", "The reader that found it, and so the kind of profile."),
            Column::text("scope", "The kind of record that it concerns, such as task or file."),
            Column::text("reason", "What was lost, and why, in a sentence."),
            Column {
                name: "count",
                about: "How many records.",
                sql_type: "INTEGER",
                nullable: false,
                references: None,
            },
            Column {
                name: "detail_id",
                about: "The file, offset or field concerned.",
                sql_type: "INTEGER",
                nullable: false,
                references: Some("strings"),
            },
        ],
        len: |trace| trace.losses.len(),
        put: |trace, index, values| {
            let Loss { kind, count, detail } = trace.losses.get(LossId::from_index(index));
            for word in [kind.name(), kind.severity().name(), kind.source().name(), kind.scope().name()] {
                values.put(word);
            }
            values.put(kind.sentence());
            values.put(count.put(trace));
            values.put(detail.put(trace));
        },
        take: |cells, trace| {
            let kind: LossKind = cells.take(trace)?;
            // The kind tells the other words.
            (0..4).try_for_each(|_| cells.take_with(|_| Ok(())))?;
            let row = Loss { kind, count: cells.take(trace)?, detail: cells.take(trace)? };
            trace.losses.push(row);
            Ok(())
        },
    },
];
