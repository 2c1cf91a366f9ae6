//! "Did you mean …?": how alike two names are, whatever their lengths.

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
    fn names_without_an_end_are_not_compared() {
        let name = "a".repeat(LONGEST);
        assert_eq!(likeness(&name, &name), 1.0);
        // A million letters each would take hours.
        let names: Vec<String> =
            (0..100).map(|number| format!("{}{number}", "a".repeat(1_000_000))).collect();
        assert_eq!(nearest(&names[0], names.iter().map(String::as_str), 0.0), None);
    }
}
