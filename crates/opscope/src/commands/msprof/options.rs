//! The spellings of the vendor's `msprof` and `msprof.py`.
//!
//! | form | meaning |
//! |---|---|
//! | `import -dir D` | `msprof.py`: a word for the action, options after it |
//! | `export timeline -dir D --clear` | flags without a value |
//! | `--export=on --output=D --clear=on` | `msprof`: the action is an option; flags are on or off |
//!
//! Every option is understood as `--k=v` and as `--k v`, with one dash or two.

use std::path::PathBuf;

use super::questions::{About, Question, check};
use crate::commands::export::{Format, Layout, Options, What};

/// The request of a command line.
#[derive(Debug, Default)]
pub struct Request {
    /// Whether it asks for help.
    pub help: bool,
    /// The actions, in this order.
    pub actions: Vec<Action>,
    /// The directory with the raw data.
    pub directory: PathBuf,
    /// How to export.
    pub options: Options,
    /// Options that are understood and change nothing here.
    pub without_effect: Vec<String>,
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read the raw data.
    Import,
    /// Write files.
    Export(What),
    /// Write the timeline and the tables.
    ExportText,
    /// Show what there is.
    Query,
    /// Show it in tables.
    Show,
    /// Say whether the directory holds the profiles of a cluster.
    QueryCluster,
    /// Answer a question about devices.
    Answer(Question),
}

/// The words of a command line before their meaning is clear.
#[derive(Default)]
struct Parsed {
    request: Request,
    directory: Option<PathBuf>,
    actions: [bool; 3],
    kind: Option<String>,
    data_type: Option<u64>,
    device: Option<i64>,
}

const ANALYZE: &str = "the analysis of clusters is not part of opscope; it reads one machine's profiles";
const UNREAD: &str = "opscope doesn't read what this is told from (the queues of prepared data, and the \
                      samples of all processes); 0, 1 and 2 are answered";
const COLLECT: &str = "this collects on the processor itself, which the msprof of CANN does there; give its \
                       PROF_* directory to opscope (--application and --host-sys stand at the front)";

/// Reads a command line.
///
/// # Errors
/// With a sentence that says what is wrong with it.
pub fn parse(arguments: &[String]) -> Result<Request, String> {
    let Some(first) = arguments.first() else { return Ok(Request { help: true, ..Request::default() }) };
    match first.as_str() {
        "import" => with_word(&arguments[1..], |_| Ok(vec![Action::Import])),
        "query" => with_word(&arguments[1..], action_of_query),
        "show" => with_word(&arguments[1..], |_| Ok(vec![Action::Show])),
        "export" => {
            let what = match arguments.get(1).map(String::as_str) {
                Some("timeline") => What::Timeline,
                Some("summary") => What::Summary,
                Some("db") => What::Db,
                Some("-h" | "--help") => return Ok(Request { help: true, ..Request::default() }),
                other => {
                    let found = other.map_or("nothing".to_owned(), |word| format!("'{word}'"));
                    return Err(format!("export: expected timeline, summary or db, found {found}"));
                }
            };
            with_word(&arguments[2..], |_| Ok(vec![Action::Export(what)]))
        }
        "analyze" => Err(ANALYZE.to_owned()),
        "monitor" => Err("opscope does not watch directories; import them when they are complete".to_owned()),
        word if word.starts_with('-') => with_word(arguments, actions_of_options),
        word => Err(format!("'{word}' is no command; there are collect, import, export, query and show")),
    }
}

/// Reads the options, and finds out what to do.
fn with_word(
    arguments: &[String],
    actions: impl FnOnce(&Parsed) -> Result<Vec<Action>, String>,
) -> Result<Request, String> {
    let mut parsed = Parsed::default();
    let mut rest = arguments.iter().map(String::as_str).peekable();
    while let Some(argument) = rest.next() {
        if matches!(argument, "-h" | "--help" | "--help=on") {
            return Ok(Request { help: true, ..Request::default() });
        }
        let Some(option) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')) else {
            return Err(format!("'{argument}' belongs to no option"));
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            // The next word is the value, unless it is an option; -1 means all devices.
            None => (option, rest.next_if(|next| !next.starts_with('-') || *next == "-1")),
        };
        parsed.take(name, value)?;
    }
    let actions = actions(&parsed)?;
    let directory = parsed.directory.ok_or("the directory is missing: give -dir DIR (or --output=DIR)")?;
    Ok(Request { actions, directory, ..parsed.request })
}

