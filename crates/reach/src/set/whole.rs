//! The tables over all ranks: clocks, groups, instances, what each part in them waited, where steps go, suspects; and
//! rows of losses that only all ranks together tell. They follow from the ranks' own tables, and are made anew when parts
//! come in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use opscope_formats::reading::Stop;
use serde::{Deserialize, Serialize};

use super::file::{TableFile, WholeFile};
use super::import::{lock_commits, part_files};
use super::manifest::{self, Fingerprint, Keep, Manifest, PartFile};
use super::open::Set;
use super::table::{Row, Text, table};
use super::tables::LossLine;
use super::{SCHEMA, SetError, block_folder, lines};
use crate::collectives::instance_bytes;
use crate::error::{Loss, ReachError};
use crate::links::Ends;
use crate::profiles::Profiles;
use crate::suspects::Who;
use crate::{Findings, Progress, examine_profiles};

table! {
    /// A rank's clock, and its peers.
    ClockLine in "clocks" {
        /// The rank.
        rank: i32,
        /// Its host's name.
        host: Text,
        /// Ranks of different islands share no collectives, and no clock.
        island: i32,
        /// The class of ranks that do the same.
        peers: i32,
        /// The time to take from the rank's times to have the run's, at the middle of the rank's recording.
        shift_ns: i64,
        /// By how much the host's clock is ahead of the first host's of its island.
        offset_ns: f64,
        /// By how much it is faster.
        drift_ppm: f64,
        /// The error of the offset.
        error_ns: f64,
    }
}

table! {
    /// A group of ranks.
    GroupLine in "groups" {
        /// The vendor's number of its name.
        group_key: i64,
        /// Its name, where a profile declares it.
        id: Text,
        /// Its use.
        role: Text,
        /// How many ranks it has.
        members: i32,
        /// How many of them were recorded.
        recorded: i32,
        /// Whether its members are declared or only seen.
        origin: Text,
        /// The number as the vendor's tools write it, without a sign.
        hash: Text,
        /// The framework's name of it, where a profile declares one.
        name: Text,
    }
}

table! {
    /// A member of a group.
    MemberLine in "members" {
        /// The group.
        group_key: i64,
        /// The place in it, which links name.
        place: i32,
        /// The rank.
        rank: i32,
    }
}

table! {
    /// A collective with all its parts, by the run's clock. Where a rank came last that wasn't recorded, waits for it are
    /// inferred.
    InstanceLine in "instances" {
        /// Its number, in the order in which the last came of those that were recorded.
        instance: i64,
        /// The group.
        group_key: i64,
        /// The number in the group, aligned across ranks.
        sequence: i32,
        /// The step, by the number that the run has for it.
        step: i32,
        /// The group's use.
        role: Text,
        /// The operation; a send and its receive are a receive.
        r#type: Text,
        /// How many ranks take part.
        members: i32,
        /// How many of them were recorded.
        seen: i32,
        /// The rank that came first.
        first_rank: i32,
        /// The rank that came last; missing where that one wasn't recorded.
        last_rank: Option<i32>,
        /// When the first came.
        first_ns: i64,
        /// When the last came, and the transfer began.
        begin_ns: i64,
        /// When the last left.
        end_ns: i64,
        /// The sum of what the parts that were recorded waited for the last one.
        wait_ns: i64,
        /// The transfer's mean length.
        transfer_ns: i64,
        /// The transfer's length where nothing is slow.
        typical_ns: i64,
        /// The bytes that the recorded ranks contribute; of the vendor's texts what these passed over links.
        bytes: i64,
        /// By how much the parts' ends lie apart; of types that end together that is the tail's jitter, and clocks.
        end_spread_ns: i64,
        /// 1 if all members were recorded, else 0.
        complete: i32,
        /// 1 if a rank came last that wasn't recorded, so that the begin and all waits are inferred, else 0.
        inferred: i32,
    }
}

