//! Inputs to begin with, all of them made by opscope itself. Those that lie in `fuzz/seeds` were written by
//! [`write`]; those in `fuzz/seeds/models`, but for the first two, by the tests of the rewrites
//! (`OPSCOPE_KEEP_MODELS`).

use std::path::{Path, PathBuf};

use opscope_cann::{
    Data, ExportOptions, Joined, SampleLayout, SampleMode, SampleOptions, discover, export_database,
    export_summary, export_timeline, to_trace, write_sample,
};
use opscope_cann_raw::Chip;
use opscope_formats::megengine;
use opscope_formats::reading::Stop;
use opscope_model::proto::{
    Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto, encode,
};
use opscope_reach::{ImportOptions, Keep, import};
use opscope_reach_sample::{Fault, Layout, Options};
use opscope_testing::om_file;

use crate::engines::{MESSAGE, OPENVINO, PHONE, PYTORCH, TENSORRT, TFLITE};
use crate::packing::{ADVISED, BOARD, ENGINE, OUTPUTS, PAIR, PROFILE, PROGRAM, Packed, RANKS, SET, pack};

/// A timeline with a range, operators, shapes and two iterations.
pub const TIMELINE: &str = r#"{"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 90, "pid": 1, "tid": 1},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "ts": 100, "dur": 95.5, "pid": 1, "tid": 1},
{"ph": "X", "cat": "cpu_op", "name": "aten::conv2d", "ts": 5, "dur": 20, "pid": 1, "tid": 1, "args": {"External id": 1, "Input Dims": [[1, 3, 8, 8], [4, 3, 1, 1]], "Input type": ["float", "float"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 8, "dur": 2, "pid": 1, "tid": 1, "args": {"External id": 1, "correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "conv_kernel", "ts": 20, "dur": 30.25, "pid": 0, "tid": 7, "args": {"External id": 1, "correlation": 7, "device": 0, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "relu_kernel", "ts": 52, "dur": 4, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "conv_kernel", "ts": 120, "dur": 33, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}},
{"ph": "B", "name": "outer", "ts": 130, "pid": 1, "tid": 2}, {"ph": "E", "ts": 180, "pid": 1, "tid": 2},
{"ph": "C", "name": "memory", "ts": 131, "pid": 1, "args": {"bytes": 4096}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "worker"}}
]}
"#;

/// A session of ONNX Runtime with two inferences.
const SESSION: &str = r#"[
{"cat": "Session", "pid": 7, "tid": 7, "dur": 900, "ts": 1, "ph": "X", "name": "model_loading_uri", "args": {}},
{"cat": "Session", "pid": 7, "tid": 7, "dur": 500, "ts": 1000, "ph": "X", "name": "session_initialization", "args": {}},
{"cat": "Node", "pid": 7, "tid": 7, "dur": 30, "ts": 2010, "ph": "X", "name": "conv1_kernel_time", "args": {"op_name": "Conv", "provider": "CPUExecutionProvider", "node_index": "0", "thread_scheduling_stats": "", "input_type_shape": [{"float": [1, 3, 32, 32]}], "output_type_shape": [{"float": [1, 4, 32, 32]}], "output_size": "16384", "parameter_size": "48", "activation_size": "12288"}},
{"cat": "Node", "pid": 7, "tid": 7, "dur": 3, "ts": 2050, "ph": "X", "name": "relu1_kernel_time", "args": {"op_name": "Relu", "provider": "CPUExecutionProvider", "node_index": "1", "input_type_shape": [{"float": [1, 4, 32, 32]}], "output_type_shape": [{"float": [1, 4, 32, 32]}]}},
{"cat": "Session", "pid": 7, "tid": 7, "dur": 90, "ts": 2005, "ph": "X", "name": "SequentialExecutor::Execute", "args": {}},
{"cat": "Session", "pid": 7, "tid": 7, "dur": 100, "ts": 2000, "ph": "X", "name": "model_run", "args": {}},
{"cat": "Node", "pid": 7, "tid": 7, "dur": 31, "ts": 3010, "ph": "X", "name": "conv1_kernel_time", "args": {"op_name": "Conv", "provider": "CPUExecutionProvider", "node_index": "0", "input_type_shape": [{"float": [1, 3, 32, 32]}], "output_type_shape": [{"float": [1, 4, 32, 32]}]}},
{"cat": "Session", "pid": 7, "tid": 7, "dur": 90, "ts": 3005, "ph": "X", "name": "SequentialExecutor::Execute", "args": {}},
{"cat": "Session", "pid": 7, "tid": 7, "dur": 100, "ts": 3000, "ph": "X", "name": "model_run", "args": {}}
]
"#;

