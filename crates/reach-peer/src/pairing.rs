//! Names by which a send and its receive find one another: `p2p_pairing`, which adds the column `opConnectionId` to
//! `COMMUNICATION_OP`.
//!
//! The name is `GROUP_FROM_TO_NUMBER`: the group's number from the operator's name, the places of both ranks in the
//! group, and how many sends and receives between these places the rank had before, of any group.

use opscope_reach::Collection;
use opscope_reach::database::{Database, Texts, each_row, whole};
use opscope_trace::{NumberMap, NumberSet};

use crate::Options;
use crate::copies::Destination;
use crate::error::PeerError;
use crate::profile::{Span, wanted};
use crate::ranks::Ranks;
use crate::table::Output;

/// The column that is added.
const COLUMN: &str = "opConnectionId";

/// The tasks that know the other rank.
const KINDS: [&str; 2] = ["Notify_Record", "Notify_Wait"];

/// The direction of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Send,
    Receive,
}

/// A send or receive.
struct Operator<'t> {
    name: i64,
    direction: Direction,
    /// The number of its group.
    domain: &'t str,
    start: i64,
    /// The rank's own place in the group, and the other's.
    places: (i64, i64),
}

/// Names the sends and receives of all ranks; returns whether there are any. Ranks without are left as they are.
///
/// # Errors
/// When a rank can't be written, or another program is writing it.
pub fn write(ranks: &Ranks, options: &Options, destination: &Destination) -> Result<bool, PeerError> {
    destination.check(ranks)?;
    let mut any = false;
    let of_rank = |collection: &Collection| {
        let find = |database: &Database| {
            let Some(within) = wanted(database, options.step)? else { return Ok(None) };
            let names = named(ranks, collection, database, within)?;
            Ok(Some(names).filter(|names| !names.is_empty()))
        };
        destination.add(ranks, collection, find, |names, output| add(names, output))
    };
    ranks.each(of_rank, |_, written| {
        any |= written?;
        Ok::<_, PeerError>(())
    })?;
    Ok(any)
}

/// The names of a rank's sends and receives, by the numbers of the operators' names.
///
/// # Errors
/// When a table breaks off.
pub fn named(
    ranks: &Ranks,
    collection: &Collection,
    database: &Database,
    within: Span,
) -> rusqlite::Result<Vec<(i64, String)>> {
    let (texts, done) = Texts::read(database);
    done?;
    let mut launched = NumberSet::default();
    each_row(database, "CANN_API", &["connectionId", "startNs"], |row| {
        let is_within = whole(row, 1).is_some_and(|start| within.contains(start));
        launched.extend(whole(row, 0).filter(|_| is_within));
    })?;
    let operators = operators(database, &texts, &launched)?;
    let (found, unclear) = with_places(database, &texts, operators)?;
    if unclear > 0 {
        ranks.remark(
            collection,
            format!("{unclear} sends or receives are between more than two places; left out"),
        );
    }
    Ok(numbered(found))
}

/// Adds the names to a database.
///
/// # Errors
/// SQLite's.
pub fn add(names: &[(i64, String)], output: &Output) -> rusqlite::Result<()> {
    let database = output.database();
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('COMMUNICATION_OP') WHERE name = ?1)";
    if !database.query_row(sql, [COLUMN], |row| row.get(0))? {
        database.execute_batch(&format!("ALTER TABLE COMMUNICATION_OP ADD COLUMN {COLUMN} TEXT"))?;
    }
    database.execute_batch("CREATE TEMP TABLE named (operator INTEGER PRIMARY KEY, name TEXT)")?;
    let mut insert = database.prepare("INSERT OR REPLACE INTO temp.named VALUES (?1, ?2)")?;
    names.iter().try_for_each(|name| insert.execute((name.0, &name.1)).map(drop))?;
    // The others get NULL, also where an earlier run had named them.
    database.execute_batch(&format!(
        "UPDATE main.COMMUNICATION_OP SET {COLUMN} = (SELECT name FROM temp.named WHERE operator = opName); \
         DROP TABLE temp.named"
    ))
}

/// The sends and receives that a call launched, by their numbers, with the groups' names.
fn operators<'t>(
    database: &Database,
    texts: &'t Texts,
    launched: &NumberSet<i64>,
) -> rusqlite::Result<NumberMap<i64, (Operator<'t>, &'t str)>> {
    let mut operators = NumberMap::default();
    let columns = ["opId", "opName", "groupName", "startNs", "connectionId"];
    each_row(database, "COMMUNICATION_OP", &columns, |row| {
        let (Some(id), Some(name), Some(start)) = (whole(row, 0), whole(row, 1), whole(row, 3)) else {
            return;
        };
        let is_launched = whole(row, 4).is_some_and(|connection| launched.contains(&connection));
        if let Some((direction, domain)) = parts_of(texts.get(Some(name))).filter(|_| is_launched) {
            let operator = Operator { name, direction, domain, start, places: (0, 0) };
            operators.insert(id, (operator, texts.get(whole(row, 2))));
        }
    })?;
    Ok(operators)
}

