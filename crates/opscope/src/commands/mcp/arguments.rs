//! The arguments of each tool, with their descriptions: agents see these as JSON schemas. Those of questions to
//! operators have the names and values of the options of `opscope analyze`.

use opscope_advise::Target;
use opscope_analyze::{Aggregate, Column, GroupBy, TimeKind};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::fit::Page;

/// The rows of an answer, unless a number is given.
const ROWS: usize = 20;

/// The rows of an answer at most.
pub const MOST_ROWS: usize = 1_000;

fn rows() -> usize {
    ROWS
}

fn five() -> usize {
    5
}

fn target_names() -> Vec<&'static str> {
    Target::NAMES.iter().map(|(name, _)| *name).collect()
}

fn column_names() -> Vec<&'static str> {
    Column::ALL.iter().map(|column| column.name()).collect()
}

/// The schema of one of some words.
fn one_of(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

/// Arguments of the tool `open`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenArguments {
    /// The profile: a file of any format, a raw directory (PROF_*, JOB*), or a folder of outputs; from the root or
    /// from one of the served folders
    pub path: String,
}

/// Arguments of the tool `info`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InfoArguments {
    /// A profile, a model or a folder; without it, what lies in the served folders is listed
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub path: Option<String>,
}

/// Arguments of the tool `analyze`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalyzeArguments {
    /// The profile
    pub path: String,
    /// The property by which executions are put together; operator without it
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String", extend("enum" = GroupBy::ALL.map(GroupBy::name)))]
    pub group_by: Option<String>,
    /// The figure made of the times of a row; sum in an average iteration without it
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String", extend("enum" = Aggregate::ALL.map(Aggregate::name)))]
    pub agg: Option<String>,
    /// Which time counts: total (own time), kernel (without waiting), or wait
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String", extend("enum" = TimeKind::ALL.map(TimeKind::name)))]
    pub time: Option<String>,
    /// Only operators whose name matches this regular expression
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub name: Option<String>,
    /// Only operators of these types, such as Conv
    #[serde(default, rename = "type")]
    pub types: Vec<String>,
    /// Only operators with an input or output of these types of elements, such as float16
    #[serde(default, rename = "dtype")]
    pub data_types: Vec<String>,
    /// Only executions on these units, such as ai-core, ai-cpu, communication
    #[serde(default, rename = "unit")]
    pub units: Vec<String>,
    /// Only operators that take at least so long in an average iteration, such as 50us
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub min_time: Option<String>,
    /// Only operators that take at most so long
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub max_time: Option<String>,
    /// Iterations by number, the file's own or from 1: 3, 3..5, or all for the whole profile; the measured ones without it
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub iteration: Option<String>,
    /// Only tasks on the device of this number
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "u32")]
    pub device: Option<u32>,
    /// Calls of the host instead of what ran on devices
    #[serde(default)]
    pub host: bool,
    /// A column to sort by, the greatest first; +column puts the smallest first
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub sort: Option<String>,
    /// The columns; those that fit the question without it. opscope://columns explains them
    #[serde(default)]
    #[schemars(extend("items" = one_of(&column_names())))]
    pub columns: Vec<String>,
    /// More of the answer: overview (wall, busy and idle time, devices), ranges (that the program marked), stated
    /// (figures that the vendor's tools sum up), latency
    #[serde(default)]
    #[schemars(extend("items" = one_of(&["overview", "ranges", "stated", "latency"])))]
    pub with: Vec<String>,
    /// Rows to leave out first
    #[serde(default)]
    pub offset: usize,
    /// Rows to have at most
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    pub limit: usize,
}

impl AnalyzeArguments {
    /// The same as options of `opscope analyze`.
    pub fn options(&self) -> Vec<(String, String)> {
        let device = self.device.map(|number| number.to_string());
        // The command line has no word for what it does anyway.
        let group_by = self.group_by.clone().filter(|by| by != GroupBy::Operator.name());
        let single = [
            ("group-by", &group_by),
            ("agg", &self.agg),
            ("time", &self.time),
            ("name", &self.name),
            ("min-time", &self.min_time),
            ("max-time", &self.max_time),
            ("iteration", &self.iteration),
            ("device", &device),
            ("sort", &self.sort),
        ];
        let single = single.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        let several = [("type", &self.types), ("dtype", &self.data_types), ("unit", &self.units)];
        let several = several.iter().flat_map(|(name, all)| all.iter().map(|value| (*name, &**value)));
        let columns = self.columns.join(",");
        let columns = (!columns.is_empty()).then_some(("columns", &*columns));
        let host = self.host.then_some(("host", ""));
        let all = single.chain(several).chain(columns).chain(host);
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// The rows that are wanted.
    pub fn page(&self) -> Page {
        Page { offset: self.offset, limit: self.limit }
    }
}

/// Arguments of the tool `operators`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorsArguments {
    /// The profile
    pub path: String,
    /// Only operators whose name matches this regular expression
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub name: Option<String>,
    /// Only operators of these types, such as Conv
    #[serde(default, rename = "type")]
    pub types: Vec<String>,
    /// Only executions on these units, such as ai-core, ai-cpu
    #[serde(default, rename = "unit")]
    pub units: Vec<String>,
    /// A column to sort by, the greatest first; +column puts the smallest first
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub sort: Option<String>,
    /// Rows to leave out first
    #[serde(default)]
    pub offset: usize,
    /// Rows to have at most
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    pub limit: usize,
}