const LAYERS: &str = "\
Layer Id,Ori Layer Name,Layer Name,Layer Type,Time(us),Time Ratio,Mac Busy Ratio,Mac Ppen Ratio,Vec Busy Ratio,\
Vec Ppen Ratio,Dstr Ratio,Dtrans Ratio,DLD Ratio,WLD Ratio,Memory Bound,DDR Read(byte),DDR Write(byte),\
DDR Total(byte)
0,conv1,conv1,Convolution,120.5,60.25,80,70,10,5,20,3,40,30,0.5,1001590000000,4096,1001590004096
1,conv2,conv2_relu2,Convolution,70.5,60.25,80,70,10,5,20,3,40,30,0.5,1001590000000,4096,1001590004096
2,mish1,mish1,Softplus,79.5,39.75,0,0,40,25,50,3,10,0,2,4096,4096,8192
-,-,-,-,270.5,100,-,-,-,-,-,-,-,-,-,-,-,-
";

const RULES: &str = r#"silence = ["A01", "V*"]

[thresholds]
A05.min_us = 50

[[rule]]
id = "U01"
title = "our own kernel is slow"
advice = "call the kernels' team"
limits = { min_us = 100, ratio = 0.25 }
when = { types = ["*onv*", "MatMul"], metrics = ["mac_ratio < ratio", "time_us >= min_us"] }

[[rule]]
id = "U02"
title = "many of them"
advice = "fuse them"
when = { types = ["*"] }
"#;

const KNOWN_HOSTS: &str = "\
# hosts of the laboratory
board,10.0.?.* ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0uIa0Y3S3UZgoxNHFs6PFNNCSMTFeqMMMOLCSeFv+A by hand
[board]:2222\tssh-ed25519\tAAAAC3NzaC1lZDI1NTE5AAAAIE0uIa0Y3S3UZgoxNHFs6PFNNCSMTFeqMMMOLCSeFv+A
*,!board ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKkKYQkdSgwtbxYHfKA5Yck91M8ySbGZF3sR8x2Pdc0r
|1|Q4b8gT5cE0bR7hO8yIzXvZ2C1mU=|0mVd7Uq8ZzXn4nq2bq3r1bJx6Wk= ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0uIa0Y3S3UZgoxNHFs6PFNNCSMTFeqMMMOLCSeFv+A
@revoked * ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKkKYQkdSgwtbxYHfKA5Yck91M8ySbGZF3sR8x2Pdc0r
@cert-authority *.lab ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0uIa0Y3S3UZgoxNHFs6PFNNCSMTFeqMMMOLCSeFv+A
";

const WORDS: &str = "\
x=1x2x4x4
n=3
scale=0.5
tokens=random:1x128
zeros
x=ones:scalar
input.npy
500ms
1.5TFLOP/s
25.6GB/s
512MiB
Conv=0.5
Conv+BatchNormalization+Relu
+time
";

const CAFFE: &str = r#"name: "net"
input: "data"
input_shape { dim: 1 dim: 3 dim: 32 dim: 32 }
layer { name: "conv" type: "Convolution" bottom: "data" top: "c"
  convolution_param { num_output: 8 kernel_size: 3 pad: 1 stride: 2 } }
