//! Decoders, and all questions to the traces that they make.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use opscope_cann::{
    Data, ExportLayout, ExportOptions, IterationRange, Joined, SheetFormat, discover, export_database,
    export_summary, export_timeline, performance_reports, to_trace,
};
use opscope_formats::megengine::analyze::profile_analyze;
use opscope_formats::{megengine, onnxruntime};
use opscope_svp::{Exports, Job, RawCalls, SideFiles};
use opscope_trace::Trace;

use super::questions::ask;
use crate::packing::{BOARD, ENGINE, OUTPUTS, PROFILE, TOOL_FOLDERS, TOOLS, folder, unpack};
use crate::trail::Trail;

/// Asks all of a trace, if there is one.
fn ask_what_was_read<E: std::fmt::Display>(read: Result<Trace, E>, trail: &mut Trail) {
    match read {
        Ok(trace) => ask(&trace, trail),
        Err(error) => trail.refused(&error),
    }
}

/// A whole raw directory, of today's and of the 2022 layout: decoding, joining, trace, tables, timeline, report,
/// database.
pub fn cann(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    let flags = unpack(input, PROFILE, directory.path());
    let profiles = match discover(directory.path()) {
        Ok(profiles) => profiles,
        Err(error) => return trail.refused(&error),
    };
    for profile in profiles {
        let data = match Data::load(profile) {
            Ok(data) => data,
            Err(error) => {
                trail.refused(&error);
                continue;
            }
        };
        let joined = Joined::new(data);
        ask(&to_trace(&joined), trail);
        let options = ExportOptions {
            format: if flags & 1 == 0 { SheetFormat::Csv } else { SheetFormat::Json },
            layout: if flags & 2 == 0 { ExportLayout::Current } else { ExportLayout::Classic },
            iterations: (flags & 4 != 0).then_some(IterationRange { model: 1, first: 1, count: 2 }),
            timeline_bytes: (flags & 8 != 0).then_some(4_096),
            ..ExportOptions::default()
        };
        let output = directory.path().join("output");
        let tables = export_summary(&joined, &output, "0", options).expect("space on disk");
        trail.counted("tables", tables.len());
        let timelines = export_timeline(&joined, &output, "0", options).expect("space on disk");
        trail.counted("timelines", timelines.len());
        for report in performance_reports(&joined, options) {
            let _ = (report.text(), report.json());
        }
        if flags & 0xF0 == 0 {
            let _ = export_database(&joined, &output, "0");
        }
    }
}

/// Any file: its kind, told by its content, and then its reader. It may be compressed.
pub fn any_file(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    let path = directory.path().join("input");
    std::fs::write(&path, input).expect("space on disk");
    match opscope_open::Source::at(&path) {
        Ok(source) => {
            trail.noted(source.format().map_or("none", |format| format.name));
            ask_what_was_read(source.open(&()).map(|profile| profile.trace), trail);
        }
        Err(error) => trail.refused(&error),
    }
}

/// Timelines in Chrome's format.
pub fn chrome(input: &[u8], trail: &mut Trail) {
    ask_what_was_read(opscope_formats::chrome::read(input), trail);
}

/// Perfetto's traces. What was read is written and read again, with as much in it.
pub fn perfetto(input: &[u8], trail: &mut Trail) {
    let read = opscope_formats::perfetto::read(input);
    if let Ok(trace) = &read {
        let mut written = Vec::new();
        opscope_formats::perfetto::write(trace, &mut written).expect("memory");
        let again = opscope_formats::perfetto::read(&written).expect("its own file");
        let rows = |trace: &Trace| (trace.tasks.len(), trace.api_calls.len(), trace.ranges.len());
        assert_eq!(rows(&again), rows(trace), "rows got lost on the way");
    }
    ask_what_was_read(read, trail);
}

/// Profiles of TensorFlow and JAX.
pub fn xplane(input: &[u8], trail: &mut Trail) {
    ask_what_was_read(opscope_formats::xplane::read(input), trail);
}

/// The kinds of files of rocprofv3.
pub(super) const ROCM: &[&str] = &["tables", "JSON"];

/// Tables of rocprofv3, and its JSON.
pub fn rocm(input: &[u8], trail: &mut Trail) {
    let (kind, read) = match opscope_formats::rocm::is_json(input) {
        true => (ROCM[1], opscope_formats::rocm::read_json(input, &Default::default())),
        false => (ROCM[0], opscope_formats::rocm::read(input, &Default::default())),
    };
    if read.is_ok() {
        trail.understood(kind);
    }
    ask_what_was_read(read, trail);
}

/// Samples of perf, and folded stacks.
pub fn perf(input: &[u8], trail: &mut Trail) {
    ask_what_was_read(opscope_formats::perf::read(input, &Default::default()), trail);
}

/// Tables of Nsight Compute.
pub fn nsight_compute(input: &[u8], trail: &mut Trail) {
    ask_what_was_read(opscope_formats::nsight::compute::read(input, &Default::default()), trail);
}

