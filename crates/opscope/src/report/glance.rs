//! A profile at first sight, as text and as JSON.

use std::fmt::Write;

use opscope_analyze::{Answer, Glance, GroupBy, Measured, Phase, Query};
use opscope_trace::{Loss, Nanoseconds, Severity, Trace, units};
use serde_json::{Value, json};

use super::count;
use crate::terminal::{bold, dim};

/// A line each for what a part of a profile amounts to.
pub fn glance_text(trace: &Trace, glance: &Glance) -> String {
    let mut text = String::new();
    let mut line = |title: &str, content: String| {
        let _ = writeln!(text, "{} {content}", bold(&format!("{title:9}")));
    };
    let share = |part: Nanoseconds, whole: Nanoseconds| units::percent(ratio(part, whole));
    let wall = units::duration(glance.wall);
    line(
        "wall time",
        match glance.iterations {
            0 => format!("{wall} from the first operator to the last"),
            1 => format!("{wall} in {}", single_iteration(trace, glance)),
            number => format!("{wall} an iteration, the mean of {number}"),
        },
    );
    line(
        "busy",
        format!(
            "{} ({}) with at least one operator running; idle {} ({})",
            units::duration(glance.busy),
            share(glance.busy, glance.wall),
            units::duration(glance.idle()),
            share(glance.idle(), glance.wall),
        ),
    );
    line(
        "operators",
        format!(
            "{} in {}, {:.2} times the wall time",
            units::duration(glance.operator_time),
            count(glance.tasks, "execution"),
            ratio(glance.operator_time, glance.wall),
        ),
    );
    line(
        "coverage",
        format!(
            "{} of that time belongs to known operators, {} to such whose operations are known",
            share(glance.attributed, glance.operator_time),
            share(glance.with_flops, glance.operator_time),
        ),
    );
    for device in &glance.devices {
        let row = trace.devices.get(device.device);
        let busy = format!("busy {} ({})", units::duration(device.busy), share(device.busy, glance.wall));
        line(
            &format!("device {}", row.number),
            format!("{} {busy}, {}", trace.strings.get(row.name), count(device.tasks, "execution")),
        );
    }
    let units: Vec<_> =
        glance.units.iter().filter(|unit| unit.unit != opscope_trace::ExecutionUnit::Control).collect();
    if units.len() > 1 {
        let named = units.iter().map(|unit| format!("{} {}", unit.unit.name(), units::duration(unit.time)));
        line("units", named.collect::<Vec<_>>().join(", "));
    }
    if let Some(memory) = memory(trace) {
        line("memory", memory);
    }
    let left_out = left_out(glance);
    if !left_out.is_empty() {
        line("left out", dim(&left_out.join("; ")));
    }
    text.push_str(&few_losses(trace));
    text
}

