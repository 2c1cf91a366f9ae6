//! The ranks that a mode reads, and what it couldn't read of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use opscope_reach::database::{Database, open};
use opscope_reach::{Collection, Group, Loss, LossReason};

use crate::error::PeerError;

/// The ranks below a folder.
pub struct Ranks {
    /// One collection a rank, by rank.
    pub collections: Vec<Collection>,
    /// The groups that they declare, by the vendor's number of their names.
    pub groups: BTreeMap<u64, Group>,
    losses: Mutex<Vec<Loss>>,
    remarks: Mutex<Vec<(u32, String)>>,
}

/// The file of a rank that is meant.
#[derive(Clone, Copy, Debug)]
pub enum File {
    /// `ascend_pytorch_profiler_N.db`.
    Profile,
    /// `analysis.db`.
    Analysis,
}

impl Ranks {
    /// Finds them; only those of `chosen`, where it names some.
    ///
    /// # Errors
    /// When there are none.
    pub fn find(folder: &Path, chosen: Option<&[u32]>) -> Result<Self, PeerError> {
        let mut found = opscope_reach::discover_of_any_job(&[folder.to_owned()])?;
        let mut absent = Vec::new();
        if let Some(chosen) = chosen {
            absent = absent_of(chosen, found.collections.iter().map(|collection| collection.rank));
            found.collections.retain(|collection| chosen.contains(&collection.rank));
            if found.collections.is_empty() {
                return Err(PeerError::Usage(
                    "--rank_list names none of the ranks that are there".to_owned(),
                ));
            }
        }
        let remarks =
            absent.into_iter().map(|rank| (rank, "--rank_list names it, and it isn't there".to_owned()));
        let (losses, remarks) = (Mutex::new(found.losses), Mutex::new(remarks.collect()));
        Ok(Self { collections: found.collections, groups: found.groups, losses, remarks })
    }

    /// The losses so far, by rank, and further remarks about ranks, a line for each.
    pub fn into_losses_and_remarks(self) -> (Vec<Loss>, Vec<String>) {
        let mut losses = self.losses.into_inner().unwrap_or_default();
        losses.sort_by_key(|loss| loss.rank);
        let mut remarks = self.remarks.into_inner().unwrap_or_default();
        remarks.sort();
        let line = |(rank, text): (u32, String)| format!("rank {rank}: {text}");
        (losses, remarks.into_iter().map(line).collect())
    }

    /// Enters something that the user should know of a rank.
    pub fn remark(&self, collection: &Collection, text: String) {
        if let Ok(mut remarks) = self.remarks.lock() {
            remarks.push((collection.rank, text));
        }
    }

    /// Enters something damaged.
    pub fn damaged(&self, collection: &Collection, path: &Path, why: impl ToString) {
        let loss = Loss::new(Some(collection.rank), path.display().to_string(), LossReason::Damaged, 1);
        if let Ok(mut losses) = self.losses.lock() {
            losses.push(loss.because(why));
        }
    }

    /// Whether any rank has databases.
    pub fn have_databases(&self) -> bool {
        self.collections.iter().any(has_databases)
    }

    /// Leaves out the ranks without databases, or those without texts; returns them.
    pub fn leave_out_without(&mut self, databases: bool) -> Vec<u32> {
        let is_read: fn(&Collection) -> bool = if databases { has_databases } else { has_texts };
        let left_out = self.collections.iter().filter(|it| !is_read(it)).map(|it| it.rank).collect();
        self.collections.retain(is_read);
        left_out
    }

    /// Reads something of each rank, several at a time, and hands it on in the order of ranks. No more than a few
    /// ranks are in memory.
    ///
    /// # Errors
    /// The errors of `take`.
    pub fn each<R: Send, E>(
        &self,
        read: impl Fn(&Collection) -> R + Sync,
        mut take: impl FnMut(&Collection, R) -> Result<(), E>,
    ) -> Result<(), E> {
        /// Enough for all cores to have work, and few enough to fit in memory.
        const AT_ONCE: usize = 16;
        for some in self.collections.chunks(AT_ONCE) {
            let results = opscope_parallel::map(some, &read);
            some.iter().zip(results).try_for_each(|(collection, result)| take(collection, result))?;
        }
        Ok(())
    }

    /// Reads a database of a rank, which may be missing. A table that breaks off is entered as a loss; its rows
    /// before stay read. Returns whether all of it was read.
    pub fn read(
        &self,
        collection: &Collection,
        file: File,
        read: impl FnOnce(&Database) -> rusqlite::Result<()>,
    ) -> bool {
        let path: &Option<PathBuf> = match file {
            File::Profile => &collection.outputs.database,
            File::Analysis => &collection.outputs.analysis,
        };
        let Some(path) = path else { return false };
        let done = open(path).and_then(|database| read(&database));
        if let Err(error) = &done {
            self.damaged(collection, path, error);
        }
        done.is_ok()
    }
}

fn has_databases(collection: &Collection) -> bool {
    collection.outputs.database.is_some() || collection.outputs.analysis.is_some()
}

/// Whether a rank has any of the texts that modes read.
fn has_texts(collection: &Collection) -> bool {
    let outputs = &collection.outputs;
    [&outputs.communication, &outputs.matrix, &outputs.steps].into_iter().any(Option::is_some)
}

/// The chosen ranks that aren't there, each once.
fn absent_of(chosen: &[u32], there: impl Iterator<Item = u32>) -> Vec<u32> {
    let there: BTreeSet<u32> = there.collect();
    let absent: BTreeSet<u32> = chosen.iter().copied().filter(|rank| !there.contains(rank)).collect();
    absent.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_ranks_that_are_not_there_are_told_once() {
        assert_eq!(absent_of(&[0, 99, 99, 7], [0, 1].into_iter()), [7, 99]);
        assert_eq!(absent_of(&[0, 1], [0, 1].into_iter()), [0; 0]);
    }
}