/// Lines of JSON of Nsight Systems.
pub fn nsight_lines(input: &[u8], trail: &mut Trail) {
    ask_what_was_read(opscope_formats::nsight::systems::read_lines(input, &Default::default()), trail);
}

/// Databases of Nsight Systems.
pub fn nsight_systems(input: &[u8], trail: &mut Trail) {
    let path = Path::new("input.sqlite");
    ask_what_was_read(opscope_formats::nsight::systems::read_bytes(input, path, &Default::default()), trail);
}

/// Profiles of MegEngine.
pub fn megengine(input: &[u8], trail: &mut Trail) {
    ask_what_was_read(megengine::Profile::parse(input.to_vec()).map(|profile| profile.to_trace()), trail);
}

const QUESTIONS: [&[&str]; 8] = [
    &[],
    &["--aggregate-by", "type", "--aggregate", "max"],
    &["--aggregate", "sum", "--order-by", "+device"],
    &["--copy-time"],
    &["--confluence", "--top", "-1"],
    &["--min-time", "1e-6", "--order-by", "bandwidth"],
    &["--print-only", "summary"],
    &["--dump-only-opr", "--top-end-key", "kern"],
];

/// The questions of MegEngine's own tool to its profiles.
pub fn megengine_analyze(input: &[u8], trail: &mut Trail) {
    let Some((&number, content)) = input.split_first() else { return };
    let directory = folder();
    let path = directory.path().join("profile.json");
    std::fs::write(&path, content).expect("space on disk");
    let mut arguments = vec![OsString::from(path)];
    arguments.extend(QUESTIONS[usize::from(number) % QUESTIONS.len()].iter().map(OsString::from));
    let mut answer = Vec::new();
    let _ = profile_analyze(&arguments, &mut answer, &mut std::io::sink());
    trail.counted("lines", answer.iter().filter(|byte| **byte == b'\n').count());
}

/// Profiles of ONNX Runtime.
pub fn onnxruntime(input: &[u8], trail: &mut Trail) {
    let profile = onnxruntime::Profile::parse(input, Path::new("input.json"));
    ask_what_was_read(profile.map(|profile| profile.to_trace()), trail);
}

/// The tokenizer below several readers; whatever `serde_json` takes, it must take too.
pub fn json(input: &[u8], trail: &mut Trail) {
    let accepted = opscope_formats::is_json(input);
    // The other reader begins after a byte order mark only if told so, and nests as deep.
    if serde_json::from_slice::<serde::de::IgnoredAny>(input).is_ok() {
        assert!(accepted, "another reader takes it for JSON");
    }
    trail.noted(if accepted { "JSON" } else { "none" });
}

/// opscope's own database.
pub fn sqlite(input: &[u8], trail: &mut Trail) {
    let path = Path::new("input.db");
    ask_what_was_read(opscope_formats::sqlite::read_bytes(input, path, &Default::default()), trail);
}

/// The database of Ascend's vendor.
pub fn ascend_database(input: &[u8], trail: &mut Trail) {
    let path = Path::new("input.db");
    ask_what_was_read(opscope_cann::read::database::read_bytes(input, path, &Default::default()), trail);
}

/// The tables of Ascend's vendor.
pub fn ascend_text(input: &[u8], trail: &mut Trail) {
    if opscope_cann::read::serving::looks_like(input) {
        return ask_what_was_read(opscope_cann::read::serving::read(input, &Default::default()), trail);
    }
    ask_what_was_read(opscope_cann::read::tables::read(input, &Default::default()), trail);
}

/// A folder of outputs of the Ascend tools, which are read together.
pub fn ascend_folder(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    unpack(input, OUTPUTS, directory.path());
    if opscope_cann::read::is_folder(directory.path()) {
        ask_what_was_read(opscope_cann::read::read_folder(directory.path()), trail);
    }
}

const BOARD_FILES: [&str; 8] = [
    "op_summary_0.net.1.1.1.1.0.1000.csv",
    "acl_statistic_0_1_1.csv",
    "op_statistic_0_1_1_1.csv",
    "task_time_0.net.1.1.json",
    "acl_0.net.1.1.json",
    "op_summary_0.net.1.1.1.1.0.1000.json",
    "op_statistic_0_1_1_1.json",
    "acl_api.0.net.1",
];

/// A table, a timeline or the raw calls of a board.
pub fn svp(input: &[u8], trail: &mut Trail) {
    let Some((&number, content)) = input.split_first() else { return };
    let directory = folder();
    let path = directory.path().join(BOARD_FILES[usize::from(number) % BOARD_FILES.len()]);
    std::fs::write(&path, content).expect("space on disk");
    ask_what_was_read(Exports::read(&path).map(|exports| exports.to_trace()), trail);
    if let Ok(calls) = RawCalls::read_file(&path) {
        let _ = calls;
        trail.noted("calls");
    }
}

