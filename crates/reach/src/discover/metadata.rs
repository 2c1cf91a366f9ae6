//! The metadata that profilers leave: groups of ranks, the sizes of parallelism, and the number by which the
//! vendor's tools name a group.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A group of ranks that communicate.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The vendor's name of it.
    pub id: String,
    /// The framework's name of it, such as `dp_cp`; empty where it has none.
    pub name: String,
    /// Its use.
    pub role: Role,
    /// Its ranks, by their places in it.
    pub ranks: Vec<u32>,
}

impl Group {
    /// Whether nothing names it: PyTorch's own words for groups without a name tell nothing either.
    pub fn is_nameless(&self) -> bool {
        matches!(self.name.as_str(), "" | "undefined" | "default_pg")
    }
}

/// The groups that a rank's profile declares, by which its collectives are told apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    /// Their keys.
    pub keys: BTreeSet<u64>,
    /// The groups that the rank is in, by their names and sizes; `None` where several have one.
    named: BTreeMap<(String, u32), Option<u64>>,
}

impl Declared {
    /// The groups of a profile, of a rank if that is known.
    pub fn of(groups: &BTreeMap<u64, Group>, rank: Option<u32>) -> Self {
        let mut named: BTreeMap<(String, u32), Option<u64>> = BTreeMap::new();
        let is_in = |group: &Group| rank.is_none_or(|rank| group.ranks.contains(&rank));
        for (key, group) in groups.iter().filter(|(_, group)| is_in(group)) {
            let size = group.ranks.len() as u32;
            named.entry((group.id.clone(), size)).and_modify(|known| *known = None).or_insert(Some(*key));
        }
        Self { keys: groups.keys().copied().collect(), named }
    }

    /// The key of the rank's group of a name and size, if it is in one such.
    pub fn key_of(&self, name: &str, size: u32) -> Option<u64> {
        self.named.get(&(name.to_owned(), size)).copied().flatten()
    }
}

/// The use of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Parts of one tensor.
    Tp,
    /// Stages of a pipeline.
    Pp,
    /// Copies of the model.
    Dp,
    /// Experts.
    Ep,
    /// Parts of one sequence.
    Cp,
    /// Anything else.
    Other,
}

impl Role {
    /// Its short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tp => "tp",
            Self::Pp => "pp",
            Self::Dp => "dp",
            Self::Ep => "ep",
            Self::Cp => "cp",
            Self::Other => "other",
        }
    }

    /// All uses.
    pub const ALL: [Self; 6] = [Self::Tp, Self::Pp, Self::Dp, Self::Ep, Self::Cp, Self::Other];

    /// The use of a short name.
    pub fn of_short_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|role| role.name() == name).unwrap_or(Self::Other)
    }

    /// The use that a framework's name of a group tells.
    pub fn of_name(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        // Megatron's `dp_modulo_exp`: the copies of experts, which are fewer than those of the rest.
        let name = name.split("_modulo").next().unwrap_or_default();
        let has = |words: &[&str]| name.split(['_', '-', '.']).any(|part| words.contains(&part));
        let tensor = has(&["tp", "tensor"]);
        let stages = has(&["pp", "pipeline"]);
        let copies = has(&["dp", "data"]);
        let experts = has(&["exp", "ep", "expert", "expt"]);
        let sequence = has(&["cp", "context"]);
        match [tensor, stages, copies, experts, sequence] {
            [true, false, false, false, false] => Self::Tp,
            [false, true, false, false, false] => Self::Pp,
            // Parts of a sequence and ranks of other experts are copies of the weights, whose gradients are summed.
            [false, false, true, _, _] => Self::Dp,
            [_, false, false, true, _] => Self::Ep,
            [false, false, false, false, true] => Self::Cp,
            _ => Self::Other,
        }
    }

    /// The use that the shape of a group suggests: `only_pairs` if nothing but sends and receives was seen.
    pub fn of_shape(ranks: &[u32], only_pairs: bool) -> Self {
        let are_neighbours = ranks.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
        match () {
            () if only_pairs => Self::Pp,
            () if are_neighbours && ranks.len() <= 16 => Self::Tp,
            () => Self::Dp,
        }
    }
}

