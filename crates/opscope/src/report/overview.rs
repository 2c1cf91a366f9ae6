//! A profile at first sight, as text and as JSON.

use std::collections::HashSet;
use std::fmt::Write;

use opscope_analyze::{Answer, GroupBy, Measured, Overview, Phase, Query, SpanBasis, is_work};
use opscope_say::{say, word};
use opscope_trace::{Nanoseconds, Trace, units};
use serde_json::{Value, json};

use super::losses::few_losses;
use super::{count, label};
use crate::terminal::{dim, printable};

/// A line each for what a part of a profile amounts to.
pub fn overview_text(trace: &Trace, overview: &Overview) -> String {
    let mut text = String::new();
    let mut line = |title: &str, content: String| {
        let _ = writeln!(text, "{} {content}", label(title, 9));
    };
    let share = |part: Nanoseconds, whole: Nanoseconds| units::percent(ratio(part, whole));
    let is_placed = trace.run.layer_times.is_placed();
    if is_placed {
        let wall = units::duration(overview.wall);
        line(
            "wall time",
            match overview.iterations {
                0 => say!("{wall} from the first operator to the last"),
                1 => say!("{wall} in {}", single_iteration(trace, overview)),
                number => say!("{wall} an iteration, the mean of {number}"),
            } + &basis(overview),
        );
        line(
            "busy",
            say!(
                "{} ({}) with at least one operator running; idle {} ({})",
                units::duration(overview.busy),
                share(overview.busy, overview.wall),
                units::duration(overview.idle()),
                share(overview.idle(), overview.wall),
            ),
        );
    }
    if let Some(stated) = stated(trace, overview) {
        line("inference", say!("{}, as the profile states it", units::duration(stated)));
    }
    line(
        "operators",
        say!(
            "{} in {}, {}",
            units::duration(overview.operator_time),
            executions(overview, overview.tasks),
            match is_placed {
                true => say!("{:.2} times the wall time", ratio(overview.operator_time, overview.wall)),
                false => unplaced(trace, overview),
            },
        ),
    );
    if !is_placed {
        line("times", dim(word(trace.run.layer_times.name())));
    }
    line(
        "coverage",
        say!(
            "{} of that time belongs to known operators, {} to such whose operations are known",
            share(overview.attributed, overview.operator_time),
            share(overview.with_flops, overview.operator_time),
        ),
    );
    for device in &overview.devices {
        let row = trace.devices.get(device.device);
        let busy = say!("busy {} ({})", units::duration(device.busy), share(device.busy, overview.wall));
        line(
            &say!("device {}", row.number),
            format!(
                "{} {busy}, {}",
                printable(trace.strings.get(row.name)),
                executions(overview, device.tasks)
            ),
        );
    }
    let units: Vec<_> = overview.units.iter().filter(|unit| is_work(unit.unit)).collect();
    if units.len() > 1 {
        let named = units.iter().map(|unit| format!("{} {}", unit.unit.name(), units::duration(unit.time)));
        line("units", named.collect::<Vec<_>>().join(word(", ")));
    }
    if let Some(memory) = memory(trace) {
        line("memory", memory);
    }
    let left_out = left_out(overview);
    if !left_out.is_empty() {
        line("left out", dim(&left_out.join(word("; "))));
    }
    text.push_str(&few_losses(trace));
    text
}

/// Whose iterations the wall time is of, where that of the host is another.
fn basis(overview: &Overview) -> String {
    let Some(host) = overview.host_wall.map(units::duration) else { return String::new() };
    match overview.basis {
        SpanBasis::Recorded => String::new(),
        SpanBasis::Device => say!(", as the device ran it; {host} on the host, which was ahead"),
        SpanBasis::HostAndDevice => say!(", until all of it had run; {host} on the host"),
    }
}

/// A number of executions beside times of an average iteration.
fn executions(overview: &Overview, all: usize) -> String {
    match overview.iterations {
        0 | 1 => count(all, "execution"),
        iterations => {
            let in_one = overview.in_one(all);
            let in_one = if in_one.fract() == 0.0 { in_one.to_string() } else { format!("{in_one:.1}") };
            say!("{in_one} executions an iteration ({all} in all {iterations})")
        }
    }
}

/// The peak of memory and where it is reached, as far as the format tells.
fn memory(trace: &Trace) -> Option<String> {
    let run = &trace.run;
    let mut text = say!("peak {}", units::bytes(run.planned_peak.or(run.peak_memory)?.0 as f64));
    if let Some(operator) = &run.planned_peak_operator {
        let _ = write!(text, "{}", say!(" at {}", printable(operator)));
    }
    Some(text)
}

/// Lines for what the host did: all of it, and what of it was while inferences ran and what was once.
pub fn host_text(trace: &Trace, query: &Query, answer: &Answer) -> String {
    // Ranges and executing threads may have no calls.
    let threads: HashSet<_> = trace.api_calls.thread().iter().flatten().collect();
    let threads = count(threads.len(), "thread");
    let calls = count(answer.executions, "call");
    let mut text = say!(
        "{} {} in {calls} of {threads}, each less the calls that it made\n",
        label("host", 9),
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
                say!(" while inferences ran: {each} for each of {inferences}")
            }
            (Phase::SteadyState, _) => word(" while inferences ran").to_owned(),
            (Phase::OneOff, _) => word(" before and after, or to load something").to_owned(),
        };
        let line = say!("{} in {}{about}", units::duration(time), count(number, "call"));
        let _ = writeln!(text, "{} {line}", label(title, 9));
    }
    text
}