layer { name: "bn" type: "BatchNorm" bottom: "c" top: "c" }
layer { name: "scale" type: "Scale" bottom: "c" top: "c" scale_param { bias_term: true } }
layer { name: "relu" type: "ReLU" bottom: "c" top: "c" relu_param { negative_slope: 0.1 } }
layer { name: "pool" type: "Pooling" bottom: "c" top: "p" pooling_param { pool: AVE kernel_size: 3 stride: 2 } }
layer { name: "up" type: "Interp" bottom: "p" top: "u" interp_param { zoom_factor: 2 } }
layer { name: "parts" type: "Slice" bottom: "u" top: "a" top: "b" slice_param { slice_point: 3 } }
layer { name: "turn" type: "Permute" bottom: "a" top: "t" permute_param { order: 0 order: 2 order: 3 order: 1 } }
layer { name: "flat" type: "Flatten" bottom: "b" top: "f" }
layer { name: "shape" type: "Reshape" bottom: "t" top: "s" reshape_param { shape { dim: 0 dim: -1 } } }
layer { name: "fc" type: "InnerProduct" bottom: "f" top: "y" inner_product_param { num_output: 10 } }
layer { name: "boxes" type: "PriorBox" bottom: "c" top: "z" prior_box_param { min_size: 3 aspect_ratio: 2 } }
layers { name: "old" type: SOFTMAX bottom: "y" top: "prob" include { phase: TEST } }
"#;

const CONVERT: &str = "#!/bin/sh\natc --model=m.onnx --framework=5 --output=m \\\n  --soc_version=Ascend310 \
--input_shape=\"x:1,3,224,224\" --precision_mode allow_mix_precision --fusion_switch_file=fusion_switch.cfg\n";

const FUSION_RESULT: &str = r#"[{"graph_id": "0", "session_id": "0", "graph_fusion": {"ConvBatchnormFusionPass": {"effect_times": "2", "match_times": "3"}}, "ub_fusion": {"TbeConvReluFusionPass": {"effect_times": "0", "match_times": "1", "repository_hit_times": "0"}}}]"#;

/// The sources of inputs that aren't opscope's own, for longer runs; they stay outside of the repository.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// A folder of recorded profiles.
    pub golden: Option<PathBuf>,
    /// The test data of the Python package onnx (`onnx/backend/test/data`), which has a model for each operator.
    pub onnx_data: Option<PathBuf>,
}

/// Writes inputs to begin with: a folder for each target, and `models` for those that take a model.
///
/// # Panics
/// If they can't be made or written.
pub fn write(corpus: &Path, sources: &Sources) {
    let work = tempfile::tempdir().expect("a temporary directory");
    for (number, options) in samples().into_iter().enumerate() {
        let profile = write_sample(&work.path().join(number.to_string()), options).expect("space on disk");
        save(corpus, "cann", &format!("sample_{number}"), &pack(&profile, PROFILE, (number % 8) as u8));
        if number < 2 {
            exports(corpus, &profile, &work.path().join(format!("out_{number}")), number);
        }
    }
    texts(corpus);
    packed(corpus);
    engines(corpus);
    board(corpus, work.path());
    ranks(corpus, work.path());
    save(corpus, "models", "chain", &chain());
    save(corpus, "models", "scalars", &scalars());
    save(corpus, "npy", "two_by_three", &array());
    save(corpus, "caffe", "network", CAFFE.as_bytes());
    save(corpus, "om", "old", &om_file::small(om_file::Form::Old));
    save(corpus, "om", "new", &om_file::small(om_file::Form::New));
    if let Some(golden) = &sources.golden {
        recorded(corpus, golden);
    }
    for path in sources.onnx_data.iter().flat_map(|data| files(data)) {
        let is_small = path.metadata().is_ok_and(|found| found.len() < 8_192);
        if is_small && path.file_name().is_some_and(|name| name == "model.onnx") {
            let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
            copy_as(corpus, "models", &path, &folder.to_string_lossy());
        }
    }
}

