//! Profiles in folders and in messages: raw directories of each chip with their exports, recorded ones, boards, a space
//! of XLA.

use std::path::Path;

use opscope_cann::{
    Data, ExportOptions, Joined, SampleLayout, SampleMode, SampleOptions, discover, export_summary,
    export_timeline,
};
use opscope_cann_raw::additional::MultiThread;
use opscope_cann_raw::host::{Head, MAGIC, level};
use opscope_cann_raw::monitor::{Cycles, Traffic, to_cube};
use opscope_cann_raw::{Chip, Record};

use super::corpus::{copy, copy_as, files, has, name_of, save};
use crate::packing::{BOARD, OUTPUTS, PROFILE, pack};

/// A space of a GPU with a kernel, and of the host with the call that launched it.
pub(super) fn space() -> Vec<u8> {
    use opscope_protobuf::{push_bytes, push_message, push_number};
    let named = |out: &mut Vec<u8>, field: u32, names: &[&str]| {
        for (number, name) in names.iter().enumerate() {
            push_message(out, field, |entry| {
                push_number(entry, 1, number as u64 + 1);
                push_message(entry, 2, |row| push_bytes(row, 2, name.as_bytes()));
            });
        }
    };
    let mut out = Vec::new();
    for (plane, line, event) in
        [("/device:GPU:0", "Stream #7(Compute)", "gemm"), ("/host:CUPTI", "python/5", "cuLaunchKernel")]
    {
        push_message(&mut out, 1, |row| {
            push_bytes(row, 2, plane.as_bytes());
            push_message(row, 3, |row| {
                push_bytes(row, 2, line.as_bytes());
                push_number(row, 3, 1_000);
                for offset in [0, 5_000] {
                    push_message(row, 4, |event| {
                        push_number(event, 1, 1);
                        push_number(event, 2, offset);
                        push_number(event, 3, 3_000);
                        push_message(event, 4, |stat| {
                            push_number(stat, 1, 1);
                            push_number(stat, 3, 40 + offset);
                        });
                        push_message(event, 4, |stat| {
                            push_number(stat, 1, 2);
                            push_number(stat, 7, 3);
                        });
                    });
                }
            });
            named(row, 4, &[event]);
            named(row, 5, &["correlation_id", "hlo_op", "dot.7"]);
        });
    }
    out
}

/// Tiny profiles of each chip and layout.
pub(super) fn samples() -> Vec<SampleOptions> {
    let mut samples = Vec::new();
    for layout in [SampleLayout::Current, SampleLayout::Prof2022] {
        for (chip, mode) in [
            (Chip::V4_1_0, SampleMode::Dynamic),
            (Chip::V2_1_0, SampleMode::Static),
            (Chip::V3_3_0, SampleMode::Dynamic),
            (Chip::V1_1_0, SampleMode::Static),
        ] {
            samples.push(SampleOptions { chip, tasks: 6, mode, layout, seed: 1 });
        }
    }
    // With units and files that no other chip has.
    let (chip, mode, layout) = (Chip::V6_1_0, SampleMode::Collective, SampleLayout::Current);
    samples.push(SampleOptions { chip, tasks: 6, mode, layout, seed: 1 });
    samples
}

/// Adds files to a raw directory of today's that no sample has: of monitors beside cores, and of threads that help
/// others.
pub(super) fn further_files(profile: &Path, options: SampleOptions) {
    if options.layout != SampleLayout::Current || !options.chip.has_stars() {
        return;
    }
    let (host, device) = (profile.join("host/data"), profile.join("device_0/data"));
    let readings = (1..4).flat_map(|k: u16| {
        let time = u64::from(k) * 1_000;
        to_cube(Cycles { counts: [k; 6], time }, Traffic { time, ..Traffic::default() })
    });
    let mut note = Vec::new();
    let head = Head { magic: MAGIC, level: level::COMMUNICATION, thread: 1, ..Head::default() };
    MultiThread { head, count: 2, threads: std::array::from_fn(|k| k as u32) }.append_to(&mut note);
    let files = [
        (device.join("instr.group_0_aic.0.slice_0"), readings.collect()),
        (host.join("aging.additional.Multi_Thread.slice_0"), note),
    ];
    for (path, bytes) in files {
        std::fs::write(path, bytes).expect("space on disk");
    }
}

/// Tables of msServiceProfiler, in both units of time.
const SERVING: [(&str, &str); 2] = [
    (
        "requests",
        "http_rid,recv_token_size,reply_token_size,execution_time(ms),first_token_latency(ms),start_time(ms)\n\
         1,12,40,250.5,20.125,1745398331100\n",
    ),
    (
        "batches",
        "name,res_list,start_time(microsecond),end_time(microsecond),batch_size,batch_type\n\
         modelExec,[1],1745398331101000,1745398331111000,1.0,Prefill\n",
    ),
];

