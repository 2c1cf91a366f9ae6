//! Why a cluster has no answer.

/// The reasons for which a scheduler and its executors have no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Nobody answers at the scheduler's address.
    #[error(
        "ballista://{address}: no scheduler answers here: {message}; start one with ballista-scheduler, or leave out \
         --engine, and the statement is carried out on this machine"
    )]
    Nobody {
        /// The scheduler's host and port.
        address: String,
        /// The system's message.
        message: String,
    },
    /// Something else answers there.
    #[error(
        "ballista://{address}: what answers here is no scheduler of Apache Ballista ({message}); --engine wants the \
         port of ballista-scheduler, which is 50050 unless --bind-port says otherwise"
    )]
    NoScheduler {
        /// The scheduler's host and port.
        address: String,
        /// Its answer, as far as it tells who it is.
        message: String,
    },
    /// The scheduler reads plans of another form.
    #[error(
        "ballista://{address}: the scheduler is Ballista {theirs}, and this opscope is made for Ballista {ours}, whose \
         plans no other major version reads; start scheduler and executors of that version, or leave out --engine"
    )]
    Version {
        /// The scheduler's host and port.
        address: String,
        /// The scheduler's version.
        theirs: String,
        /// The client's version.
        ours: &'static str,
    },
    /// Nobody is there to carry anything out.
    #[error(
        "ballista://{address}: the scheduler has no executors; start some with ballista-executor --scheduler-host, or \
         leave out --engine, and the statement is carried out on this machine"
    )]
    NoExecutors {
        /// The scheduler's host and port.
        address: String,
    },
    /// The statement never became a job.
    #[error(
        "ballista://{address}: the statement can't be put to the scheduler: {message}; without --engine it is carried \
         out on this machine"
    )]
    NotTaken {
        /// The scheduler's host and port.
        address: String,
        /// The client's message.
        message: String,
    },
    /// The job failed.
    #[error(
        "ballista://{address}: job {job} failed: {message}; without --engine it is carried out on this machine"
    )]
    Job {
        /// The scheduler's host and port.
        address: String,
        /// The job's name at the scheduler.
        job: String,
        /// The scheduler's message.
        message: String,
    },
    /// The scheduler can't be asked about the job any more.
    #[error(
        "ballista://{address}: the scheduler doesn't answer any more, and nothing is known of job {job}: {message}; \
         without --engine it is carried out on this machine"
    )]
    Lost {
        /// The scheduler's host and port.
        address: String,
        /// The job's name at the scheduler.
        job: String,
        /// The client's message.
        message: String,
    },
    /// The scheduler lost track of the job when an executor went.
    #[error(
        "ballista://{address}: an executor is gone, and the scheduler lost track of job {job}: it is under way, and no \
         executor has a task of it; put the statement again, or without --engine, and it is carried out on this machine"
    )]
    Stuck {
        /// The scheduler's host and port.
        address: String,
        /// The job's name at the scheduler.
        job: String,
    },
    /// The job is done, and its rows can't be had.
    #[error(
        "ballista://{address}: rows of job {job} can't be fetched from an executor: {message}; this machine must reach \
         the executors, not only the scheduler; without --engine the statement is carried out here"
    )]
    Fetch {
        /// The scheduler's host and port.
        address: String,
        /// The job's name at the scheduler.
        job: String,
        /// The client's message.
        message: String,
    },
}
