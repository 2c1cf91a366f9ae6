//! The losses of a profile, dropped and doubtful records alike, as parts of an answer's text.

use std::fmt::Write;

use opscope_say::say;
use opscope_trace::{Loss, Severity, Trace};

use super::label;
use crate::profile::{loss_line, losses_by_severity};
use crate::terminal::dim;

/// The losses, a line each.
pub fn losses_text(trace: &Trace) -> String {
    losses_by_severity(trace).map(|loss| titled_loss(trace, &loss)).collect()
}

fn titled_loss(trace: &Trace, loss: &Loss) -> String {
    format!("{} {}\n", label(loss.kind.severity().name(), 9), loss_line(trace, loss))
}

/// The gravest losses, and how many others there are, in few lines.
pub fn few_losses(trace: &Trace) -> String {
    const LINES: usize = 2;
    let grave = || losses_by_severity(trace).filter(|loss| loss.kind.severity() != Severity::Remark);
    let mut text: String = grave().take(LINES).map(|loss| titled_loss(trace, &loss)).collect();
    let more = |severity| grave().skip(LINES).filter(|loss| loss.kind.severity() == severity).count();
    for (title, count, what) in [
        ("lost", more(Severity::Lost), "more kind"),
        ("doubted", more(Severity::Doubted), "more kind"),
        ("remarks", trace.losses_of(Severity::Remark), "remark"),
    ] {
        if count > 0 {
            let what = say!("{}; opscope info lists them", super::count(count, what));
            let _ = writeln!(text, "{} {}", label(title, 9), dim(&what));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use opscope_trace::LossKind;

    use super::*;

    #[test]
    fn what_is_doubted_is_not_counted_among_what_is_lost() {
        let mut trace = Trace::new();
        for kind in [LossKind::CutRow, LossKind::CellNoNumber, LossKind::WrongBound, LossKind::OtherClock] {
            trace.count_loss(kind, 1, "");
        }
        let text = few_losses(&trace);
        let last = text.lines().last().expect("a line");
        assert!(last.contains("doubted") && last.contains("2 more kinds"), "{text}");
        assert!(!text.contains("1 more"), "{text}");
    }
}
