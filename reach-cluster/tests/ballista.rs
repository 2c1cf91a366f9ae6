//! `opscope cluster sql --engine ballista://…`, against a scheduler and executors that are processes of their own.

#[path = "../../crates/opscope/tests/common/mod.rs"]
mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use common::sets::{asking, assert_same, place_with_set, questions, rows};
use common::{Answer, Place};
use serde_json::{Value, json};

/// A process that ends when it isn't needed any more.
struct Part(Child);

impl Part {
    fn new(arguments: &[&str]) -> Self {
        let mut part = Command::new(env!("CARGO_BIN_EXE_part"));
        // It ends with its standard input, also where a test is killed.
        let part = part.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(part.spawn().expect("a part"))
    }

    /// The processor time that it took, in hundredths of a second (proc(5), `utime`).
    fn ticks(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("a process");
        let (_, fields) = text.rsplit_once(')').expect("a name");
        fields.split_whitespace().nth(11).and_then(|field| field.parse().ok()).expect("a time")
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // A process that ended by itself can't be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A scheduler and its executors.
struct Cluster {
    port: u16,
    executors: Vec<Part>,
    _scheduler: Part,
}

impl Cluster {
    /// Starts a scheduler and waits until executors of one core each have joined it.
    fn new(place: &Place, executors: usize) -> Self {
        Self::with(place, executors, &[])
    }

    /// The same with more words for each executor.
    fn with(place: &Place, executors: usize, words: &[&str]) -> Self {
        let mut scheduler = Part::new(&["scheduler"]);
        let mut line = String::new();
        BufReader::new(scheduler.0.stdout.take().expect("its output")).read_line(&mut line).unwrap();
        let port: u16 = line.trim().parse().expect("a port");
        let executor = |number: usize| {
            let folder = place.path(&format!("executor-{number}"));
            std::fs::create_dir(&folder).unwrap();
            Part::new(&[&["executor", &port.to_string(), folder.to_str().unwrap()], words].concat())
        };
        let executors: Vec<Part> = (0..executors).map(executor).collect();
        let cluster = Self { port, executors, _scheduler: scheduler };
        cluster.wait_for("executors", || {
            cluster
                .get("/api/executors")
                .as_array()
                .is_some_and(|found| found.len() == cluster.executors.len())
        });
        cluster
    }

    fn engine(&self) -> String {
        engine(self.port)
    }

    /// The scheduler's answer at a path.
    fn get(&self, path: &str) -> Value {
        get(self.port, path)
    }

    /// The states of all jobs that the scheduler knows.
    fn states(&self) -> Vec<String> {
        let jobs = self.get("/api/jobs");
        let jobs = jobs.as_array().expect("jobs").iter();
        jobs.map(|job| format!("{}: {}", job["job_name"], job["job_status"])).collect()
    }

    fn wait_for(&self, what: &str, mut is_there: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_there() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no {what}: {:?}", self.states());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a job is under way.
    fn wait_for_work(&self) {
        self.wait_for("work", || self.states().iter().any(|state| state.contains("Running")));
    }
}

/// The answer of a scheduler at a path.
fn get(port: u16, path: &str) -> Value {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return Value::Null };
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn engine(port: u16) -> String {
    format!("ballista://127.0.0.1:{port}")
}

/// Hundreds of millions of pairs, which take an executor tens of seconds.
const LONG: &str = "SELECT count(*) AS pairs, sum(a.duration_ns - b.duration_ns) AS longer FROM operators a \
                    JOIN operators b ON a.rank = b.rank AND a.duration_ns > b.duration_ns";

/// A statement of several stages, the last of which is a single task of some seconds.
const STAGED: &str = "SELECT count(*) AS triples, sum(a.duration_ns - b.duration_ns) AS longer FROM operators a \
                      JOIN operators b ON a.rank = b.rank AND a.duration_ns > b.duration_ns \
                      JOIN (SELECT DISTINCT rank, step FROM operators) c ON a.start_ns > c.rank";

/// Billions of triples, for which nobody waits.
const ENDLESS: &str = "SELECT count(*) AS triples FROM operators a JOIN operators b ON a.rank = b.rank \
                       JOIN operators c ON a.rank = c.rank WHERE a.duration_ns + b.duration_ns > c.duration_ns";

#[test]
fn every_question_is_answered_as_the_embedded_engine_answers_it() {
    let place = place_with_set("64", &["--steps", "2"]);
    let cluster = Cluster::new(&place, 2);
    let engine = cluster.engine();
    for (name, sql) in questions(&place, "datafusion") {
        let embedded = rows(&place, &sql, &[]);
        assert!(!embedded.is_empty() || name == "losses", "{name} has no rows");
        for more in [&["--engine", &engine][..], &["--engine", &engine, "--jobs", "2"]] {
            assert_same(&name, &rows(&place, &sql, more), &embedded, 1e-12);
        }
    }
    let jobs = cluster.states();
    assert!(jobs.len() >= 20 && jobs.iter().all(|job| job.contains("Completed")), "{jobs:?}");
}

#[test]
fn statements_are_bound_and_told_as_they_are_without_a_cluster() {
    let place = place_with_set("4", &[]);
    let cluster = Cluster::new(&place, 1);
    let engine = cluster.engine();
    let with = |statement| asking(statement, &["--engine", &engine]);
    let statement =
        "SELECT rank, host, rank % 2 = 0 AS even, NULL AS nothing, 0.5 AS half FROM ranks ORDER BY rank";
    for form in ["--csv", "--json", "--markdown"] {
        let here = place.done(&asking(statement, &[form])).stdout;
        let there = place.done(&asking(statement, &[form, "--engine", &engine])).stdout;
        assert_eq!(here, there);
    }
    assert_eq!(
        rows(&place, "SELECT rank FROM ranks WHERE rank < 0", &["--engine", &engine]),
        Vec::<Value>::new()
    );
    assert_eq!(rows(&place, "SELECT 1 AS one", &["--engine", &engine]), [json!({"one": 1})]);
    let tables = rows(&place, "SELECT table_name FROM information_schema.tables", &["--engine", &engine]);
    assert!(tables.contains(&json!({"table_name": "operators"})), "{tables:?}");
    let explained = place.done(&with("EXPLAIN SELECT count(*) FROM operators")).stdout;
    assert!(explained.contains("operators"), "{explained}");
    place.fails(2, &["durration", "lists the tables"], &with("SELECT durration FROM operators"));
    for statement in
        ["DROP TABLE ranks", "COPY ranks TO 'copy.parquet'", "SET datafusion.execution.batch_size = 1"]
    {
        place.fails(2, &["does more than read the set's tables"], &with(statement));
    }
    let divided = place.fails(
        1,
        &[&engine, "failed", "DivideByZero", "without --engine"],
        &with("SELECT rank / (rank - rank) FROM ranks"),
    );
    assert!(divided.stderr.len() < 1000, "{}", divided.stderr);
}

/// Asks a set of so many ranks and steps on two executors, kills one once `is_time` names it, and compares the answer
/// with that of the embedded engine. The states of the scheduler's jobs are given.
fn with_a_killed_executor(
    [ranks, steps]: [&str; 2],
    statement: &str,
    mut is_time: impl FnMut(&Cluster) -> Option<usize>,
) -> Vec<String> {
    let place = place_with_set(ranks, &["--steps", steps]);
    let embedded = rows(&place, statement, &[]);
    let mut cluster = Cluster::new(&place, 2);
    let engine = cluster.engine();
    let asked = asking(statement, &["--engine", &engine, "--json"]);
    let child = place.command(&asked).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut doomed = None;
    cluster.wait_for("work", || {
        doomed = is_time(&cluster);
        doomed.is_some()
    });
    assert!(cluster.states().iter().all(|state| state.contains("Running")), "{:?}", cluster.states());
    drop(cluster.executors.remove(doomed.unwrap()));
    let killed = Instant::now();
    let answer = Answer::from(child.wait_with_output().unwrap());
    println!("{:?} after the kill: status {:?} {}", killed.elapsed(), answer.status, answer.stderr);
    assert!(killed.elapsed() < Duration::from_secs(90), "{:?}", killed.elapsed());
    match answer.status {
        Some(0) => assert_same("rows", answer.json()["rows"].as_array().unwrap(), &embedded, 0.0),
        status => {
            assert_eq!(status, Some(1), "{}", answer.stderr);
            let is_told = answer.stderr.contains(&engine) && answer.stderr.contains("without --engine");
            assert!(is_told, "{}", answer.stderr);
            assert!(answer.stdout.is_empty(), "{}", answer.stdout);
            assert!(killed.elapsed() < Duration::from_secs(60), "{:?}", killed.elapsed());
        }
    }
    let states = cluster.states();
    // The one that is left goes on.
    cluster.wait_for("executor alone", || {
        cluster.get("/api/executors").as_array().is_some_and(|found| found.len() == 1)
    });
    let count = rows(&place, "SELECT count(*) AS n FROM ranks", &["--engine", &engine]);
    assert_eq!(count, [json!({"n": ranks.parse::<u64>().unwrap()})]);
    states
}

#[test]
fn a_killed_executor_costs_no_more_than_its_work() {
    // A second of joining, which is no more than the beginning.
    with_a_killed_executor(["64", "4"], LONG, |cluster| {
        let ticks = cluster.executors.iter().map(Part::ticks);
        ticks
            .enumerate()
            .max_by_key(|(_, ticks)| *ticks)
            .filter(|(_, ticks)| *ticks > 100)
            .map(|(place, _)| place)
    });
}

#[test]
fn a_statement_of_which_the_scheduler_lost_track_is_put_once_more() {
    let states = with_a_killed_executor(["8", "3"], STAGED, |cluster| {
        let jobs = cluster.get("/api/jobs");
        if jobs[0]["completed_stages"].as_u64() < Some(2) {
            return None;
        }
        // The executor that alone has something to do has the single task of the last stage.
        let before: Vec<u64> = cluster.executors.iter().map(Part::ticks).collect();
        std::thread::sleep(Duration::from_millis(800));
        let grown: Vec<u64> =
            cluster.executors.iter().zip(before).map(|(part, old)| part.ticks() - old).collect();
        (0..2).find(|&busy| grown[busy] > 60 && grown[1 - busy] < 10)
    });
    // As long as the scheduler loses track.
    assert_eq!(states.len(), 2, "{states:?}");
    assert!(states.iter().any(|state| state.contains("Cancelled")), "{states:?}");
    assert!(states.iter().any(|state| state.contains("Completed")), "{states:?}");
}

/// Answers requests at a port of its own with fixed text, and tells the port.
fn answering(text: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(text.as_bytes());
        }
    });
    port
}

