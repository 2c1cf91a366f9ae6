//! Ranks as the profiler's text results have them.

use std::collections::BTreeMap;
use std::path::Path;

use opscope_formats::reading::decimal;
use serde::Deserialize;

use super::from_database::step_number;
use super::{Recording, StatedStep};
use crate::discover::{Collection, key_of_text};
use crate::error::{Loss, LossReason};
use crate::rows::{CollectiveType, LinkRow, TaskSpan, Transport};

/// Steps, kinds (`p2p`, `collective`), and operations by name and group.
type Tree<Operation> = BTreeMap<String, BTreeMap<String, BTreeMap<String, Operation>>>;

/// An operation of `communication.json`.
#[derive(Deserialize)]
struct Times {
    #[serde(rename = "Communication Time Info")]
    times: Option<Timing>,
    #[serde(rename = "Communication Bandwidth Info", default)]
    transports: BTreeMap<String, Traffic>,
}

#[derive(Deserialize)]
struct Timing {
    #[serde(rename = "Start Timestamp(us)")]
    start_us: f64,
    #[serde(rename = "Elapse Time(ms)")]
    elapsed_ms: f64,
}

/// The traffic over a link.
#[derive(Deserialize)]
struct Traffic {
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
    let mut unnumbered = 0;
    if let Some(path) = outputs.communication.as_ref().filter(|_| recording.collectives.is_empty()) {
        tell(path, read_communication(path, recording, &mut unnumbered));
    }
    if let Some(path) = outputs.matrix.as_ref().filter(|_| recording.links.is_empty()) {
        tell(path, read_matrix(path, recording));
    }
    if let Some(path) = outputs.steps.as_ref().filter(|_| recording.steps.is_empty()) {
        tell(path, read_steps(path, recording));
    }
    if unnumbered > 0 {
        let source = collection.folder.display().to_string();
        losses.push(Loss::new(Some(collection.rank), source, LossReason::Unnumbered, unnumbered));
    }
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

fn tree<Operation: for<'d> Deserialize<'d>>(path: &Path) -> Result<Tree<Operation>, String> {
    let bytes = opscope_files::read_plain(path).map_err(|error| error.to_string())?;
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

fn read_communication(path: &Path, recording: &mut Recording, unnumbered: &mut u64) -> Result<(), String> {
    for (step, kinds) in tree::<Times>(path)? {
        for (name, operation) in kinds.into_values().flatten() {
            // Sums stand among the operations they sum up.
            let Some((name, group)) = name.split_once('@').filter(|_| !name.starts_with("Total")) else {
                continue;
            };
            let Some(times) = operation.times else { continue };
            let (start, duration) = ((times.start_us * 1e3) as i64, (times.elapsed_ms * 1e6) as i64);
            let key = key_of_text(group);
            if !recording.collective(name, key, step_number(&step), start, duration) {
                *unnumbered += 1;
            } else if let Some(entered) = recording.collectives.last_mut() {
                // SDMA repeats what its kinds of links carried.
                let carried = operation.transports.iter().filter(|(transport, _)| *transport != "SDMA");
                entered.bytes = (carried.map(|(_, traffic)| traffic.megabytes).sum::<f64>() * 1e6) as u64;
            }
        }
    }
    Ok(())
}

fn read_matrix(path: &Path, recording: &mut Recording) -> Result<(), String> {
    for (step, kinds) in tree::<BTreeMap<String, Traffic>>(path)? {
        for (name, links) in kinds.into_values().flatten() {
            let Some((kind, group)) = name.split_once("-total@") else { continue };
            for (ranks, traffic) in links {
                let Some((src, dst)) = ranks.split_once('-') else { continue };
                let (Ok(src), Ok(dst)) = (src.parse(), dst.parse()) else { continue };
                recording.links.push(LinkRow {
                    group_key: key_of_text(group),
                    kind: CollectiveType::of_name(kind),
                    step: step_number(&step),
                    src,
                    dst,
                    transport: Transport::of_word(&traffic.transport),
                    bytes: traffic.megabytes * 1e6,
                    time_ns: traffic.milliseconds * 1e6,
                });
            }
        }
    }
    Ok(())
}

fn read_steps(path: &Path, recording: &mut Recording) -> Result<(), String> {
    let mut reader = csv::Reader::from_path(path).map_err(|error| error.to_string())?;
    let headings = reader.byte_headers().map_err(|error| error.to_string())?.clone();
    let columns = ["Computing", "Communication(Not Overlapped)", "Overlapped", "Free", "Preparing"];
    let columns = columns.map(|name| column(&headings, name));
    let step = column(&headings, "Step");
    let mut row = csv::ByteRecord::new();
    while reader.read_byte_record(&mut row).map_err(|error| error.to_string())? {
        let text = |column: usize| std::str::from_utf8(row.get(column)?).ok().map(str::trim);
        let number = |column: usize| text(column)?.parse::<f64>().ok().filter(|it| it.is_finite());
        let Some(step) = step.and_then(text).and_then(|text| text.parse::<i32>().ok()) else { continue };
        let [computing, exposed, overlapped, free, preparing] = columns.map(|column| number(column?));
        recording.stated_step(step, StatedStep { computing, exposed, overlapped, free, preparing });
    }
    Ok(())
}
