//! A session over the tables of a set, and how a statement is carried out in it.
//!
//! The engine works on threads of its own and hands batches of rows over through a channel that holds one, so that it
//! waits for whoever prints them. Its threads are the only ones that run its code: a panic there, as damaged pages
//! cause it, ends the statement and not the program.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use futures::future::BoxFuture;
use opscope_files::Unfinished;
use opscope_formats::sqlite::Value;
use opscope_reach::{Set, SetTable};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinError, JoinHandle};

use crate::error::{Cause, EngineError, message_of};
use crate::place::{Course, Here, Place};
use crate::{statement, tables, values};

/// The bounds within which statements are carried out.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The bytes of rows that may be in memory; what goes beyond them is put into files. Pages that are read and rows
    /// that are printed come on top, some 100 MB.
    pub memory: u64,
    /// The folder of those files.
    pub spill: PathBuf,
    /// How many threads compute here, or into how many parts work is divided elsewhere.
    pub threads: NonZeroUsize,
    /// The time that a statement may take, if it is bounded.
    pub time: Option<Duration>,
}

impl Default for Limits {
    /// Memory that leaves a process at some 400 MiB, and two threads, by which rows in memory multiply.
    fn default() -> Self {
        Self {
            memory: 256 << 20,
            spill: std::env::temp_dir(),
            threads: const { NonZeroUsize::new(2).unwrap() },
            time: None,
        }
    }
}

/// A session over a set.
pub struct Engine {
    context: SessionContext,
    limits: Limits,
    place: Box<dyn Place>,
    /// Tables over all ranks that aren't there yet.
    absent: Vec<SetTable>,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    _spill: Spill,
}

/// The folder of rows that don't fit into memory, which is gone when the session or the program ends.
struct Spill {
    _noted: Unfinished,
    folder: TempDir,
}

impl Spill {
    fn new(folder: &Path) -> Result<Self, EngineError> {
        let made = tempfile::Builder::new().prefix(".opscope-").tempdir_in(folder);
        let failed = |error: std::io::Error| EngineError::Spill {
            folder: folder.to_owned(),
            message: error.to_string(),
        };
        let folder = made.map_err(failed)?;
        Ok(Self { _noted: Unfinished::new(folder.path().to_owned()), folder })
    }
}

/// The engine's threads, by whose name its panics are known.
const THREADS: &str = "opscope-engine";

/// Keeps panics of the engine's threads from standard error: they come back as errors.
fn silence_threads() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() != Some(THREADS) {
                others(panic);
            }
        }));
    });
}

impl Engine {
    /// Opens a session whose statements are carried out in this process.
    ///
    /// # Errors
    /// When the set's files aren't as they were written, or the folder for rows can't be written.
    pub fn new(set: &Set, limits: &Limits) -> Result<Self, EngineError> {
        Self::at(Box::new(Here), limits.threads, set, limits)
    }

    /// Opens a session whose statements are carried out by the executors of a scheduler of Apache Ballista, which is
    /// at `address` (`HOST:PORT`). Scheduler and executors must find the set's files under the paths that they have
    /// here. Their memory is theirs to bound, not that of `limits`.
    ///
    /// # Errors
    /// As [`Engine::new`], and when no such scheduler of the client's major version answers, or one that has no
    /// executors.
    #[cfg(feature = "ballista")]
    pub fn on_ballista(set: &Set, limits: &Limits, address: &str) -> Result<Self, EngineError> {
        /// Threads that hand on rows, which others compute.
        const FEW: NonZeroUsize = NonZeroUsize::new(2).unwrap();
        let scheduler = crate::ballista::Scheduler::find(address)?;
        Self::at(Box::new(scheduler), FEW, set, limits)
    }

