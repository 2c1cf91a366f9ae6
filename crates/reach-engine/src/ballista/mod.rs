//! Plans that Apache Ballista carries out: its scheduler divides a plan among its executors, and the rows are fetched
//! from those.
//!
//! A plan becomes a job of the scheduler. The job doesn't end with whoever asked, so an answer that nobody wants any
//! more cancels it, also where the program ends at once ([`cancel_jobs`]).

mod error;
mod scheduler;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ballista_core::config::BALLISTA_CLIENT_PULL;
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::extension::{SessionConfigExt, SessionStateExt};
use datafusion::error::Result;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::protobuf::LogicalPlanNode;
use futures::future::BoxFuture;

pub use error::ClusterError;
use scheduler::Fate;
pub(crate) use scheduler::Scheduler;

use crate::error::EngineError;
use crate::place::{Course, Place};

/// The scheduler's list of jobs has each under this name.
const JOB_NAME: &str = "opscope cluster sql";

impl Place for Scheduler {
    fn session(&self, config: SessionConfig, environment: Arc<RuntimeEnv>) -> Result<SessionContext> {
        let config = SessionConfigExt::upgrade_for_ballista(config)
            // A job whose name is known at once can be cancelled at once.
            .set_bool(BALLISTA_CLIENT_PULL, true)
            .with_ballista_job_name(JOB_NAME)
            // Connections to executors wait for as long as the system does, and for a machine that is gone for ever,
            // unless they are told otherwise.
            .with_ballista_override_create_grpc_client_endpoint(Arc::new(|endpoint| {
                Ok(endpoint
                    .connect_timeout(Duration::from_secs(10))
                    .http2_keep_alive_interval(Duration::from_secs(10))
                    .keep_alive_timeout(Duration::from_secs(20)))
            }));
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(environment)
            .with_default_features()
            .build();
        Ok(SessionContext::new_with_state(SessionStateExt::upgrade_for_ballista(state, self.url())?))
    }

    fn course(&self) -> Arc<dyn Course> {
        Arc::new(Remote { scheduler: self.clone(), job: Arc::default() })
    }
}

/// A job of a scheduler, which has a name once the scheduler took it.
struct Job {
    scheduler: Scheduler,
    query: DistributedQueryExec<LogicalPlanNode>,
}

impl Job {
    fn name(&self) -> Option<String> {
        self.query.job_id().map(|name| name.to_string())
    }

    /// Cancels it, also when the scheduler is only about to take it.
    fn cancel(&self) {
        const PATIENCE: Duration = Duration::from_secs(1);
        let begun = Instant::now();
        while self.name().is_none() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        if let Some(name) = self.name() {
            self.scheduler.cancel(&name);
        }
    }
}

static UNDER_WAY: Mutex<Vec<Arc<Job>>> = Mutex::new(Vec::new());

fn under_way() -> MutexGuard<'static, Vec<Arc<Job>>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cancels the jobs that are under way, for a program that ends at once. It takes seconds at most.
pub fn cancel_jobs() {
    let jobs = under_way().clone();
    jobs.iter().for_each(|job| job.cancel());
}

/// The course of a plan that a scheduler has carried out.
struct Remote {
    scheduler: Scheduler,
    /// Plans about the tables themselves are carried out here and have none.
    job: Arc<OnceLock<Arc<Job>>>,
}

impl Course for Remote {
    fn begin(&self, plan: &Arc<dyn ExecutionPlan>) {
        let children = plan.children();
        // The plan itself, or below it where its figures are asked for (EXPLAIN ANALYZE).
        let query = std::iter::once(plan).chain(children).find_map(|plan| plan.downcast_ref());
        let Some(query) = query.cloned() else { return };
        let job = Arc::new(Job { scheduler: self.scheduler.clone(), query });
        if self.job.set(Arc::clone(&job)).is_ok() {
            under_way().push(job);
        }
    }

    fn stuck(&self) -> BoxFuture<'static, EngineError> {
        let scheduler = self.scheduler.clone();
        let job = Arc::clone(&self.job);
        Box::pin(async move {
            let job = watch::until_stuck(&scheduler, || job.get()?.name()).await;
            ClusterError::Stuck { address: scheduler.address(), job }.into()
        })
    }

    fn give_up(&self) {
        if let Some(job) = self.job.get() {
            job.cancel();
        }
    }

    fn failure(&self, message: &str) -> Option<EngineError> {
        let job = self.job.get()?;
        let address = self.scheduler.address();
        let message = message.to_owned();
        let Some(job) = job.name() else {
            return Some(ClusterError::NotTaken { address, message }.into());
        };
        let error = match self.scheduler.fate(&job) {
            Some(Fate::Done) => ClusterError::Fetch { address, job, message },
            Some(Fate::Failed(message)) => ClusterError::Job { address, job, message },
            Some(Fate::Running | Fate::Unknown) | None => ClusterError::Lost { address, job, message },
        };
        Some(error.into())
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let Some(job) = self.job.get() {
            under_way().retain(|other| !Arc::ptr_eq(job, other));
        }
    }
}
