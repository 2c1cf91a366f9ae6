//! Damaged, cut and rearranged profiles: nothing panics, and what can be read is read.

mod common;

use std::path::{Path, PathBuf};

use opscope_cann::join::Joined;
use opscope_cann::{Data, ExportOptions, Reason, discover, export_summary, export_timeline, to_trace};
use proptest::prelude::*;

/// Copies a directory tree.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a new directory");
    for entry in std::fs::read_dir(from).expect("a listing").flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::write(&target, std::fs::read(&path).expect("a readable file")).expect("a new file");
        }
    }
}

/// All files below a directory, sorted.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a listing").flatten() {
        let path = entry.path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// Reads and exports whatever is in a directory; an error is fine, a panic isn't.
fn survive(directory: &Path, output: &Path) {
    let Ok(profiles) = discover(directory) else { return };
    for profile in profiles {
        let Ok(data) = Data::load(profile) else { continue };
        let joined = Joined::new(data);
        let trace = to_trace(&joined);
        assert!(trace.tasks.len() <= 10_000, "no more tasks than records");
        export_summary(&joined, output, "0", ExportOptions::default()).expect("space on disk");
        export_timeline(&joined, output, "0", ExportOptions::default()).expect("space on disk");
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

fn apply(files: &[PathBuf], damage: &Damage) {
    let of = |index: &prop::sample::Index| index.get(files);
    let edit = |path: &PathBuf, change: &dyn Fn(&mut Vec<u8>)| {
        let Ok(mut bytes) = std::fs::read(path) else { return };
        change(&mut bytes);
        std::fs::write(path, bytes).expect("a writable file");
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
            let _ = std::fs::remove_file(of(file));
        }
        Damage::Swap { one, other } => {
            let (one, other) = (of(one), of(other));
            if let (Ok(first), Ok(second)) = (std::fs::read(one), std::fs::read(other)) {
                std::fs::write(one, second).expect("a writable file");
                std::fs::write(other, first).expect("a writable file");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
    ))]

    #[test]
    fn no_damage_makes_reading_or_exporting_panic(
        case in prop::sample::select(vec!["910b_static", "910b_dynamic_flip", "910_static", "310_static"]),
        damages in prop::collection::vec(damage(), 1..8),
    ) {
        let Some(golden) = common::golden() else { return Ok(()) };
        let directory = tempfile::tempdir().expect("a temporary directory");
        let input = directory.path().join("input");
        copy(&golden.join(case).join("input"), &input);
        let files = files(&input);
        damages.iter().for_each(|damage| apply(&files, damage));
        survive(&input, &directory.path().join("output"));
    }
}

/// The exported tables of a directory, by file name without the suffix.
fn tables(input: &Path) -> Vec<(String, String)> {
    let output = tempfile::tempdir().expect("a temporary directory");
    let profile = discover(input).expect("a profile").remove(0);
    let joined = Joined::new(Data::load(profile).expect("a readable profile"));
    export_summary(&joined, output.path(), "0", ExportOptions::default()).expect("space on disk");
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).expect("a readable table"))
    };
    files(output.path()).into_iter().map(read).collect()
}

/// The slices of a profile's data.
fn slices(input: &Path) -> Vec<PathBuf> {
    let is_slice = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "slice_0");
    files(input).into_iter().filter(is_slice).collect()
}

#[test]
fn slices_cut_at_odd_places_give_the_same_tables() {
    let Some(golden) = common::golden() else { return };
    for case in ["910b_static", "910b_dynamic_flip", "910_static", "310_static"] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        copy(&golden.join(case).join("input"), directory.path());
        let whole = tables(directory.path());
        assert!(whole.len() >= 5, "{case}");
        for path in slices(directory.path()) {
            let bytes = std::fs::read(&path).expect("a slice");
            // More than ten slices, so that the order of their names isn't that of their numbers.
            for (number, part) in bytes.chunks(bytes.len().div_ceil(13).max(1)).enumerate() {
                std::fs::write(path.with_extension(format!("slice_{number}")), part).expect("a new slice");
            }
        }
        assert_eq!(tables(directory.path()), whole, "{case}");
    }
}

#[test]
fn a_partial_record_before_an_aged_stream_changes_nothing() {
    let Some(golden) = common::golden() else { return };
    for case in ["910b_static", "910b_dynamic_flip", "910_static"] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        copy(&golden.join(case).join("input"), directory.path());
        let whole = tables(directory.path());
        let aged = |path: &PathBuf| {
            path.to_string_lossy().contains("/aging.") || !path.to_string_lossy().contains("aging.")
        };
        for path in slices(directory.path()).into_iter().filter(aged) {
            let mut bytes = vec![0x77; 11];
            bytes.extend(std::fs::read(&path).expect("a slice"));
            std::fs::write(&path, bytes).expect("a writable slice");
        }
        assert_eq!(tables(directory.path()), whole, "{case}");
        let profile = discover(directory.path()).expect("a profile").remove(0);
        let losses = Data::load(profile).expect("a readable profile").losses();
        assert!(losses.total(Reason::PartialRecord) > 5, "{case}: what was skipped is counted");
    }
}

#[test]
fn a_second_device_has_rows_of_its_own() {
    let Some(golden) = common::golden() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    copy(&golden.join("910b_static/input"), directory.path());
    let profile = discover(directory.path()).expect("a profile").remove(0).path;
    copy(&profile.join("device_0"), &profile.join("device_1"));
    let of = |tables: &[(String, String)], name: &str| {
        let table = tables.iter().find(|(file, _)| file.starts_with(name)).expect("the table");
        table.1.lines().skip(1).map(str::to_owned).collect::<Vec<String>>()
    };
    let both = tables(directory.path());
    let single = tables(&golden.join("910b_static/input"));
    let rows = of(&both, "step_trace");
    let of_first: Vec<&String> = rows.iter().filter(|row| row.starts_with("0,")).collect();
    assert_eq!(of_first, of(&single, "step_trace").iter().collect::<Vec<_>>());
    let as_second: Vec<String> = of_first.iter().map(|row| row.replacen("0,", "1,", 1)).collect();
    assert_eq!(
        rows.iter().filter(|row| row.starts_with("1,")).collect::<Vec<_>>(),
        as_second.iter().collect::<Vec<_>>()
    );
    // The host handed its tasks to device 0 only, so the other device has tasks but no operators.
    assert_eq!(of(&both, "op_summary"), of(&single, "op_summary"));
    assert_eq!(of(&both, "task_time").len(), of(&single, "task_time").len() * 2 + 3);
}

#[test]
fn several_profiles_in_one_directory_are_told_apart() {
    let Some(golden) = common::golden() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    for case in ["910b_static", "910_static"] {
        copy(&golden.join(case).join("input"), &directory.path().join(case));
    }
    let profiles = discover(directory.path()).expect("profiles");
    let chips: Vec<&str> = profiles.iter().filter_map(|p| Some(p.metadata()?.chip().product())).collect();
    assert_eq!(chips, ["Ascend 910", "Ascend 910B"]);
}