/// What was lost or doubted, and how much else there is to say, in few lines.
fn few_losses(trace: &Trace) -> String {
    const LINES: usize = 2;
    let grave = losses_by_severity(trace).filter(|loss| loss.severity != Severity::Remark);
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

/// The peak of memory and where it is reached, as far as the format tells.
fn memory(trace: &Trace) -> Option<String> {
    let peak = trace.property("peak_memory_bytes").or_else(|| trace.property("peak_memory"))?;
    let mut text = format!("peak {}", units::bytes(peak.parse().ok()?));
    if let Some(operator) = trace.property("peak_memory_operator").filter(|name| !name.is_empty()) {
        let _ = write!(text, " at {}", crate::terminal::printable(operator));
    }
    Some(text)
}

/// Lines for what the host did: all of it, and what of it was while inferences ran and what was once.
pub fn host_text(trace: &Trace, query: &Query, answer: &Answer) -> String {
    let threads = count(trace.threads.len(), "thread");
    let calls = count(answer.executions, "call");
    let mut text = format!(
        "{} {} in {calls} of {threads}, each less the calls that it made\n",
        bold("host     "),
        units::duration(answer.whole)
    );
    // Rows of other groups may mix both.
    let Ok(by_call) = (Query { group_by: GroupBy::Operator, ..query.clone() }).run(trace) else {
        return text;
    };
    let inferences = Measured::of(trace).iterations.len();
    for (phase, title) in [(Phase::SteadyState, "steady"), (Phase::OneOff, "one-off")] {
        let rows = by_call.rows.iter().filter(|row| row.phase == Some(phase));
        let (number, time) = rows
            .fold((0, Nanoseconds::ZERO), |(number, time), row| (number + row.times.count, time + row.total));
        if number == 0 {
            continue;
        }
        let about = match (phase, inferences) {
            (Phase::SteadyState, 2..) if answer.averaged == 1 => {
                let each = units::duration(Nanoseconds(time.0 / inferences as i64));
                format!(" while inferences ran: {each} for each of {inferences}")
            }
            (Phase::SteadyState, _) => " while inferences ran".to_owned(),
            (Phase::OneOff, _) => " before and after, or to load something".to_owned(),
        };
        let line = format!("{} in {}{about}", units::duration(time), count(number, "call"));
        let _ = writeln!(text, "{} {line}", bold(&format!("{title:9}")));
    }
    text
}

/// What was dropped or doubted, the gravest first.
pub fn losses_by_severity(trace: &Trace) -> impl Iterator<Item = Loss> {
    let mut losses: Vec<Loss> = trace.losses.iter().map(|(_, loss)| loss).collect();
    losses.sort_by_key(|loss| loss.severity);
    losses.into_iter()
}

/// A loss in words: how often, what, and where.
pub fn loss_line(trace: &Trace, loss: &Loss) -> String {
    let detail = crate::terminal::printable(trace.strings.get(loss.detail));
    let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
    format!("{} × {}{detail}", loss.count, crate::terminal::printable(trace.strings.get(loss.reason)))
}

/// What was dropped or doubted, a line each.
pub fn losses_text(trace: &Trace) -> String {
    losses_by_severity(trace).map(|loss| titled_loss(trace, &loss)).collect()
}

fn titled_loss(trace: &Trace, loss: &Loss) -> String {
    format!("{} {}\n", bold(&format!("{:9}", loss.severity.name())), loss_line(trace, loss))
}

fn single_iteration(trace: &Trace, glance: &Glance) -> String {
    match glance.iterations_left_out {
        0 => {
            format!("the only iteration ({})", trace.iterations.number().first().copied().unwrap_or_default())
        }
        _ => "one iteration".to_owned(),
    }
}

fn left_out(glance: &Glance) -> Vec<String> {
    let mut left_out = Vec::new();
    if glance.iterations_left_out > 0 {
        left_out.push(count(glance.iterations_left_out, "other iteration"));
    }
    if glance.outside.0 > 0 && glance.iterations_left_out == 0 {
        let time = units::duration(glance.outside.1);
        left_out.push(format!("{} outside of the iterations ({time})", count(glance.outside.0, "task")));
    }
    if glance.control.0 > 0 {
        let time = units::duration(glance.control.1);
        left_out.push(format!("{} that wait or handle streams ({time})", count(glance.control.0, "task")));
    }
    left_out
}

fn ratio(part: Nanoseconds, whole: Nanoseconds) -> f64 {
    if whole.0 > 0 { part.0 as f64 / whole.0 as f64 } else { 0.0 }
}

/// The same for a program.
pub fn glance_json(trace: &Trace, glance: &Glance) -> Value {
    let devices = glance.devices.iter().map(|device| {
        let row = trace.devices.get(device.device);
        json!({
            "number": row.number,
            "name": trace.strings.get(row.name),
            "busy_ns": device.busy.0,
            "tasks": device.tasks,
        })
    });
    let units = glance
        .units
        .iter()
        .map(|unit| json!({ "unit": unit.unit.name(), "time_ns": unit.time.0, "tasks": unit.tasks }));
    json!({
        "iterations": glance.iterations,
        "iterations_left_out": glance.iterations_left_out,
        "wall_ns": glance.wall.0,
        "busy_ns": glance.busy.0,
        "idle_ns": glance.idle().0,
        "operator_time_ns": glance.operator_time.0,
        "attributed_ns": glance.attributed.0,
        "with_flops_ns": glance.with_flops.0,
        "tasks": glance.tasks,
        "control": { "tasks": glance.control.0, "time_ns": glance.control.1.0 },
        "outside": { "tasks": glance.outside.0, "time_ns": glance.outside.1.0 },
        "devices": devices.collect::<Vec<_>>(),
        "units": units.collect::<Vec<_>>(),
    })
}

/// What was dropped or doubted, for a program.
pub fn losses_json(trace: &Trace) -> Vec<Value> {
    let text = |id| trace.strings.get(id);
    let rows = trace.losses.iter().map(|(_, loss)| {
        json!({
            "severity": loss.severity.name(),
            "reason": text(loss.reason),
            "count": loss.count,
            "detail": text(loss.detail),
        })
    });
    rows.collect()
}
