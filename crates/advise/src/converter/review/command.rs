//! The converter's command: options that contradict one another, are missing or don't fit the model.

use opscope_model::{Model, Shapes};

use super::{Remark, costly, wrong};
use crate::converter::ConverterOptions;

/// Remarks about the command by itself and with a switch file.
pub(super) fn remarks(command: &ConverterOptions, is_svp: bool, has_switches: bool) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for name in command.contradicted() {
        remarks.push(wrong(format!("--{name} is given several times with different values")));
    }
    required(command, is_svp, &mut remarks);
    if !is_svp {
        framework(command, &mut remarks);
        gears(command, &mut remarks);
    }
    let off = |name: &str| command.get(name) == Some("0");
    let switched = has_switches || command.get("fusion_switch_file").is_some();
    if off("net_optimize_enable") && switched {
        remarks.push(wrong(
            "--net_optimize_enable=0 turns all fusion rules off, and the switch file is ignored: leave the \
             option out",
        ));
    }
    if command.get("buffer_optimize") == Some("off_optimize") {
        remarks.push(costly(
            "--buffer_optimize=off_optimize sends what operators exchange through DDR instead of L2: leave the \
             option out",
        ));
    }
    if off("export_compile_stat") {
        remarks.push(costly(
            "--export_compile_stat=0: no fusion_result.json will say what was fused; 1 is the default",
        ));
    }
    remarks
}

/// Options without which the converter doesn't run, or takes what wasn't meant.
fn required(command: &ConverterOptions, is_svp: bool, remarks: &mut Vec<Remark>) {
    let mode = command.get("mode").unwrap_or("0");
    // A description of single operators comes instead of a model.
    if !["0", "3"].contains(&mode) || command.get("singleop").is_some() {
        return;
    }
    let mut names = vec!["model", "framework"];
    if !is_svp {
        names.push("soc_version");
    }
    if mode == "0" {
        names.push("output");
    }
    let missing: Vec<String> =
        names.iter().filter(|name| command.get(name).is_none()).map(|name| format!("--{name}")).collect();
    if !missing.is_empty() {
        remarks
            .push(wrong(format!("missing: {}, without which the converter doesn't run", missing.join(", "))));
    }
}

/// The framework against the model's file, the weights and the format of the input.
fn framework(command: &ConverterOptions, remarks: &mut Vec<Remark>) {
    let Some(framework) = command.known("framework") else { return };
    let (name, files, formats): (&str, &[&str], &[&str]) = match framework {
        "0" => ("Caffe", &["prototxt"], &["NCHW", "ND"]),
        "1" => ("MindSpore", &["air"], &["NCHW"]),
        "3" => ("TensorFlow", &["pb"], &["NCHW", "NHWC", "ND", "NCDHW", "NDHWC"]),
        "5" => ("ONNX", &["onnx"], &["NCHW", "NCDHW", "ND"]),
        other => {
            remarks.push(wrong(format!(
                "--framework={other}: there are 0 (Caffe), 1 (MindSpore), 3 (TensorFlow) and 5 (ONNX)"
            )));
            return;
        }
    };
    let ending = |path: &str| path.rsplit('/').next()?.rsplit_once('.').map(|(_, ending)| ending.to_owned());
    if let Some(ending) = command.known("model").and_then(ending) {
        let of_others = ["prototxt", "caffemodel", "air", "pb", "onnx"].contains(&&*ending);
        if of_others && !files.contains(&&*ending) {
            remarks
                .push(wrong(format!("--framework={framework} is {name}, but the model is a .{ending} file")));
        }
    }
    if framework == "0" && command.get("weight").is_none() {
        remarks.push(wrong("--weight is missing: a model of Caffe has its weights in a file of its own"));
    }
    if let Some(format) = command.known("input_format") {
        if !formats.contains(&format) {
            remarks.push(wrong(format!(
                "--input_format={format} is not for {name}, which takes {}",
                formats.join(", ")
            )));
        } else if command.get("insert_op_conf").is_some() && !["NCHW", "NHWC"].contains(&format) {
            remarks.push(wrong(format!(
                "--input_format={format} does not go with --insert_op_conf: NCHW or NHWC does"
            )));
        }
    }
}

