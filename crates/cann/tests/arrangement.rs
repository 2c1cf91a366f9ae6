//! Profiles whose records are arranged in another way: cut into other slices, aged, beside those of
//! another device or of another profile. The results are the same to the byte.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{copy, copy_device, files};
use opscope_cann::join::Joined;
use opscope_cann::{
    Data, ExportOptions, LossKind, Profile, SampleLayout, SampleMode, SampleOptions, discover,
    export_database, export_summary, export_timeline, write_sample,
};
use opscope_cann_raw::Chip;

/// All results of a profile: tables, timelines and the database, by file name.
fn results_of(profile: Profile) -> BTreeMap<String, Vec<u8>> {
    let output = tempfile::tempdir().expect("a temporary directory");
    let joined = Joined::new(Data::load(profile).expect("a readable profile"));
    export_summary(&joined, output.path(), "0", ExportOptions::default()).expect("space on disk");
    export_timeline(&joined, output.path(), "0", ExportOptions::default()).expect("space on disk");
    export_database(&joined, output.path(), "0").expect("space on disk");
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read(&path).expect("a readable result"))
    };
    files(output.path()).into_iter().map(read).collect()
}

/// The results of the only profile in a directory.
fn results(input: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut profiles = discover(input).expect("a profile");
    assert_eq!(profiles.len(), 1);
    results_of(profiles.remove(0))
}

/// Asserts that two sets of results are the same, naming the first file that isn't.
fn assert_same(ours: &BTreeMap<String, Vec<u8>>, expected: &BTreeMap<String, Vec<u8>>, about: &str) {
    assert_eq!(ours.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{about}");
    for (name, bytes) in expected {
        assert!(ours[name] == *bytes, "{about}: {name} is another");
    }
}

/// The golden cases, each copied to a directory of its own, with its results as it is.
fn cases() -> Vec<(String, tempfile::TempDir, BTreeMap<String, Vec<u8>>)> {
    let Some(golden) = common::golden() else { return Vec::new() };
    let cases = common::cases(&golden).into_iter().map(|case| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        copy(&golden.join(&case).join("input"), directory.path());
        let whole = results(directory.path());
        assert!(whole.len() >= 7, "{case}: {:?}", whole.keys());
        (case, directory, whole)
    });
    cases.collect()
}

/// The slices of a profile's data.
fn slices(input: &Path) -> Vec<PathBuf> {
    let is_slice = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "slice_0");
    files(input).into_iter().filter(is_slice).collect()
}

#[test]
fn slices_cut_at_odd_places_give_the_same_results() {
    for (case, directory, whole) in cases() {
        let originals: Vec<(PathBuf, Vec<u8>)> = slices(directory.path())
            .into_iter()
            .map(|path| {
                let bytes = std::fs::read(&path).expect("a slice");
                (path, bytes)
            })
            .collect();
        // More than ten slices, so that the order of their names isn't that of their numbers; and
        // slices that are shorter than any record.
        for parts in [2, 13, 101] {
            for (path, bytes) in &originals {
                let size = (bytes.len().div_ceil(parts)).max(1) | 1;
                for (number, part) in bytes.chunks(size).enumerate() {
                    std::fs::write(path.with_extension(format!("slice_{number}")), part)
                        .expect("a new slice");
                }
            }
            assert_same(&results(directory.path()), &whole, &format!("{case} in {parts} parts"));
        }
        // A single byte first.
        for (path, bytes) in &originals {
            for number in 1..=101 {
                let _ = std::fs::remove_file(path.with_extension(format!("slice_{number}")));
            }
            let (first, rest) = bytes.split_at(1);
            std::fs::write(path, first).expect("a writable slice");
            std::fs::write(path.with_extension("slice_1"), rest).expect("a new slice");
        }
        assert_same(&results(directory.path()), &whole, &format!("{case} after one byte"));
    }
}

/// How many files without a name this program has open.
#[cfg(target_os = "linux")]
fn nameless_files() -> usize {
    let opened = std::fs::read_dir("/proc/self/fd").expect("a listing").flatten();
    let targets = opened.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets.filter(|target| target.to_string_lossy().ends_with(" (deleted)")).count()
}

