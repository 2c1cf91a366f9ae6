//! Links as the tasks of collectives tell them, for databases beside which no matrix has their sums (`analysis.db`,
//! `communication_matrix.json`).
//!
//! | table | what it tells |
//! |---|---|
//! | `COMMUNICATION_OP` | name, group and start of each operation, by which it is one of the rank's collectives |
//! | `COMMUNICATION_TASK_INFO` | its tasks: planes, places in the group, kinds of links, bytes |
//! | `TASK` | when they ran |
//!
//! `srcRank` is the rank's own place in the group and `dstRank` the other side's, as in the matrix, or 2³² − 1 where there is
//! none.
//!
//! The vendor's matrix is made of the same tasks. A copy is one task, which takes as long: its sums are those of the matrix in
//! recordings that have both. A message over RDMA is only posted by its task. By the vendor's parser, whose sources are public
//! (msprof, `analysis/msparser/cluster`), it takes until the end of a later task of its plane: behind the last of its parts in
//! a row come notices and waits for the other side, four of them, of sends and receives two. Where most messages of a group
//! have no such end, none of its links are told: with the others alone it would pass for a group whose links are all known.

use std::collections::BTreeMap;

use opscope_trace::NumberMap;

use super::{LATEST_NS, LONGEST_NS};
use crate::database::{Database, Texts, each_row, open, whole};
use crate::discover::{Collection, key_of_text};
use crate::error::{Loss, LossReason};
use crate::rows::{CollectiveRow, CollectiveType, LinkRow, RankRows, Transport, sequence_of};

/// The number of a rank that isn't told.
const NO_RANK: u32 = u32::MAX;

/// The vendor's numbers of transports that are RDMA (`ENUM_HCCL_TRANSPORT_TYPE`).
const RDMA: i64 = 1;
const ROCE: i64 = 4;

/// The vendor's number of a message's part among the tasks of RDMA (`ENUM_HCCL_RDMA_TYPE`), and the first and the last of all
/// that are known.
const PAYLOAD: i64 = 1;
const FIRST_KIND: i64 = 0;
const LAST_KIND: i64 = 5;

/// How a task moves bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It moves none.
    Not,
    /// As long as it runs.
    Copy,
    /// It posts a part of a message.
    Part,
    /// It posts a message, or a notice: older versions don't tell which.
    Untold,
}

/// A task of a collective.
#[derive(Clone, Debug)]
struct Task {
    /// The collective, by its place among the rank's.
    collective: u32,
    plane: i64,
    start_ns: i64,
    end_ns: i64,
    /// The rank's own place in the group.
    own: u32,
    /// The other side's; the own one where there is none.
    other: u32,
    transport: Transport,
    way: Way,
    bytes: u64,
}

/// Group, operation, step, sender, receiver and kind of link.
type Key = (u64, CollectiveType, i32, u32, u32, Transport);

/// The links of a rank.
#[derive(Default)]
struct Links {
    /// Bytes and nanoseconds.
    sums: BTreeMap<Key, (f64, f64)>,
    /// By group, how many messages have an end, and how many have none.
    messages: BTreeMap<u64, (u64, u64)>,
}

/// Adds a rank's links where nothing told any.
pub fn add(collection: &Collection, rows: &mut RankRows, losses: &mut Vec<Loss>) {
    let Some(path) = collection.outputs.database.as_ref().filter(|_| rows.links.is_empty()) else { return };
    if rows.collectives.is_empty() {
        return;
    }
    // That it can't be opened is told where its collectives are read.
    let Ok(database) = open(path) else { return };
    let source = path.display().to_string();
    let (links, done) = links_of(&database, &rows.collectives);
    if let Err(error) = done {
        let is_told = |loss: &Loss| loss.reason == LossReason::Damaged && loss.source == source;
        if !losses.iter().any(is_told) {
            let loss = Loss::new(Some(collection.rank), source.clone(), LossReason::Damaged, 1);
            losses.push(loss.because(error));
        }
    }
    let (links, untimed) = links.told();
    rows.links = links;
    if untimed > 0 {
        losses.push(Loss::new(Some(collection.rank), source, LossReason::UntimedTransfers, untimed));
    }
}

/// The links of collectives; and why a table broke off.
fn links_of(database: &Database, collectives: &[CollectiveRow]) -> (Links, rusqlite::Result<()>) {
    let mut links = Links::default();
    let (mut tasks, done) = read_tasks(database, collectives);
    // The sort is stable: tasks that begin at once stay as the table has them.
    tasks.sort_by_key(|task| (task.collective, task.plane, task.start_ns));
    for of_plane in tasks.chunk_by(|a, b| (a.collective, a.plane) == (b.collective, b.plane)) {
        links.add(&collectives[of_plane[0].collective as usize], of_plane);
    }
    (links, done)
}

