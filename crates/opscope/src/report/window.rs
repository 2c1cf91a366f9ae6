//! The content of a stretch of time of a profile: how busy each lane was, its slices, and where nothing ran.

use opscope_timeline::{GroupKind, Layout, Rows};
use opscope_trace::{IterationId, Nanoseconds, RangeKind, StringId, Trace};
use serde_json::{Value, json};

use super::Envelope;
use crate::profile::Opened;

/// A stretch of time, and the slices of it that are wanted. Times are the trace's own.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// Its begin.
    pub from: Nanoseconds,
    /// Its end.
    pub to: Nanoseconds,
    /// A piece of the names of the lanes that are wanted, in any case of letters; of all without one.
    pub lane: Option<&'a str>,
    /// Slices that are shorter aren't listed.
    pub min_duration: Nanoseconds,
}

/// The gaps that are named of each device, the longest.
const GAPS: usize = 5;

/// A slice that touches the window.
struct Slice {
    lane: usize,
    /// `None` of an inference whose model has no name.
    name: Option<StringId>,
    kind: Option<StringId>,
    start: Nanoseconds,
    duration: Nanoseconds,
    iteration: Option<IterationId>,
    unit: Option<&'static str>,
}

/// The window of a profile: its lanes with the time in which each was busy, clipped to the window, the longest
/// gaps of each device, and the slices that touch it in the order of their begin.
pub fn to_json(profile: &Opened, window: &Window<'_>) -> Envelope<Value> {
    let trace: &Trace = profile;
    let layout = Layout::new(trace);
    let mut lanes = Vec::new();
    let mut slices: Vec<Slice> = Vec::new();
    let mut busy_by_group: Vec<Vec<(i64, i64)>> = vec![Vec::new(); layout.groups.len()];
    for (number, lane) in layout.lanes.iter().enumerate() {
        let label = lane.label.to_string();
        let within: Vec<Slice> = slices_of(trace, number, &lane.rows)
            .filter(|slice| slice.start <= window.to && slice.start + slice.duration >= window.from)
            .collect();
        let clipped = |slice: &Slice| {
            let (start, end) = (slice.start.max(window.from), (slice.start + slice.duration).min(window.to));
            (start.0, end.0)
        };
        let mut spans: Vec<(i64, i64)> = within.iter().map(clipped).collect();
        let busy = join(&mut spans);
        if matches!(layout.groups[lane.group].kind, GroupKind::Device(_) | GroupKind::Loose) {
            busy_by_group[lane.group].extend(&spans);
        }
        let wanted = window.lane.is_none_or(|part| label.to_lowercase().contains(&part.to_lowercase()));
        if within.is_empty() || !wanted {
            continue;
        }
        lanes.push(json!({
            "lane": number,
            "name": label,
            "group": layout.groups[lane.group].name,
            "kind": lane.label.kind.name(),
            "slices": within.len(),
            "busy_ns": busy,
        }));
        slices.extend(within.into_iter().filter(|slice| slice.duration >= window.min_duration));
    }
    slices.sort_by_key(|slice| (slice.start, slice.lane));
    let devices = layout.groups.iter().zip(busy_by_group).filter(|(_, busy)| !busy.is_empty());
    let devices: Vec<Value> = devices
        .map(|(group, mut spans)| {
            let busy = join(&mut spans);
            json!({ "group": group.name, "busy_ns": busy, "gaps": gaps(&spans, window) })
        })
        .collect();
    let answer = json!({
        "path": profile.path().to_string_lossy(),
        "from_ns": window.from.0,
        "to_ns": window.to.0,
        "extent_ns": trace.extent().map(|(first, last)| [first.0, last.0]),
        "devices": devices,
        "lanes": lanes,
        "rows": slices.iter().map(|slice| slice_json(trace, slice)).collect::<Vec<_>>(),
    });
    Envelope::new(1, answer).about([profile])
}

fn slice_json(trace: &Trace, slice: &Slice) -> Value {
    let mut row = json!({
        "lane": slice.lane,
        "name": slice.name.map(|name| trace.strings.get(name)),
        "start_ns": slice.start.0,
        "duration_ns": slice.duration.0,
    });
    if let Some(kind) = slice.kind {
        row["type"] = json!(trace.strings.get(kind));
    }
    if let Some(unit) = slice.unit {
        row["unit"] = json!(unit);
    }
    if let Some(iteration) = slice.iteration {
        row["iteration"] = json!(trace.iterations.get(iteration).number);
    }
    row
}

