//! Importing: the profiles of ranks become parts of a set, a rank at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope_files::open_own;
use opscope_formats::reading::Stop;

use super::file::{TableFile, WholeFile};
use super::manifest::{self, DeclaredGroup, Fingerprint, Keep, Manifest, PartFile, part_name};
use super::open::saying_of;
use super::table::{Row, Texts};
use super::tables::{
    CallLine, CollectiveLine, CopyLine, EndLine, ExpertLine, FrequencyLine, LinkLine, LossLine, MarkLine,
    OperatorLine, RankLine, StepLine,
};
use super::{
    RANKS_OF_BLOCK, SCHEMA, SetError, block_folder, bucket_folder, bucket_of, leftovers, lines, own_work,
    whole,
};
use crate::discover::collected;
use crate::discover::jobs::{Saying, refuse_several};
use crate::discover::{Collection, Discovery, Role, discover};
use crate::doubles::refuse_at_once;
use crate::error::{Loss, LossReason, ReachError};
use crate::profiles::sort_losses;
use crate::read::{self, Details, Executed, Ran};
use crate::rows::RankRows;
use crate::{Progress, Stage};

/// Every N-th rank, from the K-th on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which of them, from 1 on.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Shard {
    fn has(self, rank: u32) -> bool {
        rank % self.of == self.number - 1
    }
}

/// The sources and the manner of an import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The run's name in the set.
    pub run: String,
    /// The ranks to import, if not all.
    pub shard: Option<Shard>,
    /// How much of each rank to keep.
    pub keep: Keep,
    /// How many ranks are read at the same time.
    pub jobs: usize,
}

/// The outcome of an import.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The ranks that are new in the set.
    pub ranks: Vec<u32>,
    /// The ranks that were there already, from the same data.
    pub present: Vec<u32>,
    /// Ranks that another process is importing: the first and the last of each part.
    pub busy: Vec<(u32, u32)>,
    /// Rows and bytes that were written, by table.
    pub tables: BTreeMap<String, (u64, u64)>,
    /// Ranks that the run has and the set lacks.
    pub missing: Vec<u32>,
    /// Why the tables over all ranks aren't there; `None` if they are.
    pub why_not_whole: Option<String>,
    /// Whether the tables over all ranks lacked files or were cut, and were written anew.
    pub are_mended: bool,
    /// Losses and doubts of what was imported.
    pub losses: Vec<Loss>,
}

/// The reason why tables over all ranks wait.
const STILL_MISSING: &str = "ranks are still missing";

