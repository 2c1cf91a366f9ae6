//! Figures in the cells of a table: numbers, percentages, or nothing.

use std::fmt;

/// A figure of a table, which may be missing: the vendor's files then say `N/A`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure(pub Option<f64>);

impl Figure {
    /// A figure that isn't known.
    pub const MISSING: Self = Self(None);

    /// Reads a cell: a number, with a percent sign or without; anything else is missing.
    pub fn read(cell: &str) -> Self {
        let cell = cell.trim().trim_end_matches('%').trim_end();
        Self(cell.parse().ok().filter(|value: &f64| value.is_finite()))
    }

    /// A figure of our own making, with at most three decimals.
    pub fn rounded(value: f64) -> Self {
        // An empty sum is -0, which would show its sign.
        Self(value.is_finite().then(|| (value * 1e3).round() / 1e3 + 0.0))
    }

    /// Whether a cell says something that is neither a number nor one of the words for nothing.
    pub fn is_garbled(cell: &str) -> bool {
        let cell = cell.trim();
        !matches!(cell, "" | "N/A" | "-" | "NA" | "nan") && Self::read(cell).0.is_none()
    }
}

impl fmt::Display for Figure {
    /// The shortest digits that mean the number, never an exponent; `N/A` where there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => write!(f, "{value}"),
            None => f.write_str("N/A"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_with_and_without_a_percent_sign() {
        assert_eq!(Figure::read(" 12.50 "), Figure(Some(12.5)));
        assert_eq!(Figure::read("87.3%"), Figure(Some(87.3)));
        assert_eq!(Figure::read("1.00159E+12"), Figure(Some(1.001_59e12)));
        for missing in ["", "N/A", "-", "nan", "inf", "conv1"] {
            assert_eq!(Figure::read(missing), Figure::MISSING, "{missing}");
        }
        assert!(Figure::is_garbled("conv1") && !Figure::is_garbled("N/A") && !Figure::is_garbled("3"));
    }

    #[test]
    fn figures_are_never_written_with_an_exponent() {
        assert_eq!(Figure(Some(1.001_59e12)).to_string(), "1001590000000");
        assert_eq!(Figure(Some(0.000_000_25)).to_string(), "0.00000025");
        assert_eq!(Figure::rounded(2.0 / 3.0).to_string(), "0.667");
        assert_eq!(Figure::rounded(1.0 / 0.0).to_string(), "N/A");
    }
}
