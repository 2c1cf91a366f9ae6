//! Operators of which one side has one and the other all that it is made of: softmax, GELU, and the normalisation of a
//! sum. Exporters write them out where an operator set lacks them, and engines make one of them again.
//!
//! Parts run one behind another, in an order that other operators hardly have by chance. Where both sides have as many
//! of an operator left, be it as one or written out, they are the same in their order.

use super::absorb::Fate;
use super::align::{Entries, Entry, Groups};

/// An operator by its kind, and its parts. Those before the last may run in any order, as half of a product does that is
/// needed late.
struct Form {
    whole: &'static str,
    parts: &'static [&'static str],
}

/// By operator, the longer ones first.
const FORMS: [Form; 6] = [
    Form { whole: "softmax", parts: &["max", "sub", "exp", "sum", "div"] },
    // x · ½ · (1 + tanh(√(2/π) · (x + 0.044715 · x³))), whose power may be two products.
    Form { whole: "gelu", parts: &["mul", "mul", "mul", "add", "mul", "tanh", "add", "mul", "mul"] },
    Form { whole: "gelu", parts: &["pow", "mul", "add", "mul", "tanh", "add", "mul", "mul"] },
    // x · ½ · (1 + erf(x ÷ √2)).
    Form { whole: "gelu", parts: &["div", "erf", "add", "mul", "mul"] },
    Form { whole: "gelu", parts: &["mul", "erf", "add", "mul", "mul"] },
    Form { whole: "skiplayernormalization", parts: &["add", "layernormalization"] },
];

const WHOLES: [&str; 3] = ["softmax", "gelu", "skiplayernormalization"];

/// The kind of a part as forms name it: reductions and products with numbers have several.
fn part_of(kind: &str) -> &str {
    match kind {
        "adds" => "add",
        "muls" => "mul",
        "power" => "pow",
        "reducemax" | "reducemaxd" => "max",
        "reducesum" | "reducesumd" => "sum",
        kind => kind,
    }
}

/// An operator of a side that has no counterpart so far.
enum Found {
    /// One, by its place.
    Whole(usize),
    /// The places of its parts.
    Parts(Vec<usize>),
}

impl Found {
    /// The place of what gives its result.
    fn last(&self) -> Option<usize> {
        match self {
            Self::Whole(place) => Some(*place),
            Self::Parts(places) => places.last().copied(),
        }
    }

    fn places(&self) -> &[usize] {
        match self {
            Self::Whole(place) => std::slice::from_ref(place),
            Self::Parts(places) => places,
        }
    }
}

/// Joins operators that one side has written out with those of the other. `fit` says whether the shapes of one of A and
/// of one of B agree: where some do, others that don't are of other operators.
pub(super) fn by_parts(
    entries: &Entries,
    kinds: &[String],
    fates: &[Fate],
    may_be_one: impl Fn(usize, usize) -> bool,
    fit: impl Fn(usize, usize) -> Option<bool>,
    groups: &mut Groups,
) {
    for whole in WHOLES {
        let [of_a, of_b] = [0, 1].map(|side| left_of(whole, entries.of(side), groups.of(side), kinds, fates));
        if of_a.len() != of_b.len() {
            continue;
        }
        let is_written_once = |(one, other): &(&Found, &Found)| {
            matches!((one, other), (Found::Whole(_), Found::Parts(_)) | (Found::Parts(_), Found::Whole(_)))
        };
        let pairs = of_a.iter().zip(&of_b).filter(is_written_once);
        let pairs: Vec<_> = pairs
            .filter_map(|(one, other)| {
                let (before, after) = one.last().zip(other.last())?;
                may_be_one(before, after).then(|| (one, other, before, after, fit(before, after)))
            })
            .collect();
        let do_shapes_tell = pairs.iter().any(|(.., fit)| *fit == Some(true));
        for (one, other, before, after, fit) in pairs {
            if do_shapes_tell && fit == Some(false) {
                continue;
            }
            let group = groups.count();
            groups.pair(before, after);
            one.places().iter().for_each(|place| groups.set(0, *place, group));
            other.places().iter().for_each(|place| groups.set(1, *place, group));
        }
    }
}

/// The operators of a kind on one side without a group, as one or written out, in the order in which they ran.
fn left_of(
    whole: &str,
    entries: &[Entry],
    groups: &[Option<usize>],
    kinds: &[String],
    fates: &[Fate],
) -> Vec<Found> {
    let rows = entries.iter().enumerate().filter(|(_, entry)| fates[entry.kind.index()] != Fate::Between);
    // An operator with a group is nobody's part.
    let rows: Vec<(usize, Option<&str>)> = rows
        .map(|(place, entry)| (place, groups[place].is_none().then(|| part_of(&kinds[entry.kind.index()]))))
        .collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((place, kind)) = rows.get(at) {
        let mut forms = FORMS.iter().filter(|form| form.whole == whole);
        let run = forms.find_map(|form| rows.get(at..at + form.parts.len()).filter(|run| is_of(form, run)));
        if let Some(run) = run {
            found.push(Found::Parts(run.iter().map(|(place, _)| *place).collect()));
            at += run.len();
            continue;
        }
        if *kind == Some(whole) {
            found.push(Found::Whole(*place));
        }
        at += 1;
    }
    found
}

/// Whether operators in a row are all parts of a form, the last one last.
fn is_of(form: &Form, run: &[(usize, Option<&str>)]) -> bool {
    let count_in_run = |part: &str| run.iter().filter(|(_, kind)| *kind == Some(part)).count();
    let count_in_form = |part: &str| form.parts.iter().filter(|other| **other == part).count();
    run.last().is_some_and(|(_, kind)| *kind == form.parts.last().copied())
        && form.parts.iter().all(|part| count_in_run(part) == count_in_form(part))
}
