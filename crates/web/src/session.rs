//! The profiles that are served: read one after another in the background, and asked while the next is read.

use std::any::Any;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use opscope_analyze::{Answer, Query};
use opscope_trace::Trace;
use serde_json::{Value, json};

use crate::cache::Cache;
use crate::embed::{Embedded, Most};
use crate::graph::Graph;
use crate::picture::Picture;

/// Slices of a profile whose page gets all of them. A report, which nobody can ask, holds twice as many.
const MOST_SENT_WHOLE: usize = 500_000;

/// Slices that are sent one by one of a profile that has more: its page asks for the others as it needs them.
const SLICES_OF_LARGE: usize = 100_000;

/// Values of counters that are sent of a profile that has too many for all; its page asks for those in sight.
const VALUES_OF_LARGE: usize = 100_000;

/// The bytes of answers that are kept.
const MOST_KEPT: usize = 64 << 20;

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whether the question is wrong, not the profile.
    pub is_question: bool,
    /// The fault.
    pub error: String,
    /// The remedy.
    pub hint: Option<String>,
}

/// The fate of a profile's files since they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One was written to.
    Changed,
    /// One isn't there any more.
    Gone,
}

/// A profile that was read. The answers about it are the caller's, the same that its command line prints.
pub trait Subject: Send + Sync {
    /// The profile.
    fn trace(&self) -> &Trace;

    /// Its graph.
    fn graph(&self, operators: &Answer) -> Graph;

    /// All that a report's page is told beside its columns.
    ///
    /// # Errors
    /// When it can't be told.
    fn answers(&self, operators: &Answer, embedded: &Embedded) -> Result<Value, Problem>;

    /// The changes since another profile that the same loader has read: `against` and `compare` of a report.
    ///
    /// # Errors
    /// When they can't be compared.
    fn since(&self, before: &dyn Subject) -> Result<Value, Problem>;

    /// The fate of its files since then, of which the answers know nothing.
    fn change(&self) -> Option<Change> {
        None
    }

    /// For subjects that ask others of their own kind.
    fn as_any(&self) -> &dyn Any;

    /// The rows of a question to the profile: names and values of options, as a command line has them.
    ///
    /// # Errors
    /// When the question is wrong.
    fn table(&self, options: &[(String, String)]) -> Result<Value, Problem>;

    /// The same as CSV.
    ///
    /// # Errors
    /// When the question is wrong.
    fn csv(&self, options: &[(String, String)]) -> Result<String, Problem>;

    /// Writes what touches a stretch of time, in nanoseconds of its timeline, as Chrome's trace event JSON.
    ///
    /// # Errors
    /// Errors of `out`.
    fn timeline(&self, from: u64, to: u64, out: &mut (dyn Write + Send)) -> io::Result<()>;
}

/// The profiles to serve.
pub trait Loader: Send + Sync + 'static {
    /// Their names, for people.
    fn names(&self) -> Vec<String>;

    /// The most slices that a page is sent one by one before it asks for parts; `None` is the usual number.
    fn slices(&self) -> Option<usize> {
        None
    }

    /// Reads one, and tells how far that is.
    ///
    /// # Errors
    /// When it can't be read.
    fn load(&self, profile: usize, reading: &Arc<Reading>) -> Result<Box<dyn Subject>, Problem>;
}

/// How far the reading of a profile is.
#[derive(Debug, Default)]
pub struct Reading {
    step: Mutex<String>,
    bytes: AtomicU64,
    of_bytes: AtomicU64,
}

impl Reading {
    /// Another step begins, whose name is for people.
    pub fn step(&self, name: &str) {
        name.clone_into(&mut self.step.lock().unwrap_or_else(PoisonError::into_inner));
        self.bytes.store(0, Ordering::Relaxed);
        self.of_bytes.store(0, Ordering::Relaxed);
    }

    /// So many more bytes were read, and so many more are known to be to be read.
    pub fn read(&self, bytes: u64, expected: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.of_bytes.fetch_add(expected, Ordering::Relaxed);
    }

    pub(crate) fn tell(&self, of: &mut Value) {
        of["state"] = json!("reading");
        of["step"] = json!(*self.step.lock().unwrap_or_else(PoisonError::into_inner));
        let all = self.of_bytes.load(Ordering::Relaxed);
        if all > 0 {
            // Parts that are read a second time, because the first guess was wrong, are counted twice.
            of["bytes"] = json!(self.bytes.load(Ordering::Relaxed).min(all));
            of["of_bytes"] = json!(all);
        }
    }
}

