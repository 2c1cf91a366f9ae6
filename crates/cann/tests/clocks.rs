//! Digits of durations where ticks of the device's clock are no whole nanoseconds.

mod common;

use common::edited::Edited;
use opscope_cann::{LossKind, to_trace};
use opscope_cann_raw::Chip;
use opscope_cann_raw::device::{HwtsLog, MAGIC, StarsLog, function};

/// The stream of the generated profile's tasks.
fn stream(profile: &Edited) -> u16 {
    profile.cells("op_summary", &["Stream ID"])[0][0].parse().expect("a number")
}

#[test]
fn sums_of_a_910b_keep_the_fractions_of_nanoseconds_that_its_clock_leaves() {
    let profile = Edited::new(Chip::V4_1_0, 4).with_device_info("hwts_frequency", "49.123456");
    let (stream, begin) = (stream(&profile), profile.device_begin());
    // From 1017.844 ns to 2015.331 ns: 997 ns, though a nanosecond more lies between the shown times.
    let log = [(function::TASK_START, 50), (function::TASK_END, 99)];
    let log = log.map(|(word, ticks)| StarsLog {
        word,
        magic: MAGIC,
        stream,
        task: 1,
        time: begin + ticks,
        ..StarsLog::default()
    });
    let profile = profile.with(0, "stars_soc.data", &log);
    assert_eq!(profile.cells("task_time", &["task_time(us)"]), [["0.997"]]);
    assert_eq!(profile.cells("op_statistic", &["Total Time(us)", "Max Time(us)"]), [["0.997", "0.997"]]);
}

#[test]
fn the_plain_statistic_rounds_ties_to_even() {
    let profile = Edited::new(Chip::V3_3_0, 4).with_device_info("hwts_frequency", "38.4");
    let (stream, begin) = (u32::from(stream(&profile)), profile.device_begin());
    // 4062.5 ns.
    let log = [(0, 0), (1, 156)];
    let log = log.map(|(tag, ticks)| HwtsLog {
        tag,
        magic: MAGIC,
        stream,
        task: 1,
        time: begin + ticks,
        ..HwtsLog::default()
    });
    let profile = profile.with(0, "hwts.data", &log);
    let columns = ["Total Time(us)", "Min Time(us)", "Avg Time(us)", "Max Time(us)"];
    assert_eq!(profile.cells("op_statistic", &columns), [["4.062"; 4]]);
}

#[test]
fn a_task_at_a_time_that_cannot_be_is_left_out_and_counted() {
    let profile = Edited::new(Chip::V3_3_0, 4);
    let (stream, begin) = (u32::from(stream(&profile)), profile.device_begin());
    let log = [(0, 1, begin), (1, 1, begin + 100), (0, 2, begin + 200), (1, 2, u64::MAX)];
    let log =
        log.map(|(tag, task, time)| HwtsLog { tag, magic: MAGIC, stream, task, time, ..HwtsLog::default() });
    let joined = profile.with(0, "hwts.data", &log).joined();
    assert_eq!(joined.all_losses().total(LossKind::ImpossibleTime), 1);
    let trace = to_trace(&joined);
    assert_eq!((trace.tasks.len(), trace.tasks.number()[0]), (1, Some(1)));
    assert!(trace.extent().is_some_and(|(_, end)| end.as_seconds() < 1.0), "{:?}", trace.extent());
}
