//! The parts of the timeline that a page shows.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::{Refusal, asked, beside, columns_of, json_of, numbers, shown};
use crate::picture::{CountersAsked, Kind, Known, TilesAsked, Wanted};
use crate::session::Session;

type Sessions = State<Arc<Session>>;
type Answered = Result<Response, Refusal>;

#[derive(Deserialize)]
pub(crate) struct TilesQuery {
    level: u32,
    first: u64,
    count: u64,
    rows: String,
    #[serde(default)]
    items: usize,
    #[serde(default)]
    strings: usize,
}

/// Tiles of all rows that are in sight.
pub(crate) async fn tiles(
    State(session): Sessions,
    Path(profile): Path<String>,
    query: Result<Query<TilesQuery>, QueryRejection>,
) -> Answered {
    let query = asked(query)?;
    let shown = shown(&session, &profile)?;
    let rows = numbers(&query.rows, "rows")?;
    let TilesQuery { level, first, count, items, strings, .. } = query;
    let wanted = TilesAsked { level, first, count, rows, known: Known { items, strings } };
    let bytes = beside(move || shown.picture.tiles(&wanted).map_err(|error| Refusal::of_question(&error)));
    Ok(columns_of(bytes.await?.into()))
}

#[derive(Deserialize)]
pub(crate) struct SliceQuery {
    row: Option<usize>,
    at: Option<u64>,
    #[serde(default)]
    near: u64,
    from: Option<u64>,
    to: Option<u64>,
    kind: Option<String>,
    id: Option<usize>,
    #[serde(default)]
    step: isize,
    #[serde(default)]
    items: usize,
    #[serde(default)]
    strings: usize,
}

impl SliceQuery {
    fn wanted(&self) -> Option<Wanted> {
        if let (Some(kind), Some(id)) = (&self.kind, self.id) {
            return Some(Wanted::Named { kind: Kind::from_name(kind)?, id });
        }
        let row = self.row?;
        if let Some(time) = self.at {
            return Some(Wanted::At { row, time, near: self.near });
        }
        Some(Wanted::Longest { row, from: self.from?, to: self.to? })
    }
}

/// One slice: by the place that was pointed at, or by its name in links.
pub(crate) async fn slice(
    State(session): Sessions,
    Path(profile): Path<String>,
    query: Result<Query<SliceQuery>, QueryRejection>,
) -> Answered {
    let query = asked(query)?;
    let shown = shown(&session, &profile)?;
    let wrong =
        || Refusal::of_question("a slice is asked for by row and at, by row, from and to, or by kind and id");
    let wanted = query.wanted().ok_or_else(wrong)?;
    let known = Known { items: query.items, strings: query.strings };
    let missing = || Refusal::new(StatusCode::NOT_FOUND, "there is no such slice");
    let bytes = beside(move || shown.picture.slice(wanted, query.step, known).ok_or_else(missing));
    Ok(columns_of(bytes.await?.into()))
}

#[derive(Deserialize)]
pub(crate) struct WindowQuery {
    from: u64,
    to: u64,
}

/// The content of a stretch of time.
pub(crate) async fn window(
    State(session): Sessions,
    Path(profile): Path<String>,
    query: Result<Query<WindowQuery>, QueryRejection>,
) -> Answered {
    let WindowQuery { from, to } = asked(query)?;
    let shown = shown(&session, &profile)?;
    let answer = beside(move || Ok(shown.picture.window(from, to).to_string()));
    Ok(json_of(answer.await?.into()))
}

#[derive(Deserialize)]
pub(crate) struct CountersQuery {
    from: u64,
    to: u64,
    width: u64,
    ids: String,
}

/// The values of counters over a stretch of time.
pub(crate) async fn counters(
    State(session): Sessions,
    Path(profile): Path<String>,
    query: Result<Query<CountersQuery>, QueryRejection>,
) -> Answered {
    let CountersQuery { from, to, width, ids } = asked(query)?;
    let shown = shown(&session, &profile)?;
    let wanted = CountersAsked { from, to, width, counters: numbers(&ids, "ids")? };
    let bytes = beside(move || shown.picture.counters(&wanted).map_err(|error| Refusal::of_question(&error)));
    Ok(columns_of(bytes.await?.into()))
}
