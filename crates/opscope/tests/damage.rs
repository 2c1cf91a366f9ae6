//! Profiles of every format, cut off at many places: no command takes what is left for the whole
//! without a word, and none that reads a profile can forget to tell.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use common::{Answer, Place};
use opscope_protobuf::{push_bytes, push_message, push_number};
use serde_json::Value;

/// The commands that ask one profile, with the type of an operator that it has.
fn questions<'a>(profile: &'a str, op_type: &'a str) -> Vec<Vec<&'a str>> {
    let mut questions = vec![
        vec!["analyze", profile],
        vec!["analyze", profile, "--host"],
        vec!["advise", profile],
        vec!["whatif", profile, "--scale", op_type],
        vec!["show", profile],
        vec!["info", profile],
        vec!["sql", profile, "SELECT count(*) FROM tasks"],
    ];
    // Kernels that no operator is known of are nowhere.
    if !op_type.starts_with("kernel_") {
        questions.push(vec!["where", op_type.split('=').next().unwrap_or(op_type), profile]);
    }
    questions
}

/// A profile, whole, and how to damage it.
struct Case<'p> {
    place: &'p Place,
    /// The whole profile.
    whole: &'p str,
    /// An operator type and a factor, for `whatif`.
    op_type: &'p str,
}

impl Case<'_> {
    /// Nothing is said of the whole one, so that what is said of others means something.
    fn whole_is_not_accused(&self) {
        for question in questions(self.whole, self.op_type) {
            let answer = self.place.done(&question);
            assert!(!tells(&answer, self.whole), "{question:?}\n{}\n{}", answer.stdout, answer.stderr);
            let answer = self.place.done(&[&question[..], &["--json"]].concat()).json();
            assert_eq!(grave(&answer), Vec::<String>::new(), "{question:?}");
        }
        self.place.done(&["report", self.whole, "-o", "report.html"]);
        let html = fs::read_to_string(self.place.path("report.html")).expect("a report");
        assert_eq!(grave(&common::report(&html).0), Vec::<String>::new());
        let check = ["check", "--baseline", self.whole, "--candidate", self.whole, "--max-regression", "50%"];
        let answer = self.place.run(&check);
        assert_ne!(answer.status, Some(1), "{}\n{}", answer.stdout, answer.stderr);
    }

    /// Every command refuses the damaged profile, or tells of the damage in text and in JSON.
    fn damage_is_told(&self, cut: &str, what: &str) {
        self.damage_is_told_by(&questions(cut, self.op_type), cut, what);
    }

    /// The same of some commands, and of those that ask two profiles.
    fn damage_is_told_by(&self, questions: &[Vec<&str>], cut: &str, what: &str) {
        for question in questions {
            self.is_told(question, cut, what);
        }
        self.is_told(&["compare", self.whole, cut], cut, what);
        self.is_told(&["compare", cut, self.whole, "--markdown"], cut, what);
        self.report_tells(cut, what);
        for sides in [[self.whole, cut], [cut, self.whole]] {
            self.gate_is_shut(sides, cut, what);
        }
    }

    /// A report has the losses for its page, and in its text for browsers without scripts.
    fn report_tells(&self, cut: &str, what: &str) {
        let answer = self.place.run(&["report", cut, "-o", "report.html"]);
        let context = format!("{what}: {}", answer.stderr);
        assert!(!answer.stderr.contains("panicked"), "{context}");
        if answer.status != Some(0) {
            assert!(answer.stderr.contains("error: "), "{context}");
            return;
        }
        let html = fs::read_to_string(self.place.path("report.html")).expect("a report");
        let (answers, _) = common::report(&html);
        assert!(!grave(&answers).is_empty() && tells(&answer, cut), "{context}");
        let (text, _) = html.split_once("</main>").expect("the text");
        let lines = || text.lines().map(|line| line.trim_start_matches("<pre>"));
        assert!(
            lines().any(|line| line.starts_with("lost ") || line.starts_with("doubted ")),
            "{context}\n{text}"
        );
    }

    fn is_told(&self, question: &[&str], cut: &str, what: &str) {
        let answer = self.place.run(question);
        let context = format!("{what}: {question:?}\n{}\n{}", answer.stdout, answer.stderr);
        assert!(!answer.stderr.contains("panicked"), "{context}");
        match answer.status {
            Some(0) => assert!(tells(&answer, cut), "nothing was told: {context}"),
            _ => assert!(answer.stderr.contains("error: ") || answer.stdout.contains("damaged"), "{context}"),
        }
        if question.contains(&"--markdown") {
            return;
        }
        let answer = self.place.run(&[question, &["--json"]].concat());
        if answer.status == Some(0) {
            assert!(!grave(&answer.json()).is_empty(), "no losses in JSON: {context}\n{}", answer.stdout);
        }
    }

    /// `check` fails; where it is only in doubt whether something is missing, it says so.
    fn gate_is_shut(&self, [baseline, candidate]: [&str; 2], cut: &str, what: &str) {
        let check = ["check", "--baseline", baseline, "--candidate", candidate, "--max-regression", "1000%"];
        let answer = self.place.run(&check);
        let context = format!("{what}: {check:?}\n{}\n{}", answer.stdout, answer.stderr);
        let side = if cut == baseline { "baseline" } else { "candidate" };
        match answer.status {
            Some(1) if answer.stdout.is_empty() => assert!(answer.stderr.contains("error: "), "{context}"),
            Some(1) => {
                let condition = format!("| losses of the {side} | failed | ");
                assert!(answer.stdout.contains(&condition) && tells(&answer, cut), "{context}");
                let json = self.place.run(&[&check[..], &["--json"]].concat()).json();
                assert!(grave(&json).iter().any(|loss| loss.starts_with("lost")), "{json:#}");
                let allowed = self.place.run(&[&check[..], &["--allow-losses"]].concat());
                assert!(allowed.stdout.contains("allowed by --allow-losses"), "{}", allowed.stdout);
            }
            Some(0 | 3) => {
                assert!(answer.stdout.contains(&format!("The {side} is in doubt: ")), "{context}");
                assert!(tells(&answer, cut), "{context}");
            }
            _ => panic!("{context}"),
        }
    }
}

