//! The ranks below some folders, and what each says of itself: rank, host, groups, time.
//!
//! | a rank is | looked at by | read by |
//! |---|---|---|
//! | a folder `*_ascend_pt` or `*_ascend_ms` with results | `collection` | `read::from_database`, `from_text` |
//! | a device of a raw directory `PROF_*` | `raw` | `read::from_trace` |
//! | a database `msprof_*.db`, `msmonitor_*.db`, `ascend_*_profiler_*.db` by itself | `profile` | `read::from_database` |
//! | a timeline of PyTorch's, a database of opscope's | `profile` | `read::from_trace` |
//! | rows of a `cluster_analysis.db`, where nothing else is left | `cluster_results` | `read::from_results` |
//! | parts of `cluster_communication.json` and the like, likewise | `result_texts` | `read::from_result_texts` |

mod cluster_results;
pub(crate) mod collected;
mod collection;
mod found;
pub(crate) mod jobs;
mod metadata;
mod profile;
mod raw;
mod result_texts;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use opscope_formats::input::have_same_content;

use crate::error::{Loss, LossReason, ReachError};

pub use cluster_results::{OfRank, Results, Rows};
use collection::Depth;
use found::Found;
pub use metadata::{Declared, Group, Role, group_key, key_of_named, key_of_text, number as small_number};
use search::Place;

/// A rank's results in a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Collection {
    /// The folder (`*_ascend_pt`, `*_ascend_ms`), or the file.
    pub folder: PathBuf,
    /// The rank, unique among all collections.
    pub rank: u32,
    /// The host's name.
    pub host: String,
    /// The device's number on its host.
    pub device: Option<u32>,
    /// The time in the folder's name, as digits; empty if there is none.
    pub taken: String,
    /// The options that it was recorded with, as far as it tells them.
    pub collected: collected::Options,
    /// The form that most of it is read from.
    pub format: Format,
    /// Its files.
    pub outputs: Outputs,
}

/// A form of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Databases.
    Database,
    /// Tables and JSON.
    #[default]
    Text,
    /// A raw directory.
    Raw,
    /// A timeline of PyTorch's.
    Timeline,
    /// A database of opscope's.
    Own,
    /// Results of `msprof-analyze`.
    Results,
}

impl Format {
    const ALL: [Self; 6] = [Self::Database, Self::Text, Self::Raw, Self::Timeline, Self::Own, Self::Results];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Text => "text",
            Self::Raw => "raw",
            Self::Timeline => "timeline",
            Self::Own => "opscope",
            Self::Results => "results",
        }
    }

    /// The form of a name; what no form has is text.
    pub fn of_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|form| form.name() == name).unwrap_or_default()
    }
}

/// A profile that is opened as a whole, as any profile is.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    /// The file or folder.
    pub path: PathBuf,
    /// The device that it is read for, where it may have several.
    pub device: Option<u32>,
    /// Its form.
    pub format: Format,
    /// The groups whose members it declares.
    pub declared: Declared,
}

/// The files of a collection that are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outputs {
    /// `ascend_pytorch_profiler_N.db`.
    pub database: Option<PathBuf>,
    /// `analysis.db` or `communication_analyzer.db`.
    pub analysis: Option<PathBuf>,
    /// `kernel_details.csv`.
    pub kernels: Option<PathBuf>,
    /// `communication.json`.
    pub communication: Option<PathBuf>,
    /// `communication_matrix.json`.
    pub matrix: Option<PathBuf>,
    /// `step_trace_time.csv`.
    pub steps: Option<PathBuf>,
    /// `trace_view.json`, for collectives that nothing else of these tells.
    pub timeline: Option<Whole>,
    /// A profile of another form.
    pub whole: Option<Whole>,
    /// The rank's rows in what `msprof-analyze` made of all.
    pub results: Option<Results>,
}

