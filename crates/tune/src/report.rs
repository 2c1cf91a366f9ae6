//! What tuning did, as JSON and as Markdown.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::agreement::Agreement;
use crate::interleaved::{Interval, Verdict};
use crate::parting::Parting;
use crate::tune::{Attempt, Fate, Step, Tuned};

/// What a report is about, as the user named it.
#[derive(Clone, Debug)]
pub struct Subject {
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
pub fn command(subject: &Subject, tuned: &Tuned) -> Option<String> {
    let output = subject.output.as_deref()?;
    let ids: Vec<_> = tuned.kept.iter().map(|info| info.id).collect();
    let lossy = tuned.is_lossy();
    let mut command = format!("opscope rewrite {} -o {output} --only {}", subject.model, ids.join(","));
    if lossy {
        command.push_str(" --allow-lossy");
    }
    if let Some(opset) = subject.opset {
        let _ = write!(command, " --opset {opset}");
    }
    Some(command)
}

/// The report as JSON.
pub fn to_json(subject: &Subject, tuned: &Tuned) -> Value {
    json!({
        "schema_version": 1,
        "model": subject.model,
        "output": subject.output,
        "engine": subject.engine,
        "engine_version": tuned.engine_version,
        "optimization": subject.optimization,
        "threads": subject.threads,
        "confidence": subject.confidence,
        "other_engine": json_of_parting(&tuned.parting),
        "original_ns": tuned.original.0,
        "result": tuned.result.map(|result| json!({
            "speedup": json_of_interval(result.speedup),
            "original_ns": result.medians.0.0,
            "tuned_ns": result.medians.1.0,
            "pairs": result.pairs,
            "agreement": json_of_agreement(&result.agreement),
        })),
        "kept": tuned.kept.iter().map(|info| info.id).collect::<Vec<_>>(),
        "steps": tuned.steps.iter().map(json_of_step).collect::<Vec<_>>(),
        "check_failed": tuned.check_failed(),
        "interrupted": tuned.interrupted,
        "redo": command(subject, tuned),
        "undo": format!("the original is unchanged: {}", subject.model),
    })
}

fn json_of_step(step: &Step) -> Value {
    let (fate, reason) = fate(step);
    json!({
        "rewrites": step.attempt.ids(),
        "together": matches!(step.attempt, Attempt::Together(_)),
        "exactness": step.exactness.name(),
        "places": step.places,
        "nodes_before": step.nodes_before,
        "nodes_after": step.nodes_after,
        "agreement": step.agreement.as_ref().map(json_of_agreement),
        "speedup": step.speedup.map(json_of_interval),
        "before_ns": step.medians.map(|medians| medians.0.0),
        "after_ns": step.medians.map(|medians| medians.1.0),
        "pairs": step.pairs,
        "kept": step.fate == Fate::Kept,
        "fate": fate,
        "reason": reason,
    })
}

fn json_of_interval(interval: Interval) -> Value {
    json!({ "median": interval.median, "low": interval.low, "high": interval.high })
}

/// JSON has no infinity: errors of that size are text.
fn json_of_agreement(agreement: &Agreement) -> Value {
    let number = |x: f64| if x.is_finite() { json!(x) } else { json!(x.to_string()) };
    json!({
        "max_absolute_error": number(agreement.absolute),
        "max_relative_error": number(agreement.relative),
        "cosine_similarity": agreement.cosine,
        "top_1_agreement": agreement.top_1,
    })
}

fn json_of_parting(parting: &Parting) -> Value {
    match parting {
        Parting::Agree { other, agreement } => {
            json!({ "engine": other.name(), "agrees": true, "agreement": json_of_agreement(agreement) })
        }
        Parting::Alone { reason } => json!({ "agrees": null, "reason": reason }),
        Parting::Part { other, agreement, node } => json!({
            "engine": other.name(),
            "agrees": false,
            "agreement": agreement.as_ref().map(json_of_agreement),
            "node": node,
        }),
    }
}

/// A word for what became of a step, and the reason as a sentence.
pub fn fate(step: &Step) -> (&'static str, String) {
    match &step.fate {
        Fate::Kept => ("kept", "faster beyond the noise".to_owned()),
        Fate::NotFaster(Verdict::Slower) => ("refused", "slower".to_owned()),
        Fate::NotFaster(_) => ("refused", "no difference beyond the noise".to_owned()),
        Fate::CheckFailed { limit } => {
            let error = step.agreement.map_or(f64::NAN, |agreement| agreement.relative);
            let text =
                format!("undone: the outputs differ by {error:.1e} relatively, {limit:.1e} is allowed");
            ("check failed", text)
        }
        Fate::Unusable(reason) => ("unusable", reason.clone()),
    }
}

/// A speed-up as people read it: `1.62x (1.58 to 1.66)`.
pub fn speedup_text(interval: Interval) -> String {
    format!("{:.3}x ({:.3} to {:.3})", interval.median, interval.low, interval.high)
}

/// The report as Markdown.
pub fn to_markdown(subject: &Subject, tuned: &Tuned) -> String {
    let mut text = format!("# Tuning {}\n\n", subject.model);
    let _ = writeln!(
        text,
        "On {} {}, optimization {}, {} threads; intervals hold with {} % confidence.\n",
        subject.engine,
        tuned.engine_version,
        subject.optimization,
        subject.threads,
        subject.confidence * 100.0
    );
    match (&tuned.result, &subject.output) {
        (Some(result), Some(output)) => {
            let _ = writeln!(
                text,
                "**{}** as fast: {:.3} ms became {:.3} ms (medians of {} pairs that ran in turn). \
                 The tuned model is `{output}`.\n",
                speedup_text(result.speedup),
                result.medians.0.0 as f64 / 1e6,
                result.medians.1.0 as f64 / 1e6,
                result.pairs
            );
            let _ = writeln!(
                text,
                "Its outputs against the original's: {}.\n",
                agreement_text(&result.agreement)
            );
        }
        _ => text.push_str("Nothing won beyond the noise; the model stays as it is.\n\n"),
    }
    let _ = writeln!(text, "{}\n", parting_text(&tuned.parting));
    text.push_str("## Steps\n\n");
    text.push_str(
        "| step | exactness | places | nodes | max. relative error | cosine | top-1 | speed-up | pairs | |\n",
    );
    text.push_str("|---|---|--:|---|--:|--:|--:|---|--:|---|\n");
    for step in &tuned.steps {
        let (fate, reason) = fate(step);
        let agreement =
            |shown: &dyn Fn(&Agreement) -> String| step.agreement.as_ref().map_or("–".to_owned(), shown);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} → {} | {} | {} | {} | {} | {} | {fate}: {reason} |",
            names(&step.attempt),
            step.exactness,
            step.places,
            step.nodes_before,
            step.nodes_after,
            agreement(&|a| format!("{:.1e}", a.relative)),
            agreement(&|a| format!("{:.6}", a.cosine)),
            agreement(&|a| a.top_1.map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0))),
            step.speedup.map_or("–".to_owned(), speedup_text),
            step.pairs,
        );
    }
    if tuned.steps.is_empty() {
        text.push_str("\nNo rewrite applies to this model.\n");
    }
    text.push_str("\n## The way back\n\n");
    let _ = writeln!(text, "The original was not changed: `{}`.", subject.model);
    if let Some(command) = command(subject, tuned) {
        let _ = writeln!(
            text,
            "The tuned model comes from it by this command; leave an id out to leave that step out:\n\n    {command}"
        );
    }
    text
}

/// What was tried, with names: `G01 conv-bn-fold`.
pub fn names(attempt: &Attempt) -> String {
    match attempt {
        Attempt::One(info) => format!("{} {}", info.id, info.name),
        Attempt::Together(_) => format!("together: {}", attempt.ids().join(" ")),
    }
}

/// An agreement in words.
pub fn agreement_text(agreement: &Agreement) -> String {
    let top_1 =
        agreement.top_1.map_or(String::new(), |share| format!(", top-1 agreement {:.1} %", share * 100.0));
    format!(
        "largest error {:.1e} ({:.1e} relatively), cosine similarity {:.6}{top_1}",
        agreement.absolute, agreement.relative, agreement.cosine
    )
}

/// What the other engine says, as a sentence.
pub fn parting_text(parting: &Parting) -> String {
    match parting {
        Parting::Agree { other, agreement } => {
            format!(
                "Before anything was changed, {other} computed the same (within {:.1e}).",
                agreement.relative
            )
        }
        Parting::Alone { reason } => format!("No second engine could be asked about the model: {reason}."),
        Parting::Part { other, .. } => format!("{other} computes something else."),
    }
}
