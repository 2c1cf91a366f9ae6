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
use crate::discover::key_of_text;
use crate::json_tree::each_value;

const TIMES: &str = "cluster_communication.json";
const MATRIX: &str = "cluster_communication_matrix.json";
const STEPS: &str = "cluster_step_trace_time.csv";

/// The texts.
pub const RESULT_TEXTS: [&str; 3] = [TIMES, MATRIX, STEPS];

/// The contents of the texts.
#[derive(Debug, Default)]
pub struct ResultTexts {
    /// Each rank, with its links in terms of ranks.
    pub ranks: BTreeMap<u32, Recording>,
    /// The members of the groups whose collectives or links stand there, by the groups' keys.
    pub members: BTreeMap<u64, Vec<u32>>,
    /// The texts that are damaged, and why.
    pub broken: Vec<(PathBuf, String)>,
}

/// Reads the texts of a folder.
pub fn read(folder: &Path) -> ResultTexts {
    let ResultTexts { mut ranks, mut members, mut broken } = ResultTexts::default();
    let mut last: Option<(String, u64)> = None;
    let mut note = |of: &str, operation: &str| {
        let Some((_, group)) = operation.split_once('@') else { return };
        let key = key_of_text(group);
        // Most follow one of the same group.
        if last.as_ref().is_some_and(|(ranks, group)| ranks == of && *group == key) {
            return;
        }
        let listed = of.trim_matches(['(', ')']).split(',').filter_map(|rank| rank.trim().parse().ok());
        members.entry(key).or_insert_with(|| listed.collect());
        last = Some((of.to_owned(), key));
    };
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
            let [of, step, operation, rank] = names else { return };
            note(of, operation);
            let Ok(rank) = rank.parse() else { return };
            enter_times(step, operation, &times, ranks.entry(rank).or_default());
        })
    });
    tell(MATRIX, &mut |path| {
        each_value(path, 4, |names, traffic: Traffic| {
            let [of, step, operation, sides] = names else { return };
            note(of, operation);
            if let Some(link) = link(step, operation, sides, &traffic) {
                ranks.entry(link.src).or_default().links.push(link);
            }
        })
    });
    ResultTexts { ranks, members, broken }
}