/// Whether an answer in text tells of losses or doubts.
fn tells(answer: &Answer, profile: &str) -> bool {
    let warns = ["lost", "doubted"]
        .iter()
        .any(|severity| answer.stderr.contains(&format!("{profile}: {severity}: ")));
    let has_line =
        answer.stdout.lines().any(|line| line.starts_with("lost ") || line.starts_with("doubted "));
    warns || has_line
}

/// The losses of an answer in JSON that are more than remarks.
fn grave(answer: &Value) -> Vec<String> {
    let losses = answer.get("losses").or_else(|| answer.pointer("/content/losses"));
    let losses = losses.and_then(Value::as_array).unwrap_or_else(|| panic!("no losses in {answer:#}"));
    let texts = losses.iter().map(|loss| {
        let text = |key: &str| loss[key].as_str().unwrap_or_else(|| panic!("no {key} in {loss}")).to_owned();
        format!("{}: {}", text("severity"), text("reason"))
    });
    texts.filter(|text| !text.starts_with("remark")).collect()
}

/// Places to cut a file of so many bytes at: spread over it, and close to its end.
fn places_in(length: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (1..8).map(|eighth| length * eighth / 8).collect();
    places.extend([length.saturating_sub(20), length.saturating_sub(3)]);
    places
}

/// Cuts a file at many places; `may_end` says where the text may end without anybody seeing it.
fn cut_everywhere(case: &Case<'_>, cut: &str, bytes: &[u8], may_end: impl Fn(&[u8]) -> bool) {
    case.whole_is_not_accused();
    for place in places_in(bytes.len()) {
        let left = &bytes[..place];
        if may_end(left) {
            continue;
        }
        case.place.write(cut, left);
        case.damage_is_told(cut, &format!("{place} of {} bytes", bytes.len()));
    }
}

