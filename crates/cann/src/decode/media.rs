//! Use of the engines for pictures and videos, a text file (`dvpp.data`).
//!
//! Fields of a line: time with a colon; on the 910 and chips with STARS the unit; kind of engine, engine;
//! microseconds, frames and use in percent since the start, of the process, and of the last second. The
//! first line is mostly a heading.

use std::collections::BTreeMap;

use crate::decode::network::each_line;
use crate::slices::Stream;
use crate::tables::{MediaSample, MediaTable};
use opscope_trace::Losses;

/// Decodes the file; `has_units` where lines name the unit.
pub(super) fn engines(
    streams: &[Stream],
    has_units: bool,
    losses: &mut Losses,
) -> (MediaTable, BTreeMap<[u32; 3], String>) {
    let (mut table, mut used) = (MediaTable::default(), BTreeMap::new());
    each_line(streams, losses, |line| {
        let (sample, percent) = engine_line(line, has_units)?;
        table.push(sample);
        used.insert(sample.engine, percent.to_owned());
        Some(())
    });
    (table, used)
}

/// A sample, and the use since the start as it is written.
fn engine_line(line: &str, has_units: bool) -> Option<(MediaSample, &str)> {
    const FIELDS: usize = 11;
    let fields: Vec<&str> = line.split_whitespace().collect();
    let at = usize::from(has_units);
    if fields.len() != FIELDS + at {
        return None;
    }
    let number = |place: usize| fields[place].parse::<u32>().ok();
    let unit = if has_units { number(1)? } else { 0 };
    let engine = [unit, number(at + 1)?, number(at + 2)?];
    let real = |place: usize| fields[place].parse::<f64>().ok().filter(|value| value.is_finite());
    let percent = fields[at + 5].trim_matches('%');
    percent.parse::<f64>().ok().filter(|value| value.is_finite())?;
    Some((MediaSample { engine, time: real(at + 3)?, frames: real(at + 4)? }, percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_the_unit_on_some_chips() {
        let rest = "4 1 200 30 12% 5 6 7% 8 9";
        let line = format!("17: 3 {rest}");
        let (sample, percent) = engine_line(&line, true).expect("a sample");
        assert_eq!((sample.engine, sample.time, sample.frames, percent), ([3, 4, 1], 200.0, 30.0, "12"));
        assert_eq!(engine_line(&format!("17: {rest}"), false).map(|it| it.0.engine), Some([0, 4, 1]));
        assert!(engine_line(&format!("17: {rest}"), true).is_none());
        assert!(engine_line("17: 4 1 inf 30 12% 5 6 7% 8 9", false).is_none());
    }
}
