//! The exported tables, cell by cell against those of the reference.
//!
//! Each deliberate difference stands in [`DIFFERENCES`] with the case, file and column that it
//! concerns and a check of the right value; nothing else may differ.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::reused;
use opscope_cann::join::Joined;
use opscope_cann::{ExportOptions, IterationRange, export_summary};
use opscope_cann_raw::Chip;
use opscope_cann_raw::samples::{Frequencies, Frequency};
use opscope_trace::LossKind;

/// A table: its headings and rows.
type Table = (Vec<String>, Vec<Vec<String>>);

/// A cell that differs from the reference, with everything around it.
struct Cell<'a> {
    ours: &'a str,
    reference: &'a str,
    row: usize,
    column: &'a str,
    table: &'a Table,
    /// The same table by the reference without its accelerated library.
    plain: &'a Table,
}

impl Cell<'_> {
    fn number(text: &str) -> f64 {
        text.trim().parse().unwrap_or(f64::NAN)
    }

    /// The cell in the table by the reference without its accelerated library.
    fn plain(&self) -> &str {
        let index = self.plain.0.iter().position(|name| name == self.column).expect("a known column");
        &self.plain.1[self.row][index]
    }

    fn at(&self, row: usize, column: &str) -> &str {
        let index = self.table.0.iter().position(|name| name == column).expect("a known column");
        &self.table.1[row][index]
    }

    /// Thousandths of the number in a cell, without rounding error.
    fn thousandths(&self, row: usize, column: &str) -> i64 {
        self.at(row, column).trim().replace('.', "").parse().expect("a number with three decimals")
    }
}

/// A deliberate difference: the cases by prefix, the file, the columns, and what the right value is.
struct Difference {
    case: &'static str,
    file: &'static str,
    columns: &'static [&'static str],
    is_right: fn(&Cell<'_>) -> bool,
}

const DIFFERENCES: &[Difference] = &[
    // The reference subtracts wall-clock microseconds in double precision, whose steps are 0.25.
    Difference {
        case: "910b_",
        file: "op_summary",
        columns: &["Task Wait Time(us)"],
        is_right: |cell| {
            let end = cell.thousandths(cell.row - 1, "Task Start Time(us)")
                + cell.thousandths(cell.row - 1, "Task Duration(us)");
            let wait = (cell.thousandths(cell.row, "Task Start Time(us)") - end).max(0);
            cell.ours == format!("{}.{:03}000", wait / 1_000, wait % 1_000)
                && (Cell::number(cell.ours) - Cell::number(cell.reference)).abs() <= 0.5
        },
    },
    // The accelerated library wants the counters of an operator on both kinds of cores to end within
    // its sub-task, while they are those of the whole task; without the library they are there. Times
    // are rounded to two decimals there and go on from the rounded value.
    Difference {
        case: "910b_static",
        file: "op_summary",
        columns: &[
            "aicore_time(us)",
            "aic_total_cycles",
            "aic_mac_time(us)",
            "aic_mac_ratio",
            "aic_scalar_time(us)",
            "aic_scalar_ratio",
            "aic_mte1_time(us)",
            "aic_mte1_ratio",
            "aic_mte2_time(us)",
            "aic_mte2_ratio",
            "aic_mte3_time(us)",
            "aic_mte3_ratio",
            "aic_icache_miss_rate",
            "aiv_time(us)",
            "aiv_total_cycles",
            "aiv_vec_time(us)",
            "aiv_vec_ratio",
            "aiv_scalar_time(us)",
            "aiv_scalar_ratio",
            "aiv_mte2_time(us)",
            "aiv_mte2_ratio",
            "aiv_mte3_time(us)",
            "aiv_mte3_ratio",
            "aiv_icache_miss_rate",
            "cube_utilization(%)",
        ],
        is_right: |cell| {
            let is_mixed = cell.at(cell.row, "Task Type") == "MIX_AIC" && cell.reference == "N/A";
            let tolerance = if cell.column.contains("time") { 0.0051 } else { 1e-9 };
            is_mixed && (Cell::number(cell.ours) - Cell::number(cell.plain())).abs() <= tolerance
        },
    },
    // The first task of a chosen iteration began to wait just before it, which the reference drops.
    Difference {
        case: "310_static",
        file: "task_time",
        columns: &["Waiting(us)"],
        is_right: |cell| {
            cell.ours == "2.031" && cell.reference == "0.0" && cell.at(cell.row, "Task ID") == "1"
        },
    },
    // The reference holds these times as nanoseconds in double precision, whose steps are 256.
    Difference {
        case: "",
        file: "npu_mem",
        columns: &["timestamp(us)"],
        is_right: |cell| {
            let ours: i64 = cell.ours.trim().replace('.', "").parse().expect("a number");
            let reference: i64 = cell.reference.trim().replace('.', "").parse().expect("a number");
            ours % 1_000 == 0 && reference == ours as f64 as i64
        },
    },
];