impl Outputs {
    /// The form that most is read from.
    pub fn format(&self) -> Format {
        match (&self.whole, &self.results) {
            _ if self.database.is_some() || self.analysis.is_some() => Format::Database,
            (Some(whole), _) => whole.format,
            (None, Some(_)) => Format::Results,
            (None, None) => Format::Text,
        }
    }

    /// All files; a raw directory is one.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let databases = [&self.database, &self.analysis];
        let texts = [&self.kernels, &self.communication, &self.matrix, &self.steps];
        let whole = self.timeline.iter().chain(&self.whole).map(|whole| &whole.path);
        let results = self.results.iter().map(|results| &results.path);
        databases.into_iter().chain(texts).flatten().chain(whole).chain(results)
    }

    /// Whether nothing but a timeline tells what ran.
    pub fn has_only_a_timeline(&self) -> bool {
        let others = [&self.database, &self.analysis, &self.kernels, &self.communication];
        self.timeline.is_some() && others.into_iter().all(Option::is_none)
    }

    /// Whether there is anything to read.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// All that was found.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// One collection a rank, by rank.
    pub collections: Vec<Collection>,
    /// The groups that collections declare, by their key.
    pub groups: BTreeMap<u64, Group>,
    /// How many ranks the run says that it has.
    pub world_size: Option<u32>,
    /// The sizes of parallelism that the run declares, or its groups tell, by their short names (`tp`).
    pub layout: Vec<(String, u32)>,
    /// Collections of ranks of which a newer one is used.
    pub unused: Vec<Collection>,
    /// Doubts.
    pub losses: Vec<Loss>,
}

impl Discovery {
    /// The ranks that the run has, by its own words or its groups, and that no collection is of.
    pub fn missing(&self) -> Vec<u32> {
        /// More ranks than any cluster has are a mistake of a file.
        const MOST: u32 = 1 << 20;
        let here: BTreeSet<u32> = self.collections.iter().map(|it| it.rank).collect();
        let members = self.groups.values().flat_map(|group| group.ranks.iter().copied());
        let mut expected: BTreeSet<u32> = members.collect();
        expected.extend(0..self.world_size.unwrap_or(0).min(MOST));
        expected.difference(&here).copied().collect()
    }
}

/// Whether the ranks of one run lie below a folder, several of them. Raw directories and databases side by side are
/// more often runs than ranks.
pub fn holds_several(path: &Path) -> bool {
    let mut places = BTreeSet::new();
    path.is_dir()
        && search::places_below(path, &mut places).is_ok()
        && places.iter().filter(|place| place.is_of_many()).nth(1).is_some()
}

/// Finds all ranks below some folders, or in some files.
///
/// # Errors
/// When a path names nothing or can't be listed, there is no rank, or some are of different jobs.
pub fn discover(paths: &[PathBuf]) -> Result<Discovery, ReachError> {
    discover_if(
        paths,
        Depth::Whole,
        |_| true,
        |chosen| {
            let mut known = BTreeSet::new();
            let said: Vec<jobs::Saying<'_>> =
                chosen.iter().map(|(rank, it)| it.saying(*rank, &mut known)).collect();
            jobs::refuse_several(&said)
        },
    )
}

/// As [`discover()`], of the folders that the vendor's tools take, also where some are of different jobs: for tables in
/// which ranks only stand side by side. The hosts and devices that databases tell may be missing.
///
/// # Errors
/// When a path names nothing or can't be listed, or there is no such folder.
pub fn discover_of_any_job(paths: &[PathBuf]) -> Result<Discovery, ReachError> {
    discover_if(paths, Depth::NamesAndTexts, |place| matches!(place, Place::Collection(_)), |_| Ok(()))
}