#[test]
fn whatever_is_no_scheduler_with_executors_of_this_version_is_told_apart() {
    let place = place_with_set("2", &[]);
    let refused = |engine: &str, says: &[&str]| {
        let begun = Instant::now();
        let answer =
            place.fails(1, &[&[engine][..], says].concat(), &asking("SELECT 1", &["--engine", engine]));
        assert!(answer.stdout.is_empty(), "{}", answer.stdout);
        assert!(begun.elapsed() < Duration::from_secs(30));
    };
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    refused(&engine(nobody), &["no scheduler answers here", "ballista-scheduler", "leave out --engine"]);
    refused("ballista://no-such-host.invalid:50050", &["no scheduler answers here"]);
    let page = "HTTP/1.1 200 OK\r\nserver: pages/1\r\ncontent-length: 0\r\n\r\n";
    refused(&engine(answering(page)), &["no scheduler of Apache Ballista", "pages/1"]);
    let nameless = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
    refused(&engine(answering(nameless)), &["no scheduler of Apache Ballista", "404"]);
    refused(&engine(answering("SSH-2.0-OpenSSH_9.2\r\n")), &["no scheduler of Apache Ballista"]);
    let older = "HTTP/1.1 200 OK\r\nserver: ballista/54.1.0\r\ncontent-length: 0\r\n\r\n";
    refused(&engine(answering(older)), &["is Ballista 54.1.0", "for Ballista 55."]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    refused(&engine(silent.local_addr().unwrap().port()), &["nothing came within 10 s"]);
    let cluster = Cluster::new(&place, 0);
    refused(&cluster.engine(), &["no executors", "ballista-executor"]);
}

#[test]
fn an_answer_that_is_given_up_cancels_its_job() {
    let place = place_with_set("16", &[]);
    let cluster = Cluster::new(&place, 2);
    let engine = cluster.engine();
    let asked = asking(ENDLESS, &["--engine", &engine, "--csv"]);
    let cancelled = |count: usize| {
        cluster.wait_for("cancelling", || {
            let states = cluster.states();
            states.len() == count && states.iter().all(|state| state.contains("Cancelled"))
        });
    };
    let answer = place.fails(1, &["3 s", "--timeout"], &[&asked[..], &["--timeout", "3"]].concat());
    assert!(answer.stdout.is_empty(), "{}", answer.stdout);
    cancelled(1);
    for (signal, count) in [("-INT", 2), ("-TERM", 3)] {
        let mut child = place.command(&asked).spawn().unwrap();
        cluster.wait_for_work();
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        cancelled(count);
    }
}

/// The address of this machine at which executors say that they are, and don't listen.
const ELSEWHERE: &str = "127.0.0.2";

/// A port of that address that leads to the same port of loopback, where an executor listens. While it isn't open, it
/// hangs up on whoever comes.
fn door(is_open: impl Fn() -> bool + Send + 'static) -> u16 {
    let listener = TcpListener::bind((ELSEWHERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok).filter(|_| is_open()) {
            if let Ok(executor) = TcpStream::connect(("127.0.0.1", port)) {
                pass_on(client.try_clone().unwrap(), executor.try_clone().unwrap());
                pass_on(executor, client);
            }
        }
    });
    port
}

