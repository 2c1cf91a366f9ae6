//! Collectives of ranks that were collected without them, from what the vendor's libraries mark of themselves.
//!
//! A collective's mark is a JSON object with `opName`, `groupName`, `dataType`, `count` and `streamId`. The tables are
//! those that the vendor's `mstx2commop` makes: an operator is named `NAME__G_K_1`, with the last three digits of
//! the group's number and how many of this name the group had before.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use opscope_reach::database::{Database, Texts, each_row, text, whole};
use opscope_reach::group_key;
use serde_json::Value;

use crate::events::Event;
use crate::profile::Span;
use crate::table::{Kind, Output, Table};

const OPERATORS: Table = Table {
    name: "COMMUNICATION_OP",
    columns: &[
        ("opId", Kind::Integer),
        ("opName", Kind::Integer),
        ("startNs", Kind::Integer),
        ("endNs", Kind::Integer),
        ("connectionId", Kind::Integer),
        ("groupName", Kind::Integer),
        ("relay", Kind::Text),
        ("retry", Kind::Text),
        ("dataType", Kind::Integer),
        ("algType", Kind::Text),
        ("count", Kind::Integer),
        ("opType", Kind::Integer),
    ],
    index: &["opId"],
};

/// A collective.
#[derive(Debug)]
struct Operator {
    name: String,
    kind: String,
    group: String,
    span: Span,
    connection: Option<i64>,
    /// The number of its elements' type.
    data_type: Option<i64>,
    count: Option<i64>,
}

/// The collectives of a rank by its marks.
#[derive(Debug, Default)]
pub struct Marked {
    /// They, by their begins.
    operators: Vec<Operator>,
    /// The numbers of the texts that they have in common with the database, and of those that are new.
    numbers: BTreeMap<String, i64>,
    /// The new ones.
    new: BTreeSet<String>,
}

impl Marked {
    /// Finds them among the marks with their tasks.
    ///
    /// # Errors
    /// When a table breaks off.
    pub fn find(database: &Database, texts: &Texts, marks: &[(&Event, Span)]) -> rusqlite::Result<Self> {
        let mut types: HashMap<String, i64> = HashMap::new();
        each_row(database, "ENUM_HCCL_DATA_TYPE", &["id", "name"], |row| {
            types.extend(whole(row, 0).map(|id| (text(row, 1).to_ascii_lowercase(), id)));
        })?;
        let mut counts: HashMap<String, u64> = HashMap::new();
        let operator = |(event, span): &(&Event, Span)| {
            let mark = Mark::of(texts.get(event.message))?;
            let (kind, key) = (format!("{}_", mark.name), group_key(&mark.group).to_string());
            let key = &key[key.len().saturating_sub(3)..];
            let count = counts.entry(format!("{}{kind}", mark.group)).or_default();
            let name = format!("{kind}_{key}_{count}_1");
            *count += 1;
            let (group, connection) = (mark.group, event.connection);
            let data_type = types.get(&mark.data_type.to_ascii_lowercase()).copied();
            Some(Operator { name, kind, group, span: *span, connection, data_type, count: mark.count })
        };
        let mut operators: Vec<Operator> = marks.iter().filter_map(operator).collect();
        operators.retain(|operator| operator.span.can_be());
        operators.sort_by_key(|operator| operator.span);
        let (numbers, new) = numbers(database, &operators)?;
        Ok(Self { operators, numbers, new })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.operators.is_empty()
    }

    /// Adds them to a database, if there are any.
    ///
    /// # Errors
    /// SQLite's.
    pub fn add(&self, output: &Output) -> rusqlite::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let number = |text: &str| self.numbers.get(text);
        let mut insert = output.database().prepare("INSERT INTO STRING_IDS (id, value) VALUES (?1, ?2)")?;
        self.new.iter().try_for_each(|text| insert.execute((number(text), text)).map(drop))?;
        let mut table = output.table(&OPERATORS)?;
        let nothing = None::<i64>;
        self.operators.iter().zip(0_i64..).try_for_each(|(it, id)| {
            let (name, kind, group) = (number(&it.name), number(&it.kind), number(&it.group));
            let (start, end) = (it.span.start, it.span.end);
            let (data_type, count) = (it.data_type, it.count);
            let row = (
                id,
                name,
                start,
                end,
                it.connection,
                group,
                nothing,
                nothing,
                data_type,
                nothing,
                count,
                kind,
            );
            table.row(row)
        })
    }
}

/// The numbers of operators' texts, and the texts that the database doesn't have yet, which are numbered on.
fn numbers(
    database: &Database,
    operators: &[Operator],
) -> rusqlite::Result<(BTreeMap<String, i64>, BTreeSet<String>)> {
    let texts = operators.iter().flat_map(|it| [&it.kind, &it.name, &it.group]);
    let mut new: BTreeSet<String> = texts.cloned().collect();
    let (mut numbers, mut last) = (BTreeMap::new(), 0);
    each_row(database, "STRING_IDS", &["id", "value"], |row| {
        let Some(id) = whole(row, 0) else { return };
        last = last.max(id);
        if let Some(text) = new.take(text(row, 1)) {
            numbers.insert(text, id);
        }
    })?;
    for text in &new {
        last = last.saturating_add(1);
        numbers.insert(text.clone(), last);
    }
    Ok((numbers, new))
}

/// The text of a collective's mark.
struct Mark {
    name: String,
    group: String,
    data_type: String,
    count: Option<i64>,
}

impl Mark {
    /// The collective that a text tells of, if it does.
    fn of(text: &str) -> Option<Self> {
        /// A mark of a collective has some 200 bytes; one of any length would be held once for each of its tasks.
        const LONGEST: usize = 4_096;
        if !text.starts_with('{') || text.len() > LONGEST {
            return None;
        }
        // Quotes of texts that went through another text.
        let value: Value = serde_json::from_str(&text.replace("\\\"", "\"")).ok()?;
        let text = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
        let count = match value.get("count")? {
            Value::String(text) => text.trim().parse().ok(),
            number => number.as_i64(),
        };
        value.get("streamId")?;
        Some(Self { name: text("opName")?, group: text("groupName")?, data_type: text("dataType")?, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_collectives_are_told_from_others() {
        let text = r#"{"opName":"HcclSend","groupName":"g","dataType":"fp16","count":"64","streamId":"2"}"#;
        for text in [text.to_owned(), text.replace('"', "\\\""), text.replace("\"64\"", "64")] {
            let mark = Mark::of(&text).expect(&text);
            assert_eq!((&*mark.name, &*mark.group, mark.count), ("HcclSend", "g", Some(64)));
        }
        for other in ["{'name': 'forward_step'}", "{}", "", "{\"opName\":\"x\"}"] {
            assert!(Mark::of(other).is_none(), "{other}");
        }
    }
}
