//! `fusion_result.json`: how often each fusion rule matched and took effect.
//!
//! An object has a member `session_and_graph_id_<session>_<graph>` for each graph, with the members
//! `graph_fusion` and `ub_fusion`; in those each rule has `match_times`, `effect_times` and, of UB
//! fusion, `repository_hit_times`, as text. Older converters write an object for each graph, one behind
//! the other, with the ids as the text of `session_and_graph_id`. A converter that runs again appends,
//! so that ids repeat. Rules that are switched off aren't there.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ConverterError;
use super::json::Json;
use super::switches::Fused;

const ID: &str = "session_and_graph_id";

/// The effect of a rule in all graphs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassCount {
    /// The rule.
    pub rule: String,
    /// The kind of fusion.
    pub kind: Fused,
    /// How often its pattern was found.
    pub matched: u64,
    /// How often it was applied. Some rules count nothing but this.
    pub took_effect: u64,
}

/// The contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FusionResult {
    /// How many graphs were converted.
    pub graphs: usize,
    /// The rules by kind and name.
    pub passes: Vec<PassCount>,
    /// The parts that couldn't be read.
    pub problems: Vec<String>,
}

impl FusionResult {
    /// Reads the file; of a damaged one, what precedes the damage.
    ///
    /// # Errors
    /// When no graph is in it.
    pub fn parse(text: &str) -> Result<Self, ConverterError> {
        let mut read = Self { graphs: 0, passes: Vec::new(), problems: Vec::new() };
        let mut counts: BTreeMap<(Fused, String), (u64, u64)> = BTreeMap::new();
        let text = text.trim_start_matches('\u{feff}');
        for object in serde_json::Deserializer::from_str(text).into_iter::<Json>() {
            match object {
                Ok(Json::Array(objects)) => objects.iter().for_each(|it| read.read(it, &mut counts)),
                Ok(object) => read.read(&object, &mut counts),
                Err(error) if read.graphs == 0 => return Err(ConverterError::Json(error.to_string())),
                Err(error) => {
                    read.problems.push(format!("what follows graph {} can't be read: {error}", read.graphs))
                }
            }
        }
        if read.graphs == 0 {
            return Err(ConverterError::NoCounts);
        }
        read.passes = counts
            .into_iter()
            .map(|((kind, rule), (matched, took_effect))| PassCount { rule, kind, matched, took_effect })
            .collect();
        Ok(read)
    }

    pub(super) fn is_one(text: &str) -> bool {
        text.contains(ID) && Self::parse(text).is_ok()
    }

    fn read(&mut self, object: &Json, counts: &mut BTreeMap<(Fused, String), (u64, u64)>) {
        let named = object.members().iter().filter(|(name, _)| name.starts_with(ID));
        for (_, graph) in named {
            self.graphs += 1;
            // In the older form the id is a text, and the counts stand beside it.
            let graph = if graph.text().is_some() { object } else { graph };
            for (section, kind) in [("graph_fusion", Fused::Graph), ("ub_fusion", Fused::Ub)] {
                for (rule, times) in graph.get(section).map_or(&[][..], Json::members) {
                    let of = |name: &str| times.get(name).and_then(Json::count);
                    let (matched, took_effect) = (of("match_times"), of("effect_times"));
                    if matched.is_none() && took_effect.is_none() {
                        self.problems.push(format!("`{rule}` has no counts"));
                        continue;
                    }
                    let count = counts.entry((kind, rule.clone())).or_default();
                    count.0 = count.0.saturating_add(matched.unwrap_or(0));
                    count.1 = count.1.saturating_add(took_effect.unwrap_or(0));
                }
            }
        }
    }

    /// The rules whose pattern was found more often than they took effect.
    pub fn missed(&self) -> impl Iterator<Item = &PassCount> {
        self.passes.iter().filter(|pass| pass.took_effect < pass.matched)
    }

    /// How often rules of a kind took effect.
    pub fn took_effect(&self, kind: Fused) -> u64 {
        self.passes
            .iter()
            .filter(|pass| pass.kind == kind)
            .fold(0, |sum, pass| sum.saturating_add(pass.took_effect))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Vec<(String, u64, u64)> {
        let passes = FusionResult::parse(text).unwrap().passes;
        passes.into_iter().map(|pass| (pass.rule, pass.matched, pass.took_effect)).collect()
    }

    #[test]
    fn counts_of_all_graphs_are_summed_even_where_their_ids_repeat() {
        let text = r#"{"session_and_graph_id_0_0": {"graph_fusion": {
                "ConvBatchnormFusionPass": {"effect_times": "2", "match_times": "3"}}},
            "session_and_graph_id_0_0": {"graph_fusion": {
                "ConvBatchnormFusionPass": {"effect_times": "1", "match_times": "1"}},
              "ub_fusion": {"TbePool2dQuantFusionPass":
                {"effect_times": "0", "match_times": "4", "repository_hit_times": "0"}}}}"#;
        let expected = [("ConvBatchnormFusionPass", 4, 3), ("TbePool2dQuantFusionPass", 4, 0)];
        assert_eq!(counts(text), expected.map(|(rule, matched, effect)| (rule.to_owned(), matched, effect)));
        assert_eq!(FusionResult::parse(text).unwrap().graphs, 2);
    }

    #[test]
    fn the_form_of_older_converters_is_read_too() {
        let text = r#"{"session_and_graph_id": "0_0", "graph_fusion": {"A": {"match_times": "1", "effect_times": "1"}}}
            {"session_and_graph_id": "0_1", "graph_fusion": {"A": {"match_times": 2, "effect_times": 0}}}"#;
        assert_eq!(counts(text), [("A".to_owned(), 3, 1)]);
    }

    #[test]
    fn a_file_that_is_cut_off_keeps_its_whole_graphs() {
        let text =
            r#"{"session_and_graph_id": "0", "graph_fusion": {"A": {"match_times": "1"}}} {"session_and"#;
        let read = FusionResult::parse(text).unwrap();
        assert_eq!((read.passes.len(), read.problems.len()), (1, 1));
        assert!(FusionResult::parse("{").is_err() && FusionResult::parse("{}").is_err());
    }
}
