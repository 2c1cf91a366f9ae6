//! `opscope fusion`: which chains of a model an accelerator can fuse.

use std::path::{Path, PathBuf};

use clap::Args;
use opscope_advise::Target;
use opscope_advise::converter::{all_on, all_safe_on_svp};
use opscope_advise::fusion::{self, L2};
use opscope_model::{Model, ModelKind, Shapes};
use opscope_say::{say, word};

use super::outputs::check_target;
use super::run::ShapeArguments;
use crate::converter_files::{ConverterArguments, ConverterFiles};
use crate::exit::{Exit, UsageError};
use crate::profile;
use crate::report::fusion::{Answer, Fused};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope fusion model.onnx
  opscope fusion model.onnx --all --json
  opscope fusion model.om         what the converter fused, as the compiled model says
  opscope fusion bert.onnx --dim batch=1 --dim sequence=128
  opscope fusion model.onnx --switch-file fusion_switch.cfg
  opscope fusion model.onnx --switch-file fusion_switch.cfg --target svp
  opscope fusion --switches fusion_switch.cfg --fusion-result fusion_result.json
  opscope fusion model.onnx --converter convert.sh --switch-file all_on.cfg   your command comes back with the file

The limits are those that Huawei published for the Ascend 310 in 2020: behind a convolution up to
three elementwise operators, five elementwise operators in a row, four around a reduction. Inputs
that are constants don't count as inputs. --switch-file writes the converter's file that turns its
fusion rules on, and prints the command that converts the model with it.

