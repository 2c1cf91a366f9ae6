//! Figures that files beside the records state, as tables: a row for each subject, a column for each quantity.

use opscope_trace::{Figure, FigureTopic, StringId, Trace};

/// The figures of one topic that one file or table states.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedTable {
    /// The kind of subjects.
    pub topic: FigureTopic,
    /// The file or table.
    pub source: StringId,
    /// The quantities and their units.
    pub columns: Vec<(StringId, StringId)>,
    /// The subjects: the greatest by the first quantity first; steps in their order.
    pub rows: Vec<StatedRow>,
}

/// The figures that are stated of one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedRow {
    /// The step; an empty text for the whole profile.
    pub step: StringId,
    /// The subject.
    pub subject: StringId,
    /// A part of it; an empty text for the whole.
    pub part: StringId,
    /// A value for each column; `None` where none is stated.
    pub values: Vec<Option<f64>>,
}

/// A quantity's sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedSum {
    /// The quantity.
    pub name: StringId,
    /// Its unit.
    pub unit: StringId,
    /// The sum.
    pub value: f64,
}

/// The rows of a table that are about one part, such as a kind of link.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedPart {
    /// The part.
    pub part: StringId,
    /// How many rows there are.
    pub rows: usize,
    /// Their sums.
    pub sums: Vec<StatedSum>,
}

impl StatedTable {
    /// All tables of a trace, in the order of the topics.
    pub fn all(trace: &Trace) -> Vec<Self> {
        let mut tables: Vec<Self> = Vec::new();
        for (_, figure) in trace.figures.iter() {
            let known = tables.iter().position(|it| it.topic == figure.topic && it.source == figure.source);
            let index = known.unwrap_or_else(|| {
                let Figure { topic, source, .. } = figure;
                tables.push(Self { topic, source, columns: Vec::new(), rows: Vec::new() });
                tables.len() - 1
            });
            tables[index].add(&figure);
        }
        let text = |id| trace.strings.get(id);
        for table in &mut tables {
            table.rows.iter_mut().for_each(|row| row.values.resize(table.columns.len(), None));
            if table.topic != FigureTopic::Step {
                let key =
                    |row: &StatedRow| row.values.first().copied().flatten().unwrap_or(f64::NEG_INFINITY);
                table.rows.sort_by(|left, right| key(right).total_cmp(&key(left)));
            }
        }
        tables.sort_by_key(|table| (table.topic, text(table.source)));
        tables
    }

    /// Adds a figure. The figures of a row follow one another, each quantity once.
    fn add(&mut self, figure: &Figure) {
        let column = (figure.name, figure.unit);
        let index = self.columns.iter().position(|known| *known == column).unwrap_or_else(|| {
            self.columns.push(column);
            self.columns.len() - 1
        });
        let Figure { step, subject, part, .. } = *figure;
        let is_same = |row: &StatedRow| {
            (row.step, row.subject, row.part) == (step, subject, part)
                && row.values.get(index).is_none_or(|value| value.is_none())
        };
        if !self.rows.last().is_some_and(is_same) {
            self.rows.push(StatedRow { step, subject, part, values: Vec::new() });
        }
        if let Some(row) = self.rows.last_mut() {
            row.values.resize(row.values.len().max(index + 1), None);
            row.values[index] = Some(figure.value);
        }
    }

    /// The sums of those quantities of which sums mean something.
    pub fn totals(&self, trace: &Trace) -> Vec<StatedSum> {
        let names: &[&str] = match self.topic {
            FigureTopic::Step => &["stage", "computing", "communication alone", "free", "total"],
            FigureTopic::Collective => &["elapsed", "transit", "wait"],
            FigureTopic::Transport | FigureTopic::Link => &["size", "transit"],
            FigureTopic::Allocation => &["size", "allocations", "not released"],
            FigureTopic::PeakMemory => &["held at the peak"],
            FigureTopic::TakenMemory => &["taken", "allocations"],
            FigureTopic::PlannedMemory => &["size"],
            FigureTopic::FrameworkCall => &["count", "host", "device"],
            FigureTopic::OperatorType | FigureTopic::HostCall => &["count", "total"],
            FigureTopic::Operator => &["count", "mean of a step"],
            FigureTopic::Function => &["itself"],
            // Calls last while what they launched runs.
            FigureTopic::Domain => &["count"],
            FigureTopic::DataOperation | FigureTopic::Cache => &[],
        };
        let is_wanted = |name: StringId| names.contains(&trace.strings.get(name));
        let sum = |index: usize| self.rows.iter().filter_map(|row| row.values[index]).sum();
        let columns = self.columns.iter().enumerate().filter(|(_, (name, _))| is_wanted(*name));
        columns.map(|(index, &(name, unit))| StatedSum { name, unit, value: sum(index) }).collect()
    }