impl Links {
    /// Adds the tasks of a collective's plane, in their order.
    fn add(&mut self, collective: &CollectiveRow, tasks: &[Task]) {
        let behind = if collective.kind.is_between_two() { 2 } else { 4 };
        let mut at = 0;
        while let Some(task) = tasks.get(at) {
            let parts = tasks[at..].iter().take_while(|task| task.way == Way::Part).count();
            let end = match task.way {
                Way::Not | Way::Untold => None,
                Way::Copy => Some(at),
                Way::Part => Some(at + parts - 1 + behind).filter(|end| *end < tasks.len()),
            };
            if matches!(task.way, Way::Part | Way::Untold) {
                let (timed, untimed) = self.messages.entry(collective.group_key).or_default();
                *(if end.is_some() { timed } else { untimed }) += 1;
            }
            let moved = &tasks[at..at + parts.max(1)];
            if let Some(end) = end {
                let bytes = moved.iter().map(|part| part.bytes as f64).sum::<f64>();
                let time = tasks[end].end_ns.saturating_sub(task.start_ns);
                self.enter(collective, task, bytes, time as f64);
            }
            at = end.map_or(at + moved.len(), |end| end + 1);
        }
    }

    fn enter(&mut self, collective: &CollectiveRow, task: &Task, bytes: f64, time_ns: f64) {
        let (src, dst) = match collective.kind {
            CollectiveType::Receive => (task.other, task.own),
            _ => (task.own, task.other),
        };
        let key = (collective.group_key, collective.kind, collective.step, src, dst, task.transport);
        let sum = self.sums.entry(key).or_default();
        *sum = (sum.0 + bytes, sum.1 + time_ns);
    }

    /// The links that are told, and how many messages of the other groups have no end.
    fn told(mut self) -> (Vec<LinkRow>, u64) {
        self.messages.retain(|_, (timed, untimed)| untimed > timed);
        self.sums.retain(|(group, ..), _| !self.messages.contains_key(group));
        let row = |((group_key, kind, step, src, dst, transport), (bytes, time_ns)): (Key, (f64, f64))| {
            LinkRow { group_key, kind, step, src, dst, transport, bytes, time_ns }
        };
        let untimed = self.messages.values().map(|(_, untimed)| *untimed).sum::<u64>();
        (self.sums.into_iter().map(row).collect(), untimed)
    }
}

/// Reads the tasks of collectives, in any order; and why a table broke off.
fn read_tasks(database: &Database, collectives: &[CollectiveRow]) -> (Vec<Task>, rusqlite::Result<()>) {
    let (places, found) = places(database, collectives);
    let mut tasks: Vec<Task> = Vec::new();
    let mut numbers: NumberMap<i64, usize> = NumberMap::default();
    let columns = [
        "opId",
        "globalTaskId",
        "planeId",
        "srcRank",
        "dstRank",
        "transportType",
        "rdmaType",
        "linkType",
        "size",
    ];
    let infos = each_row(database, "COMMUNICATION_TASK_INFO", &columns, |row| {
        let place = whole(row, 0).and_then(|operation| places.get(&operation).copied());
        let (Some(collective), Some(number)) = (place, whole(row, 1)) else { return };
        let rank = |column| {
            let rank = whole(row, column).and_then(|rank| u32::try_from(rank).ok());
            rank.filter(|rank| *rank != NO_RANK)
        };
        let bytes = whole(row, 8).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        let (own, way) = match rank(3) {
            Some(own) if bytes > 0 => (own, way_of(whole(row, 5), whole(row, 6))),
            own => (own.unwrap_or(NO_RANK), Way::Not),
        };
        numbers.insert(number, tasks.len());
        tasks.push(Task {
            collective,
            plane: whole(row, 2).unwrap_or(-1),
            start_ns: 0,
            end_ns: 0,
            own,
            other: rank(4).unwrap_or(own),
            transport: transport_of(whole(row, 7)),
            way,
            bytes,
        });
    });
    let done = found.and(infos);
    if tasks.iter().all(|task| task.way == Way::Not) {
        return (Vec::new(), done);
    }
    let times = each_row(database, "TASK", &["globalTaskId", "startNs", "endNs"], |row| {
        let Some(place) = whole(row, 0).and_then(|number| numbers.get(&number)) else { return };
        if let (Some(start), Some(end)) = (whole(row, 1), whole(row, 2)) {
            (tasks[*place].start_ns, tasks[*place].end_ns) = (start, end);
        }
    });
    // A task without a time, or with one that can't be, tells nothing.
    tasks.retain(|task| {
        let length = task.end_ns.saturating_sub(task.start_ns);
        (1..LATEST_NS).contains(&task.start_ns) && (0..LONGEST_NS).contains(&length)
    });
    (tasks, done.and(times))
}

