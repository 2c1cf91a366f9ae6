//! `opscope fusion`: which chains of a model an accelerator can fuse.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use opscope_advise::Target;
use opscope_advise::fusion::{Chain, Fusion, ascend_switch_file, fusion, svp_switch_file};
use opscope_model::{Model, Shapes};

use super::outputs::check_target;
use super::run::ShapeArguments;
use crate::exit::Exit;
use crate::terminal::{Terminal, bold, dim};

const EXAMPLES: &str = "\
Examples:
  opscope fusion model.onnx
  opscope fusion model.onnx --all --json
  opscope fusion bert.onnx --dim batch=1 --dim sequence=128
  opscope fusion model.onnx --switch-file fusion_switch.cfg
  opscope fusion model.onnx --switch-file fusion_switch.cfg --target svp

The limits are those that Huawei published for the Ascend 310 in 2020: behind a convolution up to
three elementwise operators, five elementwise operators in a row, four around a reduction. Inputs
that are constants don't count as inputs. --switch-file writes the converter's file that turns its
fusion rules on, and prints the command that converts the model with it.";

/// The options of `opscope fusion`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See the examples with --help.")]
pub struct Arguments {
    /// The model, an ONNX file
    #[arg(value_name = "MODEL.onnx")]
    model: PathBuf,

    /// Show operators that fuse with nothing as well
    #[arg(long)]
    all: bool,

    /// Write the converter's fusion switch file, and print the command to convert with
    #[arg(long, value_name = "FILE")]
    switch_file: Option<PathBuf>,

    /// Whose converter the file and command are for
    #[arg(long, default_value = "cann-310", value_parser = ["cann-310", "cann", "svp"])]
    target: String,

    /// The chip in the command [default: Ascend310, or SS928V100 for svp]
    #[arg(long, value_name = "NAME")]
    soc_version: Option<String>,

    /// Print the answer as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    shapes: ShapeArguments,
}

/// Finds the chains and prints them.
///
/// # Errors
/// When the model can't be loaded, or the file can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let model = Model::load(&arguments.model)?;
    let shapes = Some(arguments.shapes.infer(&model)?);
    let found = fusion(&model, shapes.as_ref());
    let command =
        arguments.switch_file.as_deref().map(|file| command(arguments, &model, shapes.as_ref(), file));
    if let Some(file) = &arguments.switch_file {
        check_target(file)?;
        let text = if is_svp(arguments) { svp_switch_file() } else { ascend_switch_file() };
        opscope_formats::write_atomically(file, |output| std::io::Write::write_all(output, text.as_bytes()))?;
        terminal.note(&format!("wrote the switch file {}", file.display()));
    }
    let text = if arguments.json {
        to_json(&found, command.as_deref())?
    } else {
        to_text(&found, arguments.all, command.as_deref())
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}

fn is_svp(arguments: &Arguments) -> bool {
    Target::from_name(&arguments.target) == Some(Target::Svp)
}

fn to_text(found: &Fusion, all: bool, command: Option<&str>) -> String {
    let mut text = String::new();
    let fused: Vec<&Chain> = found.chains.iter().filter(|chain| chain.links.len() > 1).collect();
    let operators: usize = fused.iter().map(|chain| chain.links.len()).sum();
    let _ = writeln!(
        text,
        "{} {} chains of {operators} operators can become {}; {} more stand alone\n",
        bold("fusion"),
        fused.len(),
        fused.len(),
        found.chains.len() - fused.len()
    );
    for chain in found.chains.iter().filter(|chain| all || chain.links.len() > 1) {
        let types: Vec<&str> = chain.links.iter().map(|link| &*link.op_type).collect();
        let first = chain.links.first().map_or("", |link| &*link.name);
        let _ = writeln!(
            text,
            "{}  {}",
            bold(&types.join(" + ")),
            dim(&format!("{} from {first}", chain.class.name()))
        );
        let _ = writeln!(text, "     stops: {}", chain.stop);
        if let Some(remedy) = &chain.remedy {
            let _ = writeln!(text, "     {remedy}");
        }
    }
    if !found.pairs.is_empty() {
        let _ = writeln!(text, "\n{}", bold("through L2"));
        for pair in &found.pairs {
            let _ = writeln!(text, "     {} to {}", pair.from, pair.to);
        }
    }
    if let Some((tasks, batch)) = found.batch_split {
        let whole = tasks * batch;
        let _ = writeln!(
            text,
            "\nA batch of {whole} fits L2 better as {tasks} tasks of {batch} (the vendor's example: 8 as 4 of 2)."
        );
    }
    let _ = writeln!(
        text,
        "\n{}",
        dim("limits of the Ascend 310 as published in 2020; the converter has the last word")
    );
    if let Some(command) = command {
        let _ = writeln!(text, "\n{command}");
    }
    text
}

fn to_json(found: &Fusion, command: Option<&str>) -> anyhow::Result<String> {
    let mut answer = serde_json::to_value(found)?;
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("schema_version".to_owned(), 1.into());
        fields.insert("command".to_owned(), command.map_or(serde_json::Value::Null, Into::into));
    }
    Ok(format!("{}\n", serde_json::to_string_pretty(&answer)?))
}

/// The command that converts the model with a switch file. The converter knows ONNX as framework 5,
/// appends `.om` to the output, and wants a shape for every input.
fn command(arguments: &Arguments, model: &Model, shapes: Option<&Shapes>, file: &Path) -> String {
    let output = arguments.model.with_extension("");
    let graph = model.graph();
    let mut inputs = Vec::new();
    let mut image = false;
    for id in graph.inputs() {
        let dims = shapes.and_then(|shapes| shapes.get(*id)).map(|shape| &shape.dims);
        image |= dims.is_some_and(|dims| dims.len() == 4);
        let dims = dims.map_or("...".to_owned(), |dims| {
            let sizes = dims.iter().map(|size| size.map_or("N".to_owned(), |size| size.to_string()));
            sizes.collect::<Vec<_>>().join(",")
        });
        inputs.push(format!("{}:{dims}", graph.value(*id).name));
    }
    let soc =
        arguments.soc_version.as_deref().unwrap_or(if is_svp(arguments) { "SS928V100" } else { "Ascend310" });
    let mut words = vec![
        "atc".to_owned(),
        format!("--model={}", quoted(&arguments.model.display().to_string())),
        "--framework=5".to_owned(),
        format!("--output={}", quoted(&output.display().to_string())),
        format!("--soc_version={soc}"),
        format!("--input_shape={}", quoted(&inputs.join(";"))),
        format!("--fusion_switch_file={}", quoted(&file.display().to_string())),
    ];
    if is_svp(arguments) {
        words.push("--online_model_type=2".to_owned());
    } else {
        words.push("--output_type=FP32".to_owned());
        if image {
            words.push("--input_format=NCHW".to_owned());
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
