//! The targets: each takes any bytes, and ends without a panic, in little time and memory.

mod models;
mod questions;
mod ranks;
mod readers;
mod settings;

use crate::packing::{
    ADVISED, BOARD, ENGINE, OPENVINO_MODEL, OUTPUTS, PAIR, PROFILE, PROGRAM, RANKS, RESULTS, SET,
    TOOL_FOLDERS, TOOLS,
};
use crate::trail::Trail;

/// How the inputs of a target are made up, so that changes to them are worth a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing is known.
    Bytes,
    /// Text, with numbers, words and lines.
    Text,
    /// An ONNX model.
    Model,
    /// A database of SQLite.
    Database,
    /// A byte by which something is chosen, and text.
    ChoiceAndText,
    /// The files of a list, packed; each is changed as its name says.
    Files(&'static [&'static str]),
}

/// Something that takes inputs.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name, by which it is chosen, and by which its inputs are kept.
    pub name: &'static str,
    /// How its inputs are made up.
    pub content: Content,
    /// Takes an input. It panics where something is wrong with opscope.
    pub run: fn(&[u8], &mut Trail),
}

impl Target {
    /// The kinds of input that it says to have understood, where it takes several: changes of one that is refused
    /// reach nothing.
    pub fn kinds(&self) -> &'static [&'static str] {
        match self.name {
            "advise" => ADVISED,
            "engines" => readers::ENGINES,
            "rocm" => readers::ROCM,
            "tool_folder" => TOOL_FOLDERS,
            _ => &[],
        }
    }
}

/// All targets but the whole program, which is one of the program that runs them.
pub const TARGETS: &[Target] = &[
    // Readers, and all questions to what they read.
    Target { name: "cann", content: Content::Files(PROFILE), run: readers::cann },
    Target { name: "any_file", content: Content::Text, run: readers::any_file },
    Target { name: "chrome", content: Content::Text, run: readers::chrome },
    Target { name: "perfetto", content: Content::Bytes, run: readers::perfetto },
    Target { name: "xplane", content: Content::Bytes, run: readers::xplane },
    Target { name: "rocm", content: Content::Text, run: readers::rocm },
    Target { name: "perf", content: Content::Text, run: readers::perf },
    Target { name: "nsight_compute", content: Content::Text, run: readers::nsight_compute },
    Target { name: "nsight_lines", content: Content::Text, run: readers::nsight_lines },
    Target { name: "nsight_systems", content: Content::Database, run: readers::nsight_systems },
    Target { name: "megengine", content: Content::Text, run: readers::megengine },
    Target { name: "megengine_analyze", content: Content::ChoiceAndText, run: readers::megengine_analyze },
    Target { name: "onnxruntime", content: Content::Text, run: readers::onnxruntime },
    Target { name: "json", content: Content::Text, run: readers::json },
    Target { name: "sqlite", content: Content::Database, run: readers::sqlite },
    Target { name: "ascend_database", content: Content::Database, run: readers::ascend_database },
    Target { name: "ascend_text", content: Content::Text, run: readers::ascend_text },
    Target { name: "ascend_folder", content: Content::Files(OUTPUTS), run: readers::ascend_folder },
    Target { name: "svp", content: Content::ChoiceAndText, run: readers::svp },
    Target { name: "board_folder", content: Content::Files(BOARD), run: readers::board_folder },
    Target { name: "engines", content: Content::ChoiceAndText, run: readers::engines },
    Target { name: "tool_folder", content: Content::Files(TOOLS), run: readers::tool_folder },
    Target { name: "engine_folder", content: Content::Files(ENGINE), run: readers::engine_folder },
    Target { name: "npy", content: Content::Bytes, run: readers::npy },
    // Many ranks, and all questions about them.
    Target { name: "ranks", content: Content::Files(RANKS), run: ranks::ranks },
    Target { name: "rank_database", content: Content::Database, run: ranks::rank_database },
    Target { name: "rank_timeline", content: Content::Text, run: ranks::rank_timeline },
    Target { name: "rank_results", content: Content::Database, run: ranks::rank_results },
    Target { name: "rank_result_texts", content: Content::Files(RESULTS), run: ranks::rank_result_texts },
    Target { name: "rank_set", content: Content::Files(SET), run: ranks::rank_set },
    // Answers about profiles and models.
    Target { name: "compare", content: Content::Files(PAIR), run: questions::compare },
    Target { name: "advise", content: Content::Files(ADVISED), run: questions::advise },
    Target { name: "onnx_model", content: Content::Model, run: models::read },
    Target { name: "rewrite", content: Content::Model, run: models::rewrite },
    Target { name: "om", content: Content::Bytes, run: models::other },
    Target { name: "ge_dump", content: Content::Text, run: models::other },
    Target { name: "caffe", content: Content::Text, run: models::other },
    Target { name: "caffemodel", content: Content::Bytes, run: models::other },
    Target { name: "tflite_model", content: Content::Bytes, run: models::other },
    Target { name: "megengine_model", content: Content::Bytes, run: models::other },
    Target { name: "openvino_model", content: Content::Files(OPENVINO_MODEL), run: models::openvino },
    Target { name: "tensorflow", content: Content::Bytes, run: models::other },
    // Words and settings of users and their machines.
    Target { name: "lane_choice", content: Content::Text, run: settings::lane_choice },
    Target { name: "rules", content: Content::Text, run: settings::rules },
    Target { name: "known_hosts", content: Content::Text, run: settings::known_hosts },
    Target { name: "words", content: Content::Text, run: settings::words },
];

/// How the inputs of the whole program are made up.
pub const PROGRAM_CONTENT: Content = Content::Files(PROGRAM);
/// The names of its files.
pub const PROGRAM_FILES: &[&str] = PROGRAM;

/// Gives a target an input, for libFuzzer.
///
/// # Panics
/// If there is no target of that name, or something is wrong with opscope.
pub fn run(name: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    (target.run)(input, &mut Trail::default());
}
