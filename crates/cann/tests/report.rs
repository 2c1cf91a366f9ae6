//! The performance report agrees with the tables that it explains.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use opscope_cann::join::Joined;
use opscope_cann::{
    Data, ExportOptions, PerformanceReport, SampleLayout, SampleMode, SampleOptions, discover,
    export_summary, performance_reports, write_sample,
};
use opscope_cann_raw::Chip;

/// The table of operators as its columns and rows.
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn read(joined: &Joined) -> Self {
        let output = tempfile::tempdir().expect("a temporary directory");
        let files =
            export_summary(joined, output.path(), "0", ExportOptions::default()).expect("space on disk");
        let path = files.iter().find(|path| path.ends_with("op_summary_0.csv")).expect("the table");
        let text = std::fs::read_to_string(path).expect("the table");
        let mut rows = text.lines().map(cells);
        Self { columns: rows.next().unwrap_or_default(), rows: rows.collect() }
    }

    fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column == name)
    }

    fn text<'a>(&self, row: &'a [String], name: &str) -> &'a str {
        let column = self.columns.iter().position(|column| column == name);
        column.and_then(|column| row.get(column)).map_or("", |cell| cell.trim())
    }

    fn number(&self, row: &[String], name: &str) -> Option<f64> {
        self.text(row, name).parse().ok()
    }

    /// The names of the operators for which a test holds in one of their rows.
    fn names(&self, holds: impl Fn(&[String]) -> bool) -> BTreeSet<String> {
        let rows = self.rows.iter().filter(|row| holds(row));
        rows.map(|row| self.text(row, "Op Name").to_owned()).collect()
    }
}

/// The cells of a row after RFC 4180.
fn cells(row: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    let mut letters = row.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => push(&mut cells, '"'),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => push(&mut cells, other),
        }
    }
    cells
}

fn push(cells: &mut [String], letter: char) {
    if let Some(last) = cells.last_mut() {
        last.push(letter);
    }
}

/// The operators that a rule names; none if it doesn't fire.
fn named(report: &PerformanceReport, rule: &str) -> BTreeSet<String> {
    let found = report.findings.iter().find(|finding| finding.rule == rule);
    found.map(|finding| finding.operators.iter().cloned().collect()).unwrap_or_default()
}

/// Compares every rule that a table's columns decide with the report.
fn compare(case: &str, joined: &Joined) {
    let reports = performance_reports(joined, ExportOptions::default());
    let [report] = reports.as_slice() else { panic!("{case}: {} reports", reports.len()) };
    let table = Table::read(joined);
    let cores = joined.data.devices.values().next().map_or(0, |device| device.metadata.info.cores);
    let above = |name: &'static str, limit: f64| {
        let table = &table;
        move |row: &[String]| table.number(row, name).is_some_and(|value| value > limit)
    };
    let split = table.has("aic_total_cycles");
    let (cube, vector) = if split { ("aic_mac_ratio", "aiv_vec_ratio") } else { ("mac_ratio", "vec_ratio") };
    let cycles = |core: &'static str| {
        above(
            match (split, core) {
                (false, _) => "total_cycles",
                (true, "cube") => "aic_total_cycles",
                _ => "aiv_total_cycles",
            },
            0.0,
        )
    };
    let below = |name: &'static str, core: &'static str| {
        let (counted, table) = (cycles(core), &table);
        table.names(move |row| counted(row) && table.number(row, name).is_some_and(|value| value < 0.8))
    };
    assert_eq!(named(report, "rule_cube_ratio_1"), below(cube, "cube"), "{case}");
    assert_eq!(named(report, "rule_vector_ratio_1"), below(vector, "vector"), "{case}");
    let on_cpu = |row: &[String]| table.text(row, "Task Type") == "AI_CPU";
    assert_eq!(named(report, "rule_aicpu_1"), table.names(on_cpu), "{case}");
    let is_conversion = |row: &[String]| table.text(row, "OP Type") == "TransData";
    let conversions = table.names(is_conversion);
    // A loaded model executes the same operator again; each launch outside of one is another operator.
    let launched = |row: &[String]| is_conversion(row) && table.text(row, "OP State") == "dynamic";
    let launches = table.rows.iter().filter(|row| launched(row)).count();
    let expected = if conversions.len().max(launches) > 2 { conversions } else { BTreeSet::new() };
    assert_eq!(named(report, "rule_transData_1"), expected, "{case}");
    let few =
        |row: &[String]| table.number(row, "Block Num").is_some_and(|n| n > 0.0 && n < f64::from(cores));
    let computes = table.names(above(cube, 0.0));
    let expected: BTreeSet<String> = table.names(few).intersection(&computes).cloned().collect();
    assert_eq!(named(report, "rule_block_dim_1"), expected, "{case}");
    let sum = |name: &str| table.rows.iter().filter_map(|row| table.number(row, name)).sum::<f64>();
    let (durations, waits) = (sum("Task Duration(us)"), sum("Task Wait Time(us)"));
    let long = above("Task Wait Time(us)", 10.0);
    let of_long = |name: &str, rows: &dyn Fn(&[String]) -> bool| {
        table.rows.iter().filter(|row| rows(row)).filter_map(|row| table.number(row, name)).sum::<f64>()
    };
    let share = of_long("Task Wait Time(us)", &long) / (durations + waits);
    let expected = if share > 0.03 { table.names(long) } else { BTreeSet::new() };
    assert_eq!(named(report, "rule_wait_time_1"), expected, "{case}: {share}");
    let bound = above("memory_bound", 1.0);
    let share = of_long("Task Duration(us)", &bound) / durations;
    let expected = if share > 0.5 { table.names(bound) } else { BTreeSet::new() };
    assert_eq!(named(report, "rule_memory_bound_1"), expected, "{case}: {share}");
}

