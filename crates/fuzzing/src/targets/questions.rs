//! Answers about profiles: figures, places, predictions, comparisons, advice.

use std::path::Path;

use opscope_advise::converter::{Conversion, FusionResult, Switches};
use opscope_advise::fusion::{self, L2};
use opscope_advise::{ConverterOptions, Settings, Subject, Target};
use opscope_analyze::{
    Aggregate, Column, Comparison, Coverage, Edit, GroupBy, Iterations, Overview, Query, RangeTree, Roofline,
    RunTables, Scope, Sort, Summary, TimeKind, locate, predict,
};
use opscope_model::{Bindings, Model, Shapes};
use opscope_open::Source;
use opscope_trace::Trace;

use crate::packing::{ADVISED, PAIR, folder, unpack};
use crate::trail::Trail;

/// Peaks of some machine.
const ROOF: Roofline = Roofline { flops: 1e12, bandwidth: 1e10 };

/// Asks everything of a trace that its analyses can be asked.
pub fn ask(trace: &Trace, trail: &mut Trail) {
    trail.counted("tasks", trace.tasks.len());
    trail.counted("operators", trace.operators.len());
    trail.counted("calls", trace.api_calls.len());
    trail.counted("iterations", trace.iterations.len());
    trace.losses.kind().iter().for_each(|kind| trail.noted(kind.sentence()));
    query(trace, trail);
    for iterations in [Iterations::Measured, Iterations::All, Iterations::Numbers(0, u32::MAX)] {
        let scope = Scope { iterations, ..Scope::default() };
        let _ = Overview::of(trace, scope);
    }
    let summary = Summary::of(trace);
    let tree = RangeTree::of(trace);
    let _ = (RunTables::of(trace), Coverage::of(trace));
    trail.counted("types", summary.types.len());
    trail.counted("ranges", tree.nodes.len());
    for node in 0..tree.nodes.len().min(50) {
        let _ = (tree.path(trace, node), tree.nodes[node].longest_gap());
    }
    let types: Vec<&str> =
        trace.operators.op_type().iter().take(3).map(|id| trace.strings.get(*id)).collect();
    for text in &types {
        trail.counted("places", locate(trace, text).len());
        let edits = [
            Edit::Scale((*text).to_owned(), 1e300),
            Edit::Remove((*text).to_owned()),
            Edit::Fuse(types.iter().map(|text| (*text).to_owned()).collect()),
        ];
        if let Ok(prediction) = predict(trace, &edits) {
            trail.noted(prediction.basis.text());
        }
    }
}

/// Every way to group, to add up and to sort, each at least once.
fn query(trace: &Trace, trail: &mut Trail) {
    let ways = GroupBy::ALL.len().max(Aggregate::ALL.len());
    for way in 0..ways {
        let column = Column::ALL[way * 3 % Column::ALL.len()];
        let query = Query {
            host: way % 3 == 1,
            group_by: GroupBy::ALL[way % GroupBy::ALL.len()],
            aggregate: Aggregate::ALL[way % Aggregate::ALL.len()],
            time: TimeKind::ALL[way % TimeKind::ALL.len()],
            sort: (way % 2 == 0).then_some(Sort { column, ascending: way % 4 == 0 }),
            roofline: Some(ROOF),
            ..Query::default()
        };
        let answer = match query.run(trace) {
            Ok(answer) => answer,
            Err(error) => {
                trail.refused(&error);
                continue;
            }
        };
        trail.counted(query.group_by.name(), answer.rows.len());
        for row in answer.rows.iter().take(20) {
            Column::ALL.iter().for_each(|column| drop(column.of(trace, row)));
        }
    }
}

/// A profile in a folder, whichever it is.
fn open(folder: &Path, trail: &mut Trail) -> Option<Trace> {
    let source = match Source::at(folder) {
        // A folder of anything is asked by its files.
        Ok(source) if source.format().is_some() => Ok(source),
        other => match std::fs::read_dir(folder).ok().and_then(|mut entries| entries.next()) {
            Some(Ok(entry)) => Source::at(&entry.path()),
            _ => other,
        },
    };
    let opened = source.and_then(|source| source.open(&()));
    opened.map_err(|error| trail.refused(&error)).ok().map(|profile| profile.trace)
}

