//! The search for names.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Refusal, asked, beside, json_of, shown};
use crate::session::{Session, Shown};

/// Hits of an answer.
const USUAL: usize = 40;
const MOST: usize = 1_000;

#[derive(Deserialize)]
pub(crate) struct SearchQuery {
    q: String,
    limit: Option<usize>,
}

/// Types, operators, calls, ranges, marks and findings by their names.
pub(crate) async fn search(
    State(session): State<Arc<Session>>,
    Path(profile): Path<String>,
    query: Result<Query<SearchQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let SearchQuery { q, limit } = asked(query)?;
    let most = limit.unwrap_or(USUAL);
    if q.is_empty() || most > MOST {
        return Err(Refusal::of_question(&format!("a text to search for, and at most {MOST} hits")));
    }
    let shown = shown(&session, &profile)?;
    let answer = beside(move || Ok(hits(&shown, &q, most).to_string()));
    Ok(json_of(answer.await?.into()))
}

fn hits(shown: &Shown, text: &str, most: usize) -> Value {
    let mut hits = types(&shown.report, text);
    let findings = findings(&shown.report, text);
    let (named, count) = shown.picture.search(text, most.saturating_sub(hits.len()));
    let all = hits.len() + count + findings.len();
    hits.extend(named);
    hits.extend(findings);
    hits.truncate(most);
    let left_out = all - hits.len();
    json!({ "hits": hits, "left_out": left_out, "fingerprint": shown.report["fingerprint"] })
}

fn has(value: &Value, text: &str) -> bool {
    value.as_str().is_some_and(|name| name.to_lowercase().contains(&text.to_lowercase()))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn types(report: &Value, text: &str) -> Vec<Value> {
    let found = list(&report["overview"]["types"]).filter(|it| has(&it["type"], text));
    found.map(|it| json!({ "kind": "type", "name": it["type"], "share": it["share"] })).collect()
}

fn findings(report: &Value, text: &str) -> Vec<Value> {
    let is_meant =
        |it: &&Value| [&it["id"], &it["title"], &it["zh"]["title"]].into_iter().any(|name| has(name, text));
    let found = list(&report["advice"]["findings"]).filter(is_meant);
    found.map(|it| json!({ "kind": "finding", "name": it["title"], "id": it["id"] })).collect()
}
