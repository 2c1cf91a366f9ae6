//! How far the reading of all profiles is.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::json_of;
use crate::session::Session;

pub(crate) async fn status(State(session): State<Arc<Session>>) -> Response {
    json_of(session.status().to_string().into())
}
