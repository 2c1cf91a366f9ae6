//! The losses of a profile, dropped and doubtful records alike, in words and for programs.

use std::fmt::Write;

use opscope_trace::{Loss, Severity, Trace};
use serde_json::{Value, json};

use crate::terminal::{bold, dim, printable};

/// The losses, the gravest first.
pub fn losses_by_severity(trace: &Trace) -> impl Iterator<Item = Loss> {
    let mut losses: Vec<Loss> = trace.losses.iter().map(|(_, loss)| loss).collect();
    losses.sort_by_key(|loss| loss.kind.severity());
    losses.into_iter()
}

/// A loss in words: how often, what, and where.
pub fn loss_line(trace: &Trace, loss: &Loss) -> String {
    let detail = printable(trace.strings.get(loss.detail));
    let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
    format!("{} × {}{detail}", loss.count, loss.kind)
}

/// The losses, a line each.
pub fn losses_text(trace: &Trace) -> String {
    losses_by_severity(trace).map(|loss| titled_loss(trace, &loss)).collect()
}

fn titled_loss(trace: &Trace, loss: &Loss) -> String {
    format!("{} {}\n", bold(&format!("{:9}", loss.kind.severity().name())), loss_line(trace, loss))
}

/// The losses, for a program.
pub fn losses_json(trace: &Trace) -> Vec<Value> {
    let text = |id| trace.strings.get(id);
    let rows = trace.losses.iter().map(|(_, loss)| {
        json!({
            "kind": loss.kind.name(),
            "severity": loss.kind.severity().name(),
            "source": loss.kind.source().name(),
            "scope": loss.kind.scope().name(),
            "reason": loss.kind.sentence(),
            "count": loss.count,
            "detail": text(loss.detail),
        })
    });
    rows.collect()
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
