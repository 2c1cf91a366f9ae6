//! The set: all ranks of a run in Parquet files, for opscope and for any engine that reads Parquet.
//!
//! ```text
//! SET/opscope.json                                                  the set's version
//! SET/_manifest/run=R/00000000-00000063.json                        a part: ranks, files, sources' fingerprints
//! SET/_manifest/run=R/whole.json                                    tables over all ranks, and of which parts
//! SET/_manifest/run=R/incomparable.json                             of which parts there are none: nothing compares
//! SET/operators/run=R/block=00000/00000000-00000063-HASH.parquet    tables of ranks: a block is 64 ranks
//! SET/collectives/run=R/bucket=13/00000000-00000063-HASH.parquet    collectives: a bucket is some groups
//! SET/instances/run=R/whole-HASH.parquet                            tables over all ranks
//! SET/losses/run=R/block=00000/whole-HASH.parquet                   losses that only all ranks together tell
//! ```
//!
//! A part holds those ranks of a block that one importer found and that nobody had imported. Its files get their
//! names, then its manifest does, and readers read what manifests name: so a part is whole or not there, whoever
//! stops whenever. Parts of several importers need no coordination, because their ranks differ; where they don't, the
//! second finds the first's manifest. Collectives lie in buckets by their groups, so all parts of one are in one
//! folder and a join across ranks moves nothing between machines.
//!
//! # Floors
//! ```text
//! import                     parts from folders
//!   catalog                  all tables with their files, for engines
//!   whole                    tables over all ranks, once all parts are there
//!   leftovers                files that no manifest names
//!   own_work                 a rank's work between collectives, by what was under way
//!   open                     ranks from parts
//!     lines                  a rank's rows as lines of tables, and back
//!     manifest               what a part holds
//!     tables   file   table  the tables; their files; rows with typed columns
//! ```

pub(crate) mod catalog;
pub(crate) mod file;
pub(crate) mod import;
mod leftovers;
pub(crate) mod lines;
pub(crate) mod manifest;
pub(crate) mod open;
mod own_work;
pub(crate) mod table;
pub(crate) mod tables;
pub(crate) mod whole;

use std::path::{Path, PathBuf};

/// The version of the tables. Columns are only added within one; readers refuse a higher one. Questions must do without
/// those that were added to tables of ranks; tables over all ranks are made anew with them.
pub const SCHEMA: u32 = 1;

/// The ranks of a block.
pub const RANKS_OF_BLOCK: u32 = 64;

/// The folders that collectives lie in.
pub const BUCKETS: u64 = 16;

/// The file that makes a folder a set.
pub const SET_FILE: &str = "opscope.json";

