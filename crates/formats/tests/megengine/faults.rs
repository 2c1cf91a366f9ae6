//! Valid profiles on which the reference stops with an exception: here they have an answer.

use std::io::Write;

use crate::small::{Op, profile};
use crate::support::{Run, TestFile, run};

/// Runs the command on a profile of these operators.
fn answer(ops: &[Op], options: &[&str]) -> Run {
    let file = TestFile::new(profile(ops).as_bytes());
    let run = run(file.path(), options);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{options:?}");
    run
}

/// The names of the rows, as `--dump-only-opr` lists them.
fn names(ops: &[Op], options: &[&str]) -> Vec<String> {
    let options = [options, &["-t", "0", "--dump-only-opr", "--print-only", "device"]].concat();
    let run = answer(ops, &options);
    run.stdout.lines().map(|line| line.split(' ').next().unwrap_or("").to_owned()).collect()
}

/// The rows of a table with pipes.
fn rows(run: &Run) -> Vec<Vec<String>> {
    let lines = run.stdout.lines().filter(|line| line.starts_with("| ")).skip(1);
    lines.map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

fn timed<'a>(name: &'a str, end: &'a str, footprint: Option<[&'a str; 2]>) -> Op<'a> {
    Op { name, device: Some(["0.0", "0.0", end]), footprint, ..Op::default() }
}

/// Four operators of which two have no computation.
fn partly_known() -> [Op<'static>; 4] {
    [
        timed("unknown", "0.004", Some(["10", "null"])),
        timed("small", "0.001", Some(["30", "5000"])),
        timed("missing", "0.003", None),
        timed("large", "0.002", Some(["20", "90000"])),
    ]
}

#[test]
fn operators_without_a_value_come_last_in_either_direction() {
    for column in ["computation", "flops"] {
        assert_eq!(names(&partly_known(), &["--order-by", column]), ["large", "small", "unknown", "missing"]);
        let ascending = format!("+{column}");
        assert_eq!(
            names(&partly_known(), &["--order-by", &ascending]),
            ["small", "large", "unknown", "missing"]
        );
    }
    let by_memory = names(&partly_known(), &["--order-by", "+memory"]);
    assert_eq!(by_memory, ["unknown", "large", "small", "missing"]);
    // By shapes too, which the reference can only order upwards.
    assert_eq!(names(&partly_known(), &["--order-by", "in_shapes"]).last().unwrap(), "missing");
}

#[test]
fn the_largest_and_smallest_of_a_group_leave_out_what_has_no_value() {
    for (how, computation, memory) in [("max", "90.00", "30.00"), ("min", "5.00", "10.00")] {
        let run = answer(&partly_known(), &["--aggregate-by", "type", "--aggregate", how]);
        assert!(run.stdout.contains(&format!("│ {computation} ")), "{}", run.stdout);
        assert!(run.stdout.contains(&format!("│ {memory} ")), "{}", run.stdout);
    }
    let unknown = [timed("a", "0.1", None), timed("b", "0.2", None)];
    assert!(answer(&unknown, &["--aggregate", "max"]).stdout.contains("│ N/A "));
}

#[test]
fn copies_are_summed_up_whatever_is_selected_and_missing_ones_said() {
    let none = answer(&[Op::default()], &["--copy-time", "--print-only", "summary"]);
    assert!(none.stdout.contains("copy time          N/A\ncopy wait time     N/A\n"), "{}", none.stdout);
    let copies = [
        Op { op_type: "Copy", device: Some(["1.0", "1.5", "3.0"]), ..Op::default() },
        Op { op_type: "Copy", device: Some(["4.0", "4.5", "8.0"]), ..Op::default() },
        Op::default(),
    ];
    let run = answer(&copies, &["--copy-time", "--type", "Elemwise"]);
    assert!(run.stdout.contains("copy time          tot=6.0000 avg=3.0000"), "{}", run.stdout);
    assert!(run.stdout.contains("copy wait time     tot=1.0000 avg=0.5000"), "{}", run.stdout);
}

#[test]
fn an_input_without_a_memory_plan_has_no_element_type() {
    let ops = [
        Op { name: "half", input: Some("Float16"), ..Op::default() },
        Op { name: "unplanned", input: None, ..Op::default() },
        Op { name: "single", input: Some("Float32"), ..Op::default() },
    ];
    assert_eq!(names(&ops, &["--input-dtype", "Float32"]), ["single"]);
    assert_eq!(names(&ops, &["--input-dtype", "Float16"]), ["half"]);
    assert_eq!(names(&ops, &["--input-dtype", "float32"]), [""]);
}

