//! The ranks of a set, as they were read when they were imported.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::catalog::SetTable;
use super::file;
use super::lines;
use super::manifest::{self, Keep, Manifest, PartFile};
use super::table::{Row, Texts};
use super::tables::{
    CallLine, CollectiveGroup, CollectivePart, CopyLine, EndLine, ExpertLine, FrequencyLine, LinkLine,
    LossLine, OperatorSpan, RankLine, StepLine,
};
use super::{SetError, is_set, whole};
use crate::discover::collected;
use crate::discover::jobs::{Members, Saying, refuse_several};
use crate::discover::{Collection, Discovery, Format, Group, Outputs, Role};
use crate::error::{Loss, LossReason, ReachError};
use crate::experts::{ExpertRow, ExpertRows};
use crate::profiles::sort_losses;
use crate::read::{Kind, Launch, OperatorKey, Operators, Ran, Summing, Work, can_last};
use crate::rows::{CollectiveType, RankRows};
use crate::run::{Outline, Run};

/// A run of a set, opened for reading.
#[derive(Debug)]
pub struct Set {
    /// The set's folder.
    pub path: PathBuf,
    /// The run.
    pub run: String,
    /// Its parts.
    pub parts: Vec<Manifest>,
    discovery: Discovery,
    /// By rank the number of its operators and its frequency, which the other tables don't have.
    counts: BTreeMap<u32, (u64, Option<f64>)>,
    /// The losses of its import.
    pub losses: Vec<Loss>,
}

/// The words about their job of the ranks of a part.
pub(super) fn saying_of<'s>(part: &Manifest, set: &'s Path, known: &mut BTreeSet<Members>) -> Saying<'s> {
    let groups = part.groups.iter().map(|group| (group.key, &group.ranks[..]));
    Saying::new(part.ranks.keys().copied().collect(), set, part.world_size, groups, known)
}

impl Set {
    /// Opens a run, the only one if none is named.
    ///
    /// # Errors
    /// When it isn't there, is of a later version, or a file that a manifest names is missing or has another length.
    pub fn open(path: &Path, run: Option<&str>) -> Result<Self, SetError> {
        if !is_set(path) {
            let why = if path.exists() { SetError::Other } else { SetError::Absent };
            return Err(why(path.to_owned()));
        }
        let run = manifest::chosen_run(path, run)?;
        let parts = manifest::manifests(path, &run)?;
        let mut set = Self {
            path: path.to_owned(),
            run,
            parts,
            discovery: Discovery::default(),
            counts: BTreeMap::new(),
            losses: Vec::new(),
        };
        set.check_files()?;
        set.read_ranks()?;
        set.read_losses()?;
        Ok(set)
    }

    /// The ranks and groups.
    pub fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// The least that is kept of any rank.
    pub fn keep(&self) -> Keep {
        self.parts.iter().map(|part| part.keep).min().unwrap_or_default()
    }

    /// Files that lie among those of the run's tables, and that no manifest names: engines that read all files of a
    /// folder count their rows as well.
    pub(crate) fn files_beside(&self, tables: &[SetTable]) -> Vec<PathBuf> {
        let named = tables.iter().flat_map(|table| table.files.iter().cloned()).collect();
        super::leftovers::unnamed(&self.path, &self.run, &named)
    }

    fn check_files(&self) -> Result<(), SetError> {
        self.parts.iter().try_for_each(|part| self.check(&part.files))
    }

    /// The error with the manifest that names the file, which is to be deleted before its ranks are imported again.
    fn with_manifest(&self, error: SetError) -> SetError {
        let SetError::Unreadable { path, why } = error else { return error };
        let folder = manifest::folder(&self.path, &self.run);
        let names = |files: &[PartFile]| files.iter().any(|file| self.path.join(&file.path) == path);
        let part = self.parts.iter().find(|part| names(&part.files)).map(|part| part.file_name());
        let whole = || whole::find(self).filter(|it| names(&it.files)).map(|_| whole::FILE.to_owned());
        match part.or_else(whole) {
            Some(name) => SetError::UnreadablePart { path, why, manifest: folder.join(name) },
            None => SetError::Unreadable { path, why },
        }
    }

    /// Checks that files of a manifest lie in the set, and have the lengths that they were written with.
    pub(super) fn check(&self, files: &[PartFile]) -> Result<(), SetError> {
        self.lengths(files).map_err(|error| self.with_manifest(error))
    }

