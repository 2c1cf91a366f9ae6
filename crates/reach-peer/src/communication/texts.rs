//! The modes for ranks that have texts alone: `cluster_communication.json`, `cluster_communication_matrix.json`,
//! `communication_group.json` and `cluster_step_trace_time.csv`.
//!
//! Texts of all ranks don't fit in memory. So each rank's file is read twice: once for the groups that it has, and
//! then, as groups are written one after another, for those of the group. In between only names are kept.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use opscope_reach::Collection;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Parts;
use super::links::Places;
use super::times::TOTAL;
use crate::error::PeerError;
use crate::groups::{Members, Seen, Traffic};
use crate::numbers::ratio;
use crate::ranks::Ranks;
use crate::{run, steps};

/// Writes the parts of texts into a folder.
///
/// # Errors
/// When a result can't be written.
pub fn write(ranks: &Ranks, parts: Parts, folder: &Path) -> Result<(), PeerError> {
    let file = |name: &str, content: &mut dyn FnMut(&mut (dyn Write + Send)) -> io::Result<()>| {
        let path = folder.join(name);
        opscope_files::write_atomically(&path, |to| content(to))
            .map_err(|source| PeerError::Write { path: path.clone(), source })
    };
    let index = Index::read(ranks, parts);
    file("communication_group.json", &mut |to| index.write_groups(ranks, to))?;
    if parts.times {
        file("cluster_communication.json", &mut |to| write_groups(ranks, &index, to, times_of))?;
    }
    if parts.links {
        file("cluster_communication_matrix.json", &mut |to| write_groups(ranks, &index, to, links_of))?;
    }
    let (steps, layout) = (steps::read(ranks), run::layout_beside(ranks));
    file("cluster_step_trace_time.csv", &mut |mut to| steps::write_text(&steps, layout, &mut to))
}

/// An operation's place in a text: the step, the kind, the operation and its group.
struct Place<'p> {
    step: &'p str,
    traffic: Traffic,
    name: &'p str,
    group: &'p str,
}

/// Reads a tree of steps, kinds and operations, and hands each operation's text on.
///
/// # Errors
/// Where the text breaks off; what is before it was handed on.
fn each_operation<'t>(
    text: &'t [u8],
    mut take: impl FnMut(&Place<'_>, &'t RawValue),
) -> Result<(), serde_json::Error> {
    struct Level<'l, 'p, F> {
        depth: u8,
        step: &'p str,
        traffic: Traffic,
        take: &'l mut F,
    }
    impl<'t, F: FnMut(&Place<'_>, &'t RawValue)> DeserializeSeed<'t> for Level<'_, '_, F> {
        type Value = ();
        fn deserialize<D: Deserializer<'t>>(self, source: D) -> Result<(), D::Error> {
            source.deserialize_map(self)
        }
    }
    impl<'t, F: FnMut(&Place<'_>, &'t RawValue)> Visitor<'t> for Level<'_, '_, F> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of steps, kinds and operations")
        }
        fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                match self.depth {
                    0 => {
                        let (traffic, take) = (self.traffic, &mut *self.take);
                        map.next_value_seed(Level { depth: 1, step: &key, traffic, take })?;
                    }
                    1 => {
                        let traffic = match &*key {
                            "p2p" => Traffic::Pairwise,
                            "collective" => Traffic::Collective,
                            _ => {
                                map.next_value::<IgnoredAny>()?;
                                continue;
                            }
                        };
                        let (step, take) = (self.step, &mut *self.take);
                        map.next_value_seed(Level { depth: 2, step, traffic, take })?;
                    }
                    _ => {
                        let value: &'t RawValue = map.next_value()?;
                        if let Some((name, group)) = key.rsplit_once('@') {
                            (self.take)(
                                &Place { step: self.step, traffic: self.traffic, name, group },
                                value,
                            );
                        }
                    }
                }
            }
            Ok(())
        }
    }
    let mut source = serde_json::Deserializer::from_slice(text);
    Level { depth: 0, step: "", traffic: Traffic::Collective, take: &mut take }.deserialize(&mut source)
}

/// The groups of all texts, who is in them, and at which places.
#[derive(Default)]
struct Index {
    seen: Seen,
    places: Places,
}

#[derive(Default)]
struct Found {
    seen: Seen,
    own: BTreeSet<(String, i64)>,
}