fn single_iteration(trace: &Trace, overview: &Overview) -> String {
    match overview.iterations_left_out {
        0 => {
            say!("the only iteration ({})", trace.iterations.number().first().copied().unwrap_or_default())
        }
        _ => word("one iteration").to_owned(),
    }
}

/// The inference that times without starts are of.
fn unplaced(trace: &Trace, overview: &Overview) -> String {
    match (trace.run.summed_runs, overview.iterations) {
        (_, 0) => word("of the whole profile").to_owned(),
        (Some(runs), _) => say!("the mean of {runs} inferences, which the profile sums up"),
        (None, 1) if trace.run.are_means => {
            word("the mean of inferences, of which the profile doesn't tell how many").to_owned()
        }
        (None, 1) => word("in an inference").to_owned(),
        (None, iterations) => say!("the mean of {iterations} inferences"),
    }
}

/// The mean inference that a profile states beside its operators' durations, where it is longer than these.
fn stated(trace: &Trace, overview: &Overview) -> Option<Nanoseconds> {
    let is_alone = !trace.run.layer_times.is_placed() && overview.iterations > 0;
    // Both means are rounded down.
    let is_longer = overview.wall.0 > overview.operator_time.0 + 1;
    (is_alone && is_longer).then_some(overview.wall)
}

fn left_out(overview: &Overview) -> Vec<String> {
    let mut left_out = Vec::new();
    if overview.iterations_left_out > 0 {
        left_out.push(count(overview.iterations_left_out, "other iteration"));
    }
    if overview.outside.0 > 0 && overview.iterations_left_out == 0 {
        let time = units::duration(overview.outside.1);
        left_out.push(say!("{} outside of the iterations ({time})", count(overview.outside.0, "task")));
    }
    if overview.control.0 > 0 {
        let time = units::duration(overview.control.1);
        let of_all = match overview.iterations {
            0 | 1 => String::new(),
            iterations => say!(" in all {iterations} iterations"),
        };
        let tasks = count(overview.control.0, "task");
        left_out.push(say!("{tasks} that wait or handle streams ({time}{of_all})"));
    }
    left_out
}

fn ratio(part: Nanoseconds, whole: Nanoseconds) -> f64 {
    if whole.0 > 0 { part.0 as f64 / whole.0 as f64 } else { 0.0 }
}

/// The same for a program.
pub fn overview_json(trace: &Trace, overview: &Overview) -> Value {
    let devices = overview.devices.iter().map(|device| {
        let row = trace.devices.get(device.device);
        json!({
            "number": row.number,
            "name": trace.strings.get(row.name),
            "busy_ns": device.busy.0,
            "tasks": device.tasks,
        })
    });
    let units = overview
        .units
        .iter()
        .map(|unit| json!({ "unit": unit.unit.name(), "time_ns": unit.time.0, "tasks": unit.tasks }));
    // Where starts are made up, nothing is known of what lies between.
    let placed = |time: Nanoseconds| trace.run.layer_times.is_placed().then_some(time.0);
    json!({
        "iterations": overview.iterations,
        "iterations_left_out": overview.iterations_left_out,
        "summed_runs": trace.run.summed_runs,
        "times": trace.run.layer_times.caveat(),
        "wall_ns": placed(overview.wall),
        "stated_inference_ns": stated(trace, overview).map(|time| time.0),
        "host_wall_ns": overview.host_wall.map(|wall| wall.0),
        "busy_ns": placed(overview.busy),
        "idle_ns": placed(overview.idle()),
        "operator_time_ns": overview.operator_time.0,
        "attributed_ns": overview.attributed.0,
        "with_flops_ns": overview.with_flops.0,
        "tasks": overview.tasks,
        "control": { "tasks": overview.control.0, "time_ns": overview.control.1.0 },
        "outside": { "tasks": overview.outside.0, "time_ns": overview.outside.1.0 },
        "devices": devices.collect::<Vec<_>>(),
        "units": units.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use opscope_analyze::Scope;
    use opscope_trace::{Iteration, Task, TimeBasis};

    use super::*;

    #[test]
    fn an_inference_that_is_stated_beside_durations_alone_is_shown() {
        let of_inference = |duration: i64| {
            let mut trace = Trace::new();
            trace.run.layer_times = TimeBasis::Unplaced;
            let (start, duration) = (Nanoseconds(0), Nanoseconds(duration));
            let row = Iteration { model: None, number: 1, warm_up: false, start, duration };
            let iteration = Some(trace.iterations.push(row));
            let name = trace.strings.intern("conv");
            trace.tasks.push(Task { iteration, ..Task::new(name, start, Nanoseconds(9_000_000)) });
            let overview = Overview::of(&trace, Scope::default()).unwrap();
            (
                overview_text(&trace, &overview),
                overview_json(&trace, &overview)["stated_inference_ns"].clone(),
            )
        };
        let (text, json) = of_inference(10_500_000);
        assert!(text.contains(" 10.5 ms, as the profile states it\n"), "{text}");
        assert_eq!(json, 10_500_000);
        let (text, json) = of_inference(9_000_000);
        assert!(!text.contains("states") && json.is_null(), "{text}");
    }
}
