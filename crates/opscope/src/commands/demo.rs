//! `opscope demo`: the main job on models of our own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use opscope_model::samples::Sample;
use opscope_run::{InputRequest, Repetition, RunOptions};
use opscope_say::{say, word};

use super::html::HtmlArguments;
use super::outputs::{AnswerArguments, FileArguments};
use super::rewrite::SelectionArguments;
use super::run::{EngineArguments, InputArguments, conclude, create_folder, run_model};
use super::{CarryOut, sample, tune};
use crate::exit::Exit;
use crate::terminal::{Terminal, bold};

const EXAMPLES: &str = "\
Examples:
  opscope demo
  opscope demo -o /tmp/try --engine ort

Writes two models into the folder: a face-mask detector (an SSD of 260x260 pixels whose convolutions,
normalisations and activations are not fused) and a YOLO with Mish. Each goes through the whole loop:
run it and see where the time goes, ask for advice, tune (each rewrite is checked and measured here,
and kept only if it wins), run the result, and compare. It ends with a page about the first model, for a
browser. Profiles, models and logs stay in the folder.";

/// The options of `opscope demo`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The folder for the models, profiles and logs
    #[arg(short, long, default_value = "opscope-demo", value_name = "DIR")]
    output: PathBuf,

    #[command(flatten)]
    engine: EngineArguments,
}

/// The models, and whether rewrites that change what they compute are tried as well.
const MODELS: [(Sample, bool); 2] = [(Sample::MaskSsd, false), (Sample::YoloMish, true)];

/// How long each step of tuning is measured: short, for nobody waits gladly for a demonstration.
const TUNING_BUDGET: Duration = Duration::from_secs(1);

/// Takes each model through the loop, and names what to try next.
///
/// # Errors
/// When the folder can't be written or a model can't be run.
pub fn execute(arguments: &Arguments, carry_out: CarryOut<'_>, terminal: &Terminal) -> anyhow::Result<Exit> {
    create_folder(&arguments.output)?;
    for (sample, allow_lossy) in MODELS {
        let round = Round { sample, allow_lossy, arguments, carry_out, terminal };
        let end = round.go()?;
        if end != Exit::Done {
            return Ok(end);
        }
    }
    let first = Round { sample: MODELS[0].0, allow_lossy: MODELS[0].1, arguments, carry_out, terminal };
    let end = first.report()?;
    if end == Exit::Done {
        terminal.print(&next_steps(&first.file(".onnx"), &first.file(".html")))?;
    }
    Ok(end)
}

/// The loop on one model.
struct Round<'a> {
    sample: Sample,
    allow_lossy: bool,
    arguments: &'a Arguments,
    carry_out: CarryOut<'a>,
    terminal: &'a Terminal,
}

