//! The tables about the run itself: `HostInfo`, `RankDeviceMap`, `ClusterBaseInfo`.

use std::collections::BTreeSet;

use opscope_reach::Collection;
use opscope_reach::database::{each_row, text, whole};
use serde_json::Value;

use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table};

const HOSTS: Table =
    Table { name: "HostInfo", columns: &[("hostUid", Kind::Text), ("hostName", Kind::Text)], index: &[] };

const DEVICES: Table = Table {
    name: "RankDeviceMap",
    columns: &[
        ("rankId", Kind::Integer),
        ("deviceId", Kind::Integer),
        ("hostUid", Kind::Text),
        ("profilePath", Kind::Text),
    ],
    index: &[],
};

const BASE: Table =
    Table { name: "ClusterBaseInfo", columns: &[("key", Kind::Text), ("value", Kind::Text)], index: &[] };

/// The entry of metadata that says how a run divides its work.
const ARGUMENTS: &str = "distributed_args";

/// More ranks than any cluster has are a mistake of a file.
const MOST_RANKS: u32 = 1 << 20;

/// The facts about a run.
#[derive(Debug, Default)]
pub struct About {
    /// Hosts: number and name, in the order of ranks.
    hosts: Vec<(String, String)>,
    /// Ranks: number, device, number of the host, folder.
    devices: Vec<(u32, i64, String, String)>,
    /// How the run divides its work, in its own words; empty where it doesn't say.
    arguments: Vec<(String, Value)>,
}

impl About {
    /// Reads them.
    pub fn read(ranks: &Ranks) -> Self {
        let mut about = Self::default();
        let read = |collection: &Collection| {
            let (mut host, mut device) = (None, None);
            let mut arguments = of_file(collection);
            ranks.read(collection, File::Profile, |database| {
                let hosts = each_row(database, "HOST_INFO", &["hostUid", "hostName"], |row| {
                    host = Some((text_or_number(row), text(row, 1).to_owned()));
                });
                let devices = each_row(database, "RANK_DEVICE_MAP", &["deviceId"], |row| {
                    device = device.or(whole(row, 0));
                });
                let metadata = each_row(database, "META_DATA", &["name", "value"], |row| {
                    if arguments.is_empty() && text(row, 0) == ARGUMENTS {
                        arguments = serde_json::from_str(text(row, 1)).unwrap_or_default();
                    }
                });
                hosts.and(devices).and(metadata)
            });
            (host, device, arguments)
        };
        let mut known = BTreeSet::new();
        let Ok(()) = ranks.each(read, |collection, (host, device, Ordered(arguments))| {
            if let Some((uid, name)) = host {
                let folder = collection.folder.display().to_string();
                about.devices.push((collection.rank, device.unwrap_or(-1), uid.clone(), folder));
                if known.insert(uid.clone()) {
                    about.hosts.push((uid, name));
                }
            }
            if about.arguments.is_empty() {
                about.arguments = arguments;
            }
            Ok::<_, std::convert::Infallible>(())
        });
        about.arguments.retain(|(name, _)| name != "rank");
        about
    }

    /// The sizes of parallelism, if the run tells all and they make up its size.
    pub fn layout(&self) -> Option<Layout> {
        let size = |name: &str| {
            let (_, value) = self.arguments.iter().find(|(key, _)| key == name)?;
            value.as_u64().and_then(|size| u32::try_from(size).ok())
        };
        let layout = Layout {
            tensor: size("tensor_model_parallel_size")?,
            data: size("data_parallel_size")?,
            pipeline: size("pipeline_model_parallel_size")?,
        };
        let world = layout.tensor.checked_mul(layout.data)?.checked_mul(layout.pipeline)?;
        ((1..=MOST_RANKS).contains(&world) && Some(world) == size("world_size")).then_some(layout)
    }
}

/// How ranks are numbered: along the parts of tensors first, then along copies, then along stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Parts of tensors.
    pub tensor: u32,
    /// Copies of the model.
    pub data: u32,
    /// Stages.
    pub pipeline: u32,
}

