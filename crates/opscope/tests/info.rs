//! `opscope info`: what anything is.

mod common;

use common::{Place, number};
use opscope_model::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, FunctionProto, GraphProto, ModelProto,
    NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TensorType, TypeProto, TypeValue,
    ValueInfoProto, encode,
};
use opscope_testing::companions;

fn node(op_type: &str, inputs: &[&str], output: &str, attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        op_type: Some(op_type.to_owned()),
        name: Some(format!("{op_type}_{output}")),
        input: inputs.iter().map(|&input| input.to_owned()).collect(),
        output: vec![output.to_owned()],
        attribute,
        ..Default::default()
    }
}

fn attribute(name: &str, r#type: AttributeType, value: AttributeProto) -> AttributeProto {
    AttributeProto { name: Some(name.to_owned()), r#type: Some(r#type as i32), ..value }
}

fn weight(name: &str, count: usize) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(1),
        dims: vec![count as i64],
        float_data: vec![0.5; count],
        ..Default::default()
    }
}

/// A value of float32, or of truth.
fn value(name: &str, elem_type: i32, shape: &[&str]) -> ValueInfoProto {
    let size = |size: &&str| match size.parse() {
        Ok(size) => DimensionValue::Value(size),
        Err(_) => DimensionValue::Param((*size).to_owned()),
    };
    let dim = shape.iter().map(|it| Dimension { value: Some(size(it)), denotation: None }).collect();
    let tensor = TensorType { elem_type: Some(elem_type), shape: Some(TensorShapeProto { dim }) };
    let r#type = Some(TypeProto { value: Some(TypeValue::Tensor(tensor)), denotation: None });
    ValueInfoProto { name: Some(name.to_owned()), r#type, ..Default::default() }
}

fn model(graph: GraphProto, functions: Vec<FunctionProto>) -> Vec<u8> {
    let import = |domain: &str| OperatorSetIdProto { domain: Some(domain.to_owned()), version: Some(17) };
    encode(&ModelProto {
        ir_version: Some(8),
        opset_import: vec![import(""), import("own")],
        graph: Some(graph),
        functions,
        ..Default::default()
    })
}

#[test]
fn weights_in_constants_and_in_graphs_within_nodes_are_counted_with_what_stands_there() {
    let place = Place::new();
    let branch = |name: &str| {
        let stored = attribute(
            "value",
            AttributeType::Tensor,
            AttributeProto { t: Some(Box::new(weight("", 3))), ..Default::default() },
        );
        GraphProto {
            name: Some(name.to_owned()),
            node: vec![
                node("Constant", &[], "k", vec![stored]),
                node("Add", &["x", "w"], "s", Vec::new()),
                node("Add", &["s", "k"], "r", Vec::new()),
            ],
            initializer: vec![weight("w", 3)],
            output: vec![value("r", 1, &["3"])],
            ..Default::default()
        }
    };
    let held = |name: &str| {
        attribute(
            name,
            AttributeType::Graph,
            AttributeProto { g: Some(Box::new(branch(name))), ..Default::default() },
        )
    };
    let floats = AttributeProto { floats: vec![1.0; 3], ..Default::default() };
    let graph = GraphProto {
        name: Some("net".to_owned()),
        node: vec![
            node("If", &["c"], "a", vec![held("then_branch"), held("else_branch")]),
            node("Constant", &[], "b", vec![attribute("value_floats", AttributeType::Floats, floats)]),
            node("Add", &["a", "b"], "y", Vec::new()),
        ],
        input: vec![value("x", 1, &["3"]), value("c", 9, &[])],
        output: vec![value("y", 1, &["3"])],
        ..Default::default()
    };
    let function = FunctionProto {
        name: Some("Twice".to_owned()),
        domain: Some("own".to_owned()),
        input: vec!["a".to_owned()],
        output: vec!["b".to_owned()],
        node: vec![node("Add", &["a", "a"], "b", Vec::new())],
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
        ..Default::default()
    };
    place.write("branches.onnx", model(graph, vec![function]));
    let json = place.done(&["info", "branches.onnx", "--json"]).json();
    let found = |key: &str| number(&json, &format!("/content/{key}"));
    assert_eq!((found("weights/elements"), found("weights/tensors")), (15.0, 5.0), "{json:#}");
    assert_eq!((found("weights/tensors_in_constants"), found("weights/tensors_within")), (1.0, 4.0));
    assert_eq!((found("nodes/count"), found("subgraphs/nodes"), found("subgraphs/count")), (3.0, 6.0, 2.0));
    assert_eq!(found("functions/nodes"), 1.0);
    let text = place.done(&["info", "branches.onnx"]).stdout;
    for part in ["2 subgraphs of If 2, with 6 nodes: Add 4, Constant 2", "1 function, with 1 node: Twice"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn sizes_that_are_given_are_not_missing_and_must_fit_the_model() {
    let place = Place::new();
    let graph = GraphProto {
        name: Some("open".to_owned()),
        node: vec![node("Relu", &["x"], "y", Vec::new())],
        input: vec![value("x", 1, &["?", "3", "?", "?"])],
        output: vec![value("y", 1, &["?", "3", "?", "?"])],
        ..Default::default()
    };
    place.write("open.onnx", model(graph, Vec::new()));
    let open = place.done(&["info", "open.onnx"]).stdout;
    assert!(open.contains("the size of open dimensions of 'x'"), "{open}");
    let given = place.done(&["info", "open.onnx", "--input", "x=1x3x48x192"]).stdout;
    assert!(!given.contains("missing"), "{given}");
    place.fails(2, &["nonsense"], &["info", "open.onnx", "--input", "nonsense=1x3"]);
    place.write("notes.txt", "just words");
    place.fails(2, &["--input and --dim are about models"], &["info", "notes.txt", "--input", "x=1x3"]);
}

#[test]
fn an_openvino_model_has_its_outputs_names_and_each_shared_constant_once() {
    let place = Place::new();
    let port = |id: u32| format!("<port id='{id}' precision='FP32'><dim>4</dim></port>");
    let constant = |id: u32| {
        format!(
            "<layer id='{id}' name='w{id}' type='Const' version='opset1'>
             <data element_type='f32' shape='4' offset='0' size='16'/><output>{}</output></layer>",
            port(0)
        )
    };
    let sum = |id: u32, attribute: &str| {
        format!(
            "<layer id='{id}' name='sum{id}' type='Add' version='opset1'><input><port id='0'/><port id='1'/></input>
             <output><port id='2' precision='FP32' {attribute}><dim>4</dim></port></output></layer>"
        )
    };
    let result = |id: u32, attribute: &str| {
        format!(
            "<layer id='{id}' name='result{id}' type='Result' version='opset1' {attribute}>
             <input><port id='0'/></input></layer>"
        )
    };
    let edge = |from: u32, port: u32, to: u32, input: u32| {
        format!("<edge from-layer='{from}' from-port='{port}' to-layer='{to}' to-port='{input}'/>")
    };
    let parameter = format!(
        "<layer id='0' name='x' type='Parameter' version='opset1'>
         <data shape='4' element_type='f32'/><output>{}</output></layer>",
        port(0)
    );
    let layers = [
        parameter,
        constant(1),
        constant(2),
        sum(3, "names='state,other'"),
        sum(4, ""),
        result(5, ""),
        result(6, "output_names='scores'"),
    ];
    let edges = [
        edge(0, 0, 3, 0),
        edge(1, 0, 3, 1),
        edge(3, 2, 4, 0),
        edge(2, 0, 4, 1),
        edge(3, 2, 5, 0),
        edge(4, 2, 6, 0),
    ];
    let (layers, edges) = (layers.concat(), edges.concat());
    place.write(
        "net.xml",
        format!(
            "<?xml version='1.0'?><net name='net' version='11'><layers>{layers}</layers><edges>{edges}</edges></net>"
        ),
    );
    place.write("net.bin", [0u8; 16]);
    let text = place.done(&["info", "net.xml"]).stdout;
    for part in ["state float32 [4]", "scores float32 [4]", "4 in 1 tensor, 16 B"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn a_model_is_described_by_its_inputs_nodes_and_weights() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let text = place.done(&["info", &model]).stdout;
    assert!(text.contains("an ONNX model") && text.contains("Conv 52"), "{text}");
    let json = place.done(&["info", &model, "--json"]).json();
    assert!(number(&json, "/content/weights/elements") > 1e6);
    assert!(number(&json, "/content/nodes/count") > 100.0);
    assert_eq!(
        number(&json, "/content/file_bytes"),
        std::fs::metadata(place.path(&model)).expect("it").len() as f64
    );
    let encoder = place.sample("encoder");
    let text = place.done(&["info", &encoder]).stdout;
    assert!(text.contains("input") && text.contains("ai.onnx"), "{text}");
}

#[test]
fn a_profile_is_described_by_what_it_holds_and_lacks() {
    let place = Place::new();
    let event = r#"{"ph": "X", "name": "gemm", "cat": "kernel", "ts": 10, "dur": 5, "pid": 0, "tid": 7}"#;
    place.write("trace.json", format!("[{event}, {event}, {{\"ph\": \"X\", \"name\": \"cut"));
    let answer = place.done(&["info", "trace.json"]).stdout;
    assert!(answer.contains("Chrome's trace format"), "{answer}");
    assert!(answer.contains("lost") && answer.contains("cut off"), "{answer}");
    assert!(answer.contains("missing") && answer.contains("iterations"), "{answer}");
    let json = place.done(&["info", "trace.json", "--json"]).json();
    assert_eq!(number(&json, "/content/tasks/count"), 2.0);
    assert_eq!(json["problem"], serde_json::Value::Null);
}

#[test]
fn what_cannot_be_read_is_still_named_for_what_it_is() {
    let place = Place::new();
    place.write("half.json", "{\"profiler\": {\"device\": {");
    let answer = place.run(&["info", "half.json"]);
    assert_eq!(answer.status, Some(1));
    assert!(
        answer.stdout.contains("a profile of MegEngine") && answer.stdout.contains("damaged"),
        "{}",
        answer.stdout
    );
    assert_eq!(answer.stdout.matches("found the end of the file").count(), 1, "{}", answer.stdout);
    place.write("notes.txt", "just words");
    let answer = place.run(&["info", "notes.txt"]);
    assert_eq!(answer.status, Some(1));
    assert!(
        answer.stdout.contains("text") && answer.stdout.contains("of a kind that opscope reads"),
        "{}",
        answer.stdout
    );
    place.write("empty", "");
    let answer = place.run(&["info", "empty"]);
    assert_eq!(answer.status, Some(1));
    assert!(answer.stdout.contains("an empty file"), "{}", answer.stdout);
    place.fails(1, &["no such file"], &["info", "missing"]);
    let totals = "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n\
                  0,Conv2D,AI_CORE,1,5.0,5.0,5.0,5.0,100.0\n";
    place.write("op_statistic_1.csv", totals);
    let table = place.done(&["info", "op_statistic_1.csv"]).stdout;
    assert!(table.contains("1 type of operators: total 5 µs, count 1"), "{table}");
    assert!(table.contains("missing") && table.contains("give the folder that it is in"), "{table}");
    assert!(!table.contains("damaged"), "{table}");
    let folder = place.done(&["info", "."]).stdout;
    for known in ["half.json", "a profile of MegEngine", "notes.txt", "an empty file"] {
        assert!(folder.contains(known), "{folder}");
    }
}

#[test]
fn of_a_folder_that_is_no_profile_itself_the_one_is_told_that_all_commands_read() {
    let place = Place::new();
    let table = "Device_id,Op Name,OP Type,Task Type,Stream ID,Task Start Time(us),Task Duration(us)\n\
        0,conv,Conv2D,AI_CORE,2,1043640017380.5,5\n";
    let folders = ["one", "below/deeper/ASCEND_PROFILER_OUTPUT", "several/0/a", "several/1/a", "none/deep"];
    folders.iter().for_each(|folder| std::fs::create_dir_all(place.path(folder)).expect("a folder"));
    // A name without a time, so that the folder is no export by itself.
    place.write("one/op_summary_1.csv", table);
    place.write("below/deeper/ASCEND_PROFILER_OUTPUT/kernels.csv", table);
    for (folder, profile) in
        [("one", "one/op_summary_1.csv"), ("below", "below/deeper/ASCEND_PROFILER_OUTPUT/kernels.csv")]
    {
        let told = place.done(&["info", folder, "--json"]).json();
        assert_eq!(number(&told, "/content/tasks/count"), 1.0, "{told:#}");
        let relative = profile.strip_prefix(&format!("{folder}/")).expect("a path below");
        assert_eq!(told["content"]["profile"], relative);
        let missing = told["missing"].to_string();
        assert!(!missing.contains("a profile or a model"), "{missing}");
        assert_eq!(number(&place.done(&["analyze", folder, "--json"]).json(), "/overview/tasks"), 1.0);
    }
    for number in [0, 1] {
        place.write(&format!("several/{number}/a/op_summary_20240101101010.csv"), table);
    }
    let told = place.done(&["info", "several"]).stdout;
    for path in ["0/a", "1/a"] {
        assert!(told.contains(path), "{told}");
        place.fails(1, &[path], &["analyze", "several"]);
    }
    assert!(!told.contains("a profile or a model"), "{told}");
    assert!(place.done(&["info", "none"]).stdout.contains("a profile or a model"));
}

#[test]
fn folders_and_databases_of_a_real_run_are_known() {
    let Some(folder) = companions::shared("data/ascend-pytorch") else { return };
    let place = Place::new();
    let of = |path: &str| place.done(&["info", folder.join(path).to_str().expect("a path"), "--json"]).json();
    let text = of("text_level2_rank0");
    assert_eq!(text["kind"], "a folder of outputs of the Ascend tools");
    assert_eq!(number(&text, "/content/tasks/units/communication"), 4.0);
    let database = of("db_level2_rank0/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db");
    assert_eq!(database["kind"], "a database of the Ascend tools");
    // Of the 556 rows of its table these are told by their parts.
    let divided =
        database["losses"].as_array().expect("losses").iter().find(|it| it["kind"] == "divided-task");
    assert_eq!(divided.expect("the whole tasks")["count"], 17);
    assert_eq!(number(&database, "/content/tasks/count"), 556.0 - 17.0);
    let sums = of("db_level2_rank0/ASCEND_PROFILER_OUTPUT/analysis.db");
    assert_eq!(sums["kind"], "a database of the Ascend tools");
    assert!(sums["content"].to_string().contains("1 step: stage"), "{sums}");
    // No file of the real folders is passed over in silence, and none is unknown.
    for (run, files) in [("text_level1_rank0", 14), ("db_level1_rank0", 3), ("text_small_rank1", 9)] {
        let answer = of(run);
        let fates: Vec<&str> = answer["content"]
            .as_object()
            .expect("facts")
            .iter()
            .filter(|(key, _)| key.starts_with("file "))
            .map(|(_, fate)| fate.as_str().expect("a fate"))
            .collect();
        assert_eq!(fates.len(), files, "{run}: {fates:?}");
        assert!(
            fates.iter().all(|fate| fate.starts_with("read:") || fate.starts_with("not needed:")),
            "{fates:?}"
        );
    }
    assert_eq!(number(&of("db_level1_rank0"), "/content/launch_sites/tasks"), 487.0);
    let listed = place.done(&["info", folder.to_str().expect("a path")]).stdout;
    assert!(listed.contains("text_level2_rank0") && listed.contains("a folder of outputs"), "{listed}");
}

/// A folder of the tables and files that PyTorch's profiler leaves, with one that nobody knows.
fn folder_of_outputs() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("run")).expect("a folder");
    let tasks = "Step Id,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n\
                 7,11,2,MatMul1,MatMul,AI_CORE,1736412474730135.5\t,8\n\
                 7,12,2,MatMul1,MatMul,AI_CORE,1736412474730155.5\t,8\n";
    place.write("run/kernel_details.csv", tasks);
    // As a spreadsheet saves it where commas are decimal.
    let steps = "\u{feff}Step;Computing;Communication(Not Overlapped);Overlapped;Communication;Free\r\n\
                 7;16,5;100;0;100;4\r\n";
    place.write("run/step_trace_time.csv", steps);
    let times =
        r#"{"Elapse Time(ms)": 0.1, "Transit Time(ms)": 0.01, "Wait Time(ms)": 0.09, "Idle Time(ms)": 0}"#;
    let sent = r#"{"HCCS": {"Transit Size(MB)": 2, "Transit Time(ms)": 0.1, "Bandwidth(GB/s)": 20}}"#;
    let operation =
        format!(r#"{{"Communication Time Info": {times}, "Communication Bandwidth Info": {sent}}}"#);
    place.write(
        "run/communication.json",
        format!(r#"{{"step7": {{"p2p": {{}}, "collective": {{"hcom_allReduce__1_0@99": {operation}}}}}}}"#),
    );
    let caches =
        "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,11,0.75,N/A,MatMul1\n2,99,0.5,0.5,MatMul1\n";
    place.write("run/l2_cache.csv", caches);
    place.write("run/api_statistic.csv", "no table");
    place.write("run/profiler_info_0.json", "{}");
    place.write("run/secret.bin", "?");
    place
}

#[test]
fn every_file_of_a_folder_is_told_with_what_became_of_it() {
    let place = folder_of_outputs();
    let json = place.done(&["info", "run", "--json"]).json();
    let fate = |name: &str| json["content"][format!("file {name}")].as_str().unwrap_or_default().to_owned();
    for name in ["kernel_details.csv", "step_trace_time.csv", "communication.json", "l2_cache.csv"] {
        assert!(fate(name).starts_with("read: "), "{name}: {}", fate(name));
    }
    assert!(fate("api_statistic.csv").starts_with("not read: the first line names no columns"));
    assert_eq!(fate("profiler_info_0.json"), "not needed: settings of the collection");
    assert_eq!(fate("secret.bin"), "not understood");
    let losses = json["losses"].to_string();
    for kind in ["file-not-understood", "file-not-needed", "file-not-read", "value-without-task"] {
        assert!(losses.contains(kind), "{kind}: {losses}");
    }
    let text = place.done(&["info", "run"]).stdout;
    assert!(text.contains("secret.bin, not understood"), "{text}");
    assert!(text.contains("1 step: computing 16.5 µs"), "{text}");
}

#[test]
fn figures_of_side_files_stand_below_the_analysis_and_are_kept_by_an_import() {
    let place = folder_of_outputs();
    let text = place.done(&["analyze", "run"]).stdout;
    for shown in ["MatMul1", "1 step as step_trace_time states", "hcom_allReduce__1_0", "18.6 GiB/s", "HCCS"]
    {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    let json = place.done(&["analyze", "run", "--json"]).json();
    assert_eq!(number(&json, "/stated/0/rows/0/values/computing (ns)"), 16_500.0);
    assert_eq!(number(&json, "/stated/1/rows/0/values/elapsed (ns)"), 100_000.0);
    let advice = place.done(&["advise", "run"]).stdout;
    assert!(advice.contains("A42") && advice.contains("carries data for 10.0 % of its time"), "{advice}");

    place.done(&["import", "run", "-o", "run.db"]);
    let select =
        "SELECT subject, part, name, value FROM figure_details WHERE topic = 'transport' ORDER BY name";
    let rows = place.done(&["sql", "run.db", select, "--json"]).json();
    assert_eq!(rows["rows"][1]["value"], 2e6, "{rows}");
    let hits = "SELECT value FROM task_metrics WHERE metric = 'l2_hit_rate'";
    let rows = place.done(&["sql", "run.db", hits, "--json"]).json();
    assert_eq!(rows["rows"].as_array().expect("rows").len(), 1, "{rows}");
}

#[test]
fn a_single_side_file_is_known_by_its_content_and_answered_with_what_it_holds() {
    let place = folder_of_outputs();
    for (file, kind, said) in [
        ("communication.json", "collective communication", "1 collective operation: elapsed 100 µs"),
        ("step_trace_time.csv", "a table of the Ascend tools", "1 step: computing 16.5 µs"),
        ("l2_cache.csv", "a table of the Ascend tools", "2 tasks with figures of the cache"),
    ] {
        std::fs::copy(place.path(&format!("run/{file}")), place.path("renamed")).expect("a copy");
        let text = place.done(&["info", "renamed"]).stdout;
        assert!(text.contains(kind) && text.contains(said), "{file}: {text}");
        assert!(text.contains("give the folder that it is in"), "{file}: {text}");
        let text = place.done(&["analyze", "renamed"]).stdout;
        assert!(text.contains("states"), "{file}: {text}");
    }
    place.write("communication.json", r#"{"step7": {"p2p": {}, "collective": {"hcom"#);
    place.fails(
        1,
        &["communication.json", "no whole JSON", "copy the file again"],
        &["analyze", "communication.json"],
    );
}

#[test]
fn an_operator_is_found_with_the_lines_of_the_program_that_asked_for_it() {
    let place = Place::new();
    let database = rusqlite::Connection::open(place.path("ascend_pytorch_profiler_0.db")).expect("a file");
    let tables = "
        CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO STRING_IDS VALUES (1, 'MatMul1'), (2, 'MatMul'), (3, 'AI_CORE'), (4, 'aten::linear'),
            (5, 'layer.py(7): forward'), (6, 'main.py(9): run'), (7, 'launch'), (8, 'aten::other');
        CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, taskType INTEGER, streamId INTEGER, taskId INTEGER);
        INSERT INTO TASK VALUES (1760000000000001000, 1760000000000003000, 0, 77, 0, 3, 2, 1),
            (1760000000000005000, 1760000000000006000, 0, 78, 1, 3, 2, 2);
        CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, taskType INTEGER, opType INTEGER);
        INSERT INTO COMPUTE_TASK_INFO VALUES (1, 0, 3, 2), (1, 1, 3, 2);
        CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER PRIMARY KEY, name INTEGER);
        INSERT INTO CANN_API VALUES (1760000000000000500, 1760000000000000900, 10000, 21474836487, 77, 7);
        CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, callchainId INTEGER, type INTEGER);
        INSERT INTO PYTORCH_API VALUES ('1760000000000000100', '1760000000000000200', 21474836488, 1, 4, 3, 50001),
            ('1760000000000000100', '1760000000000000200', 21474836488, 2, 8, NULL, 50001);
        CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);
        INSERT INTO CONNECTION_IDS VALUES (1, 900), (1, 77), (2, 901);
        CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER);
        INSERT INTO PYTORCH_CALLCHAINS VALUES (3, 6, 1), (3, 5, 0), (4, 6, 0);";
    database.execute_batch(tables).expect("tables");
    drop(database);
    let text = place.done(&["where", "MatMul1", "ascend_pytorch_profiler_0.db"]).stdout;
    assert!(
        text.contains(
            "Asked for by aten::linear (1 task), from\n  layer.py(7): forward\n  main.py(9): run\n"
        ),
        "{text}"
    );
    assert!(!text.contains("aten::other"), "{text}");
    let json = place.done(&["where", "MatMul1", "ascend_pytorch_profiler_0.db", "--json"]).json();
    assert_eq!(json["origins"][0]["stack"][1], "main.py(9): run", "{json}");
}

