//! The command line: options, what their help says, and the command that each word stands for.

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use opscope_run::EngineKind;

use crate::commands;
use crate::exit::Exit;
use crate::help;
use crate::language::Wish;
use crate::terminal::Terminal;

/// Finds out why a neural network's inference is slow: which operator costs the time, what it
/// computes, and what it moves.
#[derive(Debug, Parser)]
#[command(
    name = "opscope",
    version = VERSION,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = AFTER_HELP
)]
pub struct Cli {
    /// Print nothing but the answer, warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say more about what is done
    #[arg(short, long, global = true)]
    pub verbose: bool,

    /// Refuse what takes more memory than this, such as 8GB or 512MiB: inputs and values of models,
    /// compressed files, answers in SQL. Large columns of profiles share a quarter of it, 768 MiB at most (128 MiB of many ranks), and lie in
    /// files beyond that [default: four fifths of what is free]
    #[arg(long, global = true, value_name = "BYTES", value_parser = opscope_trace::units::parse_bytes)]
    pub memory: Option<u64>,

    /// The language of what is said, en or zh; auto is that of OPSCOPE_LANG, else of the locale [default: auto].
    /// Names of columns in files, and answers in JSON and CSV, are the same in every language
    #[arg(long, global = true, value_name = "LANGUAGE", value_enum, hide_possible_values = true)]
    pub lang: Option<Wish>,

    /// The command
    #[command(subcommand)]
    pub command: Command,
}

const VERSION: &str = if EngineKind::IS_ONE_EMBEDDED {
    env!("CARGO_PKG_VERSION")
} else {
    concat!(env!("CARGO_PKG_VERSION"), " (without an engine of its own)")
};

const AFTER_HELP: &str = "\
Examples:
  opscope demo                               see it at work on a model of its own
  opscope run model.onnx                     where does the time of an inference go?
  opscope run model.onnx --engine ort        the same on ONNX Runtime
  opscope collect -- python3 detect.py       run a program and see where its time goes
  opscope tune model.onnx --engine ort       make it faster, and prove it
  opscope import onnxruntime_profile.json    read a profile that another tool wrote
  opscope advise PROF_000001/ --model m.onnx what to change, by what it could save
  opscope formats                            what can be read, and what of it
  opscope report PROF_… -o report.html       see it: a page in one file
  opscope serve PROF_…                       look at it in the browser, whatever its size
  opscope mcp profiles/                      let an agent ask (started by the agent)
  opscope compare before.db after.db         what a change did, operator by operator
  opscope export all PROF_…                  a run on Ascend as its vendor's tool would export it
  opscope analyze profile.json --group-by type --sort count
  opscope profile_analyze profile.json -t 5 --type ConvolutionForward

Exit status:
  0    done
  1    the work failed
  2    the command line is wrong
  3    undecided: a comparison lies within the noise
  130  stopped by the user; what was measured until then is reported

Environment:
  NO_COLOR         set it to print without colours; a pipe or a file never gets any
  ORT_DYLIB_PATH   the shared library of ONNX Runtime
  OPSCOPE_LANG     en or zh: the language of what is said; else the locale decides (LC_ALL, LC_MESSAGES, LANG)

Called by the name of msprof, msprof-analyze, load_and_run or profile_analyze (a link), it is that command.

