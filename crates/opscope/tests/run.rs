//! `opscope run` on real models with both engines.

mod common;

use common::{Place, number};
use opscope_testing::companions;
use serde_json::Value;

const QUICK: [&str; 6] = ["--iterations", "3", "--warmup", "1", "--threads", "1"];

fn run(place: &Place, model: &str, further: &[&str]) -> Value {
    let arguments: Vec<&str> =
        ["run", model, "--json"].iter().chain(&QUICK).chain(further).copied().collect();
    place.done(&arguments).json()
}

/// All nodes of the graph must turn up exactly once: in an operator, or among those removed.
fn nodes_of(answer: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().expect("a name").to_owned();
    let operators = answer["operators"].as_array().expect("operators");
    let mut nodes: Vec<String> =
        operators.iter().flat_map(|row| row["nodes"].as_array().expect("nodes").iter().map(text)).collect();
    nodes.extend(answer["removed_nodes"].as_array().expect("removed").iter().map(text));
    nodes.sort();
    nodes
}

#[test]
fn the_answer_accounts_for_every_iteration_and_operator() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let answer = run(&place, &model, &[]);
    assert_eq!(answer["schema_version"], 1);
    assert_eq!(answer["model"], "mask-ssd.onnx");
    let iterations = answer["iterations"].as_array().expect("iterations");
    let warm_up: Vec<bool> = iterations.iter().map(|row| row["warm_up"] == true).collect();
    assert_eq!(warm_up, [true, false, false, false]);
    assert_eq!(number(&answer, "/latency/count"), 3.0);

    let unrecorded = answer["unrecorded_iterations"].as_array().expect("unrecorded iterations");
    assert_eq!(unrecorded.len(), iterations.len());

    let recorded = number(&answer, "/recorded/median_ns");
    let (inside, between) = (number(&answer, "/inside_ns"), number(&answer, "/between_ns"));
    assert!((inside + between - recorded).abs() <= 2.0, "{inside} + {between} != {recorded}");
    assert!(inside / recorded > 0.8, "only {inside} of {recorded} ns lie inside operators");

    let operators = answer["operators"].as_array().expect("operators");
    let sum: f64 = operators.iter().map(|row| number(row, "/time_ns")).sum();
    assert!((sum - number(&answer, "/operator_time_ns")).abs() < 1.0);
    let shares: f64 = operators.iter().map(|row| number(row, "/share")).sum();
    assert!((shares - 1.0).abs() < 1e-9, "the shares add up to {shares}");
    let times: Vec<f64> = operators.iter().map(|row| number(row, "/time_ns")).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "the most costly come first");
    assert!(number(&answer, "/properties/peak_memory") > 1e6);
}

#[test]
fn every_node_of_the_graph_is_accounted_for_at_every_level_of_optimization() {
    let place = Place::new();
    for model in ["mask-ssd", "encoder"] {
        let file = place.sample(model);
        let plain = nodes_of(&run(&place, &file, &["--optimize", "off"]));
        assert!(plain.windows(2).all(|pair| pair[0] != pair[1]), "a node stands twice: {plain:?}");
        for level in ["basic", "full"] {
            let answer = run(&place, &file, &["--optimize", level]);
            assert_eq!(nodes_of(&answer), plain, "{model} with {level}");
            assert_eq!(answer["graph"]["unattributed"], 0, "{model} with {level}");
        }
    }
}

