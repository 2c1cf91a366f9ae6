//! Many ranks, as text and JSON: the first screen, the suspects, what the collections hold.

mod compare;
mod exported;
mod imported;
mod info;
mod page;
mod page_timeline;
mod reason;
mod screen;
mod suspects;
mod tables;
mod timeline;

use opscope_reach::Loss;
use opscope_say::{say, word};
use serde_json::{Value, json};

pub use compare::compare;
pub use exported::{ranks, tables};
pub use imported::{imported_json, imported_text};
pub use info::{info_json, info_text, ranks_table};
pub use page::RanksPage;
pub use page_timeline::Drawn;
pub use screen::{losses, to_json, to_text};
pub use suspects::{
    Asked, all_of, differences_rows, innocent_text, plain, ranks_of, standing_text, suspect_text,
    suspects_json, suspects_rows, suspects_text,
};
pub use tables::{
    Named, TablesForm, collectives_tables, experts_tables, instance_tables, matrix_tables, print,
    products_table, summary_tables,
};
pub use timeline::{Chosen, write as write_timeline};

/// A line for each kind of loss, with its first place and its ranks.
pub fn losses_lines(losses: &[Loss]) -> Vec<String> {
    let mut reasons: Vec<_> = losses.iter().map(|loss| loss.reason).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let line = |reason| {
        let of_kind: Vec<&Loss> = losses.iter().filter(|loss| loss.reason == reason).collect();
        let first = of_kind[0];
        let mut ranks: Vec<u32> = of_kind.iter().filter_map(|loss| loss.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let ranks = if ranks.is_empty() { String::new() } else { format!("{}: ", ranks_text(&ranks)) };
        let more = match of_kind.len() {
            1 => String::new(),
            count => say!(", and {} more", count - 1),
        };
        let detail = match &*first.detail {
            "" => String::new(),
            detail => format!(" ({})", opscope_say::sentence(detail)),
        };
        let source = opscope_say::sentence(&first.source);
        say!("{ranks}{}: {}{detail}{more}", word(reason.sentence()), source)
    };
    reasons.into_iter().map(line).collect()
}

/// A loss as it stands in every answer.
pub fn loss_json(loss: &Loss) -> Value {
    json!({
        "kind": loss.reason,
        "severity": loss.reason.severity(),
        "source": loss.source,
        "scope": loss.rank.map_or(word("all ranks").to_owned(), |rank| say!("rank {rank}")),
        "reason": loss.reason.sentence(),
        "count": loss.count,
        "detail": loss.detail,
    })
}

/// That ranks were recorded without operators, by which experts are found.
pub fn without_operators(ranks: &[u32]) -> String {
    let ranks = ranks_text(ranks);
    say!("{ranks}: recorded without operators, so that nothing is known of their experts")
}

/// That ranks have nothing of the form that the others' results are made from.
pub fn left_out_of_results(ranks: &[u32], from_databases: bool) -> String {
    let ranks = ranks_text(ranks);
    match from_databases {
        true => say!("{ranks}: left out, without databases, from which the others are read"),
        false => say!("{ranks}: left out, without texts, from which the others are read"),
    }
}

/// Some ranks in words: `rank 3`, `ranks 3, 17`.
fn ranks_text(ranks: &[u32]) -> String {
    match ranks.len() {
        1 => say!("rank {}", listed(ranks)),
        _ => say!("ranks {}", listed(ranks)),
    }
}

/// Numbers in order, the first of them if there are many.
fn listed(numbers: &[u32]) -> String {
    /// How many are listed.
    const LISTED: usize = 12;
    let mut texts: Vec<String> = numbers.iter().take(LISTED).map(u32::to_string).collect();
    if numbers.len() > LISTED {
        texts.push(say!("… ({} in all)", numbers.len()));
    }
    texts.join(", ")
}

/// An amount for programs: a whole number where it is one.
fn amount(amount: f64) -> serde_json::Value {
    let is_whole = amount.fract() == 0.0 && amount.abs() < 9e15;
    if is_whole { (amount as i64).into() } else { amount.into() }
}

/// A count with its thousands apart: `18,048`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Nanoseconds as every answer in JSON has them.
fn whole(nanoseconds: f64) -> i64 {
    nanoseconds.round() as i64
}

/// Milliseconds as figures of a step are shown: three digits, none behind the point from 100 on.
fn milliseconds(nanoseconds: f64) -> String {
    let value = nanoseconds / 1e6;
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size < 0.05 => "0.0".to_owned(),
        _ => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_people_read_them() {
        assert_eq!(
            (grouped(7), grouped(18_048), grouped(1_000_000)),
            ("7".into(), "18,048".into(), "1,000,000".into())
        );
        assert_eq!(
            [277.4e6, 33.04e6, -0.01e6, 1.6e6].map(milliseconds),
            ["277", "33.0", "0.0", "1.6"].map(str::to_owned)
        );
        assert_eq!(ranks_text(&[3]), "rank 3");
        assert_eq!(ranks_text(&[3, 17]), "ranks 3, 17");
    }
}
