//! A run on many ranks that is served: examined once in the background, and asked for timelines of chosen ranks.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::session::{Problem, Reading};

/// A run that was examined. The answers about it are the caller's, the same that its command line prints.
pub trait Ranks: Send + Sync {
    /// All that a report's page is told, and its columns.
    ///
    /// # Errors
    /// When it can't be told.
    fn content(&self) -> Result<(Value, Vec<u8>), Problem>;

    /// The timeline of some ranks in some steps as columns: lists such as `0-3,49`; of steps all where none are told.
    ///
    /// # Errors
    /// When the lists are wrong, or there is no such rank or step, or they are too many.
    fn timeline(&self, ranks: &str, steps: Option<&str>) -> Result<Vec<u8>, Problem>;
}

/// The run to serve.
pub trait RanksLoader: Send + Sync + 'static {
    /// Its name, for people.
    fn name(&self) -> String;

    /// Examines it, and tells how far that is.
    ///
    /// # Errors
    /// When it can't be examined.
    fn load(&self, reading: &Arc<Reading>) -> Result<Box<dyn Ranks>, Problem>;
}

/// How far the run is.
#[derive(Clone)]
pub(crate) enum State {
    Reading(Arc<Reading>),
    Ready(Arc<Shown>),
    Failed(Problem),
}

/// A run that can be asked.
pub(crate) struct Shown {
    pub ranks: Box<dyn Ranks>,
    pub report: Bytes,
    pub columns: Bytes,
}

/// The run and how far it is.
pub(crate) struct Session {
    name: String,
    state: Mutex<State>,
}

impl Session {
    /// Begins to examine the run in the background.
    pub(crate) fn begin(loader: impl RanksLoader) -> Arc<Self> {
        let reading = Arc::new(Reading::default());
        let state = Mutex::new(State::Reading(Arc::clone(&reading)));
        let session = Arc::new(Self { name: loader.name(), state });
        let own = Arc::clone(&session);
        std::thread::spawn(move || {
            // A fault in a reader is told in the page.
            let read =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Shown::of(&loader, &reading)));
            let fault = || Problem { is_question: false, error: "reading it failed".to_owned(), hint: None };
            let state = match read.unwrap_or_else(|_| Err(fault())) {
                Ok(shown) => State::Ready(Arc::new(shown)),
                Err(problem) => State::Failed(problem),
            };
            *own.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        });
        session
    }

    pub(crate) fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How far it is, in the form of several profiles of which this is the only one.
    pub(crate) fn status(&self) -> Value {
        let mut of = json!({ "number": 0, "name": self.name });
        match self.state() {
            State::Reading(reading) => reading.tell(&mut of),
            State::Ready(_) => of["state"] = json!("ready"),
            State::Failed(problem) => {
                of["state"] = json!("failed");
                (of["error"], of["hint"]) = (json!(problem.error), json!(problem.hint));
            }
        }
        json!({ "program_version": env!("CARGO_PKG_VERSION"), "profiles": [of] })
    }
}

impl Shown {
    fn of(loader: &dyn RanksLoader, reading: &Arc<Reading>) -> Result<Self, Problem> {
        let ranks = loader.load(reading)?;
        let (report, columns) = ranks.content()?;
        Ok(Self { ranks, report: report.to_string().into(), columns: columns.into() })
    }
}
