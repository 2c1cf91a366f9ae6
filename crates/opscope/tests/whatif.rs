//! `opscope whatif`: predictions.

mod common;

use common::{Place, number};

/// Operators on streams: name, type, stream, start and duration in microseconds.
fn op_summary(rows: &[(&str, &str, u32, f64, f64)]) -> String {
    let mut text = String::from(
        "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n",
    );
    for (task, (name, op_type, stream, start, micros)) in rows.iter().enumerate() {
        let start = 1_760_000_000_000_000.0 + start;
        text.push_str(&format!("0,1,{task},{stream},{name},{op_type},AI_CORE,{start:.3}\t,{micros:.3}\n"));
    }
    text
}

#[test]
fn the_time_of_what_goes_is_taken_off_the_serial_sum() {
    let place = Place::new();
    let rows = [
        ("conv1", "Conv2D", 2, 0.0, 600.0),
        ("bn1", "BNInferenceD", 2, 600.0, 300.0),
        ("relu1", "Relu", 2, 900.0, 100.0),
        ("trans", "TransData", 2, 1_000.0, 200.0),
    ];
    place.write("op_summary_1.csv", op_summary(&rows));
    let removed = place.done(&["whatif", "op_summary_1.csv", "--remove", "TransData", "--json"]).json();
    assert_eq!(removed["kind"], "prediction");
    assert_eq!(
        (number(&removed, "/measured_ns"), number(&removed, "/predicted_ns")),
        (1_200_000.0, 1_000_000.0)
    );
    assert_eq!(removed["of_inference"], false);
    let fuse =
        ["whatif", "op_summary_1.csv", "--fuse", "Conv+BatchNormalization+Relu", "--scale", "conv1=0.5"];
    let answer = place.done(&fuse);
    assert!(answer.stdout.contains("knows no inferences") && !answer.stdout.contains("each inference"));
    for text in ["predicted", "1.20 ms", "500 us", "a prediction, not a measurement", "serial sum"] {
        let plain = answer.stdout.replace('µ', "u");
        assert!(plain.contains(text), "no {text} in\n{plain}");
    }
}

#[test]
fn beside_a_longer_stream_nothing_is_saved_and_it_says_why() {
    let place = Place::new();
    let rows = [("conv1", "Conv2D", 2, 0.0, 900.0), ("copy", "Cast", 3, 0.0, 300.0)];
    place.write("op_summary_1.csv", op_summary(&rows));
    let answer = place.done(&["whatif", "op_summary_1.csv", "--remove", "Cast"]);
    assert!(answer.stdout.contains("records no dependencies"), "{}", answer.stdout);
    let json = place.done(&["whatif", "op_summary_1.csv", "--remove", "Cast", "--json"]).json();
    assert_eq!(number(&json, "/measured_ns"), number(&json, "/predicted_ns"));
}

#[test]
fn a_prediction_for_a_run_names_its_operators_by_any_engines_word() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    place.done(&["run", &model, "-n", "3", "--warmup", "1", "--threads", "1", "--db", "a.db"]);
    let json = place.done(&["whatif", "a.db", "--scale", "Conv2D=0.5", "--json"]).json();
    assert!(number(&json, "/predicted_ns") < number(&json, "/measured_ns"));
    assert!(number(&json, "/edits/0/operators") > 5.0);
}

#[test]
fn mistakes_are_told_with_what_would_be_right() {
    let place = Place::new();
    place.write("op_summary_1.csv", op_summary(&[("conv1", "Conv2D", 2, 0.0, 900.0)]));
    place.fails(1, &["no operator", "Conv2D"], &["whatif", "op_summary_1.csv", "--remove", "Mish"]);
    place.fails(2, &["Conv=0.5"], &["whatif", "op_summary_1.csv", "--scale", "Conv2D"]);
    place.fails(2, &["Conv+Relu"], &["whatif", "op_summary_1.csv", "--fuse", "Conv2D"]);
    place.fails(2, &["--remove"], &["whatif", "op_summary_1.csv"]);
}
