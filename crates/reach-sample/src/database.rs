//! A rank's recording as a database of the vendor's profiler for PyTorch (`ascend_pytorch_profiler_N.db`).

use std::collections::HashMap;
use std::io::{self, Cursor};

use opscope_formats::sqlite_file::SqliteWriter;

use crate::identity::{HOLDING_CALL, INPUT_CALL, Identity};
use crate::options::Options;
use crate::sqlite::Database;
use crate::tables::{KernelRow, Launch, Tables, Task, Transport};

/// No value of 32 bits.
const NONE: i64 = 0xFFFF_FFFF;

/// Numbers of the enumerations that the rows have.
const NODE_CALL: i64 = 10_000;
const RUNTIME_CALL: i64 = 5_000;
const FRAMEWORK_CALL: i64 = 50_001;
const BFLOAT16: i64 = 11;
const INVALID: i64 = 65_535;

/// The tables that say what numbers mean.
const ENUMERATIONS: [(&str, &[(i64, &str)]); 7] = [
    (
        "ENUM_HCCL_TRANSPORT_TYPE",
        &[(0, "SDMA"), (1, "RDMA"), (2, "LOCAL"), (65_534, "N/A"), (INVALID, "INVALID_TYPE")],
    ),
    (
        "ENUM_HCCL_LINK_TYPE",
        &[
            (0, "ON_CHIP"),
            (1, "HCCS"),
            (2, "PCIE"),
            (3, "ROCE"),
            (4, "SIO"),
            (65_534, "N/A"),
            (INVALID, "INVALID_TYPE"),
        ],
    ),
    (
        "ENUM_HCCL_RDMA_TYPE",
        &[(0, "RDMA_SEND_NOTIFY"), (1, "RDMA_SEND_PAYLOAD"), (65_534, "N/A"), (INVALID, "INVALID_TYPE")],
    ),
    (
        "ENUM_HCCL_DATA_TYPE",
        &[
            (0, "INT8"),
            (3, "FP16"),
            (4, "FP32"),
            (BFLOAT16, "BFP16"),
            (65_534, "N/A"),
            (INVALID, "INVALID_TYPE"),
        ],
    ),
    (
        "ENUM_API_TYPE",
        &[
            (RUNTIME_CALL, "runtime"),
            (5_500, "hccl"),
            (NODE_CALL, "node"),
            (15_000, "model"),
            (20_000, "acl"),
            (FRAMEWORK_CALL, "op"),
            (50_002, "queue"),
            (50_003, "trace"),
            (50_004, "mstx"),
        ],
    ),
    ("ENUM_MODULE", &[(0, "SLOG")]),
    ("ENUM_MSTX_EVENT_TYPE", &[(0, "marker"), (1, "push/pop"), (2, "start/end"), (3, "marker_ex")]),
];

/// Texts that rows name by numbers. Each rank's begin elsewhere, so that nothing can mistake those of one rank
/// for those of another.
struct Texts {
    first: i64,
    numbers: HashMap<String, i64>,
    texts: Vec<String>,
}

impl Texts {
    fn number(&mut self, text: &str) -> i64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.first + self.texts.len() as i64;
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }
}

/// The profiler's records; `has_details` says whether with the tasks of communication.
pub(crate) fn profiler(
    options: &Options,
    identity: &Identity,
    tables: &Tables,
    has_details: bool,
) -> io::Result<Vec<u8>> {
    let mut file = Cursor::new(Vec::new());
    let mut database = Database(SqliteWriter::new(&mut file)?);
    let first = 1 + (identity.rank * 37 % 1_000) as i64;
    let mut texts = Texts { first, numbers: HashMap::new(), texts: Vec::new() };
    about(&mut database, options, identity, tables)?;
    tasks(&mut database, identity, tables, &mut texts)?;
    communication(&mut database, identity, tables, has_details, &mut texts)?;
    calls(&mut database, identity, tables, &mut texts)?;
    let frequencies: Vec<[i64; 3]> = tables
        .frequencies
        .iter()
        .map(|(time, megahertz)| [identity.device as i64, *time, *megahertz])
        .collect();
    database.integers(
        "AICORE_FREQ",
        "deviceId INTEGER, timestampNs NUMERIC, freq INTEGER",
        None,
        &frequencies,
    )?;
    database.table("STRING_IDS", "id INTEGER PRIMARY KEY, value TEXT", texts.texts.len(), |index, row| {
        row.key(first + index as i64);
        row.text(&texts.texts[index]);
    })?;
    database.0.finish()?;
    Ok(file.into_inner())
}