/// Sizes that a model is prepared for.
fn gears(command: &ConverterOptions, remarks: &mut Vec<Remark>) {
    const GEARS: [&str; 3] = ["dynamic_batch_size", "dynamic_image_size", "dynamic_dims"];
    let given: Vec<String> =
        GEARS.iter().filter(|name| command.get(name).is_some()).map(|name| format!("--{name}")).collect();
    let shape = command.get("input_shape");
    if given.len() > 1 {
        remarks.push(wrong(format!("{} exclude one another", given.join(", "))));
    }
    if let (Some(name), None) = (given.first(), shape) {
        remarks.push(wrong(format!("{name} needs --input_shape, with -1 for what is open")));
    }
    let open = shape.is_some_and(|shape| shape.contains("-1"));
    match (given.first(), command.known("input_shape")) {
        (Some(name), Some(shape)) if !open => {
            remarks.push(wrong(format!("{name} is given, but no dimension of --input_shape={shape} is -1")));
        }
        (None, Some(_)) if open => remarks.push(costly(
            "--input_shape has -1 without --dynamic_batch_size, --dynamic_image_size or --dynamic_dims: the model is \
             of dynamic shape, and its operators can't be prepared for one size",
        )),
        _ => {}
    }
    if command.get("dynamic_dims").is_some() && command.get("insert_op_conf").is_some() {
        remarks.push(wrong("--dynamic_dims and --insert_op_conf exclude one another"));
    }
}

