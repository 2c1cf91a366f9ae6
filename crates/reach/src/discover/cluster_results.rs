//! A look at what `msprof-analyze` made of all ranks: a database whose tables have the rows of every rank, or texts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::found::Found;
use super::metadata::{self, Group, Role, key_of_text};
use super::result_texts;
use crate::database::{self, Database, RowRuns, each_row, each_row_number, text, whole};
use crate::error::{Loss, LossReason};
use crate::read::{RESULT_TEXTS, Recording};

/// The name of the database.
pub const RESULTS_DATABASE: &str = "cluster_analysis.db";

/// A rank as far as the results have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The database, or the folder of the texts.
    pub path: PathBuf,
    /// The members of the groups, by the groups' keys: the matrix names ranks.
    pub groups: Arc<BTreeMap<u64, Vec<u32>>>,
    pub of_rank: OfRank,
}

/// The part of the results that is a rank's.
#[derive(Clone, Debug, PartialEq)]
pub enum OfRank {
    Rows(Rows),
    /// All ranks stand in each text, which is read once.
    Recorded(Arc<Recording>),
}

/// The rows of a rank in the database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The rows of `ClusterCommunicationTime`.
    pub times: RowRuns,
    /// The rows of `ClusterCommunicationMatrix` of which it is the source.
    pub matrix: RowRuns,
    /// The rows of `ClusterStepTraceTime`.
    pub steps: RowRuns,
}

/// Whether a folder has such results.
pub fn are_in(folder: &Path) -> bool {
    folder.join(RESULTS_DATABASE).is_file() || RESULT_TEXTS.iter().any(|name| folder.join(name).is_file())
}

/// Whether a file is one of such results.
pub fn is_one(name: &str) -> bool {
    name == RESULTS_DATABASE || RESULT_TEXTS.contains(&name)
}

/// The ranks that the results are of.
pub fn look_at(folder: &Path) -> Vec<Found> {
    let path = folder.join(RESULTS_DATABASE);
    if !path.is_file() {
        return result_texts::look_at(folder);
    }
    let mut all = All::default();
    let done = database::open_telling(&path).and_then(|(database, damage)| {
        all.read(&database)?;
        damage.map_or(Ok(()), Err)
    });
    let mut found = all.into_found(folder, &path);
    if let Err(error) = done {
        let loss = Loss::new(None, path.display().to_string(), LossReason::Damaged, 1).because(error);
        // Texts beside it may be whole.
        if found.is_empty() {
            found = result_texts::look_at(folder);
        }
        match found.first_mut() {
            Some(first) => first.losses.push(loss),
            None => found.push(Found { losses: vec![loss], ..Found::at(folder) }),
        }
    }
    found
}

/// Each rank of the results, with its groups.
pub fn each_found(
    folder: &Path,
    path: &Path,
    groups: &BTreeMap<u64, Group>,
    ranks: impl Iterator<Item = (u32, OfRank)>,
) -> Vec<Found> {
    let members = groups.iter().map(|(key, group)| (*key, group.ranks.clone()));
    let members = Arc::new(members.collect::<BTreeMap<_, _>>());
    let found = |(rank, of_rank)| {
        let mut found = Found { rank: Some(rank), ..Found::at(folder) };
        let own = groups.iter().filter(|(_, group)| group.ranks.contains(&rank));
        found.groups = own.map(|(key, group)| (*key, group.clone())).collect();
        let groups = Arc::clone(&members);
        found.outputs.results = Some(Results { path: path.to_owned(), groups, of_rank });
        found
    };
    ranks.map(found).collect()
}

/// The tables, rank by rank.
#[derive(Default)]
struct All {
    rows: BTreeMap<u32, Rows>,
    devices: BTreeMap<u32, (u32, String)>,
    hosts: BTreeMap<String, String>,
    groups: BTreeMap<u64, Group>,
    metadata: serde_json::Map<String, Value>,
}

impl All {
    fn read(&mut self, database: &Database) -> rusqlite::Result<()> {
        each_row(database, "ClusterBaseInfo", &["key", "value"], |row| {
            self.metadata.insert(text(row, 0).to_owned(), text(row, 1).into());
        })?;
        each_row(database, "HostInfo", &["hostUid", "hostName"], |row| {
            self.hosts.insert(text(row, 0).to_owned(), text(row, 1).to_owned());
        })?;
        each_row(database, "RankDeviceMap", &["rankId", "deviceId", "hostUid"], |row| {
            let small = |column| whole(row, column).and_then(|it| u32::try_from(it).ok());
            if let (Some(rank), Some(device)) = (small(0), small(1)) {
                self.devices.insert(rank, (device, text(row, 2).to_owned()));
            }
        })?;
        let columns = ["rank_set", "group_name", "group_id", "pg_name"];
        each_row(database, "CommunicationGroupMapping", &columns, |row| {
            let members = text(row, 0).trim_matches(['(', ')']).split(',');
            let ranks: Vec<u32> = members.filter_map(|rank| rank.trim().parse().ok()).collect();
            let (id, name) = (text(row, 2).to_owned(), text(row, 3).to_owned());
            if !ranks.is_empty() {
                let role = Role::of_name(&name);
                self.groups.insert(key_of_text(text(row, 1)), Group { id, name, role, ranks });
            }
        })?;
        let rows = &mut self.rows;
        each_row_number(database, "ClusterCommunicationTime", "rank_id", |number, row| {
            note(rows, row, number, |rows| &mut rows.times);
        })?;
        each_row_number(database, "ClusterCommunicationMatrix", "src_rank", |number, row| {
            note(rows, row, number, |rows| &mut rows.matrix);
        })?;
        // Stages stand there as well, whose index is a list.
        each_row_number(database, "ClusterStepTraceTime", "index", |number, row| {
            note(rows, row, number, |rows| &mut rows.steps);
        })
    }

    fn into_found(self, folder: &Path, path: &Path) -> Vec<Found> {
        let Self { rows, devices, hosts, mut groups, metadata } = self;
        let metadata = Value::Object(metadata);
        let arguments = metadata::member(&metadata, "distributed_args").unwrap_or(Value::Null);
        metadata::tell_uses(&mut groups, &arguments);
        let rows = rows.into_iter().map(|(rank, rows)| (rank, OfRank::Rows(rows)));
        let mut found = each_found(folder, path, &groups, rows);
        for found in &mut found {
            let rank = found.rank.unwrap_or_default();
            if let Some((device, host)) = devices.get(&rank) {
                found.device = Some(*device);
                found.host.clone_from(hosts.get(host).unwrap_or(host));
            }
            found.or_host_of_its_own(&format!("host of rank {rank}"));
            found.world_size = metadata::number(&arguments, "world_size");
            found.layout = metadata::layout(&arguments);
        }
        found
    }
}

/// Notes a row as that of the rank which it names, if it names one.
fn note(
    rows: &mut BTreeMap<u32, Rows>,
    row: &rusqlite::Row<'_>,
    number: i64,
    of: impl Fn(&mut Rows) -> &mut RowRuns,
) {
    let Some(rank) = whole(row, 1).and_then(|rank| u32::try_from(rank).ok()) else { return };
    let runs = of(rows.entry(rank).or_default());
    match runs.last_mut() {
        Some((_, last)) if *last + 1 == number => *last = number,
        _ => runs.push((number, number)),
    }
}
