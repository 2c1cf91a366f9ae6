//! Ranks as the texts have them that `msprof-analyze` makes of all ranks.
//!
//! | text | objects or rows |
//! |---|---|
//! | `cluster_communication.json` | ranks of the group, step, operation, rank |
//! | `cluster_communication_matrix.json` | ranks of the group, step, operations of a kind, link |
//! | `cluster_step_trace_time.csv` | a step of a rank, or of a stage |

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Recording;
use super::from_text::{Times, Traffic, each_step, enter_times, link};
use crate::json_tree::each_value;

const TIMES: &str = "cluster_communication.json";
const MATRIX: &str = "cluster_communication_matrix.json";
const STEPS: &str = "cluster_step_trace_time.csv";

/// The texts.
pub const RESULT_TEXTS: [&str; 3] = [TIMES, MATRIX, STEPS];

/// Reads the texts of a folder: each rank with its links in terms of ranks, and what is damaged, and why.
pub fn read(folder: &Path) -> (BTreeMap<u32, Recording>, Vec<(PathBuf, String)>) {
    let mut ranks: BTreeMap<u32, Recording> = BTreeMap::new();
    let mut broken = Vec::new();
    let mut tell = |name: &str, read: &mut dyn FnMut(&Path) -> Result<(), String>| {
        let path = folder.join(name);
        if let Some(Err(error)) = path.is_file().then(|| read(&path)) {
            broken.push((path, error));
        }
    };
    tell(STEPS, &mut |path| {
        each_step(path, |rank, step, stated| {
            if let Some(rank) = rank {
                ranks.entry(rank).or_default().stated_step(step, stated);
            }
        })
    });
    tell(TIMES, &mut |path| {
        each_value(path, 4, |names, times: Times| {
            let [_, step, operation, rank] = names else { return };
            let Ok(rank) = rank.parse() else { return };
            enter_times(step, operation, &times, ranks.entry(rank).or_default());
        })
    });
    tell(MATRIX, &mut |path| {
        each_value(path, 4, |names, traffic: Traffic| {
            let [_, step, operation, sides] = names else { return };
            if let Some(link) = link(step, operation, sides, &traffic) {
                ranks.entry(link.src).or_default().links.push(link);
            }
        })
    });
    (ranks, broken)
}