/// Imports the ranks below some folders into a set.
///
/// # Errors
/// When there are none, the set can't be written, has some of the ranks from other data, or `stop` is wanted. What
/// was imported before stays.
pub fn import(
    paths: &[PathBuf],
    set: &Path,
    options: &ImportOptions,
    stop: &Stop,
    progress: &Progress<'_>,
) -> Result<Imported, ReachError> {
    if !super::is_run_name(&options.run) {
        return Err(SetError::RunName(options.run.clone()).into());
    }
    progress(Stage::Looking);
    let mut discovery = discover(paths)?;
    refuse_at_once(&discovery, stop)?;
    let mut doubts = std::mem::take(&mut discovery.losses);
    sort_losses(&mut doubts);
    let chosen = |it: &Collection| options.shard.is_none_or(|shard| shard.has(it.rank));
    let mut collections: Vec<&Collection> = discovery.collections.iter().filter(|it| chosen(it)).collect();
    manifest::begin(set)?;
    let folder = manifest::folder(set, &options.run);
    opscope_files::create_folder(&folder).map_err(|error| SetError::unwritable(&folder, error))?;
    refuse_another_job(set, options, &discovery)?;
    let mut imported = Imported::default();
    let prints = opscope_parallel::map(&collections, |collection| manifest::fingerprint(collection));
    let prints: BTreeMap<u32, String> = collections.iter().map(|it| it.rank).zip(prints).collect();
    let known = known(set, options, &collections, &prints)?;
    collections.retain(|it| !known.contains(&it.rank));
    imported.present = known;
    let mut work = Importer {
        set,
        options,
        discovery: &discovery,
        doubts,
        prints,
        stop,
        progress,
        done: 0,
        all: collections.len(),
        written: Vec::new(),
    };
    for ranks in collections.chunk_by(|a, b| a.rank / RANKS_OF_BLOCK == b.rank / RANKS_OF_BLOCK) {
        work.part(ranks, &mut imported)?;
    }
    if manifest::manifests(set, &options.run)?.is_empty() {
        // Others have begun all parts, and finished none yet.
        imported.missing = discovery.collections.iter().map(|collection| collection.rank).collect();
        imported.why_not_whole = Some(STILL_MISSING.to_owned());
        return Ok(imported);
    }
    let own: Vec<String> = work.written;
    leftovers::remove(set, &options.run, &own)?;
    let opened = super::open::Set::open(set, Some(&options.run))?;
    imported.missing = opened.discovery().missing();
    // Others may have ended meanwhile.
    let is_there = |rank: u32| opened.discovery().collections.iter().any(|it| it.rank == rank);
    let lacks =
        |it: &Collection, (first, last): (u32, u32)| (first..=last).contains(&it.rank) && !is_there(it.rank);
    imported.busy.retain(|part| discovery.collections.iter().any(|it| lacks(it, *part)));
    let waits_for_others =
        options.shard.is_some() && !imported.missing.is_empty() || !imported.busy.is_empty();
    imported.why_not_whole = match () {
        () if waits_for_others => Some(STILL_MISSING.to_owned()),
        () if opened.keep() == Keep::Summary => Some("collectives aren't kept".to_owned()),
        () => match whole::write(opened, stop, progress) {
            Ok(are_mended) => {
                imported.are_mended = are_mended;
                None
            }
            // A run without anything to compare is a set all the same.
            Err(error @ ReachError::NothingMatched { .. }) => Some(error.to_string()),
            Err(error) => return Err(error),
        },
    };
    Ok(imported)
}

/// Refuses ranks of another job than that of the set's ranks, but for those that are imported anew.
fn refuse_another_job(set: &Path, options: &ImportOptions, discovery: &Discovery) -> Result<(), ReachError> {
    let parts = manifest::manifests(set, &options.run)?;
    let ranks: Vec<u32> = discovery.collections.iter().map(|it| it.rank).collect();
    let stays = |part: &&Manifest| part.ranks.keys().any(|rank| ranks.binary_search(rank).is_err());
    let mut known = BTreeSet::new();
    let mut said: Vec<Saying<'_>> =
        parts.iter().filter(stays).map(|part| saying_of(part, set, &mut known)).collect();
    let Some(first) = discovery.collections.first() else { return Ok(()) };
    let groups = discovery.groups.iter().map(|(key, group)| (*key, &group.ranks[..]));
    said.push(Saying::new(ranks, &first.folder, discovery.world_size, groups, &mut known));
    refuse_several(&said)
}

/// The ranks that the set has already.
fn known(
    set: &Path,
    options: &ImportOptions,
    collections: &[&Collection],
    prints: &BTreeMap<u32, String>,
) -> Result<Vec<u32>, SetError> {
    let mut known: BTreeMap<u32, String> = BTreeMap::new();
    for part in manifest::manifests(set, &options.run)? {
        let chosen = part.ranks.keys().find(|rank| collections.iter().any(|it| it.rank == **rank));
        if let Some(rank) = chosen.filter(|_| part.keep < options.keep) {
            let (rank, run, keep) = (*rank, options.run.clone(), part.keep.name());
            return Err(SetError::KeepsLess { rank, run, keep });
        }
        known.extend(part.ranks);
    }
    let mut present = Vec::new();
    for collection in collections {
        let Some(print) = known.get(&collection.rank) else { continue };
        if *print != prints[&collection.rank] {
            let (rank, run, folder) = (collection.rank, options.run.clone(), collection.folder.clone());
            return Err(SetError::OtherData { rank, run, folder });
        }
        present.push(collection.rank);
    }
    Ok(present)
}

struct Importer<'i> {
    set: &'i Path,
    options: &'i ImportOptions,
    discovery: &'i Discovery,
    /// Doubts of the discovery, until the part that tells of them.
    doubts: Vec<Loss>,
    prints: BTreeMap<u32, String>,
    stop: &'i Stop,
    progress: &'i Progress<'i>,
    done: usize,
    all: usize,
    /// The names of the parts that were written.
    written: Vec<String>,
}