/// Executions of three operators in some inferences, as a timeline of PyTorch's profiler has them.
fn events() -> Vec<String> {
    let names = ["kernel_conv", "kernel_relu", "kernel_gemm"];
    let event = |index: usize| {
        let (name, start) = (names[index % 3], 1_000 + index * 20);
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {start}, "dur": 10, "args": {{"device": 0, "stream": 7}}}}"#
        )
    };
    (0..150).map(event).collect()
}

fn timeline() -> String {
    format!("{{\"schemaVersion\": 1, \"traceEvents\": [\n{}\n]}}\n", events().join(",\n"))
}

/// A session of ONNX Runtime of so many inferences.
fn session(runs: usize) -> String {
    let mut events = vec![
        r#"{"cat":"Session","pid":7,"tid":7,"dur":900,"ts":1,"ph":"X","name":"model_loading_uri","args":{}}"#
            .to_owned(),
        r#"{"cat":"Session","pid":7,"tid":7,"dur":500,"ts":1000,"ph":"X","name":"session_initialization","args":{}}"#
            .to_owned(),
    ];
    for run in 0..runs {
        let begin = 2_000 + run * 1_000;
        for (index, (name, op_type)) in [("conv1", "Conv"), ("relu1", "Relu")].into_iter().enumerate() {
            let start = begin + 10 + index * 40;
            events.push(format!(
                r#"{{"cat":"Node","pid":7,"tid":7,"dur":30,"ts":{start},"ph":"X","name":"{name}_kernel_time","args":{{"op_name":"{op_type}","provider":"CPUExecutionProvider","node_index":"{index}","input_type_shape":[{{"float":[1,3,32,32]}}],"output_type_shape":[{{"float":[1,4,32,32]}}]}}}}"#
            ));
        }
        for (name, shift, duration) in [("SequentialExecutor::Execute", 5, 90), ("model_run", 0, 100)] {
            let start = begin + shift;
            events.push(format!(
                r#"{{"cat":"Session","pid":7,"tid":7,"dur":{duration},"ts":{start},"ph":"X","name":"{name}","args":{{}}}}"#
            ));
        }
    }
    format!("[\n{}\n]\n", events.join(",\n"))
}

#[test]
fn a_timeline_that_is_cut_off_passes_nowhere() {
    let place = Place::new();
    place.write("whole.json", timeline());
    let case = Case { place: &place, whole: "whole.json", op_type: "kernel_conv=0.5" };
    cut_everywhere(&case, "cut.json", timeline().as_bytes(), |_| false);
}

#[test]
fn a_trace_of_perfettos_that_is_cut_off_passes_nowhere() {
    let place = Place::new();
    place.write("whole.json", timeline());
    place.done(&["import", "whole.json", "--trace", "whole.pftrace", "--quiet"]);
    let bytes = fs::read(place.path("whole.pftrace")).expect("a trace");
    let case = Case { place: &place, whole: "whole.pftrace", op_type: "kernel_conv=0.5" };
    cut_everywhere(&case, "cut.pftrace", &bytes, |_| false);
}

#[test]
fn an_export_of_nsight_systems_that_is_cut_off_passes_nowhere() {
    let place = Place::new();
    let database = rusqlite::Connection::open(place.path("whole.sqlite")).expect("SQLite");
    let kernels: Vec<String> =
        (0..3_000).map(|n| format!("({}, {}, 0, 7, {})", n * 20, n * 20 + 10, n % 3 + 1)).collect();
    let statements = format!(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
         INSERT INTO StringIds VALUES (1, 'kernel_conv'), (2, 'kernel_relu'), (3, 'kernel_gemm');
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, shortName INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES {};",
        kernels.join(", ")
    );
    database.execute_batch(&statements).expect("a database");
    drop(database);
    let bytes = fs::read(place.path("whole.sqlite")).expect("a database");
    let case = Case { place: &place, whole: "whole.sqlite", op_type: "kernel_conv=0.5" };
    cut_everywhere(&case, "cut.sqlite", &bytes, |_| false);
}

