//! Figures that databases sum up: `analysis.db` of torch_npu, whose tables other databases may have as well, and
//! the allocations of operators.

use opscope_trace::{FigureSubject, FigureTopic, LossKind};

use super::reader::Reader;
use crate::read::stated::{AllocationTotals, COLLECTIVE, Quantity, STEP, TRANSPORT, link, step_name};

/// The tables of `analysis.db`.
pub(super) const STATED_TABLES: [&str; 4] =
    ["StepTraceTime", "CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix"];

/// The table of allocations.
const ALLOCATIONS: &str = "OP_MEMORY";

impl Reader<'_> {
    /// Reads all tables of figures.
    pub(super) fn read_stated(&mut self) {
        let [steps, times, transports, links] = STATED_TABLES;
        self.read_figures(steps, FigureTopic::Step, &STEP, ["step", "deviceId"], |_, _| String::new());
        let operation = ["step", "group_name", "hccl_op_name"];
        self.read_figures(times, FigureTopic::Collective, &COLLECTIVE, operation, |texts, _| {
            texts[2].clone()
        });
        // A row for each size of packages repeats what the operation sent over the link in all.
        let mut last = Vec::new();
        let operation = ["step", "transport_type", "hccl_op_name", "group_name"];
        self.read_figures(transports, FigureTopic::Transport, &TRANSPORT, operation, |texts, figures| {
            let nothing = figures[0].2.is_none_or(|bytes| bytes <= 0.0);
            let repeated = std::mem::replace(&mut last, texts.to_vec()) == texts;
            if repeated || nothing {
                figures.iter_mut().for_each(|figure| figure.2 = None);
            }
            texts[2].clone()
        });
        let operation = ["step", "transport_type", "hccl_op_name", "op_name", "src_rank", "dst_rank"];
        self.read_figures(links, FigureTopic::Link, &TRANSPORT, operation, |texts, _| {
            let repeats = texts[3].is_empty() || texts[3] == texts[2];
            if repeats { texts[2].clone() } else { format!("{} {}", texts[2], texts[3]) }
        });
        self.read_allocations();
    }

    /// Reads a table of figures. Its first column tells the step, the second the part; `subject` makes the
    /// subject of all that are asked for, and may leave figures out. A row without a figure is counted unless
    /// `subject` left them out.
    fn read_figures<const TEXTS: usize>(
        &mut self,
        table: &str,
        topic: FigureTopic,
        quantities: &[Quantity],
        texts: [&str; TEXTS],
        mut subject: impl FnMut(&[String], &mut [(&'static str, &'static str, Option<f64>)]) -> String,
    ) {
        let columns: Vec<&str> =
            texts.into_iter().chain(quantities.iter().map(|figure| figure.written[1])).collect();
        self.each_row(table, &columns, |reader, row| {
            let cells: Vec<String> =
                (0..TEXTS).map(|column| row.text(column).unwrap_or_default().into_owned()).collect();
            let mut figures: Vec<_> = quantities
                .iter()
                .enumerate()
                .map(|(index, figure)| {
                    let value = row.float(TEXTS + index).map(|value| value * figure.factor);
                    (figure.name, figure.unit, value)
                })
                .collect();
            if figures.iter().all(|(.., value)| value.is_none()) {
                return reader.trace.count_loss(LossKind::FigureNotRead, 1, table);
            }
            let subject = subject(&cells, &mut figures);
            let part = match topic {
                FigureTopic::Step if cells[1].is_empty() => String::new(),
                FigureTopic::Step => format!("device {}", cells[1]),
                FigureTopic::Link => format!("{} {}", link(&cells[4], &cells[5]), cells[1]),
                _ => cells[1].clone(),
            };
            let step = step_name(&cells[0]);
            let about =
                FigureSubject { topic, source: table, step, subject: &subject, part: part.trim_end() };
            reader.trace.push_figures(about, &figures);
        });
    }

    /// Sums up the allocations by operator and device.
    fn read_allocations(&mut self) {
        let mut totals = AllocationTotals::default();
        self.each_row(ALLOCATIONS, &["name", "size", "releaseTime", "deviceId"], |reader, row| {
            let Some(bytes) = row.float(1) else {
                return reader.trace.count_loss(LossKind::FigureNotRead, 1, ALLOCATIONS);
            };
            let name = reader.texts.find(row.integer(0));
            let name = reader.texts.table.get(name).to_owned();
            let device = row.small(3).map_or(String::new(), |device| format!("device {device}"));
            totals.count(name, device, bytes, row.integer(2).is_none());
        });
        totals.enter(&mut self.trace, ALLOCATIONS);
    }
}
