//! The vendor's own analysis package reads our database and finds in it what our tables say.
//!
//! The package's program is named by the environment variable `OPSCOPE_MSPROF_ANALYZE`; without it
//! the test says that it skipped. (Install it with `pip install msprof-analyze`.)

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use opscope_cann::join::Joined;
use opscope_cann::{
    Data, ExportOptions, SampleLayout, SampleMode, SampleOptions, discover, export_database, export_summary,
    write_sample,
};
use opscope_cann_raw::Chip;
use opscope_testing::companions;
use rusqlite::Connection;

/// The rows of one of our tables, each as its cells by heading.
fn rows(files: &[PathBuf], kind: &str) -> Vec<BTreeMap<String, String>> {
    let named =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(kind));
    let mut reader = csv::Reader::from_path(files.iter().find(named).expect("a table")).expect("a table");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

fn nanoseconds(cell: &str) -> i64 {
    let micros: f64 = cell.trim().parse().expect("a number");
    (micros * 1_000.0).round() as i64
}

/// Runs one analysis of all profiles below a directory; returns its results.
fn analyse(program: &Path, analysis: &str, profiles: &Path, output: &Path) -> Connection {
    std::fs::create_dir_all(output).expect("space on disk");
    let mut command = Command::new(program);
    command.args(["cluster", "-m", analysis, "-d"]).arg(profiles).arg("-o").arg(output);
    let answer = command.output().expect("the program that OPSCOPE_MSPROF_ANALYZE names");
    let results = output.join("cluster_analysis_output/cluster_analysis.db");
    assert!(
        answer.status.success() && results.is_file(),
        "{analysis}: {}{}",
        String::from_utf8_lossy(&answer.stdout),
        String::from_utf8_lossy(&answer.stderr)
    );
    Connection::open(results).expect("the results")
}

#[test]
fn the_vendors_analysis_finds_in_our_database_what_our_tables_say() {
    let Some(program) = companions::msprof_analyze() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let profiles = directory.path().join("profiles");
    let options = SampleOptions {
        chip: Chip::V4_1_0,
        tasks: 400,
        mode: SampleMode::Dynamic,
        layout: SampleLayout::Current,
        seed: 3,
    };
    let profile = write_sample(&profiles, options).expect("space on disk");
    let joined = Joined::new(
        Data::load(discover(&profile).expect("a profile").remove(0)).expect("a readable profile"),
    );
    let tables = directory.path().join("tables");
    let files = export_summary(&joined, &tables, "0", ExportOptions::default()).expect("space on disk");
    export_database(&joined, &profile, "20261121010101").expect("space on disk").expect("a database");

    let results = analyse(&program, "compute_op_sum", &profiles, &directory.path().join("operators"));
    let ours = rows(&files, "op_statistic");
    for row in &ours {
        let (count, sum, min, max): (i64, f64, f64, f64) = results
            .query_row(
                "SELECT Count, SumNs, MinNs, MaxNs FROM ComputeOpAllRankStats WHERE OpType = ? AND TaskType = ?",
                [&row["OP Type"], &row["Core Type"]],
                |found| Ok((found.get(0)?, found.get(1)?, found.get(2)?, found.get(3)?)),
            )
            .unwrap_or_else(|error| panic!("{row:?}: {error}"));
        assert_eq!(row["Count"].parse(), Ok(count), "{row:?}");
        let found = [sum, min, max].map(|value| value as i64);
        assert_eq!(
            ["Total Time(us)", "Min Time(us)", "Max Time(us)"].map(|c| nanoseconds(&row[c])),
            found,
            "{row:?}"
        );
    }
    let found: i64 = results
        .query_row("SELECT count(*) FROM ComputeOpAllRankStats", [], |row| row.get(0))
        .expect("a number");
    assert_eq!((found, ours.len() > 3), (ours.len() as i64, true));

    let results = analyse(&program, "cann_api_sum", &profiles, &directory.path().join("calls"));
    let mut calls: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for row in rows(&files, "api_statistic") {
        // The package puts calls of one name together, whatever their level.
        let sum = calls.entry(row["API Name"].clone()).or_default();
        sum.0 += nanoseconds(&row["Time(us)"]);
        sum.1 += row["Count"].parse::<i64>().expect("a number");
    }
    let mut statement =
        results.prepare("SELECT name, totalTimeNs, totalCount FROM CannApiSumRank").expect("a table");
    let found: BTreeMap<String, (i64, i64)> = statement
        .query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))
        .expect("rows")
        .map(|row| row.expect("a row"))
        .collect();
    assert_eq!(found, calls);
    assert!(calls.len() > 1, "{calls:?}");
}