#[test]
fn columns_that_lie_in_files_give_the_same_results() {
    for (mode, chip) in [
        (SampleMode::Static, Chip::V4_1_0),
        (SampleMode::Dynamic, Chip::V4_1_0),
        (SampleMode::Graph, Chip::V4_1_0),
        (SampleMode::Collective, Chip::V4_1_0),
        (SampleMode::Dynamic, Chip::V2_1_0),
    ] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let options = SampleOptions { chip, tasks: 3_000, mode, layout: SampleLayout::Current, seed: 3 };
        let path = write_sample(directory.path(), options).expect("space on disk");
        let whole = results(&path);
        opscope_columns::keep_in_memory(400);
        let in_files = results(&path);
        #[cfg(target_os = "linux")]
        {
            let profile = discover(&path).expect("a profile").remove(0);
            let _joined = Joined::new(Data::load(profile).expect("a readable profile"));
            assert!(nameless_files() > 10, "columns of {chip:?} lie in files: {}", nameless_files());
        }
        opscope_columns::keep_in_memory(opscope_columns::COMMON_BUDGET);
        assert_same(&in_files, &whole, &format!("{chip:?}, {mode:?}"));
    }
}

#[test]
fn a_partial_record_before_an_aged_stream_changes_nothing() {
    // Shorter than any record.
    const LENGTHS: [usize; 3] = [1, 11, 19];
    for (case, directory, whole) in cases() {
        // Files that are always kept have no partial records, and neither have records that say how long
        // they are, since the rest of one can't be told from another.
        let is_aged = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_of_oldest =
                case.starts_with("310_") && ["ts_track", "aicore"].iter().any(|it| name.starts_with(it));
            !name.starts_with("unaging.") && !is_of_oldest
        };
        let aged: Vec<PathBuf> = slices(directory.path()).into_iter().filter(is_aged).collect();
        assert!(aged.len() >= 3, "{case}");
        let read = |path: &PathBuf| (path.clone(), std::fs::read(path).expect("a slice"));
        let aged: Vec<(PathBuf, Vec<u8>)> = aged.iter().map(read).collect();
        for length in LENGTHS {
            for (path, bytes) in &aged {
                std::fs::write(path, [&[0x77; 19][..length], bytes].concat()).expect("a writable slice");
            }
            assert_same(&results(directory.path()), &whole, &format!("{case}: {length} bytes"));
            let profile = discover(directory.path()).expect("a profile").remove(0);
            let losses = Data::load(profile).expect("a readable profile").losses();
            assert!(
                losses.total(LossKind::PartialRecord) as usize >= aged.len(),
                "{case}: what was skipped is counted"
            );
        }
    }
}

#[test]
fn a_second_device_has_rows_of_its_own_and_those_of_the_first_stay() {
    for (case, directory, whole) in cases() {
        let profile = discover(directory.path()).expect("a profile").remove(0).path;
        copy_device(&profile, 0, 1);
        let both = results(directory.path());
        let rows = |results: &BTreeMap<String, Vec<u8>>, name: &str, device: &str| -> Vec<String> {
            let text = String::from_utf8_lossy(&results[name]).into_owned();
            let of_device = |line: &str| line.strip_prefix(device)?.strip_prefix(',').map(str::to_owned);
            text.lines().skip(1).filter_map(of_device).collect()
        };
        for name in whole.keys().filter(|name| name.ends_with(".csv")) {
            for device in ["0", "host"] {
                assert_eq!(
                    rows(&both, name, device),
                    rows(&whole, name, device),
                    "{case} {name} of {device}"
                );
            }
            let second = rows(&both, name, "1");
            match name.as_str() {
                // Tables of records that the device makes by itself.
                "step_trace_0.csv" | "hbm_0.csv" | "npu_mem_0.csv" => {
                    assert_eq!(second, rows(&whole, name, "0"), "{case} {name}");
                }
                "task_time_0.csv" if !case.starts_with("310_") => {
                    assert!(second.len() >= rows(&whole, name, "0").len(), "{case} {name}");
                }
                // The host handed its tasks to device 0, so the other device has no operators.
                "op_summary_0.csv" | "op_statistic_0.csv" if !case.starts_with("310_") => {
                    assert_eq!(second, Vec::<String>::new(), "{case} {name}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_second_profile_in_the_directory_changes_nothing_of_the_first() {
    let cases = cases();
    for (number, (case, directory, whole)) in cases.iter().enumerate() {
        let (other_case, other, other_whole) = &cases[(number + 1) % cases.len()];
        let both = tempfile::tempdir().expect("a temporary directory");
        copy(directory.path(), &both.path().join("a/first"));
        copy(other.path(), &both.path().join("second"));
        let profiles = discover(both.path()).expect("profiles");
        assert_eq!(profiles.len(), 2, "{case}");
        for profile in profiles {
            let (about, expected) = match profile.path.starts_with(both.path().join("second")) {
                true => (other_case, other_whole),
                false => (case, whole),
            };
            assert_same(&results_of(profile), expected, about);
        }
    }
}
