//! The options that a rank was recorded with, as far as they cost time and its profile tells them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

/// Options by their names, with their values as text. Most ranks share one.
pub type Options = Arc<BTreeMap<String, String>>;

/// Options that say when is recorded, or what becomes of it.
const OTHERS: [&str; 3] = ["schedule", "export_type", "data_simplification"];

/// The options in a `profiler_info_N.json`: those of PyTorch's profiler, and of its experimental part, whose names
/// begin with `_` there.
pub fn options_of(info: &Value) -> BTreeMap<String, String> {
    let parts = ["common_config", "experimental_config"].into_iter();
    let parts = parts.filter_map(|part| info.get("config")?.get(part)?.as_object());
    let option = |(name, value): (&String, &Value)| {
        let name = name.trim_start_matches('_');
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (!OTHERS.contains(&name)).then(|| (name.to_owned(), text))
    };
    parts.flatten().filter_map(option).collect()
}

/// Keeps equal options once.
#[derive(Default)]
pub struct Shared(BTreeSet<Options>);

impl Shared {
    pub fn one(&mut self, options: BTreeMap<String, String>) -> Options {
        match self.0.get(&options) {
            Some(known) => Arc::clone(known),
            None => {
                let options = Arc::new(options);
                self.0.insert(Arc::clone(&options));
                options
            }
        }
    }
}

/// The options as they stand in a set.
pub fn to_text(options: &BTreeMap<String, String>) -> String {
    if options.is_empty() { String::new() } else { serde_json::json!(options).to_string() }
}

/// The options of such a text; what is none tells none.
pub fn of_text(text: &str) -> BTreeMap<String, String> {
    serde_json::from_str(text).unwrap_or_default()
}

/// An option that a rank has and most of its peers have otherwise.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct OtherOption {
    /// Its name.
    pub option: String,
    /// The rank's value.
    pub here: String,
    /// The value of most of its peers.
    pub peers: String,
}

/// The options in which a rank differs from most of its peers.
pub fn differing(own: &Options, peers: &[&Options]) -> Vec<OtherOption> {
    let usual = |name: &String| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for value in peers.iter().filter_map(|options| options.get(name)) {
            *counts.entry(value).or_default() += 1;
        }
        counts.into_iter().find(|(_, count)| 2 * count > peers.len()).map(|(value, _)| value.to_owned())
    };
    let other = |(name, here): (&String, &String)| {
        let peers = usual(name).filter(|peers| peers != here)?;
        Some(OtherOption { option: name.clone(), here: here.clone(), peers })
    };
    own.iter().filter_map(other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_most_peers_have_otherwise_differ() {
        let options = |level: &str, with_stack: bool| {
            let info = serde_json::json!({"config": {
                "common_config": {"with_stack": with_stack, "schedule": {"wait": with_stack}},
                "experimental_config": {"_profiler_level": level, "_export_type": level},
            }});
            Options::new(options_of(&info))
        };
        let [own, same, plain] = [options("Level1", true), options("Level1", true), options("Level1", false)];
        let told = differing(&own, &[&plain, &same, &plain]);
        let with_stack = OtherOption {
            option: "with_stack".to_owned(),
            here: "true".to_owned(),
            peers: "false".to_owned(),
        };
        assert_eq!(told, [with_stack]);
        assert_eq!(differing(&own, &[&plain, &same]), [], "half are not most");
        assert_eq!(differing(&own, &[]), []);
        assert_eq!(of_text(&to_text(&own)), *own);
        assert_eq!((to_text(&BTreeMap::new()), of_text("")), (String::new(), BTreeMap::new()));
    }
}