#[test]
fn a_profile_of_jax_that_is_cut_off_passes_nowhere() {
    let place = Place::new();
    let mut whole = Vec::new();
    push_message(&mut whole, 1, |plane| {
        push_bytes(plane, 2, b"/device:GPU:0");
        push_message(plane, 3, |line| {
            push_bytes(line, 2, b"Stream #7(Compute)");
            for n in 0..300 {
                push_message(line, 4, |event| {
                    for (field, number) in [(1, n % 2 + 1), (2, n * 20_000), (3, 10_000)] {
                        push_number(event, field, number);
                    }
                });
            }
        });
        for (number, name) in [(1, "kernel_conv"), (2, "kernel_relu")] {
            push_message(plane, 4, |entry| {
                push_number(entry, 1, number);
                push_message(entry, 2, |row| push_bytes(row, 2, name.as_bytes()));
            });
        }
    });
    place.write("whole.xplane.pb", &whole);
    let case = Case { place: &place, whole: "whole.xplane.pb", op_type: "kernel_conv=0.5" };
    cut_everywhere(&case, "cut.xplane.pb", &whole, |_| false);
}

#[test]
fn a_table_of_rocprofv3_that_is_cut_off_within_a_row_passes_nowhere() {
    let place = Place::new();
    let mut whole = "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n".to_owned();
    for n in 0..200 {
        let (name, start) = (if n % 2 == 0 { "kernel_conv" } else { "kernel_relu" }, 1_000 + n * 20);
        whole += &format!("\"KERNEL_DISPATCH\",2,1,\"{name}\",{n},{start},{}\n", start + 10);
    }
    place.write("whole.csv", &whole);
    let case = Case { place: &place, whole: "whole.csv", op_type: "kernel_conv=0.5" };
    cut_everywhere(&case, "cut.csv", whole.as_bytes(), |left| left.ends_with(b"\n"));
}

#[test]
fn a_bare_list_of_events_without_its_bracket_is_in_doubt_and_one_that_ends_within_an_event_is_cut() {
    let place = Place::new();
    let whole = format!("[\n{}\n]", events().join(",\n"));
    place.write("whole.json", &whole);
    let case = Case { place: &place, whole: "whole.json", op_type: "kernel_conv=0.5" };
    cut_everywhere(&case, "cut.json", whole.as_bytes(), |_| false);
    // Where a writer that streams stops, and one that was killed.
    let open = whole.trim_end_matches("]").trim_end();
    place.write("open.json", open);
    case.damage_is_told("open.json", "only the bracket is missing");
    let check = ["check", "--baseline", "whole.json", "--candidate", "open.json"];
    let answer = place.done(&check);
    assert!(answer.stdout.contains("The candidate is in doubt: 1 × open or cut off"), "{}", answer.stdout);
}

#[test]
fn a_compressed_timeline_that_is_cut_off_passes_nowhere() {
    let place = Place::new();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packer.write_all(timeline().as_bytes()).expect("memory");
    let packed = packer.finish().expect("memory");
    place.write("whole.json.gz", &packed);
    let case = Case { place: &place, whole: "whole.json.gz", op_type: "kernel_conv=0.5" };
    cut_everywhere(&case, "cut.json.gz", &packed, |_| false);
}

#[test]
fn a_profile_of_onnx_runtime_that_is_cut_off_passes_nowhere() {
    let place = Place::new();
    place.write("whole.json", session(20));
    let case = Case { place: &place, whole: "whole.json", op_type: "Conv=0.5" };
    cut_everywhere(&case, "cut.json", session(20).as_bytes(), |_| false);
}