#[test]
fn a_library_of_ascends_operators_is_known_by_its_content_and_a_file_of_its_compiler_by_its_name() {
    let place = Place::new();
    place.write(
        "aic-ascend310-ops-info.json",
        r#"{"Abs": {"input0": {"name": "x", "dtype": "float16,float"}, "dynamicShapeSupport": {"flag": "true"}},
            "Add": {"input0": {"name": "x1", "dtype": "float16"}, "output0": {"name": "y", "dtype": "float16"}}}"#,
    );
    place.write("abs.ini", "[Abs]\ninput0.name=x\ninput0.dtype=float16,float\nopFile.value=abs\n");
    for (file, types) in [("aic-ascend310-ops-info.json", "float16 2, float 1"), ("abs.ini", "float16 1")] {
        let text = place.done(&["info", file]).stdout;
        assert!(text.contains("an operator information library"), "{text}");
        assert!(text.contains(types), "{text}");
    }
    let json = place.done(&["info", "aic-ascend310-ops-info.json", "--json"]).json();
    assert_eq!(number(&json, "/content/operators"), 2.0);
    assert_eq!(number(&json, "/content/element_types/float16"), 2.0);
    assert_eq!(number(&json, "/content/dynamic_operators"), 1.0);
    place.write("aic-conv.info", "kernel conv\n");
    let answer = place.run(&["info", "aic-conv.info"]);
    assert_eq!(answer.status, Some(1));
    assert!(answer.stdout.contains("(aic-*.info), whose layout isn't public"), "{}", answer.stdout);
}