impl OperatorsArguments {
    /// The same as options of `opscope analyze`, with every column.
    pub fn options(&self) -> Vec<(String, String)> {
        let single = [("name", &self.name), ("sort", &self.sort)];
        let single = single.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        let several = [("type", &self.types), ("unit", &self.units)];
        let several = several.iter().flat_map(|(name, all)| all.iter().map(|value| (*name, &**value)));
        let columns = column_names().join(",");
        let all = single.chain(several).chain([("columns", &*columns)]);
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

/// Arguments of the tool `advise`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdviseArguments {
    /// A profile, or an ONNX model alone
    pub path: String,
    /// The ONNX model that was profiled, for the rules about graphs
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub model: Option<String>,
    /// The hardware; that of the profile without it
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String", extend("enum" = target_names()))]
    pub target: Option<String>,
    /// Rules to be silent, by id; A* is a family
    #[serde(default)]
    pub silence: Vec<String>,
    /// More of the answer: not_run (rules that could not be asked, and what they lack), done_already, limits
    #[serde(default)]
    #[schemars(extend("items" = one_of(&["not_run", "done_already", "limits"])))]
    pub with: Vec<String>,
    /// Findings to leave out first
    #[serde(default)]
    pub offset: usize,
    /// Findings to have at most
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    pub limit: usize,
}

/// Arguments of the tool `explain`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainArguments {
    /// A rule's id (A29), an error message or a part of it, or a topic (ub-fusion); empty lists the topics
    pub text: String,
    /// The language of the page
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String", extend("enum" = ["en", "zh"]))]
    pub lang: Option<String>,
}

/// Arguments of the tool `compare`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareArguments {
    /// The profile before
    pub before: String,
    /// The profile after
    pub after: String,
    /// The model that the first is of, in any format: its nodes bring operators together whose names a converter changed
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub before_model: Option<String>,
    /// The model that the second is of
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub after_model: Option<String>,
    /// More of the answer: waterfall (the steps from one time to the other), spans (of calls and ranges), inferences
    /// (all their times), suspects
    #[serde(default)]
    #[schemars(extend("items" = one_of(&["waterfall", "spans", "inferences", "suspects"])))]
    pub with: Vec<String>,
    /// Groups of operators to leave out first
    #[serde(default)]
    pub offset: usize,
    /// Groups of operators to have at most, those that changed most first
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    pub limit: usize,
}

/// Arguments of the tool `sql`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlArguments {
    /// The profile
    pub path: String,
    /// One statement that reads: SELECT or WITH, in SQLite's dialect. opscope://tables explains tables and columns
    pub statement: String,
    /// Rows to leave out first
    #[serde(default)]
    pub offset: usize,
    /// Rows to have at most
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    pub limit: usize,
    /// Seconds that the statement may take
    #[serde(default = "ten_seconds")]
    #[schemars(range(min = 1, max = 60))]
    pub timeout_seconds: u64,
}

fn ten_seconds() -> u64 {
    10
}

/// Arguments of the tool `timeline_window`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowArguments {
    /// The profile
    pub path: String,
    /// Its begin in nanoseconds of the trace; the profile's begin without it
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "i64")]
    pub from_ns: Option<i64>,
    /// Its end; the profile's end without it
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "i64")]
    pub to_ns: Option<i64>,
    /// The window of this iteration in place of times, by its number in the file, or from 1 where that tells none
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "u32")]
    pub iteration: Option<u32>,
    /// Only lanes whose name has this in it, such as stream 3
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "String")]
    pub lane: Option<String>,
    /// Only slices at least so long, in nanoseconds
    #[serde(default)]
    pub min_duration_ns: i64,
    /// Slices to leave out first
    #[serde(default)]
    pub offset: usize,
    /// Slices to have at most, in the order of time
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    pub limit: usize,
}

/// Arguments of the tool `model`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelArguments {
    /// The ONNX model
    pub path: String,
    /// The sizes of symbolic dimensions, each as NAME=N
    #[serde(default)]
    pub dim: Vec<String>,
    /// The shapes of inputs, each as NAME=1x3x224x224
    #[serde(default)]
    pub input: Vec<String>,
    /// Nodes to leave out first
    #[serde(default)]
    pub offset: usize,
    /// Nodes to have at most, in the order in which they run
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    pub limit: usize,
}

/// A value where one is given: a schema that names the type alone says so without a further `null`.
fn some<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}
