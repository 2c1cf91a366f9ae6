//! Properties of a rank and its collectives that only sets keep: nothing is judged by them.

use opscope_trace::NumberMap;

use super::from_text::{Times, named_operation};
use crate::database::{Database, Texts, each_row, number, open, text, whole};
use crate::discover::{Collection, key_of_text};
use crate::json_tree::each_value;
use crate::rows::{CollectiveRow, CollectiveType, sequence_of};

/// How far the starts of one collective may lie apart in two tables of a rank, in nanoseconds: some have microseconds.
const SAME_NS: u64 = 1_000;

/// A collective's properties, as far as the profile tells them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// The elements' type, by the vendor's name; empty where it isn't told.
    pub data_type: String,
    /// The vendor's word for the way of the data, such as `HD-MESH`; likewise.
    pub algorithm: String,
    /// The time under transfers, by the vendor's analysis.
    pub transit_ns: Option<i64>,
    /// The time under waiting, by the same.
    pub wait_ns: Option<i64>,
    /// The part of that before the first transfer.
    pub sync_ns: Option<i64>,
}

/// The details of a rank's collectives, by [`places_of`] them.
#[derive(Debug, Default)]
pub struct Details(NumberMap<u64, Vec<Known>>);

/// A collective of a group with its details.
#[derive(Debug)]
struct Known {
    kind: CollectiveType,
    sequence: i32,
    start_ns: i64,
    detail: Detail,
}

impl Known {
    fn is(&self, kind: CollectiveType, sequence: i32, start_ns: i64) -> bool {
        (self.kind, self.sequence) == (kind, sequence) && self.start_ns.abs_diff(start_ns) <= SAME_NS
    }
}

impl Details {
    /// The details of a collective, if there are any.
    pub fn of(&self, row: &CollectiveRow) -> Option<&Detail> {
        let places = places_of(row.group_key, row.sequence, row.start_ns);
        let mut all = places.iter().filter_map(|place| self.0.get(place)).flatten();
        all.find(|it| it.is(row.kind, row.sequence, row.start_ns)).map(|it| &it.detail)
    }

    /// The details to fill in of a collective, by its operator's name; none where that has no number.
    fn entry(&mut self, name: &str, group_key: u64, start_ns: i64) -> Option<&mut Detail> {
        let (kind, sequence) = (CollectiveType::of_name(name), sequence_of(name)?);
        let is_it = |it: &Known| it.is(kind, sequence, start_ns);
        let places = places_of(group_key, sequence, start_ns);
        let known =
            places.into_iter().find(|place| self.0.get(place).is_some_and(|all| all.iter().any(is_it)));
        let all = self.0.entry(known.unwrap_or(places[0])).or_default();
        let place = all.iter().position(is_it).unwrap_or_else(|| {
            all.push(Known { kind, sequence, start_ns, detail: Detail::default() });
            all.len() - 1
        });
        all.get_mut(place).map(|it| &mut it.detail)
    }
}

/// Where details of a group's collective of a number may lie, perhaps beside others: a place for each stretch of time of
/// the length of what counts as the same, and those before and behind it.
fn places_of(group_key: u64, sequence: i32, start: i64) -> [u64; 3] {
    let stretch = start.div_euclid(SAME_NS as i64 + 1);
    [stretch, stretch.wrapping_sub(1), stretch.wrapping_add(1)].map(|stretch| {
        let number = u64::from(sequence.unsigned_abs()).rotate_left(40);
        group_key ^ number ^ (stretch as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    })
}

/// Reads the details of a rank's collectives. What can't be read is missing, which reading the rank has told.
pub fn details(collection: &Collection) -> Details {
    let mut details = Details::default();
    if let Some(database) = collection.outputs.database.as_ref().and_then(|path| open(path).ok()) {
        let _ = of_profile(&database, &mut details);
    }
    if let Some(database) = collection.outputs.analysis.as_ref().and_then(|path| open(path).ok()) {
        let _ = of_analysis(&database, &mut details);
    } else if let Some(path) = &collection.outputs.communication {
        let _ = each_value(path, 3, |names, times: Times| {
            if let [_, _, operation] = names {
                of_text(operation, &times, &mut details);
            }
        });
    }
    details
}

/// Types and algorithms.
fn of_profile(database: &Database, details: &mut Details) -> rusqlite::Result<()> {
    let (texts, _) = Texts::read(database);
    let mut types = NumberMap::default();
    each_row(database, "ENUM_HCCL_DATA_TYPE", &["id", "name"], |row| {
        if let Some(id) = whole(row, 0) {
            types.insert(id, text(row, 1).to_owned());
        }
    })?;
    let mut keys = NumberMap::default();
    let columns = ["opName", "groupName", "startNs", "dataType", "algType"];
    each_row(database, "COMMUNICATION_OP", &columns, |row| {
        let Some(start) = whole(row, 2) else { return };
        let group = whole(row, 1).unwrap_or(-1);
        let key = *keys.entry(group).or_insert_with(|| key_of_text(texts.get(Some(group))));
        if let Some(detail) = details.entry(texts.get(whole(row, 0)), key, start) {
            let of_type = whole(row, 3).and_then(|id| types.get(&id));
            detail.data_type = of_type.cloned().unwrap_or_default();
            detail.algorithm = texts.get(whole(row, 4)).to_owned();
        }
    })
}

/// Times of the vendor's analysis.
fn of_analysis(database: &Database, details: &mut Details) -> rusqlite::Result<()> {
    let columns = [
        "hccl_op_name",
        "group_name",
        "start_timestamp",
        "transit_time",
        "wait_time",
        "synchronization_time",
    ];
    each_row(database, "CommAnalyzerTime", &columns, |row| {
        let Some(start) = number(row, 2) else { return };
        let (key, start) = (key_of_text(text(row, 1)), (start * 1e3) as i64);
        if let Some(detail) = details.entry(text(row, 0), key, start) {
            take_times(detail, [3, 4, 5].map(|column| number(row, column)));
        }
    })
}

fn of_text(operation: &str, times: &Times, details: &mut Details) {
    let Some((name, group)) = named_operation(operation) else { return };
    let Some((start_us, parts)) = times.parts() else { return };
    if let Some(detail) = details.entry(name, key_of_text(group), (start_us * 1e3) as i64) {
        take_times(detail, parts);
    }
}

/// Takes transfer, waiting and what of it was before the first transfer, in milliseconds.
fn take_times(detail: &mut Detail, milliseconds: [Option<f64>; 3]) {
    let can_be = |it: &f64| (0.0..super::LONGEST_NS as f64).contains(&(it * 1e6));
    let [transit, wait, sync] = milliseconds.map(|it| it.filter(can_be).map(|it| (it * 1e6).round() as i64));
    (detail.transit_ns, detail.wait_ns, detail.sync_ns) = (transit, wait, sync);
}

/// The name of a rank's chip; empty where the profile doesn't tell.
pub fn chip(collection: &Collection) -> String {
    let mut chip = String::new();
    if let Some(database) = collection.outputs.database.as_ref().and_then(|path| open(path).ok()) {
        let device = collection.device.map(i64::from);
        let _ = each_row(&database, "NPU_INFO", &["id", "name"], |row| {
            if chip.is_empty() || whole(row, 0) == device {
                text(row, 1).clone_into(&mut chip);
            }
        });
    }
    chip
}