    fn lengths(&self, files: &[PartFile]) -> Result<(), SetError> {
        for file in files {
            // Nothing in a manifest leads out of the set.
            let is_below =
                file.path.split('/').all(|part| !part.is_empty() && part != ".." && !part.contains('\\'));
            let path = self.path.join(&file.path);
            let length = std::fs::metadata(&path).map(|it| it.len());
            match length {
                _ if !is_below => return Err(SetError::unreadable(&path, "it lies outside of the set")),
                Ok(length) if length == file.bytes => {}
                Ok(length) => {
                    let why = format!("it has {length} bytes, not {} as when it was written", file.bytes);
                    return Err(SetError::unreadable(&path, why));
                }
                Err(error) => return Err(SetError::unreadable(&path, error)),
            }
        }
        Ok(())
    }

    /// The files of a table.
    fn files<'s>(&'s self, table: &'s str, parts: &'s [Manifest]) -> impl Iterator<Item = PathBuf> + 's {
        let of_table = move |path: &str| path.split('/').next() == Some(table);
        let files = parts.iter().flat_map(|part| &part.files).filter(move |file| of_table(&file.path));
        files.map(|file| self.path.join(&file.path))
    }

    /// All rows of a table, file by file.
    fn each<R: Row>(&self, mut row: impl FnMut(&R, &Texts) -> Result<(), String>) -> Result<(), SetError> {
        for path in self.files(R::TABLE, &self.parts) {
            let mut texts = Texts::default();
            file::each(&path, None, &mut texts, |line, texts| row(line, texts))
                .map_err(|error| self.with_manifest(error))?;
        }
        Ok(())
    }

    /// Refuses ranks that were imported from different jobs.
    ///
    /// # Errors
    /// When there are such.
    pub(crate) fn refuse_several_jobs(&self) -> Result<(), ReachError> {
        let mut known = BTreeSet::new();
        let said = self.parts.iter().map(|part| saying_of(part, &self.path, &mut known));
        refuse_several(&said.collect::<Vec<_>>())
    }

    fn read_ranks(&mut self) -> Result<(), SetError> {
        let mut discovery = Discovery::default();
        for part in &self.parts {
            discovery.world_size = discovery.world_size.max(part.world_size);
            if discovery.layout.is_empty() {
                discovery.layout = part.layout.clone();
            }
            for group in &part.groups {
                let declared = || Group {
                    id: group.id.clone(),
                    name: group.name.clone(),
                    role: Role::of_short_name(&group.role),
                    ranks: group.ranks.clone(),
                };
                discovery.groups.entry(group.key).or_insert_with(declared);
            }
        }
        let mut collections: BTreeMap<u32, Collection> = BTreeMap::new();
        let mut counts = BTreeMap::new();
        let mut shared = collected::Shared::default();
        self.each(|line: &RankLine, texts| {
            let rank = u32::try_from(line.rank).map_err(|_| format!("a rank {}", line.rank))?;
            let collection = Collection {
                folder: texts.get(line.source).into(),
                rank,
                host: texts.get(line.host).to_owned(),
                device: line.device.and_then(|device| u32::try_from(device).ok()),
                taken: texts.get(line.taken).to_owned(),
                collected: shared.one(collected::of_text(texts.get(line.collected))),
                format: Format::of_name(texts.get(line.format)),
                outputs: Outputs::default(),
            };
            collections.insert(rank, collection);
            counts.insert(rank, (line.operators.max(0) as u64, line.frequency_mhz));
            Ok(())
        })?;
        discovery.collections = collections.into_values().collect();
        (self.discovery, self.counts) = (discovery, counts);
        Ok(())
    }

    fn read_losses(&mut self) -> Result<(), SetError> {
        let mut losses = Vec::new();
        self.each(|line: &LossLine, texts| {
            let reason = LossReason::of_name(texts.get(line.reason));
            let rank = line.rank.and_then(|rank| u32::try_from(rank).ok());
            let loss = Loss::new(rank, texts.get(line.source), reason, line.count.max(0) as u64);
            losses.push(loss.because(texts.get(line.detail)));
            Ok(())
        })?;
        sort_losses(&mut losses);
        self.losses = losses;
        Ok(())
    }

    /// All ranks side by side, in their order.
    ///
    /// # Errors
    /// When a file can't be read, or its rows can't be.
    pub fn side_by_side(&self) -> Result<Run, SetError> {
        let ranks: Vec<u32> = self.discovery.collections.iter().map(|it| it.rank).collect();
        let index = |rank: i32| {
            let found = u32::try_from(rank).ok().and_then(|rank| ranks.binary_search(&rank).ok());
            found.ok_or_else(|| format!("rows of rank {rank}, which isn't in the set"))
        };
        let mut run = self.collectives(&index, &ranks)?;
        let mut all: Vec<RankRows> = ranks.iter().map(|_| RankRows::default()).collect();
        for (rows, rank) in all.iter_mut().zip(&ranks) {
            (rows.operators, rows.frequency_mhz) = self.counts.get(rank).copied().unwrap_or_default();
        }
        self.each(|line: &StepLine, texts| {
            let mut lengths = [line.duration_ns, line.idle_ns].into_iter().chain(line.preparing_ns);
            let can_be = lengths.all(can_last_so_long) && line.start_ns.is_none_or(can_begin);
            check(can_be, "a step at an impossible time")?;
            lines::take_step(&mut all[index(line.rank)?], line, texts);
            Ok(())
        })?;
        self.each(|line: &LinkLine, texts| {
            run.links.push((index(line.rank)? as u32, lines::to_link(line, texts)));
            Ok(())
        })?;
        run.sort_links();
        self.each(|line: &EndLine, _| {
            let rank = index(line.rank)?;
            let known = 0..run.ranks[rank].events.len() as i32;
            // Sets without collectives know the ends all the same.
            let pred = line.pred.filter(|_| !known.is_empty());
            check(pred.is_none_or(|pred| known.contains(&pred)), "a step's end that follows nothing")?;
            let can_be = line.end_ns.is_none_or(can_begin)
                && line.segment_ns.is_none_or(is_segment)
                && can_last_so_long(line.compute_ns);
            check(can_be, "a step's end at an impossible time")?;
            lines::take_end(&mut all[rank], &EndLine { pred, ..*line });
            Ok(())
        })?;
        for (rank, rows) in all.into_iter().enumerate() {
            run.complete(rank, rows);
        }
        Ok(run)
    }

    /// The ranks with their parts in collectives, which lie in the set in another order: they are counted first.
    fn collectives(
        &self,
        index: &impl Fn(i32) -> Result<usize, String>,
        ranks: &[u32],
    ) -> Result<Run, SetError> {
        let mut outline = Outline::of_ranks(ranks.len());
        self.each(|line: &CollectiveGroup, texts| {
            let rank = index(line.rank)?;
            let kind = CollectiveType::of_name(texts.get(line.r#type));
            outline.note(rank, ranks[rank], line.group_key as u64, kind);
            Ok(())
        })?;
        let mut run = Run::with_room(&self.discovery, outline);
        let missing = |rank: u32| format!("collectives of rank {rank} are missing or twice there");
        self.each(|line: &CollectivePart, texts| {
            let lengths = [line.duration_ns, line.exposed_ns, line.exposed_longest_ns];
            let can_be = [line.start_ns, line.exposed_start_ns].into_iter().all(can_begin)
                && lengths.into_iter().all(can_last_so_long)
                && is_segment(line.segment_ns);
            check(can_be, "a collective at an impossible time")?;
            let is_before = line.pred.is_none_or(|pred| (0..line.place).contains(&pred));
            check(is_before, "a collective that follows a later one")?;
            let rank = index(line.rank)?;
            let is_free = usize::try_from(line.place)
                .is_ok_and(|place| run.put(rank, place, &lines::to_collective(line, texts)));
            if is_free { Ok(()) } else { Err(missing(ranks[rank])) }
        })?;
        // A file may have changed between the counting and this.
        match (0..ranks.len()).find(|&rank| !run.is_placed(rank)) {
            Some(rank) => {
                Err(SetError::unreadable(&self.path.join(CollectivePart::TABLE), missing(ranks[rank])))
            }
            None => Ok(run),
        }
    }

    /// The operators of a rank.
    ///
    /// # Errors
    /// When a file can't be read.
    pub fn operators(&self, index: usize) -> Result<Operators, SetError> {
        self.work_of(index).map_err(|error| self.with_manifest(error))
    }

    fn work_of(&self, index: usize) -> Result<Operators, SetError> {
        let Some(rank) = self.discovery.collections.get(index).map(|it| it.rank) else {
            return Ok(Operators::default());
        };
        let parts: Vec<Manifest> =
            self.parts.iter().filter(|part| part.ranks.contains_key(&rank)).cloned().collect();
        let mut sums = Summing::default();
        let mut kinds: BTreeMap<
            (super::table::Text, super::table::Text, super::table::Text, super::table::Text),
            u32,
        > = BTreeMap::new();
        let mut texts = Texts::default();
        for path in self.files(OperatorSpan::TABLE, &parts) {
            for line in file::read::<OperatorSpan>(&path, Some(rank), &mut texts)? {
                if line.rank != rank as i32
                    || !can_last(line.start_ns, line.start_ns.saturating_add(line.duration_ns))
                {
                    continue;
                }
                let next = kinds.len();
                let kind =
                    *kinds.entry((line.name, line.r#type, line.unit, line.shapes)).or_insert_with(|| {
                        let [name, op_type, unit, shapes] = [line.name, line.r#type, line.unit, line.shapes]
                            .map(|text| texts.get(text).to_owned());
                        let types = String::new();
                        sums.kind(Kind { key: OperatorKey { name, op_type, unit }, shapes, types });
                        next as u32
                    });
                let end = line.start_ns.saturating_add(line.duration_ns);
                let (start, launch) = (line.start_ns, Launch::at(line.launched_ns));
                sums.operator(Ran { start, end, kind, stream: None, launch });
            }
        }
        for path in self.files(CopyLine::TABLE, &parts) {
            for line in file::read::<CopyLine>(&path, Some(rank), &mut texts)? {
                if line.rank == rank as i32 {
                    sums.copy(
                        texts.get(line.kind),
                        line.start_ns,
                        line.start_ns.saturating_add(line.duration_ns),
                    );
                }
            }
        }
        for path in self.files(FrequencyLine::TABLE, &parts) {
            for line in file::read::<FrequencyLine>(&path, Some(rank), &mut texts)? {
                if line.rank == rank as i32 {
                    sums.frequency(line.start_ns, line.megahertz);
                }
            }
        }
        for path in self.files(CallLine::TABLE, &parts) {
            for line in file::read::<CallLine>(&path, Some(rank), &mut texts)? {
                if line.rank == rank as i32 {
                    sums.call(
                        texts.get(line.name),
                        line.start_ns,
                        line.start_ns.saturating_add(line.duration_ns),
                    );
                }
            }
        }
        Ok(sums.finish())
    }
}

impl Set {
    /// The products of all ranks' experts.
    ///
    /// # Errors
    /// When a file can't be read.
    pub fn experts(&self) -> Result<ExpertRows, SetError> {
        let mut products = Vec::new();
        self.each(|line: &ExpertLine, _| {
            let rank = u32::try_from(line.rank).map_err(|_| format!("a rank {}", line.rank))?;
            check(can_last_so_long(line.duration_ns), "a product of an impossible length")?;
            let ExpertLine { step, place, tokens, duration_ns, .. } = *line;
            products.push(ExpertRow { rank, step, place, tokens: tokens.max(0) as u64, duration_ns });
            Ok(())
        })?;
        products.sort_by_key(|row| (row.rank, row.step, row.place));
        let without = self.counts.iter().filter(|(_, (operators, _))| *operators == 0);
        Ok(ExpertRows { products, without_operators: without.map(|(rank, _)| *rank).collect() })
    }
}

/// The longest time that a row can claim: a century, of which the sum with any time of a clock still is a number.
const LONGEST_NS: i64 = 100 * crate::read::LONGEST_NS;

/// Whether a clock can show a time; the sum with any length is a number, too.
fn can_begin(time: i64) -> bool {
    (-LONGEST_NS..i64::MAX / 2).contains(&time)
}

fn can_last_so_long(time: i64) -> bool {
    (0..=LONGEST_NS).contains(&time)
}

/// Whether the work before something can be so long; clocks make it a little less than nothing.
fn is_segment(time: i64) -> bool {
    (-LONGEST_NS..=LONGEST_NS).contains(&time)
}

fn check(can_be: bool, otherwise: &str) -> Result<(), String> {
    if can_be { Ok(()) } else { Err(otherwise.to_owned()) }
}
