//! Changes that are alike, taken together: what became of many operators of a type is one fact.

use std::collections::HashMap;

use opscope_trace::Nanoseconds;

use super::{Comparison, Group};

/// Groups with the same story.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeFamily<'c, 't> {
    /// The change in words, such as `Conv2D + Relu became Conv2D`.
    pub story: String,
    /// How many groups there are.
    pub count: usize,
    /// By how much all of them changed: B less A.
    pub delta: Nanoseconds,
    /// The one that changed most.
    pub greatest: &'c Group<'t>,
}

impl<'t> Comparison<'t> {
    /// All groups with those of the same story together, the greatest change first.
    pub fn families(&self) -> Vec<ChangeFamily<'_, 't>> {
        let mut all: Vec<ChangeFamily<'_, 't>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for group in &self.groups {
            let story = group.story();
            if let Some(place) = places.get(&story) {
                all[*place].count += 1;
                all[*place].delta += group.delta;
            } else {
                places.insert(story.clone(), all.len());
                all.push(ChangeFamily { story, count: 1, delta: group.delta, greatest: group });
            }
        }
        all.sort_by_key(|family| -family.delta.0.abs());
        all
    }
}
