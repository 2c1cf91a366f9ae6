//! The converter's command, its switch file and its report of fusion taken together: what was off,
//! what matched and took effect, and options that contradict one another or are missing.

mod command;

use opscope_model::{Model, Shapes};
use serde::Serialize;

use super::{ConverterOptions, FusionResult, Switches};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gravity {
    /// The converter refuses it, or does something else than was asked for.
    Wrong,
    /// It costs time, or is worth knowing.
    Costly,
}

/// Something to be said of a conversion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// How bad it is.
    pub gravity: Gravity,
    /// The matter, and what to do about it.
    pub text: String,
}

/// All that is known of a model's conversion.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conversion<'a> {
    /// The command.
    pub command: Option<&'a ConverterOptions>,
    /// The switch file.
    pub switches: Option<&'a Switches>,
    /// The converter's report of fusion.
    pub result: Option<&'a FusionResult>,
    /// Whether it is for a board with an SVP engine.
    pub is_svp: bool,
}

fn wrong(text: impl Into<String>) -> Remark {
    Remark { gravity: Gravity::Wrong, text: text.into() }
}

fn costly(text: impl Into<String>) -> Remark {
    Remark { gravity: Gravity::Costly, text: text.into() }
}

impl Conversion<'_> {
    /// Everything that is to be said, what is wrong first. With the model, its inputs are held against
    /// the command's.
    pub fn remarks(&self, model: Option<(&Model, Option<&Shapes>)>) -> Vec<Remark> {
        let mut remarks = Vec::new();
        if let Some(command) = self.command {
            remarks.append(&mut command::remarks(command, self.is_svp, self.switches.is_some()));
            if let Some((model, shapes)) = model {
                remarks.append(&mut command::inputs(command, model, shapes));
            }
        }
        remarks.append(&mut self.of_switches());
        remarks.append(&mut self.of_result());
        remarks.sort_by_key(|remark| remark.gravity != Gravity::Wrong);
        remarks
    }

    fn of_switches(&self) -> Vec<Remark> {
        let Some(switches) = self.switches else { return Vec::new() };
        let mut remarks: Vec<Remark> =
            switches.problems.iter().map(|problem| wrong(format!("the switch file: {problem}"))).collect();
        if self.is_svp && switches.is_json {
            remarks.push(wrong(
                "the switch file is JSON, which the boards' converter doesn't take: write a rule a line, as in \
                 ReluMerge:on (opscope fusion MODEL.onnx --target svp --switch-file FILE)",
            ));
        }
        if !self.is_svp && switches.is_of_svp() {
            remarks.push(wrong(
                "the switch file has rules of the boards' converter, which Ascend's doesn't know (for a board, \
                 give --target svp)",
            ));
        }
        let off: Vec<String> =
            switches.off().map(|switch| format!("{} ({})", switch.rule, switch.kind.name())).collect();
        if !off.is_empty() {
            let but: Vec<&str> = switches.exceptions().map(|switch| &*switch.rule).collect();
            let but = if but.is_empty() { String::new() } else { format!(", all but {}", but.join(", ")) };
            remarks.push(costly(format!("the switch file turns off {}{but}", off.join(", "))));
        }
        remarks
    }

    fn of_result(&self) -> Vec<Remark> {
        let Some(result) = self.result else { return Vec::new() };
        let mut remarks: Vec<Remark> =
            result.problems.iter().map(|problem| wrong(format!("fusion_result.json: {problem}"))).collect();
        if let Some(switches) = self.switches {
            let in_spite = result
                .passes
                .iter()
                .filter(|pass| pass.took_effect > 0 && switches.turns_off(&pass.rule, pass.kind));
            let names: Vec<&str> = in_spite.map(|pass| &*pass.rule).collect();
            if !names.is_empty() {
                remarks.push(wrong(format!(
                    "{} took effect although the switch file turns it off: either it is of another conversion, or \
                     the rule is one that can't be turned off",
                    names.join(", ")
                )));
            }
        }
        for pass in result.missed() {
            remarks.push(costly(format!(
                "{} ({}) matched {} times and took effect {}: look for what its limits don't allow (converter's log \
                 with --log=info, opscope fusion MODEL.onnx)",
                pass.rule,
                pass.kind.name(),
                pass.matched,
                if pass.took_effect == 0 { "never".to_owned() } else { format!("{} times", pass.took_effect) },
            )));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_took_effect_although_it_is_off_is_a_contradiction() {
        let switches = Switches::parse("ConvBatchnormFusionPass:off").unwrap();
        let result = r#"{"session_and_graph_id_0_0": {"graph_fusion": {
            "ConvBatchnormFusionPass": {"match_times": "2", "effect_times": "2"},
            "AReduceMeanFusionPass": {"match_times": "3", "effect_times": "0"}}}}"#;
        let result = FusionResult::parse(result).unwrap();
        let conversion =
            Conversion { switches: Some(&switches), result: Some(&result), ..Conversion::default() };
        let found: Vec<_> = conversion.remarks(None).into_iter().map(|it| (it.gravity, it.text)).collect();
        let has = |gravity, text: &str| found.iter().any(|it| it.0 == gravity && it.1.contains(text));
        assert!(has(Gravity::Wrong, "ConvBatchnormFusionPass took effect although"), "{found:?}");
        assert!(has(
            Gravity::Costly,
            "AReduceMeanFusionPass (graph fusion) matched 3 times and took effect never"
        ));
        assert!(has(Gravity::Costly, "turns off ConvBatchnormFusionPass"));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_switch_file_in_the_other_converters_form_is_refused() {
        let json = Switches::parse(&super::super::all_on()).unwrap();
        let board = Conversion { switches: Some(&json), is_svp: true, ..Conversion::default() };
        assert!(board.remarks(None)[0].text.contains("JSON, which the boards' converter doesn't take"));
        let lines = Switches::parse("ReluMerge:on").unwrap();
        let ascend = Conversion { switches: Some(&lines), ..Conversion::default() };
        assert!(ascend.remarks(None)[0].text.contains("--target svp"));
    }
}
