//! Tables of both forms.

use opscope_trace::*;
use proptest::prelude::*;

use super::rows::{Break, Rows};
use super::{looks_like, read};
use crate::reading::Stop;

const RAW: &str = r#"==PROF== Connected to process 7
hello from the program, 1
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes.sum","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed"
"","","","","","","","","","","","Mbyte","usecond","%"
"0","7","app","127.0.0.1","gemm(float *)","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","1,234.5","2.50","80.1"
"1","7","app","127.0.0.1","relu(float *)","1","13","(128, 1, 1)","(64, 1, 1)","0","9.0","10","1,000.25","n/a"
"#;

const LONG: &str = r#""ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"
"0","7","app","127.0.0.1","gemm(float *)","1","7","Speed","Duration","us","3.5"
"0","7","app","127.0.0.1","gemm(float *)","1","7","Speed","SM Busy","%","70"
"1","7","app","127.0.0.1","gemm(float *)","1","7","Speed","Duration","us","4.5"
"#;

fn durations(trace: &Trace) -> Vec<i64> {
    trace.tasks.duration().iter().map(|duration| duration.0).collect()
}

#[test]
fn a_raw_page_has_a_task_with_its_quantities_for_each_kernel() {
    assert!(looks_like(RAW.as_bytes()));
    let trace = read(RAW.as_bytes(), &Stop::default()).unwrap();
    assert_eq!(durations(&trace), [2_500, 1_000_250]);
    assert_eq!(trace.tasks.start()[1], Nanoseconds(2_500));
    assert_eq!(trace.run.layer_times, TimeBasis::Unplaced);
    assert_eq!((trace.operators.len(), trace.streams.number()), (2, &[7, 13][..]));
    let readings =
        |index| trace.readings_of(ReadingId::from_index(index)).map(|(_, value)| value).collect::<Vec<_>>();
    assert_eq!((readings(0), readings(1)), (vec![1234.5, 2.5, 80.1], vec![10.0, 1000.25]));
    let metric = trace.metrics.get(MetricId::from_index(0));
    assert_eq!(
        (trace.strings.get(metric.name), trace.strings.get(metric.unit)),
        ("dram__bytes.sum", "Mbyte")
    );
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::MeasureNoNumber, 1)]);
}

#[test]
fn a_page_that_ends_within_a_row_is_told() {
    let kinds = |text: &str| read(text.as_bytes(), &Stop::default()).unwrap().losses.kind().to_vec();
    assert!(kinds(LONG).is_empty());
    // The time of the last kernel is a part of what it was.
    let cut = &LONG[..LONG.len() - 3];
    let trace = read(cut.as_bytes(), &Stop::default()).unwrap();
    assert_eq!((durations(&trace), trace.losses.kind()), (vec![3_500, 4_000], &[LossKind::OpenLastLine][..]));
    let heading = LONG.find("\n").unwrap();
    assert_eq!(kinds(&LONG[..heading]), [LossKind::OpenLastLine]);
    assert!(kinds(&LONG[..LONG.len() - 30]).contains(&LossKind::OpenLastLine));
    assert_eq!(kinds(&format!("{LONG}the program is done")), [LossKind::UnreadableRecord]);
}

#[test]
fn quantities_that_follow_one_another_are_of_one_kernel() {
    let trace = read(LONG.as_bytes(), &Stop::default()).unwrap();
    assert_eq!((durations(&trace), trace.readings.len()), (vec![3_500, 4_500], 2));
    let without = LONG.replace("Duration", "Cycles");
    let trace = read(without.as_bytes(), &Stop::default()).unwrap();
    assert_eq!(durations(&trace), [0, 0]);
    assert!(trace.run.note.is_some_and(|note| note.contains("were not measured")));
}

