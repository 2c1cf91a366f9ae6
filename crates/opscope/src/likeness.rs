//! "Did you mean …?": how alike two names are, whatever their lengths.

use std::collections::BTreeSet;

use opscope_say::say;
use opscope_trace::{StringId, Trace};

/// The length in bytes above which a name isn't compared: comparing takes time with the product of both lengths,
/// and files may hold many names of a megabyte.
const LONGEST: usize = 256;

/// How alike two names are, from 0 to 1; 0 where one of them is too long to tell.
pub fn likeness(one: &str, other: &str) -> f64 {
    if one.len().max(other.len()) > LONGEST { 0.0 } else { strsim::jaro_winkler(one, other) }
}

/// The name that is most like the wanted one, if any is more like it than `least`.
pub fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>, least: f64) -> Option<&'n str> {
    let compared = names.into_iter().map(|name| (likeness(wanted, name), name));
    let (alike, name) = compared.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (alike > least).then_some(name)
}

/// How alike an operator's name must be to have been meant, from 0 to 1. A short word reaches 0.6 with some type
/// of a network by chance.
const ALIKE: f64 = 0.8;

/// The question whether the operator was meant whose name or type is most like a word that none has; empty where
/// none is like it, or that one is there.
pub fn meant_operator(trace: &Trace, word: &str) -> String {
    let names = trace.operators.name().iter().chain(trace.operators.op_type()).chain(trace.tasks.name());
    let names: BTreeSet<StringId> = names.copied().collect();
    let wanted = word.to_lowercase();
    let compared = names.into_iter().map(|name| trace.strings.get(name));
    let compared = compared.map(|name| (likeness(&wanted, &name.to_lowercase()), name));
    let nearest = compared.max_by(|one, other| one.0.total_cmp(&other.0));
    let nearest = nearest.filter(|(alike, name)| *alike > ALIKE && !name.eq_ignore_ascii_case(word));
    nearest.map_or(String::new(), |(_, name)| say!(" (did you mean '{name}'?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_mended_and_another_word_is_not() {
        assert_eq!(nearest("shap", ["time", "shape", "name"], 0.8), Some("shape"));
        assert_eq!(nearest("x", ["time", "shape", "name"], 0.8), None);
        assert_eq!(nearest("x", [], 0.0), None);
    }

    #[test]
    fn an_operator_is_proposed_for_a_word_that_is_like_it_but_not_for_its_own_type() {
        let mut trace = Trace::new();
        let (name, op_type) = (trace.strings.intern("conv1"), trace.strings.intern("Conv"));
        trace.operators.push(opscope_trace::Operator::new(name, op_type));
        assert!(meant_operator(&trace, "conv11").contains("'conv1'"));
        assert_eq!(
            (meant_operator(&trace, "conv"), meant_operator(&trace, "Softmax")),
            (String::new(), String::new())
        );
    }

    #[test]
    fn names_without_an_end_are_not_compared() {
        let name = "a".repeat(LONGEST);
        assert_eq!(likeness(&name, &name), 1.0);
        // A million letters each would take hours.
        let names: Vec<String> =
            (0..100).map(|number| format!("{}{number}", "a".repeat(1_000_000))).collect();
        assert_eq!(nearest(&names[0], names.iter().map(String::as_str), 0.0), None);
    }
}