#[test]
fn without_optimization_operators_are_the_nodes_of_the_graph() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let answer = run(&place, &model, &["--optimize", "off"]);
    assert_eq!(answer["graph"]["fused"], 0);
    let conv = &answer["operators"].as_array().expect("operators")[0];
    assert_eq!(conv["type"], "Conv");
    // 2 operations for each of 3x3 weights, 3 input and 32 output channels at 260x260 places, as
    // the net's first convolution is known to have; others are checked by their own arithmetic.
    for row in answer["operators"].as_array().expect("operators").iter().filter(|row| row["type"] == "Conv") {
        let shape = |tensor: &Value| -> Vec<u64> {
            tensor["shape"].as_array().expect("a shape").iter().map(|n| n.as_u64().expect("a size")).collect()
        };
        let inputs = row["inputs"].as_array().expect("inputs");
        let (weights, output) = (shape(&inputs[1]), shape(&row["outputs"][0]));
        let elements: u64 = output.iter().product();
        let mut expected = 2 * elements * weights[1..].iter().product::<u64>();
        if inputs.len() > 2 {
            expected += elements;
        }
        assert_eq!(row["flops"], expected, "{row:#}");
        assert_eq!(row["bytes_written"], 4 * elements);
    }
}

#[test]
fn full_optimization_fuses_convolution_normalisation_and_activation() {
    let place = Place::new();
    let model = place.sample("resnet50");
    let answer = run(&place, &model, &[]);
    let types: Vec<&str> = answer["operators"]
        .as_array()
        .expect("operators")
        .iter()
        .filter_map(|row| row["type"].as_str())
        .collect();
    assert!(types.iter().any(|op_type| op_type.starts_with("Conv+BatchNormalization")), "{types:?}");
    assert_eq!(answer["graph"]["unattributed"], 0);
    // Nothing of the work may vanish: 4.089 billion multiplications and additions.
    let flops: f64 =
        answer["operators"].as_array().expect("operators").iter().map(|row| number(row, "/flops")).sum();
    assert!(flops > 8.178e9 && flops < 8.4e9, "{flops}");
}

#[test]
fn onnx_runtime_runs_and_is_attributed_like_the_embedded_engine() {
    if companions::onnx_runtime().is_none() {
        return;
    }
    let place = Place::new();
    for model in ["mask-ssd", "encoder"] {
        let file = place.sample(model);
        let plain = nodes_of(&run(&place, &file, &["--optimize", "off"]));
        for level in ["off", "basic", "full"] {
            let answer = run(&place, &file, &["--engine", "ort", "--optimize", level]);
            assert_eq!(nodes_of(&answer), plain, "{model} with {level}");
            assert_eq!(answer["graph"]["unattributed"], 0, "{model} with {level}");
            assert_eq!(number(&answer, "/latency/count"), 3.0);
            let inside = number(&answer, "/inside_ns") / number(&answer, "/recorded/median_ns");
            // Others may take the processors between two operators; times in another unit would be 1,000 apart.
            assert!((0.1..=1.0).contains(&inside), "{model} with {level}: {inside}");
        }
    }
}

/// The median of the measured iterations in a list of the answer.
fn median_of(answer: &Value, list: &str) -> f64 {
    let rows = answer[list].as_array().expect("iterations").iter().filter(|row| row["warm_up"] == false);
    let mut durations: Vec<f64> = rows.map(|row| number(row, "/duration_ns")).collect();
    durations.sort_by(f64::total_cmp);
    let middle = durations.len() / 2;
    if durations.len().is_multiple_of(2) {
        (durations[middle - 1] + durations[middle]) / 2.0
    } else {
        durations[middle]
    }
}

