//! The vendor's analyses of many ranks: its modes, its files, its figures.
//!
//! Who has scripts around the vendor's `msprof-analyze` gets the same tables from the same command line, in a
//! fraction of the time and memory: a rank is read at a time, straight from its databases or texts, and only what is
//! compared across ranks is kept. What the modes mean, and what they don't, is in `opscope_reach`'s answers: these
//! here are the vendor's.
//!
//! ```no_run
//! use opscope_reach_peer::{Mode, Options, analyze};
//!
//! let options = Options::new(Mode::All, "profiling_data".into());
//! let done = analyze(&options)?;
//! println!("{} ranks, results in {}", done.ranks, done.folder.display());
//! # Ok::<(), opscope_reach_peer::PeerError>(())
//! ```
//!
//! # Floors
//! Each row uses those below it.
//!
//! ```text
//! analyze (here)                                         the mode's files into the folder of results
//! communication                                          collectives and links: all, communication_time, …
//! collectives  slow  summary  operators  calls           a file for each other mode
//! frequency  experts  idle  bottleneck  marks
//! pipeline   pairing   exported                          those that add to the ranks' own files, or copies of them
//! marked   schedule   copies                             marked collectives, named passes, where additions go
//! steps   run   groups   profile   launches   events     rows that several modes read
//! ranks   table   numbers   nesting   mode   error       ranks, results, statistics, names
//! ```

mod bottleneck;
mod calls;
mod collectives;
mod communication;
mod copies;
mod error;
mod events;
mod experts;
mod exported;
mod frequency;
mod groups;
mod idle;
mod launches;
mod marked;
mod marks;
mod mode;
mod names;
mod nesting;
mod numbers;
mod operators;
mod pairing;
mod pipeline;
mod profile;
mod ranks;
mod run;
mod schedule;
mod slow;
mod steps;
mod summary;
mod table;

use std::path::{Path, PathBuf};

use opscope_reach::{Loss, ReachError};

use crate::communication::Parts;
use crate::copies::Destination;
use crate::ranks::Ranks;

pub use error::PeerError;
pub use mode::{MODES, Mode};

/// The folder of results, within the one that was named.
const RESULTS: &str = "cluster_analysis_output";

/// The database of results.
pub(crate) const DATABASE: &str = "cluster_analysis.db";

/// The analysis to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The mode.
    pub mode: Mode,
    /// The folder with the ranks.
    pub data: PathBuf,
    /// The folder in which the results' folder is to be; else it is in that of the ranks.
    pub output: Option<PathBuf>,
    /// The ranks that count, of [modes that choose](Mode::chooses_ranks); all where it is missing.
    pub ranks: Option<Vec<u32>>,
    /// The step that counts, of [modes that choose](Mode::chooses_step); all where it is missing.
    pub step: Option<i64>,
    /// How many collectives `hccl_sum` and `communication_bottleneck` list, and stretches of each rank
    /// `free_analysis`.
    pub top: Option<usize>,
    /// The rank whose collectives `communication_bottleneck` looks at; 0 where it is missing.
    pub rank: Option<u32>,
    /// Whether `compute_op_sum` leaves out the table by names.
    pub exclude_op_name: bool,
    /// The folder of the run that `cluster_time_compare_summary` compares with.
    pub base: Option<PathBuf>,
    /// Whether [modes that add to ranks](Mode::adds_to_ranks) do so in the ranks' folders, and not in copies.
    pub into_input: bool,
}

impl Options {
    /// A mode without options.
    pub fn new(mode: Mode, data: PathBuf) -> Self {
        let (output, ranks, step, top, rank, base) = Default::default();
        Self { mode, data, output, ranks, step, top, rank, exclude_op_name: false, base, into_input: false }
    }
}

/// The outcome of an analysis.
#[derive(Debug)]
pub struct Done {
    /// How many ranks were read.
    pub ranks: usize,
    /// The ranks that have nothing of the form that the others are read from.
    pub left_out: Vec<u32>,
    /// Whether they were read from databases.
    pub from_databases: bool,
    /// The folder of results; that of the ranks where these were added to.
    pub folder: PathBuf,
    /// Whether anything was written: some modes find nothing that they would write.
    pub has_results: bool,
    /// The parts that couldn't be read.
    pub losses: Vec<Loss>,
    /// Further remarks about ranks, a line for each.
    pub remarks: Vec<String>,
}

/// The folder of results in a folder.
pub(crate) fn results(folder: &Path) -> PathBuf {
    folder.join(RESULTS)
}

