//! The converter's command, its switch file and its report of fusion taken together: what was off,
//! what matched and took effect, and options that contradict one another or are missing.

use opscope_model::{Model, Shapes};
use serde::Serialize;

use super::{ConverterOptions, FusionResult, Switches};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gravity {
    /// The converter refuses it, or does something else than was asked for.
    Wrong,
    /// It costs time, or is worth knowing.
    Costly,
}

/// Something to be said of a conversion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// How bad it is.
    pub gravity: Gravity,
    /// The matter, and what to do about it.
    pub text: String,
}

/// All that is known of a model's conversion.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conversion<'a> {
    /// The command.
    pub command: Option<&'a ConverterOptions>,
    /// The switch file.
    pub switches: Option<&'a Switches>,
    /// The converter's report of fusion.
    pub result: Option<&'a FusionResult>,
    /// Whether it is for a board with an SVP engine.
    pub is_svp: bool,
}

fn wrong(text: impl Into<String>) -> Remark {
    Remark { gravity: Gravity::Wrong, text: text.into() }
}

fn costly(text: impl Into<String>) -> Remark {
    Remark { gravity: Gravity::Costly, text: text.into() }
}

impl Conversion<'_> {
    /// Everything that is to be said, what is wrong first. With the model, its inputs are held against
    /// the command's.
    pub fn remarks(&self, model: Option<(&Model, Option<&Shapes>)>) -> Vec<Remark> {
        let mut remarks = Vec::new();
        if let Some(command) = self.command {
            remarks.append(&mut self.of_command(command));
            if let Some((model, shapes)) = model {
                remarks.append(&mut inputs(command, model, shapes));
            }
        }
        remarks.append(&mut self.of_switches());
        remarks.append(&mut self.of_result());
        remarks.sort_by_key(|remark| remark.gravity != Gravity::Wrong);
        remarks
    }

    /// Says what is wrong with the command by itself and with the switch file.
    pub fn of_command(&self, command: &ConverterOptions) -> Vec<Remark> {
        let mut remarks = Vec::new();
        for name in command.contradicted() {
            remarks.push(wrong(format!("--{name} is given several times with different values")));
        }
        required(command, self.is_svp, &mut remarks);
        if !self.is_svp {
            framework(command, &mut remarks);
            gears(command, &mut remarks);
        }
        let off = |name: &str| command.get(name) == Some("0");
        let switched = self.switches.is_some() || command.get("fusion_switch_file").is_some();
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

    fn of_switches(&self) -> Vec<Remark> {
        let Some(switches) = self.switches else { return Vec::new() };
        let mut remarks: Vec<Remark> =
            switches.problems.iter().map(|problem| wrong(format!("the switch file: {problem}"))).collect();
        if self.is_svp && switches.is_json {
            remarks.push(wrong(
                "the switch file is JSON, which the boards' converter doesn't take: write a rule a line, as in \
                 ReluMerge:on (opscope fusion MODEL.onnx --target svp --switch-file FILE)",
            ));
        }
        if !self.is_svp && switches.is_of_svp() {
            remarks.push(wrong(
                "the switch file has rules of the boards' converter, which Ascend's doesn't know (for a board, \
                 give --target svp)",
            ));
        }
        let off: Vec<String> =
            switches.off().map(|switch| format!("{} ({})", switch.rule, switch.kind.name())).collect();
        if !off.is_empty() {
            let but: Vec<&str> = switches.exceptions().map(|switch| &*switch.rule).collect();
            let but = if but.is_empty() { String::new() } else { format!(", all but {}", but.join(", ")) };
            remarks.push(costly(format!("the switch file turns off {}{but}", off.join(", "))));
        }
        remarks
    }

    fn of_result(&self) -> Vec<Remark> {
        let Some(result) = self.result else { return Vec::new() };
        let mut remarks: Vec<Remark> =
            result.problems.iter().map(|problem| wrong(format!("fusion_result.json: {problem}"))).collect();
        if let Some(switches) = self.switches {
            let in_spite = result
                .passes
                .iter()
                .filter(|pass| pass.took_effect > 0 && switches.turns_off(&pass.rule, pass.kind));
            let names: Vec<&str> = in_spite.map(|pass| &*pass.rule).collect();
            if !names.is_empty() {
                remarks.push(wrong(format!(
                    "{} took effect although the switch file turns it off: either it is of another conversion, or \
                     the rule is one that can't be turned off",
                    names.join(", ")
                )));
            }
        }
        for pass in result.missed() {
            remarks.push(costly(format!(
                "{} ({}) matched {} times and took effect {}: look for what its limits don't allow (converter's log \
                 with --log=info, opscope fusion MODEL.onnx)",
                pass.rule,
                pass.kind.name(),
                pass.matched,
                if pass.took_effect == 0 { "never".to_owned() } else { format!("{} times", pass.took_effect) },
            )));
        }
        remarks
    }
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
fn inputs(command: &ConverterOptions, model: &Model, shapes: Option<&Shapes>) -> Vec<Remark> {
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
    fn a_rule_that_took_effect_although_it_is_off_is_a_contradiction() {
        let switches = Switches::parse("ConvBatchnormFusionPass:off").unwrap();
        let result = r#"{"session_and_graph_id_0_0": {"graph_fusion": {
            "ConvBatchnormFusionPass": {"match_times": "2", "effect_times": "2"},
            "AReduceMeanFusionPass": {"match_times": "3", "effect_times": "0"}}}}"#;
        let result = FusionResult::parse(result).unwrap();
        let conversion =
            Conversion { switches: Some(&switches), result: Some(&result), ..Conversion::default() };
        let found: Vec<_> = conversion.remarks(None).into_iter().map(|it| (it.gravity, it.text)).collect();
        let has = |gravity, text: &str| found.iter().any(|it| it.0 == gravity && it.1.contains(text));
        assert!(has(Gravity::Wrong, "ConvBatchnormFusionPass took effect although"), "{found:?}");
        assert!(has(
            Gravity::Costly,
            "AReduceMeanFusionPass (graph fusion) matched 3 times and took effect never"
        ));
        assert!(has(Gravity::Costly, "turns off ConvBatchnormFusionPass"));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_switch_file_in_the_other_converters_form_is_refused() {
        let json = Switches::parse(&super::super::all_on()).unwrap();
        let board = Conversion { switches: Some(&json), is_svp: true, ..Conversion::default() };
        assert!(board.remarks(None)[0].text.contains("JSON, which the boards' converter doesn't take"));
        let lines = Switches::parse("ReluMerge:on").unwrap();
        let ascend = Conversion { switches: Some(&lines), ..Conversion::default() };
        assert!(ascend.remarks(None)[0].text.contains("--target svp"));
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
