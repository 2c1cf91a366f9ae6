//! `opscope msprof-analyze`: the vendor's analyses of many ranks, with its options and its files.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use opscope_reach_peer::{MODES, Mode, Options, analyze};
use opscope_say::say;

use crate::exit::{Exit, UsageError};
use crate::report::cluster;
use crate::terminal::{StepBar, Terminal};

/// The modes, one a line.
fn modes() -> String {
    let lines = MODES.map(|mode| format!("  {:<29} {}", mode.name(), mode.purpose()));
    format!(
        "Modes:\n{}\n\n\
         Results are in cluster_analysis_output/ of the output's folder, else of the ranks': cluster_analysis.db, \
         or of ranks that have texts alone JSON and CSV. Tables of other modes stay in it. export_summary, \
         p2p_pairing and pp_chart add to the ranks' own files: to copies in a folder of their name in there, or with \
         --into-input to the ranks'. An option that the mode doesn't use is left aside, which is told.\n\n\
         Examples:\n  \
         opscope msprof-analyze -d profiling_data/\n  \
         opscope msprof-analyze cluster -m slow_rank -d profiling_data/ -o results/\n  \
         opscope msprof-analyze -m hccl_sum -d profiling_data/ --rank_list 0,1 --step_id 10\n  \
         opscope msprof-analyze -m cluster_time_compare_summary -d run/ --bp before/\n  \
         opscope msprof-analyze -m pp_chart -d profiling_data/ --into-input\n\n\
         What ranks and links cost, and why, the vendor's modes don't say: opscope cluster does.\n\
         Differences from the vendor's tool are listed in docs/msprof-analyze.md.",
        lines.join("\n")
    )
}

/// The options of `opscope msprof-analyze`.
#[derive(Debug, Args)]
#[command(after_help = modes(), args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    cluster: Cluster,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Analyze the ranks of a run (this is what is done without a word, too)
    #[command(after_help = modes())]
    Cluster(Cluster),
    /// Not here: opscope compare compares two profiles
    #[command(hide = true)]
    Compare(Elsewhere),
    /// Not here: opscope advise says what to change
    #[command(hide = true)]
    Advisor(Elsewhere),
    /// Not here: opscope completions prints a script for shells
    #[command(hide = true)]
    AutoCompletion(Elsewhere),
}

/// The options of a command that isn't here.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
struct Elsewhere {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<String>,
}

#[derive(Debug, Args)]
struct Cluster {
    /// The folder with the collections of all ranks, at any depth
    #[arg(short = 'd', long = "profiling_path", value_name = "DIR", required = true)]
    data: Option<PathBuf>,

    /// The analysis, see below
    #[arg(short, long, value_name = "MODE", default_value = "all", value_parser = Mode::of_name)]
    mode: Mode,

    /// The folder for the results [default: that of the ranks]
    #[arg(short, long = "output_path", value_name = "DIR")]
    output: Option<PathBuf>,

    /// The run to compare with, for cluster_time_compare_summary
    #[arg(long = "bp", value_name = "DIR")]
    base: Option<PathBuf>,

    /// These ranks only, in all modes but cluster_time_compare_summary; texts are written of every rank, and so are steps
    /// and hosts by all, communication_time and communication_matrix
    #[arg(long = "rank_list", value_name = "ID,…|all", default_value = "all")]
    ranks: String,

    /// This step only, for cann_api_sum, cluster_time_compare_summary, cluster_time_summary, communication_bottleneck,
    /// compute_op_sum, ep_load_balance, hccl_sum, mstx_sum, p2p_pairing, pp_chart and slow_rank [default: all]
    #[arg(long = "step_id", value_name = "N", allow_negative_numbers = true)]
    step: Option<i64>,

    /// How many collectives hccl_sum lists and kinds of them slow_link [default: 15], communication_bottleneck looks at
    /// [default: 10], and idle stretches of each rank free_analysis [default: 10]
    #[arg(long = "top_num", value_name = "N")]
    top: Option<usize>,

    /// The rank whose collectives communication_bottleneck looks at [default: 0]
    #[arg(long = "rank_id", value_name = "ID")]
    rank: Option<u32>,

    /// Leave out compute_op_sum's table by operators' names
    #[arg(long = "exclude_op_name")]
    exclude_op_name: bool,

    /// Let export_summary, p2p_pairing and pp_chart add to the files of the ranks, and not to copies
    #[arg(long, conflicts_with = "output")]
    into_input: bool,

    /// The form of the results
    #[arg(long = "export_type", value_name = "FORM", default_value = "db")]
    export: Export,

    /// Taken and without effect: files of any owner and size are read
    #[arg(long, hide_short_help = true)]
    force: bool,

    /// Taken and without effect: all cores are used
    #[arg(long = "parallel_mode", value_name = "NAME", hide_short_help = true)]
    parallel_mode: Option<String>,
}

/// The forms of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Export {
    /// A database
    Db,
    /// Tables as text
    Text,
    /// Notebooks
    Notebook,
}

/// Whether the program was called by the name of the vendor's tool.
pub fn is_called_for(program: &str) -> bool {
    let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
    name.replace('_', "-") == "msprof-analyze"
}

