//! Counters as tables: a line of headings and the nodes, once for each infer request, with a line of totals.

use opscope_trace::{LossKind, Losses, Trace};

use super::exec_graph::ExecGraph;
use super::sections::{Node, Sections};
use super::{ReadError, is_status};
use crate::reading::Stop;

/// The headings by which a table is known, in the order in which they stand.
const KNOWN: [&str; 3] = ["layerName", "execStatus", "layerType"];

/// The columns of a table; those that it lacks are `None`.
struct Columns {
    separator: u8,
    /// How many columns have a heading.
    count: usize,
    /// Whether lines end with a separator, as those of the tool in C++ do.
    ends_with_separator: bool,
    status: usize,
    op_type: usize,
    kernel: Option<usize>,
    real: usize,
    cpu: Option<usize>,
}

impl Columns {
    /// The columns of a line of headings.
    fn of(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)).ok()?;
        let line = line.trim_start_matches('"');
        let separator = line.strip_prefix(KNOWN[0])?.trim_start_matches('"').bytes().next()?;
        if !matches!(separator, b';' | b',') {
            return None;
        }
        let mut headings: Vec<&str> =
            line.split(char::from(separator)).map(|heading| heading.trim().trim_matches('"')).collect();
        let ends_with_separator = headings.pop_if(|heading| heading.is_empty()).is_some();
        let find = |name: &str| headings.iter().position(|heading| *heading == name);
        Some(Self {
            separator,
            count: headings.len(),
            ends_with_separator,
            status: find(KNOWN[1])?,
            op_type: find(KNOWN[2])?,
            kernel: find("execType"),
            real: find("realTime (ms)")?,
            cpu: find("cpuTime (ms)"),
        })
    }

    /// The cells of a line, as many as there are columns or less. The tools put semicolons between cells and quote
    /// none, and names of layers have semicolons in graphs of TensorFlow: a name is all before the cells that end a
    /// line, whose number is that of the other headings.
    fn cells<'l>(&self, line: &'l str) -> Vec<&'l str> {
        let mut cells = split(line, self.separator);
        if self.ends_with_separator {
            cells.pop_if(|cell| cell.trim().is_empty());
        }
        let further = cells.len().saturating_sub(self.count);
        if self.separator == b';' && further > 0 {
            let name: usize =
                cells[..further].iter().map(|cell| cell.len() + 1).sum::<usize>() + cells[further].len();
            cells.splice(..=further, [&line[..name]]);
        }
        cells
    }
}

/// Whether text that begins so is such a table; its first line must be whole.
pub fn looks_like(head: &[u8]) -> bool {
    const LONGEST: usize = 1 << 12;
    let end = head.iter().take(LONGEST).position(|byte| *byte == b'\n');
    end.is_some_and(|end| Columns::of(&head[..end]).is_some())
}

/// Reads a table as a trace of one mean inference. With an executable graph of the same network, nodes
/// know the layers that they were made of.
///
/// # Errors
/// When there is no line of headings.
pub fn read(text: &[u8], graph: Option<&ExecGraph>, stop: &Stop) -> Result<Trace, ReadError> {
    let (mut sections, mut losses) = (Sections::default(), Losses::default());
    let (mut columns, mut is_open) = (None, false);
    let mut lines = (1_u64..).zip(text.split(|byte| *byte == b'\n')).peekable();
    let mut turns = stop.within(0u64..);
    while let Some((number, line)) = lines.next() {
        if turns.next().is_none() {
            break;
        }
        let may_be_headings = line.starts_with(KNOWN[0].as_bytes()) || columns.is_none();
        if let Some(found) = may_be_headings.then(|| Columns::of(line)).flatten() {
            losses.count(LossKind::OpenLayers, NO_TOTAL, u64::from(is_open));
            columns = Some(found);
            sections.begin();
            is_open = true;
            continue;
        }
        let (Some(columns), false) = (&columns, line.trim_ascii().is_empty()) else { continue };
        // The last line has an end, too, unless it was cut off.
        if lines.peek().is_none() {
            losses.count(LossKind::OpenLastLine, &format!("line {number}"), 1);
        }
        if row(&mut sections, &mut losses, columns, line) == Row::Total {
            sections.complete();
            is_open = false;
        }
    }
    losses.count(LossKind::OpenLayers, NO_TOTAL, u64::from(is_open));
    if columns.is_none() {
        return Err(ReadError::NoCounters);
    }
    Ok(sections.into_trace(graph, |layers| layers.losses = losses))
}

/// The place of a loss: every table ends with its totals.
const NO_TOTAL: &str = "a table without its totals";

/// The meaning of a line.
#[derive(PartialEq, Eq)]
enum Row {
    Node,
    /// Totals, which end a table, and remarks below a sorted one.
    Total,
    Nothing,
}

