//! The answers about a whole profile.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Refusal, asked, beside, columns_of, json_of, shown};
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

#[derive(Deserialize)]
pub(crate) struct ExecutionsQuery {
    row: u32,
}

/// The executions of an operator.
pub(crate) async fn executions(
    State(session): Sessions,
    Path(profile): Path<String>,
    query: Result<Query<ExecutionsQuery>, QueryRejection>,
) -> Answered {
    let ExecutionsQuery { row } = asked(query)?;
    let shown = shown(&session, &profile)?;
    let found = beside(move || {
        let missing = || Refusal::new(StatusCode::NOT_FOUND, "there is no operator of this row");
        let found = shown.picture.executions(row).ok_or_else(missing)?;
        Ok(with_fingerprint(&shown, found).to_string())
    });
    Ok(json_of(found.await?.into()))
}

/// The rows of any question; its parameters are the options of `opscope analyze`, `offset` and `limit`, which choose
/// among the rows, and `format`, which may be `csv`.
pub(crate) async fn table(
    State(session): Sessions,
    Path(profile): Path<String>,
    Query(mut options): Query<Vec<(String, String)>>,
) -> Answered {
    let shown = shown(&session, &profile)?;
    let part = Part::take(&mut options)?;
    // The order of different options says nothing; that of one given several times stays.
    options.sort_by(|a, b| a.0.cmp(&b.0));
    let question = format!("table {options:?} {part:?}");
    let response = move |text| if part.is_csv { csv_of(text) } else { json_of(text) };
    if let Some(known) = shown.kept.get(&question) {
        return Ok(response(known));
    }
    let rows = beside(move || {
        let text = if part.is_csv {
            shown.subject.csv(&options)?
        } else {
            let mut table = shown.subject.table(&options)?;
            part.choose(&mut table);
            with_fingerprint(&shown, table).to_string()
        };
        let text = Bytes::from(text);
        shown.kept.put(question, text.clone());
        Ok(text)
    });
    Ok(response(rows.await?))
}

/// How much of a table is wanted, and in which form.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    offset: usize,
    limit: Option<usize>,
    is_csv: bool,
}

impl Part {
    /// Takes what isn't an option of the question itself out of the options.
    fn take(options: &mut Vec<(String, String)>) -> Result<Self, Refusal> {
        let mut part = Self::default();
        let mut wrong = None;
        options.retain(|(name, value)| {
            match &**name {
                "offset" => {
                    part.offset = value.parse().unwrap_or_else(|_| {
                        wrong = Some("offset is a number");
                        0
                    })
                }
                "limit" => match value.parse() {
                    Ok(limit) => part.limit = Some(limit),
                    Err(_) => wrong = Some("limit is a number"),
                },
                "format" => match &**value {
                    "csv" => part.is_csv = true,
                    "json" => {}
                    _ => wrong = Some("format is json or csv"),
                },
                _ => return true,
            }
            false
        });
        match wrong {
            _ if part.is_csv && (part.offset > 0 || part.limit.is_some()) => {
                Err(Refusal::of_question("a table as CSV is whole: offset and limit are for JSON"))
            }
            Some(wrong) => Err(Refusal::of_question(wrong)),
            None => Ok(part),
        }
    }

    /// Leaves of an answer's rows those that are wanted.
    fn choose(self, table: &mut Value) {
        if let Some(rows) = table.get_mut("rows").and_then(Value::as_array_mut) {
            rows.drain(..self.offset.min(rows.len()));
            rows.truncate(self.limit.unwrap_or(usize::MAX));
        }
    }
}

fn csv_of(text: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], text).into_response()
}

fn member(shown: &Shown, name: &str) -> Response {
    answer(shown, shown.report[name].clone())
}

fn answer(shown: &Shown, value: Value) -> Response {
    json_of(with_fingerprint(shown, value).to_string().into())
}

/// An answer that says which profile it is of.
pub(super) fn with_fingerprint(shown: &Shown, mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.insert("fingerprint".to_owned(), json!(shown.report["fingerprint"]));
    }
    value
}
