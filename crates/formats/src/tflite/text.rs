//! The sections of text and CSV.
//!
//! Lines of the text begin with a tab and part their cells by tabs; loggers of some versions put a time and a file
//! before that, and Android's log its own words before every line. Terminals that text is copied from, and `expand`, make blanks of the tabs; there headings are known by
//! their brackets, and cells as in CSV by the numbers between type and name. In CSV, commas within types stand as they are, and those within names became tabs, so that cells
//! are found by the numbers between the two.

use opscope_trace::{LossKind, Trace};

use super::{Operator, ReadError, Runs};
use crate::layers::{MICRO, MILLI, time};
use crate::reading::Stop;

/// The columns of a run's order: of each the names in text and CSV, small and without brackets.
const TYPE: &str = "node type";
const NAME: &str = "name";
const MEAN: [&str; 2] = ["avg ms", "avg_ms"];
const CALLS: &str = "times called";
const MEMORY: &str = "mem kb";

/// The separators of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Tabs,
    Blanks,
    Csv,
}

/// A line of headings.
struct Columns {
    form: Form,
    names: Vec<String>,
}

impl Columns {
    /// The columns of a line, if it is one of a run's order: the summary by type has no names.
    fn of(line: &str) -> Option<Self> {
        let form = match line.contains('\t') {
            true => Form::Tabs,
            false if line.trim_start().starts_with('[') => Form::Blanks,
            false => Form::Csv,
        };
        let cells = match form {
            Form::Blanks => line.split(']').map(str::trim).filter(|cell| !cell.is_empty()).collect(),
            Form::Tabs | Form::Csv => cells(line, form),
        };
        let bare = |cell: &&str| cell.trim().trim_matches(['[', ']']).to_ascii_lowercase();
        let names: Vec<String> = cells.iter().map(bare).collect();
        let is_it = names.first().is_some_and(|name| name == TYPE)
            && names.last().is_some_and(|name| name == NAME)
            && names.iter().any(|name| MEAN.contains(&name.as_str()));
        is_it.then_some(Self { form, names })
    }

    fn find(&self, names: &[&str]) -> Option<usize> {
        self.names.iter().position(|known| names.contains(&known.as_str()))
    }

    /// Whether a row is of an operator within a delegate: some versions list these behind the delegate's own, whose
    /// time has theirs in it, and leave them out of the total.
    fn is_of_delegate(&self, line: &str) -> bool {
        let op_type = match self.form {
            Form::Csv => line.split(',').next(),
            Form::Tabs => line.split('\t').nth(1),
            Form::Blanks => line.split_whitespace().next(),
        };
        op_type.is_some_and(|op_type| op_type.trim() == "DelegateOpInvoke")
    }

    /// The cells of a row, as many as there are columns.
    fn row<'l>(&self, line: &'l str) -> Option<Vec<std::borrow::Cow<'l, str>>> {
        let cells = cells(line, self.form);
        let numbers = self.names.len() - 2;
        if self.form == Form::Tabs {
            return (cells.len() >= self.names.len()).then(|| {
                let (first, last) = cells.split_at(self.names.len() - 1);
                first.iter().map(|cell| (*cell).into()).chain([last.join("\t").into()]).collect()
            });
        }
        let is_number = |cell: &&str| cell.trim().trim_end_matches('%').parse::<f64>().is_ok();
        // Of the cells before the last, the first that end so many numbers in a row.
        let mut row = 0;
        let end = (1..cells.len().checked_sub(1)?).find(|at| {
            row = if is_number(&cells[*at]) { row + 1 } else { 0 };
            row == numbers
        })?;
        let begin = end + 1 - numbers;
        let (op_type, name) = (&cells[..begin], &cells[begin + numbers..]);
        let (op_type, name) = match self.form {
            Form::Csv => (op_type.join(","), name.join(",").replace('\t', ",")),
            Form::Tabs | Form::Blanks => (op_type.join(" "), name.join(" ")),
        };
        let between = cells[begin..begin + numbers].iter().map(|cell| (*cell).into());
        Some([op_type.into()].into_iter().chain(between).chain([name.into()]).collect())
    }
}

/// The cells of a line; what a logger puts before the first tab is none.
fn cells(line: &str, form: Form) -> Vec<&str> {
    match form {
        Form::Csv => line.split(',').collect(),
        Form::Tabs => line.split('\t').skip(1).collect(),
        Form::Blanks => line.split_whitespace().collect(),
    }
}

