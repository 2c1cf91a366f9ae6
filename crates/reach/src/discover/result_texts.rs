//! A look at the texts that `msprof-analyze` makes of all ranks. They name neither hosts nor devices.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::cluster_results::{OfRank, each_found};
use super::collection::json;
use super::found::Found;
use super::metadata::{Group, Role, key_of_text};
use crate::error::{Loss, LossReason};
use crate::read::{self, ResultTexts};

/// The groups and their members.
const GROUPS: &str = "communication_group.json";

/// The ranks that the texts are of.
pub fn look_at(folder: &Path) -> Vec<Found> {
    let mut losses = Vec::new();
    let declared = json(&folder.join(GROUPS), &mut losses);
    let mut groups = declared.as_ref().map(groups_of_text).unwrap_or_default();
    let ResultTexts { ranks, members, broken } = read::result_texts(folder);
    for (key, ranks) in members.into_iter().filter(|(_, ranks)| !ranks.is_empty()) {
        let seen = || Group { id: String::new(), name: String::new(), role: Role::Other, ranks };
        groups.entry(key).or_insert_with(seen);
    }
    losses.extend(broken.into_iter().map(|(path, error)| {
        Loss::new(None, path.display().to_string(), LossReason::Damaged, 1).because(error)
    }));
    let recorded = ranks.into_iter().map(|(rank, recording)| (rank, OfRank::Recorded(Arc::new(recording))));
    let mut found = each_found(folder, folder, &groups, recorded);
    for found in &mut found {
        found.or_host_of_its_own(&format!("host of rank {}", found.rank.unwrap_or_default()));
    }
    match found.first_mut() {
        Some(first) => first.losses.extend(losses),
        None if losses.is_empty() => {}
        None => found.push(Found { losses, ..Found::at(folder) }),
    }
    found
}

/// The groups of `communication_group.json`.
fn groups_of_text(declared: &Value) -> BTreeMap<u64, Group> {
    let entries = declared.get("comm_group_parallel_info").and_then(Value::as_array);
    let group = |entry: &Value| {
        let text = |name| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let ranks = entry.get("rank_set")?.as_array()?;
        let ranks: Vec<u32> = ranks.iter().filter_map(|rank| rank.as_u64()?.try_into().ok()).collect();
        let (key, id, name) = (key_of_text(text("group_name")), text("group_id"), text("pg_name"));
        let group = Group { id: id.to_owned(), name: name.to_owned(), role: Role::of_name(name), ranks };
        (!group.ranks.is_empty()).then_some((key, group))
    };
    entries.into_iter().flatten().filter_map(group).collect()
}
