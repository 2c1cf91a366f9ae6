//! The changes from one profile to another.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;

use super::profile::with_fingerprint;
use super::{Refusal, asked, beside, json_of, shown};
use crate::session::Session;

#[derive(Deserialize)]
pub(crate) struct CompareQuery {
    a: usize,
    b: usize,
}

/// The changes from profile `a` to profile `b`, with the figures of `a`.
pub(crate) async fn compare(
    State(session): State<Arc<Session>>,
    query: Result<Query<CompareQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let CompareQuery { a, b } = asked(query)?;
    let [before, after] = [shown(&session, &a.to_string())?, shown(&session, &b.to_string())?];
    let question = format!("since {a}");
    if let Some(known) = after.kept.get(&question) {
        return Ok(json_of(known));
    }
    let answer = beside(move || {
        let changes = after.subject.since(&*before.subject)?;
        let text = Bytes::from(with_fingerprint(&after, changes).to_string());
        after.kept.put(question, text.clone());
        Ok(text)
    });
    Ok(json_of(answer.await?))
}