fn parse(path: &Path) -> Table {
    let text = std::fs::read_to_string(path).expect("a readable table");
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let row = rows.last_mut().expect("a row");
        let cell = row.last_mut().expect("a cell");
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => cell.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            _ => cell.push(c),
        }
    }
    rows.retain(|row| row.len() > 1 || row.iter().any(|cell| !cell.is_empty()));
    let headers = rows.remove(0);
    (headers, rows)
}

/// The tables of a directory by their kind.
fn tables(directory: &Path) -> BTreeMap<String, PathBuf> {
    let files = std::fs::read_dir(directory).expect("a listing").filter_map(|entry| Some(entry.ok()?.path()));
    let kind = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".csv")?.to_owned();
        Some((name.rsplit_once('_')?.0.to_owned(), path))
    };
    files.filter_map(kind).collect()
}

fn compare(
    case: &str,
    file: &str,
    ours: &Table,
    reference: &Table,
    plain: &Table,
    problems: &mut Vec<String>,
) {
    if ours.0 != reference.0 {
        problems.push(format!("{case} {file}: headings\n  {:?}\n  {:?}", ours.0, reference.0));
        return;
    }
    if ours.1.len() != reference.1.len() {
        problems.push(format!("{case} {file}: {} rows instead of {}", ours.1.len(), reference.1.len()));
    }
    for (row, (our_row, reference_row)) in ours.1.iter().zip(&reference.1).enumerate() {
        for (index, column) in ours.0.iter().enumerate() {
            let (our_cell, reference_cell) = (&our_row[index], &reference_row[index]);
            if our_cell == reference_cell {
                continue;
            }
            let cell = Cell { ours: our_cell, reference: reference_cell, row, column, table: ours, plain };
            let is_known = DIFFERENCES.iter().any(|known| {
                case.starts_with(known.case)
                    && known.file == file
                    && known.columns.contains(&cell.column)
                    && (known.is_right)(&cell)
            });
            if !is_known {
                problems.push(format!(
                    "{case} {file} row {row} {column}: {our_cell:?} instead of {reference_cell:?}"
                ));
            }
        }
    }
}

/// Exports the tables of a case and compares them with those in `oracle`.
fn check(
    case: &str,
    golden: &Path,
    oracle: &Path,
    plain: &Path,
    options: ExportOptions,
    problems: &mut Vec<String>,
) {
    let joined = Joined::new(common::load(golden, case));
    let directory = tempfile::tempdir().expect("a temporary directory");
    export_summary(&joined, directory.path(), "0", options).expect("space on disk");
    let (reference, plain_tables, ours) = (tables(oracle), tables(plain), tables(directory.path()));
    for (file, path) in &reference {
        let Some(our_path) = ours.get(file) else {
            problems.push(format!("{case} {file}: missing"));
            continue;
        };
        let mut table = parse(our_path);
        // Without its accelerated library the reference leaves out what is put together from events.
        if oracle == plain && file == "api_statistic" {
            table.1.retain(|row| row[1] != "model");
        }
        compare(case, file, &table, &parse(path), &parse(&plain_tables[file]), problems);
    }
    for file in ours.keys().filter(|file| !reference.contains_key(*file)) {
        problems.push(format!("{case} {file}: the reference has no such table"));
    }
}

fn assert_none(problems: &[String]) {
    let shown: Vec<&String> = problems.iter().take(60).collect();
    assert!(problems.is_empty(), "{} differences, the first:\n{shown:#?}", problems.len());
}

#[test]
fn summary_tables_equal_those_of_the_reference() {
    let Some(golden) = common::golden() else { return };
    let mut problems = Vec::new();
    for case in common::cases(&golden) {
        let tables_of = |oracle: &str| golden.join(&case).join(oracle).join("mindstudio_profiler_output");
        let (accelerated, plain) = (tables_of("oracle_cpp"), tables_of("oracle_py"));
        let oracle = if accelerated.is_dir() { &accelerated } else { &plain };
        check(&case, &golden, oracle, &plain, ExportOptions::default(), &mut problems);
    }
    assert_none(&problems);
}

#[test]
fn a_chosen_iteration_shows_only_what_belongs_to_it() {
    let Some(golden) = common::golden() else { return };
    let (case, mut problems) = ("310_static", Vec::new());
    let iterations = Some(IterationRange { model: 1, first: 2, count: 1 });
    let options = ExportOptions { iterations, ..ExportOptions::default() };
    let oracle = |name: &str| golden.join(case).join(name);
    let (accelerated, plain) = (oracle("oracle_cpp_model1_iter2"), oracle("oracle_py_model1_iter2"));
    check(case, &golden, &accelerated, &plain, options, &mut problems);
    assert_none(&problems);
}

