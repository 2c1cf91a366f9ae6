//! Whether a change passes, as Markdown and JSON.

use opscope_say::{say, word};
use opscope_trace::units;
use serde_json::{Value, json};

use super::{Envelope, Table, TableCell, TableColumn, markdown};
use crate::judgement::Judgement;

/// The times, a table of the conditions, and what is doubtful.
pub fn to_markdown(judgement: &Judgement) -> String {
    let facts = &judgement.facts;
    let mut text = say!("### opscope check: {}\n\n", word(judgement.outcome().name()));
    let after = units::duration(facts.after);
    text.push_str(&match (facts.before, facts.are_inferences) {
        (Some(before), true) => say!("{} → **{after}** for each inference\n\n", units::duration(before)),
        (Some(before), false) => say!(
            "{} → **{after}** in all that was recorded; not each side knows inferences\n\n",
            units::duration(before)
        ),
        (None, true) => say!("**{after}** for each inference\n\n"),
        (None, false) => say!("**{after}** in all that was recorded; the profile knows no inferences\n\n"),
    });
    text.push_str(&conditions(judgement).to_markdown());
    for line in facts.lines.iter().cloned().chain(judgement.doubts()) {
        text.push_str(&format!("\n{}\n", markdown::text(&line)));
    }
    text
}

/// A row for each condition.
fn conditions(judgement: &Judgement) -> Table {
    let mut table = Table::new(["condition", "outcome", "measured"].map(TableColumn::text));
    for condition in &judgement.conditions {
        let outcome = condition.outcome.name();
        table.row([
            TableCell::from(&*condition.name),
            TableCell::new(word(outcome), outcome),
            TableCell::from(&*condition.detail),
        ]);
    }
    table
}

/// The same for programs.
pub fn to_json(judgement: &Judgement) -> Envelope<Value> {
    let facts = &judgement.facts;
    let (change, interval) = facts.change.unzip();
    let answer = json!({
        "outcome": judgement.outcome().name(),
        "before_ns": facts.before.map(|before| before.0),
        "after_ns": facts.after.0,
        "of_inference": facts.are_inferences,
        "change": change,
        "interval": interval.flatten().map(|(low, high)| [low, high]),
        "conditions": conditions(judgement).to_json(),
    });
    Envelope::new(1, answer).about(facts.sides.iter().map(|(_, profile)| profile))
}