impl Round<'_> {
    /// A file of this model in the folder.
    fn file(&self, ending: &str) -> PathBuf {
        self.arguments.output.join(format!("{}{ending}", self.sample))
    }

    fn go(&self) -> anyhow::Result<Exit> {
        let (model, before, after) = (self.file(".onnx"), self.file(".before.db"), self.file(".after.db"));
        sample::write(self.sample, 0, &model)?;
        self.terminal.note(&say!("wrote the model {}", model.display()));
        let (model_text, before_text) = (text(&model), text(&before));
        let steps = [
            self.run(&model, &before, Some(&self.file(".timeline.json")))?,
            self.command(&["advise", &before_text, "--model", &model_text, "--top", "3"])?,
            self.tune(&model)?,
        ];
        if let Some(end) = steps.into_iter().find(|end| *end != Exit::Done) {
            return Ok(end);
        }
        let changed = self.changed(&model)?;
        let end = self.run(&changed, &after, None)?;
        if end != Exit::Done {
            return Ok(end);
        }
        self.command(&["compare", &before_text, &text(&after), "--top", "5"])
    }

    /// Writes the page about the model as it was.
    fn report(&self) -> anyhow::Result<Exit> {
        let [before, model, page] = [".before.db", ".onnx", ".html"].map(|ending| text(&self.file(ending)));
        self.command(&["report", &before, "--model", &model, "-o", &page])
    }

    /// The model to compare with: the tuned one, or, where nothing won, one with all rewrites all the same.
    fn changed(&self, model: &Path) -> anyhow::Result<PathBuf> {
        let tuned = self.file(".tuned.onnx");
        if tuned.exists() {
            return Ok(tuned);
        }
        self.terminal.print(word(
            "\nTuning refused every rewrite. What they do all together, without being asked to win:\n",
        ))?;
        let rewritten = self.file(".rewritten.onnx");
        self.command(&["rewrite", &text(model), "-o", &text(&rewritten)])?;
        Ok(rewritten)
    }

    /// Runs a model and shows the answer.
    fn run(&self, model: &Path, database: &Path, timeline: Option<&Path>) -> anyhow::Result<Exit> {
        self.title(&format!("run {} --db {}", model.display(), database.display()))?;
        let budget = Some(Duration::from_secs(3));
        let options = RunOptions {
            inputs: InputRequest::default(),
            engine: self.arguments.engine.options(),
            auto: self.arguments.engine.auto(),
            repetition: Repetition { budget, ..Repetition::default() },
        };
        let outcome = run_model(model, &options, self.terminal)?;
        AnswerArguments { top: 3, json: false }.print(&outcome.trace, self.terminal)?;
        let files = FileArguments {
            trace: timeline.map(Path::to_owned),
            db: Some(database.to_owned()),
            ..FileArguments::default()
        };
        files.write(&outcome.trace, self.terminal)?;
        Ok(conclude(&outcome, self.terminal))
    }

    fn tune(&self, model: &Path) -> anyhow::Result<Exit> {
        let lossy = if self.allow_lossy { " --allow-lossy" } else { "" };
        self.title(&format!("tune {}{lossy}", model.display()))?;
        let output = self.file(".tuned.onnx");
        // One of an earlier demonstration would be taken for what this one found.
        if output.exists() {
            std::fs::remove_file(&output)?;
        }
        let allow_lossy = self.allow_lossy;
        let tuning = tune::Arguments {
            output: Some(output),
            report: Some(self.file("-tuning")),
            model: model.to_owned(),
            selection: SelectionArguments { allow_lossy, ..SelectionArguments::default() },
            judging: tune::JudgingArguments { duration: TUNING_BUDGET, ..tune::JudgingArguments::default() },
            json: false,
            inputs: InputArguments::default(),
            engine: self.arguments.engine.clone(),
            page: HtmlArguments::default(),
        };
        tune::execute(&tuning, self.terminal)
    }

    /// Another command, as a user would type it.
    fn command(&self, words: &[&str]) -> anyhow::Result<Exit> {
        self.title(&words.join(" "))?;
        (self.carry_out)(words, None, self.terminal)
    }

    fn title(&self, command: &str) -> anyhow::Result<()> {
        Ok(self.terminal.print(&format!("\n{}\n", bold(&format!("$ opscope {command}"))))?)
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn next_steps(model: &Path, page: &Path) -> String {
    let (model, page) = (model.display(), page.display());
    format!(
        "\nLook at {page} in a browser: the timeline, the operators, and what was found.\n\n{}\n  \
         opscope run {model} -t 0                    all operators\n  \
         opscope run {model} --optimize off          the model as it was exported\n  \
         opscope run {model} --engine ort            the same on ONNX Runtime (pip install onnxruntime)\n  \
         opscope rewrite --list                  what tuning can do to a model\n  \
         opscope tune YOUR_MODEL.onnx\n",
        bold(word("Try next:"))
    )
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use clap::Parser;

    use super::*;

    #[test]
    fn the_demonstration_ends_with_a_page_and_names_it() {
        let command = Demo::parse_from(["demo", "-o", "try it"]);
        let asked: RefCell<Vec<String>> = RefCell::default();
        let carry_out = |words: &[&str], _: Option<String>, _: &Terminal| {
            *asked.borrow_mut() = words.iter().map(|word| (*word).to_owned()).collect();
            Ok(Exit::Done)
        };
        let terminal = Terminal::new(true, false);
        let (sample, allow_lossy) = MODELS[0];
        let round = Round {
            sample,
            allow_lossy,
            arguments: &command.arguments,
            carry_out: &carry_out,
            terminal: &terminal,
        };
        assert_eq!(round.report().expect("it is carried out"), Exit::Done);
        let page = "try it/mask-ssd.html";
        let expected = ["report", "try it/mask-ssd.before.db", "--model", "try it/mask-ssd.onnx", "-o", page];
        assert_eq!(*asked.borrow(), expected);
        assert!(next_steps(&round.file(".onnx"), &round.file(".html")).contains(page));
    }

    #[derive(clap::Parser)]
    struct Demo {
        #[command(flatten)]
        arguments: Arguments,
    }
}
