//! Fusion switch files.
//!
//! | form | whose |
//! |---|---|
//! | `{"Switch": {"GraphFusion": {"ALL": "off", "SoftmaxFusionPass": "on"}, "UBFusion": {…}}}` | Ascend's |
//! | a line `ConvBatchnormFusionPass:off` for each rule | Ascend's, and the boards' |
//! | `ReluMerge:off;PoolMergeToConv:on`, also as the value of the option itself | the boards' |
//!
//! All rules are on by default. `ALL` switches only those that can be switched at all. A rule twice,
//! or with another word than `on` and `off`, makes the converter refuse the file.

use opscope_trace::words;
use serde::Serialize;

use super::ConverterError;
use super::json::Json;

words! {
    /// Which of the two kinds of fusion a rule is of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Fused {
        /// Graph fusion: the graph is rewritten.
        Graph = "graph fusion",
        /// UB fusion: results stay in the Unified Buffer.
        Ub = "UB fusion",
        /// The file doesn't say.
        Unknown = "fusion",
    }
}

/// A rule and whether it is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Switch {
    /// The rule's name; `ALL` is every rule of its kind.
    pub rule: String,
    /// The kind of fusion.
    pub kind: Fused,
    /// Whether it is on.
    pub on: bool,
}

/// The contents of a fusion switch file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Switches {
    /// Whether it is JSON, which the boards' converter doesn't take.
    pub is_json: bool,
    /// The rules in the order of the file.
    pub switches: Vec<Switch>,
    /// Mistakes that make the converter refuse the file or ignore a part of it.
    pub problems: Vec<String>,
}

/// The rules of the boards' converter that leave results as they are.
const SVP_SAFE: [&str; 9] = [
    "BatchNormMergeToConvWeight",
    "BatchNormMergeToConvActive",
    "ScaleMergeToConvWeight",
    "ScaleMergeToConvActive",
    "BiasMergeToConv",
    "ReluMerge",
    "PReluMerge",
    "AbsMerge",
    "PoolMergeToConv",
];
/// The rules that may change results. The first name is misspelled in the converter as well.
const SVP_RISKY: [&str; 2] = ["BatchNormTransfromToDepthwiseConv", "EltwiseMergeToCube"];

/// The switch file of Ascend's converter: every rule on.
pub fn all_on() -> String {
    "{\n  \"Switch\": {\n    \"GraphFusion\": {\"ALL\": \"on\"},\n    \"UBFusion\": {\"ALL\": \"on\"}\n  }\n}\n".to_owned()
}

/// The switch file of the boards' converter: the rules that leave results as they are on, and the two
/// that may change them off.
pub fn all_safe_on_svp() -> String {
    let safe = SVP_SAFE.iter().map(|rule| format!("{rule}:on\n"));
    safe.chain(SVP_RISKY.iter().map(|rule| format!("{rule}:off\n"))).collect()
}

impl Switches {
    /// Reads a file, or the value of the option where that holds the rules itself.
    ///
    /// # Errors
    /// When no rule is switched in it.
    pub fn parse(text: &str) -> Result<Self, ConverterError> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let mut read = Self { is_json: text.starts_with('{'), switches: Vec::new(), problems: Vec::new() };
        if read.is_json {
            let json = serde_json::from_str(text).map_err(|error| ConverterError::Json(error.to_string()))?;
            read.read_json(&json)?;
        } else {
            read.read_lines(text);
            if read.switches.is_empty() {
                return Err(ConverterError::NoSwitches);
            }
        }
        Ok(read)
    }

    /// Whether a text is nothing but rules with `on` or `off`.
    pub(super) fn are_lines(text: &str) -> bool {
        let mut pairs = pairs(text).peekable();
        let is_name = |rule: &str| {
            !rule.is_empty() && rule.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        pairs.peek().is_some()
            && pairs.all(|(_, pair)| {
                pair.split_once(':').is_some_and(|(rule, word)| is_name(rule.trim()) && on(word).is_some())
            })
    }

    fn read_json(&mut self, json: &Json) -> Result<(), ConverterError> {
        let sections = json.get("Switch").ok_or(ConverterError::NoSwitches)?;
        for (section, rules) in sections.members() {
            let kind = match section.as_str() {
                "GraphFusion" => Fused::Graph,
                "UBFusion" => Fused::Ub,
                other => {
                    self.problems
                        .push(format!("`{other}` is neither GraphFusion nor UBFusion: it is ignored"));
                    continue;
                }
            };
            for (rule, word) in rules.members() {
                self.push(rule, kind, word.text().unwrap_or_default(), "");
            }
        }
        if sections.members().is_empty() {
            self.problems.push("`Switch` holds nothing".to_owned());
        }
        Ok(())
    }

    fn read_lines(&mut self, text: &str) {
        for (line, pair) in pairs(text) {
            let place = format!("line {line}: ");
            match pair.split_once(':') {
                Some((rule, word)) => self.push(rule.trim(), Fused::Unknown, word.trim(), &place),
                None => self.problems.push(format!("{place}`{pair}` is not of the form Rule:on or Rule:off")),
            }
        }
        if !self.is_of_svp() {
            return;
        }
        for switch in &self.switches {
            let known = || SVP_SAFE.iter().chain(&SVP_RISKY);
            if known().any(|rule| *rule == switch.rule) {
                continue;
            }
            let near = known().find(|rule| is_near(rule, &switch.rule));
            let near = near.map_or(String::new(), |rule| format!("; the converter has `{rule}`"));
            self.problems.push(format!("`{}` is no rule of the boards' converter{near}", switch.rule));
        }
    }

    fn push(&mut self, rule: &str, kind: Fused, word: &str, place: &str) {
        let Some(on) = on(word) else {
            self.problems.push(format!("{place}`{rule}` is `{word}`: it must be on or off"));
            return;
        };
        match self.switches.iter().find(|known| known.rule == rule && known.kind == kind) {
            Some(known) if known.on == on => {
                self.problems.push(format!("{place}`{rule}` is there twice"));
                return;
            }
            Some(_) => self.problems.push(format!("{place}`{rule}` is both on and off")),
            None => {}
        }
        self.switches.push(Switch { rule: rule.to_owned(), kind, on });
    }

    /// Whether rules of the boards' converter are switched.
    pub fn is_of_svp(&self) -> bool {
        let known = |switch: &Switch| SVP_SAFE.iter().chain(&SVP_RISKY).any(|rule| *rule == switch.rule);
        !self.is_json && self.switches.iter().any(known)
    }

    /// The rules that are off, `ALL` among them. The two of the boards' that may change results don't
    /// count: they are better off.
    pub fn off(&self) -> impl Iterator<Item = &Switch> {
        self.switches.iter().filter(|switch| !switch.on && !SVP_RISKY.contains(&&*switch.rule))
    }

    /// The rules that are on although all others of their kind are off.
    pub fn exceptions(&self) -> impl Iterator<Item = &Switch> {
        let all_off = |kind| self.switches.iter().any(|it| it.rule == "ALL" && it.kind == kind && !it.on);
        self.switches.iter().filter(move |switch| switch.on && switch.rule != "ALL" && all_off(switch.kind))
    }

    /// Whether the file turns a rule off: by its name, or with all others.
    pub fn turns_off(&self, rule: &str, kind: Fused) -> bool {
        let of_kind = |switch: &&Switch| switch.kind == kind || switch.kind == Fused::Unknown;
        let by_name = self.switches.iter().filter(of_kind).find(|switch| switch.rule == rule);
        let all = self.switches.iter().filter(of_kind).find(|switch| switch.rule == "ALL");
        by_name.or(all).is_some_and(|switch| !switch.on)
    }
}

