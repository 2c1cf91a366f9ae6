//! A scheduler of Apache Ballista: whether it is one that plans can be put to, and what becomes of its jobs.
//!
//! Its one port answers HTTP/1 as well as gRPC. `GET /readyz` says who it is in the header `server`
//! (`ballista/55.0.0`), and by the status whether it has executors (`ballista-scheduler`, `api/health.rs`).

use std::future::Future;
use std::time::Duration;

use ballista_core::BALLISTA_VERSION;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{CancelJobParams, GetJobStatusParams};
use hyper::header::{HOST, SERVER};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
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
    /// It still goes on, or the scheduler forgot it.
    Open,
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
        let request = Request::get("/readyz").header(HOST, &self.address).body(String::new());
        let request = request.map_err(|error| foreign(&error))?;
        // It ends when nobody is left to ask through it.
        tokio::spawn(connection);
        let answer = asking.send_request(request).await.map_err(|error| foreign(&error))?;
        let server = answer.headers().get(SERVER).map(|name| String::from_utf8_lossy(name.as_bytes()));
        Ok((server.unwrap_or_default().into_owned(), answer.status()))
    }

    /// The end of a job, or nothing where the scheduler doesn't answer.
    pub(crate) fn fate(&self, job: &str) -> Option<Fate> {
        let job_id = job.to_owned();
        let status = within(PATIENCE, async {
            let mut scheduler = SchedulerGrpcClient::connect(self.url()).await.ok()?;
            let status = scheduler.get_job_status(GetJobStatusParams { job_id }).await.ok()?;
            Some(status.into_inner().status.and_then(|status| status.status))
        });
        status.flatten().map(|status| match status {
            Some(Status::Successful(_)) => Fate::Done,
            Some(Status::Failed(failed)) => Fate::Failed(failed.error.trim().to_owned()),
            _ => Fate::Open,
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
