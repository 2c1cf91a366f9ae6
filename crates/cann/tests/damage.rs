//! Damaged profiles: nothing panics or hangs, and what can be read is read.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::{copy, files};
use opscope_cann::join::Joined;
use opscope_cann::{
    Data, ExportLayout, ExportOptions, IterationRange, SampleLayout, SampleMode, SampleOptions, SheetFormat,
    discover, export_database, export_summary, export_timeline, performance_reports, to_trace, write_sample,
};
use opscope_cann_raw::Chip;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Reads and exports whatever is in a directory; an error is fine, a panic isn't. The database takes
/// longest to write and is left out mostly.
fn survive(directory: &Path, output: &Path, options: ExportOptions, database: bool) {
    let Ok(profiles) = discover(directory) else { return };
    for profile in profiles {
        let Ok(data) = Data::load(profile) else { continue };
        let joined = Joined::new(data);
        let trace = to_trace(&joined);
        assert!(trace.tasks.len() <= 10_000, "no more tasks than records");
        let durations = trace.tasks.duration().iter().chain(trace.api_calls.duration());
        let a_year = 366 * 24 * 3600 * 1_000_000_000;
        assert!(durations.into_iter().all(|time| (0..=a_year).contains(&time.0)), "times that can be");
        export_summary(&joined, output, "0", options).expect("space on disk");
        export_timeline(&joined, output, "0", options).expect("space on disk");
        for report in performance_reports(&joined, options) {
            assert!(report.text().starts_with("Performance Summary Report:"));
        }
        if database {
            let path = export_database(&joined, output, "0").expect("space on disk");
            let Some(path) = path else { continue };
            let database = rusqlite::Connection::open(path).expect("a database");
            let answer: String =
                database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("an answer");
            assert_eq!(answer, "ok");
        }
    }
}

/// Something that can happen to a file.
#[derive(Clone, Debug)]
enum Damage {
    Byte { file: prop::sample::Index, at: prop::sample::Index, value: u8 },
    Run { file: prop::sample::Index, at: prop::sample::Index, value: u8, length: usize },
    Cut { file: prop::sample::Index, at: prop::sample::Index },
    Remove { file: prop::sample::Index },
    Double { file: prop::sample::Index },
    Swap { one: prop::sample::Index, other: prop::sample::Index },
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        6 => (index(), index(), any::<u8>()).prop_map(|(file, at, value)| Damage::Byte { file, at, value }),
        3 => (index(), index(), prop_oneof![Just(0u8), Just(255), any::<u8>()], 1usize..64)
            .prop_map(|(file, at, value, length)| Damage::Run { file, at, value, length }),
        2 => (index(), index()).prop_map(|(file, at)| Damage::Cut { file, at }),
        1 => index().prop_map(|file| Damage::Remove { file }),
        1 => index().prop_map(|file| Damage::Double { file }),
        1 => (index(), index()).prop_map(|(one, other)| Damage::Swap { one, other }),
    ]
}

/// A profile that is damaged and mended again and again.
struct Patient {
    name: String,
    times: u32,
    _directory: tempfile::TempDir,
    input: PathBuf,
    output: PathBuf,
    files: Vec<PathBuf>,
}

impl Patient {
    fn new(name: String, times: u32, make: impl FnOnce(&Path)) -> Self {
        // Memory where there is such, because nothing here is to last.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let directory = directory.expect("a temporary directory");
        let (input, output) = (directory.path().join("input"), directory.path().join("output"));
        std::fs::create_dir(&input).expect("a new directory");
        make(&input);
        let files = files(&input);
        Self { name, times, _directory: directory, input, output, files }
    }
}

/// The golden profiles, and generated ones of each chip and layout.
fn patients() -> Vec<Patient> {
    let mut patients = Vec::new();
    if let Some(golden) = common::golden() {
        for case in common::cases(&golden) {
            let input = golden.join(&case).join("input");
            patients.push(Patient::new(case, times(GOLDEN_TIMES), |copied| copy(&input, copied)));
        }
    }
    for layout in [SampleLayout::Current, SampleLayout::Prof2022, SampleLayout::Job2022] {
        for (chip, mode) in [
            (Chip::V4_1_0, SampleMode::Dynamic),
            (Chip::V2_1_0, SampleMode::Static),
            (Chip::V1_1_0, SampleMode::Static),
            (Chip::V4_1_0, SampleMode::Graph),
            (Chip::V4_1_0, SampleMode::Collective),
        ] {
            let options = SampleOptions { chip, tasks: 80, mode, layout, seed: 2 };
            if !options.is_possible() {
                continue;
            }
            let name = format!("{chip:?}, {mode:?}, {layout:?}");
            patients.push(Patient::new(name, times(GENERATED_TIMES), |input| {
                write_sample(input, options).expect("space on disk");
            }));
        }
    }
    patients
}