#[test]
fn a_profile_of_megengine_that_is_cut_off_is_read_as_far_as_it_goes() {
    let place = Place::new();
    place.write("session.json", session(20));
    place.done(&["import", "session.json", "--profile", "whole.json"]);
    let bytes = fs::read(place.path("whole.json")).expect("the profile");
    let case = Case { place: &place, whole: "whole.json", op_type: "Conv=0.5" };
    cut_everywhere(&case, "cut.json", &bytes, |_| false);
    // The names of operators stand behind their times.
    let times = bytes.windows(12).position(|part| part == b"\"graph_exec\"").expect("the graph");
    place.write("cut.json", &bytes[..times]);
    let answer = place.done(&["analyze", "cut.json", "--json"]).json();
    assert_eq!((&answer["overview"]["tasks"], answer["rows"].as_array().map(Vec::len)), (&2.into(), Some(2)));
    assert!(
        answer["rows"][0]["name"].as_str().is_some_and(|name| name.starts_with("operator ")),
        "{answer:#}"
    );
    place.write("cut.json", &bytes[..bytes.len() - 3]);
    let answer = place.done(&["analyze", "cut.json", "--json"]).json();
    assert_eq!(answer["overview"]["tasks"], 2, "{answer:#}");
    assert_eq!(answer["losses"][0]["reason"], "cut off or damaged: what lies behind it is lost");
    // The drop-in refuses it, as its reference does.
    place.fails(1, &["not a MegEngine profile"], &["profile_analyze", "cut.json"]);
}

#[test]
fn a_database_of_opscope_that_is_cut_off_passes_nowhere() {
    let place = Place::new();
    place.write("whole.json", timeline());
    place.done(&["import", "whole.json", "-o", "whole.db"]);
    let bytes = fs::read(place.path("whole.db")).expect("the database");
    let case = Case { place: &place, whole: "whole.db", op_type: "kernel_conv=0.5" };
    cut_everywhere(&case, "cut.db", &bytes, |_| false);
}

/// A generated raw directory of Ascend, by its name in the place.
fn raw(place: &Place, mode: &str) -> String {
    let folder = place.path("");
    let folder = folder.to_str().expect("a readable path");
    place.done(&["sample", "prof", "--tasks", "200", "--mode", mode, "-o", folder]);
    place.files().into_iter().find(|name| name.starts_with("PROF_")).expect("a profile")
}

/// The only file below a folder whose name begins and ends so.
fn file_like(folder: &Path, begin: &str, end: &str) -> PathBuf {
    let mut found = files_below(folder);
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(begin) && name.ends_with(end)
    });
    assert_eq!(found.len(), 1, "{begin}*{end}: {found:?}");
    found.remove(0)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    for path in files_below(from) {
        let copied = to.join(path.strip_prefix(from).expect("a file below"));
        fs::create_dir_all(copied.parent().expect("a folder")).expect("a folder");
        fs::copy(&path, copied).expect("a copy");
    }
}

#[test]
fn a_table_that_is_cut_off_within_a_row_passes_nowhere() {
    let place = Place::new();
    let profile = raw(&place, "dynamic");
    place.done(&["export", "summary", &profile]);
    let table = file_like(&place.path(&profile), "op_summary", ".csv");
    let bytes = fs::read(table).expect("the table");
    place.write("op_summary_whole.csv", &bytes);
    let case = Case { place: &place, whole: "op_summary_whole.csv", op_type: "Conv2D=0.5" };
    // The end of a row is that of any table.
    cut_everywhere(&case, "op_summary_cut.csv", &bytes, |left| left.ends_with(b"\n"));
}

#[test]
fn an_exported_timeline_that_is_cut_off_passes_nowhere() {
    let place = Place::new();
    let profile = raw(&place, "dynamic");
    place.done(&["export", "timeline", &profile]);
    let timeline = file_like(&place.path(&profile), "msprof_", ".json");
    let bytes = fs::read(timeline).expect("the timeline");
    place.write("whole.json", &bytes);
    let case = Case { place: &place, whole: "whole.json", op_type: "Conv2D=0.5" };
    cut_everywhere(&case, "cut.json", &bytes, |_| false);
}

#[test]
fn an_exported_database_that_is_cut_off_passes_nowhere() {
    let place = Place::new();
    let profile = raw(&place, "dynamic");
    place.done(&["export", "db", &profile]);
    let database = file_like(&place.path(&profile), "msprof_", ".db");
    let bytes = fs::read(database).expect("the database");
    place.write("msprof_1.db", &bytes);
    let case = Case { place: &place, whole: "msprof_1.db", op_type: "Conv2D=0.5" };
    cut_everywhere(&case, "msprof_2.db", &bytes, |_| false);
}