/// By the numbers of operations, the places of the collectives that they are; and why a table broke off.
fn places(database: &Database, collectives: &[CollectiveRow]) -> (NumberMap<i64, u32>, rusqlite::Result<()>) {
    let key = |(place, it): (usize, &CollectiveRow)| {
        ((it.group_key, it.kind, it.sequence, it.start_ns), place as u32)
    };
    let known: NumberMap<(u64, CollectiveType, i32, i64), u32> =
        collectives.iter().enumerate().map(key).collect();
    let mut places = NumberMap::default();
    let mut keys: NumberMap<i64, u64> = NumberMap::default();
    let (texts, told) = Texts::read(database);
    let columns = ["opId", "opName", "groupName", "startNs"];
    let operations = each_row(database, "COMMUNICATION_OP", &columns, |row| {
        let (name, group) = (texts.get(whole(row, 1)), whole(row, 2).unwrap_or(-1));
        let group = *keys.entry(group).or_insert_with(|| key_of_text(texts.get(Some(group))));
        if let (Some(operation), Some(sequence), Some(start)) =
            (whole(row, 0), sequence_of(name), whole(row, 3))
            && let Some(place) = known.get(&(group, CollectiveType::of_name(name), sequence, start))
        {
            places.insert(operation, *place);
        }
    });
    (places, told.and(operations))
}

/// How a task moves its bytes, by the vendor's numbers of its transport and of its kind.
fn way_of(transport: Option<i64>, kind: Option<i64>) -> Way {
    match (transport, kind) {
        (_, Some(PAYLOAD)) => Way::Part,
        (Some(RDMA | ROCE), Some(FIRST_KIND..=LAST_KIND)) => Way::Not,
        (Some(RDMA | ROCE), _) => Way::Untold,
        _ => Way::Copy,
    }
}