/// The request of a query.
fn action_of_query(parsed: &Parsed) -> Result<Vec<Action>, String> {
    match parsed.data_type {
        None => Ok(vec![Action::Query]),
        Some(0) => Ok(vec![Action::QueryCluster]),
        Some(1) => question(parsed, About::Steps),
        Some(2) => question(parsed, About::Operations),
        Some(number @ (3 | 8)) => Err(format!("--data-type {number}: {UNREAD}")),
        Some(number @ 4..=10) => Err(format!("--data-type {number}: {ANALYZE}")),
        Some(other) => Err(format!("--data-type: expected a number from 0 to 10, found '{other}'")),
    }
}

/// The question that the given numbers make.
fn question(parsed: &Parsed, about: About) -> Result<Vec<Action>, String> {
    let device = match parsed.device {
        Some(-1) => None,
        Some(number) => Some(u32::try_from(number).map_err(|_| format!("--id: no device is {number}"))?),
        None => return Err("--id is missing: the number of a device, or -1 for all".to_owned()),
    };
    let model = parsed.request.options.model_id.ok_or("--model-id is missing: whose iterations?")?;
    let question = Question { about, device, model, iteration: parsed.request.options.iteration_id };
    check(question)?;
    Ok(vec![Action::Answer(question)])
}

/// The actions of `--parse=on`, `--query=on` and `--export=on`.
fn actions_of_options(parsed: &Parsed) -> Result<Vec<Action>, String> {
    let [parse, query, export] = parsed.actions;
    let mut actions = Vec::new();
    if parse {
        actions.push(Action::Import);
    }
    if query {
        actions.push(Action::Query);
    }
    if export {
        actions.push(match parsed.kind.as_deref() {
            None | Some("text") => Action::ExportText,
            Some("db") => Action::Export(What::Db),
            Some(other) => return Err(format!("--type: expected text or db, found '{other}'")),
        });
    }
    if actions.is_empty() {
        return Err("nothing to do: give --parse=on, --query=on or --export=on".to_owned());
    }
    Ok(actions)
}

impl Parsed {
    fn take(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        let given = || match value {
            Some(value) if !value.is_empty() => Ok(value),
            _ => Err(format!("--{name}: a value is missing")),
        };
        let switch = || match value {
            None | Some("on") => Ok(true),
            Some("off") => Ok(false),
            Some(other) => Err(format!("--{name}: expected on or off, found '{other}'")),
        };
        let number = || {
            let value = given()?;
            let wrong = || format!("--{name}: expected a number from 0 on, found '{value}'");
            value.parse::<u64>().map_err(|_| wrong())
        };
        let counted = || match number()? {
            0 => Err(format!("--{name}: iterations are counted from 1")),
            number => Ok(number),
        };
        let options = &mut self.request.options;
        match name {
            "dir" | "collection-dir" | "output" => self.directory = Some(given()?.into()),
            "parse" => self.actions[0] = switch()?,
            "query" => self.actions[1] = switch()?,
            "export" => self.actions[2] = switch()?,
            "type" => self.kind = Some(given()?.to_owned()),
            "format" | "summary-format" => {
                options.format = match given()? {
                    "csv" => Format::Csv,
                    "json" => Format::Json,
                    other => return Err(format!("--{name}: expected csv or json, found '{other}'")),
                }
            }
            "layout" => {
                options.layout = match given()? {
                    "classic" => Some(Layout::Classic),
                    "modern" => Some(Layout::Modern),
                    other => return Err(format!("--layout: expected classic or modern, found '{other}'")),
                }
            }
            "model-id" => options.model_id = Some(number()?),
            "iteration-id" => options.iteration_id = Some(counted()?),
            "iteration-count" => options.iteration_count = Some(counted()?),
            "reports" => options.reports = Some(given()?.into()),
            "clear" => options.clear = switch()?,
            "cluster" | "python-path" => self.request.without_effect.push(format!("--{name}")),
            "data-type" => self.data_type = Some(number()?),
            "id" => {
                let value = given()?;
                let wrong = || format!("--id: expected the number of a device or -1, found '{value}'");
                self.device = Some(value.parse().map_err(|_| wrong())?);
            }
            "analyze" | "rule" => return Err(ANALYZE.to_owned()),
            "application" | "sys-hardware-mem" | "host-sys" | "dynamic" => return Err(COLLECT.to_owned()),
            _ => return Err(format!("--{name} is not known; {KNOWN}")),
        }
        Ok(())
    }
}