/// A line without the words that Android's log puts before it: `… I tflite  : TEXT`, or `I/tflite ( 1234): TEXT`.
fn without_log(line: &str) -> &str {
    let behind_words = || {
        let (before, behind) = line.split_once("tflite")?;
        let level = before.strip_suffix([' ', '/'])?.rsplit(' ').next()?;
        let is_level = matches!(level, "V" | "D" | "I" | "W" | "E" | "F");
        let (process, text) = behind.split_once(':').filter(|_| is_level)?;
        let process = process.trim().trim_matches(['(', ')']).trim();
        let is_process = process.bytes().all(|byte| byte.is_ascii_digit());
        is_process.then(|| text.strip_prefix(' ').unwrap_or(text))
    };
    behind_words().unwrap_or(line)
}

/// Whether text that begins so has a run's order.
pub fn looks_like(head: &[u8]) -> bool {
    /// No line of headings is longer.
    const LONGEST: usize = 400;
    let is_heading = |line: &[u8]| {
        let length = line.len().min(LONGEST);
        std::str::from_utf8(&line[..length])
            .is_ok_and(|line| Columns::of(without_log(line).trim_end()).is_some())
    };
    let may_be = |line: &&[u8]| line.len() < LONGEST && has(line, b"ode type") && has(line, b"ame");
    !head.contains(&0) && head.split(|byte| *byte == b'\n').filter(may_be).any(is_heading)
}

fn has(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|window| window == part)
}

/// The section in which a line stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Rows in the order of the run, the part that counts.
    RunOrder,
    /// Sums of these, or the costliest again.
    Repeated,
}

/// Reads the text as a trace of one mean inference, until `stop` is wanted.
///
/// # Errors
/// When there is no row of a run's order.
pub fn read(text: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let mut runs = Runs::new();
    let mut section = Section::RunOrder;
    let (mut is_preparation, mut columns) = (false, None);
    // Operators of delegates and further subgraphs are parts of those that called them.
    let mut is_within = false;
    let (mut count, mut latency, mut has_begun) = (None, None, false);
    // The number of runs that the log above states.
    let mut logged = None;
    // Whether the order of the run is behind, and whether further runs are.
    let (mut is_ended, mut further) = (false, 0);
    // Whether the order of the run has begun and nothing of what follows it.
    let mut is_open = false;
    let mut lines = (1_u64..).zip(text.split(|byte| *byte == b'\n')).peekable();
    let mut turns = stop.within(0u64..);
    while let Some((number, line)) = lines.next() {
        if turns.next().is_none() {
            break;
        }
        let line = String::from_utf8_lossy(line);
        // Nearly all lines are rows, and behind the headings nothing else begins with a tab but further headings.
        let is_row = columns.as_ref().is_some_and(|columns: &Columns| columns.form == Form::Tabs)
            && line.starts_with('\t')
            && !line.trim_start().starts_with('[');
        let line = if is_row { &line } else { without_log(&line) }.trim_end_matches(['\r', ' ']);
        let has = |part: &str| !is_row && line.contains(part);
        if has("Profiling Info for ") || has("Primary graph ") {
            is_within = false;
        } else if has("Delegate internal:") || has("Subgraph (index: ") {
            is_within = true;
        }
        let begins_run =
            has("Profiling Info for Benchmark Initialization") || has("= Run Order =") && !is_within;
        if is_ended && begins_run && further == 0 {
            further = 1;
        }
        if further > 0 {
            continue;
        }
        if has("= Run Order =") {
            section = Section::RunOrder;
            (columns, is_open) = (None, true);
        } else if has("= Top by ") || has("= Summary by ") {
            section = Section::Repeated;
            (columns, is_open) = (None, false);
            is_ended |= has_begun && !is_within;
        } else if has("Profiling Info for Benchmark Initialization") {
            is_preparation = true;
        } else if has("Profiling Info for Regular Benchmark Runs") {
            is_preparation = false;
        } else if has("timings in us")
            && let Some(stated) = line.split_once("Inference (avg): ")
        {
            let stated = stated.1.split(',').next().and_then(|mean| time(mean.trim().parse().ok()?, MICRO));
            // That of a further run stands before its tables.
            latency = latency.or(stated);
        } else if !is_row
            && !has_begun
            && let Some(runs) = runs_of_log(line)
        {
            // Of warming up first, and then of the runs.
            logged = Some(runs);
        } else if !is_row && let Some((_, stated)) = line.split_once("Timings (microseconds): count=") {
            // That of the preparation comes first, that of the runs last.
            count = leading_number(stated).filter(|_| !is_preparation && !is_within).or(count);
        } else if !is_row && let Some(found) = Columns::of(line) {
            columns = Some(found);
        } else if let Some(columns) = columns.as_ref().filter(|_| section == Section::RunOrder) {
            if line.trim().is_empty() || (columns.form == Form::Tabs && !line.contains('\t')) {
                continue;
            }
            if is_within || columns.is_of_delegate(line) {
                runs.layers.losses.count(
                    LossKind::LayerWithinAnother,
                    "operators of delegates and subgraphs",
                    1,
                );
                continue;
            }
            if lines.peek().is_none() {
                runs.layers.losses.count(LossKind::OpenLastLine, &format!("line {number}"), 1);
            }
            if !is_preparation && !has_begun {
                runs.layers.begin_inference();
                has_begun = true;
            }
            row(&mut runs, columns, line, is_preparation);
        } else if columns.is_some() && !line.is_empty() && lines.peek().is_none() {
            runs.layers.losses.count(
                LossKind::OpenLastLine,
                &format!("line {number}, behind the order of the run"),
                1,
            );
        }
    }
    runs.layers.losses.count(LossKind::OpenLayers, "the order of the run", u64::from(is_open));
    runs.layers.losses.count(LossKind::FurtherRun, "what is behind the first run", further);
    match runs.is_empty() && runs.layers.losses.rows().is_empty() {
        true => Err(ReadError::NoRunOrder),
        false => Ok(runs.finish(count.or(logged), latency)),
    }
}

