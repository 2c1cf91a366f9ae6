//! Ranks as the profiler's text results have them.

use std::collections::BTreeMap;
use std::path::Path;

use opscope_formats::reading::decimal;
use serde::Deserialize;

use super::from_database::step_number;
use super::{Recording, StatedStep};
use crate::discover::{Collection, key_of_text};
use crate::error::{Loss, LossReason};
use crate::json_tree::each_value;
use crate::rows::{CollectiveType, LinkRow, TaskSpan, Transport};

/// An operation of `communication.json`.
#[derive(Deserialize)]
pub struct Times {
    #[serde(rename = "Communication Time Info")]
    times: Option<Timing>,
    #[serde(rename = "Communication Bandwidth Info", default)]
    transports: BTreeMap<String, Traffic>,
}

#[derive(Deserialize)]
struct Timing {
    /// Sums have none.
    #[serde(rename = "Start Timestamp(us)", default)]
    start_us: Option<f64>,
    #[serde(rename = "Elapse Time(ms)")]
    elapsed_ms: f64,
    #[serde(rename = "Transit Time(ms)", default)]
    transit_ms: Option<f64>,
    #[serde(rename = "Wait Time(ms)", default)]
    wait_ms: Option<f64>,
    #[serde(rename = "Synchronization Time(ms)", default)]
    sync_ms: Option<f64>,
}

impl Times {
    /// The start in microseconds; and transfer, waiting and what of it was before the first transfer, in milliseconds.
    pub fn parts(&self) -> Option<(f64, [Option<f64>; 3])> {
        let times = self.times.as_ref()?;
        Some((times.start_us?, [times.transit_ms, times.wait_ms, times.sync_ms]))
    }
}

/// The traffic over a link.
#[derive(Deserialize)]
pub struct Traffic {
    #[serde(rename = "Transport Type", default)]
    transport: String,
    #[serde(rename = "Transit Size(MB)", default)]
    megabytes: f64,
    #[serde(rename = "Transit Time(ms)", default)]
    milliseconds: f64,
}

/// Reads what a collection has as text, and what was not in its databases.
pub fn read(collection: &Collection, recording: &mut Recording, losses: &mut Vec<Loss>) {
    let outputs = &collection.outputs;
    let mut tell = |path: &Path, done: Result<(), String>| {
        if let Err(detail) = done {
            let loss = Loss::new(Some(collection.rank), path.display().to_string(), LossReason::Damaged, 1);
            losses.push(loss.because(detail));
        }
    };
    if let Some(path) = outputs.kernels.as_ref().filter(|_| recording.tasks.is_empty()) {
        tell(path, read_kernels(path, recording));
    }
    if let Some(path) = outputs.communication.as_ref().filter(|_| recording.collectives.is_empty()) {
        // These stand for those of the databases.
        let unmatchable = std::mem::take(&mut recording.unmatchable);
        tell(path, read_communication(path, recording));
        if recording.collectives.is_empty() {
            recording.unmatchable.add(unmatchable);
        }
    }
    if let Some(path) = outputs.matrix.as_ref().filter(|_| recording.links.is_empty()) {
        tell(path, read_matrix(path, recording));
    }
    if let Some(path) = &outputs.steps {
        match recording.steps.is_empty() {
            true => {
                tell(path, read_steps(path, recording));
                recording.steps_from = Some(path.clone()).filter(|_| !recording.steps.is_empty());
            }
            false => tell(path, read_other_steps(path, recording)),
        }
    }
    losses.extend(add_steps(collection.rank, recording));
}

/// Adds steps that a table of steps lacks and another one states, where both tell lengths alone; where one tells times,
/// what the rank has in them is looked at.
fn add_steps(rank: u32, recording: &mut Recording) -> Option<Loss> {
    let are_lengths = recording.steps.iter().all(|step| step.start_ns.is_none());
    let source = recording.steps_from.as_ref().filter(|_| are_lengths)?.display().to_string();
    let is_lacking = |step: &i32| !recording.stated.contains_key(step);
    let lacking: Vec<i32> = recording.other_steps.keys().copied().filter(is_lacking).collect();
    for step in &lacking {
        let stated = recording.other_steps[step];
        recording.stated_step(*step, stated);
    }
    let detail = "it lacks steps that another table of the rank has";
    let loss = Loss::new(Some(rank), source, LossReason::Damaged, lacking.len() as u64).because(detail);
    (!lacking.is_empty()).then_some(loss)
}

/// The place of a column by its heading.
pub fn column(headings: &csv::ByteRecord, name: &str) -> Option<usize> {
    headings.iter().position(|heading| heading.trim_ascii() == name.as_bytes())
}

/// Whether a unit of `kernel_details.csv` computes; collectives are listed among the kernels, too.
pub fn computes(unit: &[u8]) -> bool {
    let unit = unit.trim_ascii();
    !matches!(unit, b"HCCL" | b"COMMUNICATION" | b"N/A" | b"")
}

