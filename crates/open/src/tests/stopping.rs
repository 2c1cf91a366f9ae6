//! Openings and imports that somebody stops: they say so, at once, and leave nothing behind.

use super::*;

#[test]
fn the_search_below_a_folder_ends_once_nobody_wants_it() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..100 {
        std::fs::write(folder.path().join(format!("{number}.txt")), "of no profile").unwrap();
    }
    let whole = StopAt::new(usize::MAX);
    assert!(Source::at(folder.path()).unwrap().open(&whole).is_err());
    assert!(whole.asked.load(Ordering::Relaxed) >= 100, "at each file");
    let stopped = Source::at(folder.path()).unwrap().open(&StopAt::new(50));
    assert!(matches!(stopped, Err(OpenError::Stopped { .. })), "{stopped:?}");
}

/// A request to stop that comes with one of the questions for it.
struct StopAt {
    question: usize,
    asked: Arc<AtomicUsize>,
}

impl StopAt {
    fn new(question: usize) -> Self {
        Self { question, asked: Arc::default() }
    }
}

impl Progress for StopAt {
    fn stop(&self) -> Stop {
        let (question, asked) = (self.question, Arc::clone(&self.asked));
        Stop::when(move || asked.fetch_add(1, Ordering::Relaxed) >= question)
    }
}

/// All files and folders below a folder.
fn everything(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() { everything(&path) } else { BTreeSet::new() }.into_iter().chain([path])
        })
        .collect()
}

#[test]
fn an_opening_that_is_stopped_at_any_question_says_so_and_leaves_nothing_behind() {
    let mut rows = Trace::new();
    let name = rows.strings.intern("x");
    for time in 0..20_000 {
        rows.tasks.push(Task::new(name, Nanoseconds(time), Nanoseconds(1)));
    }
    let own = OneFile::new(b"");
    sqlite::write_file(&rows, &own.path).unwrap();
    let ascend = OneFile::new(&ascend_database());
    let sql = "WITH RECURSIVE t(n) AS (SELECT 9 UNION ALL SELECT n + 1 FROM t LIMIT 20000) INSERT INTO TASK SELECT n, n + 1 FROM t";
    rusqlite::Connection::open(&ascend.path).unwrap().execute_batch(sql).unwrap();
    let outputs = OneFile::new(b"");
    std::fs::write(outputs.path.with_file_name("kernel_details.csv"), KERNELS).unwrap();
    let board = OneFile::new(b"");
    for sample in 0..3 {
        let name = format!("op_summary_0.net.1.1.1.{sample}.0.600.csv");
        std::fs::write(board.path.with_file_name(name), "Layer Id,Layer Name,Layer Type,Time(us)\n0,a,b,1\n")
            .unwrap();
    }
    let timeline = OneFile::new(TIMELINE);
    let (_folder, raw) = raw_directory();
    // The least number of questions: before and behind the reading, at each step, and within steps.
    let folder_of = |file: &OneFile| file.path.parent().unwrap().to_owned();
    for (path, least) in [
        (own.path.clone(), 10),
        (ascend.path.clone(), 10),
        (folder_of(&outputs), 3),
        (folder_of(&board), 5),
        (timeline.path.clone(), 6),
        (raw, 16),
    ] {
        let folder = if path.is_dir() { path.clone() } else { path.parent().unwrap().to_owned() };
        let before = everything(&folder);
        let whole = StopAt::new(usize::MAX);
        Source::at(&path).unwrap().open(&whole).unwrap();
        let questions = whole.asked.load(Ordering::Relaxed);
        assert!(questions >= least, "{}: {questions}", path.display());
        for question in (0..questions).step_by(questions.div_ceil(12)).chain([questions - 1]) {
            let opened = Source::at(&path).unwrap().open(&StopAt::new(question));
            let is_stopped = matches!(&opened, Err(OpenError::Stopped { path: stopped }) if *stopped == path);
            assert!(is_stopped, "{} at question {question} of {questions}: {opened:?}", path.display());
        }
        assert_eq!(everything(&folder), before);
    }
}

/// The steps of an opening, with the number of questions that were asked before each.
#[derive(Default)]
struct Steps {
    asked: Arc<AtomicUsize>,
    begun: std::sync::Mutex<Vec<(String, usize)>>,
}

impl Progress for Steps {
    fn step(&self, name: &str) {
        self.begun.lock().unwrap().push((name.to_owned(), self.asked.load(Ordering::Relaxed)));
    }

    fn stop(&self) -> Stop {
        let asked = Arc::clone(&self.asked);
        Stop::when(move || {
            asked.fetch_add(1, Ordering::Relaxed);
            false
        })
    }
}