#[test]
fn the_report_on_golden_profiles_follows_from_their_tables() {
    let Some(golden) = common::golden() else { return };
    let cases = common::cases(&golden);
    let mut fired = BTreeSet::new();
    for case in &cases {
        let joined = Joined::new(common::load(&golden, case));
        compare(case, &joined);
        let reports = performance_reports(&joined, ExportOptions::default());
        fired.extend(reports.iter().flat_map(|report| &report.findings).map(|finding| finding.rule));
    }
    assert!(fired.len() >= 6, "the golden profiles make several rules fire: {fired:?}");
}

fn sample(directory: &Path, chip: Chip) -> Joined {
    let (mode, layout) = (SampleMode::Static, SampleLayout::Current);
    let path = write_sample(directory, SampleOptions { chip, tasks: 210, mode, layout, seed: 3 });
    let path = path.expect("space on disk");
    Joined::new(Data::load(discover(&path).expect("a profile").remove(0)).expect("a readable profile"))
}

#[test]
fn the_report_on_generated_profiles_follows_from_their_tables() {
    for chip in [Chip::V1_1_0, Chip::V2_1_0, Chip::V3_3_0, Chip::V4_1_0] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        compare(&format!("{chip:?}"), &sample(directory.path(), chip));
    }
}

#[test]
fn the_file_and_the_text_say_the_same() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let joined = sample(directory.path(), Chip::V1_1_0);
    let report = performance_reports(&joined, ExportOptions::default()).remove(0);
    let path = report.save_as(&directory.path().join(report.file_name())).expect("space on disk");
    assert!(path.ends_with("prof_rule_0.json") && report.is_in(&path));
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("the file")).expect("JSON");
    assert_eq!(json["status"], 0);
    let data = json["data"].as_array().expect("findings");
    assert_eq!(data.len(), report.findings.len());
    let text = report.text();
    assert!(text.starts_with("Performance Summary Report:\n1. Computation:\n"), "{text}");
    for finding in data {
        let suggestion = finding["suggestion"].as_str().expect("a sentence");
        assert!(text.contains(suggestion), "{suggestion}");
    }
}

#[test]
fn a_profile_without_operators_has_no_report() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = SampleOptions {
        chip: Chip::V4_1_0,
        tasks: 0,
        mode: SampleMode::Static,
        layout: SampleLayout::Current,
        seed: 1,
    };
    let path = write_sample(directory.path(), options).expect("space on disk");
    let data = Data::load(discover(&path).expect("a profile").remove(0)).expect("a readable profile");
    assert!(performance_reports(&Joined::new(data), ExportOptions::default()).is_empty());
}
