//! The contents of raw directories, as the vendor's tool prints them and as JSON.

use opscope_cann::{HOST_ID, Joined, Metadata};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Envelope, Table, TableColumn, padded};
use crate::profile::{self, RawProfile};
use crate::terminal::{bold, printable};

/// A row: a host, or a model on a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContentsRow {
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
    /// The losses of the profile.
    losses: Vec<Value>,
}

/// The contents of a profile: a row for each device and model, and one for the host.
pub fn contents(raw: &RawProfile) -> Vec<ContentsRow> {
    let joined = &raw.joined;
    let profile = &joined.data.profile;
    let losses = profile::losses_of(&profile::losses_of_joined(raw), &profile.path);
    let mut lines = Vec::new();
    for source in profile.devices.iter().chain(&profile.host) {
        // A directory of 2022 is host and device in one.
        let is_device = !source.metadata.info.is_host;
        if !is_device && lines.iter().any(|line: &ContentsRow| line.directory == source.name()) {
            continue;
        }
        let base = |metadata: &Metadata| ContentsRow {
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
        lines.extend(models.into_iter().map(|(model, iterations, top)| ContentsRow {
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

/// The columns of the vendor's tool.
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

/// The lines as the vendor's tool prints them: cells padded to the longest of their column, each with
/// a tab behind it, and an empty line below each.
pub fn table(lines: &[ContentsRow]) -> String {
    let missing = || "N/A".to_owned();
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(lines.iter().map(|line| {
        let top: Vec<String> = line.top_time_iterations.iter().map(u64::to_string).collect();
        [
            printable(&line.job).into_owned(),
            line.device_id.to_string(),
            printable(&line.directory).into_owned(),
            printable(&line.collection_time).into_owned(),
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
            text.push_str(&padded(cell, width));
            text.push('\t');
        }
        text.push_str("\n\n");
    }
    text
}

/// The same of a profile that has the host only, in a table for a terminal.
pub fn host_text(name: &str, begin: &str, width: Option<u16>) -> String {
    let mut table = Table::new(HEADINGS.map(TableColumn::text));
    table.row(["NA", "host", "host", begin, "N/A", "N/A", "N/A", "N/A"]);
    format!("{}\n{}\n", bold(&printable(name)), table.to_text(width))
}

/// The rows for programs; what was lost of a profile stands with each of its rows, and once for all of them.
///
/// # Errors
/// When a figure has no form in JSON, which would be a fault of this program.
pub fn to_json(rows: &[ContentsRow]) -> anyhow::Result<Envelope<Value>> {
    let firsts = rows.chunk_by(|a, b| a.profile == b.profile).filter_map(<[_]>::first);
    let losses = firsts.flat_map(|row| row.losses.clone()).collect();
    Ok(Envelope::new(1, json!({ "rows": serde_json::to_value(rows)? })).with_losses(losses))
}
