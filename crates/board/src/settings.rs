//! The profiling switches of a program, in its `acl.json`.
//!
//! | key | meaning |
//! |---|---|
//! | `switch` | profiling is on only if this is `on` |
//! | `output` | where the `JOB*` directories go |
//! | `interval` | every how many inferences one is sampled |
//! | `acl_api`, `aacpu` | calls; layers on the processor beside the engine |
//! | `aac_metrics` | `ArithmeticUtilization`, or the engine's counters are not collected |
//!
//! All values are strings. Documents of neighbouring chips write `aicpu` and `aic_metrics`; a file
//! that has those keeps them.
//!
//! AscendCL, on hosts with Ascend processors, has keys of its own for these (`ascendcl`, `aicpu`,
//! `aic_metrics`, and some for what boards don't have), and refuses to profile where it finds another.

use serde_json::{Map, Value, json};

/// How the two keys that documents spell differently are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyStyle {
    /// `aacpu` and `aac_metrics`.
    #[default]
    Aa,
    /// `aicpu` and `aic_metrics`.
    Ai,
    /// The keys of AscendCL.
    Ascend,
    /// The keys that the host's runtime knows, by the devices that it has.
    Found,
}

/// The changes to an `acl.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Where it put the results.
    pub output: Option<String>,
    /// The keys that were taken out.
    pub removed: Vec<String>,
}

/// The switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether to collect at all.
    pub switch: bool,
    /// Every how many inferences one is sampled; 0 samples all.
    pub interval: u64,
    /// Whether calls are collected.
    pub acl_api: bool,
    /// Whether layers on the processor beside the engine are collected.
    pub aacpu: bool,
    /// Which counters of the engine are collected.
    pub metrics: String,
    /// How the keys are spelled in a file that has neither spelling.
    pub style: KeyStyle,
    /// Further settings on a host with Ascend processors: AscendCL's own keys and values.
    pub ascend: Vec<(String, String)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            switch: true,
            interval: 0,
            acl_api: true,
            aacpu: true,
            metrics: "ArithmeticUtilization".to_owned(),
            style: KeyStyle::Found,
            ascend: Vec::new(),
        }
    }
}

/// The keys that only boards know.
const OF_BOARDS: [&str; 4] = ["interval", "acl_api", "aacpu", "aac_metrics"];
/// The counters that AscendCL records unless it is told otherwise.
const USUAL_COUNTERS: &str = "PipeUtilization";

/// An `acl.json` that can't be edited.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Not JSON.
    #[error("not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but no object.
    #[error("expected an object such as {{\"profiler\": {{…}}}}")]
    NoObject,
    /// Values are being dumped, which takes so long that times mean nothing.
    #[error("it has a 'dump' section: dumping and profiling exclude each other; take that section out")]
    Dumps,
}

impl Settings {
    /// The content of an `acl.json` with these switches and `output`, and what isn't as it was. Everything
    /// else in `existing` is kept; without it, a file of its own is made.
    ///
    /// # Errors
    /// When `existing` is no JSON object, or dumps values.
    pub fn apply(&self, existing: Option<&[u8]>, output: &str) -> Result<(String, Changed), SettingsError> {
        let mut json: Value = match existing {
            Some(text) if !text.trim_ascii().is_empty() => serde_json::from_slice(text)?,
            _ => json!({}),
        };
        let root = json.as_object_mut().ok_or(SettingsError::NoObject)?;
        if dumps(root.get("dump")) {
            return Err(SettingsError::Dumps);
        }
        let profiler = root.entry("profiler").or_insert_with(|| json!({}));
        let profiler = profiler.as_object_mut().ok_or(SettingsError::NoObject)?;
        let mut changed = Changed {
            output: profiler.get("output").and_then(Value::as_str).map(str::to_owned),
            removed: Vec::new(),
        };
        if self.style == KeyStyle::Ascend {
            changed.removed = self.set_for_ascend(profiler);
        } else {
            self.set_for_board(profiler);
        }
        profiler.insert("switch".to_owned(), on_off(self.switch));
        profiler.insert("output".to_owned(), Value::from(output));
        let mut text = serde_json::to_string_pretty(&json)?;
        text.push('\n');
        Ok((text, changed))
    }

    fn set_for_board(&self, profiler: &mut Map<String, Value>) {
        let (cpu, metrics) = (
            self.spelling(profiler, ["aacpu", "aicpu"]),
            self.spelling(profiler, ["aac_metrics", "aic_metrics"]),
        );
        let mut set = |key: &str, value: Value| {
            profiler.insert(key.to_owned(), value);
        };
        set("interval", Value::from(self.interval.to_string()));
        set("acl_api", on_off(self.acl_api));
        cpu.iter().for_each(|key| set(key, on_off(self.aacpu)));
        metrics.iter().for_each(|key| set(key, Value::from(&*self.metrics)));
    }

    /// Sets what AscendCL knows, and returns the keys that it would refuse. The file's own keys
    /// stay unless others were asked for.
    fn set_for_ascend(&self, profiler: &mut Map<String, Value>) -> Vec<String> {
        let refused = OF_BOARDS.into_iter().filter(|key| profiler.contains_key(*key));
        let refused: Vec<String> = refused.map(str::to_owned).collect();
        refused.iter().for_each(|key| {
            profiler.remove(key);
        });
        for (key, value) in [
            ("ascendcl", on_off(self.acl_api)),
            ("aicpu", on_off(self.aacpu)),
            ("aic_metrics", Value::from(USUAL_COUNTERS)),
        ] {
            profiler.entry(key).or_insert(value);
        }
        for (key, value) in &self.ascend {
            profiler.insert(key.clone(), Value::from(&**value));
        }
        refused
    }