/// Enters a line.
fn row(sections: &mut Sections, losses: &mut Losses, columns: &Columns, line: &[u8]) -> Row {
    let line = String::from_utf8_lossy(line);
    let cells = columns.cells(&line);
    let cell = |column: usize| cells.get(column).map_or("", |cell| cell.trim());
    let name = cells.first().map_or("", |name| name.trim());
    let is_total = name.eq_ignore_ascii_case("total") && cell(columns.status).is_empty();
    if is_total {
        sections.compare_with(cell(columns.real));
    }
    if is_total || name.starts_with("Total time: ") || name.starts_with("Total CPU time: ") {
        return Row::Total;
    }
    // The heading of a sorted table ends with a line break within quotes, and the tool in C++ writes lines of
    // separators alone.
    let is_rest = cells.iter().all(|cell| cell.trim().trim_matches('"').is_empty());
    // With a cell less, a part of a name may stand where the status should.
    let is_cut = cells.len() < columns.count && !is_status(cell(columns.status));
    if cells.len() <= columns.real || is_cut || is_rest {
        losses.count(LossKind::ShortLayer, "lines", u64::from(!is_rest));
        return Row::Nothing;
    }
    let node = Node {
        name,
        status: cell(columns.status),
        op_type: cell(columns.op_type),
        kernel: columns.kernel.map_or("", &cell),
        real: cell(columns.real),
        cpu: columns.cpu.map_or("", &cell),
    };
    sections.take(&node);
    Row::Node
}

/// Cells; of a table with commas they may be in quotes.
fn split(line: &str, separator: u8) -> Vec<&str> {
    if separator != b',' || !line.contains('"') {
        return line.split(char::from(separator)).collect();
    }
    let (mut cells, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => {
                cells.push(line[start..at].trim_matches('"'));
                start = at + 1;
            }
            _ => {}
        }
    }
    cells.push(line[start..].trim().trim_matches('"'));
    cells
}

#[cfg(test)]
mod tests {
    use opscope_trace::Nanoseconds;

    use super::*;

    /// Names and times of the operators, and the kinds of losses.
    fn rows(text: &str) -> (Vec<(String, Nanoseconds)>, Vec<LossKind>) {
        let trace = read(text.as_bytes(), None, &Stop::default()).unwrap();
        let name = |task: usize| {
            let operator = trace.tasks.operator()[task].unwrap();
            trace.strings.get(trace.operators.get(operator).name).to_owned()
        };
        let rows = (0..trace.tasks.len()).map(|task| (name(task), trace.tasks.duration()[task]));
        (rows.collect(), trace.losses.kind().to_vec())
    }

    const NAME: &str = "model/conv0/BiasAdd;model/conv0/Conv2D";

    fn table(separator: &str, end: &str) -> String {
        let lines = [
            ["layerName", "execStatus", "layerType", "execType", "realTime (ms)", "cpuTime (ms)"],
            [NAME, "EXECUTED", "Convolution", "jit", "1.250", "1.250"],
            ["a;b", "NOT_RUN", "Relu", "undef", "0.000", "0.000"],
            ["pool", "EXECUTED", "Pooling", "jit", "0.750", "0.750"],
            ["Total", "", "", "", "2.000", "2.000"],
        ];
        lines.map(|cells| cells.join(separator) + end).concat()
    }

    #[test]
    fn a_name_with_semicolons_is_all_before_the_cells_that_end_a_line() {
        let expected = [(NAME.to_owned(), Nanoseconds(1_250_000)), ("pool".to_owned(), Nanoseconds(750_000))];
        let with_rest = table(";", ";\r\n") + ";;;;;;\r\n";
        for text in [table(";", "\n"), table(";", ";\n"), with_rest, table(",", "\n")] {
            assert_eq!(rows(&text), (expected.to_vec(), vec![LossKind::LayerNotRun]), "{text}");
        }
    }

    #[test]
    fn a_line_that_is_cut_within_a_name_with_semicolons_is_no_layer() {
        let text = table(";", "\n");
        let end = text.find("a;b;NOT_RUN").unwrap();
        for cut in ["a;b;NOT_RUN;Relu;undef", "a;b;NOT_RUN;Relu"] {
            let (found, losses) = rows(&text[..end + cut.len()]);
            assert_eq!(found.len(), 1, "{cut}");
            assert!(losses.contains(&LossKind::ShortLayer), "{losses:?}");
            assert!(!losses.contains(&LossKind::LayerWithoutDuration), "{losses:?}");
        }
    }

    #[test]
    fn the_line_that_has_no_end_is_named() {
        let text = table(";", "\n");
        let trace = read(&text.as_bytes()[..text.len() - 9], None, &Stop::default()).unwrap();
        let open = trace.losses.iter().find(|(_, loss)| loss.kind == LossKind::OpenLastLine).unwrap().1;
        assert_eq!(trace.strings.get(open.detail), "line 5");
    }
}