table! {
    /// A part in an instance, by the run's clock.
    ArrivalLine in "arrivals" {
        /// The rank.
        rank: i32,
        /// The part, by its place among the rank's collectives.
        place: i32,
        /// The instance.
        instance: i64,
        /// Its ordinal among those of its use and type in its rank's step.
        occurrence: i32,
        /// Its start.
        start_ns: i64,
        /// How long it waited for the last one, which is inferred where the instance says so.
        wait_ns: i64,
        /// The rank's own work before it.
        segment_ns: i64,
        /// That work where nothing is slow.
        typical_ns: i64,
    }
}

table! {
    /// Where a rank's step goes; without the ranks of which it isn't known, such as those without collectives.
    AccountLine in "accounts" {
        /// The rank.
        rank: i32,
        /// The step, by the number that the run has for it.
        step: i32,
        /// Its length.
        step_ns: i64,
        /// Under computing tasks.
        compute_ns: i64,
        /// In collectives before the last rank came.
        waiting_ns: i64,
        /// In receives before the sender came.
        bubble_ns: i64,
        /// In transfers that no computing hides.
        transfer_ns: i64,
        /// With neither operators nor collectives on the device.
        idle_ns: i64,
        /// The number that the rank's own tables have for the step; missing where the rank doesn't have the run's steps by
        /// itself, such as one that takes several for one.
        own_step: Option<i32>,
    }
}

table! {
    /// A suspect.
    SuspectLine in "suspects" {
        /// Its place, the costliest first.
        place: i32,
        /// `rank`, `host`, `operator`, `link`, `port` and `port_in` (most links out of and into a rank), `adapter` and
        /// `adapter_in` (of a host), `path` (from one host to another), `group`, or `unrecorded` (a rank that wasn't
        /// recorded, or one of several).
        kind: Text,
        /// Its name.
        name: Text,
        /// The rank, or of a port the rank that has it.
        rank: Option<i32>,
        /// The sender of a link.
        src: Option<i32>,
        /// The receiver of a link.
        dst: Option<i32>,
        /// By how much it exceeds its peers, a step.
        excess_ns: i64,
        /// The time that a step would save without it.
        saves_ns: i64,
        /// The interval's begin, of three or more steps.
        low_ns: Option<i64>,
        /// The interval's end.
        high_ns: Option<i64>,
        /// Its cost if it were alone.
        alone_ns: i64,
        /// The first step in which it exceeds its peers.
        since_step: i32,
        /// 1 if it stands out of the noise, else 0.
        named: i32,
        /// 1 if it has too few peers for certainty, else 0.
        weak: i32,
        /// 1 if a host or an operator among the suspects stands for it, else 0.
        within: i32,
        /// The first cause, and all evidence, as JSON has it.
        cause: Text,
        /// All evidence, as JSON.
        evidence: Text,
    }
}

table! {
    /// The run's figures, in one row.
    CostLine in "costs" {
        /// Its ranks that were recorded.
        ranks: i32,
        /// Its ranks that weren't.
        missing: i32,
        /// The mean length of a step.
        step_ns: i64,
        /// The same if nothing were slower than its peers.
        reachable_ns: i64,
        /// The least saving that is named.
        noise_ns: i64,
        /// By how much the replayed run differs from the measured one, as a share.
        replay_error: f64,
    }
}

/// The manifest of these tables.
#[derive(Debug, Serialize, Deserialize)]
pub struct WholeManifest {
    schema: u32,
    program: String,
    /// The fingerprint of the parts that they follow from, and of the version in which they do.
    parts: String,
    /// The files.
    pub files: Vec<PartFile>,
}

/// The name of their manifest.
pub(super) const FILE: &str = "whole.json";

/// The version of these tables, which changes with their columns and with the meaning of these. Unlike tables of ranks, those
/// of an earlier one are made anew: nothing but the ranks' own tables is needed for it.
const VERSION: u32 = 2;