impl Layout {
    /// A rank's places among copies, stages and parts.
    pub fn places(self, rank: u32) -> [u32; 3] {
        let stage = rank / (self.tensor * self.data);
        [rank / self.tensor % self.data, stage, rank % self.tensor]
    }

    /// The ranks of each stage, if there are several.
    pub fn stages(self) -> Vec<Vec<u32>> {
        let size = self.tensor * self.data;
        match self.pipeline {
            0 | 1 => Vec::new(),
            stages => (0..stages).map(|stage| (stage * size..(stage + 1) * size).collect()).collect(),
        }
    }
}

/// Members of an object in the order in which they stand.
#[derive(Debug, Default)]
struct Ordered(Vec<(String, Value)>);

impl Ordered {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'d> serde::Deserialize<'d> for Ordered {
    fn deserialize<D: serde::Deserializer<'d>>(source: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'d> serde::de::Visitor<'d> for Members {
            type Value = Ordered;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'d>>(self, mut map: A) -> Result<Ordered, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Ordered(members))
            }
        }
        source.deserialize_map(Members)
    }
}

/// How the run divides its work, by the metadata beside a rank's results.
fn of_file(collection: &Collection) -> Ordered {
    #[derive(serde::Deserialize)]
    struct Metadata {
        distributed_args: Option<Ordered>,
    }
    let bytes =
        opscope_files::read_plain(&collection.folder.join("profiler_metadata.json")).unwrap_or_default();
    let metadata: Option<Metadata> = serde_json::from_slice(&bytes).ok();
    metadata.and_then(|it| it.distributed_args).unwrap_or_default()
}

/// The first column as text, also where it is a number.
fn text_or_number(row: &rusqlite::Row<'_>) -> String {
    match (text(row, 0), whole(row, 0)) {
        ("", Some(number)) => number.to_string(),
        (text, _) => text.to_owned(),
    }
}

/// Members as Python writes an object: a blank behind colons and commas.
fn python_object(members: &[(String, Value)]) -> String {
    let member = |(name, value): &(String, Value)| format!("{}: {value}", Value::from(name.as_str()));
    format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
}

/// Writes the tables.
///
/// # Errors
/// SQLite's.
pub fn write(about: &About, output: &Output) -> rusqlite::Result<()> {
    if !about.arguments.is_empty() {
        output.table(&BASE)?.row((ARGUMENTS, python_object(&about.arguments)))?;
    }
    let mut hosts = output.table(&HOSTS)?;
    about.hosts.iter().try_for_each(|(uid, name)| hosts.row((uid, name)))?;
    let mut devices = output.table(&DEVICES)?;
    about
        .devices
        .iter()
        .try_for_each(|(rank, device, host, folder)| devices.row((rank, device, host, folder)))
}

/// The layout that metadata beside the ranks' results tell.
pub fn layout_beside(ranks: &Ranks) -> Option<Layout> {
    let arguments = ranks.collections.iter().map(of_file).find(|it| !it.is_empty())?;
    About { arguments: arguments.0, ..About::default() }.layout()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_numbered_along_tensors_then_copies_then_stages() {
        let layout = Layout { tensor: 2, data: 2, pipeline: 2 };
        assert_eq!((layout.places(6), layout.places(1)), ([1, 1, 0], [0, 0, 1]));
        assert_eq!(layout.stages(), [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
        assert!(Layout { pipeline: 1, ..layout }.stages().is_empty());
    }

    #[test]
    fn the_runs_words_keep_their_order() {
        let ordered: Ordered = serde_json::from_str(r#"{"world_size":2,"b":false,"a":"x"}"#).unwrap();
        assert_eq!(python_object(&ordered.0), r#"{"world_size": 2, "b": false, "a": "x"}"#);
        let about = About { arguments: ordered.0, ..About::default() };
        assert_eq!(about.layout(), None);
    }
}
