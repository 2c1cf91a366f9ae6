//! `opscope load_and_run`: MegEngine's own command line for running a model, as far as it means the same
//! here.
//!
//! MegEngine's tool reads its options with gflags: one dash or two, `-` and `_` alike within a name, the
//! value behind `=` or as the next word. The run that they ask for is left to `opscope run`.

use std::ops::RangeInclusive;
use std::path::Path;

use clap::Args;

use super::CarryOut;
use crate::exit::{Exit, UsageError};
use crate::terminal::{Terminal, usage};
use crate::{help, language};

const EXAMPLES: &str = "\
Examples:
  opscope load_and_run model.onnx --input \"data:photo.npy\" --iter 10 --profile out.json
  opscope load_and_run model.onnx --input \"data:{1,3,224,224};scale:2\" --profile-host host.json
  ln -s opscope load_and_run && ./load_and_run model.onnx --iter 100

The model is an ONNX file: MegEngine's own files need MegEngine. Understood are, with their defaults:
  --input \"NAME:WHAT;NAME:WHAT\"  a .npy file, a shape such as {1,3,224,224}, or a number
  --iter N (10), --warmup-iter N (1), --multithread N (1 thread), --cpu
  --profile FILE, --profile-host FILE
Whatever opscope run knows besides (--engine, --db, --json, ...) is taken as well.";

/// The command line of MegEngine's tool.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// The model and the options of MegEngine's tool; --help lists them
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Whether the program was called by MegEngine's name.
pub fn is_called_for(program: &str) -> bool {
    let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
    name.replace('-', "_") == "load_and_run"
}

/// Carries out a command line of MegEngine's tool.
///
/// # Errors
/// When it asks for what isn't there, or the run fails.
pub fn execute(arguments: &Arguments, carry_out: CarryOut<'_>, terminal: &Terminal) -> anyhow::Result<Exit> {
    run("opscope load_and_run", &arguments.arguments, carry_out, terminal)
}

/// As [`execute`], with the name that the program was called by and the words behind it.
///
/// # Errors
/// As [`execute`].
pub fn run(
    name: &str,
    words: &[String],
    carry_out: CarryOut<'_>,
    terminal: &Terminal,
) -> anyhow::Result<Exit> {
    let form = format!("{name} MODEL.onnx [OPTIONS]");
    if words.is_empty() || words.iter().any(|word| matches!(word.as_str(), "-h" | "--help" | "-help")) {
        language::as_asked();
        let usage = usage(&format!("Usage: {form}"));
        terminal.print(&format!("{usage}\n\n{}", help::by_hand(&format!("{EXAMPLES}\n"))))?;
        return Ok(if words.is_empty() { Exit::Usage } else { Exit::Done });
    }
    let translated = translate(words)?;
    for option in &translated.without_effect {
        terminal.warn(&format!("--{option} has no counterpart here and changes nothing"));
    }
    terminal.detail(&format!("opscope {}", translated.words.join(" ")));
    carry_out(&translated.words.iter().map(String::as_str).collect::<Vec<_>>(), Some(form), terminal)
}

/// The same wishes in opscope's words.
#[derive(Debug, PartialEq, Eq)]
struct Translated {
    words: Vec<String>,
    /// Options that only tell MegEngine how to run.
    without_effect: Vec<String>,
}

/// Options with a value that only tell MegEngine how to run.
const VALUED: [&str; 8] = [
    "fast-run-algo-policy",
    "fast-run-shared-batch-size",
    "layout-transform-dump",
    "layout-transform",
    "multi-thread-core-ids",
    "workspace-limit",
    "range",
    "fuse-grain",
];

/// Options without one.
const SWITCHES: [&str; 22] = [
    "fast-run",
    "full-run",
    "reproducible",
    "binary-equal-between-batch",
    "enable-nchw4",
    "enable-chwn4",
    "enable-nchw44",
    "enable-nchw88",
    "enable-nchw32",
    "enable-nchw64",
    "enable-nhwcd4",
    "enable-nchw44-dot",
    "enable-ioc16",
    "enable-fuse-preprocess",
    "enable-fuse-conv-bias-nonlinearity",
    "enable-fuse-conv-bias-with-z",
    "optimize-for-inference",
    "weight-preprocess",
    "record-comp-seq",
    "record-comp-seq2",
    "no-sanity-check",
    "verbose",
];