/// The direction and the group's number in a name such as `hcom_send__233_58_1`.
fn parts_of(name: &str) -> Option<(Direction, &str)> {
    let rest = name.strip_prefix("hcom_")?;
    let (word, numbers) = rest.split_once("__")?;
    let direction = match word {
        "send" | "Send" => Direction::Send,
        "receive" | "Receive" | "recv" | "Recv" => Direction::Receive,
        _ => return None,
    };
    let mut numbers = numbers.splitn(3, '_');
    let domain = numbers.next()?;
    let are_numbers = is_number(domain) && is_number(numbers.next()?) && is_number(numbers.next()?);
    are_numbers.then_some((direction, domain))
}

/// Whether a text is digits alone, and no more of them than a number of 64 bits has.
fn is_number(text: &str) -> bool {
    text.len() <= 20 && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The operators whose tasks all tell the same two places, the first of each name, and how many names have several.
fn with_places<'t>(
    database: &Database,
    texts: &Texts,
    operators: NumberMap<i64, (Operator<'t>, &'t str)>,
) -> rusqlite::Result<(Vec<Operator<'t>>, usize)> {
    struct Found {
        operator: i64,
        own: Option<i64>,
        other: Option<i64>,
        is_clear: bool,
    }
    let mut by_name: NumberMap<i64, Found> = NumberMap::default();
    let columns = ["opId", "groupName", "srcRank", "dstRank", "taskType"];
    each_row(database, "COMMUNICATION_TASK_INFO", &columns, |row| {
        let Some(id) = whole(row, 0) else { return };
        let Some((operator, group)) = operators.get(&id) else { return };
        if texts.get(whole(row, 1)) != *group || !KINDS.contains(&texts.get(whole(row, 4))) {
            return;
        }
        let (own, other) = (whole(row, 2), whole(row, 3));
        let found =
            by_name.entry(operator.name).or_insert(Found { operator: id, own, other, is_clear: true });
        let agrees = |known: &mut Option<i64>, place: Option<i64>| {
            *known = known.or(place);
            place.is_none() || *known == place
        };
        let (own, other) = (agrees(&mut found.own, own), agrees(&mut found.other, other));
        found.is_clear &= own && other;
    })?;
    let mut operators = operators;
    let unclear = by_name.values().filter(|found| !found.is_clear).count();
    let clear = by_name.into_values().filter(|found| found.is_clear).filter_map(|found| {
        let (operator, _) = operators.remove(&found.operator)?;
        Some(Operator { places: (found.own?, found.other?), ..operator })
    });
    Ok((clear.collect(), unclear))
}

/// Numbers operators by their begins among those between the same places.
fn numbered(mut operators: Vec<Operator<'_>>) -> Vec<(i64, String)> {
    operators.sort_by_key(|it| (it.start, it.name));
    let mut counts: std::collections::HashMap<(i64, i64), u64> = std::collections::HashMap::new();
    let name = |it: Operator<'_>| {
        let (from, to) = match it.direction {
            Direction::Send => it.places,
            Direction::Receive => (it.places.1, it.places.0),
        };
        let count = counts.entry((from, to)).or_default();
        let name = format!("{}_{from}_{to}_{count}", it.domain);
        *count += 1;
        (it.name, name)
    };
    operators.into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sends_and_receives_tell_their_group() {
        assert_eq!(parts_of("hcom_send__233_58_1"), Some((Direction::Send, "233")));
        assert_eq!(parts_of("hcom_Recv__007_0_1"), Some((Direction::Receive, "007")));
        for other in ["hcom_send__233_58", "hcom_send__233_58_1_2", "hcom_allReduce__233_58_1", "send__1_2_3"]
        {
            assert_eq!(parts_of(other), None, "{other}");
        }
        assert_eq!((parts_of("hcom_send__2x_58_1"), parts_of("hcom_send__233__1")), (None, None));
    }

    #[test]
    fn operators_are_counted_by_their_begins_and_places_of_any_group() {
        let operator =
            |name, direction, domain, start, places| Operator { name, direction, domain, start, places };
        let names = numbered(vec![
            operator(1, Direction::Send, "8", 20, (0, 1)),
            operator(2, Direction::Receive, "8", 30, (0, 1)),
            operator(3, Direction::Send, "9", 10, (0, 1)),
            operator(4, Direction::Receive, "9", 40, (1, 0)),
        ]);
        let texts: Vec<(i64, &str)> = names.iter().map(|(name, text)| (*name, &**text)).collect();
        assert_eq!(texts, [(3, "9_0_1_0"), (1, "8_0_1_1"), (2, "8_1_0_0"), (4, "9_0_1_2")]);
    }
}