/// All that a set keeps of a rank.
struct ReadRank<'c> {
    collection: &'c Collection,
    rows: RankRows,
    losses: Vec<Loss>,
    /// The rank's doings, where they are kept.
    done: Option<Executed>,
    /// The details of its collectives, where these are kept.
    details: Details,
    chip: String,
}

impl Importer<'_> {
    /// Imports ranks of one block, unless another process does.
    fn part(&mut self, ranks: &[&Collection], imported: &mut Imported) -> Result<(), ReachError> {
        let (first, last) = (ranks[0].rank, ranks[ranks.len() - 1].rank);
        let folder = manifest::folder(self.set, &self.options.run);
        let lock = folder.join(format!(".{}.lock", part_name(first, last)));
        let Some(_held) = try_lock(&lock)? else {
            imported.busy.push((first, last));
            return Ok(());
        };
        let mut part = PartWriter::new(self.set, &self.options.run, self.manifest(ranks))?;
        for wave in ranks.chunks(self.options.jobs.max(1)) {
            let done = AtomicUsize::new(self.done);
            let read = opscope_parallel::map(wave, |collection| {
                let read = self.read(collection);
                (self.progress)(Stage::Reading(done.fetch_add(1, Ordering::Relaxed) + 1, self.all));
                read
            });
            self.done += wave.len();
            if self.stop.is_wanted() {
                return Err(ReachError::Interrupted);
            }
            for mut rank in read {
                let (of_rank, others) =
                    self.doubts.drain(..).partition(|it| it.rank == Some(rank.collection.rank));
                self.doubts = others;
                rank.losses.splice(0..0, Vec::<Loss>::into_iter(of_rank));
                // Whoever reads several tables of a damaged file tells of it as often.
                sort_losses(&mut rank.losses);
                part.push(rank, self.discovery, self.options.keep, &mut imported.losses)?;
            }
        }
        // A loss that is about no rank here goes with the first part.
        let here: Vec<u32> = self.discovery.collections.iter().map(|it| it.rank).collect();
        let is_of_none = |it: &mut Loss| it.rank.is_none_or(|rank| here.binary_search(&rank).is_err());
        for loss in self.doubts.extract_if(.., is_of_none) {
            part.lose(&loss)?;
            imported.losses.push(loss);
        }
        let manifest = part.finish(&folder)?;
        for file in &manifest.files {
            let table = file.path.split('/').next().unwrap_or_default().to_owned();
            let sums = imported.tables.entry(table).or_default();
            *sums = (sums.0 + file.rows, sums.1 + file.bytes);
        }
        imported.ranks.extend(manifest.ranks.keys());
        self.written.push(manifest.name());
        // Whoever waits for it holds the file all the same.
        let _ = std::fs::remove_file(&lock);
        Ok(())
    }

    fn read<'c>(&self, collection: &'c Collection) -> ReadRank<'c> {
        let nothing = || ReadRank {
            collection,
            rows: RankRows::default(),
            losses: Vec::new(),
            done: None,
            details: Details::default(),
            chip: String::new(),
        };
        if self.stop.is_wanted() {
            return nothing();
        }
        let (rows, told) = read::rank(collection);
        let mut losses = told.clone();
        let done = (self.options.keep == Keep::All).then(|| {
            let mut done = Executed::default();
            let lost = read::each(collection, &mut done);
            // A timeline that collectives are read from is told already.
            losses.extend(lost.into_iter().filter(|it| !told.contains(it)));
            done.sort();
            done
        });
        let has_collectives = self.options.keep >= Keep::Communication;
        let details = if has_collectives { read::details(collection) } else { Details::default() };
        ReadRank { rows, losses, done, details, chip: read::chip(collection), ..nothing() }
    }

    /// The manifest of a part, without its files.
    fn manifest(&self, ranks: &[&Collection]) -> Manifest {
        let is_here = |rank: &u32| ranks.iter().any(|it| it.rank == *rank);
        let groups = self.discovery.groups.iter().filter(|(_, group)| group.ranks.iter().any(is_here));
        let declared = |(key, group): (&u64, &crate::discover::Group)| DeclaredGroup {
            key: *key,
            id: group.id.clone(),
            name: group.name.clone(),
            role: group.role.name().to_owned(),
            ranks: group.ranks.clone(),
        };
        Manifest {
            schema: SCHEMA,
            program: manifest::program(),
            keep: self.options.keep,
            ranks: ranks.iter().map(|it| (it.rank, self.prints[&it.rank].clone())).collect(),
            files: Vec::new(),
            world_size: self.discovery.world_size,
            layout: self.discovery.layout.clone(),
            groups: groups.map(declared).collect(),
        }
    }
}