/// Cuts each of the chosen files of a generated raw directory, which must be told each time.
fn cut_each_file(mode: &str, is_chosen: impl Fn(&str) -> bool) {
    let place = Place::new();
    let profile = raw(&place, mode);
    let case = Case { place: &place, whole: &profile, op_type: "Conv2D=0.5" };
    case.whole_is_not_accused();
    let whole = place.path(&profile);
    let is_own = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !(name.ends_with(".done") || name.ends_with(".db")) && is_chosen(&name)
    };
    for (number, slice) in files_below(&whole).into_iter().filter(is_own).enumerate() {
        // The directory's name is that of another profile.
        let cut = format!("PROF_{number:06}_20251009085320000_CUTAAAAA");
        let inside = slice.strip_prefix(&whole).expect("a file of the profile").to_owned();
        copy(&whole, &place.path(&cut));
        let path = place.path(&cut).join(&inside);
        let bytes = fs::read(&path).expect("a file");
        // A multiple of 64 may well lie between two records.
        let half = bytes.len() / 2;
        let left = if path.to_string_lossy().contains(".slice_") { half / 64 * 64 } else { half };
        fs::write(&path, &bytes[..left]).expect("a cut file");
        // Directories have many files, so that not everybody is asked about each.
        let mut questions = questions(&cut, case.op_type);
        questions.retain(|question| ["analyze", "sql"].contains(&question[0]));
        case.damage_is_told_by(&questions, &cut, &format!("half of {}", inside.display()));
        fs::remove_dir_all(place.path(&cut)).expect("the copy");
    }
}

#[test]
fn a_raw_directory_one_of_whose_files_is_cut_off_passes_nowhere() {
    cut_each_file("dynamic", |_| true);
}

#[test]
fn a_note_on_a_captured_graph_that_is_cut_off_passes_nowhere() {
    cut_each_file("graph", |name| name.contains(".capture_"));
}

const LAYERS: &str = "\
Layer Id,Ori Layer Name,Layer Name,Layer Type,Time(us),Time Ratio,Mac Busy Ratio,Mac Ppen Ratio,Vec Busy Ratio,Vec Ppen Ratio,Dstr Ratio,Dtrans Ratio,DLD Ratio,WLD Ratio,Memory Bound,DDR Read(byte),DDR Write(byte),DDR Total(byte)
0,conv1,conv1,Convolution,120.5,60.25,80,70,10,5,20,3,40,30,0.5,1001590000000,4096,1001590004096
1,conv2,conv2,Convolution,70.5,60.25,80,70,10,5,20,3,40,30,0.5,1001590000000,4096,1001590004096
2,mish1,mish1,Softplus,79.5,39.75,0,0,40,25,50,3,10,0,2,4096,4096,8192
";

#[test]
fn a_boards_table_or_timeline_that_is_cut_off_passes_nowhere() {
    let place = Place::new();
    let name = "op_summary_0.yolo.v3.1.1.2.1.0.600.csv";
    for folder in ["JOBAAA/summary", "JOBBBB/summary"] {
        fs::create_dir_all(place.path(folder)).expect("a folder");
    }
    place.write(&format!("JOBAAA/summary/{name}"), LAYERS);
    let case = Case { place: &place, whole: "JOBAAA", op_type: "Convolution=0.5" };
    case.whole_is_not_accused();
    for end in places_in(LAYERS.len()).into_iter().filter(|end| !LAYERS[..*end].ends_with('\n')) {
        place.write(&format!("JOBBBB/summary/{name}"), &LAYERS[..end]);
        case.damage_is_told("JOBBBB", &format!("{end} bytes of the table"));
    }
}

