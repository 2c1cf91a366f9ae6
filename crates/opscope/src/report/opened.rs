//! A profile that was just read, at first sight: enough to know which questions it can answer.

use opscope_analyze::ScopeError;
use serde_json::{Value, json};

use super::{Envelope, latency_json, overview_json};
use crate::profile::Opened;

/// The kind of a profile, its oddities, its size and its times as a whole.
///
/// # Errors
/// When its measured iterations can't be told.
pub fn to_json(profile: &Opened) -> Result<Envelope<Value>, ScopeError> {
    let overview = profile.overview(opscope_analyze::Scope::default())?;
    let answer = json!({
        "path": profile.path().to_string_lossy(),
        "kind": profile.format().name,
        "engine": profile.run.engine.map(|engine| engine.name()),
        "chip": profile.run.chip,
        "remarks": profile.remarks(),
        "rows": {
            "tasks": profile.tasks.len(),
            "operators": profile.operators.len(),
            "calls": profile.api_calls.len(),
            "iterations": profile.iterations.len(),
            "ranges": profile.ranges.len(),
            "counters": profile.counters.len(),
        },
        "extent_ns": profile.extent().map(|(first, last)| [first.0, last.0]),
        "latency": latency_json(profile),
        "overview": overview_json(profile, &overview),
    });
    Ok(Envelope::new(1, answer).about([profile]))
}