/// How far a profile is.
#[derive(Clone)]
pub(crate) enum State {
    Waiting,
    Reading(Arc<Reading>),
    Ready(Arc<Shown>),
    Failed(Problem),
}

/// A profile that can be asked.
pub(crate) struct Shown {
    pub subject: Arc<dyn Subject>,
    /// The answers of a report, and the same as text.
    pub report: Value,
    pub report_text: Bytes,
    pub columns: Bytes,
    pub picture: Picture,
    pub kept: Cache,
}

impl Shown {
    fn new(subject: Box<dyn Subject>, slices: Option<usize>) -> Result<Self, Problem> {
        let subject: Arc<dyn Subject> = subject.into();
        let trace = subject.trace();
        let wrong = |error: String| Problem { is_question: false, error, hint: None };
        let operators = Query::default().run(trace).map_err(|error| wrong(error.to_string()))?;
        let all = trace.iterations.len()
            + trace.unrecorded_iterations.len()
            + trace.api_calls.len()
            + trace.ranges.len()
            + trace.tasks.len();
        let usual = if all <= MOST_SENT_WHOLE { MOST_SENT_WHOLE } else { SLICES_OF_LARGE };
        let most = Most { slices: slices.unwrap_or(usual), values: VALUES_OF_LARGE };
        let (embedded, parts) =
            Embedded::with_parts(trace, &operators, most, Some(&subject.graph(&operators)));
        let report = subject.answers(&operators, &embedded)?;
        let columns = Bytes::from(embedded.columns);
        let picture = Picture::new(Arc::clone(&subject), parts);
        let report_text = Bytes::from(report.to_string());
        Ok(Self { subject, report, report_text, columns, picture, kept: Cache::new(MOST_KEPT) })
    }
}

/// The profiles and how far they are.
pub(crate) struct Session {
    names: Vec<String>,
    states: Vec<Mutex<State>>,
}

impl Session {
    /// Begins to read all profiles in the background.
    pub(crate) fn begin(loader: impl Loader) -> Arc<Self> {
        let names = loader.names();
        let states = names.iter().map(|_| Mutex::new(State::Waiting)).collect();
        let session = Arc::new(Self { names, states });
        let own = Arc::clone(&session);
        std::thread::spawn(move || own.read_all(&loader));
        session
    }

    fn read_all(&self, loader: &dyn Loader) {
        for profile in 0..self.states.len() {
            let reading = Arc::new(Reading::default());
            self.set(profile, State::Reading(Arc::clone(&reading)));
            // A fault in one reader leaves the other profiles to be looked at.
            let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let subject = loader.load(profile, &reading)?;
                reading.step("timeline");
                Shown::new(subject, loader.slices())
            }));
            let fault = || Problem { is_question: false, error: "reading it failed".to_owned(), hint: None };
            let state = match read.unwrap_or_else(|_| Err(fault())) {
                Ok(shown) => State::Ready(Arc::new(shown)),
                Err(problem) => State::Failed(problem),
            };
            self.set(profile, state.clone());
            if let State::Ready(shown) = state {
                shown.picture.prepare();
            }
        }
    }

    fn set(&self, profile: usize, state: State) {
        *self.states[profile].lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// How far a profile is; `None` where there is no such one.
    pub(crate) fn state(&self, profile: usize) -> Option<State> {
        Some(self.states.get(profile)?.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// How far all are.
    pub(crate) fn status(&self) -> Value {
        let profile = |(number, name): (usize, &String)| {
            let mut of = json!({ "number": number, "name": name });
            match self.state(number) {
                Some(State::Reading(reading)) => reading.tell(&mut of),
                Some(State::Ready(shown)) => {
                    (of["state"], of["fingerprint"]) = (json!("ready"), shown.report["fingerprint"].clone());
                    match shown.subject.change() {
                        Some(Change::Changed) => of["change"] = json!("changed"),
                        Some(Change::Gone) => of["change"] = json!("gone"),
                        None => {}
                    }
                }
                Some(State::Failed(problem)) => {
                    of["state"] = json!("failed");
                    (of["error"], of["hint"]) = (json!(problem.error), json!(problem.hint));
                }
                Some(State::Waiting) | None => of["state"] = json!("waiting"),
            }
            of
        };
        json!({
            "program_version": env!("CARGO_PKG_VERSION"),
            "profiles": self.names.iter().enumerate().map(profile).collect::<Vec<_>>(),
        })
    }
}