/// The fingerprint of all parts of a run, and of how the tables over all ranks follow from them.
fn print_of_tables(parts: &[Manifest]) -> Fingerprint {
    let mut print = print_of(parts);
    print.add(&VERSION.to_le_bytes());
    print
}

/// The fingerprint of all parts of a run.
fn print_of(parts: &[Manifest]) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.add(manifest::program().as_bytes());
    for part in parts {
        print.add(format!("{:?}", (part.keep, &part.ranks)).as_bytes());
    }
    print
}

/// The manifest of the tables over all ranks in a folder of manifests, of whatever parts they are.
fn written(folder: &Path) -> Option<WholeManifest> {
    manifest::read_json(&folder.join(FILE)).ok()
}

/// The manifest of the tables over all ranks in a folder of manifests; `None` if there are none, or they are of other
/// parts than these, or of an earlier program's columns.
pub fn of_parts(folder: &Path, parts: &[Manifest]) -> Option<WholeManifest> {
    written(folder).filter(|it| it.schema <= SCHEMA && it.parts == print_of_tables(parts).text())
}

/// The note that nothing in the parts can be compared, so that there are no tables over all ranks.
#[derive(Debug, Serialize, Deserialize)]
struct Incomparable {
    program: String,
    /// The fingerprint of the parts.
    parts: String,
}

/// The name of that note. It isn't among the tables' manifest, which programs take for that of tables.
const INCOMPARABLE_FILE: &str = "incomparable.json";

/// The reason for which there are no tables over all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absence {
    /// Ranks are missing, or came in since the tables were made; or an earlier program made them.
    #[default]
    Waiting,
    /// Nothing in the ranks can be compared.
    Incomparable,
    /// The set doesn't keep what is compared.
    NotKept,
}

impl Absence {
    /// The reason for which a set has none.
    pub fn of(set: &Set) -> Self {
        let note = manifest::folder(&set.path, &set.run).join(INCOMPARABLE_FILE);
        let is_of_these = |note: &Incomparable| note.parts == print_of(&set.parts).text();
        match manifest::read_json::<Incomparable>(&note) {
            _ if set.keep() == Keep::Summary => Self::NotKept,
            Ok(note) if is_of_these(&note) => Self::Incomparable,
            _ => Self::Waiting,
        }
    }

    /// That a table isn't there, and what to do about it.
    pub fn error(self, table: &str) -> SetError {
        let table = table.to_owned();
        match self {
            Self::Waiting => SetError::NotWhole { table },
            Self::Incomparable => SetError::NothingCompared { table },
            Self::NotKept => SetError::NotKept { table },
        }
    }
}

/// Notes that nothing in the parts can be compared, so that whoever misses a table over all ranks is told why.
fn note_incomparable(folder: &Path, parts: Fingerprint) -> Result<(), SetError> {
    let note = Incomparable { program: manifest::program(), parts: parts.text() };
    manifest::write_json(&folder.join(INCOMPARABLE_FILE), &note)
}

/// The manifest of the tables over all ranks; `None` if there are none, parts came in since, or an earlier program made
/// them.
pub fn find(set: &Set) -> Option<WholeManifest> {
    of_parts(&manifest::folder(&set.path, &set.run), &set.parts)
}

