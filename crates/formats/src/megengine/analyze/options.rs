//! The command line of `profile_analyze`, with the conventions of Python's `argparse`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::numbers::{parse_float, parse_int};
use super::pattern::Pattern;

/// The wishes of the command line.
#[derive(Clone, Debug)]
pub enum Request {
    /// The help text.
    Help,
    /// An analysis.
    Analysis(Options),
}

/// The options of an analysis.
#[derive(Clone, Debug)]
pub struct Options {
    /// The profile.
    pub file: PathBuf,
    /// How many rows: all for 0, all but the last so many for a negative number.
    pub top: i64,
    /// Only operators of these types, if any is given.
    pub types: Vec<String>,
    /// Only operators whose name begins like this.
    pub name: Option<Pattern>,
    /// Only operators with an input of this element type.
    pub input_dtype: Option<String>,
    /// Whether rows of the same type become one; otherwise all rows do.
    pub by_type: bool,
    /// How several rows become one, if they do.
    pub aggregate: Option<Reduction>,
    /// The column that orders the rows.
    pub order_by: String,
    /// Whether small values come first.
    pub ascending: bool,
    /// Which time counts.
    pub top_end_key: EndKey,
    /// Only operators that took at least so many seconds.
    pub min_time: f64,
    /// Only operators that took at most so many seconds.
    pub max_time: f64,
    /// Whether to sum up the copies between devices.
    pub copy_time: bool,
    /// Whether to show the host's table as well.
    pub show_host: bool,
    /// The only part to print, if not all.
    pub print_only: Option<Part>,
    /// Whether tables have pipes, for wikis.
    pub piped: bool,
    /// Whether to list names instead of tables.
    pub dump_only_opr: bool,
}

/// How the values of several operators become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// All together.
    Sum,
    /// All together, by how many they are.
    Mean,
}

/// The time of an operator, counted from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndKey {
    /// Until it was done.
    End,
    /// Until its first kernel began.
    Kernel,
}

/// A part of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Totals.
    Summary,
    /// The table of the devices.
    Device,
    /// The table of the host.
    Host,
}

/// All long options, and whether a value follows.
const OPTIONS: [(&str, bool); 17] = [
    ("--help", false),
    ("--top", true),
    ("--type", true),
    ("--aggregate-by", true),
    ("--opr-name", true),
    ("--input-dtype", true),
    ("--top-end-key", true),
    ("--aggregate", true),
    ("--order-by", true),
    ("--copy-time", false),
    ("--min-time", true),
    ("--max-time", true),
    ("--show-host", false),
    ("--dump-only-opr", false),
    ("--confluence", false),
    ("--wiki", false),
    ("--print-only", true),
];

/// Reads the command line, without the program's name.
///
/// # Errors
/// With a sentence that says what is wrong.
pub fn parse(arguments: &[OsString]) -> Result<Request, String> {
    let mut reader = Reader { arguments, at: 0 };
    let mut options = Options {
        file: PathBuf::new(),
        top: 3,
        types: Vec::new(),
        name: None,
        input_dtype: None,
        by_type: false,
        aggregate: None,
        order_by: "time".to_owned(),
        ascending: false,
        top_end_key: EndKey::End,
        min_time: f64::NEG_INFINITY,
        max_time: f64::INFINITY,
        copy_time: false,
        show_host: false,
        print_only: None,
        piped: false,
        dump_only_opr: false,
    };
    let mut files: Vec<&OsStr> = Vec::new();
    while let Some(argument) = reader.next() {
        if argument == "--" {
            files.extend(reader.rest());
        } else if let Some(text) = argument.to_str().filter(|text| looks_like_option(text)) {
            let (name, value) = find_option(text)?;
            if name == "--help" {
                return Ok(Request::Help);
            }
            set(&mut options, name, || reader.value(name, value))?;
            if let (Some(value), Some((_, false))) = (value, OPTIONS.iter().find(|(known, _)| *known == name))
            {
                return Err(format!("{name} takes no value, but is given '{value}'"));
            }
        } else {
            files.push(argument);
        }
    }
    match files[..] {
        [file] => options.file = file.into(),
        [] => return Err("which profile? Name the JSON file".to_owned()),
        [_, extra, ..] => return Err(format!("one profile at a time: '{}' is too much", extra.display())),
    }
    if options.by_type && options.aggregate.is_none() {
        return Err("--aggregate-by needs --aggregate max, min, sum or mean".to_owned());
    }
    Ok(Request::Analysis(options))
}