#[test]
fn groups_are_listed_by_name_count_and_no_id() {
    let options =
        ["--aggregate-by", "type", "--aggregate", "sum", "--dump-only-opr", "--print-only", "device"];
    let ops = [Op::default(), Op { op_type: "Concat", ..Op::default() }, Op::default()];
    assert_eq!(answer(&ops, &options).stdout, "Elemwise 2 N/A\nConcat 1 N/A\n");
}

#[test]
fn pipes_show_what_takes_no_time_has_no_flops_or_is_not_there() {
    let zero = [
        timed("instant", "0.0", Some(["100", "50"])),
        timed("nothing", "0.0", Some(["0", "null"])),
        timed("timed", "0.5", Some(["1048576", "2000000"])),
    ];
    let table = rows(&answer(&zero, &["-t", "0", "--confluence", "--print-only", "device"]));
    let column = |at: usize| table.iter().map(|row| row[at].as_str()).collect::<Vec<_>>();
    assert_eq!(column(7), ["timed", "instant", "nothing"]);
    assert_eq!(column(11), ["4.0", "inf", "N/A"]);
    // Operators that take no time are as fast as the fastest that takes some.
    assert_eq!(column(12), ["###############", "###############", ""]);
    assert_eq!(column(14), ["2", "inf", "nan"]);
    assert_eq!(column(15), ["###############", "###############", ""]);
    let empty = answer(&zero, &["--confluence", "--type", "Nothing"]);
    assert!(empty.stdout.lines().last().unwrap().starts_with("|-----|"), "{}", empty.stdout);
    let unknown = rows(&answer(&[timed("a", "0.1", None)], &["--wiki", "--print-only", "device"]));
    assert_eq!(unknown[0][10..=16], ["N/A", "N/A", "", "N/A", "N/A", "", "N/A"]);
}

#[test]
fn what_is_no_number_comes_behind_all_numbers() {
    let ops = [
        timed("nan", "0.0", Some(["0", "1"])),
        timed("fast", "0.001", Some(["4000", "1"])),
        timed("endless", "0.0", Some(["10", "1"])),
    ];
    assert_eq!(names(&ops, &["--order-by", "bandwidth"]), ["endless", "fast", "nan"]);
    assert_eq!(names(&ops, &["--order-by", "+bandwidth"]), ["fast", "endless", "nan"]);
}

#[test]
fn huge_values_go_on_with_larger_units() {
    let ops = [timed("huge", "0.000001", Some(["3e18", "5e20"]))];
    let run = answer(&ops, &["--print-only", "device"]);
    for expected in ["│ 500.00 ", "│ EFLO ", "│ YFLOPS ", "│ 2.60 ", "│ EiB ", "│ YiB/s "] {
        assert!(run.stdout.contains(expected), "{expected} is missing in\n{}", run.stdout);
    }
}

#[test]
fn whole_seconds_and_infinite_ones_are_numbers_too() {
    let ops = [
        timed("whole", "3", None),
        timed("infinite", "\"inf\"", None),
        timed("no number", "\"nan\"", None),
        timed("beyond", "123456789012345678901234567890", None),
    ];
    let run = answer(&ops, &["-t", "0", "--print-only", "device"]);
    assert!(run.stdout.contains("│ 3.0 ") && run.stdout.contains("│ 1.23e+29 "), "{}", run.stdout);
    assert_eq!(names(&ops[..2], &[]), ["infinite", "whole"]);
    assert_eq!(names(&ops, &["--min-time", "1e20"]), ["infinite", "beyond"]);
}

#[test]
fn a_device_that_took_no_time_at_all_has_a_table() {
    let run = answer(&[timed("instant", "0.0", Some(["8", "9"]))], &[]);
    assert!(run.stdout.starts_with("-----------------  -----\ntotal device time  0\n"), "{}", run.stdout);
    assert!(run.stdout.contains("│ nan% "), "{}", run.stdout);
}

#[test]
fn groups_have_no_id_to_be_ordered_by_and_keep_their_order() {
    let ops = [Op { op_type: "B", ..Op::default() }, Op { op_type: "A", ..Op::default() }];
    let options = ["--aggregate-by", "type", "--aggregate", "sum", "--order-by", "opr_id"];
    assert_eq!(names(&ops, &options), ["B", "A"]);
}

#[test]
fn wrong_use_is_said_in_one_line_with_status_2() {
    let file = TestFile::new(profile(&[Op::default()]).as_bytes());
    for options in [
        &["--order-by", "nosuch"][..],
        &["--order-by", ""],
        &["--order-by", "info"],
        &["--aggregate-by", "type"],
        &["--opr-name", "("],
        &["--opr-name", "(?<=x)y"],
        &["--top", "many"],
        &["--nosuch"],
    ] {
        let run = run(file.path(), options);
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.lines().count()), (2, "", 1), "{options:?}");
        let subject = options[0].trim_start_matches('-');
        assert!(run.stderr.contains(subject), "{options:?}: {}", run.stderr);
    }
}