/// The reasons for which a set can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// The folder isn't a set.
    #[error("{0}: a folder with other things in it, and no set; give a new or empty folder for the set")]
    NoSet(PathBuf),
    /// A set is to be read, and the path is something else.
    #[error(
        "{0}: this is no set; opscope cluster import FOLDER -o SET makes one of the profiles of all ranks"
    )]
    Other(PathBuf),
    /// A set is to be read, and the path is none.
    #[error(
        "{0}: there is nothing here; opscope cluster import FOLDER -o SET makes one of the profiles of all ranks"
    )]
    Absent(PathBuf),
    /// The set is newer than this program.
    #[error(
        "{path}: a set of version {found}, written by {by}; this program reads up to version {SCHEMA}: use that one"
    )]
    Newer {
        /// The file that says so.
        path: PathBuf,
        /// The version.
        found: u32,
        /// The writer.
        by: String,
    },
    /// There is no run.
    #[error("{path}: there is no run in the set yet; opscope cluster import FOLDER -o SET adds one")]
    NoRunYet {
        /// The set.
        path: PathBuf,
    },
    /// There is no such run.
    #[error("{path}: no run {run} in the set; it has {has}")]
    NoRun {
        /// The set.
        path: PathBuf,
        /// The run.
        run: String,
        /// The runs that it has.
        has: String,
    },
    /// There are several runs.
    #[error(
        "{path}: the set has several runs, {has}: choose one with --run (cluster compare: --run-a, --run-b)"
    )]
    ManyRuns {
        /// The set.
        path: PathBuf,
        /// The runs that it has.
        has: String,
    },
    /// The run's name can't be part of a path.
    #[error(
        "a run's name has 1 to 64 letters, digits, dots, hyphens and underscores, and doesn't begin with a dot; found '{0}'"
    )]
    RunName(String),
    /// The set has a rank from other data.
    #[error(
        "rank {rank} is in run {run} of the set already, from other data: import {folder} under another name \
         (--run), or into another set"
    )]
    OtherData {
        /// The rank.
        rank: u32,
        /// The run.
        run: String,
        /// The folder.
        folder: PathBuf,
    },
    /// The set keeps less of a rank than is asked for.
    #[error(
        "rank {rank} is in run {run} of the set already, of which it keeps {keep} alone: import under another name \
         (--run), or into another set"
    )]
    KeepsLess {
        /// The rank.
        rank: u32,
        /// The run.
        run: String,
        /// How much is kept.
        keep: &'static str,
    },
    /// Two parts hold the same rank.
    #[error("rank {rank} is in two parts of the set, {first} and {second}: remove one of these manifests")]
    TwoParts {
        /// The rank.
        rank: u32,
        /// One part.
        first: String,
        /// The other.
        second: String,
    },
    /// Another process imported some of the ranks meanwhile.
    #[error(
        "{path}: another process imported rank {rank} and others meanwhile; start again to import the rest"
    )]
    Overtaken {
        /// A rank.
        rank: u32,
        /// The set.
        path: PathBuf,
    },
    /// A table over all ranks isn't there, or was made before others came in, or by an earlier program.
    #[error(
        "table {table} is made once all ranks are in the set, and there is none of those that are in it now; opscope \
         cluster import of the rest, or without --shard, makes it"
    )]
    NotWhole {
        /// The table.
        table: String,
    },
    /// A table over all ranks isn't there, because nothing in them can be compared.
    #[error(
        "there is no table {table}, which compares ranks: none of the collectives of the ranks in the set has a \
         counterpart on another rank; opscope cluster import of other ranks of the run, collected with the profiler \
         level Level1 or above, makes it"
    )]
    NothingCompared {
        /// The table.
        table: String,
    },
    /// A table over all ranks isn't there, because the set keeps too little of them.
    #[error(
        "there is no table {table}, which compares ranks: the set keeps no collectives of some of them; opscope \
         cluster import into another set, with --keep communication or all, makes it"
    )]
    NotKept {
        /// The table.
        table: String,
    },
    /// A manifest can't be read.
    #[error("{path}: cannot be read: {why}; delete it and import its ranks again")]
    DamagedManifest {
        /// The manifest.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The file that makes a folder a set can't be read.
    #[error(
        "{path}: cannot be read: {why}; delete it, and the next opscope cluster import into the set writes it anew"
    )]
    DamagedSet {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The system refuses a file of the set.
    #[error("{path}: cannot be read: {why}")]
    Unopened {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A file can't be written.
    #[error("{path}: cannot write the file: {why}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A file can't be given its name.
    #[error(transparent)]
    Write(#[from] opscope_files::WriteError),
    /// A file can't be read.
    #[error("{path}: cannot be read: {why}; delete the manifest that names it and import its ranks again")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A file of a part can't be read.
    #[error("{path}: cannot be read: {why}; delete {manifest} and import its ranks again")]
    UnreadablePart {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
        /// The manifest that names it.
        manifest: PathBuf,
    },
}

impl SetError {
    fn unwritable(path: &Path, error: impl ToString) -> Self {
        Self::Unwritable { path: path.to_owned(), why: error.to_string() }
    }

    fn damaged_manifest(path: &Path, error: impl ToString) -> Self {
        Self::DamagedManifest { path: path.to_owned(), why: error.to_string() }
    }

    fn unreadable(path: &Path, error: impl ToString) -> Self {
        Self::Unreadable { path: path.to_owned(), why: error.to_string() }
    }
}

/// Whether a folder is a set.
pub fn is_set(path: &Path) -> bool {
    path.join(SET_FILE).is_file()
}

/// Whether a run can have this name, which becomes part of paths.
pub fn is_run_name(name: &str) -> bool {
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"._-".contains(&letter);
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with('.')
}

/// The folder name of a block.
fn block_folder(rank: u32) -> String {
    format!("block={:05}", rank / RANKS_OF_BLOCK)
}

/// The folder name of a group's bucket.
fn bucket_folder(bucket: u64) -> String {
    format!("bucket={bucket:02}")
}

/// The bucket of a group.
fn bucket_of(group_key: u64) -> u64 {
    // Keys are hashes of names that differ in their last letters only; multiplying spreads them.
    (group_key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % BUCKETS
}