/// The inputs of `--input_shape` against those of the model.
pub(super) fn inputs(command: &ConverterOptions, model: &Model, shapes: Option<&Shapes>) -> Vec<Remark> {
    let graph = model.graph();
    let inputs: Vec<_> = graph.inputs().iter().filter(|id| !graph.value(**id).is_stored()).collect();
    let known: Vec<&str> = inputs.iter().map(|id| graph.value(**id).name).collect();
    let Some(text) = command.known("input_shape") else {
        let is_open = |id: &&&opscope_model::ValueId| {
            let declared = graph.value(***id).declared().and_then(|declared| declared.dims);
            declared.is_none_or(|dims| dims.iter().any(|dim| !matches!(dim, opscope_model::Dim::Known(_))))
        };
        let open: Vec<&str> = inputs.iter().filter(is_open).map(|id| graph.value(**id).name).collect();
        if open.is_empty()
            || command.get("input_shape").is_some()
            || command.get("input_shape_range").is_some()
        {
            return Vec::new();
        }
        return vec![wrong(format!(
            "--input_shape is missing: the sizes of {} are open (the converter's error E10001)",
            open.join(", ")
        ))];
    };
    let mut remarks = Vec::new();
    for part in text.split(';').filter(|part| !part.trim().is_empty()) {
        // Names may have colons themselves.
        let Some((name, sizes)) = part.rsplit_once(':') else {
            remarks.push(wrong(format!("--input_shape: `{part}` is not of the form name:1,3,224,224")));
            continue;
        };
        let Some(id) = inputs.iter().find(|id| graph.value(***id).name == name.trim()) else {
            remarks.push(wrong(format!(
                "--input_shape names `{}`, but the model's inputs are {}",
                name.trim(),
                known.join(", ")
            )));
            continue;
        };
        let Some(dims) = shapes.and_then(|shapes| shapes.get(**id)).map(|shape| &shape.dims) else {
            continue;
        };
        let sizes: Vec<&str> = sizes.split(',').map(str::trim).filter(|size| !size.is_empty()).collect();
        let differs = |(size, dim): (&&str, &Option<u64>)| match (size.parse::<i64>(), dim) {
            (Ok(size), Some(dim)) => size >= 0 && size as u64 != *dim,
            _ => false,
        };
        if sizes.len() != dims.len() {
            remarks.push(wrong(format!(
                "--input_shape gives `{name}` {} dimensions, the model {}",
                sizes.len(),
                dims.len()
            )));
        } else if sizes.iter().zip(dims).any(differs) {
            let dims: Vec<String> =
                dims.iter().map(|dim| dim.map_or("?".to_owned(), |dim| dim.to_string())).collect();
            remarks.push(wrong(format!(
                "--input_shape gives `{name}` {}, the model {}",
                sizes.join(","),
                dims.join(",")
            )));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::converter::Conversion;

    fn remarks(command: &str) -> Vec<String> {
        let command = ConverterOptions::parse(command);
        let conversion = Conversion { command: Some(&command), ..Conversion::default() };
        conversion.remarks(None).into_iter().map(|remark| remark.text).collect()
    }

    /// A command that lacks nothing.
    const WHOLE: &str = "atc --model=m.onnx --framework=5 --output=m --soc_version=Ascend310";

    #[test]
    fn the_command_of_the_published_walk_is_sound() {
        let walk = "atc --model=./face_mask_detection.pb --framework=3 --output=./facemask --output_type=FP32 \
            --soc_version=Ascend310 --input_shape=\"data_1:1,260,260,3\" --input_format=NHWC \
            --insert_op_conf=./face_mask.aippconfig --fusion_switch_file=./fusion_switch.cfg";
        assert_eq!(remarks(walk), [""; 0]);
        assert_eq!(remarks(WHOLE), [""; 0]);
    }

    #[test]
    fn options_that_are_missing_or_contradict_one_another_are_named() {
        let cases = [
            ("atc --model=m.onnx --output=m", "missing: --framework, --soc_version,"),
            (
                "atc --model=m.pb --framework=5 --output=m --soc_version=x",
                "ONNX, but the model is a .pb file",
            ),
            ("atc --model=m.prototxt --framework=0 --output=m --soc_version=x", "--weight is missing"),
            (&format!("{WHOLE} --soc_version=Ascend310P3"), "--soc_version is given several times"),
            (&format!("{WHOLE} --input_format=NHWC"), "--input_format=NHWC is not for ONNX"),
            (&format!("{WHOLE} --input_format=ND --insert_op_conf=a"), "does not go with --insert_op_conf"),
            (&format!("{WHOLE} --dynamic_batch_size=1,2"), "needs --input_shape"),
            (
                &format!("{WHOLE} --dynamic_batch_size=1,2 --input_shape=x:1,3"),
                "no dimension of --input_shape=x:1,3 is -1",
            ),
            (
                &format!("{WHOLE} --dynamic_batch_size=1,2 --dynamic_dims=1 --input_shape=x:-1"),
                "--dynamic_batch_size, --dynamic_dims exclude one another",
            ),
            (&format!("{WHOLE} --input_shape=x:-1,3"), "dynamic shape"),
            (&format!("{WHOLE} --buffer_optimize=off_optimize"), "through DDR"),
            (
                &format!("{WHOLE} --net_optimize_enable=0 --fusion_switch_file=a"),
                "the switch file is ignored",
            ),
        ];
        for (command, expected) in cases {
            let found = remarks(command);
            assert!(found.len() == 1 && found[0].contains(expected), "{command}: {found:?}");
        }
    }

    #[test]
    fn variables_of_a_script_are_not_judged() {
        let text =
            "atc --model=$1 --framework=$2 --output=$3 --soc_version=$4 --input_shape=$5 --dynamic_dims=$6";
        assert_eq!(remarks(text), [""; 0]);
    }

    #[test]
    fn inputs_are_held_against_the_model() {
        let model = crate::testing::graph_of_images([1, 3, 8, 8], &["Relu x -> y"]);
        let shapes = Shapes::infer(&model, &opscope_model::Bindings::default()).unwrap();
        let texts = |options: &str| {
            let command = ConverterOptions::parse(&format!("{WHOLE} {options}"));
            let conversion = Conversion { command: Some(&command), ..Conversion::default() };
            let found = conversion.remarks(Some((&model, Some(&shapes))));
            found.into_iter().map(|remark| remark.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(""), [""; 0]);
        assert_eq!(texts("--input_shape=x:1,3,8,8"), [""; 0]);
        assert!(texts("--input_shape=image:1,3,8,8")[0].contains("the model's inputs are x"));
        assert!(texts("--input_shape=x:1,3,8")[0].contains("3 dimensions, the model 4"));
        assert!(texts("--input_shape=x:1,3,9,8")[0].contains("1,3,9,8, the model 1,3,8,8"));
        let open = crate::testing::graph(&["Relu x -> y"]);
        let command = ConverterOptions::parse(WHOLE);
        let conversion = Conversion { command: Some(&command), ..Conversion::default() };
        assert!(conversion.remarks(Some((&open, None)))[0].text.contains("E10001"));
    }
}