const KNOWN: &str = "there are -dir, --model-id, --iteration-id, --iteration-count, --format, --reports, \
                     --layout, --clear, and --parse, --export, --query, --output, --type, --summary-format; and to \
                     collect, --application";

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> Result<Request, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments)
    }

    #[test]
    fn words_and_options_lead_to_the_same_request() {
        for line in [
            "export summary -dir runs --model-id 1 --iteration-id=2 --format json --clear",
            "export summary --collection-dir=runs --model-id=1 --iteration-id 2 --format=json --clear=on",
        ] {
            let request = request(line).expect(line);
            assert_eq!(request.actions, [Action::Export(What::Summary)], "{line}");
            assert_eq!(request.directory.to_str(), Some("runs"), "{line}");
            let options = request.options;
            assert_eq!((options.model_id, options.iteration_id), (Some(1), Some(2)), "{line}");
            assert_eq!((options.format, options.clear), (Format::Json, true), "{line}");
        }
        let all = request("--parse on --query=on --export=on --output=runs --type=text --clear off");
        let all = all.expect("a request");
        assert_eq!(all.actions, [Action::Import, Action::Query, Action::ExportText]);
        assert!(!all.options.clear);
        let query = parse(&["query", "-dir", "x", "--data-type", "0"].map(str::to_owned));
        assert_eq!(query.expect("a request").actions, [Action::QueryCluster]);
        let asked = |line: &str| request(line).expect(line).actions;
        let steps = Question { about: About::Steps, device: None, model: 1, iteration: Some(2) };
        assert_eq!(
            asked("query -dir x --data-type 1 --id -1 --model-id 1 --iteration-id 2"),
            [Action::Answer(steps)]
        );
        let one = Question { device: Some(3), iteration: None, ..steps };
        assert_eq!(asked("query -dir x --data-type=1 --id=3 --model-id=1"), [Action::Answer(one)]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, says) in [
            ("import", "-dir"),
            ("export -dir x", "timeline, summary or db"),
            ("export summary -dir x --format xml", "csv or json"),
            ("export summary -dir x --model-id one", "'one'"),
            ("export timeline -dir x --iteration-id 0", "from 1"),
            ("export timeline -dir --clear", "a value is missing"),
            ("--output=x", "--parse=on"),
            ("--export=maybe --output=x", "on or off"),
            ("--export=on --output=x --type=tape", "text or db"),
            ("--application=main --output=x", "CANN"),
            ("query -dir x --data-type 11", "from 0 to 10"),
            ("query -dir x --data-type 5", "clusters"),
            ("query -dir x --data-type 8", "0, 1 and 2"),
            ("query -dir x --data-type 1", "--id is missing"),
            ("query -dir x --data-type 1 --id 0", "--model-id is missing"),
            ("query -dir x --data-type 1 --id -1 --model-id 1", "--iteration-id"),
            ("query -dir x --data-type 1 --id 0 --model-id 1 --iteration-id 1", "--id -1"),
            ("query -dir x --data-type 2 --id 0 --model-id 1", "--iteration-id"),
            ("query -dir x --data-type 2 --id -2 --model-id 1", "a value is missing"),
            ("import -dir x y", "'y'"),
            ("export summary -dir x --layout old", "classic or modern"),
            ("import -dir x --speed", "--speed is not known"),
            ("--aplication=main", "--application"),
            ("imprt -dir x", "import, export, query and show"),
        ] {
            let problem = request(line).expect_err(line);
            assert!(problem.contains(says), "{line}: {problem}");
        }
        assert!(request("").is_ok_and(|it| it.help) && request("export summary -h").is_ok_and(|it| it.help));
    }
}