fn translate(words: &[String]) -> Result<Translated, UsageError> {
    let mut run = vec!["run".to_owned()];
    let mut without_effect = Vec::new();
    let (mut iterations, mut warm_up, mut threads) = ("10".to_owned(), "1".to_owned(), None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            run.push(word.clone());
            continue;
        };
        let (name, given) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let name = name.replace('_', "-");
        let mut value = || {
            let next = given.clone().or_else(|| words.next().cloned());
            next.ok_or_else(|| UsageError(format!("--{name}: a value is missing")))
        };
        match name.as_str() {
            "input" => {
                let inputs = value()?;
                for input in inputs.split(';').filter(|input| !input.trim().is_empty()) {
                    run.extend(["--input".to_owned(), translate_input(input.trim())?]);
                }
            }
            "iter" | "iterations" | "n" => iterations = whole(&name, value()?, 1..=u32::MAX)?,
            "warmup-iter" | "warmup" => warm_up = whole(&name, value()?, 0..=u32::MAX)?,
            "multithread" | "multithread-default" | "threads" => {
                threads = Some(whole(&name, value()?, 1..=1024)?);
            }
            "thread" => {
                let number = value()?;
                if number != "1" {
                    let text =
                        format!("--thread {number}: runners side by side aren't to be had; leave it out");
                    return Err(UsageError(text));
                }
            }
            "profile" | "profile-host" => run.extend([format!("--{name}"), value()?]),
            "cuda" | "opencl" | "tensorrt" => {
                return Err(UsageError(format!(
                    "--{name}: the engines here run on the processor; use --cpu"
                )));
            }
            "cpu" | "cpu-default" => {}
            name if VALUED.contains(&name) => {
                value()?;
                without_effect.push(name.to_owned());
            }
            name if SWITCHES.contains(&name) => without_effect.push(name.to_owned()),
            _ => run.push(word.clone()),
        }
    }
    run.extend(["--iterations".to_owned(), iterations, "--warmup".to_owned(), warm_up]);
    run.extend(threads.into_iter().flat_map(|threads| ["--threads".to_owned(), threads]));
    Ok(Translated { words: run, without_effect })
}

/// The value of an option, which is a number of these.
fn whole(option: &str, value: String, known: RangeInclusive<u32>) -> Result<String, UsageError> {
    match value.parse() {
        Ok(number) if known.contains(&number) => Ok(value),
        _ => {
            let (least, most) = known.into_inner();
            Err(UsageError(format!("--{option}: expected a number from {least} to {most}, found '{value}'")))
        }
    }
}

/// `NAME:WHAT` as `NAME=WHAT`. A name may hold colons, what stands behind the last one hardly does.
fn translate_input(text: &str) -> Result<String, UsageError> {
    // opscope's own spelling is as good.
    let Some((name, what)) = text.rsplit_once(':').filter(|_| !text.contains('=')) else {
        return Ok(text.to_owned());
    };
    let ending = Path::new(what).extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    if let Some(ending) =
        ending.filter(|ending| matches!(ending.as_str(), "ppm" | "pgm" | "json" | "jpg" | "png"))
    {
        let text = format!("--input {name}:{what}: a .{ending} file can't be fed; save the array as .npy");
        return Err(UsageError(text));
    }
    Ok(format!("{name}={what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(line: &str) -> Translated {
        translate(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn megengines_options_become_those_of_run() {
        let found = translated("m.onnx --input data:x.npy;im:{1,3,8,8} --iter 7 --profile out.json");
        let expected = "run m.onnx --input data=x.npy --input im={1,3,8,8} --profile out.json \
                        --iterations 7 --warmup 1";
        assert_eq!(found.words.join(" "), expected);
        let found = translated("m.onnx -warmup_iter=2 --multithread 4 --profile_host=h.json --fast-run");
        let expected = "run m.onnx --profile-host h.json --iterations 10 --warmup 2 --threads 4";
        assert_eq!(
            (found.words.join(" ").as_str(), found.without_effect),
            (expected, vec!["fast-run".to_owned()])
        );
    }

    #[test]
    fn names_may_hold_colons_and_opscopes_own_options_pass() {
        assert_eq!(translate_input("input:0:x.npy").unwrap(), "input:0=x.npy");
        assert_eq!(translate_input("data=1x3").unwrap(), "data=1x3");
        assert!(translate_input("data:cat.ppm").unwrap_err().0.contains(".npy"));
        assert!(
            translated("m.onnx --engine ort")
                .words
                .starts_with(&["run", "m.onnx", "--engine", "ort"].map(str::to_owned))
        );
        assert!(
            translated("m.onnx -n 3 --warmup 0").words.ends_with(&["3", "--warmup", "0"].map(str::to_owned))
        );
        assert!(translate(&["m.onnx".to_owned(), "--iter".to_owned()]).unwrap_err().0.contains("--iter"));
        assert!(is_called_for("/usr/bin/load_and_run") && !is_called_for("opscope"));
    }
}