#[test]
fn the_latency_is_that_of_inferences_of_which_nothing_is_recorded_wherever_it_is_shown() {
    let place = Place::new();
    let model = place.sample("encoder");
    let engines = if companions::onnx_runtime().is_some() { vec!["tract", "ort"] } else { vec!["tract"] };
    for engine in engines {
        let quick = ["--engine", engine, "--threads", "1", "--db", "run.db", "--trace", "run.json", "--json"];
        let answer = place.done(&[&["run", &model, "-n", "15"], &quick[..]].concat()).json();
        let latency = number(&answer, "/latency/median_ns");
        assert!((latency - median_of(&answer, "unrecorded_iterations")).abs() <= 1.0, "{engine}");
        let recorded = number(&answer, "/recorded/median_ns");
        assert!((recorded - median_of(&answer, "iterations")).abs() <= 1.0, "{engine}");
        let ratio = number(&answer, "/recording_ratio");
        assert!((ratio - recorded / latency).abs() < 1e-6, "{engine}: {ratio}");
        // Operators that were scaled to the latency are no more than it, on one thread.
        let rows = answer["operators"].as_array().expect("operators");
        let (scale, time) = (number(&answer, "/scale"), number(&answer, "/operator_time_ns"));
        let scaled: f64 = rows.iter().map(|row| number(row, "/scaled_time_ns")).sum();
        assert!((scaled - time * scale).abs() <= rows.len() as f64, "{engine}: {scaled} of {time}");

        for file in ["run.db", "run.json"] {
            let analysis = place.done(&["analyze", file, "--json"]).json();
            assert_eq!(number(&analysis, "/latency/median_ns"), latency, "{engine}: analyze {file}");
            let compared = place.done(&["compare", "run.db", file, "--json"]).json();
            assert_eq!(number(&compared, "/before_ns"), latency, "{engine}: compare {file}");
            assert_eq!(number(&compared, "/after_ns"), latency, "{engine}: compare {file}");
        }
        let checked = place.run(&["check", "--baseline", "run.db", "--candidate", "run.db", "--json"]).json();
        assert_eq!(number(&checked, "/after_ns"), latency, "{engine}: check of profiles");
        // Measurements of one model differ by what the machine does besides, and not by the recorder, with
        // which this model's inferences take several times as long on ONNX Runtime.
        let models = ["check", "--baseline", &model, "--candidate", &model, "--duration", "200ms"];
        let tuning = ["tune", &model, "--only", "G15", "--duration", "200ms"];
        let quick = ["--engine", engine, "--threads", "1", "--json"];
        for (command, time) in [(&models[..], "/after_ns"), (&tuning[..], "/original_ns")] {
            let anew = || {
                let answer = place.done(&[&["run", &model, "-n", "15"], &quick[..]].concat()).json();
                number(&answer, "/latency/median_ns")
            };
            // Held between two runs beside it: whatever else the machine does then meets all three.
            let tries = (0..6).map(|_| {
                let (before, time) =
                    (anew(), number(&place.run(&[command, &quick[..]].concat()).json(), time));
                let after = anew();
                (time / before.max(after), time / before.min(after))
            });
            let mut seen = Vec::new();
            let agrees =
                tries.inspect(|ratios| seen.push(*ratios)).any(|(low, high)| low < 1.4 && high > 0.7);
            assert!(agrees, "{engine}: {command:?} says {seen:?} times the latency");
        }
    }
}

#[test]
fn outputs_are_saved_and_both_engines_agree_on_them() {
    if companions::onnx_runtime().is_none() {
        return;
    }
    let place = Place::new();
    for model in ["mask-ssd", "yolo-mish", "yolo-leaky", "resnet50", "mobilenet-v2", "encoder"] {
        let file = place.sample(model);
        for engine in ["tract", "ort"] {
            let folder = format!("{model}-{engine}");
            let seed = [
                "--engine",
                engine,
                "--outputs",
                &folder,
                "--seed",
                "3",
                "--iterations",
                "1",
                "--warmup",
                "0",
            ];
            place.done(&[&["run", &file, "--quiet"], &seed[..]].concat());
        }
        let names = std::fs::read_dir(place.path(&format!("{model}-ort"))).expect("the folder of outputs");
        let mut compared = 0;
        for name in names {
            let name = name.expect("an entry").file_name();
            let floats = |engine: &str| {
                let path = place.path(&format!("{model}-{engine}")).join(&name);
                let bytes = std::fs::read(path).expect("an output");
                let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) + 10;
                assert!(bytes.starts_with(b"\x93NUMPY"));
                bytes[header..]
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .map(|b| f32::from_le_bytes(*b))
                    .collect::<Vec<f32>>()
            };
            let (tract, ort) = (floats("tract"), floats("ort"));
            assert_eq!(tract.len(), ort.len());
            let largest = ort.iter().fold(0f32, |largest, value| largest.max(value.abs()));
            let error = tract.iter().zip(&ort).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
            // The order of additions differs: 1e-3 of the largest value is far more than that
            // explains in single precision, and far less than a wrong operator would cause.
            assert!(error <= 1e-3 * largest, "{model} {name:?}: {error} of {largest}");
            compared += 1;
        }
        assert!(compared > 0, "{model} has no outputs");
    }
}

