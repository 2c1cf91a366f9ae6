//! Conditions on ranges of the program and on the host's calls.

use opscope_analyze::{RangeNode, RangeTree, executes_model, loads_model, outermost_of};
use opscope_trace::{ApiCallId, Nanoseconds, ProfileFormat, Trace, units};

use crate::claim::Evidence;
use crate::outcome::{Found, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[("A30", synchronising), ("A32", loading), ("A33", uncovered)];

fn missing(what: &str) -> Outcome {
    Outcome::Missing(what.to_owned())
}

/// The calls whose name fits, without those that another of them makes: an interface's call and the
/// runtime's below it are one.
fn calls_named(trace: &Trace, fits: impl Fn(&str) -> bool) -> Vec<ApiCallId> {
    // A name is looked at once, however many calls have it.
    let mut known: Vec<Option<bool>> = vec![None; trace.strings.len()];
    let mut has_name = |call: &ApiCallId| {
        let name = trace.api_calls.name()[call.index()];
        *known[name.index()].get_or_insert_with(|| fits(trace.strings.get(name)))
    };
    let mut calls: Vec<ApiCallId> = trace.api_calls.ids().filter(|call| has_name(call)).collect();
    outermost_of(trace, &mut calls);
    calls
}

fn duration(trace: &Trace, calls: &[ApiCallId]) -> Nanoseconds {
    calls.iter().map(|call| trace.api_calls.duration()[call.index()]).sum()
}

fn synchronising(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace.filter(|trace| !trace.api_calls.is_empty()) else {
        return missing("calls of the host");
    };
    let waits = calls_named(trace, |name| {
        let name = name.to_ascii_lowercase();
        name.contains("synchronizestream") || name.contains("streamsynchronize")
    });
    let launches = calls_named(trace, |name| name.to_ascii_lowercase().contains("launch"));
    if launches.is_empty() || (waits.len() as f64) / (launches.len() as f64) < rule.limit("ratio") {
        return Outcome::Silent;
    }
    let time = duration(trace, &waits).0 / subject.iterations.max(1) as i64;
    Found::only(vec![Evidence {
        name: "synchronising of streams".to_owned(),
        op_type: String::new(),
        time: Some(Nanoseconds(time)),
        detail: format!("{} for {} launches", waits.len(), launches.len()),
    }])
}

fn loading(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let Some(trace) = subject.trace.filter(|trace| !trace.api_calls.is_empty()) else {
        return missing("calls of the host");
    };
    let loads = calls_named(trace, loads_model);
    let executions = calls_named(trace, |name| {
        let name = name.to_ascii_lowercase();
        executes_model(&name) || name.contains("execute") || name.contains("excute")
    });
    let (load, execute) = (duration(trace, &loads), duration(trace, &executions));
    if load <= execute || execute <= Nanoseconds::ZERO {
        return Outcome::Silent;
    }
    let evidence = loads.into_iter().map(|call| trace.api_calls.get(call)).map(|call| Evidence {
        name: trace.strings.get(call.name).to_owned(),
        op_type: String::new(),
        time: Some(call.duration),
        detail: String::new(),
    });
    let note = format!(
        "loading, which happens once, took {}; what counts is {}, {}",
        units::duration(load),
        match executions.len() {
            1 => "the only execution".to_owned(),
            count => format!("the {count} executions"),
        },
        units::duration(execute)
    );
    Outcome::Found(Found { evidence: evidence.collect(), note: Some(note), ..Found::default() })
}

/// Time in the program's ranges that neither calls nor operators account for, and spans of nearly
/// whole seconds: ranges, and gaps between tasks.
fn uncovered(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace else { return missing("a profile") };
    if trace.ranges.is_empty() && subject.kernels.is_empty() {
        return missing("ranges or operators in a profile");
    }
    // Tables of ranges alone never hold what could cover them.
    if matches!(trace.run.format, Some(ProfileFormat::CannServer | ProfileFormat::CannRanges)) {
        return missing("calls or operators beside the ranges");
    }
    let tree = RangeTree::of(trace);
    let mut evidence = uncovered_ranges(trace, &tree, rule);
    let lost = !evidence.is_empty();
    evidence.extend(whole_ranges(&tree, trace, rule));
    if !lost {
        // Between the operators around an uncovered range lies the same time.
        evidence.extend(whole_gaps(subject, rule));
    }
    let note = lost.then(|| {
        let none = if tree.has_others { "" } else { "; the profile holds none at all" };
        let (lost, all) = (units::duration(tree.uncovered), units::duration(tree.extent));
        format!("{lost} of the {all} that the program's ranges last lie in no call and no operator{none}")
    });
    Found { evidence, note, ..Found::default() }.or_silent()
}

/// Ranges with a long stretch, or a large part of all time, in which nothing was recorded.
fn uncovered_ranges(trace: &Trace, tree: &RangeTree, rule: &Rule) -> Vec<Evidence> {
    let (long, least) = (rule.limit("min_ms") * 1e6, rule.limit("least_ms") * 1e6);
    let part = rule.limit("min_share") * tree.extent.0 as f64;
    let stands_out = |uncovered: Nanoseconds, gap: Nanoseconds| {
        gap.0 as f64 >= long || uncovered.0 as f64 >= part.max(least)
    };
    let nodes = tree.nodes.iter().enumerate();
    let found = nodes.filter(|(_, node)| stands_out(node.uncovered, node.longest_gap()));
    let evidence = found.map(|(index, node)| {
        let ranges = if node.count == 1 { String::new() } else { format!(" in {} ranges", node.count) };
        let mut detail = format!("of {}{ranges}", units::duration(node.total));
        if let Some((start, _)) = node.longest_uncovered {
            let gap = node.longest_gap();
            detail += &format!("; {} at a stretch, from {} on", units::duration(gap), units::duration(start));
            if let Some(seconds) = opscope_analyze::whole_seconds(gap, rule.limit("within")) {
                detail += &format!(", nearly {seconds} s: as of a sleep or a time-out");
            }
        }
        Evidence {
            name: tree.path(trace, index).join(" / "),
            op_type: String::new(),
            time: Some(node.uncovered),
            detail,
        }
    });
    evidence.collect()
}

/// Ranges of nearly whole seconds that calls or operators take most of, which may be a time-out of
/// theirs; those that nothing covers are found anyway, and of others what lies in them explains it.
fn whole_ranges(tree: &RangeTree, trace: &Trace, rule: &Rule) -> Vec<Evidence> {
    let is_whole = |node: &&RangeNode| {
        let seconds = opscope_analyze::whole_seconds(node.longest, rule.limit("within"));
        seconds.is_some() && node.own.0 > node.total.0 / 2 && node.uncovered.0 < node.own.0 / 2
    };
    let evidence = tree.nodes.iter().filter(is_whole).map(|node| Evidence {
        name: trace.strings.get(node.name).to_owned(),
        op_type: String::new(),
        time: Some(node.longest),
        detail: "a range of nearly whole seconds".to_owned(),
    });
    evidence.collect()
}

/// Gaps of nearly whole seconds between tasks of one stream.
fn whole_gaps(subject: &Subject<'_>, rule: &Rule) -> Vec<Evidence> {
    let pairs =
        subject.kernels.windows(2).filter_map(|pair| if let [a, b] = pair { Some((a, b)) } else { None });
    let evidence = pairs.filter_map(|(before, after)| {
        let gap = after.start - (before.start + before.duration);
        let is_whole = opscope_analyze::whole_seconds(gap, rule.limit("within")).is_some();
        (before.stream == after.stream && is_whole).then(|| Evidence {
            name: format!("between {} and {}", before.name, after.name),
            op_type: String::new(),
            time: Some(gap),
            detail: "a gap of nearly whole seconds".to_owned(),
        })
    });
    evidence.collect()
}