/// Hands on bytes until there are no more.
fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || std::io::copy(&mut from, &mut to));
}

#[test]
fn a_statement_is_put_once_more_where_its_rows_cannot_be_fetched() {
    let place = place_with_set("4", &[]);
    let scheduler = Arc::new(OnceLock::new());
    let known = Arc::clone(&scheduler);
    let jobs = move || get(*known.get().expect("a scheduler"), "/api/jobs").as_array().map_or(0, Vec::len);
    // The first statement is put twice without success, and the second has one at its second try.
    let ports = [door(move || jobs() >= 4), door(|| true)].map(|port| port.to_string());
    let cluster = Cluster::with(&place, 1, &[ELSEWHERE, &ports[0], &ports[1]]);
    scheduler.set(cluster.port).unwrap();
    let engine = cluster.engine();
    let asked = asking("SELECT rank FROM ranks ORDER BY rank", &["--engine", &engine, "--json"]);
    let answer = place.fails(1, &[&engine, "can't be fetched from an executor", "without --engine"], &asked);
    assert!(answer.stdout.is_empty(), "{}", answer.stdout);
    assert_eq!(cluster.states().len(), 2, "{:?}", cluster.states());
    let answer = place.done(&asked);
    let expected: Vec<Value> = (0..4).map(|rank| json!({"rank": rank})).collect();
    assert_eq!(answer.json()["rows"].as_array().unwrap(), &expected);
    let jobs = cluster.states();
    assert!(jobs.len() == 4 && jobs.iter().all(|job| job.contains("Completed")), "{jobs:?}");
}
