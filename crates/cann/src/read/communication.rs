//! `communication.json` and `communication_matrix.json`: where the time of collective operations went, and what
//! went over which link.
//!
//! Both are objects of steps (`step50`), of `p2p` and `collective`, and of operations. An operation has either
//! `Communication Time Info` and `Communication Bandwidth Info` or an object for each link (`0-1`, of one rank to
//! another).

use std::collections::BTreeMap;

use opscope_formats::reading::Stop;
use opscope_trace::{FigureSubject, FigureTopic, LossKind, Trace};
use serde_json::Value;
use serde_json::value::RawValue;

use super::stated::{COLLECTIVE, Quantity, TRANSPORT, link, step_name, without_group};

const TIMES: &str = "Communication Time Info";
const BANDWIDTHS: &str = "Communication Bandwidth Info";
const TRANSPORT_TYPE: &str = "Transport Type";
const LARGEST_OF: &str = "Op Name";
/// The beginning of the names of entries that sum others up.
const TOTAL: &str = "Total ";

/// The kinds of operations, by which the files are known.
const KINDS: [&str; 2] = ["p2p", "collective"];

/// The names of the files, by which figures are told apart.
const FILES: [&str; 2] = ["communication.json", "communication_matrix.json"];

/// JSON that is none of both files.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No JSON, or one that is cut off or damaged.
    #[error("this is no whole JSON: {0}; copy the file again, or analyse the profile again")]
    Json(#[from] serde_json::Error),
    /// It lacks the objects of steps and kinds.
    #[error("this holds no steps with p2p and collective operations, as communication.json has them")]
    NotCommunication,
}

/// An object, its members as they are written.
type Object<'j> = BTreeMap<String, &'j RawValue>;

/// Whether JSON that begins so is one of the files; `keys` are the members of its members.
pub fn looks_like<'k>(keys: impl IntoIterator<Item = &'k str>) -> bool {
    keys.into_iter().any(|key| KINDS.contains(&key))
}

/// Reads either file as figures of a trace without records, until `stop` is wanted.
///
/// Operations that can't be read are counted in [`Trace::losses`].
///
/// # Errors
/// When it is no JSON, or neither of the files.
pub fn read(json: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let mut trace = Trace::new();
    let steps: Object<'_> = serde_json::from_slice(json)?;
    let mut known = steps.is_empty();
    for (step, kinds) in &steps {
        let Some(kinds) = object(kinds) else { continue };
        for operations in KINDS.iter().filter_map(|kind| kinds.get(*kind)) {
            known = true;
            for (name, operation) in stop.within(object(operations).unwrap_or_default()) {
                if name.starts_with(TOTAL) {
                    trace.count_loss(LossKind::SummingRow, 1, TOTAL.trim_end());
                } else if !enter(&mut trace, step_name(step), &name, operation) {
                    trace.count_loss(LossKind::FigureNotRead, 1, &format!("first in {step}"));
                }
            }
        }
    }
    if known { Ok(trace) } else { Err(ReadError::NotCommunication) }
}

/// The members of an object.
fn object(json: &RawValue) -> Option<Object<'_>> {
    serde_json::from_str(json.get()).ok()
}

