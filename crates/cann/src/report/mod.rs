//! The performance report: what the tool chain of 2022 printed after `export summary`.
//!
//! Conditions on single operators are combined into rules, each of which names the operators that it
//! fires on and says in a sentence what to look at. A condition holds for an operator if it holds
//! for one of its runs; a rule with several conditions fires on the operators for which all hold.
//! Two kinds of rules ask about the whole run as well: some fire only if more than a number of
//! operators match, others only if what the matching ones cost is more than a share of everything.
//!
//! Conditions and thresholds are those of the rules that the vendor's tool had until August 2024.

mod conditions;
mod rules;
mod text;
mod whole;

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::error::Result;
use crate::export::ExportOptions;
use crate::export::sheet::write_whole;
use crate::export::view::View;
use crate::join::Joined;

/// A heading of the report, in the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportGroup {
    /// How well the units that compute are used.
    Computation,
    /// Where moving data is what takes the time.
    Memory,
    /// Waiting between operators.
    OperatorSchedule,
    /// Which operators there are, and where they run.
    OperatorProcessing,
    /// What operators need.
    OperatorMetrics,
    /// What runs beside one another.
    OperatorParallelism,
    /// What the model as a whole is bound by.
    ModelBottleneck,
}

impl ReportGroup {
    /// All of them, in order.
    pub const ALL: [Self; 7] = [
        Self::Computation,
        Self::Memory,
        Self::OperatorSchedule,
        Self::OperatorProcessing,
        Self::OperatorMetrics,
        Self::OperatorParallelism,
        Self::ModelBottleneck,
    ];

    /// The heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Computation => "Computation",
            Self::Memory => "Memory",
            Self::OperatorSchedule => "Operator Schedule",
            Self::OperatorProcessing => "Operator Processing",
            Self::OperatorMetrics => "Operator Metrics",
            Self::OperatorParallelism => "Operator Parallelism",
            Self::ModelBottleneck => "Model Bottleneck Analysis",
        }
    }
}

/// A rule that fired.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportFinding {
    /// The rule's name, such as `rule_transData_1`.
    pub rule: &'static str,
    /// The heading that it stands under.
    pub group: ReportGroup,
    /// The part of the heading, such as `Vector`; empty if it has no parts.
    pub subtype: &'static str,
    /// What to look at.
    pub suggestion: String,
    /// The operators concerned, in the order in which they first ran; empty if the finding is about
    /// the run as a whole.
    pub operators: Vec<String>,
}

/// The report on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct PerformanceReport {
    /// The device's number.
    pub device: u32,
    /// The rules that fired.
    pub findings: Vec<ReportFinding>,
}

/// The reports on all devices that executed operators, of the iterations that the options choose.
pub fn performance_reports(joined: &Joined, options: ExportOptions) -> Vec<PerformanceReport> {
    let view = View::new(joined, options.iterations);
    let ops = view.op_tasks();
    let report = |tasks: &[crate::export::view::TaskRef]| {
        let operators = conditions::Operators::new(&view, tasks);
        let mut findings = rules::findings(&view, &operators);
        findings.extend(whole::parallelism(&operators));
        findings.extend(whole::bottleneck(&operators));
        PerformanceReport { device: view.device(tasks[0]).device.id, findings }
    };
    ops.chunk_by(|a, b| a.device == b.device).map(report).collect()
}

impl PerformanceReport {
    /// The report as it is printed.
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// The report as the file `prof_rule_<device>.json` holds it.
    pub fn json(&self) -> serde_json::Value {
        let finding = |finding: &ReportFinding| {
            json!({
                "rule": finding.rule,
                "type": finding.group.heading(),
                "subtype": finding.subtype,
                "suggestion": finding.suggestion,
                "operators": finding.operators,
            })
        };
        json!({ "status": 0, "data": self.findings.iter().map(finding).collect::<Vec<_>>() })
    }

    /// How the vendor's tool calls its file.
    pub fn file_name(&self) -> String {
        format!("prof_rule_{}.json", self.device)
    }

    /// Whether a file holds this report already.
    pub fn is_in(&self, path: &Path) -> bool {
        let own = self.json().to_string();
        std::fs::read_to_string(path).is_ok_and(|text| text == own)
    }

    /// Writes it as JSON, in the form of the vendor's tool, and returns the path.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn save_as(&self, path: &Path) -> Result<PathBuf> {
        let text = self.json().to_string();
        write_whole(path, |out| std::io::Write::write_all(out, text.as_bytes()))?;
        Ok(path.to_owned())
    }
}