Of a converted model (.om, ATC's JSON of it, or a graph that DUMP_GE_GRAPH left) it is told what was
fused, from the file itself: which operators each stands for, and the passes that made it. A model of
OpenVINO (.xml) may say which layers each of its own stands for; its chains are told as well.

What the converter was told and what it did is read as well: its command (--converter), its switch
file (--switches) and fusion_result.json (--fusion-result). It is said which rules were off, what
matched and took effect, and which options contradict one another or are missing. `opscope explain
fusion` tells what fusion is.";

/// The options of `opscope fusion`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See the examples with --help.")]
pub struct Arguments {
    /// The model: before its conversion (.onnx, .prototxt, .tflite, OpenVINO's .xml), or converted (.om, its JSON,
    /// ge_proto_*.txt, ge_onnx_*.pbtxt); or one of the converter's files
    #[arg(value_name = "MODEL", required_unless_present_any = ["converter", "switches", "fusion_result"])]
    model: Option<PathBuf>,

    /// Show operators that fuse with nothing as well
    #[arg(long)]
    all: bool,

    /// Write the converter's fusion switch file, and print the command to convert with
    #[arg(long, value_name = "FILE")]
    switch_file: Option<PathBuf>,

    /// Whose converter the file and command are for [default: by the chip, or else cann-310]
    #[arg(long, value_parser = ["cann-310", "cann", "svp"])]
    target: Option<String>,

    /// The chip in the command [default: that of --converter, or else Ascend310, or SS928V100 for svp]
    #[arg(long, value_name = "NAME")]
    soc_version: Option<String>,

    /// Print the answer as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    converter: ConverterArguments,

    #[command(flatten)]
    shapes: ShapeArguments,
}

/// Finds the chains and prints them, with what the converter's files say.
///
/// # Errors
/// When the model or a file can't be read, or the file can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let mut files = arguments.converter.read(terminal)?;
    let path = match &arguments.model {
        Some(path) if files.take(path)? => None,
        path => path.as_deref(),
    };
    let model = path.map(Model::load).transpose()?;
    if let Some((model, path)) = model.as_ref().zip(path) {
        profile::warn_beside_graph(model, path, terminal);
    }
    let shapes = model.as_ref().map(|model| arguments.shapes.infer(model)).transpose()?;
    let chip = Chip::of(arguments, &files);
    let converted = model.as_ref().filter(|model| model.kind().is_ascend());
    if let Some((path, _)) = path.zip(converted)
        && arguments.switch_file.is_some()
    {
        let text = say!(
            "{}: this model is converted already; give the one before to convert it with a switch file",
            path.display()
        );
        return Err(UsageError(text).into());
    }
    // OpenVINO's converter fuses as well, and its models are compiled anew by each engine.
    let tells =
        model.as_ref().filter(|model| model.kind().is_ascend() || model.kind() == ModelKind::OpenVino);
    let fused = tells.and_then(Fused::of);
    if let (Some((path, model)), None) = (path.zip(converted), &fused) {
        let others = match model.kind() {
            ModelKind::Om | ModelKind::OmJson => word("files of phones and models of single operators"),
            _ => word(
                "dumps of early passes, and those without texts (DUMP_GE_GRAPH=2 leaves them out of ge_onnx_*)",
            ),
        };
        terminal.warn(&say!(
            "{}: the file doesn't say of which operators its own were made, as {others} don't",
            path.display()
        ));
    }
    let found = model.as_ref().filter(|_| converted.is_none()).map(fusion::fusion);
    let split = model.as_ref().zip(shapes.as_ref()).zip(chip.l2());
    let split = split.and_then(|((model, shapes), l2)| fusion::split(model, shapes, &l2));
    let conversion = files.conversion(chip.is_svp);
    let remarks = conversion.remarks(model.as_ref().map(|model| (model, shapes.as_ref())));
    let command = match &arguments.switch_file {
        Some(file) => Some(command(path, &chip, &files, model.as_ref(), shapes.as_ref(), file)?),
        None => None,
    };
    if let Some((path, model)) = path.zip(model.as_ref()) {
        check_operators(path, model)?;
    }
    if let Some(file) = &arguments.switch_file {
        check_target(file)?;
        let text = if chip.is_svp { all_safe_on_svp() } else { all_on() };
        opscope_files::write_atomically(file, |output| std::io::Write::write_all(output, text.as_bytes()))?;
        terminal.note(&say!("wrote the switch file {}", file.display()));
    }
    let lost = model.as_ref().map(profile::losses_beside_graph).unwrap_or_default();
    let answer = Answer { found, fused, split, conversion, remarks, command };
    let text = match arguments.json {
        true => answer.to_json()?.with_losses(lost).to_text()?,
        false => answer.to_text(arguments.all, terminal.width()),
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}

/// The chip that the model is for.
struct Chip {
    /// Its name; `None` where nobody said which of several it is.
    name: Option<String>,
    is_svp: bool,
}

impl Chip {
    /// By the options, or else by the converter's files.
    fn of(arguments: &Arguments, files: &ConverterFiles) -> Self {
        let name = arguments.soc_version.as_deref().or(files.soc_version());
        let target = arguments.target.as_deref().and_then(Target::from_name);
        let is_svp = match target {
            Some(target) => target == Target::Svp,
            None => {
                let of_board = |name: &str| Target::of_soc_version(name) == Target::Svp;
                let switches = files.switches.as_ref().is_some_and(|switches| switches.is_of_svp());
                name.map_or(switches, of_board)
            }
        };
        let by_default = match target {
            _ if is_svp => Some("SS928V100"),
            Some(Target::Cann) => None,
            _ => Some("Ascend310"),
        };
        Self { name: name.or(by_default).map(str::to_owned), is_svp }
    }

    fn l2(&self) -> Option<L2> {
        self.name.as_deref().and_then(L2::of)
    }
}

/// Refuses a model whose operators are all of types that no chain is known of.
///
/// # Errors
/// When it is one.
fn check_operators(path: &Path, model: &Model) -> anyhow::Result<()> {
    if model.kind() == ModelKind::MegEngine {
        let (path, kind, remedy) = (path.display(), model.kind(), model.kind().remedy());
        let text =
            say!("{path}: {kind} has types of operators of its own, of which no chain is known: {remedy}");
        anyhow::bail!("{text}");
    }
    Ok(())
}

/// The command that converts the model with a switch file: the user's own where it is known.
///
/// # Errors
/// When there is neither a command nor a model to make one of, or the chip isn't known.
fn command(
    path: Option<&Path>,
    chip: &Chip,
    files: &ConverterFiles,
    model: Option<&Model>,
    shapes: Option<&Shapes>,
    file: &Path,
) -> anyhow::Result<String> {
    if let Some(own) = &files.command {
        return Ok(own.with("fusion_switch_file", &file.display().to_string()).to_command());
    }
    let (Some(path), Some(model)) = (path, model) else {
        let text = word(
            "--switch-file: give the model, or your own command with --converter, so that there is a \
                    command to convert with",
        );
        return Err(UsageError(text.to_owned()).into());
    };
    if matches!(model.kind(), ModelKind::TfLite | ModelKind::OpenVino | ModelKind::MegEngine) {
        let (path, kind, remedy) = (path.display(), model.kind(), model.kind().remedy());
        return Err(UsageError(say!("{path}: the converter doesn't read {kind}: {remedy}")).into());
    }
    if path.extension().is_some_and(|extension| extension == "caffemodel") {
        let text = say!("{}: the converter wants the .prototxt, and the weights beside it", path.display());
        return Err(UsageError(text).into());
    }
    let Some(soc) = &chip.name else {
        let text = word(
            "--target cann is more than one chip: give the one that the command is for with \
                    --soc-version, such as Ascend310P3 (npu-smi info tells it)",
        );
        return Err(UsageError(text.to_owned()).into());
    };
    Ok(new_command(path, soc, chip.is_svp, model, shapes, file))
}

/// A command for the model. The converter appends `.om` to the output, and wants a shape for every input.
fn new_command(
    path: &Path,
    soc: &str,
    is_svp: bool,
    model: &Model,
    shapes: Option<&Shapes>,
    file: &Path,
) -> String {
    let output = path.with_extension("");
    let graph = model.graph();
    let mut inputs = Vec::new();
    let mut image = false;
    for id in graph.inputs().iter().filter(|id| !graph.value(**id).is_stored()) {
        let dims = shapes.and_then(|shapes| shapes.get(*id)).map(|shape| &shape.dims);
        image |= dims.is_some_and(|dims| dims.len() == 4);
        let dims = dims.map_or("...".to_owned(), |dims| {
            let sizes = dims.iter().map(|size| size.map_or("N".to_owned(), |size| size.to_string()));
            sizes.collect::<Vec<_>>().join(",")
        });
        inputs.push(format!("{}:{dims}", graph.value(*id).name));
    }
    // The converter's numbers of frameworks, and the order in which the model's images have their sizes.
    let (framework, order) = match model.kind() {
        ModelKind::Caffe => (0, "NCHW"),
        ModelKind::TensorFlow => (3, "NHWC"),
        _ => (5, "NCHW"),
    };
    let mut words = vec![
        "atc".to_owned(),
        format!("--model={}", quoted(&path.display().to_string())),
        format!("--framework={framework}"),
        format!("--output={}", quoted(&output.display().to_string())),
        format!("--soc_version={soc}"),
        format!("--input_shape={}", quoted(&inputs.join(";"))),
        format!("--fusion_switch_file={}", quoted(&file.display().to_string())),
    ];
    if model.kind() == ModelKind::Caffe {
        words.push(format!("--weight={}", quoted(&path.with_extension("caffemodel").display().to_string())));
    }
    if is_svp {
        words.push("--online_model_type=2".to_owned());
    } else {
        words.push("--output_type=FP32".to_owned());
        if image {
            words.push(format!("--input_format={order}"));
        }
    }
    words.join(" \\\n    ")
}

/// A word of a shell's command.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/,:=+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
