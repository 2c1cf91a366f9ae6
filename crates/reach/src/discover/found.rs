//! The findings of a look at a place, before each rank is given one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::jobs::{Members, Saying};
use super::metadata::Group;
use super::{Outputs, name_of};
use crate::error::{Loss, LossReason};

/// The results of a rank, and who they say that it is.
#[derive(Debug)]
pub struct Found {
    /// The folder or file.
    pub folder: PathBuf,
    pub rank: Option<u32>,
    pub host: String,
    /// Whether nothing but the folder above tells the host.
    pub is_host_above: bool,
    /// The number by which the profiler knows the host.
    pub host_uid: Option<String>,
    pub device: Option<u32>,
    /// The time in the place's name, as digits.
    pub taken: String,
    /// The options that it was recorded with.
    pub collected: BTreeMap<String, String>,
    pub outputs: Outputs,
    pub groups: BTreeMap<u64, Group>,
    pub world_size: Option<u32>,
    pub layout: Vec<(String, u32)>,
    pub losses: Vec<Loss>,
    /// Whether its kind of place may lie beside ranks without being one.
    pub may_be_something_else: bool,
}

impl Found {
    /// A rank of which nothing but the place is known.
    pub fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            rank: None,
            host: String::new(),
            is_host_above: false,
            host_uid: None,
            device: None,
            taken: String::new(),
            collected: BTreeMap::new(),
            outputs: Outputs::default(),
            groups: BTreeMap::new(),
            world_size: None,
            layout: Vec::new(),
            losses: Vec::new(),
            may_be_something_else: false,
        }
    }

    /// Takes the first rank that is told; that others are told too is a loss.
    pub fn take_rank(&mut self, told: impl IntoIterator<Item = Option<u32>>) {
        let mut told = told.into_iter().flatten();
        self.rank = told.next();
        if let Some(other) = told.find(|rank| Some(*rank) != self.rank) {
            let loss = Loss::new(self.rank, self.folder.display().to_string(), LossReason::Contradiction, 1);
            self.losses.push(loss.because(format!("rank {other}")));
        }
    }

    /// Where no host is named, it is the folder above.
    pub fn or_host_above(&mut self) {
        if self.host.is_empty() {
            self.host = self.folder.parent().map(name_of).unwrap_or_default();
            self.is_host_above = true;
        }
    }

    /// Takes a host that is told.
    pub fn take_host(&mut self, host: String, uid: Option<String>) {
        (self.host, self.host_uid, self.is_host_above) = (host, uid, false);
    }

    /// That the folder above was taken for its host.
    pub fn host_above(&self) -> Option<Loss> {
        let source = || self.folder.display().to_string();
        self.is_host_above.then(|| Loss::new(self.rank, source(), LossReason::HostAbove, 1))
    }

    /// Where no host is named, and places of several lie together, it counts as one of its own, which is told.
    pub fn or_host_of_its_own(&mut self, name: &str) {
        if self.host.is_empty() {
            name.clone_into(&mut self.host);
            let source = self.folder.display().to_string();
            self.losses.push(Loss::new(self.rank, source, LossReason::NoHost, 1));
        }
    }

    /// The words about its job, of a place whose rank is known.
    pub fn saying(&self, rank: u32, known: &mut BTreeSet<Members>) -> Saying<'_> {
        let groups = self.groups.iter().map(|(key, group)| (*key, &group.ranks[..]));
        Saying::new(vec![rank], &self.folder, self.world_size, groups, known)
    }
}
