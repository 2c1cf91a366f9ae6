//! How many tokens came to each rank's experts: `ep_load_balance`.

use std::collections::BTreeMap;
use std::path::Path;

use opscope_reach::Collection;
use opscope_reach::database::{Database, Texts, each_row, whole};
use opscope_trace::NumberSet;

use crate::error::PeerError;
use crate::profile::{Span, wanted};
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table};

const SUMMARY: Table = Table {
    name: "EPTokensSummary",
    columns: &[("rank", Kind::Integer), ("epRanks", Kind::Text), ("inputShapesSummary", Kind::Integer)],
    index: &[],
};

const WIDEST: Table = Table {
    name: "TopEPTokensInfo",
    columns: &[("epRanks", Kind::Text), ("tokensDiff", Kind::Integer)],
    index: &[],
};

/// The operator that multiplies each expert's tokens with its weights.
const OPERATOR: &str = "GroupedMatmul";

/// The framework's name of groups of experts.
const GROUP: &str = "exp";

/// The tokens in the shapes of an operator's inputs: the first dimensions of all but the last two. `None` where
/// there are fewer than two inputs, or one of these isn't a number.
fn tokens(shapes: &str) -> Option<i64> {
    let inputs: Vec<&str> = shapes.trim_matches('"').split(';').filter(|input| !input.is_empty()).collect();
    let counted = inputs.len().checked_sub(2)?;
    inputs[..counted].iter().try_fold(0, |sum: i64, input| {
        let rows: i64 = input.split(',').next()?.trim().parse().ok()?;
        sum.checked_add(rows)
    })
}

/// Writes the tables, of a step or of all; returns whether any rank has such an operator. Without, nothing is written.
///
/// # Errors
/// When the result can't be written.
pub fn balance(ranks: &Ranks, step: Option<i64>, path: &Path) -> Result<bool, PeerError> {
    let groups: Vec<(Vec<u32>, String)> = ranks
        .groups
        .values()
        .filter(|group| group.name == GROUP)
        .map(|group| {
            let mut members = group.ranks.clone();
            members.sort_unstable();
            let text = members.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            (members, text)
        })
        .collect();
    let mut rows: Vec<(u32, &str, i64)> = Vec::new();
    let Ok(()) = ranks.each(
        |collection| read(ranks, collection, step),
        |collection, sum| {
            let group = groups.iter().find(|(members, _)| members.contains(&collection.rank));
            if let (Some(sum), Some((_, text))) = (sum, group) {
                rows.push((collection.rank, text, sum));
            }
            Ok::<_, std::convert::Infallible>(())
        },
    );
    if rows.is_empty() {
        return Ok(false);
    }
    let mut ranges: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for (_, text, sum) in &rows {
        let range = ranges.entry(text).or_insert((*sum, *sum));
        *range = (range.0.min(*sum), range.1.max(*sum));
    }
    let mut widest: Vec<(&str, i64)> =
        ranges.into_iter().map(|(text, (low, high))| (text, high - low)).collect();
    widest.sort_by_key(|(_, difference)| -difference);
    Output::write(path, |output| {
        let mut table = output.table(&SUMMARY)?;
        rows.iter().try_for_each(|row| table.row(*row))?;
        let mut table = output.table(&WIDEST)?;
        widest.iter().try_for_each(|row| table.row(*row))
    })?;
    Ok(true)
}

fn read(ranks: &Ranks, collection: &Collection, step: Option<i64>) -> Option<i64> {
    let mut sum: Option<i64> = None;
    ranks.read(collection, File::Profile, |database| {
        let Some(within) = wanted(database, step)? else { return Ok(()) };
        let mut of_step = NumberSet::default();
        let tasks = match step {
            Some(_) => read_tasks(database, within, &mut of_step),
            None => Ok(()),
        };
        let (texts, done) = Texts::read(database);
        let columns = ["opType", "inputShapes", "globalTaskId"];
        let rows = each_row(database, "COMPUTE_TASK_INFO", &columns, |row| {
            let is_meant = step.is_none() || whole(row, 2).is_some_and(|id| of_step.contains(&id));
            if texts.get(whole(row, 0)) == OPERATOR
                && is_meant
                && let Some(tokens) = tokens(texts.get(whole(row, 1)))
            {
                sum = Some(sum.unwrap_or(0).saturating_add(tokens));
            }
        });
        done.and(tasks).and(rows)
    });
    sum
}

/// Reads which tasks lie in a stretch of time as a whole, as the vendor's tool asks here.
fn read_tasks(database: &Database, within: Span, found: &mut NumberSet<i64>) -> rusqlite::Result<()> {
    each_row(database, "TASK", &["globalTaskId", "startNs", "endNs"], |row| {
        if let (Some(id), Some(start), Some(end)) = (whole(row, 0), whole(row, 1), whole(row, 2))
            && within.holds(Span { start, end })
        {
            found.insert(id);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_inputs_hold_the_tokens() {
        assert_eq!(tokens("\"1031,2048;1031,2048;2048,1408;2048,1408\""), Some(2062));
        assert_eq!(tokens("\"16384,4096;8,4096,2048;;;;;;8\""), Some(16384));
        assert_eq!(
            (tokens("\"5,3;6,4\""), tokens("\"7,3\""), tokens("\"x,2;4,5;6,7\"")),
            (Some(0), None, None)
        );
    }
}
