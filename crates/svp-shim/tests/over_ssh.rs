//! The library on a board: brought there over SSH, put before the program's runtime, and its records
//! brought back.
#![cfg(target_os = "linux")]

mod build;

use std::fs;

use opscope_board::{ProgramEnd, Request, Settings};
use opscope_svp::{Exports, Job};
use opscope_testing::board;

/// A program of the boards' runtime in the place of the usual script.
fn board_with_runtime() -> Option<board::Board> {
    let found = board::board()?;
    for name in ["main", "libsvp_acl.so"] {
        fs::copy(build::built().join(name), found.path("my-app/out").join(name)).unwrap();
    }
    Some(found)
}

#[test]
fn the_library_is_brought_to_the_board_and_its_records_are_brought_back() {
    let Some(board) = board_with_runtime() else { return };
    let request = Request {
        collector: Some(build::library()),
        settings: Settings { switch: false, ..Settings::default() },
        arguments: vec!["two".to_owned()],
        ..board.request()
    };
    let (collected, log) = board::run(&request);
    assert_eq!(collected.end, ProgramEnd::Status(0), "{}", log.stderr);
    assert_eq!((&*log.stdout, &*log.stderr), ("the program ends with 0\n", ""));
    let [job] = &collected.profiles[..] else { panic!("{collected:?}") };
    assert!(job.starts_with(board.path("results")));
    let exports = Exports::open_own_records(job).unwrap().expect("records");
    assert_eq!(exports.losses.rows(), []);
    assert_eq!(exports.layers.iter().map(|sheet| sheet.content.len()).collect::<Vec<_>>(), [12, 12]);
    let executions = exports.calls[0].content.iter().filter(|call| call.name == "svp_acl_mdl_execute");
    assert_eq!(executions.count(), 6);
    assert!(Job::open(job).unwrap().problems().is_empty());
    // The board's own profiler is kept off.
    let on_board = fs::read_to_string(board.path("on_board/src/acl.json")).unwrap();
    assert!(on_board.contains(r#""switch": "off""#), "{on_board}");
}

#[test]
fn what_it_recorded_until_the_program_died_is_brought_back() {
    let Some(board) = board_with_runtime() else { return };
    let request =
        Request { collector: Some(build::library()), arguments: vec!["dies".to_owned()], ..board.request() };
    let (collected, _) = board::run(&request);
    assert_eq!(collected.end, ProgramEnd::Killed(6));
    let exports = Exports::open_own_records(&collected.profiles[0]).unwrap().expect("records");
    assert_eq!(exports.layers[0].content.len(), 12);
    let problems = Job::open(&collected.profiles[0]).unwrap().problems();
    assert!(problems.iter().any(|text| text.contains("svp_acl_finalize()")), "{problems:?}");
}