/// The kind of a link, by the vendor's numbers (`ENUM_HCCL_LINK_TYPE`).
fn transport_of(link: Option<i64>) -> Transport {
    match link {
        Some(0) => Transport::Local,
        // The second is by a switch.
        Some(1 | 5) => Transport::Hccs,
        Some(2) => Transport::Pcie,
        Some(3 | 6) => Transport::Rdma,
        Some(4) => Transport::Sio,
        _ => Transport::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database of operations (number, name, start), tasks (operation, number, plane, sides, transport, kind, link, bytes)
    /// and times (number, start, end).
    fn database(operations: &str, tasks: &str, times: &str) -> Database {
        let database = rusqlite::Connection::open_in_memory().expect("a database in memory");
        let sql = format!(
            "CREATE TABLE STRING_IDS (id, value);
             INSERT INTO STRING_IDS VALUES
                 (1, 'hcom_allReduce__097_5_1'), (2, 'hcom_receive__097_6_1'), (3, 'group');
             CREATE TABLE COMMUNICATION_OP (opId, opName, startNs, groupName DEFAULT 3);
             INSERT INTO COMMUNICATION_OP (opId, opName, startNs) VALUES {operations};
             CREATE TABLE COMMUNICATION_TASK_INFO
                 (opId, globalTaskId, planeId, srcRank, dstRank, transportType, rdmaType, linkType, size);
             INSERT INTO COMMUNICATION_TASK_INFO VALUES {tasks};
             CREATE TABLE TASK (globalTaskId, startNs, endNs);
             INSERT INTO TASK VALUES {times};"
        );
        database.execute_batch(&sql).expect("tables");
        database.into()
    }

    /// Operation, step, sides and kind of a link, its bytes and time.
    type Told = (CollectiveType, i32, [u32; 2], Transport, [f64; 2]);

    /// The links of two collectives of one group, and messages without an end. One collective is of all, from 100 on, and
    /// one is a receive, from 500 on.
    fn told(database: &Database) -> (Vec<Told>, u64) {
        let key = key_of_text("group");
        let collectives = [
            CollectiveRow::new(key, 5, CollectiveType::AllReduce, 10, 100, 300),
            CollectiveRow::new(key, 6, CollectiveType::Receive, 11, 500, 100),
        ];
        let (links, done) = links_of(database, &collectives);
        done.expect("sound tables");
        let (rows, untimed) = links.told();
        let plain =
            |row: LinkRow| (row.kind, row.step, [row.src, row.dst], row.transport, [row.bytes, row.time_ns]);
        (rows.into_iter().map(plain).collect(), untimed)
    }

    #[test]
    fn copies_take_as_long_as_they_run_and_are_summed_up_by_link() {
        // Two copies to one place, a wait, one within the device; one of a receive; one of an operation that is no collective
        // of the rank's; one that never ran.
        let copies = database(
            "(7, 1, 100), (8, 2, 500), (9, 1, 700)",
            "(7, 1, 0, 0, 1, 0, 65535, 1, 1000), (7, 2, 1, 0, 1, 0, 65535, 5, 500),
             (7, 3, 0, 0, 1, 2, 65535, 65535, 0), (7, 4, 0, 0, 4294967295, 0, 65535, 0, 32),
             (8, 5, 0, 0, 3, 0, 65535, 2, 64),
             (9, 6, 0, 0, 1, 0, 65535, 1, 900),
             (7, 7, 0, 0, 2, 0, 65535, 1, 70)",
            "(1, 110, 140), (2, 150, 170), (3, 100, 105), (4, 180, 182), (5, 510, 550), (6, 710, 720)",
        );
        let expected = [
            (CollectiveType::AllReduce, 10, [0, 0], Transport::Local, [32.0, 2.0]),
            (CollectiveType::AllReduce, 10, [0, 1], Transport::Hccs, [1500.0, 50.0]),
            (CollectiveType::Receive, 11, [3, 0], Transport::Pcie, [64.0, 40.0]),
        ];
        assert_eq!(told(&copies), (expected.to_vec(), 0));
    }

    /// A message of two parts to place 2, and what comes behind it in its plane.
    const MESSAGE: &str = "(7, 1, 3, 0, 2, 1, 1, 3, 600), (7, 2, 3, 0, 2, 1, 1, 3, 400),
        (7, 3, 3, 0, 2, 1, 0, 3, 4), (7, 4, 3, 0, 2, 2, 65535, 65535, 0),
        (7, 5, 3, 0, 2, 1, 0, 3, 4), (7, 6, 3, 0, 2, 2, 65535, 65535, 0)";
    const TIMES: &str =
        "(1, 110, 112), (2, 113, 115), (3, 116, 117), (4, 118, 190), (5, 191, 192), (6, 193, 210)";

    #[test]
    fn a_message_takes_until_the_other_side_has_answered() {
        let of_all = database("(7, 1, 100)", MESSAGE, TIMES);
        let expected = (CollectiveType::AllReduce, 10, [0, 2], Transport::Rdma, [1000.0, 100.0]);
        assert_eq!(told(&of_all), (vec![expected], 0));
        let receive = "(8, 1, 0, 0, 2, 1, 1, 3, 600), (8, 2, 0, 0, 2, 1, 1, 3, 400),
            (8, 3, 0, 0, 2, 1, 0, 3, 4), (8, 4, 0, 0, 2, 2, 65535, 65535, 0)";
        let of_two = database("(8, 2, 500)", receive, TIMES);
        let expected = (CollectiveType::Receive, 11, [2, 0], Transport::Rdma, [1000.0, 80.0]);
        assert_eq!(told(&of_two), (vec![expected], 0));
    }

    #[test]
    fn a_group_whose_messages_have_no_end_tells_no_links() {
        let tasks = "(7, 1, 3, 0, 2, 1, 1, 3, 600), (7, 9, 0, 0, 1, 0, 65535, 1, 1000)";
        let times = "(1, 110, 112), (9, 110, 140)";
        assert_eq!(told(&database("(7, 1, 100)", tasks, times)), (Vec::new(), 1));
        // Older versions don't tell what a task of RDMA posts.
        let untold = tasks.replace("1, 1, 3, 600", "1, 65535, 3, 600");
        assert_eq!(told(&database("(7, 1, 100)", &untold, times)), (Vec::new(), 1));
        // A single one among others was cut off by the recording's end.
        let more = format!("{MESSAGE}, (7, 9, 4, 0, 1, 1, 1, 3, 1000)");
        let (links, untimed) = told(&database("(7, 1, 100)", &more, &format!("{TIMES}, (9, 110, 140)")));
        assert_eq!((links.len(), untimed), (1, 0));
    }
}
