//! A look at files that are the profile of a rank each: databases of the vendor's that lie by themselves, timelines of
//! PyTorch's, and databases of opscope's.

use std::path::Path;

use opscope_formats::input::Input;
use opscope_formats::sqlite;
use serde_json::Value;

use super::collection::{rank_in, take_metadata};
use super::found::Found;
use super::metadata::{Group, Role, key_of_named, number};
use super::{Format, Whole, name_of};
use crate::database::{self, each_row, text, whole};

/// Whether a file's name tells a rank.
pub fn tells_rank(name: &str) -> bool {
    rank_in(name).is_some()
}

/// Whether a file is a database of opscope's.
pub fn is_own_database(path: &Path) -> bool {
    const HEADER: u64 = 100;
    let head = Input::head(path, HEADER);
    head.is_ok_and(|(_, head)| sqlite::application_id(&head) == Some(sqlite::APPLICATION_ID))
}

/// The ranks of a database of the vendor's: one for each device that it is of.
pub fn look_at_database(path: &Path) -> Vec<Found> {
    let name = name_of(path);
    let mut found = Found { taken: digits_in(&name), may_be_something_else: true, ..Found::at(path) };
    let mut said = Vec::new();
    let mut devices = Vec::new();
    if let Ok(identity) = database::identity(path) {
        found.host = identity.host.unwrap_or_default();
        if let Some(metadata) = &identity.metadata {
            said.push(take_metadata(&mut found, metadata));
        }
        devices = identity.ranks_and_devices;
    }
    found.or_host_above();
    if let [_, _, ..] = devices[..] {
        let of_device = |(rank, device): (Option<u32>, u32)| {
            let mut one = Found { host: found.host.clone(), taken: found.taken.clone(), ..Found::at(path) };
            (one.rank, one.device, one.may_be_something_else) = (rank, Some(device), true);
            let format = Format::Database;
            one.outputs.whole = Some(Whole { path: path.to_owned(), device: Some(device), format });
            one
        };
        return devices.into_iter().map(of_device).collect();
    }
    if let Some((rank, device)) = devices.first() {
        said.insert(0, *rank);
        found.device = Some(*device);
    }
    // `ascend_pytorch_profiler_3.db`; other names have a time there.
    let last = name.trim_end_matches(".db").rsplit('_').next().filter(|_| name.starts_with("ascend_"));
    said.push(last.and_then(|number| number.parse().ok()));
    found.take_rank(said);
    found.outputs.database = Some(path.to_owned());
    vec![found]
}

/// The rank of a timeline of PyTorch's.
pub fn look_at_timeline(path: &Path) -> Found {
    let name = name_of(path);
    let mut found = Found { ..Found::at(path) };
    (found.host, found.taken) = worker_and_time(&name);
    // Which hosts the files of a folder are from isn't told: each counts as one, whose clock is its own.
    if found.host.is_empty() {
        found.host = name.trim_end_matches(".gz").trim_end_matches(".json").to_owned();
    }
    let distributed = distributed_info(path).unwrap_or(Value::Null);
    found.world_size = number(&distributed, "world_size");
    for group in distributed.get("pg_config").and_then(Value::as_array).into_iter().flatten() {
        found.groups.extend(group_of(group, found.world_size));
    }
    found.take_rank([number(&distributed, "rank"), rank_in(&name)]);
    let whole = Whole { path: path.to_owned(), device: None, format: Format::Timeline };
    found.outputs.whole = Some(whole);
    found
}

/// The member of a timeline that tells ranks and groups, which PyTorch writes before the events.
fn distributed_info(path: &Path) -> Option<Value> {
    const HEAD: u64 = 4 << 20;
    const NAME: &[u8] = b"\"distributedInfo\"";
    let (_, head) = Input::head(path, HEAD).ok()?;
    let at = head.windows(NAME.len()).position(|part| part == NAME)? + NAME.len();
    let colon = head[at..].iter().position(|byte| *byte == b':')? + 1;
    let mut values = serde_json::Deserializer::from_slice(&head[at + colon..]).into_iter::<Value>();
    values.next()?.ok()
}

/// A group of `pg_config`: `{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}`. That of all
/// ranks may list none.
fn group_of(group: &Value, world_size: Option<u32>) -> Option<(u64, Group)> {
    /// More ranks than any cluster has are a mistake of a file.
    const MOST: u32 = 1 << 20;
    let id = group.get("pg_name")?.as_str()?.to_owned();
    let listed = group.get("ranks").and_then(Value::as_array).into_iter().flatten();
    let mut ranks: Vec<u32> = listed.filter_map(|rank| rank.as_u64()?.try_into().ok()).collect();
    let size = number(group, "pg_size").unwrap_or(ranks.len() as u32);
    if ranks.is_empty() {
        ranks.extend(0..world_size.filter(|world| *world == size)?.min(MOST));
    }
    let name = group.get("pg_desc").and_then(Value::as_str).unwrap_or_default().to_owned();
    let role = Role::of_name(&name);
    Some((key_of_named(&id, ranks.first().copied()?, size), Group { id, name, role, ranks }))
}

