//! The steps and the result of tuning, as text, JSON and Markdown.

use std::fmt::Write;

use opscope_say::{padded, say, sentence, word};
use opscope_trace::units;
use opscope_tune::{Agreement, Attempt, Comparison, EngineAgreement, Fate, Interval, Step, Tuned, Verdict};
use serde_json::{Value, json};

use super::table::UNKNOWN;
use super::{Envelope, Table, TableColumn, count, label, markdown};
use crate::terminal::{bold, dim, printable};

/// The tuned model, as the user named it, and the options.
#[derive(Clone, Debug)]
pub struct TuningRequest {
    /// The model's file.
    pub model: String,
    /// The tuned model's file, if one was written.
    pub output: Option<String>,
    /// The engine's name.
    pub engine: String,
    /// The engine's level of optimisation.
    pub optimization: String,
    /// How many threads an operator may use.
    pub threads: usize,
    /// The confidence of all intervals.
    pub confidence: f64,
    /// The version that ONNX's operators were to be raised to.
    pub opset: Option<i64>,
}

/// The way back and forth: the command that makes the tuned model of the original again.
fn command(request: &TuningRequest, tuned: &Tuned) -> Option<String> {
    let output = request.output.as_deref()?;
    let ids: Vec<_> = tuned.kept.iter().map(|info| info.id).collect();
    let lossy = tuned.is_lossy();
    let mut command = format!("opscope rewrite {} -o {output} --only {}", request.model, ids.join(","));
    if lossy {
        command.push_str(" --allow-lossy");
    }
    if let Some(opset) = request.opset {
        let _ = write!(command, " --opset {opset}");
    }
    Some(command)
}

/// The report as JSON.
pub fn to_json(request: &TuningRequest, tuned: &Tuned) -> Envelope<Value> {
    let answer = json!({
        "model": request.model,
        "output": request.output,
        "engine": request.engine,
        "engine_version": tuned.engine_version,
        "optimization": request.optimization,
        "threads": request.threads,
        "confidence": request.confidence,
        "other_engine": engines_json(&tuned.engines),
        "original_ns": tuned.original.0,
        "result": tuned.result.map(|result| json!({
            "speedup": interval_json(result.speedup),
            "original_ns": result.medians.0.0,
            "tuned_ns": result.medians.1.0,
            "pairs": result.pairs,
            "agreement": agreement_json(&result.agreement),
        })),
        "withdrawn": tuned.is_withdrawn(),
        "kept": tuned.kept.iter().map(|info| info.id).collect::<Vec<_>>(),
        "steps": tuned.steps.iter().map(step_json).collect::<Vec<_>>(),
        "check_failed": tuned.check_failed(),
        "interrupted": tuned.interrupted,
        "redo": command(request, tuned),
        "undo": say!("the original is unchanged: {}", request.model),
    });
    Envelope::new(1, answer)
}

fn step_json(step: &Step) -> Value {
    let (fate, reason) = fate(step);
    json!({
        "rewrites": step.attempt.ids(),
        "together": matches!(step.attempt, Attempt::Together(_)),
        "exactness": step.exactness.name(),
        "places": step.places,
        "nodes_before": step.nodes_before,
        "nodes_after": step.nodes_after,
        "agreement": step.agreement.as_ref().map(agreement_json),
        "speedup": step.speedup.map(interval_json),
        "before_ns": step.medians.map(|medians| medians.0.0),
        "after_ns": step.medians.map(|medians| medians.1.0),
        "pairs": step.pairs,
        "kept": step.fate == Fate::Kept,
        "fate": fate,
        "reason": reason,
    })
}

fn interval_json(interval: Interval) -> Value {
    json!({ "median": interval.median, "low": interval.low, "high": interval.high })
}

/// JSON has no infinity: errors of that size are text.
pub fn agreement_json(agreement: &Agreement) -> Value {
    let number = |x: f64| if x.is_finite() { json!(x) } else { json!(x.to_string()) };
    json!({
        "max_absolute_error": number(agreement.absolute),
        "max_relative_error": number(agreement.relative),
        "cosine_similarity": agreement.cosine,
        "top_1_agreement": agreement.top_1,
    })
}