/// Takes a lock that ends with the process; `None` while another has it. Where the file system has no locks, nobody
/// has it, and the second one to end finds the first one's manifest.
fn try_lock(path: &Path) -> Result<Option<File>, SetError> {
    let file = open_own(path).map_err(|error| SetError::unwritable(path, error))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}

/// The files of a part, while it is written.
struct PartWriter<'s> {
    set: &'s Path,
    manifest: Manifest,
    run: String,
    /// The name of its files.
    name: String,
    ranks: TableFile<RankLine>,
    steps: TableFile<StepLine>,
    ends: TableFile<EndLine>,
    links: TableFile<LinkLine>,
    operators: TableFile<OperatorLine>,
    copies: TableFile<CopyLine>,
    calls: TableFile<CallLine>,
    experts: TableFile<ExpertLine>,
    frequencies: TableFile<FrequencyLine>,
    marks: TableFile<MarkLine>,
    losses: TableFile<LossLine>,
    collectives: Vec<CollectiveLine>,
    types: Texts,
}

impl<'s> PartWriter<'s> {
    fn new(set: &'s Path, run: &str, manifest: Manifest) -> Result<Self, SetError> {
        let mut print = Fingerprint::default();
        print.add(format!("{} {:?} {SCHEMA}", manifest.program, manifest.keep).as_bytes());
        manifest.ranks.values().for_each(|rank| print.add(rank.as_bytes()));
        let name = format!("{}-{}.parquet", manifest.name(), &print.text()[..8]);
        let block = block_folder(manifest.ranks.keys().next().copied().unwrap_or(0));
        fn file<R: Row>(set: &Path, run: &str, block: &str, name: &str) -> Result<TableFile<R>, SetError> {
            TableFile::new(set.join(R::TABLE).join(format!("run={run}")).join(block).join(name))
        }
        Ok(Self {
            set,
            run: run.to_owned(),
            ranks: file(set, run, &block, &name)?,
            steps: file(set, run, &block, &name)?,
            ends: file(set, run, &block, &name)?,
            links: file(set, run, &block, &name)?,
            operators: file(set, run, &block, &name)?,
            copies: file(set, run, &block, &name)?,
            calls: file(set, run, &block, &name)?,
            experts: file(set, run, &block, &name)?,
            frequencies: file(set, run, &block, &name)?,
            marks: file(set, run, &block, &name)?,
            losses: file(set, run, &block, &name)?,
            collectives: Vec::new(),
            types: Texts::default(),
            manifest,
            name,
        })
    }

    /// Adds a rank; the losses are handed on.
    fn push(
        &mut self,
        read: ReadRank<'_>,
        discovery: &Discovery,
        keep: Keep,
        losses: &mut Vec<Loss>,
    ) -> Result<(), SetError> {
        let ReadRank { collection, rows, losses: lost, done, details, chip } = read;
        let rank = collection.rank as i32;
        self.push_rank(collection, &rows, &lost, &chip, discovery)?;
        let copied = done.as_ref().map(|done| own_work::of_steps(&rows, done));
        let steps = lines::steps(rank, &rows, copied.as_deref(), &mut self.steps.texts);
        steps.into_iter().try_for_each(|line| self.steps.push(line))?;
        lines::ends(rank, &rows).into_iter().try_for_each(|line| self.ends.push(line))?;
        let links = lines::links(rank, &rows, &mut self.links.texts);
        links.into_iter().try_for_each(|line| self.links.push(line))?;
        if keep >= Keep::Communication {
            let own = done.as_ref().map(|done| own_work::of_collectives(&rows, done));
            let lines = lines::collectives(rank, &rows, &details, own.as_deref(), &mut self.types);
            self.collectives.extend(lines);
        }
        if let Some(done) = &done {
            self.push_done(rank, &rows, done)?;
        }
        lost.iter().try_for_each(|loss| self.lose(loss))?;
        losses.extend(lost);
        Ok(())
    }