/// Chosen iterations are exported without the accelerated library. All iterations of a model are the
/// whole run, so the columns that both have are those of the whole run by the plain reference.
#[test]
fn chosen_iterations_of_a_910b_have_the_digits_of_the_plain_reference() {
    let Some(golden) = common::golden() else { return };
    let cases = common::cases(&golden);
    for case in cases.iter().filter(|case| case.starts_with("910b_") && !case.contains("dynamic")) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let joined = Joined::new(common::load(&golden, case));
        let iterations = Some(IterationRange { model: 1, first: 1, count: u64::MAX });
        let options = ExportOptions { iterations, ..ExportOptions::default() };
        export_summary(&joined, directory.path(), "0", options).expect("space on disk");
        let ours = tables(directory.path());
        let plain = tables(&golden.join(case).join("oracle_py/mindstudio_profiler_output"));
        for kind in ["op_summary", "task_time", "step_trace"] {
            let (ours, plain) = (parse(&ours[kind]), parse(&plain[kind]));
            assert_eq!(ours.1.len(), plain.1.len(), "{case} {kind}");
            let place = |name: &String| ours.0.iter().position(|known| known == name);
            for (column, name) in plain.0.iter().enumerate() {
                let place = place(name).unwrap_or_else(|| panic!("{case} {kind}: no column {name}"));
                let cells = |rows: &[Vec<String>], place: usize| -> Vec<String> {
                    rows.iter().map(|row| row[place].clone()).collect()
                };
                assert_eq!(cells(&ours.1, place), cells(&plain.1, column), "{case} {kind} {name}");
            }
        }
    }
}

/// The cycles in `op_summary` of operators whose task numbers are used again, by the operator's number;
/// `None` for those without counters.
fn cycles_of_reused(joined: &Joined) -> BTreeMap<u64, Option<u64>> {
    let column = if joined.data.chip().splits_cores() { "aic_total_cycles" } else { "total_cycles" };
    let cells = common::cells(joined, "op_summary", &["Op Name", column]);
    let found = cells.into_iter().map(|row| {
        let operator = row[0].strip_prefix("op_").and_then(|number| number.parse().ok());
        (operator.expect("an operator's number"), row[1].parse().ok().filter(|cycles| *cycles != 0))
    });
    found.collect()
}

#[test]
fn every_operator_has_its_own_counters_though_task_numbers_are_used_again() {
    for chip in Chip::ALL {
        if chip.names_tasks_by_model() || chip.has_wide_task_ids() {
            continue;
        }
        let joined = reused::write(chip, |_| true).joined();
        assert_eq!(joined.all_losses().total(LossKind::UnmatchedCounters), 0, "{chip:?}");
        let expected: BTreeMap<u64, Option<u64>> = (0..reused::OPERATORS)
            .map(|operator| (operator, (!reused::is_on_cpu(operator)).then(|| reused::cycles(operator))))
            .collect();
        assert_eq!(cycles_of_reused(&joined), expected, "{chip:?}");
    }
}

#[test]
fn counters_of_operators_around_lost_ones_are_their_own_or_counted_as_lost() {
    let is_lost = |operator: u64| operator % 41 == 5;
    for chip in [Chip::V1_1_0, Chip::V2_1_0, Chip::V3_1_0, Chip::V3_2_0, Chip::V3_3_0] {
        let joined = reused::write(chip, |operator| !is_lost(operator)).joined();
        let found = cycles_of_reused(&joined);
        assert_eq!(found.len() as u64, reused::OPERATORS, "{chip:?}");
        let left = |operator: &u64| !reused::is_on_cpu(*operator) && !is_lost(*operator);
        for (operator, cycles) in &found {
            let own = left(operator).then(|| reused::cycles(*operator));
            assert!(cycles.is_none() || *cycles == own, "{chip:?}: operator {operator} has {cycles:?}");
        }
        let recorded = (0..reused::OPERATORS).filter(left).count() as u64;
        let placed = found.values().flatten().count() as u64;
        let lost = joined.all_losses().total(LossKind::UnmatchedCounters);
        assert_eq!(placed + lost, recorded, "{chip:?}");
        assert!(lost * 10 < recorded, "{chip:?}: {lost} of {recorded} have no place");
    }
}

#[test]
fn times_of_counters_follow_the_frequency_on_the_chips_where_the_reference_does() {
    // Half the frequency of the description, from the operator in the middle on.
    let (megahertz, middle) = (1_250, reused::OPERATORS / 2);
    for (chip, slower) in [(Chip::V1_1_1, 2.0), (Chip::V1_1_2, 1.0)] {
        let mut profile = reused::write(chip, |_| true);
        let mut record = Frequencies { count: 1, ..Frequencies::default() };
        let time = profile.device_ticks(reused::begin(middle));
        record.changes[0] = Frequency { time, value: megahertz / 2 };
        [0, 1].into_iter().for_each(|device| profile.add_to(device, "lpmFreqConv.data", &record));
        let rows = profile.cells("op_summary", &["Op Name", "aicore_time(us)"]);
        for operator in (0..reused::OPERATORS).filter(|&operator| !reused::is_on_cpu(operator)) {
            let factor = if operator < middle { 1.0 } else { slower };
            let micros = reused::cycles(operator) as f64 / f64::from(megahertz) * factor;
            let name = reused::name(operator);
            let row = rows.iter().find(|row| row[0] == name).expect("the operator's row");
            let shown: f64 = row[1].parse().expect("a time");
            assert!((shown - micros).abs() < 0.0051, "{chip:?} {name}: {shown} instead of {micros}");
        }
    }
}