/// Carries out a mode.
///
/// # Errors
/// When there are no ranks, they lack what the mode reads, or a result can't be written.
pub fn analyze(options: &Options) -> Result<Done, PeerError> {
    let folder = results(options.output.as_ref().unwrap_or(&options.data));
    let write = |folder: &Path| {
        opscope_files::create_folder(folder)
            .map_err(|source| PeerError::Write { path: folder.to_owned(), source })
            .map(|()| folder.join(DATABASE))
    };
    let mode = options.mode;
    if mode == Mode::ClusterTimeCompareSummary {
        let Some(base) = &options.base else {
            let text =
                "-m cluster_time_compare_summary compares with a second run: give its folder with --bp";
            return Err(PeerError::Usage(text.to_owned()));
        };
        summary::compare(&options.data, base, options.step, &write(&folder)?)?;
        let (left_out, losses, remarks) = Default::default();
        let (from_databases, has_results) = (true, true);
        return Ok(Done { ranks: 0, left_out, from_databases, folder, has_results, losses, remarks });
    }
    if opscope_reach::is_set(&options.data) {
        return Err(PeerError::Set(options.data.clone()));
    }
    let chosen = options.ranks.as_deref();
    let mut ranks = Ranks::find(&options.data, chosen)?;
    // Steps and hosts, and all of texts, are those of all ranks whichever are chosen, as the vendor's tool writes them.
    let mut unchosen = match chosen {
        Some(_) if mode.reads_texts() => Some(Ranks::find(&options.data, None)?),
        _ => None,
    };
    let from_databases = unchosen.as_ref().unwrap_or(&ranks).have_databases();
    if !from_databases && !mode.reads_texts() {
        return Err(PeerError::NeedsDatabases { mode: mode.name(), ranks: ranks.collections.len() });
    }
    // Tables are made of databases or of texts: those of both would have other columns.
    let mut left_out = ranks.leave_out_without(from_databases);
    if let Some(unchosen) = &mut unchosen {
        left_out = unchosen.leave_out_without(from_databases);
    }
    let all = unchosen.as_ref().unwrap_or(&ranks);
    if all.collections.is_empty() {
        return Err(ReachError::NoFolders(options.data.clone()).into());
    }
    if from_databases && ranks.collections.is_empty() {
        let text = "--rank_list names no rank with a database, from which the others are read";
        return Err(PeerError::Usage(text.to_owned()));
    }
    if let Some(step) = options.step {
        profile::check_step(&ranks, step, &options.data)?;
    }
    if mode.adds_to_ranks() {
        return add_to_ranks(options, ranks, left_out, &folder);
    }
    let database = write(&folder)?;
    let has_results = match mode {
        Mode::All | Mode::CommunicationTime | Mode::CommunicationMatrix => {
            let (times, links) = (mode != Mode::CommunicationMatrix, mode != Mode::CommunicationTime);
            let parts = Parts { times, links, groups: true, run: true };
            match from_databases {
                true => communication::of_databases(&ranks, all, parts, &database)?,
                false => communication::of_texts(all, parts, &folder)?,
            }
            true
        }
        Mode::CommunicationTimeSum => {
            let parts = Parts { times: true, links: false, groups: true, run: false };
            communication::of_databases(&ranks, all, parts, &database).map(|()| true)?
        }
        Mode::CommunicationMatrixSum => {
            let parts = Parts { times: false, links: true, groups: false, run: false };
            communication::of_databases(&ranks, all, parts, &database).map(|()| true)?
        }
        Mode::CommunicationGroupMap => groups::map(&ranks, &database).map(|()| true)?,
        Mode::ClusterTimeSummary => summary::write(&ranks, options.step, &database).map(|()| true)?,
        Mode::ComputeOpSum => operators::sum(&ranks, options, &database).map(|()| true)?,
        Mode::HcclSum => collectives::sum(&ranks, options, &database).map(|()| true)?,
        Mode::CannApiSum => calls::sum(&ranks, options, &database).map(|()| true)?,
        Mode::SlowRank => slow::ranks(&ranks, options.step, &database)?,
        Mode::SlowLink => slow::links(&ranks, options.top, &database)?,
        Mode::FreqAnalysis => frequency::analyze(&ranks, &database)?,
        Mode::EpLoadBalance => experts::balance(&ranks, options.step, &database)?,
        Mode::FreeAnalysis => idle::analyze(&ranks, options.top, &database)?,
        Mode::CommunicationBottleneck => bottleneck::analyze(&ranks, options, &database)?,
        Mode::MstxSum => marks::sum(&ranks, options, &database)?,
        // Done above.
        Mode::ClusterTimeCompareSummary | Mode::ExportSummary | Mode::P2pPairing | Mode::PpChart => false,
    };
    let count = if from_databases { ranks.collections.len() } else { all.collections.len() };
    let (mut losses, mut remarks) = ranks.into_losses_and_remarks();
    if let Some(unchosen) = unchosen {
        let (of_all, _) = unchosen.into_losses_and_remarks();
        let more: Vec<Loss> = of_all.into_iter().filter(|loss| !losses.contains(loss)).collect();
        losses.extend(more);
        losses.sort_by_key(|loss| loss.rank);
        if !from_databases {
            remarks.push("--rank_list chooses among databases; of texts all ranks are written".to_owned());
        }
    }
    Ok(Done { ranks: count, left_out, from_databases, folder, has_results, losses, remarks })
}

/// Carries out a mode that adds to the ranks' files, or to copies of them.
fn add_to_ranks(
    options: &Options,
    ranks: Ranks,
    left_out: Vec<u32>,
    results: &Path,
) -> Result<Done, PeerError> {
    let folder = match options.into_input {
        true => options.data.clone(),
        false => results.join(options.mode.name()),
    };
    let destination = match options.into_input {
        true => Destination::Ranks,
        false => Destination::Copies { ranks: options.data.clone(), copies: folder.clone() },
    };
    let has_results = match options.mode {
        Mode::ExportSummary => exported::write(&ranks, &destination)?,
        Mode::P2pPairing => pairing::write(&ranks, options, &destination)?,
        _ => pipeline::write(&ranks, options, &destination)?,
    };
    let count = ranks.collections.len();
    let (losses, remarks) = ranks.into_losses_and_remarks();
    Ok(Done { ranks: count, left_out, from_databases: true, folder, has_results, losses, remarks })
}
