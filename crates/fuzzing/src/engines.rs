//! Profiles of a small network by each engine, to begin with: each a text that opscope itself made up.

/// TensorRT: the profile, the layers and the times.
pub const TENSORRT: [&str; 3] = [
    r#"[{"count": 10}, {"name": "conv1 + relu1", "timeMs": 12, "averageMs": 1.2, "medianMs": 1.1, "percentage": 60}, {"name": "PWN(mish1)", "timeMs": 8, "percentage": 40}]"#,
    r#"{"Layers": [{"Name": "conv1 + relu1", "LayerType": "CaskConvolution", "Inputs": [{"Name": "x", "Dimensions": [1, 3, 8, 8], "Format/Datatype": "Row major linear FP16"}], "Outputs": [], "TacticName": "sm80", "Metadata": "[ONNX Layer: /a/Conv]\u001e[ONNX Layer: /a/Relu]"}, "PWN(mish1)"], "Bindings": ["x"]}"#,
    r#"[{"startEnqMs": 0.1, "endEnqMs": 0.2, "startH2dMs": 0.2, "endH2dMs": 0.3, "startComputeMs": 0.3, "endComputeMs": 1.8, "startD2hMs": 1.8, "endD2hMs": 1.9, "computeMs": 1.5, "latencyMs": 1.7}, {"startInMs": 2, "endInMs": 2, "startComputeMs": 2, "endComputeMs": 3.5, "latencyMs": 1.5}]"#,
];

/// OpenVINO: counters as a table and as JSON, and the executable graph.
pub const OPENVINO: [&str; 3] = [
    "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)\nx;NOT_RUN;Parameter;undef;0.000;0.000\nconv1;EXECUTED;Convolution;jit_avx512_f32;1.250;1.200\nmish1;Status.EXECUTED;Mish;jit;0.750;0.750\nTotal;;;;2.000;1.950\n\n",
    r#"{"report_type": "detailed", "detailed_performance": [{"nodes": [{"name": "conv1", "node_type": "Convolution", "status": "Status.EXECUTED", "real_time": "1.250", "cpu_time": 1.2, "exec_type": "jit"}], "total_real_time": "1.250"}]}"#,
    r#"<?xml version="1.0"?><net name="net"><layers><layer id="1" name="conv1" type="Convolution"><data execOrder="2" execTimeMcs="1500" originalLayersNames="conv1,relu1" primitiveType="jit" runtimePrecision="f32"/><input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input></layer></layers><edges/></net>"#,
];

/// TensorFlow Lite's text and CSV.
pub const TFLITE: [&str; 2] = [
    "Profiling Info for Benchmark Initialization:\n== Run Order ==\n\t[node type]\t[start]\t[first]\t[avg ms]\t[%]\t[cdf%]\t[mem KB]\t[times called]\t[Name]\n\tAllocateTensors\t0.0\t1.3\t0.6\t100%\t100%\t0.0\t2\tAllocateTensors/0\n\nOperator-wise Profiling Info for Regular Benchmark Runs:\n== Run Order ==\n\t[node type]\t[first]\t[avg ms]\t[%]\t[cdf%]\t[mem KB]\t[times called]\t[Name]\n\tCONV_2D\t3.1\t3.0\t75%\t75%\t64.0\t1\t[net/conv1]:0\n\tSOFTMAX\t1.0\t0.5\t25%\t100%\t0.0\t2\t[net/softmax]:1\n\n== Top by Computation Time ==\n\nTimings (microseconds): count=50 first=1\n",
    "node type, start, first, avg_ms, %, cdf%, mem KB, times called, name\nConvolution (NHWC, F32), 0, 3.1, 3.0, 75%, 75%, 0, 1, Delegate/Convolution (NHWC\t F32):0\nSOFTMAX, 3, 1, 1, 25%, 100%, 0, 1, [softmax]:1\n",
];

/// ncnn's layers, networks, and MNN's nodes.
pub const PHONE: [&str; 3] = [
    "Convolution  conv1  3.00ms    | [  8,   8,   3 *1] -> [  8,   8,   1 *4]     kernel: 3 x 3     stride: 1 x 1\nMish  mish1  1.00ms    |\nConvolution  conv1  4.00ms    | [8 *1] -> [8, 8 *4]\n",
    "loop_count = 8\nnum_threads = 4\n  squeezenet  min =    8.84  max =    8.89  avg =    8.87\n[ - ] net.mnn  max = 8.1 ms  min = 6.9 ms  avg = 7.3 ms\n",
    "Sort by node name !\nNode Name \tOp Type \tAvg(ms) \t% \tFlops Rate \t\nconv1 \tConvolution \t3.0 \t75.0 \t99.0 \t\nSort by time cost !\nNode Type \tAvg(ms) \t% \tCalled times \tFlops Rate \t\nConvolution \t3.0 \t75.0 \t1.0 \t99.0 \t\ntotal time : 4.0 ms\n",
];

/// The table of PyTorch's profiler.
pub const PYTORCH: &str = "\
------------  ----------  ----------  ----------  ----------  \n\
\x20       Name  Self CPU %    Self CPU   Self CUDA  # of Calls  \n\
------------  ----------  ----------  ----------  ----------  \n\
\x20  aten::mm      75.00%     3.000ms    10.000us           2  \n\
\x20      gemm       0.00%     0.000us    10.000us           2  \n\
------------  ----------  ----------  ----------  ----------  \n\
Self CPU time total: 3.000ms\nSelf CUDA time total: 10.000us\n";

/// TensorFlow Lite's message: a model of one operator, 45 us on the mean of two runs.
pub const MESSAGE: &[u8] =
    b"\n\x03net\x1a\x1f\n\x1d\x1a\x1b\n\x07CONV_2D\x12\x04\x40\x5a\x48\x02\x20\x01*\x06[c1]:0\x30\x00";