/// The tables about the profile as a whole.
fn about(
    database: &mut Database<'_>,
    options: &Options,
    identity: &Identity,
    tables: &Tables,
) -> io::Result<()> {
    for (name, values) in ENUMERATIONS {
        database.table(name, "id INTEGER PRIMARY KEY, name TEXT", values.len(), |index, row| {
            row.key(values[index].0);
            row.text(values[index].1);
        })?;
    }
    let (cluster, groups) = (identity.cluster_info(options).to_string(), identity.group_info().to_string());
    let meta = [
        ["SCHEMA_VERSION", "1.2.0"],
        ["SCHEMA_VERSION_MAJOR", "1"],
        ["SCHEMA_VERSION_MINOR", "2"],
        ["SCHEMA_VERSION_MICRO", "0"],
        ["distributed_args", &cluster],
        ["parallel_group_info", &groups],
    ];
    database.texts("META_DATA", "name TEXT, value TEXT", &meta)?;
    let host = [(7_000_000_000 + identity.host).to_string(), format!("host{}", identity.host)];
    database.texts("HOST_INFO", "hostUid TEXT, hostName TEXT", &[[&host[0], &host[1]]])?;
    let device = identity.device as i64;
    database.table("NPU_INFO", "id INTEGER, name TEXT", 1, |_, row| {
        row.integer(device);
        row.text("Ascend910B3");
    })?;
    let (rank, steps) = (identity.rank as i64, &tables.steps);
    database.integers("RANK_DEVICE_MAP", "rankId INTEGER, deviceId INTEGER", None, &[[rank, device]])?;
    let session = [steps.first().map_or(0, |step| step.start_ns), steps.last().map_or(0, |step| step.end_ns)];
    database.integers("SESSION_TIME_INFO", "startTimeNs INTEGER, endTimeNs INTEGER", None, &[session])?;
    let steps: Vec<[i64; 3]> =
        steps.iter().map(|step| [i64::from(step.number), step.start_ns, step.end_ns]).collect();
    database.integers("STEP_TIME", "id INTEGER, startNs INTEGER, endNs INTEGER", None, &steps)
}

/// The device's tasks and what they compute.
fn tasks(
    database: &mut Database<'_>,
    identity: &Identity,
    tables: &Tables,
    texts: &mut Texts,
) -> io::Result<()> {
    let (device, process) = (identity.device as i64, 10_000 + identity.rank as i64);
    let row = |(index, task): (usize, &Task)| {
        [
            task.start_ns,
            task.end_ns,
            device,
            task.connection,
            index as i64,
            process,
            texts.number(task.kind),
            NONE,
            task.stream,
            task.number,
            NONE,
        ]
    };
    let rows: Vec<[i64; 11]> = tables.tasks.iter().enumerate().map(row).collect();
    let columns = "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, \
                   globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, \
                   modelId INTEGER";
    database.integers("TASK", columns, None, &rows)?;
    let mut entries: Vec<[i64; 3]> = rows.iter().map(|row| [row[0], row[4], row[4] + 1]).collect();
    entries.sort_unstable();
    let sql = "CREATE INDEX TaskIndex ON TASK (startNs, globalTaskId)";
    database.0.index("TaskIndex", "TASK", sql.to_owned(), &entries)?;

    let (format, data_type, nothing) =
        (texts.number("\"ND\""), texts.number("\"DT_BF16\""), texts.number("N/A"));
    let row = |row: &KernelRow| {
        let inputs = row.kernel.input_shapes(tables.tokens);
        let output = format!("\"{}\"", inputs.trim_matches('"').split(';').next().unwrap_or_default());
        [
            texts.number(row.kernel.name),
            row.task as i64,
            24,
            0,
            texts.number(row.kernel.unit),
            texts.number(&row.kernel.kind(row.backward)),
            format,
            data_type,
            texts.number(&inputs),
            format,
            data_type,
            texts.number(&output),
            nothing,
        ]
    };
    let rows: Vec<[i64; 13]> = tables.kernels.iter().map(row).collect();
    let columns = "name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, mixBlockDim INTEGER, \
                   taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, \
                   inputShapes INTEGER, outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER, \
                   attrInfo INTEGER";
    database.integers("COMPUTE_TASK_INFO", columns, Some(1), &rows)
}