fn set(
    options: &mut Options,
    name: &str,
    value: impl FnOnce() -> Result<String, String>,
) -> Result<(), String> {
    match name {
        "--top" => {
            let value = value()?;
            options.top = parse_int(&value).ok_or(format!("{name} takes a whole number, not '{value}'"))?;
        }
        "--type" => options.types.push(value()?),
        "--aggregate-by" => options.by_type = choice(name, &value()?, &[("type", true)])?,
        "--opr-name" => {
            let value = value()?;
            let pattern = Pattern::new(&value).map_err(|error| format!("{name} '{value}': {error}"))?;
            options.name = Some(pattern);
        }
        "--input-dtype" => options.input_dtype = Some(value()?),
        "--top-end-key" => {
            let keys = [("end", EndKey::End), ("kern", EndKey::Kernel)];
            options.top_end_key = choice(name, &value()?, &keys)?;
        }
        "--aggregate" => {
            let reductions = [
                ("max", Reduction::Max),
                ("min", Reduction::Min),
                ("sum", Reduction::Sum),
                ("mean", Reduction::Mean),
            ];
            options.aggregate = Some(choice(name, &value()?, &reductions)?);
        }
        "--order-by" => {
            let value = value()?;
            let column = value.strip_prefix('+');
            options.ascending = column.is_some();
            options.order_by = column.unwrap_or(&value).to_owned();
        }
        "--min-time" => options.min_time = seconds(name, &value()?)?,
        "--max-time" => options.max_time = seconds(name, &value()?)?,
        "--print-only" => {
            let parts = [("summary", Part::Summary), ("device", Part::Device), ("host", Part::Host)];
            options.print_only = Some(choice(name, &value()?, &parts)?);
        }
        "--copy-time" => options.copy_time = true,
        "--show-host" => options.show_host = true,
        "--dump-only-opr" => options.dump_only_opr = true,
        "--confluence" | "--wiki" => options.piped = true,
        _ => return Err(format!("there is no option {name}")),
    }
    Ok(())
}

fn choice<T: Copy>(name: &str, value: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let found = choices.iter().find(|(word, _)| *word == value);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        format!("{name} takes {}, not '{value}'", words.join(", "))
    })
}

fn seconds(name: &str, value: &str) -> Result<f64, String> {
    parse_float(value).ok_or_else(|| format!("{name} takes a number of seconds, not '{value}'"))
}

/// Whether an argument is an option and not a value: `-` alone, negative numbers and texts with
/// blanks are values.
fn looks_like_option(argument: &str) -> bool {
    if !argument.starts_with('-') || argument.len() == 1 || parse_float(argument).is_some() {
        return false;
    }
    !argument.contains(' ') || find_option(argument).is_ok()
}

/// The full name of an option, and the value that its argument holds as well: `--top=3`, `-t3`.
fn find_option(argument: &str) -> Result<(&'static str, Option<&str>), String> {
    if !argument.starts_with("--") {
        let short = [("-t", "--top"), ("-h", "--help")];
        let found = short.iter().find_map(|(short, long)| Some((*long, argument.strip_prefix(short)?)));
        let (name, value) = found.ok_or_else(|| format!("there is no option {argument}"))?;
        let value = value.strip_prefix('=').or(Some(value).filter(|value| !value.is_empty()));
        return Ok((name, value));
    }
    let (prefix, value) = match argument.split_once('=') {
        Some((prefix, value)) => (prefix, Some(value)),
        None => (argument, None),
    };
    let begins: Vec<&str> =
        OPTIONS.iter().map(|(name, _)| *name).filter(|name| name.starts_with(prefix)).collect();
    match begins[..] {
        [] => Err(format!("there is no option {prefix}")),
        [name] => Ok((name, value)),
        _ => match begins.iter().find(|name| **name == prefix) {
            Some(name) => Ok((name, value)),
            None => Err(format!("{prefix} could be {}", begins.join(" or "))),
        },
    }
}