/// The pieces of a file of lines, with the numbers of their lines from 1.
fn pairs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(place, line)| {
        let pairs = line.split(';').map(str::trim).filter(|pair| !pair.is_empty());
        pairs.map(move |pair| (place + 1, pair))
    })
}

fn on(word: &str) -> Option<bool> {
    match word.trim() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// Whether two names differ by no more than two letters that are exchanged, or by their case.
fn is_near(a: &str, b: &str) -> bool {
    let differing = a.bytes().zip(b.bytes()).filter(|(a, b)| !a.eq_ignore_ascii_case(b)).count();
    a.len() == b.len() && differing <= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn off(text: &str) -> Vec<String> {
        Switches::parse(text)
            .unwrap()
            .off()
            .map(|switch| format!("{} ({})", switch.rule, switch.kind.name()))
            .collect()
    }

    #[test]
    fn all_three_forms_say_which_rules_are_off() {
        let json = r#"{"Switch": {"GraphFusion": {"ALL": "off", "SoftmaxFusionPass": "on"}, "UBFusion": {"X": "off"}}}"#;
        assert_eq!(off(json), ["ALL (graph fusion)", "X (UB fusion)"]);
        assert_eq!(off("A:on\r\n B : off \n\nC:off"), ["B (fusion)", "C (fusion)"]);
        assert_eq!(off("ReluMerge:off;PoolMergeToConv:on;EltwiseMergeToCube:off"), ["ReluMerge (fusion)"]);
    }

    #[test]
    fn all_rules_are_off_but_those_that_are_on_by_name() {
        let text = r#"{"Switch": {"GraphFusion": {"ALL": "off", "A": "on"}, "UBFusion": {"B": "off"}}}"#;
        let switches = Switches::parse(text).unwrap();
        let is_off = |rule, kind| switches.turns_off(rule, kind);
        assert!(is_off("Z", Fused::Graph) && !is_off("A", Fused::Graph));
        assert!(is_off("B", Fused::Ub) && !is_off("Z", Fused::Ub));
        assert_eq!(switches.exceptions().map(|switch| &*switch.rule).collect::<Vec<_>>(), ["A"]);
    }

    #[test]
    fn what_the_converter_refuses_is_said_with_its_line() {
        let problems = |text: &str| Switches::parse(text).unwrap().problems;
        assert_eq!(problems("A:on\nA:off"), ["line 2: `A` is both on and off"]);
        assert_eq!(problems("A:on\nB=off"), ["line 2: `B=off` is not of the form Rule:on or Rule:off"]);
        assert_eq!(problems("A:on\nB:offf"), ["line 2: `B` is `offf`: it must be on or off"]);
        assert_eq!(
            problems(r#"{"Switch": {"GraphFusion": {"A": "on", "A": "on"}}}"#),
            ["`A` is there twice"]
        );
        assert_eq!(problems(r#"{"Switch": {"Graph": {"A": "on"}}}"#).len(), 1);
        let [problem] = &problems("ReluMerge:on\nBatchNormTransformToDepthwiseConv:on")[..] else { panic!() };
        assert!(problem.contains("`BatchNormTransfromToDepthwiseConv`"), "{problem}");
        assert!(
            Switches::parse("{").is_err() && Switches::parse("").is_err() && Switches::parse("{}").is_err()
        );
    }

    #[test]
    fn the_files_that_are_written_are_read() {
        let ascend = Switches::parse(&all_on()).unwrap();
        assert!(ascend.off().count() == 0 && ascend.problems.is_empty() && ascend.is_json);
        let board = Switches::parse(&all_safe_on_svp()).unwrap();
        assert!(board.off().count() == 0 && board.problems.is_empty() && board.is_of_svp());
    }
}