/// The commands that have an option; other commands' help may name it.
fn commands_with(place: &Place, option: &str) -> Vec<String> {
    let help = place.done(&["--help"]).stdout;
    let commands = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let commands: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 10, "{help}");
    let declares = |line: &str| line.trim_start().starts_with(option);
    let has_option = |command: &&str| place.run(&[command, "--help"]).stdout.lines().any(declares);
    commands.into_iter().filter(has_option).map(str::to_owned).collect()
}

#[test]
fn every_command_that_reads_a_profile_is_asked_here() {
    /// Commands that are asked above, and those whose answers tell of losses in a way that other tests look at.
    const ASKED: [&str; 13] = [
        "analyze", "advise", "whatif", "show", "where", "info", "sql", "compare", "check", "import", "query",
        "run", "cluster",
    ];
    /// Commands that read no profile; models and machines they may measure.
    const OTHERS: [&str; 6] = ["formats", "fusion", "load_and_run", "peak", "rewrite", "tune"];
    for command in commands_with(&Place::new(), "--json") {
        assert!(
            ASKED.contains(&&*command) || OTHERS.contains(&&*command),
            "{command}: say here whether it reads a profile, and ask it about a damaged one"
        );
    }
}

/// A folder with the results of two ranks that have one collective.
fn two_ranks(place: &Place) -> String {
    for rank in 0..2 {
        let folder = format!("ranks/host0_{rank}_2026010203040500{rank}_ascend_pt/ASCEND_PROFILER_OUTPUT");
        std::fs::create_dir_all(place.path(&folder)).expect("a writable temporary folder");
        let times = r#"{"Start Timestamp(us)": 1760000000000.0, "Elapse Time(ms)": 1.5}"#;
        let operation = format!(r#""hcom_allReduce__7_0_1@7": {{"Communication Time Info": {times}}}"#);
        let text = format!(r#"{{"step1": {{"collective": {{{operation}}}}}}}"#);
        place.write(&format!("{folder}/communication.json"), text);
        place.write(&format!("{folder}/../profiler_info_{rank}.json"), "{}");
    }
    "ranks".to_owned()
}

#[test]
fn every_answer_in_json_names_the_version_of_its_members_and_lists_losses() {
    let place = Place::new();
    let (profile, model) = (raw(&place, "dynamic"), place.sample("mask-ssd"));
    place.done(&["run", &model, "-n", "1", "--db", "run.db"]);
    let (profile, model) = (&*profile, &*model);
    let ranks = two_ranks(&place);
    let questions: [&[&str]; 21] = [
        &["analyze", profile],
        &["advise", profile],
        &["advise", model],
        &["whatif", profile, "--scale", "Conv2D=0.5"],
        &["show", profile],
        &["where", "Conv2D", profile],
        &["info", profile],
        &["info", model],
        &["sql", profile, "SELECT * FROM tasks LIMIT 2"],
        &["compare", profile, "run.db"],
        &["check", "--baseline", "run.db", "--candidate", "run.db"],
        &["import", "run.db"],
        &["query", profile],
        &["cluster", &ranks],
        &["run", model, "-n", "1"],
        &["load_and_run", model, "--iter", "1"],
        &["formats"],
        &["fusion", model],
        &["peak", "--duration", "50ms"],
        &["rewrite", model, "--dry-run"],
        &["tune", model, "--only", "G01", "--duration", "50ms"],
    ];
    for command in commands_with(&place, "--json") {
        let is_asked = questions.iter().any(|question| question[0] == command);
        assert!(is_asked, "{command}: ask it here");
    }
    let list: &[&str] = &["rewrite", "--list"];
    for question in questions.into_iter().chain([list]) {
        let answer = place.run(&[question, &["--json"]].concat());
        assert!(answer.stdout.starts_with('{'), "{question:?}: {}\n{}", answer.stdout, answer.stderr);
        let json = answer.json();
        assert!(json["schema_version"].is_u64(), "{question:?}: {json:#}");
        assert_eq!(json["program"], "opscope", "{question:?}: {json:#}");
        assert!(json["losses"].is_array(), "{question:?}: {json:#}");
    }
}
