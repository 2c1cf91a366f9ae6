//! The names of ranges within ranges: those around one stand before its own.

use std::cmp::Reverse;

use crate::profile::Span;

/// Ranges this deep and deeper keep their own names, as with the vendor's tool.
const DEEPEST: usize = 100;

/// The bytes of a name at most. A text of any length stands in a database once, but in the results at each range.
const LONGEST: usize = 4_096;

/// The begin of a name that is too long.
pub fn shortened(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST)]
}

/// Names each of some ranges by the path through those that it lies in. Of ranges that begin and end together each
/// lies in the one before, and all get the path of the last.
pub fn paths(ranges: &[(Span, &str)]) -> Vec<String> {
    let mut names: Vec<String> = ranges.iter().map(|(_, name)| shortened(name).to_owned()).collect();
    let mut outer_first: Vec<usize> = (0..ranges.len()).collect();
    outer_first.sort_by_key(|&at| (ranges[at].0.start, Reverse(ranges[at].0.end)));
    let mut around: Vec<Span> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    for together in outer_first.chunk_by(|&a, &b| ranges[a].0 == ranges[b].0) {
        let Some(&(span, _)) = together.first().map(|&at| &ranges[at]) else { continue };
        while around.pop_if(|outer| !outer.holds(span)).is_some() {}
        path.truncate(around.len());
        let mut last = None;
        for &at in together {
            around.push(span);
            if around.len() >= DEEPEST {
                continue;
            }
            let name = match (path.last().map_or("", String::as_str), shortened(ranges[at].1)) {
                ("", name) => name.to_owned(),
                (_, "") => String::new(),
                (outer, name) => shortened(&format!("{outer}::{name}")).to_owned(),
            };
            last = Some(name.clone()).filter(|name| !name.is_empty()).or(last);
            path.push(name);
        }
        if let Some(last) = last {
            together.iter().for_each(|&at| names[at].clone_from(&last));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(ranges: &[(i64, i64, &str)]) -> Vec<String> {
        let ranges: Vec<(Span, &str)> =
            ranges.iter().map(|&(start, end, name)| (Span { start, end }, name)).collect();
        paths(&ranges)
    }

    #[test]
    fn a_range_is_named_by_those_around_it() {
        let names = named(&[(0, 100, "step"), (10, 40, "layer"), (10, 20, "norm"), (50, 120, "late")]);
        assert_eq!(names, ["step", "step::layer", "step::layer::norm", "late"]);
    }

    #[test]
    fn ranges_that_begin_and_end_together_share_the_path_of_the_last() {
        assert_eq!(named(&[(0, 9, "a"), (0, 9, "b"), (1, 2, "c")]), ["a::b", "a::b", "a::b::c"]);
    }

    #[test]
    fn names_of_any_length_are_cut() {
        let long = "é".repeat(3_000);
        let names = named(&[(0, 9, &long), (1, 8, &long), (2, 7, "x")]);
        assert!(names.iter().all(|name| name.len() == LONGEST), "{:?}", names.iter().map(String::len));
    }

    #[test]
    fn the_hundredth_range_within_another_keeps_its_own_name_and_a_hundred_thousand_are_no_matter() {
        let count = 100_000;
        let spans: Vec<(i64, i64, &str)> = (0..count).map(|at| (at, 2 * count - at, "r")).collect();
        let names = named(&spans);
        assert_eq!(names[98].matches("::").count(), 98);
        assert_eq!((&*names[99], &*names[99_999]), ("r", "r"));
    }
}
