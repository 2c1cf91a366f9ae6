//! Two ranks of a run: as texts, as databases, as timelines, and as a set.

use std::path::{Path, PathBuf};

use opscope_formats::reading::Stop;
use opscope_reach::{ImportOptions, Keep, import};
use opscope_reach_sample::{Fault, Layout, Options};

use super::corpus::{files, folders, name_of, save};
use crate::packing::{Packed, RANKS, RESULTS, SET, SET_PART};

/// Two ranks with two steps and a fault, written below a folder in both forms. Returns the folders of databases and of
/// texts.
pub(super) fn two_ranks(work: &Path) -> (PathBuf, PathBuf) {
    let collection = opscope_reach_sample::write(work, &two_options(), &|_| {}).expect("space on disk");
    (collection.path.join("db"), collection.path.join("text"))
}

fn two_options() -> Options {
    let layout = Layout::of(2).expect("a layout");
    let faults = vec![Fault::LateInput { rank: 1, microseconds: 2_000.0 }];
    Options { layers: 1, microbatches: 1, faults, texts: true, ..Options::new(layout) }
}

/// Two ranks as texts, and as a set.
pub(super) fn ranks(corpus: &Path, work: &Path) {
    let (databases, texts) = two_ranks(work);
    let mut packed = Packed::default();
    for (rank, folder) in folders(&texts).iter().enumerate() {
        for path in files(folder) {
            let place = path.strip_prefix(folder).expect("a file below it").to_string_lossy().into_owned();
            let name = format!("host0_{rank}_20251009080000000_ascend_pt/{place}");
            packed.add(RANKS, &name, &std::fs::read(&path).expect("a readable file"));
        }
    }
    save(corpus, "ranks", "two", &packed.to_input());
    save(corpus, "rank_timeline", "first", &rank_timelines()[0]);
    result_texts(corpus);

    let set = work.join("set");
    let options = ImportOptions { run: "run".into(), shard: None, keep: Keep::All, jobs: 1 };
    import(&[databases], &set, &options, &Stop::default(), &|_| {}).expect("space on disk");
    save(corpus, "rank_set", "two", &set_with_names_of_the_list(&set).to_input());
}

/// The files of a set of one part, without the tables over all ranks. Their names tell of its ranks and their data
/// (`FIRST-LAST-HASH`, the manifest's `FIRST-LAST`), where those of a list are always the same; so they are renamed, in the
/// manifest as well.
fn set_with_names_of_the_list(set: &Path) -> Packed {
    let name = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_of_part = |path: &PathBuf| !name(path).starts_with(|letter: char| letter.is_alphabetic());
    let is_table = |path: &&PathBuf| path.extension().is_some_and(|it| it == "parquet");
    let (of_part, others): (Vec<PathBuf>, Vec<PathBuf>) = files(set).into_iter().partition(is_of_part);
    let of_data = of_part.iter().find(is_table).map(name).expect("a table");
    let is_of_set = |path: &&PathBuf| path.parent() == Some(set);
    let mut packed = Packed::default();
    for path in of_part.iter().chain(others.iter().filter(is_of_set)) {
        let place = path.strip_prefix(set).expect("a file below it").to_string_lossy();
        let content = std::fs::read(path).expect("a readable file");
        match String::from_utf8(content) {
            Ok(text) if place.starts_with("_manifest") => {
                let place = place.replace(&name(path), SET_PART);
                packed.add(SET, &place, text.replace(&of_data, SET_PART).as_bytes());
            }
            Ok(text) => packed.add(SET, &place, text.as_bytes()),
            Err(parquet) => packed.add(SET, &place.replace(&of_data, SET_PART), parquet.as_bytes()),
        }
    }
    packed
}

/// The results of `msprof-analyze` for two ranks, as texts.
fn result_texts(corpus: &Path) {
    let contents = [
        r#"{"(0, 1)": {"step1": {"hcom_allReduce__917_0_1@917": {
            "0": {"Communication Time Info": {"Start Timestamp(us)": 1000.0, "Elapse Time(ms)": 2.5},
                "Communication Bandwidth Info": {"HCCS": {"Transit Size(MB)": 8.5, "Transit Time(ms)": 0.5}}},
            "1": {"Communication Time Info": {"Start Timestamp(us)": 3000.0, "Elapse Time(ms)": 0.5}}},
            "hcom_allGather__917_1_1@917": {
            "0": {"Communication Time Info": {"Start Timestamp(us)": 9000.0, "Elapse Time(ms)": 0.5}},
            "1": {"Communication Time Info": {"Start Timestamp(us)": 9100.0, "Elapse Time(ms)": 0.4}}},
            "Total Op Info@917": {"0": {}}}}}"#,
        r#"{"(0, 1)": {"step1": {"allreduce-total@917": {
            "0-1": {"Transport Type": "HCCS", "Transit Size(MB)": 8.5, "Transit Time(ms)": 0.5},
            "1-0": {"Transport Type": "HCCS", "Transit Size(MB)": 8.5, "Transit Time(ms)": 0.6}},
            "send-total@917": {}}}}"#,
        "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Preparing\n\
            1,rank,0,5000,2900,100,3000,200,50\n1,rank,1,7000,800,100,900,300,50\n\
            1,stage,\"(0, 1)\",7000,2900,100,3000,300,50\n",
        r#"{"comm_group_parallel_info": [
            {"type": "collective", "rank_set": [0, 1], "group_name": "917", "group_id": "a", "pg_name": "dp"}]}"#,
    ];
    let mut packed = Packed::default();
    for (name, content) in RESULTS.iter().zip(contents) {
        packed.add(RESULTS, name, content.as_bytes());
    }
    save(corpus, "rank_result_texts", "two", &packed.to_input());
}

/// The timelines of two ranks.
///
/// # Panics
/// If they can't be made.
pub fn rank_timelines() -> Vec<Vec<u8>> {
    let work = tempfile::tempdir().expect("a temporary directory");
    let options = two_options();
    let options = Options { texts: false, databases: false, timelines: true, ..options };
    let collection = opscope_reach_sample::write(work.path(), &options, &|_| {}).expect("space on disk");
    let read = |path: &PathBuf| std::fs::read(path).expect("a readable file");
    files(&collection.path.join("kineto")).iter().map(read).collect()
}

/// The databases of two ranks.
///
/// # Panics
/// If they can't be made.
pub fn rank_databases() -> Vec<Vec<u8>> {
    let work = tempfile::tempdir().expect("a temporary directory");
    let (databases, _) = two_ranks(work.path());
    let of_ranks = folders(&databases).into_iter().flat_map(|folder| files(&folder));
    let is_profile = |path: &PathBuf| name_of(path).starts_with("ascend_pytorch_profiler");
    of_ranks.filter(is_profile).map(|path| std::fs::read(path).expect("a database")).collect()
}