#[test]
fn a_file_that_is_no_profile_is_named_with_the_place_and_what_is_missing() {
    let whole = profile(&[Op::default(), Op::default()]);
    let cut = &whole.as_bytes()[..whole.len() / 2];
    let deep = format!("{{\"profiler\": {}", "[".repeat(100_000));
    let cases: [(&[u8], &str); 9] = [
        (b"", "byte 0: expected the object of a profile, found the end of the file"),
        (b"[1]", "byte 0: expected the object of a profile, found '['"),
        (b"{\"graph_exec\": {\"operator\": {}}}", "it has no \"profiler\""),
        (b"{\"profiler\": {}}", "it has no \"graph_exec\""),
        (b"{\"profiler\": {}, \"graph_exec\": {}}", "it has no \"operator\""),
        (
            b"{\"profiler\": {}, \"graph_exec\": {\"operator\": []}}",
            "byte 44: expected an object of operators",
        ),
        (b"{\"profiler\": {}, \"x\": tru}", "byte 22: expected a value, found 't'"),
        (cut, "expected"),
        (deep.as_bytes(), "expected the object of the profiler"),
    ];
    for (content, expected) in cases {
        let file = TestFile::new(content);
        let run = run(file.path(), &[]);
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.lines().count()), (1, "", 1));
        assert!(run.stderr.contains(expected), "{expected} is not in {}", run.stderr);
        assert!(run.stderr.contains(&file.path().display().to_string()), "{}", run.stderr);
    }
    for path in ["nowhere.json", "."] {
        let run = run(path, &[]);
        assert_eq!((run.status, run.stderr.lines().count()), (1, 1), "{}", run.stderr);
    }
}

#[test]
fn damaged_records_are_left_out_and_said() {
    let damaged = profile(&[
        Op { name: "whole", ..Op::default() },
        Op { name: "damaged", device: Some(["0.0", "null", "1.0"]), ..Op::default() },
    ]);
    let file = TestFile::new(damaged.as_bytes());
    let run = run(file.path(), &["--dump-only-opr", "--print-only", "device"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, "whole Elemwise 0\n"));
    assert!(run.stderr.contains("left out 1 times that lack a number"), "{}", run.stderr);
}

#[test]
fn the_graph_may_lie_within_the_profiler() {
    let ops = [Op { name: "inside", ..Op::default() }];
    let beside = profile(&ops);
    let (profiler, graph) = beside.split_once("}, \"graph_exec\"").unwrap();
    let within = format!("{profiler}, \"graph_exec\"{graph}}}");
    let file = TestFile::new(within.as_bytes());
    let run = run(file.path(), &["--dump-only-opr", "--print-only", "device"]);
    assert_eq!(run.stdout, "inside Elemwise 0\n", "{}", run.stderr);
}

#[test]
fn a_compressed_profile_is_unpacked() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(profile(&[Op { name: "packed", ..Op::default() }]).as_bytes()).unwrap();
    let file = TestFile::new(&packed.finish().unwrap());
    let run = run(file.path(), &["--dump-only-opr", "--print-only", "device"]);
    assert_eq!(run.stdout, "packed Elemwise 0\n", "{}", run.stderr);
}

#[test]
fn of_equal_names_the_last_counts_at_the_place_of_the_first() {
    let text = profile(&[Op { name: "first", ..Op::default() }, Op { name: "second", ..Op::default() }]);
    let again = "\"0\": { \"type\": \"T\", \"name\": \"again\", \"input\": [], \"output\": []}}}}";
    let text = format!("{}, {again}", text.strip_suffix("}}}").unwrap());
    let file = TestFile::new(text.as_bytes());
    let run = run(file.path(), &["--dump-only-opr", "--print-only", "device"]);
    assert_eq!(run.stdout, "again T 0\nsecond Elemwise 2\n", "{}", run.stderr);
}

#[test]
fn names_of_any_bytes_are_printed() {
    let text = profile(&[Op { name: "caf?\\/\\u00e9\\ud83d\\ude00\u{7}", ..Op::default() }]);
    let mut bytes = text.into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'?').unwrap();
    bytes[at] = 0xe9;
    let file = TestFile::new(&bytes);
    let run = run(file.path(), &["--dump-only-opr", "--print-only", "device"]);
    assert_eq!(run.stdout, "caf\u{fffd}/é😀\u{7} Elemwise 0\n", "{}", run.stderr);
}

#[test]
fn help_shows_examples() {
    let run = run("--help", &[]);
    assert_eq!(run.status, 0);
    assert!(run.stdout.contains("Examples:") && run.stdout.contains("opscope profile_analyze p.json"));
}
