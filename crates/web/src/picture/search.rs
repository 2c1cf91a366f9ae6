//! The search for names in a profile of any size.

use std::collections::HashMap;

use opscope_trace::{RangeKind, StringId};
use serde_json::{Value, json};

use super::Picture;

/// Slices of a name that are told, to be walked.
const MOST_SLICES: usize = 100;

/// A name with the first of its slices.
struct Named {
    kind: &'static str,
    name: StringId,
    count: usize,
    ids: Vec<usize>,
}

impl Picture {
    /// Operators, costliest first, then calls, ranges and marks as the profile has them, whose names have a text in them,
    /// whatever the case of its letters; at most `most`, and how many there are.
    pub(crate) fn search(&self, text: &str, most: usize) -> (Vec<Value>, usize) {
        let strings = &self.trace().strings;
        let matching = matching(strings.len(), |id| strings.get(StringId::from_index(id)), text);
        let operators = self.operators_named(&matching);
        let slices = self.slices_named(&matching);
        let all = operators.len() + slices.len();
        let of_operator = |(row, name): &(u32, StringId)| json!({ "kind": "operator", "name": strings.get(*name), "row": row });
        let of_slices = |it: &Named| json!({ "kind": it.kind, "name": strings.get(it.name), "count": it.count, "ids": it.ids });
        let hits = operators.iter().map(of_operator).chain(slices.iter().map(of_slices));
        (hits.take(most).collect(), all)
    }

    fn operators_named(&self, matching: &[bool]) -> Vec<(u32, StringId)> {
        let names = self.trace().operators.name();
        let items = self.items();
        let named = items.rows().filter_map(|(row, operator, name)| {
            let name = operator.map(|operator| names[operator.index()]).or(name)?;
            matching[name.index()].then_some((row, name))
        });
        let mut found: Vec<(u32, StringId)> = named.collect();
        found.sort_by_key(|(row, _)| *row);
        found
    }

    fn slices_named(&self, matching: &[bool]) -> Vec<Named> {
        let trace = self.trace();
        let calls = trace.api_calls.name().iter().enumerate().map(|(id, &name)| ("call", id, name));
        let kind = |id: usize| if trace.ranges.kind()[id] == RangeKind::Mark { "mark" } else { "range" };
        let ranges = trace.ranges.name().iter().enumerate().map(|(id, &name)| (kind(id), id, name));
        let mut found: Vec<Named> = Vec::new();
        let mut places: HashMap<(&str, StringId), usize> = HashMap::new();
        for (kind, id, name) in calls.chain(ranges).filter(|(_, _, name)| matching[name.index()]) {
            let place = *places.entry((kind, name)).or_insert_with(|| {
                found.push(Named { kind, name, count: 0, ids: Vec::new() });
                found.len() - 1
            });
            found[place].count += 1;
            if found[place].ids.len() < MOST_SLICES {
                found[place].ids.push(id);
            }
        }
        found
    }
}

/// Which of so many names have a text in them.
fn matching<'n>(count: usize, name: impl Fn(usize) -> &'n str, text: &str) -> Vec<bool> {
    let text = text.to_lowercase();
    // One piece of memory for all names: there may be a million.
    let mut small = String::new();
    let mut has = |name: &str| {
        small.clear();
        match name.is_ascii() {
            true => {
                small.push_str(name);
                small.make_ascii_lowercase();
            }
            false => small.extend(name.chars().flat_map(char::to_lowercase)),
        }
        small.contains(&text)
    };
    (0..count).map(|id| has(name(id))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_whatever_the_case_of_their_letters() {
        let names = ["Conv2D_1", "RELU", "größe", "GRÖSSE", "", "x conv"];
        let of = |text: &str| matching(names.len(), |id| names[id], text);
        assert_eq!(of("CONV"), [true, false, false, false, false, true]);
        assert_eq!(of("Grö"), [false, false, true, true, false, false]);
        assert_eq!(of("\u{202e}"), [false; 6]);
        assert_eq!(of(""), [true; 6]);
    }
}