/// Writes what the vendor's tool makes of the ranks.
///
/// # Errors
/// When the options don't go together, there are no ranks, or the result can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let elsewhere = |name: &str, whom: &str| {
        Err(UsageError(format!("msprof-analyze {name} isn't here: {whom}, or the vendor's msprof-analyze"))
            .into())
    };
    let cluster = match &arguments.command {
        None => &arguments.cluster,
        Some(Command::Cluster(cluster)) => cluster,
        Some(Command::Compare(_)) => return elsewhere("compare", "opscope compare compares two profiles"),
        Some(Command::Advisor(_)) => return elsewhere("advisor", "opscope advise says what to change"),
        Some(Command::AutoCompletion(_)) => {
            return elsewhere("auto-completion", "opscope completions prints a script for shells");
        }
    };
    let mut options = options_of(cluster)?;
    for warning in leave_unused_aside(&mut options) {
        terminal.warn(&warning);
    }
    let bar = StepBar::new(terminal);
    bar.step(&format!("{} of {}", options.mode.name(), options.data.display()));
    let done = analyze(&options);
    drop(bar);
    let done = match done {
        Err(error) if error.is_usage() => return Err(UsageError(error.to_string()).into()),
        done => done?,
    };
    if !done.left_out.is_empty() {
        terminal.warn(&cluster::left_out_of_results(&done.left_out, done.from_databases));
    }
    for line in cluster::losses_lines(&done.losses).iter().chain(&done.remarks) {
        terminal.warn(line);
    }
    let mode = options.mode.name();
    let read = match (done.ranks, done.from_databases) {
        (0, _) => mode.to_owned(),
        (1, is) => format!("{mode} of 1 rank ({})", form(is)),
        (ranks, is) => format!("{mode} of {ranks} ranks ({})", form(is)),
    };
    let text = match done.has_results {
        true => format!("{read}: {}\n", done.folder.display()),
        false => format!("{read}: nothing was found, so nothing was written\n"),
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}

fn form(is_database: bool) -> &'static str {
    if is_database { "databases" } else { "texts" }
}

/// The analysis that the words ask for.
fn options_of(cluster: &Cluster) -> Result<Options, UsageError> {
    let refused = |text: String| Err(UsageError(text));
    match cluster.export {
        Export::Db => {}
        Export::Text => {
            return refused("--export_type text isn't here yet; a database is: --export_type db".into());
        }
        Export::Notebook => {
            return refused("--export_type notebook isn't here: the vendor's msprof-analyze has it".into());
        }
    }
    let Some(data) = &cluster.data else { return refused("-d is missing: the folder with the ranks".into()) };
    let ranks = match &*cluster.ranks {
        "all" => None,
        list => Some(ranks_of(list)?),
    };
    let step = cluster.step.filter(|step| *step != -1);
    if cluster.into_input && !cluster.mode.adds_to_ranks() {
        let (modes, name) = (names_of(Mode::adds_to_ranks), cluster.mode.name());
        return refused(format!("--into-input belongs to {modes}, not to {name}"));
    }
    Ok(Options {
        output: cluster.output.clone(),
        ranks,
        step,
        top: cluster.top,
        rank: cluster.rank,
        exclude_op_name: cluster.exclude_op_name,
        base: cluster.base.clone(),
        into_input: cluster.into_input,
        ..Options::new(cluster.mode, data.clone())
    })
}

/// Takes away the options that the mode doesn't use, and says so of each: the vendor's tool takes them with every mode, so
/// that scripts give all modes the same.
fn leave_unused_aside(options: &mut Options) -> Vec<String> {
    let mode = options.mode;
    let mut exclude_op_name = options.exclude_op_name.then_some(());
    let warnings = [
        leave_aside(&mut options.ranks, "--rank_list", mode, Mode::chooses_ranks),
        leave_aside(&mut options.step, "--step_id", mode, Mode::chooses_step),
        leave_aside(&mut options.top, "--top_num", mode, lists_so_many),
        leave_aside(&mut options.rank, "--rank_id", mode, |mode| mode == Mode::CommunicationBottleneck),
        leave_aside(&mut exclude_op_name, "--exclude_op_name", mode, |mode| mode == Mode::ComputeOpSum),
        leave_aside(&mut options.base, "--bp", mode, |mode| mode == Mode::ClusterTimeCompareSummary),
    ];
    options.exclude_op_name = exclude_op_name.is_some();
    warnings.into_iter().flatten().collect()
}

/// Takes a value away, and returns what to say of it, if the option was given and the mode doesn't use it.
fn leave_aside<T>(
    value: &mut Option<T>,
    option: &str,
    mode: Mode,
    uses_it: fn(Mode) -> bool,
) -> Option<String> {
    if uses_it(mode) {
        return None;
    }
    value.take()?;
    let (name, modes) = (mode.name(), names_of(uses_it));
    Some(say!("{name} doesn't use {option}, which is left aside; it is for {modes}"))
}

/// Whether a mode lists a number of things that can be asked for.
fn lists_so_many(mode: Mode) -> bool {
    matches!(mode, Mode::HcclSum | Mode::SlowLink | Mode::FreeAnalysis | Mode::CommunicationBottleneck)
}

/// The names of some modes, for a sentence.
fn names_of(is_one: fn(Mode) -> bool) -> String {
    let names: Vec<&str> = MODES.into_iter().filter(|mode| is_one(*mode)).map(Mode::name).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.join(", "),
    }
}

/// A list of ranks such as `0,1,2`.
fn ranks_of(list: &str) -> Result<Vec<u32>, UsageError> {
    let number = |text: &str| {
        text.trim().parse().map_err(|_| {
            UsageError(format!("--rank_list takes 'all' or ranks such as 0,1,2; '{}' is none", text.trim()))
        })
    };
    list.split(',').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::is_called_for;

    #[test]
    fn the_vendors_name_is_known_with_any_folder_before_it() {
        assert!(is_called_for("/usr/bin/msprof-analyze") && is_called_for("msprof_analyze"));
        assert!(!is_called_for("msprof") && !is_called_for("opscope"));
    }
}