impl Index {
    fn read(ranks: &Ranks, parts: Parts) -> Self {
        let mut index = Self::default();
        let read = |collection: &Collection| {
            let mut found = Found::default();
            let outputs = &collection.outputs;
            if parts.times || outputs.matrix.is_none() {
                in_file(ranks, collection, &outputs.communication, |place, _| {
                    if !place.name.starts_with("Total") {
                        found.seen.add(place.traffic, place.group, collection.rank);
                    }
                });
            }
            in_file(ranks, collection, &outputs.matrix, |place, links| {
                if place.name.starts_with("Total") {
                    return;
                }
                found.seen.add(place.traffic, place.group, collection.rank);
                let links: BTreeMap<String, IgnoredAny> =
                    serde_json::from_str(links.get()).unwrap_or_default();
                for (src, dst) in links.keys().filter_map(|link| link.split_once('-')) {
                    if let Some(own) = src.parse().ok().filter(|_| src == dst) {
                        found.own.insert((place.group.to_owned(), own));
                    }
                }
            });
            found
        };
        let Ok(()) = ranks.each(read, |collection, found| {
            index.seen.merge(found.seen);
            found.own.into_iter().for_each(|(group, place)| index.places.add(group, place, collection.rank));
            Ok::<_, std::convert::Infallible>(())
        });
        index
    }

    /// Groups of the same ranks, in the order of their first.
    fn sets(&self, ranks: &Ranks) -> Vec<(Members, BTreeSet<String>)> {
        let mut sets: Vec<(Members, BTreeSet<String>)> = Vec::new();
        let mut places = HashMap::new();
        for (_, group, members) in self.seen.all(ranks) {
            let place = *places.entry(members.ranks.clone()).or_insert_with(|| {
                sets.push((members, BTreeSet::new()));
                sets.len() - 1
            });
            sets[place].1.insert(group.to_owned());
        }
        sets
    }

    fn write_groups(&self, ranks: &Ranks, to: &mut dyn Write) -> io::Result<()> {
        #[derive(serde::Serialize)]
        struct Entry<'e> {
            r#type: &'static str,
            rank_set: Vec<u32>,
            group_name: &'e str,
            group_id: String,
            pg_name: String,
        }
        #[derive(serde::Serialize)]
        struct Groups<'e> {
            collective: Vec<Vec<u32>>,
            p2p: Vec<Vec<u32>>,
            comm_group_parallel_info: Vec<Entry<'e>>,
        }
        let all: Vec<_> = self.seen.all(ranks).collect();
        let of = |wanted: Traffic| {
            all.iter().filter(|(traffic, ..)| *traffic == wanted).map(|(.., it)| it.ranks.clone()).collect()
        };
        let (collective, p2p) = (of(Traffic::Collective), of(Traffic::Pairwise));
        let entry = |(traffic, group_name, members): (Traffic, _, Members)| Entry {
            r#type: traffic.word(),
            rank_set: members.ranks,
            group_name,
            group_id: members.id,
            pg_name: members.name,
        };
        let entries = self.seen.all(ranks).map(entry).collect();
        serde_json::to_writer(to, &Groups { collective, p2p, comm_group_parallel_info: entries })?;
        Ok(())
    }
}

/// Reads the operations of a rank's text, which may be missing or break off.
fn in_file(
    ranks: &Ranks,
    collection: &Collection,
    path: &Option<PathBuf>,
    take: impl FnMut(&Place<'_>, &RawValue),
) {
    let Some(path) = path else { return };
    let read = || -> Result<(), String> {
        let text = opscope_files::read_plain(path).map_err(|error| error.to_string())?;
        each_operation(&text, take).map_err(|error| error.to_string())
    };
    if let Err(error) = read() {
        ranks.damaged(collection, path, error);
    }
}

/// An operation, and its part in each text.
type OperationTexts = (String, Vec<String>);

/// Steps and operations, each with its part in the group's text, in the order in which they were met.
#[derive(Default)]
struct Tree {
    steps: Vec<(String, Vec<OperationTexts>)>,
    places: HashMap<(usize, String), usize>,
}

impl Tree {
    fn add(&mut self, step: &str, operation: &str, entry: Option<String>) {
        let at = self.steps.iter().position(|(known, _)| known == step).unwrap_or_else(|| {
            self.steps.push((step.to_owned(), Vec::new()));
            self.steps.len() - 1
        });
        let operations = &mut self.steps[at].1;
        let place = *self.places.entry((at, operation.to_owned())).or_insert_with(|| {
            operations.push((operation.to_owned(), Vec::new()));
            operations.len() - 1
        });
        operations[place].1.extend(entry);
    }

    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(b"{")?;
        for (number, (step, operations)) in self.steps.iter().enumerate() {
            write!(to, "{}{}: {{", separator(number), quoted(step))?;
            for (number, (operation, entries)) in operations.iter().enumerate() {
                write!(to, "{}{}: {{{}}}", separator(number), quoted(operation), entries.join(", "))?;
            }
            to.write_all(b"}")?;
        }
        to.write_all(b"}")
    }
}

fn separator(number: usize) -> &'static str {
    if number == 0 { "" } else { ", " }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes an object of groups, each made by `make` of the texts of its ranks.
