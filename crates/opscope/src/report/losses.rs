//! The losses of a profile, dropped and doubtful records alike, as parts of an answer's text.

use std::fmt::Write;

use opscope_trace::{Loss, Severity, Trace};

use crate::profile::{loss_line, losses_by_severity};
use crate::terminal::{bold, dim};

/// The losses, a line each.
pub fn losses_text(trace: &Trace) -> String {
    losses_by_severity(trace).map(|loss| titled_loss(trace, &loss)).collect()
}

fn titled_loss(trace: &Trace, loss: &Loss) -> String {
    format!("{} {}\n", bold(&format!("{:9}", loss.kind.severity().name())), loss_line(trace, loss))
}

/// The gravest losses, and how many others there are, in few lines.
pub fn few_losses(trace: &Trace) -> String {
    const LINES: usize = 2;
    let grave = losses_by_severity(trace).filter(|loss| loss.kind.severity() != Severity::Remark);
    let lines: Vec<String> = grave.take(LINES).map(|loss| titled_loss(trace, &loss)).collect();
    let mut text = lines.concat();
    let remarks = trace.losses_of(Severity::Remark);
    let more = trace.losses.len() - remarks - lines.len();
    for (title, count, what) in [("lost", more, "more kind"), ("remarks", remarks, "remark")] {
        if count > 0 {
            let what = format!("{}; opscope info lists them", super::count(count, what));
            let _ = writeln!(text, "{} {}", bold(&format!("{title:9}")), dim(&what));
        }
    }
    text
}