/// The tables of a server.
pub(super) fn serving(corpus: &Path) {
    for (name, table) in SERVING {
        save(corpus, "ascend_text", name, table.as_bytes());
    }
}

/// The exports that opscope makes of a profile, as inputs of the readers of such files.
pub(super) fn exports(corpus: &Path, profile: &Path, output: &Path, number: usize) {
    let joined = joined(profile);
    let options = ExportOptions::default();
    for path in export_summary(&joined, output, "0", options).expect("space on disk") {
        let name = format!("{number}_{}", name_of(&path));
        let content = std::fs::read(&path).expect("a table");
        save(corpus, "ascend_text", &name, &content);
        if name.contains("op_summary") {
            save(corpus, "any_file", &name, &content);
        }
    }
    for path in export_timeline(&joined, output, "0", options).expect("space on disk") {
        copy_as(corpus, "chrome", &path, &format!("{number}_{}", name_of(&path)));
    }
    // The outputs as the vendor's tool leaves them, with its time in their names.
    let vendors = output.join("vendors");
    let (tables, stamp) = (vendors.join("mindstudio_profiler_output"), "20251009085320");
    export_summary(&joined, &tables, stamp, options).expect("space on disk");
    save(corpus, "ascend_folder", &format!("{number}_tables"), &pack(&vendors, OUTPUTS, 0));
    export_timeline(&joined, &tables, stamp, options).expect("space on disk");
    save(corpus, "ascend_folder", &format!("{number}_all"), &pack(&vendors, OUTPUTS, 0));
}

pub(super) fn joined(profile: &Path) -> Joined {
    let profile = discover(profile).expect("a profile").remove(0);
    Joined::new(Data::load(profile).expect("a readable profile"))
}

/// Recorded profiles.
pub(super) fn recorded(corpus: &Path, golden: &Path) {
    for path in files(&golden.join("ascend")) {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("info.json"))
            && let Some(root) = path.parent().and_then(Path::parent)
        {
            let name = root.to_string_lossy().replace(['/', '\\'], "_");
            save(corpus, "cann", &name, &pack(root, PROFILE, 0));
        }
    }
    for target in ["megengine", "onnxruntime"] {
        for path in files(&golden.join(target)).into_iter().filter(|path| has(path, "json")) {
            copy(corpus, target, &path);
            copy(corpus, "json", &path);
            copy(corpus, "any_file", &path);
            if target == "megengine" {
                let mut question = std::fs::read(&path).expect("a readable file");
                question.truncate(16_384);
                question.insert(0, question.len() as u8);
                save(corpus, "megengine_analyze", &name_of(&path), &question);
            }
        }
    }
}

/// A board's directory, whole and without its tables.
pub(super) fn board(corpus: &Path, work: &Path) {
    const FILES: [(&str, &str); 9] = [
        (
            "summary/op_summary_0.net.1.1.1.1.0.1000.csv",
            "Layer Id,Ori Layer Name,Layer Name,Layer Type,Time(us),Time Ratio,Mac Busy Ratio,DDR Total(byte)\n\
             0,conv1,conv1_relu1,Convolution,120.5,60.25,80,1001590004096\n-,-,-,-,200,100,50,1001590004096\n",
        ),
        (
            "timeline/task_time_0.net.1.1.json",
            r#"[{"name": "conv1_relu1", "ph": "X", "pid": 0, "tid": 0, "ts": 1000000.5, "dur": 120.5,
                "args": {"Task Type": "AA CORE", "Stream Id": 0, "Task Id": 0}}]"#,
        ),
        (
            "timeline/acl_0.net.1.1.json",
            r#"[{"name": "svp_acl_mdl_execute", "ph": "X", "pid": 5, "tid": 6, "ts": 1000000, "dur": 210,
                "args": {"Mode": "ACL_MODEL"}}]"#,
        ),
        ("info.json.0", r#"{"platform_version": "0", "devices": "0"}"#),
        (
            "om.json",
            r#"{"op": [{"name": "conv1", "type": "Convolution", "device_type": "CPU"}], "buf_size": 4096}"#,
        ),
        ("shape.json", r#"{"data": {"shape": [1, 3, 224, 224]}}"#),
        ("cnn_net_tree_1.dot", "digraph net {\n a [label=\"conv\"];\n a -> b;\n}\n"),
        ("fusion_switch.cfg", "ConvRelu:on\nConvPool:off\n"),
        ("data/aicore.data.0.net.slice_0.done", "0123456789"),
    ];
    let folder = work.join("board");
    for (name, text) in FILES {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&folder)).expect("a new folder");
        std::fs::write(path, text).expect("space on disk");
    }
    save(corpus, "board_folder", "whole", &pack(&folder, BOARD, 0));
    std::fs::remove_dir_all(folder.join("summary")).expect("a folder");
    save(corpus, "board_folder", "without_tables", &pack(&folder, BOARD, 0));
}
