//! Files about a model's conversion: the command, the file that switches fusion rules, the file that says
//! which rules took effect, and the library that says which operators there are for a chip.
//!
//! Facts: the pages about `--fusion_switch_file`, `--export_compile_stat` and the other options in
//! CANN's guide to ATC; the guide to ATC of the SS928 and SS927 for SVP boards.

mod command;
mod json;
mod operator_library;
mod result;
mod review;
mod switches;

use std::fmt;

pub use command::ConverterOptions;
pub use operator_library::{LibraryOperator, OperatorLibrary};
pub use result::{FusionResult, PassCount};
pub use review::{Conversion, Gravity, Remark};
pub use switches::{Fused, Switch, Switches, all_on, all_safe_on_svp};

/// The kind of a file of the converter's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConverterFile {
    /// It switches fusion rules on and off.
    Switches,
    /// It counts what fusion rules matched and did.
    Result,
    /// It has the command that converts a model, by itself or in a script.
    Command,
}

impl ConverterFile {
    /// The kind of a text, by its content; `None` where it is none of these.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with(['{', '[']) {
            if FusionResult::is_one(text) {
                Some(Self::Result)
            } else {
                Switches::parse(text).is_ok().then_some(Self::Switches)
            }
        } else if ConverterOptions::is_command(text) {
            Some(Self::Command)
        } else {
            Switches::are_lines(text).then_some(Self::Switches)
        }
    }
}

impl fmt::Display for ConverterFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Switches => "a fusion switch file of the model converter",
            Self::Result => "the model converter's report of what its fusion rules did (fusion_result.json)",
            Self::Command => "a command of the model converter (atc)",
        })
    }
}

/// Why a file of the converter's can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConverterError {
    /// It isn't JSON as far as it begins.
    #[error("this is no JSON: {0}")]
    Json(String),
    /// There are no switches in it.
    #[error(
        "no fusion rule is switched here; expected lines such as `ConvBatchnormFusionPass:off`, or \
         {{\"Switch\": {{\"GraphFusion\": {{…}}, \"UBFusion\": {{…}}}}}}"
    )]
    NoSwitches,
    /// There are no counts in it.
    #[error("no fusion rule is counted here; expected `graph_fusion` and `ub_fusion` with `match_times`")]
    NoCounts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_content() {
        let files = [
            (r#"{"Switch": {"GraphFusion": {"ALL": "on"}}}"#, Some(ConverterFile::Switches)),
            ("\u{feff}ConvBatchnormFusionPass:off\r\n", Some(ConverterFile::Switches)),
            ("ReluMerge:off;BiasMergeToConv:on", Some(ConverterFile::Switches)),
            (r#"{"session_and_graph_id_0_0": {"graph_fusion": {}}}"#, Some(ConverterFile::Result)),
            ("#!/bin/bash\ncd models\natc --model=m.onnx --framework=5\n", Some(ConverterFile::Command)),
            (r#"{"profiler": {"switch": "on"}}"#, None),
            ("Name: on\nand some prose", None),
            ("", None),
            ("atc", None),
        ];
        for (text, expected) in files {
            assert_eq!(ConverterFile::of(text), expected, "{text}");
        }
    }
}