/// The number that the vendor's tools give a group's name: two polynomial hashes of 32 bits, with 29 and 131,
/// one behind the other.
pub fn group_key(name: &str) -> u64 {
    let hash = |factor: u32| {
        name.chars().fold(0_u32, |value, letter| value.wrapping_mul(factor).wrapping_add(u32::from(letter)))
    };
    u64::from(hash(29)) << 32 | u64::from(hash(131))
}

/// The key of a group of PyTorch's. Groups of several ranks may share a name: the first rank and the size tell them
/// apart.
pub fn key_of_named(name: &str, first: u32, size: u32) -> u64 {
    group_key(&format!("{name} from {first}, {size} ranks"))
}

/// The key of a group that a table names: by its number, or by its name.
pub fn key_of_text(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| group_key(text))
}

/// A member of an object, which may be text that holds JSON itself, as in databases.
pub fn member(value: &Value, name: &str) -> Option<Value> {
    match value.get(name)? {
        Value::String(text) => serde_json::from_str(text).ok(),
        value => Some(value.clone()),
    }
}

/// A small whole number, also if it is written as text.
pub fn number(value: &Value, name: &str) -> Option<u32> {
    match value.get(name)? {
        Value::String(text) => text.parse().ok(),
        value => value.as_u64().and_then(|number| number.try_into().ok()),
    }
}