Data goes to standard output, everything else to standard error.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a sample model and show where its time goes
    Demo(commands::demo::Arguments),
    /// Run an ONNX model and show where its time goes, operator by operator
    Run(commands::run::Arguments),
    /// Run a program and record what it does: its marks, ONNX Runtime's operators, the host
    Collect(Box<commands::collect::Arguments>),
    /// Explain a known error message, a topic such as UB fusion, or a rule of `advise`
    Explain(commands::explain::Arguments),
    /// Rewrite an ONNX model step by step, measure each step, and keep what wins
    Tune(commands::tune::Arguments),
    /// Rewrite an ONNX model without measuring
    Rewrite(commands::rewrite::Arguments),
    /// Read a profile that another tool wrote
    Import(commands::import::Arguments),
    /// Write the tables, timelines and databases that the vendor's tool makes of a run on Ascend
    Export(commands::export::Arguments),
    /// Do what the vendor's msprof does with runs on Ascend, with the same spellings
    Msprof(commands::msprof::Arguments),
    /// Do what the vendor's msprof-analyze does with the profiles of many ranks, with the same options and files
    #[command(name = "msprof-analyze")]
    MsprofAnalyze(commands::msprof_analyze::Arguments),
    /// Show what runs on Ascend hold: devices, models, iterations
    Query(commands::query::Arguments),
    /// Show a run on Ascend in four tables: core metrics, operators, calls, frequency
    Show(commands::show::Arguments),
    /// Show on which unit an operator ran, its tasks and its share
    Where(commands::locate::Arguments),
    /// List the formats that opscope reads and writes, and on what that was tried
    Formats(commands::formats::Arguments),
    /// Say what a file or folder is, what is in it, and what is missing or damaged
    Info(commands::info::Arguments),
    /// Ask a profile of any format where its time went: filter, group, sort, compare with the roof
    Analyze(commands::analyze::Arguments),
    /// Ask a profile of any format in SQL
    Sql(commands::sql::Arguments),
    /// Write a profile as a page in one file, to look at and to send: timeline, operators, advice
    Report(commands::report::Arguments),
    /// Show profiles of any size as a page in the browser, from this machine alone
    Serve(commands::serve::Arguments),
    /// Answer the questions of an agent about profiles, by the Model Context Protocol
    Mcp(commands::mcp::Arguments),
    /// Measure how fast this machine computes and moves bytes
    Peak(commands::peak::Arguments),
    /// Say what to change, by what it could save at most
    Advise(commands::advise::Arguments),
    /// Compare two profiles: what got faster, slower, vanished, appeared or merged
    Compare(commands::compare::Arguments),
    /// Pass or fail a change by its time, for continuous integration
    Check(commands::check::Arguments),
    /// Find out which rank or link of a run on many devices costs all of them how much, and why
    Cluster(commands::cluster::Arguments),
    /// Predict what a change would save before you make it
    #[command(name = "whatif", visible_alias = "what-if")]
    WhatIf(commands::whatif::Arguments),
    /// Show which chains of a model an accelerator can fuse, and where each stops
    Fusion(commands::fusion::Arguments),
    /// Run a model by the command line of MegEngine's own load_and_run
    #[command(name = "load_and_run")]
    LoadAndRun(commands::load_and_run::Arguments),
    /// Ask a MegEngine profile what MegEngine's own profile_analyze asks it, with the same options
    #[command(name = "profile_analyze")]
    ProfileAnalyze(commands::profile_analyze::Arguments),
    /// Write a sample model
    Sample(commands::sample::Arguments),
    /// Print a script that completes commands and options in a shell
    Completions(commands::completions::Arguments),
    /// Print the manual as a man page
    Man(commands::man::Arguments),
}

impl Command {
    /// Whether scripts and agents read what it says, which therefore is the same in every language: drop-in commands,
    /// the protocol of agents.
    pub fn is_for_programs(&self) -> bool {
        matches!(
            self,
            Self::Mcp(_)
                | Self::Msprof(_)
                | Self::MsprofAnalyze(_)
                | Self::LoadAndRun(_)
                | Self::ProfileAnalyze(_)
        )
    }

    /// Whether it reads the databases of many ranks on several threads, and asks none of them a question that somebody
    /// else wrote.
    pub fn reads_many_databases(&self) -> bool {
        matches!(self, Self::Cluster(_) | Self::MsprofAnalyze(_))
    }

    /// The memory in bytes that large columns may take together; beyond that they lie in files.
    pub fn columns_in_memory(&self) -> usize {
        match self {
            _ if self.reads_many_databases() => opscope_reach::COLUMNS_IN_MEMORY,
            _ => opscope_columns::COMMON_BUDGET,
        }
    }

