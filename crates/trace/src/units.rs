//! How quantities are written for people, and how durations are read from them.

use crate::Nanoseconds;

/// A duration with the unit that suits it: `870 ns`, `1.23 µs`, `45.6 ms`, `2.00 s`.
pub fn duration(duration: Nanoseconds) -> String {
    let nanoseconds = duration.0 as f64;
    if nanoseconds.abs() < 1_000.0 {
        return format!("{nanoseconds} ns");
    }
    scaled(nanoseconds / 1e3, 1_000.0, &["µs", "ms", "s"])
}

/// A number of operations: `236 MFLOP`.
pub fn flops(operations: f64) -> String {
    scaled(operations, 1_000.0, &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"])
}

/// A rate of operations: `45.9 GFLOP/s`.
pub fn flop_rate(operations_per_second: f64) -> String {
    let units = ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"];
    scaled(operations_per_second, 1_000.0, &units)
}

/// A number of bytes: `3.67 MiB`.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, 1_024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// A rate of bytes: `714 MiB/s`.
pub fn byte_rate(bytes_per_second: f64) -> String {
    scaled(bytes_per_second, 1_024.0, &["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"])
}

/// A share as a percentage: `4.1 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `value` with three significant digits and the first unit in which it is below `step`.
fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let (mut unit, rest) = units.split_first().map_or(("", units), |(first, rest)| (*first, rest));
    for next in rest {
        // 999.6 would be written as 1000: it already belongs to the next unit.
        if value.abs() < step - 0.5 {
            break;
        }
        value /= step;
        unit = next;
    }
    let decimals = match value.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    // Whole numbers of the smallest unit need no decimals.
    let decimals =
        if unit == units.first().copied().unwrap_or("") && value.fract() == 0.0 { 0 } else { decimals };
    format!("{value:.decimals$} {unit}")
}

/// Reads a duration as people write it: `50us`, `1.5ms`, `2s`, `1min`. A bare number but 0 is refused:
/// some tools mean seconds by it, others microseconds.
///
/// # Errors
/// With a sentence that says what is wrong.
pub fn parse_duration(text: &str) -> Result<Nanoseconds, String> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let value: f64 = number
        .parse()
        .map_err(|_| format!("'{text}' is not a duration; write one like 50us, 1.5ms or 2s"))?;
    let nanoseconds = match unit.trim() {
        "ns" => 1.0,
        "" if value == 0.0 => 1.0,
        "" => {
            return Err(format!(
                "'{text}' lacks its unit: write {number}s for seconds, {number}us for microseconds"
            ));
        }
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        other => return Err(format!("'{other}' is not a unit of time; use ns, us, ms, s or min")),
    };
    let total = value * nanoseconds;
    if total > i64::MAX as f64 {
        return Err(format!("'{text}' is too long a time"));
    }
    Ok(Nanoseconds(total.round() as i64))
}

/// Reads a rate of operations as people and data sheets write it: `22TFLOPS`, `150 GFLOP/s`, `1.5T`; a
/// bare number is operations a second.
///
/// # Errors
/// With a sentence that says what is wrong.
pub fn parse_flop_rate(text: &str) -> Result<f64, String> {
    // `flo/s` is what earlier versions wrote.
    let endings = ["flops", "flop/s", "flo/s", "ops", "op/s", ""];
    parse_rate(text, &endings, "22TFLOPS or 150GFLOP/s")
}

/// Reads a rate of bytes: `40GB/s`, `1.2 TiB/s`; a bare number is bytes a second.
///
/// # Errors
/// With a sentence that says what is wrong.
pub fn parse_byte_rate(text: &str) -> Result<f64, String> {
    parse_rate(text, &["b/s", "bps", "b", ""], "40GB/s or 1.2TiB/s")
}

/// Reads a number of bytes: `8GB`, `512 MiB`; a bare number is bytes.
///
/// # Errors
/// With a sentence that says what is wrong.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no number of bytes; write one like 8GB or 512MiB");
    let bytes = parse_scaled(text, &["b", ""]).ok_or_else(wrong)?;
    if bytes < 1.0 || bytes > u64::MAX as f64 { Err(wrong()) } else { Ok(bytes as u64) }
}

/// A number with a prefix and one of the endings of a rate, in whichever case.
fn parse_rate(text: &str, endings: &[&str], like: &str) -> Result<f64, String> {
    parse_scaled(text, endings).ok_or_else(|| format!("'{text}' is no rate; write one like {like}"))
}

