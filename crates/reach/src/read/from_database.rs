//! Ranks as the profiler's databases have them.

use std::path::Path;

use opscope_trace::{NumberMap, NumberSet};

use super::{Recording, StatedStep};
use crate::clocks::median;
use crate::database::{Database, Texts, each_row, number, open_telling, text, whole};
use crate::discover::{Collection, key_of_text};
use crate::error::{Loss, LossReason};
use crate::rows::{CollectiveType, LinkRow, StepRow, TaskSpan, Transport, sequence_of, step_at};

/// Reads what a collection has in databases.
pub fn read(collection: &Collection, recording: &mut Recording, losses: &mut Vec<Loss>) {
    let mut broken = |path: &Path, error: rusqlite::Error| {
        let loss = Loss::new(Some(collection.rank), path.display().to_string(), LossReason::Damaged, 1);
        losses.push(loss.because(error));
    };
    if let Some(path) = &collection.outputs.database {
        match open_telling(path) {
            Ok((database, damage)) => {
                for error in or_damage(read_profile(&database, recording), damage) {
                    broken(path, error);
                }
                recording.steps_from = Some(path.clone()).filter(|_| !recording.steps.is_empty());
            }
            Err(error) => broken(path, error),
        }
    }
    if let Some(path) = &collection.outputs.analysis {
        match open_telling(path) {
            Ok((database, damage)) => {
                let had_none = recording.steps.is_empty();
                for error in or_damage(read_analysis(&database, recording), damage) {
                    broken(path, error);
                }
                if had_none && !recording.steps.is_empty() {
                    recording.steps_from = Some(path.clone());
                }
            }
            Err(error) => broken(path, error),
        }
    }
}

/// Why tables broke off, or else why SQLite refused the database at first: tables that it lost whole don't break off.
fn or_damage(broken: Vec<rusqlite::Error>, damage: Option<rusqlite::Error>) -> Vec<rusqlite::Error> {
    if broken.is_empty() { damage.into_iter().collect() } else { broken }
}

/// Reads `ascend_pytorch_profiler_N.db`; returns why tables broke off.
fn read_profile(database: &Database, recording: &mut Recording) -> Vec<rusqlite::Error> {
    let mut errors = Vec::new();
    let (texts, done) = Texts::read(database);
    errors.extend(done.err());
    let steps = &mut recording.steps;
    let done = each_row(database, "STEP_TIME", &["id", "startNs", "endNs"], |row| {
        if let (Some(step), Some(start), Some(end)) = (whole(row, 0), whole(row, 1), whole(row, 2))
            && let Ok(step) = i32::try_from(step)
        {
            let duration_ns = end.saturating_sub(start);
            steps.push(StepRow { step, start_ns: Some(start), duration_ns, preparing_ns: None });
        }
    });
    errors.extend(done.err());
    recording.steps.sort_by_key(|step| step.start_ns);
    number_apart(&mut recording.steps);
    let mut computing = NumberSet::default();
    let done = each_row(database, "COMPUTE_TASK_INFO", &["globalTaskId"], |row| {
        computing.extend(whole(row, 0));
    });
    errors.extend(done.err());
    let tasks = &mut recording.tasks;
    let done = each_row(database, "TASK", &["globalTaskId", "startNs", "endNs"], |row| {
        if whole(row, 0).is_some_and(|id| computing.contains(&id))
            && let (Some(start_ns), Some(end_ns)) = (whole(row, 1), whole(row, 2))
        {
            tasks.push(TaskSpan { start_ns, end_ns });
        }
    });
    errors.extend(done.err());
    if texts.is_empty() && !recording.tasks.is_empty() {
        recording.is_nameless = true;
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        let why = "STRING_IDS has no texts, so that nothing tells the operators".to_owned();
        errors.push(rusqlite::Error::SqliteFailure(code, Some(why)));
    }
    errors.extend(read_collectives(database, &texts, recording));
    let mut frequencies = Vec::new();
    let done = each_row(database, "AICORE_FREQ", &["freq"], |row| {
        frequencies.extend(number(row, 0).filter(|mhz| *mhz > 0.0));
    });
    errors.extend(done.err());
    recording.frequency_mhz = (!frequencies.is_empty()).then(|| median(&mut frequencies));
    errors
}