struct Reader<'a> {
    arguments: &'a [OsString],
    at: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a OsStr> {
        let argument = self.arguments.get(self.at)?;
        self.at += 1;
        Some(argument)
    }

    fn rest(&mut self) -> impl Iterator<Item = &'a OsStr> + use<'a> {
        let rest = self.arguments.get(self.at..).unwrap_or_default();
        self.at = self.arguments.len();
        rest.iter().map(OsString::as_os_str)
    }

    /// The value of an option: what its own argument holds, or the next argument.
    fn value(&mut self, name: &str, own: Option<&str>) -> Result<String, String> {
        if let Some(own) = own {
            return Ok(own.to_owned());
        }
        let next = self.arguments.get(self.at).and_then(|next| next.to_str());
        let value = next.filter(|next| *next != "--" && !looks_like_option(next));
        self.at += 1;
        value.map(str::to_owned).ok_or_else(|| format!("{name} needs a value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options, String> {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match parse(&arguments)? {
            Request::Analysis(options) => Ok(options),
            Request::Help => Err("help".to_owned()),
        }
    }

    #[test]
    fn options_may_be_shortened_while_they_are_clear() {
        let options = options("p.json --show --agg sum --aggregate-b=type --min 1e-3 --wi").unwrap_err();
        assert_eq!(options, "--agg could be --aggregate-by or --aggregate");
        let options =
            self::options("p.json --show --aggregate sum --aggregate-b=type --min 1e-3 --wi").unwrap();
        assert!(options.show_host && options.by_type && options.piped);
        assert_eq!((options.aggregate, options.min_time), (Some(Reduction::Sum), 1e-3));
    }

    #[test]
    fn values_may_be_attached_or_negative() {
        for (line, top) in [("-t3", 3), ("-t=4", 4), ("-t -2", -2), ("--top=-5", -5), ("--t 7", 7)] {
            let parsed = options(&format!("{line} p.json"));
            if line == "--t 7" {
                assert_eq!(parsed.unwrap_err(), "--t could be --top or --type or --top-end-key");
            } else {
                assert_eq!(parsed.unwrap().top, top, "{line}");
            }
        }
        assert_eq!(options("p --min-time -1e-3").unwrap().min_time, -1e-3);
        assert_eq!(
            options("--order-by +memory p").map(|o| (o.order_by, o.ascending)),
            Ok(("memory".to_owned(), true))
        );
        assert_eq!(options("-- -t").unwrap().file, PathBuf::from("-t"));
        assert_eq!(options("-t 1 p --type A --type B").unwrap().types, ["A", "B"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, expected) in [
            ("-t 3", "which profile?"),
            ("a b", "'b' is too much"),
            ("a --nosuch", "no option --nosuch"),
            ("a -x", "no option -x"),
            ("a -t x", "--top takes a whole number, not 'x'"),
            ("a -top 3", "--top takes a whole number, not 'op'"),
            ("a --min-time x", "--min-time takes a number of seconds, not 'x'"),
            ("a --aggregate median", "--aggregate takes max, min, sum, mean, not 'median'"),
            ("a --print-only all", "--print-only takes summary, device, host, not 'all'"),
            ("a --show-host=1", "--show-host takes no value"),
            ("a --type", "--type needs a value"),
            ("a --type --top 3", "--type needs a value"),
            ("a --aggregate-by type", "--aggregate-by needs --aggregate"),
            ("a --opr-name (", "unclosed group"),
            ("a --opr-name (?=x)", "not supported"),
        ] {
            let error = options(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
            assert!(!error.contains('\n'), "{line}: {error}");
        }
    }

    #[test]
    fn help_comes_before_what_is_missing() {
        assert_eq!(options("-h").unwrap_err(), "help");
        assert_eq!(options("--he").unwrap_err(), "help");
    }
}
