//! Answers no larger than asked for: one page of their rows, and of every other list its beginning.

use serde_json::{Map, Value, json};

/// The rows that are wanted of an answer's own list.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Rows before the first one wanted.
    pub offset: usize,
    /// How many rows.
    pub limit: usize,
}

/// The most entries of a list other than the rows.
const ENTRIES: usize = 10;

/// The most letters of a text: names come from files.
const LETTERS: usize = 1_000;

/// The most bytes of an answer, some ten thousand tokens.
pub const BYTES: usize = 40_000;

/// Leaves of an answer what is wanted and fits. `rows` is the member that pages are of, `parts` are members that
/// are left out unless `with` names them. The answer's new member `page` says which rows these are of how many,
/// `cut` which lists are longer, `left_out` which members there are besides.
pub fn fit(mut answer: Value, rows: &str, page: Page, parts: &[&str], with: &[String]) -> Value {
    let mut left_out = Vec::new();
    if let Some(members) = answer.as_object_mut() {
        for part in parts.iter().filter(|part| !with.iter().any(|wanted| wanted == *part)) {
            if members.remove(*part).is_some_and(|part| !is_empty(&part)) {
                left_out.push(json!(part));
            }
        }
    }
    let of = answer[rows].as_array().map_or(0, Vec::len);
    let (mut limit, mut entries, mut letters) = (page.limit, ENTRIES, LETTERS);
    loop {
        let mut fitted = part_of(&answer, rows, Page { limit, ..page }, entries, letters);
        if let (Some(members), false) = (fitted.as_object_mut(), left_out.is_empty()) {
            members.insert("left_out".to_owned(), json!(left_out));
        }
        let shown = fitted[rows].as_array().map_or(0, Vec::len);
        fitted["page"] = page_of(page.offset, shown, Some(of));
        if fitted.to_string().len() <= BYTES || (limit <= 1 && entries == 0 && letters <= 8) {
            return fitted;
        }
        (limit, entries, letters) = ((shown.min(limit) / 2).max(1), entries / 2, (letters / 2).max(8));
    }
}

/// Which rows an answer has of how many, and where the next ones begin.
pub fn page_of(offset: usize, shown: usize, of: Option<usize>) -> Value {
    let mut page = json!({ "offset": offset, "shown": shown });
    if let Some(of) = of {
        page["of"] = json!(of);
        if offset + shown < of {
            page["next_offset"] = json!(offset + shown);
        }
    }
    page
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn part_of(answer: &Value, rows: &str, page: Page, entries: usize, letters: usize) -> Value {
    let mut cut = Map::new();
    let mut fitted = Map::new();
    for (name, value) in answer.as_object().into_iter().flatten() {
        let value = match value {
            Value::Array(list) if name == rows => {
                let wanted = list.iter().skip(page.offset).take(page.limit);
                let mut row = |row: &Value| shortened(row, name, entries, letters, &mut cut);
                Value::Array(wanted.map(&mut row).collect())
            }
            value => shortened(value, name, entries, letters, &mut cut),
        };
        fitted.insert(name.clone(), value);
    }
    if !cut.is_empty() {
        fitted.insert("cut".to_owned(), Value::Object(cut));
    }
    Value::Object(fitted)
}

/// A value with lists and texts no longer than they may be. `cut` gets the length of the longest list at each place.
fn shortened(
    value: &Value,
    place: &str,
    entries: usize,
    letters: usize,
    cut: &mut Map<String, Value>,
) -> Value {
    match value {
        Value::Array(list) => {
            if list.len() > entries {
                let longest = cut.get(place).and_then(Value::as_u64).unwrap_or(0).max(list.len() as u64);
                cut.insert(place.to_owned(), json!(longest));
            }
            let kept = list.iter().take(entries);
            Value::Array(kept.map(|entry| shortened(entry, place, entries, letters, cut)).collect())
        }
        Value::Object(members) => {
            // A map by names, such as numbers by type, is a list as well.
            let most = entries.max(ENTRIES) * 4;
            if members.len() > most {
                cut.insert(place.to_owned(), json!(members.len()));
            }
            let member = |(name, value): (&String, &Value)| {
                let place = format!("{place}.{name}");
                (short_text(name, letters), shortened(value, &place, entries, letters, cut))
            };
            Value::Object(members.iter().take(most).map(member).collect())
        }
        Value::String(text) => Value::String(short_text(text, letters)),
        value => value.clone(),
    }
}

fn short_text(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} letters in all)", &text[..end], text.chars().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Page = Page { offset: 0, limit: 3 };

    fn answer(rows: usize) -> Value {
        let row = |number| json!({ "name": format!("op{number}"), "shapes": (0..30).collect::<Vec<_>>() });
        json!({ "rows": (0..rows).map(row).collect::<Vec<_>>(), "overview": { "wall_ns": 5 }, "ranges": [] })
    }

    #[test]
    fn pages_hold_each_row_once() {
        let all = answer(8);
        let mut names = Vec::new();
        let mut offset = 0;
        loop {
            let page = fit(all.clone(), "rows", Page { offset, limit: 3 }, &[], &[]);
            names.extend(page["rows"].as_array().expect("rows").iter().map(|row| row["name"].clone()));
            assert_eq!((&page["page"]["of"], &page["cut"]["rows.shapes"]), (&json!(8), &json!(30)));
            match page["page"]["next_offset"].as_u64() {
                Some(next) => offset = next as usize,
                None => break,
            }
        }
        assert_eq!(names, (0..8).map(|number| json!(format!("op{number}"))).collect::<Vec<_>>());
    }

    #[test]
    fn parts_come_when_they_are_named_and_are_told_of_when_not() {
        let parts = ["overview", "ranges"];
        let without = fit(answer(1), "rows", FIRST, &parts, &[]);
        assert_eq!((&without["overview"], &without["left_out"]), (&Value::Null, &json!(["overview"])));
        let with = fit(answer(1), "rows", FIRST, &parts, &["overview".to_owned()]);
        assert_eq!((&with["overview"]["wall_ns"], &with["left_out"]), (&json!(5), &Value::Null));
    }

    #[test]
    fn an_answer_of_any_size_fits() {
        let long = "卷".repeat(2_000);
        let rows: Vec<Value> = (0..100).map(|_| json!({ "name": long, "all": vec![&long; 12] })).collect();
        let fitted = fit(json!({ "rows": rows }), "rows", Page { offset: 1, limit: 1_000 }, &[], &[]);
        assert!(fitted.to_string().len() <= BYTES);
        let shown = fitted["page"]["shown"].as_u64().expect("a number");
        assert_eq!(fitted["page"]["next_offset"], json!(1 + shown));
    }
}
