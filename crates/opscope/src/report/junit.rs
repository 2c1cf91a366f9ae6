//! JUnit's report of tests, which CI systems show.

use crate::judgement::{Condition, Outcome};
use crate::terminal::printable;

/// The report: a test for each condition. An undecided one counts as skipped.
pub fn to_xml(conditions: &[Condition]) -> String {
    let count = |outcome: Outcome| conditions.iter().filter(|it| it.outcome == outcome).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"opscope check\" tests=\"{}\" \
         failures=\"{}\" skipped=\"{}\">\n",
        conditions.len(),
        count(Outcome::Failed),
        count(Outcome::Undecided)
    );
    for condition in conditions {
        let (name, detail) = (escaped(&condition.name), escaped(&condition.detail));
        let inner = match condition.outcome {
            Outcome::Passed => format!("<system-out>{detail}</system-out>"),
            Outcome::Failed => format!("<failure message=\"{detail}\"/>"),
            Outcome::Undecided => format!("<skipped message=\"undecided within the noise: {detail}\"/>"),
        };
        text.push_str(&format!(
            "    <testcase classname=\"opscope.check\" name=\"{name}\">{inner}</testcase>\n"
        ));
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// A text for an attribute or element; XML has no form for control characters.
fn escaped(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