/// The host and the time in a name such as `HOST_PID.TIME.pt.trace.json.gz`, which PyTorch's handler for TensorBoard
/// gives.
fn worker_and_time(name: &str) -> (String, String) {
    let parts = || {
        let (stem, _) = name.split_once(".pt.trace.json")?;
        let (worker, time) = stem.rsplit_once('.')?;
        let (host, process) = worker.rsplit_once('_')?;
        let are_numbers = [time, process].iter().all(|it| it.parse::<u64>().is_ok());
        // Milliseconds or nanoseconds since 1970.
        (are_numbers && time.len() >= 10).then(|| (host.to_owned(), time.to_owned()))
    };
    parts().unwrap_or_default()
}

/// The longest run of digits in a name: its time.
fn digits_in(name: &str) -> String {
    let runs = name.split(|letter: char| !letter.is_ascii_digit());
    runs.max_by_key(|run| run.len()).filter(|run| run.len() >= 10).unwrap_or_default().to_owned()
}

/// The rank of a database of opscope's, by what its producer remarked.
pub fn look_at_own(path: &Path) -> Found {
    let mut found = Found { may_be_something_else: true, ..Found::at(path) };
    let mut told = Told::default();
    if let Ok(database) = database::open(path) {
        // A table that breaks off tells what it can; reading the rank says that it is damaged.
        for table in ["run_facts", "remarks"] {
            let _ =
                each_row(&database, table, &["key", "value"], |row| told.take(text(row, 0), text(row, 1)));
        }
        let _ = each_row(&database, "devices", &["number", "kind"], |row| {
            told.devices.extend(whole(row, 0).filter(|_| text(row, 1) != "cpu"));
        });
    }
    found.host = told.host;
    found.or_host_above();
    let metadata = take_metadata(&mut found, &Value::Object(told.metadata));
    found.world_size = found.world_size.or(told.world_size);
    for group in told.groups.as_array().into_iter().flatten() {
        found.groups.extend(group_of(group, found.world_size));
    }
    found.device = match told.devices[..] {
        [device] => u32::try_from(device).ok(),
        _ => None,
    };
    found.take_rank([told.rank, metadata, rank_in(&name_of(path))]);
    found.outputs.whole = Some(Whole { path: path.to_owned(), device: None, format: Format::Own });
    found
}

/// The words of a run's producer about its place among others.
#[derive(Default)]
struct Told {
    host: String,
    rank: Option<u32>,
    world_size: Option<u32>,
    groups: Value,
    metadata: serde_json::Map<String, Value>,
    devices: Vec<i64>,
}

impl Told {
    fn take(&mut self, key: &str, value: &str) {
        match key {
            "host" => value.clone_into(&mut self.host),
            "distributedInfo.rank" => self.rank = value.parse().ok(),
            "distributedInfo.world_size" => self.world_size = value.parse().ok(),
            "distributedInfo.pg_config" => self.groups = serde_json::from_str(value).unwrap_or_default(),
            _ if key.starts_with("rank of device ") => self.rank = self.rank.or(value.parse().ok()),
            _ => drop(self.metadata.insert(key.to_owned(), value.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_pytorchs_files_tell_host_and_time() {
        let told = |name| worker_and_time(name);
        let expected = ("node_7".to_owned(), "1712195498".to_owned());
        assert_eq!(told("node_7_4242.1712195498.pt.trace.json.gz"), expected);
        assert_eq!(told("rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"), Default::default());
        assert_eq!(digits_in("msprof_20251009080000.db"), "20251009080000");
    }

    #[test]
    fn a_group_of_all_ranks_may_list_none() {
        let group = |text: &str| {
            let (_, group) = group_of(&serde_json::from_str(text).ok()?, Some(4))?;
            Some(group.ranks)
        };
        assert_eq!(group(r#"{"pg_name": "0", "pg_size": 4, "ranks": []}"#), Some(vec![0, 1, 2, 3]));
        assert_eq!(group(r#"{"pg_name": "1", "pg_size": 2, "ranks": [1, 3]}"#), Some(vec![1, 3]));
        assert_eq!(group(r#"{"pg_name": "2", "pg_size": 2, "ranks": []}"#), None);
    }
}
