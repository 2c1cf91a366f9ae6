//! MNN's `timeProfile.out`: tables with a tab behind each cell.
//!
//! | title | columns |
//! |---|---|
//! | `Sort by node name !` | `Node Name`, `Op Type`, `Avg(ms)`, `%`, `Flops Rate` |
//! | `Sort by time cost !` | `Node Type`, `Avg(ms)`, `%`, `Called times`, `Flops Rate` |
//!
//! Nodes are what counts; the table of types sums them up, and is read where there are no nodes.

use opscope_trace::{DeviceKind, ExecutionUnit, LossKind, ProfileFormat, Trace};

use super::{any_line, lines, open_last_line};
use crate::layers::{Layer, Layers, MILLI, parts, time};
use crate::reading::Stop;

/// The table in which a line stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    None,
    Nodes,
    Types,
}

impl Table {
    /// The table that begins with a line of headings.
    fn of(line: &str) -> Option<Self> {
        let mut cells = line.split('\t').map(str::trim);
        match (cells.next()?, cells.next()?, cells.next()?) {
            ("Node Name", "Op Type", "Avg(ms)") => Some(Self::Nodes),
            ("Node Type", "Avg(ms)", "%") => Some(Self::Types),
            _ => None,
        }
    }
}

/// Whether text that begins so has such a table.
pub fn looks_like(head: &[u8]) -> bool {
    any_line(head, |line| Table::of(line).is_some())
}

/// Reads the nodes as a trace of one mean inference, until `stop` is wanted.
pub fn read(text: &[u8], stop: &Stop) -> Trace {
    let has_nodes = lines(text).any(|line| Table::of(&line) == Some(Table::Nodes));
    let wanted = if has_nodes { Table::Nodes } else { Table::Types };
    let mut layers = Layers::new(ProfileFormat::Mnn, DeviceKind::Other, ExecutionUnit::Other);
    layers.begin_inference();
    let mut table = Table::None;
    let mut position = 0;
    // A further table of the same kind is that of a further run.
    let mut tables = 0;
    // Whether the last line stands in the table, or may.
    let mut is_last_of_table = false;
    for line in stop.within(lines(text)) {
        is_last_of_table = table == wanted;
        if let Some(begun) = Table::of(&line) {
            tables += u64::from(begun == wanted);
            table = if begun == wanted && tables > 1 { Table::None } else { begun };
        } else if !line.contains('\t') {
            // A title, the totals below a table, or what the program prints besides.
            table = if line.trim().is_empty() { table } else { Table::None };
        } else if table == wanted && table != Table::None {
            row(&mut layers, table, &line, position);
            position += 1;
        }
        is_last_of_table |= table == wanted;
    }
    if let Some(number) = open_last_line(text).filter(|_| is_last_of_table) {
        layers.losses.count(LossKind::OpenLastLine, &format!("line {number}"), 1);
    }
    layers.losses.count(LossKind::FurtherRun, "a further table", tables.saturating_sub(1));
    layers.finish()
}

fn row(layers: &mut Layers, table: Table, line: &str, position: u32) {
    let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
    // A type's time is that of all its calls in a mean run.
    let calls =
        |cell: &str| cell.parse::<f64>().ok().filter(|calls| *calls >= 1.0).map_or(1, |calls| calls as u64);
    let (name, op_type, mean, calls) = match (table, &cells[..]) {
        (Table::Nodes, [name, op_type, mean, ..]) => (name, op_type, mean, 1),
        (_, [op_type, mean, _, count, ..]) => (op_type, op_type, mean, calls(count)),
        _ => {
            layers.losses.count(LossKind::ShortLayer, "rows", 1);
            return;
        }
    };
    let layer = Layer {
        name: (*name).to_owned(),
        op_type: (*op_type).to_owned(),
        position: Some(position),
        ..Layer::default()
    };
    let operator = layers.operator(&layer);
    let Some(time) = mean.parse::<f64>().ok().and_then(|mean| time(mean, MILLI)) else {
        layers.task(operator, None, name);
        return;
    };
    let durations: Vec<_> = parts(time, calls, layers.trace.tasks.len() as u64).collect();
    layers.losses.count(LossKind::ExecutionsAsOne, name, calls.saturating_sub(durations.len() as u64));
    for duration in durations {
        layers.task(operator, Some(duration), name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opscope_trace::Nanoseconds;

    const NODES: &str = "Sort by node name !\nNode Name \tOp Type \tAvg(ms) \t% \tFlops Rate \t\n\
        conv1 \tConvolution \t1.500000 \t60.0 \t90.0 \t\nrelu1 \tReLU \t0.250000 \t10.0 \t1.0 \t\n";
    const TYPES: &str = "Sort by time cost !\nNode Type \tAvg(ms) \t% \tCalled times \tFlops Rate \t\n\
        ReLU \t0.250000 \t10.0 \t1.0 \t1.0 \t\nConvolution \t1.500000 \t60.0 \t1.0 \t90.0 \t\n\
        total time : 1.750000 ms, total mflops : 12.0 \n";

    #[test]
    fn nodes_count_and_the_sums_over_types_only_where_there_are_none() {
        let both = [NODES, TYPES].concat();
        for (text, first) in [(NODES, 1_500_000), (&both, 1_500_000), (TYPES, 250_000)] {
            assert!(looks_like(text.as_bytes()));
            let trace = read(text.as_bytes(), &Stop::default());
            assert_eq!(trace.iterations.duration(), [Nanoseconds(1_750_000)], "{text}");
            assert_eq!((trace.tasks.len(), trace.tasks.duration()[0]), (2, Nanoseconds(first)));
            assert!(trace.losses.is_empty());
        }
        assert!(!looks_like(b"Node Name\tother\n"));
    }

    #[test]
    fn a_table_that_ends_within_a_line_is_told_and_what_stands_behind_it_may_end_anywhere() {
        let begin = NODES.find("% \tFlops").unwrap();
        for end in begin..NODES.len() {
            let trace = read(&NODES.as_bytes()[..end], &Stop::default());
            let is_told = trace.losses.kind().contains(&LossKind::OpenLastLine);
            assert_eq!(is_told, !NODES[..end].ends_with('\n'), "{}", &NODES[..end]);
        }
        let both = [NODES, TYPES].concat();
        for end in (NODES.len() + "Sort by time cost !\n".len())..both.len() {
            assert!(read(&both.as_bytes()[..end], &Stop::default()).losses.is_empty(), "{}", &both[..end]);
        }
    }

    #[test]
    fn a_types_time_is_that_of_its_calls_and_a_further_table_that_of_another_run() {
        let text = TYPES.replace("10.0 \t1.0 \t1.0", "10.0 \t2.0 \t1.0");
        let trace = read(text.as_bytes(), &Stop::default());
        assert_eq!(trace.tasks.duration(), [125_000, 125_000, 1_500_000].map(Nanoseconds));
        let trace = read([&text[..], &text].concat().as_bytes(), &Stop::default());
        assert_eq!((trace.tasks.len(), trace.losses.kind()), (3, &[LossKind::FurtherRun][..]));
    }
}