    /// The rows put together by their parts, such as all operations by kind of link, with the sums of
    /// [`StatedTable::totals`] and how many rows there are of each.
    pub fn by_part(&self, trace: &Trace) -> Vec<StatedPart> {
        let sums = |(part, table): &(StringId, Self)| StatedPart {
            part: *part,
            rows: table.rows.len(),
            sums: table.totals(trace),
        };
        self.apart(|row| row.part).iter().map(sums).collect()
    }

    /// The rows of each step in a table of their own, in the order of the steps' names: of functions, a step is an
    /// event or a profile, whose samples add up to nothing.
    pub fn by_step(&self, trace: &Trace) -> Vec<(StringId, Self)> {
        let mut tables = self.apart(|row| row.step);
        tables.sort_by_key(|(step, _)| trace.strings.get(*step));
        tables
    }

    /// A table for each value that `of` gives for a row, in the order of the rows.
    fn apart(&self, of: impl Fn(&StatedRow) -> StringId) -> Vec<(StringId, Self)> {
        let mut tables: Vec<(StringId, Self)> = Vec::new();
        for row in &self.rows {
            let value = of(row);
            let index = tables.iter().position(|(known, _)| *known == value).unwrap_or_else(|| {
                tables.push((value, Self { rows: Vec::new(), columns: self.columns.clone(), ..*self }));
                tables.len() - 1
            });
            tables[index].1.rows.push(row.clone());
        }
        tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opscope_trace::FigureSubject;

    #[test]
    fn figures_become_rows_by_subject_the_greatest_first_with_sums() {
        let mut trace = Trace::new();
        let about = |subject, part| FigureSubject {
            topic: FigureTopic::Transport,
            source: "communication.json",
            step: "7",
            subject,
            part,
        };
        trace.push_figures(about("a", "HCCS"), &[("size", "B", Some(1.0)), ("bandwidth", "B/s", Some(9.0))]);
        trace.push_figures(about("a", "RDMA"), &[("size", "B", Some(5.0))]);
        // The same subject again is another row.
        trace.push_figures(about("b", "HCCS"), &[("size", "B", Some(2.0))]);
        trace.push_figures(about("b", "HCCS"), &[("size", "B", Some(3.0)), ("bandwidth", "B/s", Some(4.0))]);
        let tables = StatedTable::all(&trace);
        let text = |id| trace.strings.get(id);
        assert_eq!(tables.len(), 1);
        let rows: Vec<_> =
            tables[0].rows.iter().map(|row| (text(row.subject), text(row.part), &*row.values)).collect();
        assert_eq!(
            rows,
            [
                ("a", "RDMA", &[Some(5.0), None][..]),
                ("b", "HCCS", &[Some(3.0), Some(4.0)][..]),
                ("b", "HCCS", &[Some(2.0), None][..]),
                ("a", "HCCS", &[Some(1.0), Some(9.0)][..]),
            ]
        );
        let sums: Vec<_> = tables[0].totals(&trace).iter().map(|sum| (text(sum.name), sum.value)).collect();
        assert_eq!(sums, [("size", 11.0)]);
        let parts: Vec<_> = tables[0]
            .by_part(&trace)
            .iter()
            .map(|part| (text(part.part), part.rows, part.sums[0].value))
            .collect();
        assert_eq!(parts, [("RDMA", 1, 5.0), ("HCCS", 3, 6.0)]);
    }

    #[test]
    fn samples_of_two_events_are_summed_apart() {
        let mut trace = Trace::new();
        let about = |step, subject| FigureSubject {
            topic: FigureTopic::Function,
            source: "perf script",
            step,
            subject,
            part: "",
        };
        for (event, function, samples) in
            [("misses", "gemm", 9.0), ("cycles", "gemm", 7.0), ("cycles", "copy", 1.5)]
        {
            trace.push_figures(about(event, function), &[("itself", "", Some(samples))]);
        }
        let tables = StatedTable::all(&trace);
        let sums: Vec<_> = tables[0]
            .by_step(&trace)
            .iter()
            .map(|(step, table)| (trace.strings.get(*step), table.rows.len(), table.totals(&trace)[0].value))
            .collect();
        assert_eq!(sums, [("cycles", 2, 8.5), ("misses", 1, 9.0)]);
    }
}