    /// The keys for a switch: those that the file has; without one, that of the style that its other
    /// keys have, or of our own.
    fn spelling<'k>(&self, profiler: &Map<String, Value>, [aa, ai]: [&'k str; 2]) -> Vec<&'k str> {
        let has = |key: &str| profiler.contains_key(key);
        let there: Vec<&str> = [aa, ai].into_iter().filter(|key| has(key)).collect();
        if !there.is_empty() {
            return there;
        }
        let is_aa = has("aacpu") || has("aac_metrics");
        let is_ai = has("aicpu") || has("aic_metrics");
        match self.style {
            _ if is_aa => vec![aa],
            _ if is_ai => vec![ai],
            KeyStyle::Ai => vec![ai],
            _ => vec![aa],
        }
    }
}

fn on_off(on: bool) -> Value {
    Value::from(if on { "on" } else { "off" })
}

/// A section that lists nothing, or that is switched off, dumps nothing.
fn dumps(section: Option<&Value>) -> bool {
    let Some(section) = section.and_then(Value::as_object) else { return false };
    let list = section.get("dump_list").and_then(Value::as_array);
    let is_off = section.get("dump_switch").or(section.get("switch")).and_then(Value::as_str) == Some("off");
    !is_off && (list.is_some_and(|list| !list.is_empty()) || section.contains_key("dump_path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(settings: &Settings, existing: Option<&str>) -> Value {
        let (text, _) = settings.apply(existing.map(str::as_bytes), "/root/out").unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn ascendcl_is_given_its_own_keys_only_and_what_was_there_is_said() {
        let settings = Settings {
            style: KeyStyle::Ascend,
            ascend: vec![("task_time".to_owned(), "l2".to_owned())],
            ..Settings::default()
        };
        let expected = json!({"profiler": {
            "switch": "on", "output": "/root/out", "ascendcl": "on", "aicpu": "on", "aic_metrics": "PipeUtilization",
            "task_time": "l2"
        }});
        assert_eq!(apply(&settings, None), expected);
        let existing =
            br#"{"profiler": {"output": "mine", "aic_metrics": "Memory", "interval": "0", "l2": "on"}}"#;
        let (text, changed) = settings.apply(Some(existing), "/root/out").unwrap();
        assert_eq!(changed.output.as_deref(), Some("mine"));
        assert_eq!(changed.removed, ["interval"]);
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&json["profiler"]["aic_metrics"], &json["profiler"]["l2"]),
            (&json!("Memory"), &json!("on"))
        );
        assert_eq!(json["profiler"].get("interval"), None);
    }

    #[test]
    fn without_a_file_there_is_a_default_one_in_the_guides_words() {
        let expected = json!({"profiler": {
            "output": "/root/out", "aacpu": "on", "aac_metrics": "ArithmeticUtilization", "interval": "0",
            "acl_api": "on", "switch": "on"
        }});
        assert_eq!(apply(&Settings::default(), None), expected);
        assert_eq!(apply(&Settings::default(), Some(" \n")), expected);
    }

    #[test]
    fn a_file_keeps_what_is_not_ours_and_its_own_spelling() {
        let existing = r#"{"device": 1, "profiler": {"switch": "off", "aicpu": "off", "mine": [1]}}"#;
        let settings = Settings { interval: 2, acl_api: false, ..Settings::default() };
        let json = apply(&settings, Some(existing));
        assert_eq!((&json["device"], &json["profiler"]["mine"]), (&json!(1), &json!([1])));
        assert_eq!(json["profiler"]["aicpu"], "on");
        assert_eq!(json["profiler"]["aic_metrics"], "ArithmeticUtilization");
        assert_eq!(json["profiler"].get("aacpu"), None);
        assert_eq!(
            (&json["profiler"]["interval"], &json["profiler"]["acl_api"]),
            (&json!("2"), &json!("off"))
        );
        // Where a file has both spellings, both say the same afterwards.
        let both = r#"{"profiler": {"aicpu": "off", "aacpu": "off", "aic_metrics": "x"}}"#;
        let profiler = &apply(&Settings::default(), Some(both))["profiler"];
        assert_eq!((&profiler["aacpu"], &profiler["aicpu"]), (&json!("on"), &json!("on")));
        assert_eq!(profiler["aic_metrics"], "ArithmeticUtilization");
        assert_eq!(profiler.get("aac_metrics"), None);
        let settings = Settings { style: KeyStyle::Ai, ..Settings::default() };
        assert_eq!(apply(&settings, None)["profiler"]["aicpu"], "on");
    }

    #[test]
    fn a_file_that_dumps_or_is_broken_is_refused() {
        let refuse =
            |text: &str| Settings::default().apply(Some(text.as_bytes()), "x").unwrap_err().to_string();
        assert!(refuse(r#"{"dump": {"dump_list": [{"model_name": "m"}]}}"#).contains("dump"));
        assert!(refuse("[1]").contains("expected an object"));
        assert!(refuse(r#"{"profiler": 3}"#).contains("expected an object"));
        assert!(refuse("{").contains("not valid JSON"));
        assert!(Settings::default().apply(Some(br#"{"dump": {"dump_list": []}}"#), "x").is_ok());
    }
}
