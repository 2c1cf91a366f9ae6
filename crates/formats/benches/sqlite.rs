//! How fast a trace of a million operators is written into a database and read back, beside
//! inserting rows of as many columns one by one.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput};
use opscope_formats::sqlite;
use opscope_trace::Trace;
use rusqlite::Connection;

mod million;

use million::{TASKS, median, trace};

type Work<'a> = Box<dyn FnMut() + 'a>;

fn main() {
    let trace = trace();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, peer_path) = (folder.path().join("trace.db"), folder.path().join("peer.db"));
    let mut contestants: Vec<(&str, Work<'_>)> = vec![
        ("opscope, write", Box::new(|| sqlite::write_file(&trace, &path).expect("a database"))),
        (
            "opscope, read",
            Box::new(|| {
                black_box(sqlite::read_file(&path).expect("the trace"));
            }),
        ),
        ("one row a statement, write", Box::new(|| write_one_by_one(&trace, &peer_path))),
    ];

    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let mut group = criterion.benchmark_group("database, 1 M operators");
    group.throughput(Throughput::Elements(TASKS as u64));
    for (name, work) in &mut contestants {
        group.bench_function(*name, |bencher| bencher.iter(&mut *work));
    }
    group.finish();
    criterion.final_summary();

    println!("\nmedian of 7 runs each:");
    let medians: Vec<_> = contestants.iter_mut().map(|(name, work)| (*name, median(work))).collect();
    for (name, time) in &medians {
        let (time, base) = (time.as_secs_f64(), medians[0].1.as_secs_f64());
        let rate = TASKS as f64 / time / 1e6;
        println!("{name:28} {:7.0} ms  {rate:5.2} M rows/s  {:5.2} of writing", time * 1e3, time / base);
    }
}

/// The plain way to write it, for comparison: one transaction, one prepared statement a row,
/// the indexes last.
fn write_one_by_one(trace: &Trace, path: &Path) {
    let _ = std::fs::remove_file(path);
    let write = || -> rusqlite::Result<()> {
        let database = Connection::open(path)?;
        database.execute_batch(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;
             CREATE TABLE tasks (id INTEGER PRIMARY KEY, operator_id, name_id, stream_id, unit TEXT,
               iteration_id, launched_by_id, start_ns, duration_ns, wait_ns);",
        )?;
        let mut insert = database.prepare("INSERT INTO tasks VALUES (?,?,?,?,?,?,?,?,?,?)")?;
        for (id, task) in trace.tasks.iter() {
            insert.execute((
                id.index() as i64,
                task.operator.map(|operator| operator.index() as i64),
                task.name.index() as i64,
                task.stream.map(|stream| stream.index() as i64),
                task.unit.name(),
                task.iteration.map(|iteration| iteration.index() as i64),
                task.launched_by.map(|call| call.index() as i64),
                task.start.0,
                task.duration.0,
                task.wait.map(|wait| wait.0),
            ))?;
        }
        database.execute_batch(
            "CREATE INDEX tasks_by_operator ON tasks(operator_id);
             CREATE INDEX tasks_by_iteration ON tasks(iteration_id);
             COMMIT;",
        )
    };
    write().expect("a database");
}