/// Two profiles, compared in both directions.
pub fn compare(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    unpack(input, PAIR, directory.path());
    let [Some(a), Some(b)] = ["a", "b"].map(|side| open(&directory.path().join(side), trail)) else { return };
    for (before, after) in [(&a, &b), (&b, &a), (&a, &a)] {
        let comparison = Comparison::of(before, after);
        trail.noted(&format!("{:?}", comparison.basis));
        trail.counted("groups", comparison.groups.len());
        trail.counted("spans", comparison.spans.len());
        trail.counted("suspects", comparison.suspects.len());
        let _ = comparison.outside();
        let _ = (comparison.speed_up(), comparison.relative_change(), comparison.is_of_different_models());
        trail.counted("families", comparison.families().len());
        comparison.groups.iter().take(50).for_each(|group| drop(group.story()));
        comparison.spans.iter().take(50).for_each(|span| drop((span.title(), span.relative_change())));
        for each in [false, true] {
            trail.counted("steps", comparison.waterfall(12, each).len());
        }
        if let Some(difference) = &comparison.difference {
            trail.noted(difference.verdict.text());
        }
    }
}

/// A profile, a model, settings and files about the model's conversion, and the advice about all of them.
pub fn advise(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    let flags = unpack(input, ADVISED, directory.path());
    let path = |name: &str| directory.path().join(name);
    let text = |name: &str| std::fs::read_to_string(path(name)).ok();
    let trace = ["profile.json", "op_summary_20251009085320.csv"].into_iter().find_map(|name| {
        let opened = Source::at(&path(name)).and_then(|source| source.open(&()));
        let opened = opened.map_err(|error| trail.refused(&error)).ok();
        opened.inspect(|_| trail.understood(name))
    });
    let model = std::fs::read(path("model.onnx"))
        .ok()
        .and_then(|bytes| Model::from_bytes(bytes.into(), None).map_err(|error| trail.refused(&error)).ok());
    let shapes = model.as_ref().and_then(|model| Shapes::infer(model, &Bindings::new()).ok());
    let settings = Settings::read(&path("opscope.toml")).ok();
    let command = text("convert.sh").map(|text| ConverterOptions::parse(&text));
    let switches = text("fusion_switch.cfg").and_then(|text| Switches::parse(&text).ok());
    let result = text("fusion_result.json").and_then(|text| FusionResult::parse(&text).ok());
    for (name, is_understood) in [
        ("model.onnx", model.is_some()),
        ("opscope.toml", settings.is_some()),
        ("convert.sh", command.is_some()),
        ("fusion_switch.cfg", switches.is_some()),
        ("fusion_result.json", result.is_some()),
    ] {
        if is_understood {
            trail.understood(name);
        }
    }
    let settings = settings.unwrap_or_default();
    // The profile's own target, or any.
    let target = Target::NAMES.get(usize::from(flags)).map(|(_, target)| *target);
    let mut subject = Subject::new(trace.as_deref(), model.as_ref(), target);
    subject.shapes = shapes.as_ref();
    subject.converter = command.as_ref();
    subject.switches = switches.as_ref();
    subject.fusion_result = result.as_ref();
    subject.roof = Some(ROOF);
    for is_svp in [false, true] {
        let conversion = Conversion {
            command: command.as_ref(),
            switches: switches.as_ref(),
            result: result.as_ref(),
            is_svp,
        };
        let about = model.as_ref().map(|model| (model, shapes.as_ref()));
        trail.counted("remarks", conversion.remarks(about).len());
    }
    let report = opscope_advise::advise(&subject, &settings);
    report.findings.iter().for_each(|finding| trail.noted(&finding.rule.id));
    trail.counted("not run", report.not_run.len());
    if let Some(model) = &model {
        trail.counted("chains", fusion::fusion(model).chains.len());
        let split = shapes
            .as_ref()
            .zip(L2::of("Ascend310"))
            .and_then(|(shapes, l2)| fusion::split(model, shapes, &l2));
        trail.noted(if split.is_some() { "split" } else { "whole" });
    }
}
