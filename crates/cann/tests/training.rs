//! Iterations of a training, which a device marks more closely than inferences.

mod common;

use common::edited::Edited;
use opscope_cann_raw::device::{StepTrace, TrackHead, track};
use opscope_cann_raw::{Chip, Record};

const MODEL_START: u16 = 0;
const MODEL_END: u16 = 1;
const FORWARD: u16 = 2;
const BACKWARD: u16 = 3;
const ITERATION_END: u16 = 4;

/// A profile of which the device marked these steps: model, stream, tag, and microseconds since the begin.
fn profile(chip: Chip, marks: &[(u64, u16, u16, u64)]) -> Edited {
    let profile = Edited::new(chip, 4);
    let begin = profile.device_begin();
    let ticks = match chip {
        Chip::V2_1_0 => 100,
        _ => 50,
    };
    let head = TrackHead { tag: track::STEP, size: StepTrace::SIZE as u16, ..TrackHead::default() };
    let record = |&(model, stream, tag, micros): &(u64, u16, u16, u64)| StepTrace {
        head,
        time: begin + micros * ticks,
        index: 1,
        model,
        stream,
        task: 1,
        tag,
    };
    let records: Vec<StepTrace> = marks.iter().map(record).collect();
    profile.with(0, "ts_track.data", &records)
}

/// An iteration with a forward and a backward pass.
fn iteration(model: u64, start: u64) -> [(u64, u16, u16, u64); 5] {
    [
        (model, 2, MODEL_START, start),
        (model, 2, FORWARD, start + 10),
        (model, 2, BACKWARD, start + 50),
        (model, 2, ITERATION_END, start + 80),
        (model, 2, MODEL_END, start + 81),
    ]
}

#[test]
fn data_is_waited_for_since_the_last_iteration_of_any_model() {
    let marks = [iteration(1, 0), iteration(2, 100), iteration(1, 203)].concat();
    for (chip, first) in [(Chip::V2_1_0, "N/A"), (Chip::V4_1_0, "0.000")] {
        let rows = profile(chip, &marks).cells("step_trace", &["Model ID", "Data Aug Bound(us)"]);
        let micros = |text: &str| text.parse::<f64>().ok();
        assert_eq!(rows[0], ["1", first]);
        assert_eq!((rows[1][0].as_str(), micros(&rows[1][1])), ("2", Some(30.0)));
        assert_eq!((rows[2][0].as_str(), micros(&rows[2][1])), ("1", Some(33.0)));
    }
}

#[test]
fn a_pass_without_the_other_tells_what_lies_on_its_side() {
    let columns = ["FP to BP Time(us)", "Iteration Refresh(us)", "Data Aug Bound(us)"];
    let without = |tag| {
        let marks = [iteration(1, 0), iteration(1, 100)].concat();
        let marks: Vec<_> = marks.into_iter().filter(|mark| mark.2 != tag).collect();
        profile(Chip::V2_1_0, &marks).cells("step_trace", &columns).remove(1)
    };
    assert_eq!(without(FORWARD), ["N/A", "30.0", "N/A"]);
    assert_eq!(without(BACKWARD), ["N/A", "N/A", "30.0"]);
}
