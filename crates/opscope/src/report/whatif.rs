//! The predicted effect of a change, as text and JSON.

use opscope_analyze::{Edit, Prediction};
use opscope_say::{say, sentence, word};
use opscope_trace::units;
use serde_json::{Value, json};

use super::{Envelope, count};
use crate::terminal::{bold, dim, printable};

/// The prediction, and what each edit changes.
pub fn to_text(edits: &[Edit], prediction: &Prediction) -> String {
    let (measured, predicted) = (prediction.measured, prediction.predicted);
    let mut text = format!(
        "{} {} → {}",
        bold(word("predicted")),
        units::duration(measured),
        bold(&units::duration(predicted))
    );
    if measured.0 > 0 && predicted.0 > 0 {
        let speed = measured.0 as f64 / predicted.0 as f64;
        let saved = (measured.0 - predicted.0) as f64 / measured.0 as f64 * 100.0;
        text.push_str(&say!("  {speed:.3}x  {saved:+.1} % saved"));
    }
    text.push('\n');
    for (edit, (operators, time)) in edits.iter().zip(&prediction.edits) {
        let (edit, operators) = (edit.text(), count(*operators, "operator"));
        let edit = sentence(&edit);
        let (edit, time) = (printable(&edit), units::duration(*time));
        text.push_str(&match prediction.is_of_inference {
            true => say!("  {edit}: {operators}, {time} of each inference\n"),
            false => say!("  {edit}: {operators}, {time} of the whole profile\n"),
        });
    }
    if !prediction.is_of_inference {
        let of = word(
            "the profile knows no inferences: times are of all its operators, without what lies between",
        );
        text.push_str(&format!("{}\n", dim(of)));
    }
    let basis = say!("a prediction, not a measurement; by {}", sentence(prediction.basis.text()));
    text.push_str(&format!("{}\n", dim(&basis)));
    text
}

/// The same for programs.
pub fn to_json(edits: &[Edit], prediction: &Prediction) -> Envelope<Value> {
    let edits: Vec<Value> = edits
        .iter()
        .zip(&prediction.edits)
        .map(|(edit, (count, time))| json!({ "edit": edit.text(), "operators": count, "time_ns": time.0 }))
        .collect();
    let answer = json!({
        "kind": "prediction",
        "of_inference": prediction.is_of_inference,
        "measured_ns": prediction.measured.0,
        "predicted_ns": prediction.predicted.0,
        "basis": sentence(prediction.basis.text()),
        "edits": edits,
    });
    Envelope::new(1, answer)
}