    /// Carries it out.
    ///
    /// # Errors
    /// When it can't be done.
    pub fn execute(self, terminal: &Terminal) -> anyhow::Result<Exit> {
        match self {
            Command::Demo(arguments) => commands::demo::execute(&arguments, &carry_out, terminal),
            Command::Run(arguments) => commands::run::execute(&arguments, terminal),
            Command::Collect(arguments) => commands::collect::execute(&arguments, terminal),
            Command::Explain(arguments) => commands::explain::execute(&arguments, terminal),
            Command::Tune(arguments) => commands::tune::execute(&arguments, terminal),
            Command::Rewrite(arguments) => commands::rewrite::execute(&arguments, terminal),
            Command::Import(arguments) => commands::import::execute(&arguments, terminal),
            Command::Export(arguments) => commands::export::execute(&arguments, terminal),
            Command::Msprof(arguments) => commands::msprof::execute(&arguments, terminal),
            Command::MsprofAnalyze(arguments) => commands::msprof_analyze::execute(&arguments, terminal),
            Command::Query(arguments) => commands::query::execute(&arguments, terminal),
            Command::Show(arguments) => commands::show::execute(&arguments, terminal),
            Command::Where(arguments) => commands::locate::execute(&arguments, terminal),
            Command::Analyze(arguments) => commands::analyze::execute(&arguments, terminal),
            Command::Report(arguments) => commands::report::execute(&arguments, terminal),
            Command::Serve(arguments) => commands::serve::execute(&arguments, terminal),
            Command::Mcp(arguments) => commands::mcp::execute(&arguments, terminal),
            Command::Peak(arguments) => commands::peak::execute(&arguments, terminal),
            Command::Advise(arguments) => commands::advise::execute(&arguments, terminal),
            Command::Compare(arguments) => commands::compare::execute(&arguments, terminal),
            Command::Check(arguments) => commands::check::execute(&arguments, terminal),
            Command::Cluster(arguments) => commands::cluster::execute(&arguments, terminal),
            Command::WhatIf(arguments) => commands::whatif::execute(&arguments, terminal),
            Command::Fusion(arguments) => commands::fusion::execute(&arguments, terminal),
            Command::LoadAndRun(arguments) => {
                commands::load_and_run::execute(&arguments, &carry_out, terminal)
            }
            Command::ProfileAnalyze(arguments) => commands::profile_analyze::execute(&arguments),
            Command::Sql(arguments) => commands::sql::execute(&arguments, terminal),
            Command::Formats(arguments) => commands::formats::execute(&arguments, terminal),
            Command::Info(arguments) => commands::info::execute(&arguments, terminal),
            Command::Sample(arguments) => commands::sample::execute(&arguments, terminal),
            Command::Completions(arguments) => {
                commands::completions::execute(&arguments, Cli::command(), terminal)
            }
            Command::Man(arguments) => commands::man::execute(&arguments, Cli::command(), terminal),
        }
    }
}

/// Carries out a command line, given without the program's name; `usage` stands in for the command's own where
/// the user typed it in another form.
///
/// # Errors
/// When the command can't be done.
pub fn carry_out(words: &[&str], usage: Option<String>, terminal: &Terminal) -> anyhow::Result<Exit> {
    let mut parser = Cli::command();
    if let (Some(usage), Some(command)) = (usage, words.first()) {
        parser = parser.mut_subcommand(command, |command| command.override_usage(usage));
    }
    let words_of_all = std::iter::once(&"opscope").chain(words);
    let matches = parser.clone().try_get_matches_from(words_of_all.clone());
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(parsed) => parsed.command.execute(terminal),
        Err(problem) => {
            let problem = help::in_readers_language(problem, || parser, words_of_all);
            help::print(&problem, words.iter().copied());
            Ok(Exit::of_parsing(&problem, false))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The helps of options whose words depend on their values.
    fn composed(command: &clap::Command) -> BTreeSet<String> {
        let of_values =
            |option: &&clap::Arg| option.get_value_names().is_some_and(|names| names == ["VALUE"]);
        let own = command.get_arguments().filter(of_values).filter_map(|option| option.get_help());
        let mut all: BTreeSet<String> = own.map(ToString::to_string).collect();
        command.get_subcommands().for_each(|command| all.extend(composed(command)));
        all
    }

    #[test]
    fn every_text_of_the_help_has_one_in_chinese() {
        let entries = opscope_say::entries().expect("every table can be read");
        let known: BTreeSet<String> = entries.into_iter().map(|entry| entry.id).collect();
        let composed = composed(&Cli::command());
        let mut asked = help::asked_by(Cli::command());
        asked.extend(help::asked_by_hand(commands::msprof::HELP));
        asked.extend(help::asked_by_hand(opscope_formats::megengine::analyze::HELP));
        let missing: Vec<&String> =
            asked.difference(&known).filter(|text| !composed.contains(*text)).collect();
        assert!(asked.len() > 600, "{}", asked.len());
        assert!(
            missing.is_empty(),
            "without a text in Chinese (crates/say/texts/help.zh.toml):\n{missing:#?}"
        );
    }
}
