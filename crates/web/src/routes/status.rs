//! How far the reading of all profiles is.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::json_of;
use crate::session::Session;

pub(crate) async fn status(State(session): State<Arc<Session>>) -> Response {
    // Whether files have changed is asked of their disks.
    let status = tokio::task::spawn_blocking(move || session.status().to_string()).await;
    json_of(status.unwrap_or_default().into())
}
