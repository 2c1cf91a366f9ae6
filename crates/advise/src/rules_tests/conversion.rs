//! Cases for the rules about the converter's options.

use super::*;

pub(super) fn cases() -> Vec<(&'static str, Case, Case)> {
    let softmax = |micros| {
        on(Target::Svp, ops(&[("s", "Softmax", AI, micros, &[]), ("c", "Conv", AI, 1000 - micros, &[])]))
    };
    let batch = |batch| on(Target::Svp, shaped(&[batch, 3, 8, 8], &["Relu x -> y"]));
    let switched = |text| Case { switches: Some(text), ..Case::default() };
    let fused = |text| Case { fusion_result: Some(text), ..Case::default() };
    const WHOLE: &str = "atc --model=m.onnx --framework=5 --output=m --soc_version=Ascend310";
    let command = |text| Case { converter: Some(text), ..Case::default() };
    vec![
        ("C01", switched("ConvBatchnormFusionPass:off"), switched("ConvBatchnormFusionPass:on")),
        (
            "C02",
            fused(
                r#"{"session_and_graph_id_0_0": {"graph_fusion": {"ConvBatchnormFusionPass":
                    {"match_times": "22", "effect_times": "21"}}}}"#,
            ),
            fused(
                r#"{"session_and_graph_id_0_0": {"graph_fusion": {"ConvBatchnormFusionPass":
                    {"match_times": "22", "effect_times": "22"}}}}"#,
            ),
        ),
        (
            "C03",
            command("atc --model=m.onnx --framework=3 --output=m --soc_version=Ascend310"),
            command(WHOLE),
        ),
        ("V01", converted("atc --net_optimize_enable=0"), converted("atc --net_optimize_enable=1")),
        (
            "V02",
            converted("atc --fusion_switch_file=ReluMerge:off"),
            converted("atc --fusion_switch_file=ReluMerge:on"),
        ),
        ("V03", converted("atc --layer_fusion_enable 0"), converted("atc --layer_fusion_enable 1")),
        ("V04", converted("atc --layer_m2m_enable=0"), converted("atc")),
        ("V05", converted("atc"), converted("atc --internal_stride=32")),
        (
            "V06",
            Case {
                model: Some(crate::testing::graph(&["Gemm x,W:8x8 -> y"])),
                ..converted("atc --batch_num=1")
            },
            Case {
                model: Some(crate::testing::graph(&["Gemm x,W:8x8 -> y"])),
                ..converted("atc --batch_num=256")
            },
        ),
        ("V07", softmax(53), softmax(50)),
        ("V08", batch(2), batch(1)),
        ("V09", converted("atc --gelu_high_precision_mode=1"), converted("atc --gelu_high_precision_mode=0")),
        ("V10", converted("compile_mode=6"), converted("compile_mode=0")),
        ("V11", converted("atc"), converted("atc --online_model_type=0")),
        ("V12", converted("atc --force_to_cpu=a,b"), converted("atc")),
        ("V13", converted("atc --model=m.onnx"), converted("atc --model=m.onnx --mode=3")),
        ("V14", converted("atc --model=m.onnx"), converted("atc --soc_version=SS928V100")),
        (
            "V15",
            converted("atc --dynamic_image_size='640,640;320,320'"),
            converted("atc --dynamic_image_size=640,640"),
        ),
        ("V20", on(Target::Svp, graph(&["Softplus x -> y"])), on(Target::Svp, graph(&["Relu x -> y"]))),
        // Of stored weights, the converter does it beforehand.
        (
            "V20",
            on(Target::Svp, graph(&["Cast x to=10 -> a", "Add a,W:16 -> y"])),
            on(Target::Svp, graph(&["Cast W:16 to=10 -> a", "Add x,a -> y"])),
        ),
    ]
}