#[test]
fn inputs_come_from_files_shapes_and_fillings() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let quick = ["--iterations", "1", "--warmup", "0", "--quiet"];
    let output = |folder: &str, further: &[&str]| {
        let arguments = [&["run", &model, "--outputs", folder], &quick[..], further].concat();
        place.done(&arguments);
        std::fs::read(place.path(folder).join("logits.npy")).expect("the output")
    };
    let (first, second) = (output("a", &["--seed", "1"]), output("b", &["--seed", "2"]));
    assert_ne!(first, second, "the seed changes nothing");
    assert_eq!(first, output("c", &["--seed", "1"]), "the same seed gives another result");
    let zeros = output("d", &["--input", "input=zeros"]);
    assert_ne!(zeros, first);
    assert_eq!(zeros, output("e", &["--input", "zeros:1x3x224x224"]));

    // A file of zeros in NumPy's format must give what zeros give.
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let header =
        format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 224, 224), }");
    file.extend(header.as_bytes());
    file.resize(file.len() + 4 * 3 * 224 * 224, 0);
    place.write("zeros.npy", file);
    assert_eq!(zeros, output("f", &["--input", "input=zeros.npy"]));
}

#[test]
fn the_terminal_answer_names_the_operators_with_their_units() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let arguments = [&["run", &model, "-t", "2"], &QUICK[..]].concat();
    let answer = place.done(&arguments).stdout;
    for text in
        ["latency", "median", "p99", "inside", "memory", "Top 2 of", "MFLOP", "GFLOP/s", "MiB/s", "Conv"]
    {
        assert!(answer.contains(text), "no {text} in:\n{answer}");
    }
}

#[test]
fn quiet_says_nothing_but_the_answer() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let answer = place.done(&["run", &model, "--quiet", "--iterations", "1", "--trace", "t.json"]);
    assert_eq!(answer.stderr, "");
    assert!(answer.stdout.contains("latency"));
}

#[test]
fn a_run_leaves_a_page_with_its_figures_whether_it_is_kept_or_not() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    for (further, path) in [(&["--db", "run.db"][..], Value::from("run.db")), (&[], Value::Null)] {
        let answer = run(&place, &model, &[&["--html", "page.html"], further].concat());
        let html = std::fs::read_to_string(place.path("page.html")).expect("the page");
        let (answers, columns) = common::report(&html);
        for (key, figure) in answer["latency"].as_object().expect("the latency") {
            assert_eq!(&answers["overview"]["latency"][key], figure, "{key}");
        }
        assert_eq!(answers["overview"]["peak_memory_bytes"], answer["properties"]["peak_memory"]);
        let container = opscope_web::columns::Container::read(&columns).expect("columns");
        let operators = answer["operators"].as_array().expect("operators");
        assert_eq!(container.count("operators").expect("the table"), operators.len());
        assert_eq!(answers["about"]["path"], path);
        // The rules about graphs have the model.
        let not_run = answers["advice"]["not_run"].as_array().expect("rules");
        assert!(not_run.iter().all(|rule| rule["missing"] != "a model"), "{not_run:?}");
        // Of a run that is kept, the command says how the page is made again.
        let command = answers["about"]["command"].as_str().expect("a command");
        let again =
            if path.is_null() { "opscope run" } else { "opscope report run.db --model mask-ssd.onnx" };
        assert!(command.starts_with(again), "{command}");
    }
    place.done(&["report", "run.db", "--model", &model, "-o", "again.html"]);
    let twice = ["run", &model, "--db", "x.db", "--html", "x.db"];
    place.fails(2, &["named twice"], &twice);
}