fn texts(corpus: &Path) {
    let lanes = br#"{"json_process": {"ascend": true, "cann": false, "step_trace": true}}"#;
    save(corpus, "lane_choice", "three", lanes);
    save(corpus, "rules", "two", RULES.as_bytes());
    save(corpus, "known_hosts", "laboratory", KNOWN_HOSTS.as_bytes());
    save(corpus, "words", "each", WORDS.as_bytes());
    for target in ["chrome", "json", "any_file"] {
        save(corpus, target, "timeline", TIMELINE.as_bytes());
    }
    let timeline = opscope_formats::chrome::read(TIMELINE.as_bytes()).expect("a timeline");
    let mut packets = Vec::new();
    opscope_formats::perfetto::write(&timeline, &mut packets).expect("memory");
    for target in ["perfetto", "any_file"] {
        save(corpus, target, "packets", &packets);
    }
    for (name, table) in ROCM {
        save(corpus, "rocm", name, table.as_bytes());
    }
    save(corpus, "any_file", "rocm_kernels", ROCM[0].1.as_bytes());
    save(corpus, "rocm", "json", ROCM_JSON.as_bytes());
    save(corpus, "nsight_compute", "raw", KERNELS.as_bytes());
    save(corpus, "nsight_lines", "events", EVENTS.as_bytes());
    save(corpus, "perf", "samples", SAMPLES.as_bytes());
    save(corpus, "perf", "folded", b"main;run;gemm 25\nmain;run 5\n");
    for target in ["xplane", "any_file"] {
        save(corpus, target, "space", &space());
    }
    for target in ["onnxruntime", "any_file"] {
        save(corpus, target, "session", SESSION.as_bytes());
    }
    save(corpus, "svp", "layers", format!("\0{LAYERS}").as_bytes());
    let session = opscope_formats::onnxruntime::Profile::parse(SESSION.as_bytes(), Path::new("session.json"));
    let trace = session.expect("a session").to_trace();
    let mut profile = Vec::new();
    megengine::Profile::from_trace(&trace, megengine::Recorded::DeviceAndHost)
        .write_json(&mut profile)
        .expect("memory");
    save(corpus, "megengine", "session", &profile);
    save(corpus, "megengine_analyze", "session", &[&[0], &*profile].concat());
}

/// Tables of rocprofv3: kernels, calls, copies, counters, sums.
const ROCM: [(&str, &str); 5] = [
    (
        "kernels",
        "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Dispatch_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n\
         \"KERNEL_DISPATCH\",\"Agent 2\",1,3,1,\"void add<float>(float*, int)\",7,1000,1500\n\
         \"KERNEL_DISPATCH\",2,1,3,2,\"sub(float*, int)\",9,2000,2300\n",
    ),
    (
        "calls",
        "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n\
         \"HIP_RUNTIME_API\",\"hipLaunchKernel\",717,718,7,900,910\n\
         \"MARKER_CORE_API\",\"step\",717,718,8,850,2960\n",
    ),
    (
        "copies",
        "\"Kind\",\"Direction\",\"Stream_Id\",\"Source_Agent_Id\",\"Destination_Agent_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n\
         \"MEMORY_COPY\",\"MEMORY_COPY_HOST_TO_DEVICE\",3,\"Agent 0\",\"Agent 2\",20,2960,3060\n",
    ),
    (
        "counters",
        "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n\
         7,1,\"Agent 2\",1,\"add(float*, int)\",\"SQ_WAVES\",16384.000000,1000,1500\n",
    ),
    (
        "totals",
        "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"\n\
         \"add(float*, int)\",2,600,300.000000,66.6,100,500,2.0e+02\n",
    ),
];

/// Records of rocprofv3 in JSON: a kernel, its call, a copy, a range.
const ROCM_JSON: &str = r#"{"rocprofiler-sdk-tool": [{"metadata": {"pid": 7},
"agents": [{"id": {"handle": 100}, "type": 1, "node_id": 0}, {"id": {"handle": 200}, "type": 2, "node_id": 2, "name": "gfx"}],
"strings": {"buffer_records": [{"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel"]},
 {"kind": "MARKER_CORE_API", "operations": ["roctxRangePushA"]}], "marker_api": [{"key": 3, "value": "step"}]},
"kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "add(float*, int)"}],
"buffer_records": {"kernel_dispatch": [{"kind": 2, "correlation_id": {"internal": 7}, "start_timestamp": 1000,
 "end_timestamp": 1500, "dispatch_info": {"agent_id": {"handle": 200}, "queue_id": {"handle": 1}, "kernel_id": 1, "dispatch_id": 1}}],
"hip_api": [{"kind": 0, "operation": 0, "thread_id": 8, "correlation_id": {"internal": 7}, "start_timestamp": 900, "end_timestamp": 910}],
"memory_copy": [{"kind": 3, "operation": 1, "start_timestamp": 2000, "end_timestamp": 2100, "src_agent_id": {"handle": 100},
 "dst_agent_id": {"handle": 200}}],
"marker_api": [{"kind": 1, "operation": 0, "thread_id": 8, "correlation_id": {"internal": 3}, "start_timestamp": 850, "end_timestamp": 2200}]}}]}"#;