fn discover_if(
    paths: &[PathBuf],
    depth: Depth,
    is_wanted: impl Fn(&Place) -> bool,
    check: impl FnOnce(&BTreeMap<u32, Found>) -> Result<(), ReachError>,
) -> Result<Discovery, ReachError> {
    let mut places = BTreeSet::new();
    for path in paths {
        search::places_below(path, &mut places)?;
    }
    let are_others = !places.is_empty();
    let places: Vec<Place> = places.into_iter().filter(is_wanted).collect();
    if places.is_empty() {
        let none = if are_others { ReachError::NoFolders } else { ReachError::NoCollections };
        return Err(none(paths.first().cloned().unwrap_or_default()));
    }
    let found = opscope_parallel::map(&places, |place| look_at(place, depth));
    let mut discovery = Discovery::default();
    let found = found.into_iter().flatten().collect();
    let (chosen, unused) = one_of_each_rank(found, &mut discovery.losses)?;
    let mut chosen = chosen;
    tell_hosts_apart(&mut chosen);
    check(&chosen)?;
    let mut shared = collected::Shared::default();
    discovery.unused = unused.into_iter().map(|(rank, one)| collection_of(rank, one, &mut shared)).collect();
    for (rank, mut one) in chosen {
        discovery.losses.append(&mut one.losses);
        discovery.losses.extend(one.host_above().map(|loss| Loss { rank: Some(rank), ..loss }));
        for (key, group) in std::mem::take(&mut one.groups) {
            discovery.groups.entry(key).or_insert(group);
        }
        discovery.world_size = discovery.world_size.max(one.world_size);
        if discovery.layout.is_empty() {
            discovery.layout = std::mem::take(&mut one.layout);
        }
        discovery.collections.push(collection_of(rank, one, &mut shared));
    }
    if discovery.layout.is_empty() {
        discovery.layout = metadata::layout_of_groups(&discovery.groups, discovery.world_size);
    }
    Ok(discovery)
}

/// Adds the profiler's numbers to the names of hosts that are one for several, as those of containers often are: where a
/// device of that name is two ranks', and the numbers differ.
fn tell_hosts_apart(chosen: &mut BTreeMap<u32, Found>) {
    let mut devices: BTreeMap<(&str, u32), usize> = BTreeMap::new();
    let mut uids: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in chosen.values() {
        one.device.iter().for_each(|device| *devices.entry((&one.host, *device)).or_default() += 1);
        if let Some(uid) = &one.host_uid {
            uids.entry(&one.host).or_default().insert(uid);
        }
    }
    let is_twice = |host: &str| devices.iter().any(|((of, _), ranks)| *of == host && *ranks > 1);
    let several: BTreeSet<String> = uids
        .iter()
        .filter(|(host, uids)| uids.len() > 1 && is_twice(host))
        .map(|(host, _)| (*host).to_owned())
        .collect();
    for one in chosen.values_mut().filter(|one| several.contains(&one.host)) {
        if let Some(uid) = &one.host_uid {
            one.host = format!("{} ({uid})", one.host);
        }
    }
}

/// The collection of a rank.
fn collection_of(rank: u32, one: Found, shared: &mut collected::Shared) -> Collection {
    Collection {
        folder: one.folder,
        rank,
        host: one.host,
        device: one.device,
        taken: one.taken,
        collected: shared.one(one.collected),
        format: one.outputs.format(),
        outputs: one.outputs,
    }
}

/// Looks at a place: who is there.
fn look_at(place: &Place, depth: Depth) -> Vec<Found> {
    match place {
        Place::Collection(folder) => vec![collection::look_at(folder, depth)],
        Place::Raw(folder) => raw::look_at(folder),
        Place::Database(path) => profile::look_at_database(path),
        Place::Timeline(path) => vec![profile::look_at_timeline(path)],
        Place::Own(path) => profile::look_at_own(path),
        Place::Results(folder) => cluster_results::look_at(folder),
    }
}

/// One collection of each rank, and the others of those that have several.
type Chosen = (BTreeMap<u32, Found>, Vec<(u32, Found)>);