    fn at(
        place: Box<dyn Place>,
        threads: NonZeroUsize,
        set: &Set,
        limits: &Limits,
    ) -> Result<Self, EngineError> {
        silence_threads();
        let set_tables = set.tables()?;
        let spill = Spill::new(&limits.spill)?;
        let memory = usize::try_from(limits.memory).unwrap_or(usize::MAX);
        let folders = DiskManagerMode::Directories(vec![spill.folder.path().to_owned()]);
        let environment = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairSpillPool::new(memory)))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(folders))
            .build_arc()
            .map_err(EngineError::start)?;
        // The tables that describe tables are there as well.
        let config =
            SessionConfig::new().with_target_partitions(limits.threads.get()).with_information_schema(true);
        let context = place.session(config, environment).map_err(EngineError::start)?;
        let mut absent = Vec::new();
        for table in set_tables {
            match table.files.is_empty() {
                true => absent.push(table),
                false => tables::register(&context, &table).map_err(EngineError::start)?,
            }
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.get())
            .thread_name(THREADS)
            .enable_all()
            .build()
            .map_err(EngineError::start)?;
        Ok(Self { context, limits: limits.clone(), place, absent, runtime: Some(runtime), _spill: spill })
    }

    /// Carries out one statement that reads: hands on the names of the columns, then each row.
    ///
    /// # Errors
    /// When the statement is wrong or can't be carried out within its bounds, and whatever `columns` and `each_row`
    /// report.
    pub fn ask<Error: From<EngineError>>(
        &self,
        sql: &str,
        columns: impl FnOnce(Vec<String>) -> Result<(), Error>,
        mut each_row: impl FnMut(Vec<Value>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let deadline = self.limits.time.and_then(|time| Instant::now().checked_add(time));
        let plan = self.plan(sql)?;
        let (mut answer, mut next) =
            self.begin(&plan, deadline).or_else(|error| match error.is_of_lost_executor() {
                // The others compute again.
                true => self.begin(&plan, deadline),
                false => Err(error),
            })?;
        let course = Arc::clone(&answer.course);
        let failed = |why| Error::from(self.failure(why, &plan, &*course));
        // Names are handed on once there is an answer, so that nothing is printed of one that fails at once.
        columns(plan.schema().fields().iter().map(|field| field.name().clone()).collect())?;
        while let Some(batch) = next {
            let rows = values::rows(&batch).map_err(|error| failed(Why::Error(error.into())))?;
            rows.into_iter().try_for_each(&mut each_row)?;
            next = answer.next(self.runtime(), deadline).map_err(failed)?;
        }
        Ok(())
    }

    /// Begins to carry out a plan, as far as the first rows of its answer.
    fn begin(
        &self,
        plan: &LogicalPlan,
        deadline: Option<Instant>,
    ) -> Result<(Answer, Option<RecordBatch>), EngineError> {
        let mut answer = Answer::new(self.runtime(), self.context.clone(), plan.clone(), self.place.course());
        let first = answer.next(self.runtime(), deadline);
        let first = first.map_err(|why| self.failure(why, plan, &*answer.course))?;
        Ok((answer, first))
    }

    fn plan(&self, sql: &str) -> Result<LogicalPlan, EngineError> {
        let planned = self.runtime().block_on(statement::plan(&self.context.state(), sql));
        planned.map_err(|error| {
            let EngineError::Statement { message } = &error else { return error };
            let is_missed = |table: &&SetTable| message.contains(&format!("{}' not found", table.name));
            match self.absent.iter().find(is_missed) {
                Some(table) => EngineError::Set(table.absent()),
                None => error,
            }
        })
    }

    /// The error of a plan that wasn't carried out.
    fn failure(&self, why: Why, plan: &LogicalPlan, course: &dyn Course) -> EngineError {
        let time = self.limits.time.unwrap_or_default();
        let (cause, message) = match why {
            Why::TooLong => return EngineError::TooLong { time },
            Why::Stuck(error) => return error,
            Why::Error(error) => (Cause::of(&error), message_of(&error)),
            Why::Fault(message) => (Cause::File, message),
        };
        if let Some(error) = course.failure(&message) {
            return error;
        }
        match cause {
            Cause::Memory => EngineError::TooMuchMemory { allowed: self.limits.memory, message },
            Cause::Disk => EngineError::Spill { folder: self.limits.spill.clone(), message },
            Cause::Computation => EngineError::Impossible { message },
            Cause::File => EngineError::Damaged { tables: tables_in(plan), message },
        }
    }

    fn runtime(&self) -> &Runtime {
        // Only `drop` takes it away.
        self.runtime.as_ref().expect("a session has its threads for as long as it lives")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        /// How long a thread may take to see that nobody wants its rows any more.
        const PATIENCE: Duration = Duration::from_millis(500);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(PATIENCE);
        }
    }
}

