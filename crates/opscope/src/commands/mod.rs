//! One file for each command: its options and what it does.

pub mod advise;
pub mod analyze;
pub mod check;
pub mod cluster;
pub mod collect;
pub mod compare;
pub mod completions;
pub mod demo;
pub mod explain;
pub mod export;
mod form;
pub mod formats;
pub mod fusion;
mod html;
pub mod import;
mod import_raw;
pub mod info;
pub mod load_and_run;
pub mod locate;
pub mod man;
pub mod mcp;
pub mod msprof;
pub mod msprof_analyze;
mod outputs;
pub mod peak;
pub mod profile_analyze;
pub mod query;
pub mod report;
pub mod rewrite;
pub mod run;
pub mod sample;
mod sample_cluster;
mod sample_prof;
pub mod serve;
pub mod show;
pub mod sql;
mod stamp;
pub mod tune;
mod vendor;
pub mod whatif;

use opscope_say::{say, word};

use crate::exit::Exit;
use crate::terminal::Terminal;

/// The command line, for commands that have others carried out: words without the program's name, and the
/// usage to name where they can't be parsed, if it is another than the command's own.
type CarryOut<'a> = &'a dyn Fn(&[&str], Option<String>, &Terminal) -> anyhow::Result<Exit>;

/// A time with its unit, for a limit; a bare number is seconds.
///
/// # Errors
/// With what is wrong with it, for the command line.
fn limit(text: &str) -> Result<std::time::Duration, String> {
    if let Ok(seconds) = text.parse::<f64>() {
        let wrong = |_| say!("expected a time such as 5, 1.5 or 10min, found '{text}'");
        return std::time::Duration::try_from_secs_f64(seconds).map_err(wrong);
    }
    let nanoseconds = opscope_trace::units::parse_duration(text)?;
    let nanoseconds =
        u64::try_from(nanoseconds.0).map_err(|_| word("a time can't be negative").to_owned())?;
    Ok(std::time::Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::limit;

    #[test]
    fn a_limit_without_a_unit_is_in_seconds() {
        assert_eq!(limit("2"), Ok(Duration::from_secs(2)));
        assert_eq!(limit("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(limit("10min"), Ok(Duration::from_secs(600)));
        for wrong in ["-1", "soon", "nan", "inf", ""] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }
}
