//! The answers about a whole profile.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde_json::{Value, json};

use super::{Refusal, beside, columns_of, json_of, shown};
use crate::session::{Session, Shown};

type Sessions = State<Arc<Session>>;
type Answered = Result<Response, Refusal>;

/// All that a report's page is told.
pub(crate) async fn report(State(session): Sessions, Path(profile): Path<String>) -> Answered {
    Ok(json_of(shown(&session, &profile)?.report_text.clone()))
}

/// The columns: all slices of a profile, or of a large one some and how busy it was beside them.
pub(crate) async fn columns(State(session): Sessions, Path(profile): Path<String>) -> Answered {
    Ok(columns_of(shown(&session, &profile)?.columns.clone()))
}

pub(crate) async fn overview(State(session): Sessions, Path(profile): Path<String>) -> Answered {
    Ok(member(&*shown(&session, &profile)?, "overview"))
}

pub(crate) async fn advice(State(session): Sessions, Path(profile): Path<String>) -> Answered {
    Ok(member(&*shown(&session, &profile)?, "advice"))
}

pub(crate) async fn rows(State(session): Sessions, Path(profile): Path<String>) -> Answered {
    Ok(member(&*shown(&session, &profile)?, "timeline"))
}

/// The profile's files, and what was lost of them.
pub(crate) async fn about(State(session): Sessions, Path(profile): Path<String>) -> Answered {
    let shown = shown(&session, &profile)?;
    let mut about = shown.report["about"].clone();
    about["losses"] = shown.report["losses"].clone();
    Ok(answer(&shown, about))
}

/// The rows of any question; its parameters are the options of `opscope analyze`.
pub(crate) async fn table(
    State(session): Sessions,
    Path(profile): Path<String>,
    Query(mut options): Query<Vec<(String, String)>>,
) -> Answered {
    let shown = shown(&session, &profile)?;
    // The order of different options says nothing; that of one given several times stays.
    options.sort_by(|a, b| a.0.cmp(&b.0));
    let question = format!("table {options:?}");
    if let Some(known) = shown.kept.get(&question) {
        return Ok(json_of(known));
    }
    let rows = beside(move || {
        let table = shown.subject.table(&options)?;
        let text = axum::body::Bytes::from(with_fingerprint(&shown, table).to_string());
        shown.kept.put(question, text.clone());
        Ok(text)
    });
    Ok(json_of(rows.await?))
}

fn member(shown: &Shown, name: &str) -> Response {
    answer(shown, shown.report[name].clone())
}

fn answer(shown: &Shown, value: Value) -> Response {
    json_of(with_fingerprint(shown, value).to_string().into())
}

fn with_fingerprint(shown: &Shown, mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.insert("fingerprint".to_owned(), json!(shown.report["fingerprint"]));
    }
    value
}
