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
mod finding;
mod ratios;
mod rules;
mod text;
mod whole;

pub use crate::report::finding::{PerformanceReport, ReportFinding, ReportGroup};

use crate::facts::view::{TaskRef, View};
use crate::join::Joined;
use crate::options::ExportOptions;

/// The reports on all devices that executed operators, of the iterations that the options choose.
pub fn performance_reports(joined: &Joined, options: ExportOptions<'_>) -> Vec<PerformanceReport> {
    let view = View::new(joined, options.iterations);
    let ops = view.op_tasks();
    let report = |tasks: &[TaskRef]| {
        let operators = conditions::Operators::new(&view, tasks);
        let mut findings = rules::findings(&view, &operators);
        findings.extend(whole::parallelism(&operators));
        findings.extend(whole::bottleneck(&operators));
        PerformanceReport { device: view.device(tasks[0]).device.id, findings }
    };
    ops.chunk_by(|a, b| a.device == b.device).map(report).collect()
}
