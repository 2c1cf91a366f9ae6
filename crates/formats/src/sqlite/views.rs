//! Views that spell rows out, so that a query needs no joins, and the indexes that make those quick.

use opscope_trace::Trace;

/// A view of the database.
pub(super) struct View {
    pub name: &'static str,
    /// A row's meaning.
    pub about: &'static str,
    /// The statement that selects its rows; it may use the views before it.
    pub select: &'static str,
}

impl View {
    /// The statement that creates the view.
    pub(super) fn ddl(&self) -> String {
        format!("CREATE VIEW {} AS {}", self.name, self.select)
    }
}

/// All views. Where a column is text, it stands in place of the id in the table; where a row has
/// none, it is empty.
pub(super) const VIEWS: &[View] = &[
    View {
        name: "tensor_details",
        about: "Inputs and outputs of operators; shape is the dimensions as 1x3x224x224.",
        select: "SELECT tensors.id, name.text AS name, data_type, \
             replace(trim(dimensions, '[]'), ',', 'x') AS shape, dimensions, \
             layout.text AS layout, parameter \
             FROM tensors \
             LEFT JOIN strings AS name ON name.id = tensors.name_id \
             LEFT JOIN strings AS layout ON layout.id = tensors.layout_id",
    },
    View {
        name: "operator_tensors",
        about: "Which tensors are whose inputs and outputs: role is input or output, position counts from 0.",
        select: "SELECT operators.id AS operator_id, 'input' AS role, \
             tensors.id - first_input_id AS position, tensors.id AS tensor_id \
             FROM operators JOIN tensors \
             ON tensors.id >= first_input_id AND tensors.id < first_input_id + input_count \
             UNION ALL \
             SELECT operators.id, 'output', tensors.id - first_output_id, tensors.id \
             FROM operators JOIN tensors \
             ON tensors.id >= first_output_id AND tensors.id < first_output_id + output_count",
    },
    View {
        name: "operator_details",
        about: "Nodes of the models with their names, types and shapes.",
        select: "SELECT operators.id, model_name.text AS model, operator_name.text AS name, \
             op_type.text AS op_type, engine_type.text AS engine_type, position, attribution, origins, \
             (SELECT group_concat(trim(shape || ' ' || data_type), ', ') FROM \
              (SELECT coalesce(shape, '?') AS shape, data_type FROM tensor_details \
               WHERE id >= first_input_id AND id < first_input_id + input_count ORDER BY id)) AS inputs, \
             (SELECT group_concat(trim(shape || ' ' || data_type), ', ') FROM \
              (SELECT coalesce(shape, '?') AS shape, data_type FROM tensor_details \
               WHERE id >= first_output_id AND id < first_output_id + output_count ORDER BY id)) AS outputs, \
             attributes.text AS attributes, dynamic, flops, bytes_read, bytes_written, parameters \
             FROM operators \
             LEFT JOIN models ON models.id = operators.model_id \
             LEFT JOIN strings AS model_name ON model_name.id = models.name_id \
             LEFT JOIN strings AS operator_name ON operator_name.id = operators.name_id \
             LEFT JOIN strings AS op_type ON op_type.id = op_type_id \
             LEFT JOIN strings AS engine_type ON engine_type.id = engine_type_id \
             LEFT JOIN strings AS attributes ON attributes.id = attributes_id",
    },
    View {
        name: "iteration_details",
        about: "Inferences with the name of their model.",
        select: "SELECT iterations.id, model_name.text AS model, iterations.number, warm_up, \
             start_ns, duration_ns, start_ns + duration_ns AS end_ns \
             FROM iterations \
             LEFT JOIN models ON models.id = model_id \
             LEFT JOIN strings AS model_name ON model_name.id = models.name_id",
    },
    View {
        name: "stream_details",
        about: "Streams with the names of their device and thread.",
        select: "SELECT streams.id, stream_name.text AS name, streams.number, \
             device_name.text AS device, devices.kind AS device_kind, devices.number AS device_number, \
             coalesce(nullif(thread_name.text, ''), 'thread ' || tid) AS thread, tid \
             FROM streams \
             JOIN devices ON devices.id = device_id \
             LEFT JOIN threads ON threads.id = thread_id \
             LEFT JOIN strings AS stream_name ON stream_name.id = streams.name_id \
             LEFT JOIN strings AS device_name ON device_name.id = devices.name_id \
             LEFT JOIN strings AS thread_name ON thread_name.id = threads.name_id",
    },
    View {
        name: "task_details",
        about: "Every task, with all that is known of its operator, inference, stream and thread.",
        select: "SELECT tasks.id, task_name.text AS task, tasks.number, unit, operator_id, operator_details.name AS name, \
             op_type, model, position, attribution, inputs, outputs, flops, bytes_read, bytes_written, \
             iteration_id, iterations.number AS iteration, warm_up, \
             stream_details.name AS stream, device, device_kind, thread, launched_by_id, \
             tasks.start_ns, tasks.duration_ns, tasks.start_ns + tasks.duration_ns AS end_ns, wait_ns \
             FROM tasks \
             LEFT JOIN operator_details ON operator_details.id = operator_id \
             LEFT JOIN iterations ON iterations.id = iteration_id \
             LEFT JOIN stream_details ON stream_details.id = stream_id \
             LEFT JOIN strings AS task_name ON task_name.id = tasks.name_id",
    },
    View {
        name: "operator_executions",
        about: "The tasks that executed an operator, with the columns of task_details.",
        select: "SELECT * FROM task_details WHERE operator_id IS NOT NULL",
    },
    View {
        name: "task_metrics",
        about: "What hardware reported for the tasks, a row for each value.",
        select: "SELECT task_id, metric_name.text AS metric, metric_unit.text AS unit, \
             metric_values ->> metric.key AS value, metrics.id AS metric_id \
             FROM readings JOIN json_each(metric_ids) AS metric \
             JOIN metrics ON metrics.id = metric.value \
             LEFT JOIN strings AS metric_name ON metric_name.id = metrics.name_id \
             LEFT JOIN strings AS metric_unit ON metric_unit.id = metrics.unit_id",
    },
    View {
        name: "api_call_details",
        about: "Calls of the host with the names of call and thread.",
        select: "SELECT api_calls.id, call_name.text AS name, level, \
             coalesce(nullif(thread_name.text, ''), 'thread ' || tid) AS thread, tid, \
             iteration_id, iterations.number AS iteration, warm_up, \
             api_calls.start_ns, api_calls.duration_ns, \
             api_calls.start_ns + api_calls.duration_ns AS end_ns \
             FROM api_calls \
             LEFT JOIN threads ON threads.id = thread_id \
             LEFT JOIN iterations ON iterations.id = iteration_id \
             LEFT JOIN strings AS call_name ON call_name.id = api_calls.name_id \
             LEFT JOIN strings AS thread_name ON thread_name.id = threads.name_id",
    },
    View {
        name: "launch_site_details",
        about: "Tasks with the framework's call that asked for them, and the program's lines that led there.",
        select: "SELECT task_id, task_name.text AS task, operator_id, call_id, call_name.text AS call, \
             stack.text AS stack, tasks.start_ns, tasks.duration_ns \
             FROM launch_sites \
             JOIN tasks ON tasks.id = task_id \
             JOIN api_calls ON api_calls.id = call_id \
             LEFT JOIN strings AS task_name ON task_name.id = tasks.name_id \
             LEFT JOIN strings AS call_name ON call_name.id = api_calls.name_id \
             LEFT JOIN strings AS stack ON stack.id = stack_id",
    },
    View {
        name: "figure_details",
        about: "Figures that files beside the records state, as text.",
        select: "SELECT topic, step.text AS step, subject.text AS subject, part.text AS part, \
             name.text AS name, value, unit.text AS unit, source.text AS source \
             FROM figures \
             JOIN strings AS step ON step.id = step_id \
             JOIN strings AS subject ON subject.id = subject_id \
             JOIN strings AS part ON part.id = part_id \
             JOIN strings AS name ON name.id = name_id \
             JOIN strings AS unit ON unit.id = unit_id \
             JOIN strings AS source ON source.id = source_id",
    },
    View {
        name: "range_details",
        about: "Ranges and marks with the program's text.",
        select: "SELECT ranges.id, range_name.text AS name, range_domain.text AS domain, kind, \
             coalesce(nullif(thread_name.text, ''), 'thread ' || tid) AS thread, tid, \
             start_ns, duration_ns, start_ns + duration_ns AS end_ns \
             FROM ranges \
             LEFT JOIN threads ON threads.id = thread_id \
             LEFT JOIN strings AS range_name ON range_name.id = ranges.name_id \
             LEFT JOIN strings AS range_domain ON range_domain.id = domain_id \
             LEFT JOIN strings AS thread_name ON thread_name.id = threads.name_id",
    },
    View {
        name: "counter_values",
        about: "Samples with the names of counter, unit and device.",
        select: "SELECT samples.id, counter_name.text AS counter, counter_unit.text AS unit, \
             device_name.text AS device, time_ns, value, counter_id \
             FROM samples \
             JOIN counters ON counters.id = counter_id \
             LEFT JOIN devices ON devices.id = device_id \
             LEFT JOIN strings AS counter_name ON counter_name.id = counters.name_id \
             LEFT JOIN strings AS counter_unit ON counter_unit.id = unit_id \
             LEFT JOIN strings AS device_name ON device_name.id = devices.name_id",
    },
    View {
        name: "property_values",
        about: "What is known of the run as a whole, and what else its producer said.",
        select: "SELECT key AS property, value FROM run_facts UNION ALL SELECT key, value FROM remarks",
    },
    View {
        name: "loss_details",
        about: "What was dropped or doubted while the profile was read, as text.",
        select: "SELECT reason, count, text AS detail, severity, source, scope, kind \
             FROM losses JOIN strings ON strings.id = detail_id",
    },
];