/// Writes the tables over all ranks, unless they are there. Returns whether they were, and lacked files or were cut.
///
/// # Errors
/// When nothing can be compared, the set can't be written, or `stop` is wanted.
pub fn write(set: Set, stop: &Stop, progress: &Progress<'_>) -> Result<bool, ReachError> {
    let found = find(&set);
    if found.as_ref().is_some_and(|found| set.check(&found.files).is_ok()) {
        return Ok(false);
    }
    let are_damaged = found.is_some();
    let print = print_of_tables(&set.parts);
    let compared = print_of(&set.parts);
    let (path, run, known) = (set.path.clone(), set.run.clone(), set.losses.clone());
    let findings = match examine_profiles(&Profiles::Set(set), stop, progress) {
        Err(error @ ReachError::NothingMatched { .. }) => {
            note_incomparable(&manifest::folder(&path, &run), compared)?;
            return Err(error);
        }
        findings => findings?,
    };
    let name = format!("whole-{}.parquet", &print.text()[..8]);
    let place = |table: &str| {
        let folder = path.join(table).join(format!("run={run}"));
        // Engines take names of folders for columns, which all files of a table must have alike.
        let is_of_blocks = table == LossLine::TABLE;
        if is_of_blocks { folder.join(block_folder(0)).join(&name) } else { folder.join(&name) }
    };
    let mut files = write_tables(&findings, &place)?;
    files.push(file(&place, |file| losses(&findings, &known, file))?);
    let folder = manifest::folder(&path, &run);
    let _held = lock_commits(&folder)?;
    // Parts that came in meanwhile make these tables those of a part of the run; who brought them writes the others.
    if print_of_tables(&Set::open(&path, Some(&run))?.parts).text() != print.text() {
        return Ok(false);
    }
    let before = written(&folder);
    let content = WholeManifest {
        schema: SCHEMA,
        program: manifest::program(),
        parts: print.text(),
        files: part_files(&path, &files),
    };
    WholeFile::name_all(files)?;
    manifest::write_json(&folder.join(FILE), &content)?;
    // Tables of fewer parts would stand beside these for whoever reads all files of a folder.
    for old in before.into_iter().flat_map(|before| before.files) {
        if !content.files.iter().any(|file| file.path == old.path) {
            let is_of_run = old.path.contains("/run=") && !old.path.split('/').any(|part| part == "..");
            if is_of_run {
                let _ = std::fs::remove_file(path.join(&old.path));
            }
        }
    }
    Ok(are_damaged)
}

/// Makes a file of rows, whose texts are entered while they are made.
fn file<R: Row>(
    place: &dyn Fn(&str) -> PathBuf,
    rows: impl FnOnce(&mut TableFile<R>) -> Result<(), SetError>,
) -> Result<WholeFile, SetError> {
    let mut file = TableFile::new(place(R::TABLE))?;
    rows(&mut file)?;
    file.finish()
}

fn write_tables(findings: &Findings, place: &dyn Fn(&str) -> PathBuf) -> Result<Vec<WholeFile>, SetError> {
    Ok(vec![
        file(place, |file| clocks(findings, file))?,
        file(place, |file| groups(findings, file))?,
        file(place, |file| members(findings, file))?,
        file(place, |file| instances(findings, file))?,
        file(place, |file| arrivals(findings, file))?,
        file(place, |file| accounts(findings, file))?,
        file(place, |file| suspects(findings, file))?,
        file(place, |file| costs(findings, file))?,
    ])
}

/// The losses that those of the ranks' own tables don't have.
fn losses(findings: &Findings, known: &[Loss], file: &mut TableFile<LossLine>) -> Result<(), SetError> {
    let known: BTreeSet<&Loss> = known.iter().collect();
    for loss in findings.losses.iter().filter(|loss| !known.contains(loss)) {
        let line = lines::loss(loss, &mut file.texts);
        file.push(line)?;
    }
    Ok(())
}

fn number(findings: &Findings, rank: usize) -> i32 {
    findings.run.ranks[rank].number as i32
}

fn clocks(findings: &Findings, file: &mut TableFile<ClockLine>) -> Result<(), SetError> {
    for (index, rank) in findings.run.ranks.iter().enumerate() {
        let clock = &findings.clocks.hosts[rank.host];
        let begin = rank.steps.first().and_then(|step| step.start_ns).unwrap_or(0);
        let end = rank.finishes.last().map_or(begin, |finish| finish.end_ns);
        let middle = begin + end.saturating_sub(begin) / 2;
        let host = file.texts.enter(&clock.host);
        file.push(ClockLine {
            rank: rank.number as i32,
            host,
            island: clock.island as i32,
            peers: findings.peers.class[index] as i32,
            shift_ns: middle - findings.clocks.align(rank.host, middle).round() as i64,
            offset_ns: clock.offset_ns,
            drift_ppm: clock.drift_ppm,
            error_ns: clock.error_ns,
        })?;
    }
    Ok(())
}