/// A board's directory with what the model converter left.
pub fn board_folder(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    unpack(input, BOARD, directory.path());
    if let Ok(job) = Job::open(directory.path()) {
        trail.counted("problems", job.problems().len());
    }
    if let Ok(files) = SideFiles::beside(directory.path()) {
        let on_cpu = files.placements().filter(|placement| placement.is_on_cpu()).count();
        trail.counted("on the processor", on_cpu);
    }
    ask_what_was_read(Exports::read(directory.path()).map(|exports| exports.to_trace()), trail);
}

/// Folders of one recording each, as several tools leave them.
pub fn tool_folder(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    unpack(input, TOOLS, directory.path());
    for kind in TOOL_FOLDERS {
        let path = directory.path().join(kind);
        if !path.is_dir() {
            continue;
        }
        match opscope_open::Source::at(&path).and_then(|source| source.open(&())) {
            Ok(profile) => {
                trail.understood(kind);
                ask(&profile.trace, trail);
            }
            Err(error) => trail.refused(&error),
        }
    }
}

/// The kinds of what engines tell without starts, in the order of their readers.
pub(super) const ENGINES: &[&str] = &[
    "layers of TensorRT",
    "times of TensorRT",
    "counters of OpenVINO",
    "counters of OpenVINO in JSON",
    "graph of OpenVINO",
    "text of TensorFlow Lite",
    "message of TensorFlow Lite",
    "layers of ncnn",
    "networks of ncnn and MNN",
    "nodes of MNN",
    "table of PyTorch",
    "description of TensorRT",
];

/// The readers of what engines tell without starts: the first byte chooses one.
pub fn engines(input: &[u8], trail: &mut Trail) {
    use opscope_formats::{openvino, phone, pytorch_table, tensorrt, tflite};
    type Read = fn(&[u8]) -> Result<Trace, String>;
    const READERS: [Read; 11] = [
        |text| tensorrt::read_profile(text, None, &Default::default()).map_err(|error| error.to_string()),
        |text| tensorrt::read_times(text, &Default::default()).map_err(|error| error.to_string()),
        |text| openvino::read_counters(text, None, &Default::default()).map_err(|error| error.to_string()),
        |text| {
            openvino::read_json_counters(text, None, &Default::default()).map_err(|error| error.to_string())
        },
        |text| {
            let graph =
                openvino::ExecGraph::read(text, &Default::default()).map_err(|error| error.to_string())?;
            Ok(graph.to_trace())
        },
        |text| tflite::read_text(text, &Default::default()).map_err(|error| error.to_string()),
        |text| tflite::read_message(text, &Default::default()).map_err(|error| error.to_string()),
        |text| Ok(phone::read_layers(text, &Default::default())),
        |text| Ok(phone::read_networks(text, &Default::default())),
        |text| Ok(phone::read_nodes(text, &Default::default())),
        |text| pytorch_table::read(text, &Default::default()).map_err(|error| error.to_string()),
    ];
    let Some((&number, content)) = input.split_first() else { return };
    let number = usize::from(number) % ENGINES.len();
    let Some(read) = READERS.get(number) else {
        // A description makes no trace by itself.
        match tensorrt::LayerInfo::read(content) {
            Ok(layers) if layers.is_empty() => trail.noted("no layers"),
            Ok(_) => trail.understood(ENGINES[number]),
            Err(error) => trail.refused(&error),
        }
        return;
    };
    let read = read(content);
    if let Ok(trace) = &read {
        trail.understood(ENGINES[number]);
        // Sums over all inferences stay times that can be.
        assert!(trace.tasks.duration().iter().all(|duration| duration.0 >= 0), "a negative time");
        assert!(trace.tasks.len() <= content.len() + (1 << 18), "more tasks than the file can tell");
    }
    ask_what_was_read(read, trail);
}

/// Files of engines that lie in one folder and are read together.
pub fn engine_folder(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    unpack(input, ENGINE, directory.path());
    let paths = ENGINE.iter().map(|name| directory.path().join(name)).filter(|path| path.is_file());
    for path in paths.chain([directory.path().to_owned()]) {
        match opscope_open::Source::at(&path) {
            Ok(source) => {
                trail.noted(source.format().map_or("none", |format| format.name));
                ask_what_was_read(source.open(&()).map(|profile| profile.trace), trail);
            }
            Err(error) => trail.refused(&error),
        }
    }
}

/// NumPy's files.
pub fn npy(input: &[u8], trail: &mut Trail) {
    let mut file = tempfile::NamedTempFile::new_in("/dev/shm")
        .or_else(|_| tempfile::NamedTempFile::new())
        .expect("a file");
    file.write_all(input).expect("space on disk");
    match opscope_run::npy::read(file.path()) {
        Ok(tensor) => trail.counted("elements", tensor.shape.iter().product()),
        Err(error) => trail.refused(&error),
    }
}