/// An index of a column that names rows of another table.
pub(super) struct Index {
    pub name: &'static str,
    pub table: &'static str,
    pub column: &'static str,
    /// The values of all rows.
    pub values: fn(&Trace) -> Vec<Option<usize>>,
}

impl Index {
    /// The statement that creates the index.
    pub(super) fn ddl(&self) -> String {
        format!("CREATE INDEX {} ON {}({})", self.name, self.table, self.column)
    }
}

/// All indexes.
pub(super) const INDEXES: &[Index] = &[
    Index {
        name: "tasks_by_operator",
        table: "tasks",
        column: "operator_id",
        values: |trace| trace.tasks.operator().iter().map(|id| Some((*id)?.index())).collect(),
    },
    Index {
        name: "tasks_by_iteration",
        table: "tasks",
        column: "iteration_id",
        values: |trace| trace.tasks.iteration().iter().map(|id| Some((*id)?.index())).collect(),
    },
    Index {
        name: "readings_by_task",
        table: "readings",
        column: "task_id",
        values: |trace| trace.readings.task().iter().map(|id| Some(id.index())).collect(),
    },
    Index {
        name: "samples_by_counter",
        table: "samples",
        column: "counter_id",
        values: |trace| trace.samples.counter().iter().map(|id| Some(id.index())).collect(),
    },
];