fn engines_json(engines: &EngineAgreement) -> Value {
    match engines {
        EngineAgreement::Agree { other, agreement } => {
            json!({ "engine": other.name(), "agrees": true, "agreement": agreement_json(agreement) })
        }
        EngineAgreement::Alone { reason } => json!({ "agrees": null, "reason": reason }),
        EngineAgreement::Differ { other, agreement, node } => json!({
            "engine": other.name(),
            "agrees": false,
            "agreement": agreement.as_ref().map(agreement_json),
            "node": node,
        }),
    }
}

/// A word for what became of a step, and the reason as a sentence.
fn fate(step: &Step) -> (&'static str, String) {
    match &step.fate {
        Fate::Kept => ("kept", word("faster beyond the noise").to_owned()),
        Fate::NotFaster(Verdict::Slower) => ("refused", word("slower").to_owned()),
        Fate::NotFaster(_) => ("refused", word("no difference beyond the noise").to_owned()),
        Fate::CheckFailed { limit } => {
            let error = step.agreement.map_or(f64::NAN, |agreement| agreement.relative);
            let text = say!("undone: the outputs differ by {error:.1e} relatively, {limit:.1e} is allowed");
            ("check failed", text)
        }
        Fate::Unusable(reason) => ("unusable", printable(&sentence(reason)).into_owned()),
    }
}

/// A speed-up as people read it: `1.62x (1.58 to 1.66)`.
fn speedup_text(interval: Interval) -> String {
    say!("{:.3}x ({:.3} to {:.3})", interval.median, interval.low, interval.high)
}

/// The report as Markdown.
pub fn to_markdown(request: &TuningRequest, tuned: &Tuned) -> String {
    let mut text = say!("# Tuning {}\n\n", markdown::text(&request.model));
    let _ = writeln!(
        text,
        "{}",
        say!(
            "On {} {}, optimization {}, {} threads; intervals hold with {} % confidence.\n",
            request.engine,
            tuned.engine_version,
            request.optimization,
            request.threads,
            request.confidence * 100.0
        )
    );
    match (&tuned.result, &request.output) {
        (Some(result), Some(output)) => {
            let _ = writeln!(
                text,
                "{}",
                say!(
                    "**{}** as fast: {:.3} ms became {:.3} ms (medians of {} pairs that ran in turn). \
                 The tuned model is `{output}`.\n",
                    speedup_text(result.speedup),
                    result.medians.0.0 as f64 / 1e6,
                    result.medians.1.0 as f64 / 1e6,
                    result.pairs
                )
            );
            let _ = writeln!(
                text,
                "{}",
                say!("Its outputs against the original's: {}.\n", agreement_text(&result.agreement))
            );
        }
        (Some(result), None) => {
            let _ = writeln!(text, "{}", withdrawn(result));
        }
        (None, Some(output)) => {
            let _ = writeln!(text, "{}\n", say!("The tuned model, `{output}`, was not measured to the end."));
        }
        (None, None) => text.push_str(word("Nothing won beyond the noise; the model stays as it is.\n\n")),
    }
    let _ = writeln!(text, "{}\n", engines_text(&tuned.engines));
    text.push_str(word("## Steps\n\n"));
    text.push_str(&steps(tuned).to_markdown());
    if tuned.steps.is_empty() {
        text.push_str(word("\nNo rewrite applies to this model.\n"));
    }
    text.push_str(word("\n## The way back\n\n"));
    let _ = writeln!(text, "{}", say!("The original was not changed: `{}`.", request.model));
    if let Some(command) = command(request, tuned) {
        let _ = writeln!(
            text,
            "{}",
            say!(
                "The tuned model comes from it by this command; leave an id out to leave that step out:\n\n    {command}"
            )
        );
    }
    text
}

/// Steps that were kept, and why they are withdrawn.
fn withdrawn(result: &Comparison) -> String {
    say!(
        "Measured once more, the steps that were kept are {} as fast together, which is not beyond the noise; \
         the model is best as it is, and none was written.\n",
        speedup_text(result.speedup)
    )
}