/// Numbers steps in their order where several have one number: they would count as a single one.
fn number_apart(steps: &mut Vec<StepRow>) {
    steps.dedup();
    let mut numbers: Vec<i32> = steps.iter().map(|step| step.step).collect();
    numbers.sort_unstable();
    numbers.dedup();
    if let Some(first) = steps.first().map(|step| step.step).filter(|_| numbers.len() < steps.len()) {
        for (step, number) in steps.iter_mut().zip(first..) {
            step.step = number;
        }
    }
}

/// Reads `COMMUNICATION_OP`, and of sends and receives the other side.
fn read_collectives(database: &Database, texts: &Texts, recording: &mut Recording) -> Vec<rusqlite::Error> {
    let mut errors = Vec::new();
    let mut places = NumberMap::default();
    let mut keys = NumberMap::default();
    let columns = ["opName", "groupName", "startNs", "endNs", "count", "dataType", "opId"];
    let mut has_pairs = false;
    let done = each_row(database, "COMMUNICATION_OP", &columns, |row| {
        let (Some(start), Some(end)) = (whole(row, 2), whole(row, 3)) else { return };
        let name = texts.get(whole(row, 0));
        let group = whole(row, 1).unwrap_or(-1);
        let of_group = texts.get(Some(group));
        if is_ungrouped(name, of_group) {
            recording.unmatchable.ungrouped += 1;
            return;
        }
        let key = *keys.entry(group).or_insert_with(|| key_of_text(of_group));
        let step = step_at(&recording.steps, start);
        let place = recording.collectives.len();
        let entered = recording.collective(name, key, step, start, end.saturating_sub(start));
        let Some(entered) = entered else { return };
        let count = whole(row, 4).and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
        entered.bytes = count.saturating_mul(bytes_of_type(whole(row, 5)));
        if let Some(id) = whole(row, 6).filter(|_| entered.kind.is_between_two()) {
            has_pairs = true;
            places.insert(id, place);
        }
    });
    errors.extend(done.err());
    if has_pairs {
        let columns = ["opId", "srcRank", "dstRank"];
        let done = each_row(database, "COMMUNICATION_TASK_INFO", &columns, |row| {
            let Some(place) = whole(row, 0).and_then(|id| places.get(&id)) else { return };
            // Both sides of both directions are listed from the rank's own place: it is the source.
            let small = |column| whole(row, column).and_then(|number| u32::try_from(number).ok());
            if let (Some(src), Some(dst)) = (small(1), small(2))
                && src != dst
            {
                recording.collectives[*place].peer = Some(dst);
            }
        });
        errors.extend(done.err());
    }
    errors
}

/// Whether a collective could be matched but for its group, which isn't told: those of all groups would be one.
fn is_ungrouped(name: &str, group: &str) -> bool {
    group.is_empty() && sequence_of(name).is_some()
}

/// Reads `analysis.db`; returns why tables broke off.
fn read_analysis(database: &Database, recording: &mut Recording) -> Vec<rusqlite::Error> {
    let mut errors = Vec::new();
    let had_none = recording.steps.is_empty();
    let done = each_row(database, "StepTraceTime", &STEP_COLUMNS, |row| {
        if let Some(step) = whole(row, 0).and_then(|step| i32::try_from(step).ok()) {
            match had_none {
                true => recording.stated_step(step, stated(row)),
                false => drop(recording.other_steps.insert(step, stated(row))),
            }
        }
    });
    errors.extend(done.err());
    if recording.collectives.is_empty() {
        // These stand for those of the profile.
        let unmatchable = std::mem::take(&mut recording.unmatchable);
        let done = each_row(database, "CommAnalyzerTime", &time_columns("elapse_time"), |row| {
            enter_time(row, recording);
        });
        errors.extend(done.err());
        if recording.collectives.is_empty() {
            recording.unmatchable.add(unmatchable);
        }
    }
    let done = each_row(database, "CommAnalyzerMatrix", &LINK_COLUMNS, |row| {
        enter_link(row, recording, |_, place| Some(place));
    });
    errors.extend(done.err());
    errors
}

