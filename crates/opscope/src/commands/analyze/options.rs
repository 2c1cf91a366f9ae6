//! The options of a question: what is chosen, how it is put together and shown.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use opscope_analyze::{
    Aggregate, Column, Filter, GroupBy, Iterations, Query, Scope, Sort, TimeKind, name_pattern,
};
use opscope_say::say;
use opscope_trace::{DataType, ExecutionUnit, Nanoseconds, units};
use regex::Regex;

use crate::likeness::nearest;

/// Conditions for operators and executions.
#[derive(Debug, Args)]
#[command(next_help_heading = "Choice")]
pub struct Choice {
    /// Operators whose name matches, anywhere in it, a regular expression
    #[arg(long, value_name = "REGEX", value_parser = name_pattern)]
    name: Option<Regex>,

    /// Operators of this type, such as Conv; can be given several times
    #[arg(long = "type", value_name = "TYPE")]
    pub types: Vec<String>,

    /// Operators with an input or output of this type of elements, such as float16
    #[arg(long = "dtype", value_name = "DTYPE", value_parser = parse_data_type)]
    data_types: Vec<DataType>,

    /// Executions on this unit, such as ai-core, cpu, gpu or communication
    #[arg(long = "unit", value_name = "UNIT", value_parser = parse_unit)]
    units: Vec<ExecutionUnit>,

    /// Operators that take at least so long in an average iteration: 50us, 1.5ms
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    min_time: Option<Nanoseconds>,

    /// Operators that take at most so long in an average iteration
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    max_time: Option<Nanoseconds>,

    /// Iterations by number, the file's own or from 1: N, A..B with both included, or all, which takes the whole profile
    #[arg(long, value_name = "N|A..B|all", value_parser = parse_iterations)]
    iteration: Option<Iterations>,

    /// Tasks on the device of this number
    #[arg(long, value_name = "N", conflicts_with = "host")]
    device: Option<u32>,

    /// Calls of the host instead of what ran on devices
    #[arg(long)]
    pub host: bool,
}

impl Choice {
    /// Whether tasks are chosen by more than their iterations.
    pub fn has_filter_of_tasks(&self) -> bool {
        let has_list = !(self.types.is_empty() && self.data_types.is_empty() && self.units.is_empty());
        let has_time = self.min_time.is_some() || self.max_time.is_some();
        has_list || has_time || self.name.is_some() || self.device.is_some()
    }
}

/// How it is put together and shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Order")]
pub struct Order {
    /// The key by which executions are put together into rows
    #[arg(long, value_name = "WHAT", value_parser = one_of(GroupBy::ALL[1..].iter().map(|by| by.name()), GroupBy::from_name))]
    group_by: Option<GroupBy>,

    /// The figure made of the times of a row's executions
    #[arg(long, default_value = "sum", value_name = "FIGURE", value_parser = one_of(Aggregate::ALL.map(Aggregate::name), Aggregate::from_name))]
    agg: Aggregate,

    /// Which time counts
    #[arg(long, default_value = "total", value_name = "KIND", value_parser = one_of(TimeKind::ALL.map(TimeKind::name), TimeKind::from_name))]
    time: TimeKind,

    /// Sort by a column, the greatest first; +COLUMN puts the smallest first
    #[arg(long, value_name = "[+]COLUMN", value_parser = parse_sort)]
    sort: Option<Sort>,

    /// Show N rows; 0 shows all [default: 5 in a table, all in JSON and CSV]
    #[arg(short, long, value_name = "N")]
    pub top: Option<usize>,

    /// The columns to show, with commas between; --help lists them
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',', value_parser = parse_column)]
    pub columns: Vec<Column>,
}

impl Order {
    /// Whether the rows are operators and their columns nobody's choice.
    pub fn is_usual(&self) -> bool {
        self.group_by.is_none() && self.columns.is_empty()
    }
}

/// The question, without a roof.
pub fn query(choice: &Choice, order: &Order) -> Query {
    // Calls beside inferences, such as loading a model, are asked about as well.
    let usual = if choice.host { Iterations::All } else { Iterations::Measured };
    Query {
        host: choice.host,
        scope: Scope { iterations: choice.iteration.unwrap_or(usual), device: choice.device, model: None },
        filter: Filter {
            name: choice.name.clone(),
            types: choice.types.clone(),
            data_types: choice.data_types.clone(),
            units: choice.units.clone(),
            min_time: choice.min_time,
            max_time: choice.max_time,
        },
        time: order.time,
        group_by: order.group_by.unwrap_or_default(),
        aggregate: order.agg,
        sort: order.sort,
        roofline: None,
    }
}

