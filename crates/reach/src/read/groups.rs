//! Which group a collective of a profile is of: by the lane of the vendor's timelines that it lies in, or by the attributes
//! of PyTorch's operator.

use std::collections::BTreeSet;

use opscope_trace::{OperatorId, Trace};
use serde_json::Value;

use crate::discover::{Declared, key_of_named, key_of_text};
use crate::rows::CollectiveType;

/// The key of the group of a lane of the vendor's timelines. The lane tells the group's number or name, or only its place
/// among those of the process; then the operator's name (`hcom_allReduce__586_0_1`) has the last three digits of the
/// number, by which the declared group is known. Where none is declared, these digits are all that is told of it; none if
/// several declared groups have them.
pub(super) fn key_of_lane(group: &str, name: &str, declared: &BTreeSet<u64>) -> Option<u64> {
    const MOST_GROUPS: u64 = 1 << 16;
    let key = key_of_text(group);
    let is_place = group.parse().is_ok_and(|number: u64| number < MOST_GROUPS);
    if !is_place || declared.contains(&key) {
        return Some(key);
    }
    let digits = name.rsplit('_').nth(2).filter(|part| part.len() == 3);
    let Some(digits) = digits.and_then(|part| part.parse().ok()) else { return Some(key) };
    let mut ending_so = declared.iter().filter(|key| *key % 1000 == digits);
    match (ending_so.next(), ending_so.next()) {
        (None, _) => Some(digits),
        (only, None) => only.copied(),
        _ => None,
    }
}

/// The operator of a collective.
#[derive(Clone, Default)]
pub(super) struct Described {
    pub kind: CollectiveType,
    pub group_key: Option<u64>,
    /// Whether nothing but its name and size tells the group: others may have the same.
    pub is_by_name_alone: bool,
    pub bytes: u64,
    /// The other side, by its place in the group.
    pub peer: Option<u32>,
    /// How many ranks the group has.
    size: u32,
}

impl Described {
    /// Whether both sides of a send or receive are known, by their places among the group's members.
    pub fn is_pair_known(&self, declared: &BTreeSet<u64>) -> bool {
        self.size == 2 || self.peer.is_some() && self.group_key.is_some_and(|key| declared.contains(&key))
    }

    /// The description that an operator's attributes are. Where they don't list the group's ranks, its name among the
    /// groups that the profile declares tells it.
    pub fn of(trace: &Trace, operator: OperatorId, declared: &Declared) -> Self {
        let row = trace.operators.get(operator);
        let attributes = row.attributes.map_or("", |text| trace.strings.get(text));
        let attributes: Value = serde_json::from_str(attributes).unwrap_or_default();
        let small = |name: &str| crate::discover::small_number(&attributes, name);
        // PyTorch cuts long lists: `[0, 1, …, 28, ..., 63]`. The places of those behind the cut aren't known.
        let ranks: Option<Vec<u32>> =
            attributes.get("Process Group Ranks").and_then(Value::as_str).map(|text| {
                let listed = text.split("...").next().unwrap_or_default().trim_matches(['[', ']']).split(',');
                listed.filter_map(|number| number.trim().parse().ok()).collect()
            });
        let size = small("Group size");
        let named = attributes.get("Process Group Name").and_then(Value::as_str).zip(size);
        let known = named.and_then(|(name, size)| match ranks.as_ref().and_then(|ranks| ranks.first()) {
            Some(first) => Some(key_of_named(name, *first, size)),
            None => declared.key_of(name, size),
        });
        let by_name = named.map(|(name, size)| key_of_named(name, 0, size));
        // PyTorch names ranks of the run.
        let of_run = small("Dst Rank").or_else(|| small("Src Rank"));
        let place = |rank| ranks.as_ref()?.iter().position(|member| *member == rank);
        let peer = of_run.and_then(place).map(|place| place as u32);
        Self {
            kind: CollectiveType::of_word(trace.strings.get(row.op_type)),
            group_key: known.or(by_name),
            is_by_name_alone: known.is_none() && by_name.is_some(),
            bytes: row.bytes_read.unwrap_or(0),
            peer: small("peer").or(peer),
            size: size.unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_that_tells_its_place_alone_is_known_by_the_digits_in_names() {
        let key =
            |group, name, declared: &[u64]| key_of_lane(group, name, &declared.iter().copied().collect());
        let name = "hcom_allReduce__586_0_1";
        let whole = 17_522_688_603_477_080_586;
        assert_eq!(key("0", name, &[whole, 11_022_204_950_826_225_271]), Some(whole));
        assert_eq!(key("17522688603477080586", name, &[]), Some(whole));
        assert_eq!(key("0", name, &[]), Some(586));
        assert_eq!(key("0", name, &[whole, 1_586]), None);
        assert!(key("10.0.0.1%eth0_60000_0_1760000000000000", name, &[]).is_some_and(|key| key > 1_000));
    }
}
