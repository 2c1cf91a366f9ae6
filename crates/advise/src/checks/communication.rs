//! Conditions about collective operations, by the figures that the vendor's tools state of them.

use std::collections::BTreeMap;

use opscope_trace::{ExecutionUnit, FigureTopic, Nanoseconds};

use crate::claim::Evidence;
use crate::outcome::{Found, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[("A42", waiting_ranks)];

/// Where the time of the operations of one name went.
#[derive(Default)]
struct Times {
    elapsed: f64,
    transit: f64,
}

/// Collective operations that carry nothing for most of their time: they wait for ranks that come later.
fn waiting_ranks(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace else { return Outcome::Silent };
    let mut operations: BTreeMap<&str, Times> = BTreeMap::new();
    for (_, figure) in trace.figures.iter().filter(|(_, figure)| figure.topic == FigureTopic::Collective) {
        let times = operations.entry(trace.strings.get(figure.subject)).or_default();
        match trace.strings.get(figure.name) {
            "elapsed" => times.elapsed += figure.value,
            "transit" => times.transit += figure.value,
            _ => {}
        }
    }
    if operations.is_empty() {
        let communicates = subject.kernels.any_unit(|unit| unit == ExecutionUnit::Communication);
        return match communicates {
            true => Outcome::Missing(
                "how long collective operations waited (communication.json or analysis.db)".to_owned(),
            ),
            false => Outcome::Silent,
        };
    }
    // Tables of some versions have 0 in the place of nearly all times of transfer, though their links carry data.
    let untold = operations.values().filter(|times| times.transit <= 0.0);
    let untold: f64 = untold.map(|times| times.elapsed).sum();
    operations.retain(|_, times| times.transit > 0.0);
    let sum = |of: fn(&Times) -> f64| operations.values().map(of).sum::<f64>();
    let (elapsed, transit) = (sum(|times| times.elapsed), sum(|times| times.transit));
    let limit = rule.limit("share_above");
    if untold > elapsed {
        return Outcome::Missing("how long collective operations carried data (it is 0 of most)".to_owned());
    }
    if elapsed <= 0.0 || elapsed - transit <= limit * elapsed {
        return Outcome::Silent;
    }
    let mut found: Vec<(&str, Times)> = operations.into_iter().collect();
    found.sort_by(|(_, left), (_, right)| {
        (right.elapsed - right.transit).total_cmp(&(left.elapsed - left.transit))
    });
    let percent = |part: f64, whole: f64| if whole > 0.0 { part / whole * 100.0 } else { 0.0 };
    let evidence =
        found.into_iter().filter(|(_, times)| times.elapsed - times.transit > limit * times.elapsed);
    let evidence = evidence.map(|(name, times)| Evidence {
        name: name.to_owned(),
        op_type: String::new(),
        time: Some(Nanoseconds(times.elapsed as i64)),
        detail: format!("carries data for {:.1} % of its time", percent(times.transit, times.elapsed)),
    });
    let note = Some(format!(
        "collective operations carry data for {:.1} % of their time; what overlaps with computing is counted too",
        percent(transit, elapsed)
    ));
    Found { evidence: evidence.collect(), note, ..Found::default() }.or_silent()
}
