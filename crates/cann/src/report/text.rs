//! The report in words.

use crate::report::finding::{PerformanceReport, ReportFinding, ReportGroup};

/// No more operators than these are printed for a finding; the file has all.
const SHOWN_OPERATORS: usize = 100;

impl PerformanceReport {
    /// The report as it is printed.
    pub fn text(&self) -> String {
        render(self)
    }
}

/// Writes the report: its groups, numbered, and under each its findings or `N/A`.
fn render(report: &PerformanceReport) -> String {
    let mut text = String::from("Performance Summary Report:\n");
    for (number, group) in (1..).zip(ReportGroup::ALL) {
        text.push_str(&format!("{number}. {}:\n", group.name()));
        let mut findings: Vec<&ReportFinding> =
            report.findings.iter().filter(|finding| finding.group == group).collect();
        // Findings of one part of a heading stand together, in the order of the parts' first ones.
        let first = |finding: &ReportFinding| {
            report.findings.iter().position(|other| other.subtype == finding.subtype)
        };
        findings.sort_by_key(|finding| first(finding));
        if findings.is_empty() {
            text.push_str("\tN/A\n");
        }
        for part in findings.chunk_by(|a, b| a.subtype == b.subtype) {
            if !part[0].subtype.is_empty() {
                text.push_str(&format!("\t{}:\n", part[0].subtype));
            }
            for (number, finding) in (1..).zip(part) {
                let operators = operators(report, finding);
                text.push_str(&format!("\t{number}){}{operators}\n", finding.suggestion));
            }
        }
    }
    text
}

fn operators(report: &PerformanceReport, finding: &ReportFinding) -> String {
    let all = &finding.operators;
    if all.is_empty() {
        return String::new();
    }
    let shown = all[..all.len().min(SHOWN_OPERATORS)].join(",");
    match all.len() - all.len().min(SHOWN_OPERATORS) {
        0 => format!(": [{shown}]"),
        more => format!(": [{shown}] and {more} more, see prof_rule_{}.json", report.device),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(group: ReportGroup, subtype: &'static str, operators: usize) -> ReportFinding {
        let operators = (0..operators).map(|n| format!("op{n}")).collect();
        ReportFinding { rule: "rule", group, subtype, suggestion: format!("look {subtype}"), operators }
    }

    #[test]
    fn groups_are_numbered_and_those_without_findings_say_so() {
        let findings = vec![
            finding(ReportGroup::Computation, "Vector", 2),
            finding(ReportGroup::Computation, "Cube", 1),
            finding(ReportGroup::Computation, "Vector", 1),
            finding(ReportGroup::ModelBottleneck, "", 0),
        ];
        let text = render(&PerformanceReport { device: 0, findings });
        let expected = "Performance Summary Report:\n1. Computation:\n\tVector:\n\t1)look Vector: [op0,op1]\n\
            \t2)look Vector: [op0]\n\tCube:\n\t1)look Cube: [op0]\n2. Memory:\n\tN/A\n3. Operator Schedule:\n\
            \tN/A\n4. Operator Processing:\n\tN/A\n5. Operator Metrics:\n\tN/A\n6. Operator Parallelism:\n\
            \tN/A\n7. Model Bottleneck Analysis:\n\t1)look \n";
        assert_eq!(text, expected);
    }

    #[test]
    fn long_lists_end_with_how_many_more_there_are() {
        let findings = vec![finding(ReportGroup::Memory, "", 103)];
        let text = render(&PerformanceReport { device: 3, findings });
        assert!(text.contains("op99] and 3 more, see prof_rule_3.json"), "{text}");
        assert!(!text.contains("op100"));
    }
}