fn groups(findings: &Findings, file: &mut TableFile<GroupLine>) -> Result<(), SetError> {
    for group in &findings.run.groups {
        let declared = findings.discovery.groups.get(&group.key);
        let (id, name) = declared.map_or(("", ""), |group| (&group.id, &group.name));
        let recorded = group.ranks.iter().filter(|rank| findings.run.rank_of(**rank).is_some()).count();
        let line = GroupLine {
            group_key: group.key as i64,
            id: file.texts.enter(id),
            role: file.texts.enter(group.role.name()),
            members: group.ranks.len() as i32,
            recorded: recorded as i32,
            origin: file.texts.enter(if group.is_declared { "declared" } else { "seen" }),
            hash: file.texts.enter(&group.key.to_string()),
            name: file.texts.enter(name),
        };
        file.push(line)?;
    }
    Ok(())
}

fn members(findings: &Findings, file: &mut TableFile<MemberLine>) -> Result<(), SetError> {
    for group in &findings.run.groups {
        for (place, rank) in group.ranks.iter().enumerate() {
            let group_key = group.key as i64;
            file.push(MemberLine { group_key, place: place as i32, rank: *rank as i32 })?;
        }
    }
    Ok(())
}

fn instances(findings: &Findings, file: &mut TableFile<InstanceLine>) -> Result<(), SetError> {
    let run = &findings.run;
    for (index, instance) in run.instances.iter().enumerate() {
        let group = &run.groups[instance.group as usize];
        let parts = || run.events_of(instance);
        let by_start =
            |a: &&crate::Event, b: &&crate::Event| a.start.total_cmp(&b.start).then(a.rank.cmp(&b.rank));
        let Some(first) = parts().min_by(by_start) else { continue };
        let last = findings.last_part(index as u32).map(|part| run.events[part as usize].rank);
        let kind = first.kind.of_both_sides();
        let whole = |time: f64| time.round() as i64;
        let ends = || parts().map(crate::Event::end);
        let (first_end, last_end) = (ends().fold(f64::MAX, f64::min), ends().fold(f64::MIN, f64::max));
        let transfers = parts().map(|part| part.duration_ns as f64 - findings.waited_ns(part));
        let line = InstanceLine {
            instance: index as i64,
            group_key: group.key as i64,
            sequence: first.sequence,
            step: first.step,
            role: file.texts.enter(group.role.name()),
            r#type: file.texts.enter(kind.name()),
            members: instance.members as i32,
            seen: instance.seen as i32,
            first_rank: number(findings, first.rank as usize),
            last_rank: last.map(|rank| number(findings, rank as usize)),
            first_ns: whole(first.start),
            begin_ns: whole(findings.transfer_begin(index as u32)),
            end_ns: whole(last_end),
            wait_ns: parts().fold(0, |sum: i64, part| sum.saturating_add(whole(findings.waited_ns(part)))),
            transfer_ns: whole(transfers.sum::<f64>() / f64::from(instance.seen.max(1))),
            typical_ns: whole(findings.peers.tail[index]),
            bytes: instance_bytes(parts().map(|part| part.bytes), kind) as i64,
            end_spread_ns: whole(last_end - first_end),
            complete: i32::from(instance.is_complete()),
            inferred: i32::from(findings.is_wait_inferred(index as u32)),
        };
        file.push(line)?;
    }
    Ok(())
}

