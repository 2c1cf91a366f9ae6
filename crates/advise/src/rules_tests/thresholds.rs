//! Every threshold has a case just within and one just beyond.

use super::*;

/// Where a threshold has no case on both of its sides, and why.
const UNPINNED: [(&str, &str, &str); 2] = [
    ("S09", "peak_tera_operations", "what the figure is a part of, and no threshold"),
    ("A33", "", "its thresholds stand for one another; the cases of spans are beside the rule's"),
];

/// Thresholds that count, so that the next one is one away.
const COUNTS: [&str; 12] = [
    "between",
    "blocks",
    "more_than",
    "in_a_row",
    "times",
    "bytes",
    "multiple",
    "level",
    "axis",
    "records",
    "length",
    "below_us",
];

/// Whether a rule finds something, or is silent, once one of its thresholds is moved by a tenth or by one
/// to either side.
fn is_near(case: &Case, id: &str, limit: &str, value: f64, wanted: bool) -> bool {
    let counts = COUNTS.contains(&limit) || value == 0.0;
    let moved = if counts { [value - 1.0, value + 1.0] } else { [value * 0.9, value * 1.1] };
    moved.into_iter().any(|moved| {
        let settings = Settings::default().with_threshold(id, limit, moved);
        is_found(&case.report_with(&settings), id) == wanted
    })
}

#[test]
fn every_threshold_has_a_case_just_within_and_one_just_beyond() {
    let (cases, mut far) = (cases(), Vec::new());
    for rule in rules() {
        for (limit, value) in &rule.limits {
            let is_unpinned =
                |(id, name, _): &(&str, &str, &str)| *id == rule.id && (name.is_empty() || name == limit);
            if UNPINNED.iter().any(is_unpinned) {
                continue;
            }
            let of_rule = || cases.iter().filter(|(id, ..)| *id == rule.id);
            if !of_rule().any(|(id, fires, _)| is_near(fires, id, limit, *value, false)) {
                far.push(format!("{}: no case that only just fires by {limit} = {value}", rule.id));
            }
            if !of_rule().any(|(id, _, silent)| is_near(silent, id, limit, *value, true)) {
                far.push(format!("{}: no case that is only just silent by {limit} = {value}", rule.id));
            }
        }
    }
    assert!(far.is_empty(), "{}", far.join("\n"));
}