fn read_kernels(path: &Path, recording: &mut Recording) -> Result<(), String> {
    let mut reader = csv::Reader::from_path(path).map_err(|error| error.to_string())?;
    let headings = reader.byte_headers().map_err(|error| error.to_string())?.clone();
    let place = |name| column(&headings, name).ok_or(format!("it has no column {name}"));
    let (start, duration) = (place("Start Time(us)")?, place("Duration(us)")?);
    let unit = place("Accelerator Core")?;
    let mut row = csv::ByteRecord::new();
    while reader.read_byte_record(&mut row).map_err(|error| error.to_string())? {
        if !row.get(unit).is_some_and(computes) {
            continue;
        }
        let time = |column: usize| row.get(column).and_then(|text| decimal::from_micros(text).ok());
        if let (Some(start), Some(duration)) = (time(start), time(duration)) {
            let end_ns = start.0.saturating_add(duration.0);
            recording.tasks.push(TaskSpan { start_ns: start.0, end_ns });
        }
    }
    Ok(())
}

/// Reads `communication.json`: steps, kinds (`p2p`, `collective`), operations.
fn read_communication(path: &Path, recording: &mut Recording) -> Result<(), String> {
    each_value(path, 3, |names, times: Times| {
        if let [step, _, operation] = names {
            enter_times(step, operation, &times, recording);
        }
    })
}

/// The name and the group of an operation (`NAME@GROUP`); none of sums, which stand among those they sum up.
pub fn named_operation(operation: &str) -> Option<(&str, &str)> {
    operation.split_once('@').filter(|_| !operation.starts_with("Total"))
}

/// Enters an operation by its name and group.
pub fn enter_times(step: &str, operation: &str, times: &Times, recording: &mut Recording) {
    let (Some((name, group)), Some(timing)) = (named_operation(operation), &times.times) else { return };
    let Some(start_us) = timing.start_us else { return };
    let (start, duration) = ((start_us * 1e3) as i64, (timing.elapsed_ms * 1e6) as i64);
    let entered = recording.collective(name, key_of_text(group), step_number(step), start, duration);
    if let Some(entered) = entered {
        // SDMA repeats what its kinds of links carried.
        let carried = times.transports.iter().filter(|(transport, _)| *transport != "SDMA");
        entered.bytes = (carried.map(|(_, traffic)| traffic.megabytes).sum::<f64>() * 1e6) as u64;
    }
}

/// Reads `communication_matrix.json`: steps, kinds, operations, links.
fn read_matrix(path: &Path, recording: &mut Recording) -> Result<(), String> {
    each_value(path, 4, |names, traffic: Traffic| {
        if let [step, _, operation, ranks] = names {
            recording.links.extend(link(step, operation, ranks, &traffic));
        }
    })
}

/// The traffic of all operations of a kind and group (`KIND-total@GROUP`) between two ranks (`SRC-DST`).
pub fn link(step: &str, operation: &str, ranks: &str, traffic: &Traffic) -> Option<LinkRow> {
    let (kind, group) = operation.split_once("-total@")?;
    let (src, dst) = ranks.split_once('-')?;
    Some(LinkRow {
        group_key: key_of_text(group),
        kind: CollectiveType::of_name(kind),
        step: step_number(step),
        src: src.parse().ok()?,
        dst: dst.parse().ok()?,
        transport: Transport::of_word(&traffic.transport),
        bytes: traffic.megabytes * 1e6,
        time_ns: traffic.milliseconds * 1e6,
    })
}

fn read_steps(path: &Path, recording: &mut Recording) -> Result<(), String> {
    each_step(path, |_, step, stated| recording.stated_step(step, stated))
}

fn read_other_steps(path: &Path, recording: &mut Recording) -> Result<(), String> {
    each_step(path, |_, step, stated| {
        recording.other_steps.entry(step).or_insert(stated);
    })
}

/// Takes the rows of a table of steps, each with the rank that the row is of, where the table is one of all ranks.
pub fn each_step(path: &Path, mut take: impl FnMut(Option<u32>, i32, StatedStep)) -> Result<(), String> {
    let mut reader = csv::Reader::from_path(path).map_err(|error| error.to_string())?;
    let headings = reader.byte_headers().map_err(|error| error.to_string())?.clone();
    let columns = ["Computing", "Communication(Not Overlapped)", "Overlapped", "Free", "Preparing"];
    let columns = columns.map(|name| column(&headings, name));
    let [step, kind, index] = ["Step", "Type", "Index"].map(|name| column(&headings, name));
    let mut row = csv::ByteRecord::new();
    while reader.read_byte_record(&mut row).map_err(|error| error.to_string())? {
        let text = |column: usize| std::str::from_utf8(row.get(column)?).ok().map(str::trim);
        let number = |column: usize| text(column)?.parse::<f64>().ok().filter(|it| it.is_finite());
        let Some(step) = step.and_then(text).and_then(|text| text.parse::<i32>().ok()) else { continue };
        // Stages stand in the table of all ranks as well.
        let is_rank = kind.and_then(text).is_none_or(|kind| kind == "rank");
        let rank = index.and_then(text).and_then(|rank| rank.parse().ok()).filter(|_| is_rank);
        let [computing, exposed, overlapped, free, preparing] = columns.map(|column| number(column?));
        take(rank, step, StatedStep { computing, exposed, overlapped, free, preparing });
    }
    Ok(())
}