/// A database of Nsight Systems with a kernel, a copy, their calls and a range.
const NSIGHT: &str = "
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'void gemm<float>(int)'), (2, 'gemm'), (3, 'cudaLaunchKernel_v7000');
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 110, 83886086, 1, 3), (120, 130, 83886086, 2, 3);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT,
        globalPid INT, demangledName INT, shortName INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (200, 290, 0, 7, 1, 83886080, 1, 2);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT, correlationId INT,
        globalPid INT, bytes INT, copyKind INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (300, 350, 0, 7, 2, 83886080, 4096, 1);
    CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT, domainId INT);
    INSERT INTO NVTX_EVENTS VALUES (90, 400, 59, 'step', 83886086, NULL, 0), (95, NULL, 34, 'mark', 83886086, NULL, 0);
    CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA Test');";

/// Lines of JSON of Nsight Systems: texts, a call, a kernel, a wait, a range.
const EVENTS: &str = r#"{"data":["[unknown]","void gemm<float>(int)","gemm","cudaLaunchKernel_v7000"]}
{"Type":48,"TraceProcessEvent":{"startNs":"100","endNs":"110","correlationId":7,"name":"3","globalTid":"83886086"}}
{"Type":79,"CudaEvent":{"startNs":"200","endNs":"290","correlationId":7,"deviceId":0,"contextId":"1","streamId":"7","globalPid":"83886080","kernel":{"demangledName":"1","shortName":"2"}}}
{"Type":106,"CudaEvent":{"startNs":"300","endNs":"310","contextId":"1","streamId":"7","globalPid":"83886080","sync":{"syncType":"SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE"}}}
{"Type":59,"NvtxEvent":{"Timestamp":"10","Text":"step","GlobalTid":"83886086","EndTimestamp":"90","DomainId":"0"}}
"#;

/// A raw page of Nsight Compute.
const KERNELS: &str = "\"ID\",\"Process ID\",\"Kernel Name\",\"Stream\",\"Device\",\"dram__bytes.sum\",\"gpu__time_duration.sum\"\n\
    \"\",\"\",\"\",\"\",\"\",\"Mbyte\",\"usecond\"\n\"0\",\"7\",\"gemm(float *)\",\"7\",\"0\",\"1,234.5\",\"2.50\"\n\
    \"1\",\"7\",\"relu(float *)\",\"13\",\"0\",\"10\",\"1,000.25\"\n";

/// Samples of perf with a stack, and on one line.
const SAMPLES: &str = "python 7/8 [003]  12.345678:  250000 cpu-clock:pppH:\n\t 7f3a gemm(int)+0x1f (libblas.so)\n\t \
    55d0 main+0x10 (python)\n\npython 7 12.5: cpu-clock:  55d0 main+0x10 (python)\n";

