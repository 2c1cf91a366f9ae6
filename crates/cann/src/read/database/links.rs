//! The bytes and times of the steps of collective operations, summed up by link (`COMMUNICATION_TASK_INFO`).

use std::collections::{BTreeMap, HashMap, HashSet};

use opscope_trace::{FigureSubject, FigureTopic, LossKind, Nanoseconds};

use super::reader::Reader;
use super::tasks::TaskRow;
use crate::database::schema::COMMUNICATION_TASK_INFO;
use crate::read::stated::link;

/// The number of a rank that isn't known.
const NO_RANK: u64 = u32::MAX as u64;

/// The steps over one link.
#[derive(Default)]
struct Steps {
    count: u64,
    bytes: u64,
    time: Nanoseconds,
}

impl Reader<'_> {
    /// Sums up the steps that carried bytes. A step without a task has no time, and is counted as such.
    pub(super) fn read_links(&mut self, rows: &[TaskRow]) {
        const COLUMNS: [&str; 6] = COMMUNICATION_TASK_INFO.select([
            "globalTaskId",
            "groupName",
            "srcRank",
            "dstRank",
            "linkType",
            "size",
        ]);
        let names = self.link_names();
        // The runs of each task, of which a replayed one has several, and their time.
        let mut runs: HashMap<i64, (u64, Nanoseconds)> = HashMap::new();
        let mut taken: HashSet<i64> = HashSet::new();
        let mut found: BTreeMap<(String, String), Steps> = BTreeMap::new();
        self.each_row(COMMUNICATION_TASK_INFO.name, &COLUMNS, |reader, row| {
            let Some(bytes) = row.number(5).filter(|bytes| *bytes > 0) else { return };
            if runs.is_empty() {
                for row in rows {
                    let (count, time) = runs.entry(row.global).or_default();
                    *count += 1;
                    *time = Nanoseconds(time.0.saturating_add(row.duration.0));
                }
            }
            let global = row.integer(0).unwrap_or(-1);
            let Some(&(count, time)) = runs.get(&global) else {
                return reader.trace.count_loss(LossKind::ValueWithoutTask, 1, COMMUNICATION_TASK_INFO.name);
            };
            if !taken.insert(global) {
                return;
            }
            let rank = |column| match row.number(column) {
                Some(NO_RANK) | None => "?".to_owned(),
                Some(rank) => rank.to_string(),
            };
            let kind = row.integer(4).and_then(|number| names.get(&number)).map_or("", |name| name);
            let part = format!("{} {kind}", link(&rank(2), &rank(3)));
            let group = reader.texts.find(row.integer(1));
            let group = reader.texts.table.get(group).to_owned();
            let steps = found.entry((group, part.trim_end().to_owned())).or_default();
            steps.count += count;
            steps.bytes = steps.bytes.saturating_add(bytes.saturating_mul(count));
            steps.time = Nanoseconds(steps.time.0.saturating_add(time.0));
        });
        for ((subject, part), steps) in &found {
            let source = COMMUNICATION_TASK_INFO.name;
            let about = FigureSubject { topic: FigureTopic::Link, source, step: "", subject, part };
            let (bytes, time) = (steps.bytes as f64, steps.time.0 as f64);
            let rate = (time > 0.0).then(|| bytes / time * 1e9);
            self.trace.push_figures(
                about,
                &[
                    ("size", "B", Some(bytes)),
                    ("transit", "ns", Some(time)),
                    ("bandwidth", "B/s", rate),
                    ("count", "", Some(steps.count as f64)),
                ],
            );
        }
    }

    /// The kinds of links by number.
    fn link_names(&mut self) -> HashMap<i64, String> {
        let mut names = HashMap::new();
        self.each_row("ENUM_HCCL_LINK_TYPE", &["id", "name"], |_, row| {
            if let (Some(id), Some(name)) = (row.integer(0), row.text(1)) {
                names.insert(id, name.into_owned());
            }
        });
        names
    }
}