/// The columns of a collective in tables of their times, whose word for the length differs.
pub fn time_columns(elapsed: &'static str) -> [&'static str; 5] {
    ["hccl_op_name", "group_name", "start_timestamp", elapsed, "step"]
}

/// Enters a collective by [`time_columns`]: microseconds since 1970, and milliseconds.
pub fn enter_time(row: &rusqlite::Row<'_>, recording: &mut Recording) {
    let (Some(start), Some(elapsed)) = (number(row, 2), number(row, 3)) else { return };
    if is_ungrouped(text(row, 0), text(row, 1)) {
        recording.unmatchable.ungrouped += 1;
        return;
    }
    let (start, duration) = ((start * 1e3) as i64, (elapsed * 1e6) as i64);
    recording.collective(text(row, 0), key_of_text(text(row, 1)), step_number(text(row, 4)), start, duration);
}

/// The columns of a link in matrices.
pub const LINK_COLUMNS: [&str; 8] = [
    "hccl_op_name",
    "group_name",
    "src_rank",
    "dst_rank",
    "transport_type",
    "transit_size",
    "transit_time",
    "step",
];

/// Enters a link by [`LINK_COLUMNS`]: megabytes and milliseconds. `place` gives the place in the group, by its key, of
/// each side.
pub fn enter_link(
    row: &rusqlite::Row<'_>,
    recording: &mut Recording,
    place: impl Fn(u64, u32) -> Option<u32>,
) {
    let Some(kind) = text(row, 0).strip_suffix("-total") else { return };
    let group_key = key_of_text(text(row, 1));
    let side = |column| place(group_key, whole(row, column).and_then(|it| u32::try_from(it).ok())?);
    let (Some(src), Some(dst)) = (side(2), side(3)) else { return };
    recording.links.push(LinkRow {
        group_key,
        kind: CollectiveType::of_name(kind),
        step: step_number(text(row, 7)),
        src,
        dst,
        transport: Transport::of_word(text(row, 4)),
        bytes: number(row, 5).unwrap_or(0.0) * 1e6,
        time_ns: number(row, 6).unwrap_or(0.0) * 1e6,
    });
}

/// The columns of a step in the tables of steps.
pub const STEP_COLUMNS: [&str; 6] =
    ["step", "computing", "communication_not_overlapped", "overlapped", "free", "preparing"];

/// The parts of a step by [`STEP_COLUMNS`].
pub fn stated(row: &rusqlite::Row<'_>) -> StatedStep {
    let [computing, exposed, overlapped, free, preparing] = [1, 2, 3, 4, 5].map(|column| number(row, column));
    StatedStep { computing, exposed, overlapped, free, preparing }
}

/// The number of a step's name, such as `step10`; 0 where it has none.
pub fn step_number(name: &str) -> i32 {
    name.trim_start_matches("step").trim().parse().unwrap_or(0)
}

/// The bytes of an element, by the vendor's numbers of HCCL's types.
fn bytes_of_type(number: Option<i64>) -> u64 {
    match number {
        Some(0 | 7 | 14..=17) => 1,
        Some(1 | 3 | 8 | 11) => 2,
        Some(2 | 4 | 9) => 4,
        Some(5 | 6 | 10) => 8,
        Some(12) => 16,
        _ => 0,
    }
}
