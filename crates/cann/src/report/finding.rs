//! A report: the rules that fired, and the file that holds them.

use std::path::{Path, PathBuf};

use opscope_trace::words;
use serde_json::json;

use crate::error::Result;
use crate::text::file::write_whole;

words! {
    /// A heading of the report, in the order of the report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ReportGroup {
        /// How well the units that compute are used.
        Computation = "Computation",
        /// Where moving data is what takes the time.
        Memory = "Memory",
        /// Waiting between operators.
        OperatorSchedule = "Operator Schedule",
        /// Which operators there are, and where they run.
        OperatorProcessing = "Operator Processing",
        /// The needs of operators.
        OperatorMetrics = "Operator Metrics",
        /// Work that runs side by side.
        OperatorParallelism = "Operator Parallelism",
        /// The unit that bounds the model as a whole.
        ModelBottleneck = "Model Bottleneck Analysis",
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
    /// The advice.
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

impl PerformanceReport {
    /// The report as the file `prof_rule_<device>.json` holds it.
    pub fn json(&self) -> serde_json::Value {
        let finding = |finding: &ReportFinding| {
            json!({
                "rule": finding.rule,
                "type": finding.group.name(),
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
