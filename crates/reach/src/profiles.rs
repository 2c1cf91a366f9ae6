//! Where ranks are read from: the folders that profilers left, or a set that was imported from them. Both give the
//! same rows.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope_formats::reading::Stop;

use crate::discover::{Collection, Discovery, discover};
use crate::doubles::refuse_at_once;
use crate::error::{Loss, LossReason, ReachError};
use crate::experts::{ExpertRow, ExpertRows};
use crate::gathered::Gathering;
use crate::read::{self, Executed, Operators, Ran};
use crate::rows::{StepRow, step_at};
use crate::run::{Rank, Run};
use crate::set::is_set;
use crate::set::open::Set;
use crate::{Progress, Stage};

/// The profiles of a run.
#[derive(Debug)]
pub enum Profiles {
    /// Folders of the profiler.
    Folders(Discovery),
    /// A set.
    Set(Set),
}

impl Profiles {
    /// Opens a set, or finds the collections below some folders.
    ///
    /// # Errors
    /// When there are none, some are of different jobs, a set stands among other paths, or has no run of that name.
    pub fn open(paths: &[PathBuf], run: Option<&str>) -> Result<Self, ReachError> {
        match (paths.iter().find(|path| is_set(path)), run) {
            (Some(set), _) if paths.len() == 1 => {
                let set = Set::open(set, run)?;
                set.refuse_several_jobs()?;
                Ok(Self::Set(set))
            }
            (Some(set), _) => Err(ReachError::SetAmongOthers(set.clone())),
            (None, Some(_)) => Err(ReachError::NoRuns(paths.first().cloned().unwrap_or_default())),
            (None, None) => Ok(Self::Folders(discover(paths)?)),
        }
    }

    /// Ranks and groups.
    pub fn discovery(&self) -> &Discovery {
        match self {
            Self::Folders(discovery) => discovery,
            Self::Set(set) => set.discovery(),
        }
    }

    /// All ranks side by side, with what was lost of them.
    ///
    /// # Errors
    /// When a set can't be read; of folders what can't be read is a loss.
    pub(crate) fn side_by_side(
        &self,
        stop: &Stop,
        progress: &Progress<'_>,
    ) -> Result<(Run, Vec<Loss>), ReachError> {
        if let Self::Folders(discovery) = self {
            refuse_at_once(discovery, stop)?;
        }
        let collections = &self.discovery().collections;
        let all = collections.len();
        progress(Stage::Reading(0, all));
        let discovery = match self {
            Self::Folders(discovery) => discovery,
            Self::Set(set) => {
                let run = set.side_by_side()?;
                progress(Stage::Reading(all, all));
                return Ok((run, set.losses.clone()));
            }
        };
        let done = AtomicUsize::new(0);
        let gathering = Gathering::default();
        let read = opscope_parallel::map(collections, |collection| {
            let (rows, lost) = if stop.is_wanted() { Default::default() } else { read::rank(collection) };
            progress(Stage::Reading(done.fetch_add(1, Ordering::Relaxed) + 1, all));
            (gathering.add(rows), lost)
        });
        let mut losses = discovery.losses.clone();
        let ranks = read.into_iter().map(|(rank, mut lost)| {
            losses.append(&mut lost);
            rank
        });
        let ranks = ranks.collect();
        Ok((Run::of_gathered(discovery, &gathering.rows(), ranks), losses))
    }

    /// The operators of a rank of the run, by its place among the ranks, without those of steps that were left out.
    pub(crate) fn operators(&self, run: &Run, index: usize, losses: &Mutex<Vec<Loss>>) -> Operators {
        let mut found = self.all_operators(index, losses);
        found.leave_out(&run.ranks[index].times_left_out());
        found
    }

    fn all_operators(&self, index: usize, losses: &Mutex<Vec<Loss>>) -> Operators {
        match self {
            Self::Folders(discovery) => {
                let (operators, lost) = read::operators(&discovery.collections[index]);
                losses.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(lost);
                operators
            }
            Self::Set(set) => set.operators(index).unwrap_or_else(|error| {
                let rank = set.discovery().collections.get(index).map(|it| it.rank);
                let loss = Loss::new(rank, set.path.display().to_string(), LossReason::Damaged, 1);
                let mut losses = losses.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                losses.push(loss.because(error));
                Operators::default()
            }),
        }
    }

    /// The products of all ranks' experts, in steps as each profile tells them, with what was lost of their operators.
    /// `run` has the ranks as they were read.
    ///
    /// # Errors
    /// When a set can't be read, or `stop` is wanted.
    pub(crate) fn products_of_experts(
        &self,
        run: &Run,
        stop: &Stop,
        progress: &Progress<'_>,
    ) -> Result<(ExpertRows, Vec<Loss>), ReachError> {
        let discovery = match self {
            Self::Folders(discovery) => discovery,
            Self::Set(set) => return Ok((set.experts()?, Vec::new())),
        };
        let all = discovery.collections.len();
        let done = AtomicUsize::new(0);
        let ranks: Vec<(&Collection, &Rank)> = discovery.collections.iter().zip(&run.ranks).collect();
        let read = opscope_parallel::map(&ranks, |(collection, rank)| {
            if stop.is_wanted() {
                return Default::default();
            }
            let found = products_of(collection, &rank.steps);
            progress(Stage::Reading(done.fetch_add(1, Ordering::Relaxed) + 1, all));
            found
        });
        if stop.is_wanted() {
            return Err(ReachError::Interrupted);
        }
        let (mut found, mut losses) = (ExpertRows::default(), Vec::new());
        for ((_, rank), (products, lost)) in ranks.into_iter().zip(read) {
            found.products.extend(products);
            if rank.operators == 0 {
                found.without_operators.push(rank.number);
            }
            losses.extend(lost);
        }
        Ok((found, losses))
    }
}

/// The products of a rank's experts, by its steps.
fn products_of(collection: &Collection, steps: &[StepRow]) -> (Vec<ExpertRow>, Vec<Loss>) {
    let mut executed = Executed::default();
    let lost = read::each(collection, &mut executed);
    executed.sort();
    let mut places: BTreeMap<i32, i32> = BTreeMap::new();
    let mut found = Vec::new();
    for &Ran { start, end, kind, .. } in &executed.operators {
        let Some(kind) = executed.kinds.get(kind as usize) else { continue };
        if !read::is_of_experts(&kind.key.op_type) {
            continue;
        }
        let step = step_at(steps, start);
        let place = places.entry(step).or_default();
        let tokens = read::tokens_of(&kind.shapes);
        found.push(ExpertRow {
            rank: collection.rank,
            step,
            place: *place,
            tokens,
            duration_ns: end - start,
        });
        *place += 1;
    }
    (found, lost)
}

/// Puts losses in the order of ranks, each once, however the ranks are read: several imports into a set tell what is
/// wrong with the whole.
pub(crate) fn sort_losses(losses: &mut Vec<Loss>) {
    losses.sort_by(|a, b| {
        let place = |it: &Loss| (it.rank, it.reason);
        place(a).cmp(&place(b)).then_with(|| (&a.source, &a.detail).cmp(&(&b.source, &b.detail)))
    });
    losses.dedup();
}
