//! The answers about a run on many ranks.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use serde::Deserialize;

use super::{Refusal, asked, beside, columns_of, json_of, page};
use crate::ranks::{self, Session, Shown};
use crate::session::Problem;
use crate::single_file::OF_RANKS;

type Sessions = State<Arc<Session>>;
type Answered = Result<Response, Refusal>;

/// All addresses.
pub(crate) fn all(session: Arc<Session>) -> Router {
    page::all(OF_RANKS)
        .route("/api/status", get(status))
        .route("/api/report", get(report))
        .route("/api/columns", get(columns))
        .route("/api/timeline", get(timeline))
        .fallback(super::nothing)
        .with_state(session)
}

async fn status(State(session): Sessions) -> Response {
    json_of(session.status().to_string().into())
}

async fn report(State(session): Sessions) -> Answered {
    Ok(json_of(shown(&session)?.report.clone()))
}

async fn columns(State(session): Sessions) -> Answered {
    Ok(columns_of(shown(&session)?.columns.clone()))
}

#[derive(Deserialize)]
struct TimelineQuery {
    ranks: String,
    steps: Option<String>,
}

/// The timeline of chosen ranks.
async fn timeline(State(session): Sessions, query: Result<Query<TimelineQuery>, QueryRejection>) -> Answered {
    let TimelineQuery { ranks, steps } = asked(query)?;
    let shown = shown(&session)?;
    let drawn = beside(move || Ok(shown.ranks.timeline(&ranks, steps.as_deref())?));
    Ok(columns_of(drawn.await?.into()))
}

/// The run, where it can be asked.
fn shown(session: &Session) -> Result<Arc<Shown>, Refusal> {
    match session.state() {
        ranks::State::Ready(shown) => Ok(shown),
        ranks::State::Failed(problem) => Err(Refusal::from(Problem { is_question: false, ..problem })),
        ranks::State::Reading(_) => {
            Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the ranks are still being read"))
        }
    }
}