/// The contents that damaged files had before; dropping them mends the files.
struct Mend(BTreeMap<PathBuf, Vec<u8>>);

impl Mend {
    fn remember(&mut self, path: &Path) -> Vec<u8> {
        let now = std::fs::read(path).unwrap_or_default();
        self.0.entry(path.to_owned()).or_insert_with(|| now.clone());
        now
    }
}

impl Drop for Mend {
    fn drop(&mut self) {
        for (path, bytes) in &self.0 {
            std::fs::write(path, bytes).expect("a writable file");
        }
    }
}

fn apply(files: &[PathBuf], damage: &Damage, mend: &mut Mend) {
    let of = |index: &prop::sample::Index| index.get(files);
    let write = |path: &PathBuf, bytes: &[u8]| std::fs::write(path, bytes).expect("a writable file");
    let mut edit = |path: &PathBuf, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = mend.remember(path);
        change(&mut bytes);
        write(path, &bytes);
    };
    match damage {
        Damage::Byte { file, at, value } => edit(of(file), &|bytes| {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
        }),
        Damage::Run { file, at, value, length } => edit(of(file), &|bytes| {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                let end = (at + length).min(bytes.len());
                bytes[at..end].fill(*value);
            }
        }),
        Damage::Cut { file, at } => edit(of(file), &|bytes| bytes.truncate(at.index(bytes.len() + 1))),
        Damage::Double { file } => edit(of(file), &|bytes| bytes.extend_from_within(..)),
        Damage::Remove { file } => {
            mend.remember(of(file));
            let _ = std::fs::remove_file(of(file));
        }
        Damage::Swap { one, other } => {
            let (one, other) = (of(one), of(other));
            let (first, second) = (mend.remember(one), mend.remember(other));
            write(one, &second);
            write(other, &first);
        }
    }
}

/// How the results of a damaged profile are exported.
fn options() -> impl Strategy<Value = ExportOptions<'static>> {
    let range = (0u64..4, 0u64..4, prop_oneof![Just(1u64), Just(u64::MAX)]);
    let range = range.prop_map(|(model, first, count)| IterationRange { model, first, count });
    let flags = [prop::bool::weighted(0.2), prop::bool::weighted(0.2), prop::bool::weighted(0.2)];
    (flags, prop::option::weighted(0.3, range)).prop_map(|([json, classic, divided], iterations)| {
        ExportOptions {
            format: if json { SheetFormat::Json } else { SheetFormat::Csv },
            layout: if classic { ExportLayout::Classic } else { ExportLayout::Current },
            iterations,
            timeline_bytes: divided.then_some(4_096),
            ..ExportOptions::default()
        }
    })
}

/// No profile of this size takes longer than this, however it is damaged and however busy the
/// machine is.
const HANGS: Duration = Duration::from_secs(30);

/// How often golden profiles are damaged, and generated ones; `PROPTEST_CASES` changes both.
const GOLDEN_TIMES: u32 = 2_000;
const GENERATED_TIMES: u32 = 120;

fn times(usually: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usually)
}

/// Damages one profile again and again.
fn treat(patient: &Patient) {
    // Failures are shown in full; there is no place to keep them.
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(patient.times) };
    let mut runner = TestRunner::new(config);
    let damages = (prop::collection::vec(damage(), 1..8), options(), prop::bool::weighted(0.1));
    let result = runner.run(&damages, |(damages, options, database)| {
        let mut mend = Mend(BTreeMap::new());
        damages.iter().for_each(|damage| apply(&patient.files, damage, &mut mend));
        let begin = Instant::now();
        survive(&patient.input, &patient.output, options, database);
        prop_assert!(begin.elapsed() < HANGS, "took {:?}", begin.elapsed());
        Ok(())
    });
    result.unwrap_or_else(|problem| panic!("{}: {problem}", patient.name));
}

#[test]
fn no_damage_makes_reading_or_exporting_panic_or_hang() {
    let patients = Mutex::new(patients());
    let next = || patients.lock().expect("no panic while it was held").pop();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(patient) = next() {
                    let begin = Instant::now();
                    treat(&patient);
                    eprintln!("{}: {} times in {:?}", patient.name, patient.times, begin.elapsed());
                }
            });
        }
    });
}
