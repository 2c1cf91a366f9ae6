//! Iterations of a training, which a device marks more closely than inferences.

mod common;

use common::edited::Edited;
use opscope_cann_raw::device::{StepTrace, TrackHead, track};
use opscope_cann_raw::{Chip, Record};
use serde_json::{Value, json};

const MODEL_START: u16 = 0;
const MODEL_END: u16 = 1;
const FORWARD: u16 = 2;
const BACKWARD: u16 = 3;
const ITERATION_END: u16 = 4;
const REDUCE: [u16; 2] = [10_000, 10_001];
const FETCH: [u16; 2] = [20_000, 20_001];

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

/// An iteration from which gradients are reduced on two streams and data is fetched, one in which
/// gradients are reduced once, and an inference.
fn reduced(chip: Chip) -> Edited {
    let inference = [(2, 2, MODEL_START, 400), (2, 2, MODEL_END, 480)];
    let during = [
        (1, 7, REDUCE[0], 20),
        (1, 7, REDUCE[1], 24),
        (1, 5, REDUCE[0], 32),
        (1, 5, REDUCE[1], 37),
        (1, 3, FETCH[0], 60),
        (1, 3, FETCH[1], 64),
        (1, 7, REDUCE[0], 240),
        (1, 7, REDUCE[1], 243),
    ];
    profile(chip, &[&iteration(1, 0)[..], &iteration(1, 200), &inference, &during].concat())
}

#[test]
fn a_row_has_columns_for_as_many_reductions_as_any_has() {
    for chip in [Chip::V2_1_0, Chip::V4_1_0] {
        let profile = reduced(chip);
        let text = common::table(&profile.joined(), "step_trace");
        let of_reduces = |line: &String| -> Vec<Option<f64>> {
            line.split(',').skip(10).map(|cell| cell.trim().parse().ok()).collect()
        };
        assert_eq!(text[0].matches("Reduce Start(us),Reduce Duration(us)").count(), 2);
        let ends = profile.cells("step_trace", &["Iteration End(us)"]).concat();
        let end = |row: usize| ends[row].parse::<f64>().expect("a time");
        let at = |row: usize, before: f64| Some(end(row) - before);
        assert_eq!(of_reduces(&text[1]), [at(0, 60.0), Some(4.0), at(0, 48.0), Some(5.0)]);
        assert_eq!(of_reduces(&text[2]), [at(1, 40.0), Some(3.0), None, None]);
        assert_eq!(of_reduces(&text[3]), [None; 4]);
    }
}

#[test]
fn a_timeline_shows_what_happened_in_an_iteration() {
    for chip in [Chip::V2_1_0, Chip::V4_1_0] {
        let events = reduced(chip).timeline();
        let find = |name: &str, phase: &str| -> Vec<&Value> {
            events.iter().filter(|event| event["name"] == name && event["ph"] == phase).collect()
        };
        let micros = |event: &Value| event["ts"].as_str().and_then(|text| text.parse::<f64>().ok());
        let begin = micros(find("Iteration 1", "X")[0]).expect("a time");
        // The accelerated reference numbers reductions through all iterations.
        let third = if chip == Chip::V4_1_0 { "Reduce_2_2" } else { "Reduce_2_0" };
        for (name, start, duration) in [
            ("FP_BP Time 1", 10.0, 40.0),
            ("Iteration Refresh 1", 50.0, 30.0),
            ("Reduce_1_0", 20.0, 4.0),
            ("Reduce_1_1", 32.0, 5.0),
            ("GetNext", 60.0, 4.0),
            (third, 240.0, 3.0),
        ] {
            let slices = find(name, "X");
            assert_eq!(slices.len(), 1, "{name}");
            assert_eq!(micros(slices[0]), Some(begin + start), "{name}");
            assert_eq!(slices[0]["dur"], json!(duration), "{name}");
        }
        assert_eq!(find("FP_BP Time 1", "X")[0]["args"]["FP_BP Time(us)"], json!(40.0));
        let (sent, received) = (find("Data_aug Bound 1", "s"), find("Data_aug Bound 1", "t"));
        assert_eq!((sent.len(), received.len()), (1, 1));
        assert_eq!(sent[0]["id"], received[0]["id"]);
        // The plain reference begins the wait in the middle of what follows the backward pass.
        let first_wait = if chip == Chip::V4_1_0 { 50.0 } else { 65.0 };
        assert_eq!(micros(sent[0]), Some(begin + first_wait));
        assert_eq!(micros(received[0]), Some(begin + 210.0));
        assert_eq!(find("Data_aug Bound 2", "s")[0]["args"]["Data_aug Bound(us)"], json!(130.0));
    }
}

#[test]
fn an_inference_has_no_passes_on_the_timeline() {
    let inference = [(1, 2, MODEL_START, 0), (1, 2, MODEL_END, 80)];
    let events = profile(Chip::V2_1_0, &inference).timeline();
    let with = |category: &str| events.iter().filter(|event| event["cat"] == category).count();
    assert_eq!(with("Iteration Time"), 1);
    for category in ["FP_BP Time", "Iteration Refresh", "Data_aug Bound", "Reduce", "GetNext Time"] {
        assert_eq!(with(category), 0, "{category}");
    }
}