/// All slices of a lane.
fn slices_of<'t>(trace: &'t Trace, lane: usize, rows: &'t Rows) -> Box<dyn Iterator<Item = Slice> + 't> {
    let plain = move |name, start, duration: Nanoseconds| Slice {
        lane,
        name,
        kind: None,
        start,
        duration: duration.max(Nanoseconds::ZERO),
        iteration: None,
        unit: None,
    };
    let model = |model: Option<opscope_trace::ModelId>| model.map(|model| trace.models.get(model).name);
    match rows {
        Rows::Iterations(ids) => Box::new(ids.iter().map(move |&id| {
            let row = trace.iterations.get(id);
            Slice { iteration: Some(id), ..plain(model(row.model), row.start, row.duration) }
        })),
        Rows::Unrecorded(ids) => Box::new(ids.iter().map(move |&id| {
            let row = trace.unrecorded_iterations.get(id);
            plain(model(row.model), row.start, row.duration)
        })),
        Rows::Calls(ids) => Box::new(ids.iter().map(move |&id| {
            let row = trace.api_calls.get(id);
            Slice {
                iteration: row.iteration,
                unit: Some(row.level.name()),
                ..plain(Some(row.name), row.start, row.duration)
            }
        })),
        Rows::Ranges(ids) => Box::new(ids.iter().map(move |&id| {
            let row = trace.ranges.get(id);
            let duration = if row.kind == RangeKind::Mark { Nanoseconds::ZERO } else { row.duration };
            plain(Some(row.name), row.start, duration)
        })),
        Rows::Tasks(ids) => Box::new(ids.iter().map(move |&id| {
            let row = trace.tasks.get(id);
            let operator = row.operator.map(|operator| trace.operators.get(operator));
            Slice {
                kind: operator.map(|operator| operator.op_type),
                iteration: row.iteration,
                unit: Some(row.unit.name()),
                ..plain(Some(operator.map_or(row.name, |operator| operator.name)), row.start, row.duration)
            }
        })),
    }
}

/// Joins stretches of time that overlap or touch, in the order of time, and gives their length together.
fn join(spans: &mut Vec<(i64, i64)>) -> i64 {
    spans.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for &(start, end) in spans.iter() {
        match joined.last_mut() {
            Some((_, until)) if start <= *until => *until = end.max(*until),
            _ => joined.push((start, end)),
        }
    }
    *spans = joined;
    spans.iter().map(|(start, end)| end - start).sum()
}

/// The longest stretches of the window in which none of these ran, in the order of time.
fn gaps(busy: &[(i64, i64)], window: &Window<'_>) -> Vec<Value> {
    let begins = std::iter::once(window.from.0).chain(busy.iter().map(|(_, end)| *end));
    let ends = busy.iter().map(|(start, _)| *start).chain([window.to.0]);
    let mut gaps: Vec<(i64, i64)> = begins.zip(ends).filter(|(begin, end)| begin < end).collect();
    gaps.sort_by_key(|(begin, end)| begin - end);
    gaps.truncate(GAPS);
    gaps.sort_unstable();
    gaps.into_iter().map(|(begin, end)| json!({ "start_ns": begin, "duration_ns": end - begin })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_counts_what_overlaps_once() {
        let mut spans = vec![(10, 20), (0, 5), (15, 30), (30, 31)];
        assert_eq!(join(&mut spans), 5 + 21);
        assert_eq!(spans, [(0, 5), (10, 31)]);
    }

    #[test]
    fn gaps_reach_to_both_ends_of_the_window() {
        let window =
            Window { from: Nanoseconds(0), to: Nanoseconds(50), lane: None, min_duration: Nanoseconds(0) };
        let found = gaps(&[(10, 20), (25, 40)], &window);
        let found: Vec<(i64, i64)> = found
            .iter()
            .filter_map(|gap| Some((gap["start_ns"].as_i64()?, gap["duration_ns"].as_i64()?)))
            .collect();
        assert_eq!(found, [(0, 10), (20, 5), (40, 10)]);
    }
}
