//! The answers of the server: a file for each kind of answer.

mod compare;
mod export;
mod page;
mod profile;
pub(crate) mod ranks;
mod search;
mod status;
mod timeline;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;

use crate::session::{Problem, Session, Shown, State};
use crate::single_file::OF_PROFILE;

/// All addresses.
pub(crate) fn all(session: Arc<Session>) -> Router {
    page::all(OF_PROFILE)
        .route("/api/status", get(status::status))
        .route("/api/compare", get(compare::compare))
        .route("/api/{profile}/report", get(profile::report))
        .route("/api/{profile}/columns", get(profile::columns))
        .route("/api/{profile}/overview", get(profile::overview))
        .route("/api/{profile}/about", get(profile::about))
        .route("/api/{profile}/advice", get(profile::advice))
        .route("/api/{profile}/rows", get(profile::rows))
        .route("/api/{profile}/table", get(profile::table))
        .route("/api/{profile}/tiles", get(timeline::tiles))
        .route("/api/{profile}/slice", get(timeline::slice))
        .route("/api/{profile}/window", get(timeline::window))
        .route("/api/{profile}/counters", get(timeline::counters))
        .route("/api/{profile}/executions", get(profile::executions))
        .route("/api/{profile}/search", get(search::search))
        .route("/api/{profile}/trace", get(export::trace))
        .fallback(nothing)
        .with_state(session)
}

async fn nothing() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "there is nothing at this address")
}

/// Why a request gets no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: StatusCode,
    error: String,
    hint: Option<String>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, error: &str) -> Self {
        Self { status, error: error.to_owned(), hint: None }
    }

    pub(crate) fn with_hint(self, hint: &str) -> Self {
        Self { hint: Some(hint.to_owned()), ..self }
    }

    /// Of a question with a wrong value.
    fn of_question(error: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let status =
            if problem.is_question { StatusCode::BAD_REQUEST } else { StatusCode::UNPROCESSABLE_ENTITY };
        Self { status, error: problem.error, hint: problem.hint }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let text = json!({ "error": self.error, "hint": self.hint }).to_string();
        let mut response = (self.status, json_of(text.into())).into_response();
        let mut put = |name, value| response.headers_mut().insert(name, HeaderValue::from_static(value));
        match self.status {
            StatusCode::METHOD_NOT_ALLOWED => put(header::ALLOW, "GET, HEAD"),
            StatusCode::UNAUTHORIZED => put(header::WWW_AUTHENTICATE, "Bearer"),
            StatusCode::SERVICE_UNAVAILABLE => put(header::RETRY_AFTER, "1"),
            _ => None,
        };
        response
    }
}

/// A profile that can be asked.
fn shown(session: &Session, profile: &str) -> Result<Arc<Shown>, Refusal> {
    let missing = || Refusal::new(StatusCode::NOT_FOUND, "there is no profile of this number");
    let number = profile.parse().map_err(|_| missing())?;
    match session.state(number).ok_or_else(missing)? {
        State::Ready(shown) => Ok(shown),
        State::Failed(problem) => Err(Refusal::from(Problem { is_question: false, ..problem })),
        State::Waiting | State::Reading(_) => {
            Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the profile is still being read"))
        }
    }
}

/// Computes beside the thread that speaks with everybody.
async fn beside<A: Send + 'static>(
    work: impl FnOnce() -> Result<A, Refusal> + Send + 'static,
) -> Result<A, Refusal> {
    let fault = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "this answer failed");
    tokio::task::spawn_blocking(work).await.map_err(fault)?
}

/// The values of a question, of the right kinds.
fn asked<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    query.map(|Query(asked)| asked).map_err(|problem| Refusal::of_question(&problem.body_text()))
}

/// Numbers with commas between.
fn numbers(text: &str, of: &str) -> Result<Vec<usize>, Refusal> {
    let wrong = |_| Refusal::of_question(&format!("{of} are numbers with commas between"));
    text.split(',').map(str::parse).collect::<Result<_, _>>().map_err(wrong)
}

fn json_of(text: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

fn columns_of(bytes: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
}