/// The number of runs that a line of the log above the tables states: `count=50 first=5483 curr=4984 …`, or with one
/// run `count=1 curr=4984`.
fn runs_of_log(line: &str) -> Option<u64> {
    let (before, stated) = line.rsplit_once("count=")?;
    let is_of_runs = stated.contains(" first=") || stated.contains(" curr=");
    leading_number(stated).filter(|_| is_of_runs && !before.contains("Timings") && !before.contains("Memory"))
}

fn leading_number(text: &str) -> Option<u64> {
    text.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

fn row(runs: &mut Runs, columns: &Columns, line: &str, is_preparation: bool) {
    let Some(cells) = columns.row(line) else {
        runs.layers.losses.count(LossKind::ShortLayer, "rows", 1);
        return;
    };
    let cell = |names: &[&str]| columns.find(names).map(|column| cells[column].trim());
    let number = |names: &[&str]| cell(names).and_then(|cell| cell.parse::<f64>().ok());
    let operator = Operator {
        op_type: cell(&[TYPE]).unwrap_or_default(),
        name: cell(&[NAME]).unwrap_or_default(),
        mean: number(&MEAN).and_then(|mean| time(mean, MILLI)),
        calls: cell(&[CALLS]).and_then(|calls| calls.parse().ok()).unwrap_or(1),
        memory_kb: number(&[MEMORY]),
    };
    match is_preparation {
        true => runs.preparation(&operator),
        false => runs.operator(&operator),
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::Nanoseconds;

    use super::*;

    #[test]
    fn commas_within_types_and_names_part_no_cells() {
        let columns = Columns::of("node type, first, avg_ms, %, cdf%, mem KB, times called, name").unwrap();
        let row = columns.row("Convolution (NHWC, F32) IGEMM,0.16,0.2,11.4%,11.4%,0,1,Delegate/Convolution (NHWC\t F32) IGEMM:0");
        let row = row.unwrap();
        assert_eq!(row.len(), 8);
        assert_eq!(row[0], "Convolution (NHWC, F32) IGEMM");
        assert_eq!(row[7], "Delegate/Convolution (NHWC, F32) IGEMM:0");
        assert!(columns.row("SOFTMAX,0.2").is_none());
        assert!(columns.row("").is_none());
    }

    #[test]
    fn operators_within_a_delegate_do_not_count_beside_it() {
        let text = "\
Profiling Info for Regular Benchmark Runs:\n\
============================== Run Order ==============================\n\
\t             [node type]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]\n\
\t   TfLiteXNNPackDelegate\t   10.100\t   10.000\t 95.238%\t 95.238%\t     0.000\t        1\t[out]:64\n\
\t        DelegateOpInvoke\t    6.100\t    6.000\t 57.143%\t152.381%\t     0.000\t        1\tDelegate/Convolution (NHWC, F32) IGEMM:0\n\
\t                 SOFTMAX\t    0.500\t    0.500\t  4.762%\t157.143%\t     0.000\t        1\t[Identity]:65\n\
\n";
        let logged = |prefix: &str, text: &str| -> String {
            text.split_inclusive('\n').map(|line| format!("{prefix}{line}")).collect()
        };
        let blanks = text.replace('\t', " ");
        let csv = "\
Profiling Info for Regular Benchmark Runs:\n\
============================== Run Order ==============================\n\
node type, first, avg_ms, %, cdf%, mem KB, times called, name\n\
TfLiteXNNPackDelegate, 10.1, 10.0, 95%, 95%, 0, 1, [out]:64\n\
DelegateOpInvoke, 6.1, 6.0, 57%, 152%, 0, 1, Delegate/Convolution (NHWC\t F32) IGEMM:0\n\
SOFTMAX, 0.5, 0.5, 4%, 157%, 0, 1, [Identity]:65\n\
\n";
        let of_android = "11-29 10:11:12.345  1234  1250 I tflite  : ";
        let forms = [text, &blanks, csv];
        let prefixes = ["", of_android, "I/tflite  ( 1234): "];
        let all = forms.iter().flat_map(|text| prefixes.map(|prefix| logged(prefix, text)));
        // Loggers of others are known by the tab behind their words.
        for text in all.chain([logged("2026-11-29 10:11:12 [info] profiler.cc:12", text)]) {
            assert!(looks_like(text.as_bytes()), "{text}");
            let trace = read(text.as_bytes(), &Stop::default()).unwrap();
            assert_eq!(trace.iterations.duration(), [Nanoseconds(10_500_000)], "{text}");
            assert!(trace.losses.kind().contains(&LossKind::LayerWithinAnother), "{text}");
        }
    }

    #[test]
    fn a_text_that_is_cut_behind_the_order_of_the_run_knows_its_runs_from_the_log_above() {
        let text = "\
count=12 first=90 curr=80 min=80 max=90 avg=85 std=1\n\
count=50 first=5483 curr=4984 min=4486 max=5981 avg=5084.7 std=10\n\
Profiling Info for Regular Benchmark Runs:\n\
============================== Run Order ==============================\n\
\t             [node type]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]\n\
\t                 SOFTMAX\t    0.500\t    0.500\t 100.00%\t100.000%\t     0.000\t        1\t[out]:0\n\
\n\
============================== Top by Computation Time ==============================\n\
\t             [node type]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]\n\
\t                 SOFTMAX\t    0.5";
        let of = |text: &str| {
            let trace = read(text.as_bytes(), &Stop::default()).unwrap();
            let is_cut = trace.losses.kind().contains(&LossKind::OpenLastLine);
            (trace.run.summed_runs, trace.run.are_means, is_cut)
        };
        assert_eq!(of(text), (Some(50), false, true));
        let one = text.replace("count=50 first=5483 curr=4984", "count=1 curr=4984");
        assert_eq!(of(&one), (Some(1), false, true));
        let without_log = text.split_once("Profiling").unwrap().1;
        assert_eq!(of(&format!("{without_log}\n")), (None, true, false));
    }

    #[test]
    fn blanks_in_place_of_tabs_change_nothing() {
        let text = "\
Profiling Info for Regular Benchmark Runs:\n\
============================== Run Order ==============================\n\
\t             [node type]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]\n\
\t Convolution (NHWC) IGEMM\t    0.250\t    0.500\t 66.667%\t 66.667%\t     0.000\t        1\t[a, b]:0\n\
\t                 SOFTMAX\t    0.150\t    0.250\t 33.333%\t100.000%\t     4.000\t        1\t[out]:1\n\
\n\
============================== Top by Computation Time ==============================\n\
\t             [node type]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]\n\
\t Convolution (NHWC) IGEMM\t    0.250\t    0.500\t 66.667%\t 66.667%\t     0.000\t        1\t[a, b]:0\n\
Number of nodes executed: 2\n";
        let rows = |text: &str| {
            assert!(looks_like(text.as_bytes()), "{text}");
            let trace = read(text.as_bytes(), &Stop::default()).unwrap();
            assert_eq!(trace.losses.len(), 0, "{text}");
            let name = |id| trace.strings.get(id).to_owned();
            let rows: Vec<_> = (trace.tasks.iter())
                .map(|(_, task)| (task.operator.unwrap(), task.duration))
                .map(|(operator, time)| (trace.operators.get(operator), time))
                .map(|(operator, time)| (name(operator.name), name(operator.op_type), time.0))
                .collect();
            rows
        };
        let expanded = text.replace('\t', "    ");
        assert_eq!(rows(&expanded), rows(text));
        assert_eq!(rows(text).len(), 2);
    }

    #[test]
    fn the_heading_of_the_summary_is_none_of_a_run() {
        assert!(
            Columns::of("\t [Node type]\t [count]\t [avg ms]\t [avg %]\t [cdf %]\t [mem KB]\t[times called]")
                .is_none()
        );
        assert!(Columns::of("\t [node type]\t [start]\t [first]\t [avg ms]\t [%]\t [cdf%]\t [mem KB]\t[times called]\t[Name]").is_some());
        assert!(looks_like(b"x\n\t [node type]\t [first]\t [avg ms]\t[times called]\t[Name]\n"));
        assert!(!looks_like(b"node type, name\n"));
    }
}