/// A row for each step.
fn steps(tuned: &Tuned) -> Table {
    let mut table = Table::new([
        TableColumn::text("step"),
        TableColumn::text("exactness"),
        TableColumn::number("places"),
        TableColumn::text("nodes"),
        TableColumn::number("max. relative error"),
        TableColumn::number("cosine"),
        TableColumn::number("top-1"),
        TableColumn::text("speed-up"),
        TableColumn::number("pairs"),
        TableColumn::text(""),
    ]);
    for step in &tuned.steps {
        let (fate, reason) = fate(step);
        let unknown = || UNKNOWN.to_owned();
        let agreement =
            |shown: &dyn Fn(&Agreement) -> String| step.agreement.as_ref().map_or_else(unknown, shown);
        table.row([
            names(&step.attempt),
            step.exactness.to_string(),
            step.places.to_string(),
            format!("{} → {}", step.nodes_before, step.nodes_after),
            agreement(&|it| format!("{:.1e}", it.relative)),
            agreement(&|it| format!("{:.6}", it.cosine)),
            agreement(&|it| it.top_1.map_or_else(unknown, |share| format!("{:.1} %", share * 100.0))),
            step.speedup.map_or_else(unknown, speedup_text),
            step.pairs.to_string(),
            say!("{fate}: {reason}", fate = word(fate)),
        ]);
    }
    table
}

/// The rewrites of an attempt, with names: `G01 conv-bn-fold`.
fn names(attempt: &Attempt) -> String {
    match attempt {
        Attempt::One(info) => format!("{} {}", info.id, info.name),
        Attempt::Together(_) => say!("together: {}", attempt.ids().join(" ")),
    }
}

/// An agreement in words.
pub fn agreement_text(agreement: &Agreement) -> String {
    let top_1 =
        agreement.top_1.map_or(String::new(), |share| say!(", top-1 agreement {:.1} %", share * 100.0));
    say!(
        "largest error {:.1e} ({:.1e} relatively), cosine similarity {:.6}{top_1}",
        agreement.absolute,
        agreement.relative,
        agreement.cosine
    )
}

/// Whether the other engine agrees, as a sentence.
fn engines_text(engines: &EngineAgreement) -> String {
    match engines {
        EngineAgreement::Agree { other, agreement } => {
            say!(
                "Before anything was changed, {other} computed the same (within {:.1e}).",
                agreement.relative
            )
        }
        EngineAgreement::Alone { reason } => {
            say!("No second engine could be asked about the model: {}.", printable(reason))
        }
        EngineAgreement::Differ { other, .. } => say!("{other} computes something else."),
    }
}

/// A step in a line: what it was, what became of it, and by which figures.
pub fn step_text(step: &Step) -> String {
    let (fate, reason) = fate(step);
    let speed = step.speedup.map_or(String::new(), |speed| format!("{}, ", speedup_text(speed)));
    let error = match (&step.fate, step.agreement) {
        (Fate::CheckFailed { .. }, _) | (_, None) => String::new(),
        (_, Some(agreement)) => say!("; error {:.1e}", agreement.relative),
    };
    let places = count(step.places, "place");
    let said = if step.fate == Fate::Kept { bold(word(fate)) } else { word(fate).to_owned() };
    format!("{} {} ({places}){}{speed}{reason}{error}", padded(&said, 8), names(&step.attempt), word(": "))
}

/// The answer in a few lines.
pub fn conclusion(request: &TuningRequest, tuned: &Tuned) -> String {
    let mut text = String::new();
    if tuned.steps.is_empty() {
        text.push_str(word("No rewrite applies to this model.\n"));
    }
    match (&tuned.result, &request.output) {
        (Some(result), Some(output)) => {
            let (before, after) = result.medians;
            text.push_str(&say!(
                "{}  {} as fast: {} became {}\n",
                bold(&printable(output)),
                speedup_text(result.speedup),
                units::duration(before),
                units::duration(after)
            ));
            text.push_str(&format!("{} {}\n", label("outputs", 8), agreement_text(&result.agreement)));
        }
        (None, Some(output)) => {
            text.push_str(&say!("{}  was not measured to the end\n", bold(&printable(output))))
        }
        (Some(result), None) => text.push_str(&withdrawn(result)),
        (None, None) => text.push_str(word(
            "Nothing won beyond the noise; the model is best as it is, and none was written.\n",
        )),
    }
    text.push_str(&format!("{} {}\n", label("engines", 8), engines_text(&tuned.engines)));
    if let Some(command) = command(request, tuned) {
        text.push_str(&format!("{} {}\n", label("again", 8), printable(&command)));
        text.push_str(&format!(
            "{} {}\n",
            label("undo", 8),
            dim(&say!("use {}, which is unchanged", printable(&request.model)))
        ));
    }
    text
}