    fn push_rank(
        &mut self,
        collection: &Collection,
        rows: &RankRows,
        losses: &[Loss],
        chip: &str,
        discovery: &Discovery,
    ) -> Result<(), SetError> {
        let place = |role| place_in(discovery, role, collection.rank);
        let starts = rows.collectives.iter().map(|row| row.start_ns);
        let begins = rows.steps.iter().filter_map(|step| step.start_ns);
        let ends = rows.collectives.iter().map(|row| row.end_ns());
        let texts = &mut self.ranks.texts;
        let line = RankLine {
            rank: collection.rank as i32,
            host: texts.enter(&collection.host),
            device: collection.device.map(|device| device as i32),
            tp: place(Role::Tp),
            pp: place(Role::Pp),
            dp: place(Role::Dp),
            ep: place(Role::Ep),
            cp: place(Role::Cp),
            source: texts.enter(&collection.folder.display().to_string()),
            format: texts.enter(collection.format.name()),
            taken: texts.enter(&collection.taken),
            level: texts.enter(collection.collected.get("profiler_level").map_or("", String::as_str)),
            collected: texts.enter(&collected::to_text(&collection.collected)),
            steps: rows.steps.len() as i64,
            collectives: rows.collectives.len() as i64,
            operators: rows.operators as i64,
            frequency_mhz: rows.frequency_mhz,
            first_ns: starts.chain(begins).min(),
            last_ns: ends.chain(rows.finishes.iter().map(|it| it.end_ns)).max(),
            losses: losses.len() as i64,
            chip: texts.enter(chip),
            state: texts.enter(state_of(losses)),
        };
        self.ranks.push(line)
    }

    fn push_done(&mut self, rank: i32, rows: &RankRows, done: &Executed) -> Result<(), SetError> {
        let texts = &mut self.operators.texts;
        let kinds: Vec<_> = done
            .kinds
            .iter()
            .map(|kind| {
                let tokens = read::is_of_experts(&kind.key.op_type).then(|| read::tokens_of(&kind.shapes));
                let of_kind = [&kind.key.name, &kind.key.op_type, &kind.key.unit, &kind.shapes, &kind.types];
                let [name, op_type, unit, shapes, types] = of_kind.map(|text| texts.enter(text));
                let rows = read::rows_of(&kind.shapes) as i64;
                (
                    OperatorLine {
                        rank,
                        step: 0,
                        start_ns: 0,
                        duration_ns: 0,
                        name,
                        r#type: op_type,
                        unit,
                        shapes,
                        rows,
                        launched_ns: None,
                        gap_ns: None,
                        stream: None,
                        types,
                    },
                    tokens,
                )
            })
            .collect();
        let mut products: BTreeMap<i32, i32> = BTreeMap::new();
        let mut busy_until: Option<i64> = None;
        for &Ran { start: start_ns, end, kind, stream, launch } in &done.operators {
            let Some((line, tokens)) = kinds.get(kind as usize) else { continue };
            let (step, duration_ns) = (rows.step_at(start_ns), end - start_ns);
            let (launched_ns, gap_ns) = (launch.time(), busy_until.map(|until| (start_ns - until).max(0)));
            busy_until = busy_until.max(Some(end));
            let line = OperatorLine { step, start_ns, duration_ns, launched_ns, gap_ns, stream, ..*line };
            self.operators.push(line)?;
            if let Some(tokens) = tokens {
                let next = products.entry(step).or_default();
                self.experts.push(ExpertLine {
                    rank,
                    step,
                    place: *next,
                    tokens: *tokens as i64,
                    duration_ns,
                })?;
                *next += 1;
            }
        }
        let words: Vec<_> = done.words.iter().map(|word| self.copies.texts.enter(word)).collect();
        for &(start_ns, end, word) in &done.copies {
            let (step, kind) = (rows.step_at(start_ns), words[word as usize]);
            self.copies.push(CopyLine { rank, step, kind, start_ns, duration_ns: end - start_ns })?;
        }
        for (start_ns, end, name) in &done.calls {
            let name = self.calls.texts.enter(name);
            self.calls.push(CallLine { rank, name, start_ns: *start_ns, duration_ns: end - start_ns })?;
        }
        for &(start_ns, megahertz) in &done.frequencies {
            self.frequencies.push(FrequencyLine { rank, start_ns, megahertz })?;
        }
        for (start_ns, end, name) in &done.marks {
            let name = self.marks.texts.enter(name);
            self.marks.push(MarkLine { rank, name, start_ns: *start_ns, duration_ns: end - start_ns })?;
        }
        Ok(())
    }