fn write_groups(
    ranks: &Ranks,
    index: &Index,
    to: &mut dyn Write,
    make: impl Fn(&Ranks, &Index, &Members, &BTreeSet<String>) -> Tree,
) -> io::Result<()> {
    to.write_all(b"{")?;
    for (number, (members, groups)) in index.sets(ranks).into_iter().enumerate() {
        write!(to, "{}{}: ", separator(number), quoted(&members.tuple()))?;
        make(ranks, index, &members, &groups).write(to)?;
    }
    to.write_all(b"}")
}

/// The collections of a group's ranks.
fn members_of<'r>(ranks: &'r Ranks, members: &'r Members) -> impl Iterator<Item = &'r Collection> {
    ranks.collections.iter().filter(|collection| members.ranks.binary_search(&collection.rank).is_ok())
}

#[derive(Deserialize)]
struct Operation {
    #[serde(rename = "Communication Time Info")]
    times: Option<Times>,
    #[serde(rename = "Communication Bandwidth Info", default)]
    links: Vec2<Link>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct Times {
    #[serde(rename = "Elapse Time(ms)", default)]
    elapsed: f64,
    #[serde(rename = "Transit Time(ms)", default)]
    transit: f64,
    #[serde(rename = "Wait Time(ms)", default)]
    wait: f64,
    #[serde(rename = "Synchronization Time(ms)", default)]
    synchronization: f64,
    #[serde(rename = "Idle Time(ms)", default)]
    idle: f64,
}

#[derive(Clone, Default, Deserialize)]
struct Link {
    #[serde(rename = "Transit Time(ms)", default)]
    time: f64,
    #[serde(rename = "Transit Size(MB)", default)]
    size: f64,
    #[serde(rename = "Size Distribution", default)]
    sizes: Vec2<(f64, f64)>,
}

/// An object as a list, in its own order.
struct Vec2<V>(Vec<(String, V)>);

impl<V> Default for Vec2<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V: Clone> Clone for Vec2<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'d, V: Deserialize<'d>> Deserialize<'d> for Vec2<V> {
    fn deserialize<D: Deserializer<'d>>(source: D) -> Result<Self, D::Error> {
        struct Members<V>(std::marker::PhantomData<V>);
        impl<'d, V: Deserialize<'d>> Visitor<'d> for Members<V> {
            type Value = Vec2<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<Vec2<V>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Vec2(members))
            }
        }
        source.deserialize_map(Members(std::marker::PhantomData))
    }
}

