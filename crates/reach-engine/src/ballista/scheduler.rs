//! A scheduler of Apache Ballista: whether it is one that plans can be put to, and what becomes of its jobs.
//!
//! Its one port answers HTTP/1 as well as gRPC. `GET /readyz` says who it is in the header `server`
//! (`ballista/55.0.0`), and by the status whether it has executors (`ballista-scheduler`, `api/health.rs`). Lists of
//! executors and tasks come as JSON (`ballista-api-types`, `dto.rs`) from all schedulers but those that were built
//! without the feature `rest-api`.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use ballista_core::BALLISTA_VERSION;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{CancelJobParams, GetJobStatusParams};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HOST, SERVER};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::TcpStream;

use super::error::ClusterError;

/// How long a scheduler may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A scheduler, known by its address.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    /// Its host and port, as `HOST:PORT`.
    address: String,
}

/// The end of a job, as far as there is one.
pub(crate) enum Fate {
    /// Its rows can be fetched.
    Done,
    /// It failed, with this message.
    Failed(String),
    /// It is under way.
    Running,
    /// It hasn't begun, or was cancelled, or the scheduler forgot it.
    Unknown,
}

/// A job in the list `/api/jobs`.
#[derive(Deserialize)]
struct Job {
    job_id: String,
    /// `Queued`, `Running`, `Completed`, `Failed` or `Invalid`.
    status: String,
}

/// An executor in the list `/api/executors`.
#[derive(Deserialize)]
struct Executor {
    id: String,
}

/// The list `/api/job/JOB/stages`.
#[derive(Deserialize)]
struct Stages {
    stages: Vec<Stage>,
}

#[derive(Deserialize)]
struct Stage {
    tasks: Vec<Option<Task>>,
}

#[derive(Deserialize)]
struct Task {
    /// `"Running"`, `"Successful"`, or an object of its failure.
    status: Value,
}

impl Scheduler {
    /// Finds a scheduler that plans can be put to.
    ///
    /// # Errors
    /// When nobody answers, or no scheduler, or one of another major version, or one without executors.
    pub(crate) fn find(address: &str) -> Result<Self, ClusterError> {
        let scheduler = Self { address: address.to_owned() };
        let silent = || ClusterError::Nobody {
            address: address.to_owned(),
            message: format!("nothing came within {} s", PATIENCE.as_secs()),
        };
        within(PATIENCE, scheduler.check()).unwrap_or_else(|| Err(silent()))?;
        Ok(scheduler)
    }

    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    /// Its address for those who speak gRPC.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    async fn check(&self) -> Result<(), ClusterError> {
        let (server, status) = self.who().await?;
        let Some(theirs) = server.strip_prefix("ballista/") else {
            let message = match server.is_empty() {
                true => format!("status {status}"),
                false => format!("it calls itself {server}"),
            };
            return Err(ClusterError::NoScheduler { address: self.address(), message });
        };
        if major(theirs) != major(BALLISTA_VERSION) {
            let theirs = theirs.to_owned();
            return Err(ClusterError::Version { address: self.address(), theirs, ours: BALLISTA_VERSION });
        }
        match status {
            StatusCode::SERVICE_UNAVAILABLE => Err(ClusterError::NoExecutors { address: self.address() }),
            _ => Ok(()),
        }
    }

    /// The name that whoever answers has for itself, and whether it is ready.
    async fn who(&self) -> Result<(String, StatusCode), ClusterError> {
        let answer = self.get("/readyz").await?;
        let server = answer.headers().get(SERVER).map(|name| String::from_utf8_lossy(name.as_bytes()));
        Ok((server.unwrap_or_default().into_owned(), answer.status()))
    }

    /// Its answer to `GET` at a path.
    async fn get(&self, path: &str) -> Result<Response<Incoming>, ClusterError> {
        let stream = TcpStream::connect(&self.address).await;
        let stream = stream
            .map_err(|error| ClusterError::Nobody { address: self.address(), message: error.to_string() })?;
        let foreign = |error: &dyn std::error::Error| ClusterError::NoScheduler {
            address: self.address(),
            message: error.to_string(),
        };
        let (mut asking, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| foreign(&error))?;
        let request = Request::get(path).header(HOST, &self.address).body(String::new());
        let request = request.map_err(|error| foreign(&error))?;
        // It ends when nobody is left to ask through it.
        tokio::spawn(connection);
        asking.send_request(request).await.map_err(|error| foreign(&error))
    }

    /// A list that it gives at a path, or nothing where it doesn't give it in time.
    async fn list<List: DeserializeOwned>(&self, path: &str) -> Option<List> {
        /// More than the tasks of any job take.
        const LARGEST: usize = 64 << 20;
        let read = async {
            let answer = self.get(path).await.ok()?;
            let body = Limited::new(answer.into_body(), LARGEST).collect().await.ok()?;
            serde_json::from_slice(&body.to_bytes()).ok()
        };
        tokio::time::timeout(PATIENCE, read).await.ok().flatten()
    }

    /// The names of its executors, or nothing where it doesn't tell them.
    pub(crate) async fn executors(&self) -> Option<BTreeSet<String>> {
        let executors: Vec<Executor> = self.list("/api/executors").await?;
        Some(executors.into_iter().map(|executor| executor.id).collect())
    }

    /// Whether an executor has a task at the moment, of any job, or nothing where the scheduler doesn't tell it.
    pub(crate) async fn has_work(&self) -> Option<bool> {
        let jobs: Vec<Job> = self.list("/api/jobs").await?;
        for job in jobs.into_iter().filter(|job| job.status == "Running") {
            let list: Stages = self.list(&format!("/api/job/{}/stages", job.job_id)).await?;
            let mut tasks = list.stages.iter().flat_map(|stage| stage.tasks.iter().flatten());
            if tasks.any(|task| task.status == "Running") {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The end of a job, or nothing where the scheduler doesn't answer.
    pub(crate) fn fate(&self, job: &str) -> Option<Fate> {
        within(PATIENCE, self.fate_of(job)).flatten()
    }

    /// As [`Scheduler::fate`], among other work.
    pub(crate) async fn fate_of(&self, job: &str) -> Option<Fate> {
        let job_id = job.to_owned();
        let mut scheduler = SchedulerGrpcClient::connect(self.url()).await.ok()?;
        let status = scheduler.get_job_status(GetJobStatusParams { job_id }).await.ok()?;
        Some(match status.into_inner().status.and_then(|status| status.status) {
            Some(Status::Successful(_)) => Fate::Done,
            Some(Status::Failed(failed)) => Fate::Failed(failed.error.trim().to_owned()),
            Some(Status::Running(_)) => Fate::Running,
            _ => Fate::Unknown,
        })
    }

    /// Ends a job. Nothing can be done about a scheduler that doesn't answer.
    pub(crate) fn cancel(&self, job: &str) {
        /// A program that ends doesn't wait long.
        const PATIENCE: Duration = Duration::from_secs(2);
        let job_id = job.to_owned();
        within(PATIENCE, async {
            let mut scheduler = SchedulerGrpcClient::connect(self.url()).await.ok()?;
            scheduler.cancel_job(CancelJobParams { job_id }).await.ok()
        });
    }
}

/// Waits for what is asked of a scheduler by a thread that has nothing else to do, such as that of a signal.
fn within<Answer>(patience: Duration, asked: impl Future<Output = Answer>) -> Option<Answer> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async { tokio::time::timeout(patience, asked).await.ok() })
}

/// The part of a version on which the form of plans depends.
fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}
