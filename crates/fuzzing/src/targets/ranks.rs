//! Profiles of many ranks, as folders and as sets, and all questions about them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use opscope_formats::reading::Stop;
use opscope_reach::{
    By, CollectivesFilter, Profiles, arrivals, chain, collectives, examine_profiles, instances, matrix,
    summary,
};
use serde_json::Value;

use crate::packing::{RANKS, RESULTS, SET, folder, unpack};
use crate::seeds;
use crate::trail::Trail;

/// Texts of two ranks.
pub fn ranks(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    unpack(input, RANKS, directory.path());
    ask_ranks(directory.path(), trail);
}

/// The database of a rank, beside a sound one of its peer.
pub fn rank_database(input: &[u8], trail: &mut Trail) {
    static PEER: OnceLock<Vec<u8>> = OnceLock::new();
    let peer = PEER.get_or_init(|| seeds::rank_databases().remove(1));
    let directory = folder();
    for (rank, content) in [input, peer].into_iter().enumerate() {
        let outputs =
            directory.path().join(format!("host0_{rank}_20251009080000000_ascend_pt/ASCEND_PROFILER_OUTPUT"));
        std::fs::create_dir_all(&outputs).expect("a new folder");
        let name = format!("ascend_pytorch_profiler_{rank}.db");
        std::fs::write(outputs.join(name), content).expect("space on disk");
    }
    ask_ranks(directory.path(), trail);
}

/// A rank's timeline of PyTorch's, beside a sound one of its peer.
pub fn rank_timeline(input: &[u8], trail: &mut Trail) {
    static PEER: OnceLock<Vec<u8>> = OnceLock::new();
    let peer = PEER.get_or_init(|| seeds::rank_timelines().remove(1));
    let directory = folder();
    for (rank, content) in [input, peer].into_iter().enumerate() {
        std::fs::write(directory.path().join(format!("rank-{rank}.json")), content).expect("space on disk");
    }
    ask_ranks(directory.path(), trail);
}

/// The results of `msprof-analyze` for all ranks.
pub fn rank_results(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    std::fs::write(directory.path().join("cluster_analysis.db"), input).expect("space on disk");
    ask_ranks(directory.path(), trail);
}

/// The same as texts.
pub fn rank_result_texts(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    unpack(input, RESULTS, directory.path());
    ask_ranks(directory.path(), trail);
}

/// A set in Parquet files. Its manifest gets their true lengths, since others are refused before anything is read.
pub fn rank_set(input: &[u8], trail: &mut Trail) {
    let directory = folder();
    unpack(input, SET, directory.path());
    for name in SET.iter().filter(|name| name.starts_with("_manifest")) {
        state_true_lengths(&directory.path().join(name), directory.path());
    }
    ask_ranks(directory.path(), trail);
}

/// Replaces the lengths of files in a manifest, if it can be read.
fn state_true_lengths(manifest: &Path, set: &Path) -> Option<()> {
    let mut value: Value = serde_json::from_slice(&std::fs::read(manifest).ok()?).ok()?;
    for file in value.get_mut("files")?.as_array_mut()? {
        let path = PathBuf::from(file.get("path")?.as_str()?);
        if let Ok(found) = set.join(path).metadata() {
            *file.get_mut("bytes")? = found.len().into();
        }
    }
    std::fs::write(manifest, value.to_string()).ok()
}

/// Examines ranks, and asks all that can be asked of the findings.
fn ask_ranks(path: &Path, trail: &mut Trail) {
    let profiles = match Profiles::open(&[path.to_owned()], None) {
        Ok(profiles) => profiles,
        Err(error) => return trail.refused(&error),
    };
    match profiles.experts(&Stop::default(), &|_| {}) {
        Ok((recorded, losses)) => {
            trail.counted("rows of experts", recorded.products.len());
            trail.counted("losses of experts", losses.len());
            let experts = opscope_reach::experts(profiles.discovery(), &recorded);
            trail.counted("ranks with experts", experts.ranks.len());
        }
        Err(error) => trail.refused(&error),
    }
    let findings = match examine_profiles(&profiles, &Stop::default(), &|_| {}) {
        Ok(findings) => findings,
        Err(error) => return trail.refused(&error),
    };
    trail.counted("losses", findings.losses.len());
    trail.counted("matched", findings.matched());
    trail.counted("incomplete", findings.incomplete());
    trail.counted("suspects", findings.costs.suspects.len());
    let steps = findings.run.steps().into_iter().collect();
    trail.counted("ranks on the chain", chain(&findings, &steps).ranks.len());
    for suspect in &findings.costs.suspects {
        assert!(suspect.saves_ns.is_finite(), "a saving that is no number");
        let _ = findings.name_of(&suspect.who);
        let share = chain(&findings, &steps).share_of(&suspect.who, &findings.run);
        assert!(share.time_ns >= 0.0, "a suspect with less than no part in a step");
        let came = arrivals(&findings, &suspect.who.workers(&findings.run), &steps);
        assert!(came.last <= came.of && came.waited_ns.is_finite(), "more last arrivals than collectives");
    }
    let account = findings.account();
    assert!(account.compute_ns.is_finite() && account.waiting_ns.is_finite(), "a step that is no number");
    for by in [By::Rank, By::Host, By::Step] {
        trail.counted("rows of the summary", summary(&findings, by).len());
    }
    let filter = CollectivesFilter::default();
    trail.counted("collectives", collectives(&findings, &filter).len());
    trail.counted("pairs", matrix(&findings, &filter).len());
    if let Some(first) = findings.run.instances.first() {
        let key = findings.run.groups[first.group as usize].key;
        let sequence = findings.run.first_of(first).sequence;
        assert!(
            !instances(&findings, key, sequence).is_empty(),
            "a collective that isn't found by its number"
        );
    }
}