    fn lose(&mut self, loss: &Loss) -> Result<(), SetError> {
        let line = lines::loss(loss, &mut self.losses.texts);
        self.losses.push(line)
    }

    /// Writes collectives, gives all files their names and then the manifest its own.
    fn finish(mut self, folder: &Path) -> Result<Manifest, SetError> {
        let mut files = Vec::new();
        let key = |line: &CollectiveLine| {
            (bucket_of(line.group_key as u64), line.group_key, line.sequence, line.rank, line.place)
        };
        self.collectives.sort_unstable_by_key(key);
        let of_run = self.set.join(CollectiveLine::TABLE).join(format!("run={}", self.run));
        let file = |bucket| TableFile::new(of_run.join(bucket_folder(bucket)).join(&self.name));
        for lines in self.collectives.chunk_by(|a, b| key(a).0 == key(b).0) {
            let mut file = file(key(&lines[0]).0)?;
            file.texts = self.types.clone();
            lines.iter().try_for_each(|line| file.push(*line))?;
            files.push(file.finish()?);
        }
        if self.collectives.is_empty() {
            files.push(file(0)?.finish()?);
        }
        files.push(self.ranks.finish()?);
        files.push(self.steps.finish()?);
        files.push(self.ends.finish()?);
        files.push(self.links.finish()?);
        files.push(self.operators.finish()?);
        files.push(self.copies.finish()?);
        files.push(self.calls.finish()?);
        files.push(self.experts.finish()?);
        files.push(self.frequencies.finish()?);
        files.push(self.marks.finish()?);
        files.push(self.losses.finish()?);
        self.manifest.files = part_files(self.set, &files);
        let _held = lock_commits(folder)?;
        for other in manifest::manifests(self.set, &self.run)? {
            if let Some(rank) = self.manifest.ranks.keys().find(|rank| other.ranks.contains_key(rank)) {
                return match other.ranks == self.manifest.ranks {
                    true => Ok(Manifest { files: Vec::new(), ..self.manifest }),
                    false => Err(SetError::Overtaken { rank: *rank, path: self.set.to_owned() }),
                };
            }
        }
        WholeFile::name_all(files)?;
        manifest::write_json(&folder.join(self.manifest.file_name()), &self.manifest)?;
        Ok(self.manifest)
    }
}

/// The state of a rank with these losses.
fn state_of(losses: &[Loss]) -> &'static str {
    let has = |reason| losses.iter().any(|loss| loss.reason == reason);
    match () {
        () if has(LossReason::Empty) => "empty",
        () if has(LossReason::Damaged) => "damaged",
        () => "whole",
    }
}

/// Files as manifests have them.
pub fn part_files(set: &Path, files: &[WholeFile]) -> Vec<PartFile> {
    let path = |file: &WholeFile| {
        let below = file.path().strip_prefix(set).unwrap_or(file.path());
        below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
    };
    let mut all: Vec<PartFile> =
        files.iter().map(|file| PartFile { path: path(file), rows: file.rows, bytes: file.bytes }).collect();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

/// Waits until nobody else gives files of a run their names.
pub fn lock_commits(folder: &Path) -> Result<File, SetError> {
    let path = folder.join(".commits.lock");
    let file = open_own(&path).map_err(|error| SetError::unwritable(&path, error))?;
    // Where the file system has no locks, the manifest's own name decides.
    let _ = file.lock();
    Ok(file)
}

/// A rank's place in the first declared group of a use.
pub fn place_in(discovery: &Discovery, role: Role, rank: u32) -> Option<i32> {
    let mut of_role = discovery.groups.values().filter(|group| group.role == role);
    of_role.find_map(|group| group.ranks.iter().position(|it| *it == rank)).map(|place| place as i32)
}