/// Communication operators, and the tasks between two ranks of which they are made.
fn communication(
    database: &mut Database<'_>,
    identity: &Identity,
    tables: &Tables,
    has_details: bool,
    texts: &mut Texts,
) -> io::Result<()> {
    let algorithm = texts.number("MESH-RING");
    let (mut operators, mut tasks) = (Vec::new(), Vec::new());
    for (index, collective) in tables.collectives.iter().enumerate() {
        let Some(own) = identity.group(collective.group) else { continue };
        let (name, group, id) = (texts.number(&collective.name), texts.number(&own.id), index as i64 + 1);
        let kind = texts.number(&format!("hcom_{}_", collective.transfer.name()));
        // Elements have two bytes.
        operators.push([
            name,
            collective.start_ns,
            collective.end_ns,
            collective.connection,
            group,
            id,
            0,
            0,
            BFLOAT16,
            algorithm,
            collective.size / 2,
            kind,
        ]);
        if !has_details {
            continue;
        }
        for task in &collective.link_tasks {
            let is_near = task.transport == Transport::Hccs;
            let what = match (task.bytes, is_near) {
                (0, _) => "Notify_Wait",
                (_, true) => "Memcpy",
                (_, false) => "RDMASend",
            };
            let (rdma, transport, link) = if is_near { (INVALID, 0, 1) } else { (1, 1, 3) };
            let plane = task.plane as i64;
            tasks.push([
                name,
                task.task as i64,
                texts.number(what),
                plane,
                group,
                plane,
                rdma,
                own.own_place as i64,
                task.peer as i64,
                transport,
                task.bytes,
                BFLOAT16,
                link,
                id,
            ]);
        }
    }
    let columns = "opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER, \
                   opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, \
                   count NUMERIC, opType INTEGER";
    database.integers("COMMUNICATION_OP", columns, Some(5), &operators)?;
    let columns = "name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER, groupName INTEGER, \
                   notifyId INTEGER, rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER, \
                   size INTEGER, dataType INTEGER, linkType INTEGER, opId INTEGER";
    database.integers("COMMUNICATION_TASK_INFO", columns, None, &tasks)?;
    let mut entries: Vec<[i64; 2]> = (1..).zip(&tasks).map(|(row, task)| [task[1], row]).collect();
    entries.sort_unstable();
    let sql = "CREATE INDEX CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId)";
    database.0.index("CommunicationTaskIndex", "COMMUNICATION_TASK_INFO", sql.to_owned(), &entries)
}

/// The host's calls.
fn calls(
    database: &mut Database<'_>,
    identity: &Identity,
    tables: &Tables,
    texts: &mut Texts,
) -> io::Result<()> {
    let thread = identity.thread();
    let (launch, copy) = (texts.number("launch"), texts.number("MemcpyAsync"));
    let launches =
        tables
            .launches
            .iter()
            .map(|call| [call.start_ns, call.end_ns, NODE_CALL, thread, call.connection, launch])
            .chain(tables.copies.iter().map(|call| {
                [call.call_start_ns, call.call_end_ns, RUNTIME_CALL, thread, call.connection, copy]
            }));
    let rows: Vec<[i64; 6]> = launches.collect();
    let columns = "startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, \
                   connectionId INTEGER PRIMARY KEY, name INTEGER";
    database.integers("CANN_API", columns, Some(4), &rows)?;

    // Calls of the framework have texts in place of numbers, and empty texts in place of nothing.
    let mut rows: Vec<(i64, i64, Option<i64>, i64)> = Vec::with_capacity(tables.launches.len());
    for (number, call) in tables.launches.iter().enumerate() {
        let name = texts.number(&call.name);
        let (start, end) = call.call();
        rows.push((start, end, Some(number as i64), name));
    }
    let holds_up = tables.launches.iter().filter_map(Launch::holds_up);
    let held_up = texts.number(HOLDING_CALL);
    rows.extend(holds_up.map(|(start, end)| (start, end, None, held_up)));
    let loader = texts.number(INPUT_CALL);
    rows.extend(tables.inputs.iter().map(|input| (input.start_ns, input.end_ns, None, loader)));
    let columns = "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, \
                   sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, \
                   callchainId INTEGER, type INTEGER";
    database.table("PYTORCH_API", columns, rows.len(), |index, row| {
        let (start, end, connection, name) = rows[index];
        row.text(&start.to_string());
        row.text(&end.to_string());
        row.integer(thread);
        match connection {
            Some(connection) => row.integer(connection),
            None => row.text(""),
        }
        row.integer(name);
        (0..5).for_each(|_| row.text(""));
        row.integer(FRAMEWORK_CALL);
    })?;
    let connections: Vec<[i64; 2]> =
        (0..).zip(&tables.launches).map(|(number, call)| [number, call.connection]).collect();
    database.integers("CONNECTION_IDS", "id INTEGER, connectionId INTEGER", None, &connections)
}
