//! Numbers as Python writes and reads them.

/// `%g`: so many significant digits, no trailing zeros, an exponent where it is shorter.
pub fn general(value: f64, digits: usize) -> String {
    significant(value, digits, digits as i32, false)
}

/// `{:.3}` of a float: three significant digits, always with a point or an exponent.
pub fn brief(value: f64) -> String {
    significant(value, 3, 2, true)
}

/// `%.Nf`: so many decimals.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{value:.decimals$}") }
}

/// `%.1f%%`: a fraction as a percentage.
pub fn percent(fraction: f64) -> String {
    fixed(fraction * 100.0, 1) + "%"
}

/// `repr`: the fewest digits that give the same number again.
pub fn shortest(value: f64) -> String {
    if !value.is_finite() {
        return not_finite(value);
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    // So many digits are needed; rounding to them anew decides a tie as Python does.
    let behind_first = mantissa.bytes().filter(u8::is_ascii_digit).count().saturating_sub(1);
    if !(-4..16).contains(&exponent) {
        let rounded = format!("{value:.behind_first$e}");
        return with_exponent(rounded.split_once('e').map_or(mantissa, |(mantissa, _)| mantissa), exponent);
    }
    let decimals = (behind_first as i32 - exponent).max(1) as usize;
    format!("{value:.decimals$}")
}

/// The digits of `value` to so many significant ones; from the decimal exponent `from` on, and
/// below −4, they get an exponent. Trailing zeros go, but for one behind the point where
/// `keep_point`.
fn significant(value: f64, digits: usize, from: i32, keep_point: bool) -> String {
    if !value.is_finite() {
        return not_finite(value);
    }
    // Rounding comes first, because it may change the exponent: 9.999 has three digits as 10.0.
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    if !(-4..from).contains(&exponent) {
        return with_exponent(trimmed(mantissa), exponent);
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    let plain = format!("{value:.decimals$}");
    let plain = if decimals > 0 { trimmed(&plain) } else { &plain };
    if keep_point && !plain.contains('.') { format!("{plain}.0") } else { plain.to_owned() }
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Without zeros at the end of the decimals, and without a point that nothing follows.
fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

fn not_finite(value: f64) -> String {
    let word = if value.is_nan() {
        "nan"
    } else if value > 0.0 {
        "inf"
    } else {
        "-inf"
    };
    word.to_owned()
}

/// Reads an integer as `int(text)` does: white space around it, a sign, single underscores between
/// digits.
///
/// A number beyond 64 bits comes out as the nearest that fits.
pub fn parse_int(text: &str) -> Option<i64> {
    let text = text.trim_matches(is_space);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let plain = without_underscores(digits)?;
    if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = plain.parse().unwrap_or(i64::MAX);
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

/// Reads a number as `float(text)` does.
pub fn parse_float(text: &str) -> Option<f64> {
    let plain = without_underscores(text.trim_matches(is_space))?;
    // Rust's parser knows the same words and forms.
    plain.parse().ok()
}

/// The text without underscores, each of which must stand between two digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let valid = bytes
        .iter()
        .enumerate()
        .all(|(at, byte)| *byte != b'_' || (digit(at.checked_sub(1)) && digit(Some(at + 1))));
    valid.then(|| text.replace('_', ""))
}

/// Whether Python's `str.strip` takes a character away.
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_always_a_point_or_an_exponent() {
        let expected = [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (10.0, "10.0"),
            (99.95, "1e+02"),
            (123.4, "1.23e+02"),
            (0.0256, "0.0256"),
            (0.0001, "0.0001"),
            (0.00009, "9e-05"),
            (1e-6, "1e-06"),
            (-0.5, "-0.5"),
            (1e16, "1e+16"),
            (1e-300, "1e-300"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ];
        for (value, text) in expected {
            assert_eq!(brief(value), text);
        }
    }

    #[test]
    fn general_numbers_drop_their_trailing_zeros() {
        let expected = [
            (0.302563, "0.302563"),
            (1_522_758.3, "1.52276e+06"),
            (236.0, "236"),
            (999_999.5, "1e+06"),
            (100_000.0, "100000"),
            (0.00001, "1e-05"),
            (0.0, "0"),
            (-0.0, "-0"),
        ];
        for (value, text) in expected {
            assert_eq!(general(value, 6), text);
        }
        assert_eq!(general(1.0 / 3.0, 15), "0.333333333333333");
    }

    #[test]
    fn the_shortest_text_gives_the_same_number_again() {
        let expected = [
            (0.001473000000000002, "0.001473000000000002"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (100.0, "100.0"),
            (217_070_695_134_331.62, "217070695134331.62"),
            (0.0, "0.0"),
        ];
        for (value, text) in expected {
            assert_eq!(shortest(value), text);
        }
    }

    #[test]
    fn percentages_and_decimals_name_what_is_not_finite() {
        assert_eq!(percent(0.0407), "4.1%");
        assert_eq!(percent(f64::NAN), "nan%");
        assert_eq!(fixed(f64::INFINITY, 2), "inf");
        assert_eq!(fixed(0.125, 2), "0.12");
    }

    #[test]
    fn text_is_read_as_a_number_where_python_does() {
        assert_eq!(parse_int(" -1_000 "), Some(-1000));
        assert_eq!(parse_int("99999999999999999999"), Some(i64::MAX));
        for text in ["", "-", "1__0", "_1", "1_", "3.0", "0x1", "- 1", "x"] {
            assert_eq!(parse_int(text), None, "{text}");
        }
        assert_eq!(parse_float("1_0.5e-1"), Some(1.05));
        assert_eq!(parse_float(" infinity\n"), Some(f64::INFINITY));
        assert!(parse_float("nan").is_some_and(f64::is_nan));
        for text in ["", "N/A", "1.2.3", "1e", "0x1p3", "1_.5"] {
            assert_eq!(parse_float(text), None, "{text}");
        }
    }
}