/// Why there are no more rows.
enum Why {
    /// The engine gave up.
    Error(DataFusionError),
    /// The engine's code panicked.
    Fault(String),
    /// The time is over.
    TooLong,
    /// Nothing goes on where the plan is carried out.
    Stuck(EngineError),
}

/// An answer that is being computed.
struct Answer {
    batches: Receiver<Result<RecordBatch, DataFusionError>>,
    work: JoinHandle<()>,
    course: Arc<dyn Course>,
    stuck: BoxFuture<'static, EngineError>,
    /// Whether there is nothing left to come.
    is_over: bool,
}

impl Answer {
    fn new(runtime: &Runtime, context: SessionContext, plan: LogicalPlan, course: Arc<dyn Course>) -> Self {
        // One batch waits while the one before it is printed.
        let (sender, batches) = channel(1);
        let stuck = course.stuck();
        let followed = Arc::clone(&course);
        let work = runtime.spawn(async move {
            if let Err(error) = carry_out(&context, &plan, &*followed, &sender).await {
                // Nobody listens where nobody wants the rows.
                let _ = sender.send(Err(error)).await;
            }
        });
        Self { batches, work, course, stuck, is_over: false }
    }

    /// The next rows, or none at the answer's end.
    fn next(&mut self, runtime: &Runtime, deadline: Option<Instant>) -> Result<Option<RecordBatch>, Why> {
        let too_long = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        let next = async {
            tokio::select! {
                // Rows that are there count before the time that they took.
                biased;
                received = self.batches.recv() => match received {
                    Some(batch) => batch.map(Some).map_err(Why::Error),
                    None => match (&mut self.work).await {
                        Ok(()) => Ok(None),
                        Err(error) => Err(Why::Fault(fault_of(error))),
                    },
                },
                () = too_long => Err(Why::TooLong),
                error = &mut self.stuck => Err(Why::Stuck(error)),
            }
        };
        let next = runtime.block_on(next);
        self.is_over = matches!(next, Ok(None) | Err(Why::Error(_) | Why::Fault(_)));
        next
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.is_over {
            self.course.give_up();
        }
        self.work.abort();
    }
}

/// Computes a plan's rows and sends them, until nobody wants them any more.
async fn carry_out(
    context: &SessionContext,
    plan: &LogicalPlan,
    course: &dyn Course,
    sender: &Sender<Result<RecordBatch, DataFusionError>>,
) -> Result<(), DataFusionError> {
    let plan = context.state().create_physical_plan(plan).await?;
    course.begin(&plan);
    let mut batches = execute_stream(plan, context.task_ctx())?;
    while let Some(batch) = batches.next().await {
        if sender.send(Ok(batch?)).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// The words of a panic.
fn fault_of(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "its work was ended".to_owned() };
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("an unknown fault").to_owned()
}

/// The tables that a plan reads, for people.
fn tables_in(plan: &LogicalPlan) -> String {
    let mut tables = BTreeSet::new();
    // The visit itself can't fail.
    let _ = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            tables.insert(scan.table_name.table().to_owned());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    tables.into_iter().collect::<Vec<_>>().join(", ")
}
