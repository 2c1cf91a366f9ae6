//! Counters as tables: a line of headings and the nodes, once for each infer request, with a line of totals.

use opscope_trace::{LossKind, Losses, Trace};

use super::ReadError;
use super::exec_graph::ExecGraph;
use super::sections::{Node, Sections};
use crate::reading::Stop;

/// The headings by which a table is known, in the order in which they stand.
const KNOWN: [&str; 3] = ["layerName", "execStatus", "layerType"];

/// The columns of a table; those that it lacks are `None`.
struct Columns {
    separator: u8,
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
        let headings: Vec<&str> =
            line.split(char::from(separator)).map(|heading| heading.trim().trim_matches('"')).collect();
        let find = |name: &str| headings.iter().position(|heading| *heading == name);
        Some(Self {
            separator,
            status: find(KNOWN[1])?,
            op_type: find(KNOWN[2])?,
            kernel: find("execType"),
            real: find("realTime (ms)")?,
            cpu: find("cpuTime (ms)"),
        })
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
    let mut lines = text.split(|byte| *byte == b'\n').peekable();
    let mut turns = stop.within(0u64..);
    while let Some(line) = lines.next() {
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
            losses.count(LossKind::OpenLastLine, "the last line", 1);
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
    let cells = split(&line, columns.separator);
    let cell = |column: usize| cells.get(column).map_or("", |cell| cell.trim());
    let name = cells.first().map_or("", |name| name.trim());
    let is_total = name.eq_ignore_ascii_case("total") && cell(columns.status).is_empty();
    if is_total {
        sections.compare_with(cell(columns.real));
    }
    if is_total || name.starts_with("Total time: ") || name.starts_with("Total CPU time: ") {
        return Row::Total;
    }
    if cells.len() <= columns.real {
        // The heading of a sorted table ends with a line break within quotes.
        let is_rest = name.is_empty() || cells.iter().all(|cell| cell.trim().is_empty());
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
