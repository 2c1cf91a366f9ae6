//! A look at files that are the profile of a rank each: databases of the vendor's that lie by themselves, timelines of
//! PyTorch's, and databases of opscope's.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use opscope_formats::input::Input;
use opscope_formats::sqlite;
use serde_json::Value;

use super::collection::{rank_in, take_metadata};
use super::found::Found;
use super::metadata::{Declared, Group, Role, key_of_named, number};
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

/// The ranks of a database of the vendor's: one for each device that has a rank of its own.
pub fn look_at_database(path: &Path) -> Vec<Found> {
    let name = name_of(path);
    let mut found = Found { taken: digits_in(&name), may_be_something_else: true, ..Found::at(path) };
    let mut said = Vec::new();
    let mut devices = BTreeMap::new();
    if let Ok(identity) = database::identity(path) {
        (found.host, found.host_uid) = (identity.host.unwrap_or_default(), identity.host_uid);
        if let Some(metadata) = &identity.metadata {
            said.push(take_metadata(&mut found, metadata));
        }
        devices = of_devices(identity.ranks_and_devices);
    }
    found.or_host_above();
    if are_several(&devices) {
        return split(&found, &devices, Format::Database);
    }
    if let Some((device, rank)) = devices.first_key_value() {
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

/// The devices with their ranks. A device may be there twice: the framework adds a row with its rank to one without.
fn of_devices(rows: Vec<(Option<u32>, u32)>) -> BTreeMap<u32, Option<u32>> {
    let mut devices: BTreeMap<u32, Option<u32>> = BTreeMap::new();
    for (rank, device) in rows {
        let known = devices.entry(device).or_default();
        *known = known.or(rank);
    }
    devices
}

/// Whether devices are ranks of their own. A process may see several devices, and has one rank all the same.
fn are_several(devices: &BTreeMap<u32, Option<u32>>) -> bool {
    let ranks: BTreeSet<Option<u32>> = devices.values().copied().collect();
    devices.len() > 1 && (ranks.len() == devices.len() || ranks == BTreeSet::from([None]))
}

/// The devices of a profile, each a rank.
fn split(found: &Found, devices: &BTreeMap<u32, Option<u32>>, format: Format) -> Vec<Found> {
    let of_device = |(device, rank): (&u32, &Option<u32>)| {
        let mut one = Found {
            rank: *rank,
            host: found.host.clone(),
            is_host_above: found.is_host_above,
            host_uid: found.host_uid.clone(),
            device: Some(*device),
            taken: found.taken.clone(),
            groups: found.groups.clone(),
            world_size: found.world_size,
            layout: found.layout.clone(),
            may_be_something_else: found.may_be_something_else,
            ..Found::at(&found.folder)
        };
        one.outputs.whole = Some(whole_of(&one, Some(*device), format));
        one
    };
    devices.iter().map(of_device).collect()
}

/// The profile of a rank, which is opened as a whole.
fn whole_of(found: &Found, device: Option<u32>, format: Format) -> Whole {
    let declared = Declared::of(&found.groups, found.rank);
    Whole { path: found.folder.clone(), device, format, declared }
}

/// The rank of a timeline of PyTorch's.
pub fn look_at_timeline(path: &Path) -> Found {
    let name = name_of(path);
    let mut found = Found::at(path);
    (found.host, found.taken) = worker_and_time(&name);
    let distributed = distributed_info(path).unwrap_or(Value::Null);
    found.world_size = number(&distributed, "world_size");
    found.groups = groups_of(distributed.get("pg_config"), found.world_size);
    found.take_rank([number(&distributed, "rank"), rank_in(&name)]);
    found.or_host_of_its_own(name.trim_end_matches(".gz").trim_end_matches(".json"));
    found.outputs.whole = Some(whole_of(&found, None, Format::Timeline));
    found
}

/// The member of a timeline that tells ranks and groups. PyTorch writes it before the events, Kineto by itself behind
/// them.
fn distributed_info(path: &Path) -> Option<Value> {
    const HEAD: u64 = 4 << 20;
    let (_, head) = Input::head(path, HEAD).ok()?;
    member_of(&head).or_else(|| member_of(&tail(path)?))
}

/// The name of that member.
pub const DISTRIBUTED_INFO: &[u8] = b"\"distributedInfo\"";

fn member_of(text: &[u8]) -> Option<Value> {
    let at = text.windows(DISTRIBUTED_INFO.len()).position(|part| part == DISTRIBUTED_INFO)?;
    let rest = &text[at + DISTRIBUTED_INFO.len()..];
    let colon = rest.iter().position(|byte| *byte == b':')? + 1;
    let mut values = serde_json::Deserializer::from_slice(&rest[colon..]).into_iter::<Value>();
    values.next()?.ok()
}

/// The end of a file that isn't compressed.
pub fn tail(path: &Path) -> Option<Vec<u8>> {
    const TAIL: u64 = 256 << 10;
    let mut file = opscope_files::open_plain(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut text = Vec::new();
    file.take(TAIL).read_to_end(&mut text).ok()?;
    Some(text)
}

/// The groups of `pg_config`, by their keys.
fn groups_of(config: Option<&Value>, world_size: Option<u32>) -> BTreeMap<u64, Group> {
    let mut world_size = world_size;
    let mut groups = BTreeMap::new();
    for group in config.and_then(Value::as_array).into_iter().flatten() {
        let Some((key, group, is_of_all)) = group_of(group, world_size) else { continue };
        // More than one such group would be a way to fill the memory.
        world_size = world_size.filter(|_| !is_of_all);
        groups.insert(key, group);
    }
    groups
}

/// A group of `pg_config`: `{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}`, whose list may
/// be text. That of all ranks may list none, which is told.
fn group_of(group: &Value, world_size: Option<u32>) -> Option<(u64, Group, bool)> {
    /// More ranks than any cluster has are a mistake of a file.
    const MOST: u32 = 1 << 20;
    let id = group.get("pg_name")?.as_str()?.to_owned();
    let listed = super::metadata::member(group, "ranks").unwrap_or_default();
    let listed = listed.as_array().into_iter().flatten();
    let mut ranks: Vec<u32> = listed.filter_map(|rank| rank.as_u64()?.try_into().ok()).collect();
    let size = number(group, "pg_size").unwrap_or(ranks.len() as u32);
    let is_of_all = ranks.is_empty();
    if is_of_all {
        ranks.extend(0..world_size.filter(|world| *world == size)?.min(MOST));
    }
    let name = group.get("pg_desc").and_then(Value::as_str).unwrap_or_default().to_owned();
    let role = Role::of_name(&name);
    Some((key_of_named(&id, ranks.first().copied()?, size), Group { id, name, role, ranks }, is_of_all))
}

/// The host and the time in a name such as `HOST_PID.TIME.pt.trace.json.gz`, which PyTorch's handler for TensorBoard
/// gives.
fn worker_and_time(name: &str) -> (String, String) {
    let parts = || {
        let (stem, _) = name.split_once(".pt.trace")?;
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

/// The ranks of a database of opscope's, by what its producer remarked: one for each device that has a rank of its own.
pub fn look_at_own(path: &Path) -> Vec<Found> {
    let mut found = Found { may_be_something_else: true, ..Found::at(path) };
    let mut told = Told::default();
    if let Ok(database) = database::open(path) {
        // A table that breaks off tells what it can; reading the rank says that it is damaged.
        for table in ["run_facts", "remarks"] {
            let _ =
                each_row(&database, table, &["key", "value"], |row| told.take(text(row, 0), text(row, 1)));
        }
        let _ = each_row(&database, "devices", &["number", "kind"], |row| {
            let number = whole(row, 0).and_then(|number| u32::try_from(number).ok());
            let number = number.filter(|_| matches!(text(row, 1), "npu" | "gpu"));
            told.devices.extend(number.map(|number| (None, number)));
        });
    }
    let mut devices = of_devices(told.devices);
    for (device, rank) in told.ranks {
        devices.entry(device).and_modify(|known| *known = Some(rank));
    }
    found.host = told.host;
    if found.host.is_empty() {
        // A database that was made of a timeline has its name.
        (found.host, found.taken) = worker_and_time(&name_of(path));
    }
    found.or_host_above();
    let metadata = take_metadata(&mut found, &Value::Object(told.metadata));
    found.world_size = found.world_size.or(told.world_size);
    found.groups.extend(groups_of(Some(&told.groups), found.world_size));
    if told.rank.is_none() && metadata.is_none() && are_several(&devices) {
        return split(&found, &devices, Format::Own);
    }
    let mut of_devices = devices.iter();
    let first = of_devices.next();
    found.device = first.map(|(device, _)| *device).filter(|_| of_devices.next().is_none());
    let of_device = first.and_then(|(_, rank)| *rank);
    found.take_rank([told.rank, of_device, metadata, rank_in(&name_of(path))]);
    found.outputs.whole = Some(whole_of(&found, None, Format::Own));
    vec![found]
}

/// The begin of the remark with a device's rank.
const RANK_OF_DEVICE: &str = "rank of device ";

/// The words of a run's producer about its place among others.
#[derive(Default)]
struct Told {
    host: String,
    rank: Option<u32>,
    world_size: Option<u32>,
    groups: Value,
    metadata: serde_json::Map<String, Value>,
    devices: Vec<(Option<u32>, u32)>,
    /// The ranks of devices, by the devices' numbers.
    ranks: BTreeMap<u32, u32>,
}

impl Told {
    fn take(&mut self, key: &str, value: &str) {
        match key {
            "host" => value.clone_into(&mut self.host),
            "distributedInfo.rank" => self.rank = value.parse().ok(),
            "distributedInfo.world_size" => self.world_size = value.parse().ok(),
            "distributedInfo.pg_config" => self.groups = serde_json::from_str(value).unwrap_or_default(),
            _ if key.starts_with(RANK_OF_DEVICE) => {
                if let (Ok(device), Ok(rank)) = (key[RANK_OF_DEVICE.len()..].parse(), value.parse()) {
                    self.ranks.insert(device, rank);
                }
            }
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
            let (_, group, _) = group_of(&serde_json::from_str(text).ok()?, Some(4))?;
            Some(group.ranks)
        };
        assert_eq!(group(r#"{"pg_name": "0", "pg_size": 4, "ranks": []}"#), Some(vec![0, 1, 2, 3]));
        assert_eq!(group(r#"{"pg_name": "1", "pg_size": 2, "ranks": [1, 3]}"#), Some(vec![1, 3]));
        assert_eq!(group(r#"{"pg_name": "2", "pg_size": 2, "ranks": []}"#), None);
        assert_eq!(group(r#"{"pg_name": "3", "pg_size": 2, "ranks": "[2, 3]"}"#), Some(vec![2, 3]));
        // A second one without ranks is none, lest a small file fill the memory.
        let all: Value =
            serde_json::from_str(r#"[{"pg_name": "a", "pg_size": 4}, {"pg_name": "b", "pg_size": 4}]"#)
                .expect("JSON");
        assert_eq!(groups_of(Some(&all), Some(4)).len(), 1);
    }

    #[test]
    fn devices_are_ranks_where_each_has_its_own() {
        let devices = |rows: &[(Option<u32>, u32)]| of_devices(rows.to_vec());
        // The framework's row beside that of a profiler that knew no rank.
        let one = devices(&[(None, 0), (Some(5), 0)]);
        assert_eq!((are_several(&one), one.values().copied().collect::<Vec<_>>()), (false, vec![Some(5)]));
        assert!(!are_several(&devices(&[(Some(0), 0), (Some(0), 1)])));
        assert!(are_several(&devices(&[(Some(0), 0), (Some(1), 1)])));
        assert!(are_several(&devices(&[(None, 0), (None, 1)])));
    }
}