/// Gives a number to each collection that names none, and chooses one of those that name the same.
fn one_of_each_rank(mut found: Vec<Found>, losses: &mut Vec<Loss>) -> Result<Chosen, ReachError> {
    // Beside ranks that are told there may lie whatever somebody made of one of them.
    if found.iter().any(|it| it.rank.is_some()) {
        found.retain(|it| {
            let is_kept = it.rank.is_some() || !it.may_be_something_else;
            if !is_kept {
                losses.push(Loss::new(None, it.folder.display().to_string(), LossReason::NoRank, 1));
            }
            is_kept
        });
    }
    // A start that was aborted leaves a folder in which nothing is, not even a rank's number: it is no further rank.
    if found.iter().any(|it| !it.outputs.is_empty()) {
        found.retain(|it| {
            // A folder that can't be read is no start that was aborted.
            let is_kept = it.rank.is_some() || !it.outputs.is_empty() || !it.losses.is_empty();
            if !is_kept {
                losses.push(Loss::new(None, it.folder.display().to_string(), LossReason::EmptyFolder, 1));
            }
            is_kept
        });
    }
    // Invented numbers follow hosts and devices.
    found.sort_by(|a, b| {
        let place = |it: &Found| (it.rank, it.may_be_something_else.then(|| (it.host.clone(), it.device)));
        place(a).cmp(&place(b)).then_with(|| a.folder.cmp(&b.folder))
    });
    let taken: BTreeSet<u32> = found.iter().filter_map(|it| it.rank).collect();
    let mut free = (0..).filter(|number| !taken.contains(number));
    let mut chosen: BTreeMap<u32, Found> = BTreeMap::new();
    let mut unused: Vec<(u32, Found)> = Vec::new();
    let mut twice: Vec<(u32, PathBuf, PathBuf)> = Vec::new();
    // A device of a host is one rank, however often it was recorded.
    let mut of_devices: BTreeMap<(String, u32), u32> = BTreeMap::new();
    for mut one in found {
        let place = one.device.filter(|_| one.may_be_something_else).map(|device| (one.host.clone(), device));
        let known = place.as_ref().and_then(|place| of_devices.get(place).copied());
        let rank = one.rank.or(known).or_else(|| free.next()).unwrap_or(u32::MAX);
        if one.rank.is_none() {
            of_devices.extend(place.map(|place| (place, rank)));
        }
        let folder = |it: &Found| it.folder.display().to_string();
        if one.rank.is_none() {
            losses.push(Loss::new(Some(rank), folder(&one), LossReason::InventedRank, 1));
        }
        if let Some(other) = chosen.remove(&rank) {
            let (kept, left) = newer_first(one, other);
            let are_alike = worth(&kept) == worth(&left) && kept.outputs.format() == left.outputs.format();
            if are_alike && !is_same_file(&kept.folder, &left.folder) {
                twice.push((rank, kept.folder.clone(), left.folder.clone()));
            }
            losses.push(Loss::new(Some(rank), folder(&left), LossReason::Double, 1));
            unused.push((rank, left));
            one = kept;
        }
        chosen.insert(rank, one);
    }
    match twice.first() {
        None => Ok((chosen, unused)),
        Some((_, first, second)) => Err(ReachError::TwoRuns {
            ranks: jobs::numbers(twice.iter().map(|(rank, ..)| *rank)),
            first: first.clone(),
            second: second.clone(),
        }),
    }
}

/// The properties by which one of several collections of a rank is used: the newer, and of equally old ones databases.
fn worth(found: &Found) -> (bool, &str, bool) {
    (!found.outputs.is_empty(), &found.taken, found.outputs.format() == Format::Database)
}

/// Whether two places are files of the same content, as a timeline and its packed copy are.
fn is_same_file(first: &Path, second: &Path) -> bool {
    let are_two_files = first != second && first.is_file() && second.is_file();
    are_two_files && have_same_content(first, second).is_ok_and(|is_same| is_same)
}

/// Of two collections of a rank the one to use, and the other.
fn newer_first(a: Found, b: Found) -> (Found, Found) {
    if worth(&a) > worth(&b) { (a, b) } else { (b, a) }
}

/// The name of the last folder of a path.
fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