/// Enters an operation; says whether it has any figure.
fn enter(trace: &mut Trace, step: &str, name: &str, operation: &RawValue) -> bool {
    let Some(members) = object(operation) else { return false };
    let (name, group) = without_group(name);
    let before = trace.figures.len();
    let figures =
        |json: Option<&Value>, quantities: &[Quantity]| -> Vec<(&'static str, &'static str, Option<f64>)> {
            let figure = |figure: &Quantity| {
                let value = json.and_then(|json| json.get(figure.written[0])?.as_f64());
                (figure.name, figure.unit, value.map(|value| value * figure.factor))
            };
            quantities.iter().map(figure).collect()
        };
    let value = |json: &RawValue| serde_json::from_str::<Value>(json.get()).ok();
    if members.contains_key(TIMES) || members.contains_key(BANDWIDTHS) {
        let times = members.get(TIMES).and_then(|json| value(json));
        let topic = FigureTopic::Collective;
        let about = FigureSubject { topic, source: FILES[0], step, subject: name, part: group };
        trace.push_figures(about, &figures(times.as_ref(), &COLLECTIVE));
        for (part, json) in members.get(BANDWIDTHS).and_then(|json| object(json)).unwrap_or_default() {
            let found = value(json);
            let figures = figures(found.as_ref(), &TRANSPORT);
            // All kinds of links are listed, also those that carried nothing.
            if figures[0].2.is_some_and(|bytes| bytes > 0.0) {
                let topic = FigureTopic::Transport;
                let about = FigureSubject { topic, source: FILES[0], step, subject: name, part: &part };
                trace.push_figures(about, &figures);
            }
        }
        return trace.figures.len() > before;
    }
    for (ranks, json) in members {
        let (Some((source, target)), Some(found)) = (ranks.split_once('-'), value(json)) else { continue };
        let text = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default();
        let part = format!("{} {}", link(source, target), text(TRANSPORT_TYPE));
        // The matrix has an entry for each kind of operation; it names the one that it is about.
        let subject = if text(LARGEST_OF).is_empty() { name } else { text(LARGEST_OF) };
        let subject = if subject == name { name.to_owned() } else { format!("{name} {subject}") };
        let topic = FigureTopic::Link;
        let about = FigureSubject { topic, source: FILES[1], step, subject: &subject, part: part.trim_end() };
        trace.push_figures(about, &figures(Some(&found), &TRANSPORT));
    }
    trace.figures.len() > before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::testing::shared;

    fn sum(trace: &Trace, topic: FigureTopic, name: &str, part: &str) -> f64 {
        let text = |id| trace.strings.get(id);
        let is_it = |row: &opscope_trace::Figure| {
            row.topic == topic && text(row.name) == name && (part.is_empty() || text(row.part) == part)
        };
        trace.figures.iter().map(|(_, row)| row).filter(is_it).map(|row| row.value).sum()
    }

    #[test]
    fn real_operations_and_links_sum_up_to_what_their_json_states() {
        for run in ["text_level1_rank0", "text_small_rank1"] {
            let folder = format!("data/ascend-pytorch/{run}/ASCEND_PROFILER_OUTPUT");
            let Some(folder) = shared(&folder) else { return };
            let [times, links] = FILES.map(|file| std::fs::read(folder.join(file)).unwrap());
            let [trace, matrix] = [&times, &links].map(|json| read(json, &Stop::default()).unwrap());
            let json: Value = serde_json::from_slice(&times).unwrap();
            let (mut elapsed, mut hccs) = (0.0, 0.0);
            let operations = |kinds: &Value| {
                let all =
                    kinds.as_object().unwrap().values().flat_map(|all| all.as_object().unwrap().clone());
                all.filter(|(name, _)| !name.starts_with("Total")).collect::<Vec<_>>()
            };
            for (_, operation) in json.as_object().unwrap().values().flat_map(operations) {
                elapsed += operation[TIMES]["Elapse Time(ms)"].as_f64().unwrap();
                hccs += operation[BANDWIDTHS]["HCCS"]["Transit Size(MB)"].as_f64().unwrap();
            }
            assert!(elapsed > 0.0 && hccs > 0.0);
            assert!((sum(&trace, FigureTopic::Collective, "elapsed", "") / 1e6 - elapsed).abs() < 1e-6);
            assert!((sum(&trace, FigureTopic::Transport, "size", "HCCS") / 1e6 - hccs).abs() < 1e-6);
            let json: Value = serde_json::from_slice(&links).unwrap();
            let entries = json.as_object().unwrap().values().flat_map(operations);
            let sizes = entries.flat_map(|(_, links)| links.as_object().unwrap().clone());
            let size: f64 = sizes.map(|(_, link)| link["Transit Size(MB)"].as_f64().unwrap()).sum();
            assert!(size > 0.0 && (sum(&matrix, FigureTopic::Link, "size", "") / 1e6 - size).abs() < 1e-6);
        }
    }

    #[test]
    fn what_is_damaged_is_counted_and_what_is_whole_is_kept() {
        let json = br#"{"step7": {"p2p": 3, "collective": {
            "hcom_a@9": {"Communication Time Info": {"Elapse Time(ms)": 2, "Wait Time(ms)": "x"}},
            "hcom_b@9": [1], "Total Op Info": {"Communication Time Info": {"Elapse Time(ms)": 2}},
            "hcom_c@9": {"Communication Time Info": {}}}}, "note": 1}"#;
        let trace = read(json, &Stop::default()).unwrap();
        let losses: Vec<_> = trace.losses.iter().map(|(_, row)| (row.kind, row.count)).collect();
        assert_eq!(losses.len(), 2);
        assert!(
            losses.contains(&(LossKind::SummingRow, 1)) && losses.contains(&(LossKind::FigureNotRead, 2))
        );
        assert_eq!((trace.figures.len(), trace.figures.value()), (1, &[2e6][..]));
        let text = |id| trace.strings.get(id);
        let row = trace.figures.get(trace.figures.ids().next().unwrap());
        assert_eq!([row.step, row.subject, row.part, row.name].map(text), ["7", "hcom_a", "9", "elapsed"]);
        for bad in [&b"{\"step7\": {\"collective\": {\"hcom"[..], b"[1]", b"\xff", b""] {
            assert!(matches!(read(bad, &Stop::default()), Err(ReadError::Json(_))), "{bad:?}");
        }
        assert!(matches!(read(b"{\"a\": {}}", &Stop::default()), Err(ReadError::NotCommunication)));
        assert!(read(b"{}", &Stop::default()).unwrap().figures.is_empty());
    }
}