/// The groups that metadata declare.
pub fn groups(metadata: &Value) -> BTreeMap<u64, Group> {
    let declared = member(metadata, "parallel_group_info");
    let entries = declared.as_ref().and_then(Value::as_object).into_iter().flatten();
    let group = |(id, entry): (&String, &Value)| {
        let ranks = entry.get("global_ranks")?.as_array()?;
        let ranks: Vec<u32> = ranks.iter().filter_map(|rank| rank.as_u64()?.try_into().ok()).collect();
        let name = entry.get("group_name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let role = Role::of_name(&name);
        (!ranks.is_empty()).then(|| (key_of_text(id), Group { id: id.clone(), name, role, ranks }))
    };
    entries.filter_map(group).collect()
}

/// Finds the use of groups whose names tell it with the sizes of parallelism alone: Megatron's `mp` has the tensors'
/// parts of all stages, and the default group all ranks.
pub fn tell_uses(groups: &mut BTreeMap<u64, Group>, arguments: &Value) {
    let is_one = |name| number(arguments, name) == Some(1);
    let is_tensor_whole = is_one("tensor_model_parallel_size");
    let is_one_stage = is_one("pipeline_model_parallel_size");
    for group in groups.values_mut().filter(|group| group.role == Role::Other) {
        group.role = match (group.name.as_str(), is_tensor_whole, is_one_stage) {
            ("mp", false, true) => Role::Tp,
            ("mp", true, false) => Role::Pp,
            ("default_group", true, true) => Role::Dp,
            _ => continue,
        };
    }
}

/// The sizes of parallelism that are above one, by their short names.
pub fn layout(arguments: &Value) -> Vec<(String, u32)> {
    let names = [
        ("tp", "tensor_model_parallel_size"),
        ("pp", "pipeline_model_parallel_size"),
        ("dp", "data_parallel_size"),
        ("cp", "context_parallel_size"),
        ("ep", "expert_model_parallel_size"),
    ];
    let size = |(short, long): (&str, &str)| Some((short.to_owned(), number(arguments, long)?));
    names.into_iter().filter_map(size).filter(|(_, size)| *size > 1).collect()
}

/// The same sizes as groups tell them, of runs that state none: where all groups of a use are equally large, and the uses
/// that divide the ranks make all of them together. Experts share the ranks of the others.
pub fn layout_of_groups(groups: &BTreeMap<u64, Group>, world_size: Option<u32>) -> Vec<(String, u32)> {
    const USES: [Role; 5] = [Role::Tp, Role::Pp, Role::Dp, Role::Cp, Role::Ep];
    let size_of = |role: Role| {
        let of_role = groups.values().filter(|group| group.role == role);
        let mut sizes = of_role.map(|group| group.ranks.len() as u32).filter(|size| *size > 1);
        let size = sizes.next().unwrap_or(1);
        sizes.all(|other| other == size).then_some((role, size))
    };
    let Some(sizes) = USES.into_iter().map(size_of).collect::<Option<Vec<_>>>() else { return Vec::new() };
    let dividing = sizes.iter().filter(|(role, _)| *role != Role::Ep);
    let ranks = dividing.fold(1, |all: u64, (_, size)| all.saturating_mul(u64::from(*size)));
    if world_size.map(u64::from) != Some(ranks) {
        return Vec::new();
    }
    let above_one = sizes.into_iter().filter(|(_, size)| *size > 1);
    above_one.map(|(role, size)| (role.name().to_owned(), size)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_groups_key_is_the_vendors() {
        assert_eq!(group_key("a"), 97 << 32 | 97);
        assert_eq!(group_key("ab"), (97 * 29 + 98) << 32 | (97 * 131 + 98));
    }

    #[test]
    fn names_and_shapes_tell_what_a_group_is_for() {
        assert_eq!(
            [Role::of_name("tp"), Role::of_name("exp"), Role::of_name("cp")],
            [Role::Tp, Role::Ep, Role::Cp]
        );
        assert_eq!(Role::of_shape(&[4, 5, 6, 7], false), Role::Tp);
        assert_eq!(Role::of_shape(&[0, 8], false), Role::Dp);
        assert_eq!(Role::of_shape(&[0, 8], true), Role::Pp);
    }

    #[test]
    fn the_groups_over_which_gradients_are_summed_are_those_of_copies() {
        let names = ["dp", "dp_cp", "dp_modulo_exp", "ep_dp"];
        assert_eq!(names.map(Role::of_name), [Role::Dp; 4]);
    }

    #[test]
    fn groups_tell_the_layout_where_they_make_all_ranks_together() {
        const TP: (&str, &[u32]) = ("tp", &[0, 1]);
        const DP: (&str, &[u32]) = ("dp", &[0, 2, 4, 6]);
        const OTHER_DP: (&str, &[u32]) = ("dp_cp", &[0, 2]);
        const EXP: (&str, &[u32]) = ("exp", &[0, 2]);
        let told = |groups: &[(&str, &[u32])], world_size: u32| {
            let group = |(name, ranks): &(&str, &[u32])| {
                let (id, role) = (format!("{name} of {ranks:?}"), Role::of_name(name));
                let group = Group { id: id.clone(), name: (*name).to_owned(), role, ranks: ranks.to_vec() };
                (key_of_text(&id), group)
            };
            layout_of_groups(&groups.iter().map(group).collect(), Some(world_size))
        };
        let sizes = |sizes: &[(&str, u32)]| -> Vec<(String, u32)> {
            sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect()
        };
        assert_eq!(told(&[TP, DP, EXP], 8), sizes(&[("tp", 2), ("dp", 4), ("ep", 2)]));
        // Something that nobody names divides the others.
        assert_eq!(told(&[TP, DP], 16), sizes(&[]));
        // Nobody knows which of them is meant.
        assert_eq!(told(&[TP, DP, OTHER_DP], 8), sizes(&[]));
        assert_eq!(told(&[], 8), sizes(&[]));
    }

    #[test]
    fn a_name_that_tells_no_use_is_given_one_by_the_sizes_alone() {
        let role_with = |name: &str, tensor: u32, stages: u32| {
            let metadata = serde_json::json!({"parallel_group_info": {
                "group_name_1": {"group_name": name, "global_ranks": [0, 2]},
            }});
            let arguments = serde_json::json!({
                "tensor_model_parallel_size": tensor, "pipeline_model_parallel_size": stages,
            });
            let mut groups = groups(&metadata);
            tell_uses(&mut groups, &arguments);
            groups.values().next().map(|group| group.role)
        };
        assert_eq!(role_with("mp", 1, 2), Some(Role::Pp));
        assert_eq!(role_with("mp", 2, 1), Some(Role::Tp));
        assert_eq!(role_with("mp", 2, 2), Some(Role::Other));
        assert_eq!(role_with("default_group", 1, 2), Some(Role::Other));
        assert_eq!(role_with("default_group", 1, 1), Some(Role::Dp));
        assert_eq!(role_with("embd", 1, 2), Some(Role::Other));
    }
}
