//! A stretch of the timeline as a file for other viewers, sent while it is written.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde::Deserialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{Refusal, asked, shown};
use crate::session::Session;

/// Files that are written at the same time: each takes a thread for as long as somebody reads it.
const MOST: usize = 2;

/// Pieces that wait for a slow reader.
const PIECES_AHEAD: usize = 4;

static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

#[derive(Deserialize)]
pub(crate) struct TraceQuery {
    from: Option<u64>,
    to: Option<u64>,
}

/// Chrome's trace event JSON of what touches a stretch of time, in ticks; of all without one.
pub(crate) async fn trace(
    State(session): State<Arc<Session>>,
    Path(profile): Path<String>,
    query: Result<Query<TraceQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let TraceQuery { from, to } = asked(query)?;
    let shown = shown(&session, &profile)?;
    let (from, to) = shown.picture.nanoseconds(from.unwrap_or(0), to.unwrap_or(u64::MAX));
    if to < from {
        return Err(Refusal::of_question("the time ends before it begins"));
    }
    let turn = Turn::take()?;
    let (sender, receiver) = channel(PIECES_AHEAD);
    std::thread::spawn(move || {
        let _turn = turn;
        let mut out = Pieces { sender, piece: Vec::new() };
        let written = shown.subject.timeline(from, to, &mut out).and_then(|()| out.flush());
        if let Err(error) = written {
            // The reader sees a file that breaks off, not one that seems whole.
            let _ = out.sender.blocking_send(Err(error));
        }
    });
    let head = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"timeline.json\""),
    ];
    Ok((head, Body::new(Written(receiver))).into_response())
}

/// One of those who may have a file written now.
struct Turn;

impl Turn {
    fn take() -> Result<Self, Refusal> {
        let free = |taken: usize| (taken < MOST).then_some(taken + 1);
        let busy = || Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "other timelines are being written");
        UNDER_WAY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free).map(|_| Self).map_err(|_| busy())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where the text is written to: ends with an error when nobody reads it any more.
struct Pieces {
    sender: Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const PIECE: usize = 256 << 10;
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::take(&mut self.piece));
        self.sender.blocking_send(Ok(piece)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// The body of the answer.
struct Written(Receiver<io::Result<Bytes>>);

impl hyper::body::Body for Written {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