impl<V: Default> Vec2<V> {
    fn of(&mut self, name: &str) -> &mut V {
        let place = self.0.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.0.push((name.to_owned(), V::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }
}

/// The sums of a rank in a group.
#[derive(Default)]
struct Total {
    times: Times,
    links: Vec2<Link>,
}

impl Total {
    fn add(&mut self, operation: &Operation) {
        if let Some(times) = operation.times {
            let total = &mut self.times;
            total.elapsed += times.elapsed;
            total.transit += times.transit;
            total.wait += times.wait;
            total.synchronization += times.synchronization;
            total.idle += times.idle;
        }
        for (name, link) in &operation.links.0 {
            let total = self.links.of(name);
            total.time += link.time;
            total.size += link.size;
            for (size, (count, time)) in &link.sizes.0 {
                let packets = total.sizes.of(size);
                packets.0 += count;
                packets.1 += time;
            }
        }
    }

    fn to_json(&self) -> String {
        let times = &self.times;
        let link = |(name, link): &(String, Link)| {
            let packets = |(size, (count, time)): &(String, (f64, f64))| {
                format!("{}: [{count}, {time:?}]", quoted(size))
            };
            let sizes: Vec<String> = link.sizes.0.iter().map(packets).collect();
            format!(
                "{}: {{\"Transit Time(ms)\": {:?}, \"Transit Size(MB)\": {:?}, \"Size Distribution\": {{{}}}, \
                 \"Bandwidth(GB/s)\": {:?}}}",
                quoted(name),
                link.time,
                link.size,
                sizes.join(", "),
                ratio(link.size, link.time)
            )
        };
        let links: Vec<String> = self.links.0.iter().map(link).collect();
        format!(
            "{{\"Communication Time Info\": {{\"Elapse Time(ms)\": {:?}, \"Transit Time(ms)\": {:?}, \
             \"Wait Time(ms)\": {:?}, \"Synchronization Time(ms)\": {:?}, \"Idle Time(ms)\": {:?}, \
             \"Wait Time Ratio\": {:?}, \"Synchronization Time Ratio\": {:?}}}, \
             \"Communication Bandwidth Info\": {{{}}}}}",
            times.elapsed,
            times.transit,
            times.wait,
            times.synchronization,
            times.idle,
            ratio(times.wait, times.wait + times.transit),
            ratio(times.synchronization, times.synchronization + times.transit),
            links.join(", ")
        )
    }
}

/// The times of a group, and their totals.
fn times_of(ranks: &Ranks, _: &Index, members: &Members, groups: &BTreeSet<String>) -> Tree {
    let mut tree = Tree::default();
    let mut totals: Vec<(String, String, u32, Total)> = Vec::new();
    for collection in members_of(ranks, members) {
        let rank = collection.rank;
        let mut place_of_total = HashMap::new();
        in_file(ranks, collection, &collection.outputs.communication, |place, text| {
            if !groups.contains(place.group) || place.name.starts_with("Total") {
                return;
            }
            let operation = format!("{}@{}", place.name, place.group);
            tree.add(place.step, &operation, Some(format!("\"{rank}\": {}", text.get())));
            let Ok(read) = serde_json::from_str::<Operation>(text.get()) else { return };
            let key = (place.step.to_owned(), place.group.to_owned());
            let at = *place_of_total.entry(key).or_insert_with(|| {
                totals.push((place.step.to_owned(), place.group.to_owned(), rank, Total::default()));
                totals.len() - 1
            });
            totals[at].3.add(&read);
        });
    }
    for (step, group, rank, total) in totals {
        tree.add(&step, &format!("{TOTAL}@{group}"), Some(format!("\"{rank}\": {}", total.to_json())));
    }
    tree
}

#[derive(Deserialize)]
struct Traffics {
    #[serde(rename = "Transport Type", default)]
    transport: String,
    #[serde(rename = "Transit Size(MB)", default)]
    size: f64,
    #[serde(rename = "Transit Time(ms)", default)]
    time: f64,
    #[serde(rename = "Op Name", default)]
    example: String,
}

/// The links of a group, and their totals.
fn links_of(ranks: &Ranks, index: &Index, members: &Members, groups: &BTreeSet<String>) -> Tree {
    let mut tree = Tree::default();
    let mut order: Vec<(String, String, u32, u32)> = Vec::new();
    let mut sums: HashMap<(String, String, u32, u32), Traffics> = HashMap::new();
    let mut operations: Vec<(String, String)> = Vec::new();
    let mut known = BTreeSet::new();
    // Texts tell the places of ranks by their links to themselves alone.
    let seen = Members::default();
    for collection in members_of(ranks, members) {
        in_file(ranks, collection, &collection.outputs.matrix, |place, text| {
            if !groups.contains(place.group) || place.name.starts_with("Total") {
                return;
            }
            let operation = format!("{}@{}", place.name, place.group);
            if known.insert((place.step.to_owned(), operation.clone())) {
                operations.push((place.step.to_owned(), operation.clone()));
            }
            let links: Vec2<Traffics> = serde_json::from_str(text.get()).unwrap_or_default();
            for (link, traffic) in links.0 {
                let Some((src, dst)) = link.split_once('-') else { continue };
                let rank = |text: &str| index.places.rank(&seen, place.group, text.parse().ok()?);
                let (Some(src), Some(dst)) = (rank(src), rank(dst)) else { continue };
                let mut add = |operation: String, example: &str| {
                    let key = (place.step.to_owned(), operation, src, dst);
                    match sums.get_mut(&key) {
                        Some(sum) => {
                            sum.size += traffic.size;
                            sum.time += traffic.time;
                        }
                        None => {
                            let (transport, example) = (traffic.transport.clone(), example.to_owned());
                            let (size, time) = (traffic.size, traffic.time);
                            order.push(key.clone());
                            sums.insert(key, Traffics { transport, size, time, example });
                        }
                    }
                };
                if place.name.contains("total") {
                    add(format!("{TOTAL}@{}", place.group), "");
                }
                add(operation.clone(), &traffic.example);
            }
        });
    }
    for (step, operation) in &operations {
        tree.add(step, operation, None);
    }
    let mut entries: Vec<&(String, String, u32, u32)> = order.iter().collect();
    entries.sort_by_key(|(_, operation, ..)| operation.starts_with(TOTAL));
    for key in entries {
        let (step, operation, src, dst) = key;
        let Some(sum) = sums.get(key) else { continue };
        let entry = format!(
            "\"{src}-{dst}\": {{\"Transport Type\": {}, \"Transit Time(ms)\": {:?}, \"Transit Size(MB)\": {:?}, \
             \"Op Name\": {}, \"Bandwidth(GB/s)\": {:?}}}",
            quoted(&sum.transport),
            sum.time,
            sum.size,
            quoted(&sum.example),
            ratio(sum.size, sum.time)
        );
        tree.add(step, operation, Some(entry));
    }
    tree
}
