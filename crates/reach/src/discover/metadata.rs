//! The metadata that profilers leave: groups of ranks, the sizes of parallelism, and the number by which the
//! vendor's tools name a group.

use std::collections::BTreeMap;

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
        let has = |word: &str| name.split(['_', '-', '.']).any(|part| part == word);
        match () {
            () if has("exp") || has("ep") || has("expert") => Self::Ep,
            () if has("cp") || has("context") => Self::Cp,
            () if has("tp") || has("mp") || has("tensor") => Self::Tp,
            () if has("pp") || has("pipeline") => Self::Pp,
            () if has("dp") || has("data") => Self::Dp,
            () => Self::Other,
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
            [Role::of_name("tp"), Role::of_name("exp"), Role::of_name("dp_cp")],
            [Role::Tp, Role::Ep, Role::Cp]
        );
        assert_eq!(Role::of_shape(&[4, 5, 6, 7], false), Role::Tp);
        assert_eq!(Role::of_shape(&[0, 8], false), Role::Dp);
        assert_eq!(Role::of_shape(&[0, 8], true), Role::Pp);
    }
}