#[test]
fn a_stop_is_asked_for_within_every_long_step_of_a_large_profile() {
    /// A question comes every so many rows at least, in each of the passes over them.
    const ROWS: usize = 10_000;
    let rows = 60_000;
    let node = |at: usize| {
        format!(
            "{{\"cat\":\"Node\",\"pid\":1,\"tid\":1,\"dur\":1,\"ts\":{at},\"ph\":\"X\",\"name\":\"n{}_kernel_time\",\"args\":{{}}}}",
            at % 50
        )
    };
    let events: Vec<String> = (0..rows).map(node).collect();
    let sessions = OneFile::new(format!("[{}]", events.join(",\n")).as_bytes());
    let kernel =
        |at: usize| format!("0,conv{},Conv2D,AI_CORE,{}.5,1,0\n", at % 50, 1_700_000_000_000_000 + at * 2);
    let header = std::str::from_utf8(KERNELS).unwrap().lines().next().unwrap();
    let table: String = std::iter::once(format!("{header}\n")).chain((0..rows).map(kernel)).collect();
    let table = OneFile::new(table.as_bytes());
    let network = OneFile::new(&opscope_testing::megengine_network::network(rows / 6));
    let (_folder, raw) = raw_directory_of(rows as u64);
    // Of a raw directory: decoding, joining, and making the trace; of the others reading and the trace.
    for (path, begins) in [
        (sessions.path.clone(), vec![2]),
        (table.path.clone(), vec![2]),
        (network.path.clone(), vec![1]),
        (raw, vec![12, 4, 1]),
    ] {
        let steps = Steps::default();
        Source::at(&path).unwrap().open(&steps).unwrap();
        let mut begun = steps.begun.into_inner().unwrap();
        if begun.is_empty() {
            begun.push(("all".to_owned(), 0));
        }
        let ends = begun[1..].iter().map(|(_, asked)| *asked).chain([steps.asked.load(Ordering::Relaxed)]);
        let asked: Vec<usize> = begun.iter().zip(ends).map(|((_, begin), end)| end - begin).collect();
        assert_eq!(asked.len(), begins.len(), "{begun:?}");
        for (step, (asked, passes)) in asked.iter().zip(&begins).enumerate() {
            assert!(*asked >= passes * rows / ROWS, "{}: {:?}: {asked}", path.display(), begun[step]);
        }
    }
}

/// A request to stop that another thread makes when it hears of a step.
struct StopWithin<'a> {
    step: usize,
    begun: Arc<AtomicUsize>,
    wanted: Arc<AtomicBool>,
    other: &'a std::sync::mpsc::Sender<Arc<AtomicBool>>,
}

impl Progress for StopWithin<'_> {
    fn step(&self, _name: &str) {
        if self.begun.fetch_add(1, Ordering::Relaxed) == self.step {
            self.other.send(Arc::clone(&self.wanted)).unwrap();
        }
    }

    fn stop(&self) -> Stop {
        let (step, begun, wanted) = (self.step, Arc::clone(&self.begun), Arc::clone(&self.wanted));
        Stop::when(move || {
            // However late the system lets the other thread run, it is within the step.
            while begun.load(Ordering::Relaxed) > step && !wanted.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            wanted.load(Ordering::Relaxed)
        })
    }
}

#[test]
fn a_flag_that_another_thread_sets_ends_the_opening_of_a_large_profile_in_each_of_its_steps() {
    let (_folder, raw) = raw_directory_of(30_000);
    let before = everything(&raw);
    let (sender, requests) = std::sync::mpsc::channel::<Arc<AtomicBool>>();
    let other =
        std::thread::spawn(move || requests.iter().for_each(|flag| flag.store(true, Ordering::Relaxed)));
    for step in 0..3 {
        let (begun, wanted) = (Arc::default(), Arc::default());
        let progress = StopWithin { step, begun, wanted, other: &sender };
        let opened = Source::at(&raw).unwrap().open(&progress);
        assert!(matches!(opened, Err(OpenError::Stopped { .. })), "step {step}: {opened:?}");
        assert_eq!(progress.begun.load(Ordering::Relaxed), step + 1, "it went on behind the step");
    }
    assert_eq!(everything(&raw), before);
    drop(sender);
    other.join().unwrap();
}

#[test]
fn an_import_that_is_stopped_leaves_neither_a_database_nor_a_lock() {
    let (folder, raw) = raw_directory();
    let profiles = Source::at(&raw).unwrap().profiles().to_vec();
    let chosen = folder.path().join("results");
    let (results, _) = raw::Results::place(&profiles[0], Some(chosen.clone())).unwrap();
    let import = |progress: &StopAt| {
        let lock = results.lock().unwrap();
        let imported = raw::import(profiles[0].clone(), &results.database(), progress);
        drop(lock);
        imported
    };
    let empty = everything(&chosen);
    let mut question = 0;
    loop {
        let progress = StopAt::new(question);
        match import(&progress) {
            Err(raw::ImportError::Open(OpenError::Stopped { .. })) => assert_eq!(everything(&chosen), empty),
            imported => break drop(imported.unwrap()),
        }
        question = question * 2 + 1;
    }
    assert!(question > 20, "{question}");
    assert!(results.database().is_file());
}

proptest! {
    #[test]
    fn any_content_is_told_and_opened_without_a_panic(
        start in proptest::sample::select(vec![&b""[..], b"[{\"cat\":\"Node\",\"name\":\"x_kernel_time\"", b"{\"profiler\":",
            b"SQLite format 3\0", b"\x1f\x8b\x08", b"\x08\x08\x3a", b"{\"traceEvents\":"]),
        rest in proptest::collection::vec(any::<u8>(), 0..120),
    ) {
        let file = OneFile::new(&[start, &rest].concat());
        if let Ok(source) = Source::at(&file.path) {
            prop_assert!(!source.to_string().is_empty());
        }
        let _ = open(&file.path);
    }
}