/// A space of a GPU with a kernel, and of the host with the call that launched it.
fn space() -> Vec<u8> {
    use opscope_formats::protobuf::{push_bytes, push_message, push_number};
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

/// Profiles of engines, which tell no starts, for their readers (whose numbers are those of the target) and for their folders.
fn engines(corpus: &Path) {
    let texts: [(u8, &str, &[u8]); 12] = [
        (0, "tensorrt", TENSORRT[0].as_bytes()),
        (11, "tensorrt_layers", TENSORRT[1].as_bytes()),
        (1, "tensorrt_times", TENSORRT[2].as_bytes()),
        (2, "openvino_table", OPENVINO[0].as_bytes()),
        (3, "openvino_json", OPENVINO[1].as_bytes()),
        (4, "openvino_graph", OPENVINO[2].as_bytes()),
        (5, "tflite", TFLITE[0].as_bytes()),
        (5, "tflite_csv", TFLITE[1].as_bytes()),
        (6, "tflite_message", MESSAGE),
        (7, "ncnn", PHONE[0].as_bytes()),
        (8, "networks", PHONE[1].as_bytes()),
        (9, "mnn", PHONE[2].as_bytes()),
    ];
    for (number, name, text) in texts.into_iter().chain([(10, "pytorch", PYTORCH.as_bytes())]) {
        save(corpus, "engines", name, &[&[number], text].concat());
        save(corpus, "any_file", name, text);
    }
    let mut tensorrt = Packed::default();
    for (name, text) in ["profile.json", "layers.json", "times.json"].into_iter().zip(TENSORRT) {
        tensorrt.add(ENGINE, name, text.as_bytes());
    }
    save(corpus, "engine_folder", "tensorrt", &tensorrt.to_input());
    let mut openvino = Packed::default();
    for (name, text) in ["counters.csv", "counters.json", "graph.xml"].into_iter().zip(OPENVINO) {
        openvino.add(ENGINE, name, text.as_bytes());
    }
    save(corpus, "engine_folder", "openvino", &openvino.to_input());
}

/// Inputs of what reads several files.
fn packed(corpus: &Path) {
    let slower = TIMELINE.replace("\"dur\": 33", "\"dur\": 47").replace("relu_kernel", "gelu_kernel");
    let mut pair = Packed::default();
    pair.add(PAIR, "a/profile.json", TIMELINE.as_bytes());
    pair.add(PAIR, "b/profile.json", slower.as_bytes());
    save(corpus, "compare", "timelines", &pair.to_input());
    let mut pair = Packed::default();
    pair.add(PAIR, "a/profile.json", SESSION.as_bytes());
    pair.add(PAIR, "b/profile.json", SESSION.replace("\"dur\": 3,", "\"dur\": 9,").as_bytes());
    save(corpus, "compare", "sessions", &pair.to_input());
    let mut pair = Packed::default();
    pair.add(PAIR, "a/op_summary_0.net.1.1.1.1.0.1000.csv", LAYERS.as_bytes());
    pair.add(PAIR, "b/op_summary_0.net.1.1.1.1.0.1000.csv", LAYERS.replace("79.5", "179.5").as_bytes());
    save(corpus, "compare", "layers", &pair.to_input());

    let mut advised = Packed { flags: 0xFF, ..Packed::default() };
    advised.add(ADVISED, "profile.json", SESSION.as_bytes());
    advised.add(ADVISED, "model.onnx", &chain());
    advised.add(ADVISED, "opscope.toml", RULES.as_bytes());
    save(corpus, "advise", "session", &advised.to_input());
    let mut advised = Packed { flags: 3, ..Packed::default() };
    advised.add(ADVISED, "model.onnx", &chain());
    advised.add(ADVISED, "convert.sh", CONVERT.as_bytes());
    advised.add(ADVISED, "fusion_switch.cfg", b"ConvRelu:on\nConvPool:off\n");
    advised.add(ADVISED, "fusion_result.json", FUSION_RESULT.as_bytes());
    save(corpus, "advise", "conversion", &advised.to_input());

    let mut program = Packed::default();
    program.add(PROGRAM, "a.json", TIMELINE.as_bytes());
    program.add(PROGRAM, "b.json", slower.as_bytes());
    program.add(PROGRAM, "opscope.toml", RULES.as_bytes());
    program.add(PROGRAM, "JOBA/summary/op_summary_0.net.1.1.1.1.0.1000.csv", LAYERS.as_bytes());
    save(corpus, "program", "profiles", &program.to_input());
    let mut program = Packed::default();
    program.add(PROGRAM, "a.json", SESSION.as_bytes());
    program.add(PROGRAM, "model.onnx", &chain());
    program.add(PROGRAM, "input.npy", &array());
    program.add(PROGRAM, "convert.sh", CONVERT.as_bytes());
    program.add(PROGRAM, "fusion_result.json", FUSION_RESULT.as_bytes());
    program.add(PROGRAM, "words", b"--dim\nn=2\n");
    save(corpus, "program", "model", &program.to_input());
}

/// An array of 2 x 3 numbers in NumPy's format.
fn array() -> Vec<u8> {
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
    npy.resize(127, b' ');
    npy.push(b'\n');
    npy.resize(128 + 24, 1);
    npy
}

/// Recorded profiles.
fn recorded(corpus: &Path, golden: &Path) {
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
fn board(corpus: &Path, work: &Path) {
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

enum Size {
    Known(i64),
    Symbol(&'static str),
}

fn node(op_type: &str, input: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: Some(op_type.into()),
        name: Some(output.to_uppercase()),
        input: input.iter().map(|name| (*name).into()).collect(),
        output: vec![output.into()],
        ..Default::default()
    }
}

fn value(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.into()), ..Default::default() }
}

fn input(name: &str, elem_type: i32, sizes: &[Size]) -> ValueInfoProto {
    let dim = sizes.iter().map(|size| {
        let value = match size {
            Size::Known(size) => DimensionValue::Value(*size),
            Size::Symbol(name) => DimensionValue::Param((*name).to_owned()),
        };
        Dimension { value: Some(value), denotation: None }
    });
    let shape = Some(TensorShapeProto { dim: dim.collect() });
    let tensor = TypeValue::Tensor(TensorType { elem_type: Some(elem_type), shape });
    ValueInfoProto { r#type: Some(TypeProto { value: Some(tensor), denotation: None }), ..value(name) }
}

fn encoded(graph: GraphProto) -> Vec<u8> {
    encode(&ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
        graph: Some(graph),
        ..Default::default()
    })
}

/// A model with inputs of several kinds: a scalar, tokens of any number, an image.
pub fn scalars() -> Vec<u8> {
    let graph = GraphProto {
        node: vec![
            node("Mul", &["image", "scale"], "m"),
            node("Cast", &["tokens"], "t"),
            node("ReduceMean", &["t"], "y"),
        ],
        input: vec![
            input("scale", 1, &[]),
            input("tokens", 7, &[Size::Known(1), Size::Symbol("length")]),
            input("image", 1, &[Size::Known(1), Size::Known(3), Size::Symbol("n"), Size::Symbol("n")]),
        ],
        output: vec![value("m"), value("y")],
        ..Default::default()
    };
    encoded(graph)
}

/// A convolution, an activation and a shape that is computed.
pub fn chain() -> Vec<u8> {
    let weights = TensorProto {
        name: Some("w".into()),
        data_type: Some(1),
        dims: vec![2, 2, 1, 1],
        float_data: vec![0.5; 4],
        ..Default::default()
    };
    let graph = GraphProto {
        node: vec![
            node("Conv", &["x", "w"], "c"),
            node("Relu", &["c"], "r"),
            node("Shape", &["r"], "s"),
            node("Reshape", &["c", "s"], "y"),
        ],
        input: vec![input("x", 1, &[Size::Symbol("n"), Size::Known(2), Size::Known(4), Size::Known(4)])],
        output: vec![value("y")],
        initializer: vec![weights],
        ..Default::default()
    };
    encoded(graph)
}

/// Tiny profiles of each chip and layout.
fn samples() -> Vec<SampleOptions> {
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
    samples
}

/// The exports that opscope makes of a profile, as inputs of the readers of such files.
fn exports(corpus: &Path, profile: &Path, output: &Path, number: usize) {
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

fn joined(profile: &Path) -> Joined {
    let profile = discover(profile).expect("a profile").remove(0);
    Joined::new(Data::load(profile).expect("a readable profile"))
}

/// Two ranks with two steps and a fault, written below a folder in both forms. Returns the folders of databases and of
/// texts.
fn two_ranks(work: &Path) -> (PathBuf, PathBuf) {
    let layout = Layout::of(2).expect("a layout");
    let faults = vec![Fault::LateInput { rank: 1, microseconds: 2_000.0 }];
    let options = Options { layers: 1, microbatches: 1, faults, texts: true, ..Options::new(layout) };
    let collection = opscope_reach_sample::write(work, &options, &|_| {}).expect("space on disk");
    (collection.path.join("db"), collection.path.join("text"))
}

/// Two ranks as texts, and as a set.
fn ranks(corpus: &Path, work: &Path) {
    let (databases, texts) = two_ranks(work);
    let mut packed = Packed::default();
    for (rank, folder) in folders(&texts).iter().enumerate() {
        for path in files(folder) {
            let place = path.strip_prefix(folder).expect("a file below it").to_string_lossy().into_owned();
            let name = format!("host0_{rank}_20251009080000000_ascend_pt/{place}");
            packed.add(RANKS, &name, &std::fs::read(&path).expect("a readable file"));
        }
    }
    save(corpus, "ranks", "two", &packed.to_input());

    let set = work.join("set");
    let options = ImportOptions { run: "run".into(), shard: None, keep: Keep::All, jobs: 1 };
    import(&[databases], &set, &options, &Stop::default(), &|_| {}).expect("space on disk");
    let mut packed = Packed::default();
    for path in files(&set) {
        // The names of a part's files tell of its ranks and their data, where those of a list are always the same.
        let place = path.strip_prefix(&set).expect("a file below it").to_string_lossy();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let content = std::fs::read(&path).expect("a readable file");
        match String::from_utf8(content) {
            Ok(text) => {
                packed.add(SET, &place.replace(&*stem, "part"), text.replace(&*stem, "part").as_bytes())
            }
            Err(parquet) => packed.add(SET, &place.replace(&*stem, "part"), parquet.as_bytes()),
        }
    }
    packed.add(SET, "opscope.json", &std::fs::read(set.join("opscope.json")).expect("a readable file"));
    save(corpus, "rank_set", "two", &packed.to_input());
}

/// The folders in a folder, by their names.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The databases of two ranks.
///
/// # Panics
/// If they can't be made.
pub fn rank_databases() -> Vec<Vec<u8>> {
    let work = tempfile::tempdir().expect("a temporary directory");
    let (databases, _) = two_ranks(work.path());
    let of_ranks = folders(&databases).into_iter().flat_map(|folder| files(&folder));
    let is_profile = |path: &PathBuf| name_of(path).starts_with("ascend_pytorch_profiler");
    of_ranks.filter(is_profile).map(|path| std::fs::read(path).expect("a database")).collect()
}

/// Databases of opscope and of Ascend's vendor, which aren't kept because most of each is empty pages.
///
/// # Panics
/// If they can't be made.
pub fn databases(target: &str) -> Vec<Vec<u8>> {
    if target == "rank_database" {
        return rank_databases().into_iter().take(1).collect();
    }
    let work = tempfile::tempdir().expect("a temporary directory");
    if target == "nsight_systems" {
        let path = work.path().join("report.sqlite");
        let database = rusqlite::Connection::open(&path).expect("space on disk");
        database.execute_batch(NSIGHT).expect("SQL");
        drop(database);
        return vec![std::fs::read(path).expect("a database")];
    }
    let databases = samples().into_iter().take(2).enumerate().filter_map(|(number, options)| {
        let profile = write_sample(&work.path().join(number.to_string()), options).expect("space on disk");
        let joined = joined(&profile);
        let path = match target {
            "sqlite" => {
                let path = work.path().join("trace.db");
                opscope_formats::sqlite::write_file(&to_trace(&joined), &path).expect("space on disk");
                Some(path)
            }
            "ascend_database" => export_database(&joined, work.path(), "0").expect("space on disk"),
            _ => None,
        };
        path.map(|path| std::fs::read(path).expect("a database"))
    });
    databases.collect()
}

fn has(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn copy(corpus: &Path, target: &str, path: &Path) {
    copy_as(corpus, target, path, &name_of(path));
}

/// Large files would only slow the fuzzer down, so their begin is taken.
fn copy_as(corpus: &Path, target: &str, path: &Path, name: &str) {
    let mut content = std::fs::read(path).expect("a readable file");
    let is_database = content.starts_with(b"SQLite format 3");
    if !is_database {
        content.truncate(16_384);
    }
    save(corpus, target, name, &content);
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn save(corpus: &Path, target: &str, name: &str, content: &[u8]) {
    let folder = corpus.join(target);
    std::fs::create_dir_all(&folder).expect("a new folder");
    std::fs::write(folder.join(name), content).expect("space on disk");
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all
}