/// The parser of an option that takes one of a few words.
fn one_of<T: Clone + Send + Sync + 'static>(
    words: impl IntoIterator<Item = &'static str>,
    read: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    let words = words.into_iter().map(|word| match word {
        "sum" => PossibleValue::new(word).help("In an average iteration"),
        "typical" => {
            PossibleValue::new(word).help("In a typical iteration, by the median: the order of opscope run")
        }
        _ => PossibleValue::new(word),
    });
    PossibleValuesParser::new(words).try_map(move |word| read(&word).ok_or("it is none of the words"))
}

fn parse_data_type(text: &str) -> Result<DataType, String> {
    /// Other spellings: of NumPy's short forms and of ONNX.
    const SHORT: [(&str, DataType); 8] = [
        ("f64", DataType::Float64),
        ("f32", DataType::Float32),
        ("f16", DataType::Float16),
        ("bf16", DataType::BFloat16),
        ("float", DataType::Float32),
        ("half", DataType::Float16),
        ("i64", DataType::Int64),
        ("i8", DataType::Int8),
    ];
    let short = SHORT.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, known)| *known);
    short.or_else(|| DataType::from_name(text)).ok_or_else(|| {
        let names: Vec<&str> = DataType::ALL.iter().map(|known| known.name()).collect();
        say!("there is no such type of elements; there are: {}", names.join(", "))
    })
}

fn parse_unit(text: &str) -> Result<ExecutionUnit, String> {
    // The Ascend tools write AI_CORE.
    let word = text.to_ascii_lowercase().replace('_', "-");
    ExecutionUnit::from_name(&word).ok_or_else(|| {
        let names: Vec<&str> = ExecutionUnit::ALL.iter().map(|known| known.name()).collect();
        say!("there is no such unit; there are: {}", names.join(", "))
    })
}

fn parse_iterations(text: &str) -> Result<Iterations, String> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(Iterations::All);
    }
    let wrong = || say!("'{text}' is neither a number such as 3, nor a range such as 3..5, nor all");
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    let Some((first, last)) = text.split_once("..") else {
        return number(text).map(|number| Iterations::Numbers(number, number));
    };
    let first = if first.is_empty() { 0 } else { number(first)? };
    let last = if last.is_empty() { u32::MAX } else { number(last)? };
    if first > last {
        return Err(say!("{first}..{last} ends before it begins"));
    }
    Ok(Iterations::Numbers(first, last))
}

fn parse_sort(text: &str) -> Result<Sort, String> {
    let (name, ascending) = text.strip_prefix('+').map_or((text, false), |name| (name, true));
    Ok(Sort { column: parse_column(name)?, ascending })
}

fn parse_column(text: &str) -> Result<Column, String> {
    Column::from_name(text.trim()).ok_or_else(|| {
        let names: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
        let hint = nearest(text, names.iter().copied(), 0.8);
        let hint = hint.map_or(String::new(), |name| say!(" (did you mean '{name}'?)"));
        say!("there is no column '{text}'{hint}; there are: {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_a_number_a_range_or_all() {
        assert_eq!(parse_iterations("3"), Ok(Iterations::Numbers(3, 3)));
        assert_eq!(parse_iterations("3..5"), Ok(Iterations::Numbers(3, 5)));
        assert_eq!(parse_iterations("3.."), Ok(Iterations::Numbers(3, u32::MAX)));
        assert_eq!(parse_iterations("ALL"), Ok(Iterations::All));
        assert!(parse_iterations("5..3").is_err() && parse_iterations("x").is_err());
    }

    #[test]
    fn words_of_the_vendors_are_understood() {
        assert_eq!(parse_unit("AI_CORE"), Ok(ExecutionUnit::AiCore));
        assert_eq!(parse_data_type("FLOAT16"), Ok(DataType::Float16));
        assert_eq!(parse_data_type("half"), Ok(DataType::Float16));
        assert!(parse_unit("warp").unwrap_err().contains("ai-core"));
        assert!(parse_column("tme").unwrap_err().contains("did you mean 'time'"));
        assert_eq!(parse_sort("+moved"), Ok(Sort { column: Column::Moved, ascending: true }));
    }
}