#[test]
fn a_duration_in_a_unit_that_is_not_known_is_lost_and_not_unmeasured() {
    let trace = read(LONG.replace("\"us\"", "\"fortnight\"").as_bytes(), &Stop::default()).unwrap();
    assert_eq!((durations(&trace), trace.run.note.as_deref()), (vec![0, 0], None));
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::UnknownUnit, 2)]);
    let trace = read(LONG.replace("\"us\"", "\"microseconds\"").as_bytes(), &Stop::default()).unwrap();
    assert_eq!(durations(&trace), [3_500, 4_500]);
}

#[test]
fn a_kernel_whose_duration_is_no_number_is_lost_and_lasts_no_nothing() {
    let whole = read(RAW.as_bytes(), &Stop::default()).unwrap();
    let text = RAW.replacen("\"2.50\"", "\"n/a\"", 1);
    assert_ne!(text, RAW);
    let trace = read(text.as_bytes(), &Stop::default()).unwrap();
    assert_eq!(durations(&trace), durations(&whole)[1..]);
    assert!(trace.losses.iter().any(|(_, it)| (it.kind, it.count) == (LossKind::LayerWithoutDuration, 1)));
    // The counters are still those of the kernel that they were read of.
    let of_last = |trace: &opscope_trace::Trace| {
        let last = trace.readings.ids().next_back().unwrap();
        assert_eq!(trace.readings.get(last).task.index(), trace.tasks.len() - 1);
        trace.readings_of(last).map(|(_, value)| value).collect::<Vec<f64>>()
    };
    assert_eq!(of_last(&trace), of_last(&whole));
}

/// A raw page of many kernels, in several blocks, with a cell for each name of a process.
fn many(process: impl Fn(usize) -> String) -> String {
    let mut text = RAW.to_owned();
    for number in 2..40_000 {
        let stream = number % 5;
        text += &format!(
            "\"{number}\",\"7\",\"{}\",\"127.0.0.1\",\"gemm(float *)\",\"1\",\"{stream}\",\"(128, 1, 1)\",\"(64, 1, 1)\",\"0\",\"9.0\",\"{number}\",\"2.50\",\"x\"\n",
            process(number)
        );
    }
    text
}

/// Whether a page can be cut into blocks, and how many there are.
fn blocks(text: &str) -> (Result<(), Break>, usize) {
    let body = text.find("\"1\",\"7\"").unwrap();
    let headings = csv::ByteRecord::from(vec![""; 14]);
    let stop = Stop::default();
    let rows = Rows {
        text: &text.as_bytes()[body..],
        headings,
        about: [Some(0); 7],
        numbers: vec![11],
        notation: None,
        stop: &stop,
    };
    let mut count = 0;
    let all = rows.in_blocks(|part| {
        count += 1;
        if part.is_within_cell { Err(Break::NoBlocks) } else { Ok(()) }
    });
    (all, count)
}

#[test]
fn a_page_of_several_blocks_is_read_as_one_after_another() {
    let plain = many(|_| "app".to_owned());
    let heading = RAW.lines().nth(2).unwrap();
    let again = plain.replacen("\n\"30000\"", &format!("\n{heading}\n\"30000\""), 1);
    // A cell of several lines, of which each begins as a row does, is one cell wherever a block would end.
    let lines = format!("app{}", "\n12,34".repeat(400_000));
    let within = many(|number| if number == 5 { lines.clone() } else { "app".to_owned() });
    let strange = plain.replace("\n\"", "\n \"");
    assert!(matches!(blocks(&plain), (Ok(()), 3..)), "{:?}", blocks(&plain));
    assert_eq!(blocks(&within).0, Err(Break::NoBlocks));
    assert_eq!(blocks(&strange), (Err(Break::NoBlocks), 0));
    for (what, text) in
        [("CRLF", plain.replace('\n', "\r\n")), ("plain", plain), ("again", again), ("within", within)]
    {
        let trace = read(text.as_bytes(), &Stop::default()).unwrap();
        assert_eq!((trace.tasks.len(), trace.readings.len()), (40_000, 40_000), "{what}");
        assert_eq!(trace.tasks.start()[2], Nanoseconds(2_500 + 1_000_250), "{what}");
        let sum: i64 = durations(&trace).iter().sum();
        assert_eq!(sum, 2_500 + 1_000_250 + 39_998 * 2_500, "{what}");
        let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
        assert_eq!(losses, [(LossKind::MeasureNoNumber, 39_999)], "{what}");
    }
}

