//! Texts of every kind that opscope reads, each as small as it can be with all that matters in it.

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
pub(super) const SESSION: &str = r#"[
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

pub(super) const LAYERS: &str = "\
Layer Id,Ori Layer Name,Layer Name,Layer Type,Time(us),Time Ratio,Mac Busy Ratio,Mac Ppen Ratio,Vec Busy Ratio,\
Vec Ppen Ratio,Dstr Ratio,Dtrans Ratio,DLD Ratio,WLD Ratio,Memory Bound,DDR Read(byte),DDR Write(byte),\
DDR Total(byte)
0,conv1,conv1,Convolution,120.5,60.25,80,70,10,5,20,3,40,30,0.5,1001590000000,4096,1001590004096
1,conv2,conv2_relu2,Convolution,70.5,60.25,80,70,10,5,20,3,40,30,0.5,1001590000000,4096,1001590004096
2,mish1,mish1,Softplus,79.5,39.75,0,0,40,25,50,3,10,0,2,4096,4096,8192
-,-,-,-,270.5,100,-,-,-,-,-,-,-,-,-,-,-,-
";

pub(super) const RULES: &str = r#"silence = ["A01", "V*"]

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

pub(super) const KNOWN_HOSTS: &str = "\
# hosts of the laboratory
board,10.0.?.* ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0uIa0Y3S3UZgoxNHFs6PFNNCSMTFeqMMMOLCSeFv+A by hand
[board]:2222\tssh-ed25519\tAAAAC3NzaC1lZDI1NTE5AAAAIE0uIa0Y3S3UZgoxNHFs6PFNNCSMTFeqMMMOLCSeFv+A
*,!board ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKkKYQkdSgwtbxYHfKA5Yck91M8ySbGZF3sR8x2Pdc0r
|1|Q4b8gT5cE0bR7hO8yIzXvZ2C1mU=|0mVd7Uq8ZzXn4nq2bq3r1bJx6Wk= ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0uIa0Y3S3UZgoxNHFs6PFNNCSMTFeqMMMOLCSeFv+A
@revoked * ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKkKYQkdSgwtbxYHfKA5Yck91M8ySbGZF3sR8x2Pdc0r
@cert-authority *.lab ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0uIa0Y3S3UZgoxNHFs6PFNNCSMTFeqMMMOLCSeFv+A
";

pub(super) const WORDS: &str = "\
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

pub(super) const CAFFE: &str = r#"name: "net"
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

/// A model of OpenVINO, with a loop.
pub(super) const OPENVINO_NETWORK: &str = r#"<?xml version="1.0"?>
<net name="net" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,3,32,32" element_type="f32"/><output><port id="0" precision="FP32" names="x"><dim>1</dim><dim>3</dim><dim>32</dim><dim>32</dim></port></output></layer>
<layer id="1" name="sizes" type="Const" version="opset1"><data element_type="i64" shape="2" offset="0" size="16"/><output><port id="0" precision="I64"><dim>2</dim></port></output></layer>
<layer id="2" name="axis" type="Const" version="opset1"><data element_type="i64" shape="" offset="16" size="8"/><output><port id="0" precision="I64"/></output></layer>
<layer id="3" name="filter" type="Const" version="opset1"><data element_type="f32" shape="8,3,3,3" offset="24" size="864"/><output><port id="0" precision="FP32"><dim>8</dim><dim>3</dim><dim>3</dim><dim>3</dim></port></output></layer>
<layer id="4" name="conv" type="Convolution" version="opset1"><data strides="2, 2" dilations="1, 1" pads_begin="1, 1" pads_end="1, 1" auto_pad="explicit"/><input><port id="0" precision="FP32"/><port id="1" precision="FP32"/></input><output><port id="2" precision="FP32"><dim>1</dim><dim>8</dim><dim>16</dim><dim>16</dim></port></output></layer>
<layer id="5" name="clamp" type="Clamp" version="opset1"><data min="0" max="6"/><rt_info><attribute name="fused_names" version="0" value="clamp,relu6"/></rt_info><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>1</dim><dim>8</dim><dim>16</dim><dim>16</dim></port></output></layer>
<layer id="6" name="pool" type="MaxPool" version="opset8"><data kernel="2,2" strides="2,2" dilations="1,1" pads_begin="0,0" pads_end="0,0" rounding_type="ceil" auto_pad="explicit" index_element_type="i64" axis="0"/><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>1</dim><dim>8</dim><dim>8</dim><dim>8</dim></port><port id="2" precision="I64"><dim>1</dim><dim>8</dim><dim>8</dim><dim>8</dim></port></output></layer>
<layer id="7" name="parts" type="Split" version="opset1"><data num_splits="2"/><input><port id="0"/><port id="1"/></input><output><port id="2" precision="FP32"><dim>1</dim><dim>4</dim><dim>8</dim><dim>8</dim></port><port id="3" precision="FP32"><dim>1</dim><dim>4</dim><dim>8</dim><dim>8</dim></port></output></layer>
<layer id="8" name="loop" type="TensorIterator" version="opset1"><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim><dim>8</dim><dim>8</dim></port></output><port_map><input axis="2" external_port_id="0" internal_layer_id="0"/><output axis="2" external_port_id="1" internal_layer_id="2"/></port_map><back_edges><edge from-layer="1" to-layer="0"/></back_edges><body><layers><layer id="0" name="slice" type="Parameter" version="opset1"><output><port id="0" precision="FP32"><dim>1</dim><dim>4</dim><dim>1</dim><dim>8</dim></port></output></layer><layer id="1" name="turn" type="MVN" version="opset6"><data eps="1e-5" normalize_variance="true"/><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim><dim>1</dim><dim>8</dim></port></output></layer><layer id="2" name="end" type="Result" version="opset1"><input><port id="0"/></input></layer></layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/><edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></body></layer>
<layer id="9" name="flat" type="Reshape" version="opset1"><data special_zero="true"/><input><port id="0"/><port id="1"/></input><output><port id="2" precision="FP32"><dim>1</dim><dim>256</dim></port></output></layer>
<layer id="10" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="4" to-port="0"/><edge from-layer="3" from-port="0" to-layer="4" to-port="1"/>
<edge from-layer="4" from-port="2" to-layer="5" to-port="0"/><edge from-layer="5" from-port="1" to-layer="6" to-port="0"/>
<edge from-layer="6" from-port="1" to-layer="7" to-port="0"/><edge from-layer="2" from-port="0" to-layer="7" to-port="1"/>
<edge from-layer="7" from-port="2" to-layer="8" to-port="0"/><edge from-layer="8" from-port="1" to-layer="9" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="9" to-port="1"/><edge from-layer="9" from-port="2" to-layer="10" to-port="0"/>
</edges><rt_info><Runtime_version value="2026.4"/></rt_info></net>
"#;