fn arrivals(findings: &Findings, file: &mut TableFile<ArrivalLine>) -> Result<(), SetError> {
    let (run, peers) = (&findings.run, &findings.peers);
    for (rank, of_rank) in run.ranks.iter().enumerate() {
        for index in of_rank.events.clone() {
            let event = &run.events[index];
            file.push(ArrivalLine {
                rank: number(findings, rank),
                place: event.place as i32,
                instance: i64::from(event.instance),
                occurrence: peers.occurrence[index] as i32,
                start_ns: event.start.round() as i64,
                wait_ns: findings.waited_ns(event).round() as i64,
                segment_ns: event.segment_ns,
                typical_ns: peers.work.segment[index].round() as i64,
            })?;
        }
    }
    Ok(())
}

fn accounts(findings: &Findings, file: &mut TableFile<AccountLine>) -> Result<(), SetError> {
    for index in (0..findings.run.ranks.len()).filter(|rank| findings.knows_account(*rank)) {
        for step in findings.steps_of(index) {
            file.push(AccountLine {
                rank: number(findings, index),
                step: step.step,
                step_ns: step.step_ns,
                compute_ns: step.compute_ns,
                waiting_ns: step.waiting_ns,
                bubble_ns: step.bubble_ns,
                transfer_ns: step.transfer_ns,
                idle_ns: step.idle_ns,
                own_step: findings.run.ranks[index].own_step(step.step),
            })?;
        }
    }
    Ok(())
}

fn suspects(findings: &Findings, file: &mut TableFile<SuspectLine>) -> Result<(), SetError> {
    for (place, (suspect, evidence)) in findings.costs.suspects.iter().zip(&findings.evidence).enumerate() {
        let number = |rank: usize| Some(number(findings, rank));
        let (rank, src, dst) = match &suspect.who {
            Who::Rank(rank) => (number(*rank), None, None),
            Who::Link(link) => match link.ends {
                Ends::Pair(src, dst) => (None, number(src), number(dst)),
                Ends::PortOut(rank) | Ends::PortIn(rank) => (number(rank), None, None),
                Ends::AdapterOut(_) | Ends::AdapterIn(_) | Ends::Path(..) => (None, None, None),
            },
            Who::Unrecorded(it) => (it.only().map(|rank| rank as i32), None, None),
            Who::Group(_) | Who::Host(_) | Who::Operator(..) => (None, None, None),
        };
        let evidence = serde_json::to_value(evidence).unwrap_or_default();
        let cause = evidence["causes"][0]["cause"].as_str().unwrap_or("unknown");
        let whole = |time: f64| time.round() as i64;
        let line = SuspectLine {
            place: place as i32,
            kind: file.texts.enter(suspect.who.kind()),
            name: file.texts.enter(&findings.name_of(&suspect.who)),
            rank,
            src,
            dst,
            excess_ns: whole(suspect.excess_ns),
            saves_ns: whole(suspect.saves_ns),
            low_ns: suspect.interval_ns.map(|it| whole(it.0)),
            high_ns: suspect.interval_ns.map(|it| whole(it.1)),
            alone_ns: whole(suspect.alone_ns),
            since_step: suspect.since,
            named: i32::from(suspect.is_named),
            weak: i32::from(suspect.is_weak),
            within: i32::from(suspect.is_within),
            cause: file.texts.enter(cause),
            evidence: file.texts.enter(&evidence.to_string()),
        };
        file.push(line)?;
    }
    Ok(())
}

fn costs(findings: &Findings, file: &mut TableFile<CostLine>) -> Result<(), SetError> {
    let costs = &findings.costs;
    file.push(CostLine {
        ranks: findings.run.ranks.iter().filter(|rank| !rank.is_empty()).count() as i32,
        missing: findings.missing().len() as i32,
        step_ns: costs.step_ns.round() as i64,
        reachable_ns: costs.reachable_ns.round() as i64,
        noise_ns: costs.noise_ns.round() as i64,
        replay_error: costs.replay_error,
    })
}
