//! `opscope query`: what the raw directories of Ascend hold.

use std::path::PathBuf;

use clap::Args;
use opscope_cann::{HOST_ID, Joined, Metadata};
use serde::Serialize;
use serde_json::Value;

use crate::exit::Exit;
use crate::profile;
use crate::terminal::{StepBar, Terminal};

const EXAMPLES: &str = "\
Examples:
  opscope query PROF_000001_20251009085320000_ABCDEFGH
  opscope query output/ --json

The columns are those of the vendor's tool. The model ids and iteration numbers are those that
'opscope export' takes as --model-id and --iteration-id; the iterations that took longest are listed
first in the column Top Time Iteration.";

/// The options of `opscope query`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A raw directory (PROF_*, JOB*), or one above several
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Print the rows as JSON
    #[arg(long)]
    json: bool,
}

/// A line of the table: a host, or a model on a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The profile's directory.
    profile: String,
    job: String,
    device_id: u32,
    directory: String,
    collection_time: String,
    model_id: Option<u64>,
    iterations: Option<u64>,
    /// Up to five numbers of iterations, the longest first.
    top_time_iterations: Vec<u64>,
    rank_id: i64,
    /// What was lost of the profile.
    losses: Vec<Value>,
}

/// Prints what the profiles of a directory hold.
///
/// # Errors
/// When there is none, or the only one can't be read.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let profiles = profile::raw(&arguments.directory, terminal)?;
    let mut all = Vec::new();
    let exit = profile::each(profiles, terminal, |profile| {
        let bar = StepBar::new(terminal);
        let joined = profile::join(profile, &bar)?;
        drop(bar);
        let lines = lines(&joined);
        let path = &joined.data.profile.path;
        profile::warn(&profile::losses_of_joined(&joined), path, terminal);
        if !arguments.json {
            // Several profiles are told apart by a line of their own, which the vendor's tool lacks.
            terminal.note(&format!("{}:", path.display()));
            terminal.print(&table(&lines))?;
        }
        all.extend(lines);
        Ok(())
    })?;
    if arguments.json {
        terminal.print(&format!("{}\n", serde_json::to_string_pretty(&all)?))?;
    }
    Ok(exit)
}

/// What a profile holds: a line for each device and model, and one for the host.
pub fn lines(joined: &Joined) -> Vec<Line> {
    let profile = &joined.data.profile;
    let losses = profile::losses_of(&profile::losses_of_joined(joined), &profile.path);
    let mut lines = Vec::new();
    for source in profile.devices.iter().chain(&profile.host) {
        // A directory of 2022 is host and device in one.
        let is_device = !source.metadata.info.is_host;
        if !is_device && lines.iter().any(|line: &Line| line.directory == source.name()) {
            continue;
        }
        let base = |metadata: &Metadata| Line {
            profile: profile.path.display().to_string(),
            job: if metadata.info.job.is_empty() { "NA".to_owned() } else { metadata.info.job.clone() },
            device_id: source.id(),
            directory: source.name(),
            collection_time: metadata.session.begin_date.clone(),
            model_id: None,
            iterations: None,
            top_time_iterations: Vec::new(),
            rank_id: metadata.info.rank,
            losses: losses.clone(),
        };
        let base = base(&source.metadata);
        let models = if base.device_id == HOST_ID { Vec::new() } else { models(joined, source.id()) };
        if models.is_empty() {
            lines.push(base);
            continue;
        }
        lines.extend(models.into_iter().map(|(model, iterations, top)| Line {
            model_id: Some(model),
            iterations: Some(iterations),
            top_time_iterations: top,
            ..base.clone()
        }));
    }
    lines
}

/// The models that a device ran: number, how many iterations, and those that took longest.
fn models(joined: &Joined, device: u32) -> Vec<(u64, u64, Vec<u64>)> {
    /// How many iterations are named.
    const TOP: usize = 5;
    let Some(device) = joined.devices.get(&device) else { return Vec::new() };
    let known = joined.inferences().into_keys();
    let models = known.map(|model| {
        let of_model = device.iterations.rows().filter(|iteration| iteration.model == model);
        let mut times: Vec<(u64, u64)> =
            (1..).zip(of_model.map(|it| it.end.saturating_sub(it.start))).collect();
        let count = times.len() as u64;
        times.sort_by_key(|(number, time)| (std::cmp::Reverse(*time), *number));
        (model, count, times.into_iter().take(TOP).map(|(number, _)| number).collect())
    });
    models.filter(|(_, count, _)| *count > 0).collect()
}

/// The lines as the vendor's tool prints them: cells padded to the longest of their column, each with
/// a tab behind it, and an empty line below each.
pub fn table(lines: &[Line]) -> String {
    const HEADINGS: [&str; 8] = [
        "Job Info",
        "Device ID",
        "Dir Name",
        "Collection Time",
        "Model ID",
        "Iteration Number",
        "Top Time Iteration",
        "Rank ID",
    ];
    let missing = || "N/A".to_owned();
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(lines.iter().map(|line| {
        let top: Vec<String> = line.top_time_iterations.iter().map(u64::to_string).collect();
        [
            line.job.clone(),
            line.device_id.to_string(),
            line.directory.clone(),
            line.collection_time.clone(),
            line.model_id.map_or_else(missing, |model| model.to_string()),
            line.iterations.map_or_else(missing, |count| count.to_string()),
            if top.is_empty() { missing() } else { top.join(",") },
            line.rank_id.to_string(),
        ]
    }));
    let widths: [usize; 8] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(widths) {
            text.push_str(&format!("{cell:width$}\t"));
        }
        text.push_str("\n\n");
    }
    text
}