pub(super) const CONVERT: &str = "#!/bin/sh\natc --model=m.onnx --framework=5 --output=m \\\n  --soc_version=Ascend310 \
--input_shape=\"x:1,3,224,224\" --precision_mode allow_mix_precision --fusion_switch_file=fusion_switch.cfg\n";

pub(super) const FUSION_RESULT: &str = r#"{"session_and_graph_id_0_0": {"graph_fusion": {"ConvBatchnormFusionPass": {"effect_times": "2", "match_times": "3"}}, "ub_fusion": {"TbeConvReluFusionPass": {"effect_times": "0", "match_times": "1", "repository_hit_times": "0"}}}}"#;

/// A table of operators of Ascend, one of them on the AI CPU.
pub(super) const OPERATORS: &str = r#"Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats
conv1,Conv2D,AI_CORE,1,90,"1,8,4,4",FLOAT16,NCHW,"1,8,4,4",FLOAT16,NCHW
pow1,Pow,AI_CPU,100,60,"1,8,4,4",DOUBLE,NCHW,"1,8,4,4",DOUBLE,NCHW
"#;

/// Tables of rocprofv3: kernels, calls, copies, counters, sums.
pub(super) const ROCM: [(&str, &str); 5] = [
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
pub(super) const ROCM_JSON: &str = r#"{"rocprofiler-sdk-tool": [{"metadata": {"pid": 7},
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

/// Lines of JSON of Nsight Systems: texts, a call, a kernel, a wait, a range.
pub(super) const EVENTS: &str = r#"{"data":["[unknown]","void gemm<float>(int)","gemm","cudaLaunchKernel_v7000"]}
{"Type":48,"TraceProcessEvent":{"startNs":"100","endNs":"110","correlationId":7,"name":"3","globalTid":"83886086"}}
{"Type":79,"CudaEvent":{"startNs":"200","endNs":"290","correlationId":7,"deviceId":0,"contextId":"1","streamId":"7","globalPid":"83886080","kernel":{"demangledName":"1","shortName":"2"}}}
{"Type":106,"CudaEvent":{"startNs":"300","endNs":"310","contextId":"1","streamId":"7","globalPid":"83886080","sync":{"syncType":"SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE"}}}
{"Type":59,"NvtxEvent":{"Timestamp":"10","Text":"step","GlobalTid":"83886086","EndTimestamp":"90","DomainId":"0"}}
"#;

/// A raw page of Nsight Compute.
pub(super) const KERNELS: &str = "\"ID\",\"Process ID\",\"Kernel Name\",\"Stream\",\"Device\",\"dram__bytes.sum\",\"gpu__time_duration.sum\"\n\
    \"\",\"\",\"\",\"\",\"\",\"Mbyte\",\"usecond\"\n\"0\",\"7\",\"gemm(float *)\",\"7\",\"0\",\"1,234.5\",\"2.50\"\n\
    \"1\",\"7\",\"relu(float *)\",\"13\",\"0\",\"10\",\"1,000.25\"\n";

/// Samples of perf with a stack, and on one line.
pub(super) const SAMPLES: &str = "python 7/8 [003]  12.345678:  250000 cpu-clock:pppH:\n\t 7f3a gemm(int)+0x1f (libblas.so)\n\t \
    55d0 main+0x10 (python)\n\npython 7 12.5: cpu-clock:  55d0 main+0x10 (python)\n";