/// A raw page as a machine writes it whose language has points between thousands.
const POINTS: &str = r#""ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Device","CC","gpu__time_duration.sum","dram__bytes_read.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed"
"","","","","","","","","","ns","byte","%"
"0","77","app","127.0.0.1","gemm","1","7","0","8.0","123.456","1.234.560","45,60"
"1","77","app","127.0.0.1","gemm","1","7","0","8.0","5.120","2.234.560","41.10"
"2","77","app","127.0.0.1","relu","1","7","0","8.0","992","960","12,5"
"#;

#[test]
fn points_part_thousands_where_a_number_of_the_table_tells_it() {
    let trace = read(POINTS.as_bytes(), &Stop::default()).unwrap();
    assert_eq!(durations(&trace), [123_456, 5_120, 992]);
    let readings =
        |index| trace.readings_of(ReadingId::from_index(index)).map(|(_, value)| value).collect::<Vec<_>>();
    assert_eq!((readings(0), readings(1)), (vec![123_456.0, 1_234_560.0, 45.6], vec![5_120.0, 2_234_560.0]));
    let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
    assert_eq!(losses, [(LossKind::MeasureNoNumber, 1)], "41.10 is none in this notation");
    // Without such a number, points part decimals, as most tables have them.
    let untold = POINTS.replace("1.234.560", "1").replace("2.234.560", "2").replace(",60\"", "\"");
    let untold = untold.replace("12,5", "12").replace("41.10", "41");
    let trace = read(untold.as_bytes(), &Stop::default()).unwrap();
    assert_eq!(durations(&trace), [123, 5, 992]);
}

#[test]
fn the_first_number_that_tells_a_notation_tells_that_of_all_wherever_it_stands() {
    let mut text = POINTS.lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
    for number in 0..40_000 {
        text += &format!(
            "\"{number}\",\"77\",\"app\",\"127.0.0.1\",\"gemm\",\"1\",\"7\",\"0\",\"8.0\",\"5.120\",\"960\",\"12\"\n"
        );
    }
    let last = |bytes: &str| {
        format!(
            "{text}\"40000\",\"77\",\"app\",\"127.0.0.1\",\"gemm\",\"1\",\"7\",\"0\",\"8.0\",\"992\",\"{bytes}\",\"12\"\n"
        )
    };
    let sum =
        |text: String| -> i64 { durations(&read(text.as_bytes(), &Stop::default()).unwrap()).iter().sum() };
    assert_eq!(sum(last("1.234.560")), 40_000 * 5_120 + 992);
    assert_eq!(sum(last("1,234.5")), 40_000 * 5 + 992);
    // One that tells the other notation behind it is dropped.
    assert_eq!(sum(last("1,234.5").replacen("960", "0.5", 1).replacen("960", "0,5", 1)), 40_000 * 5 + 992);
}

#[test]
fn other_tables_are_none() {
    for text in ["", "ID,Name\n1,2\n", "\"ID\",\"Kernel Name\"\n"] {
        assert!(!looks_like(text.as_bytes()) && read(text.as_bytes(), &Stop::default()).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_to_an_end(cells in "[a-z0-9\",\\n]{0,80}", bytes: Vec<u8>) {
        for table in [RAW, LONG] {
            let _ = read(format!("{table}{cells}").as_bytes(), &Stop::default());
        }
        let _ = (looks_like(&bytes), read(&bytes, &Stop::default()));
    }
}