/// A number above zero with a prefix and one of some endings, in whichever case.
fn parse_scaled(text: &str, endings: &[&str]) -> Option<f64> {
    let lower = text.trim().to_ascii_lowercase();
    let split = lower.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(lower.len());
    let value: f64 = lower[..split].parse().ok()?;
    let unit = lower[split..].trim();
    let prefixes =
        [("ki", 1024.0), ("mi", 1024.0_f64.powi(2)), ("gi", 1024.0_f64.powi(3)), ("ti", 1024.0_f64.powi(4))];
    let prefixes =
        prefixes.into_iter().chain([("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12), ("p", 1e15), ("", 1.0)]);
    let mut matching = prefixes
        .filter(|(prefix, _)| unit.strip_prefix(prefix).is_some_and(|ending| endings.contains(&ending)));
    let (_, factor) = matching.next()?;
    Some(value * factor).filter(|value| value.is_finite() && *value > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_scale_for_reading() {
        assert_eq!(duration(Nanoseconds(870)), "870 ns");
        assert_eq!(duration(Nanoseconds(1_234)), "1.23 µs");
        assert_eq!(duration(Nanoseconds(999_999)), "1.00 ms");
        assert_eq!(duration(Nanoseconds(45_600_000)), "45.6 ms");
        assert_eq!(duration(Nanoseconds(7_200_000_000_000)), "7200 s");
        assert_eq!(flops(236.03e6), "236 MFLOP");
        assert_eq!(flops(12.0), "12 FLOP");
        assert_eq!(flop_rate(45.92e9), "45.9 GFLOP/s");
        assert_eq!(bytes(3.67 * 1024.0 * 1024.0), "3.67 MiB");
        assert_eq!(bytes(512.0), "512 B");
        assert_eq!(byte_rate(714.0 * 1024.0 * 1024.0), "714 MiB/s");
        assert_eq!(percent(0.0407), "4.1 %");
    }

    /// Three hundred quantities, their kinds in turn: every size of number, halves that have to be rounded, edges of
    /// units; the same each time.
    fn cases() -> String {
        type Written = fn(f64) -> String;
        let kinds: [(&str, Written); 6] = [
            ("duration", |value| duration(Nanoseconds(value as i64))),
            ("flops", flops),
            ("flop_rate", flop_rate),
            ("bytes", bytes),
            ("byte_rate", byte_rate),
            ("percent", percent),
        ];
        let mut state: u64 = 20;
        let mut chance = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let line = |number: usize| {
            let (kind, written) = kinds[number % kinds.len()];
            let step = if kind.starts_with("byte") { 1_024.0 } else { 1_000.0 };
            let size = 10_f64.powf(chance() * 15.0);
            let value = match (kind, number / kinds.len() % 5) {
                ("percent", 0) => (chance() * 2_000.0).round() / 2_000.0,
                ("percent", _) => chance() * 1.2 - 0.1,
                (_, 0) => size.round(),
                // Halves in the last digit, which go to the even one.
                (_, 1) => (chance() * 8_000.0).round() / 8.0 * step,
                (_, 2) => step.powi((chance() * 5.0) as i32) * (step - chance()),
                (_, 3) => -size.round(),
                _ if kind == "duration" => (chance() * 2_000.0).round(),
                _ => size,
            };
            let value = if kind == "duration" { value.round() } else { value };
            format!("[\"{kind}\", {value:?}, \"{}\"]", written(value))
        };
        let lines: Vec<String> = (0..300).map(line).collect();
        format!("[\n{}\n]\n", lines.join(",\n"))
    }

    #[test]
    fn the_page_is_held_to_quantities_as_they_are_written_here() {
        const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../web/check/unit/units.json");
        // Part of the test, which is also run on machines that have no sources.
        const KEPT: &str = include_str!("../../web/check/unit/units.json");
        if std::env::var_os("OPSCOPE_BLESS").is_some() {
            return std::fs::write(FILE, cases()).unwrap();
        }
        assert!(KEPT == cases(), "OPSCOPE_BLESS=1 writes {FILE} anew");
    }

    #[test]
    fn rates_are_read_as_data_sheets_write_them() {
        assert_eq!(parse_flop_rate("22TFLOPS"), Ok(22e12));
        assert_eq!(parse_flop_rate("1.5 GFLO/s"), Ok(1.5e9));
        assert_eq!(parse_flop_rate("2e9").ok(), None);
        assert_eq!(parse_flop_rate("1000"), Ok(1000.0));
        assert_eq!(parse_byte_rate("40GB/s"), Ok(40e9));
        assert_eq!(parse_byte_rate("1GiB/s"), Ok(1024.0 * 1024.0 * 1024.0));
        assert!(parse_byte_rate("fast").unwrap_err().contains("40GB/s"));
        assert!(parse_byte_rate("0").is_err() && parse_byte_rate("-1GB/s").is_err());
    }

    #[test]
    fn sizes_are_read_with_either_kind_of_prefix() {
        assert_eq!(parse_bytes("1000"), Ok(1000));
        assert_eq!(parse_bytes("8GB"), Ok(8_000_000_000));
        assert_eq!(parse_bytes("1.5 MiB"), Ok(3 << 19));
        for wrong in ["", "much", "0", "-1", "0.1", "1e30TB", "nan", "5 pages"] {
            assert!(parse_bytes(wrong).is_err_and(|text| text.contains("512MiB")), "{wrong}");
        }
    }

    #[test]
    fn durations_are_read_with_their_unit_and_refused_without() {
        assert_eq!(parse_duration("50us"), Ok(Nanoseconds(50_000)));
        assert_eq!(parse_duration("1.5ms"), Ok(Nanoseconds(1_500_000)));
        assert_eq!(parse_duration("2 s"), Ok(Nanoseconds(2_000_000_000)));
        assert_eq!(parse_duration("0"), Ok(Nanoseconds(0)));
        let refusal = parse_duration("3").unwrap_err();
        assert!(refusal.contains("3s") && refusal.contains("3us"), "{refusal}");
        assert!(parse_duration("fast").unwrap_err().contains("50us"));
        assert!(parse_duration("5 parsecs").unwrap_err().contains("parsecs"));
        assert!(parse_duration("99999999999999s").unwrap_err().contains("too long"));
        assert!(parse_duration("-1s").is_err());
    }
}
