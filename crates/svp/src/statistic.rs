//! The tables of totals: of layers (`op_statistic_*`) and of calls (`acl_statistic_*`).

use opscope_trace::Nanoseconds;

use crate::cell::Figure;
use crate::table_text::{Column, TableError, TextTable};
use crate::timeline::Unit;

/// The figures of one layer or call in a table of totals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Its share of all rows' time, in percent.
    pub ratio: Figure,
    /// Its time in microseconds.
    pub total: Figure,
    /// How often it ran.
    pub count: Figure,
    /// The mean in microseconds.
    pub average: Figure,
    /// The longest in microseconds.
    pub longest: Figure,
    /// The shortest in microseconds.
    pub shortest: Figure,
}

const TOTAL_COLUMNS: [&str; 6] =
    ["Total Time Ratio(%)", "Total Time(us)", "Count", "Avg(us)", "Max(us)", "Min(us)"];

/// A layer in the table of their totals.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorTotals {
    /// Its place in the order of execution.
    pub task: String,
    /// Its stream.
    pub stream: String,
    /// The layer's name.
    pub name: String,
    /// Where it ran.
    pub unit: Unit,
    /// Its times.
    pub totals: Totals,
    /// Its cells in the table's other columns.
    pub other_cells: Vec<String>,
}

/// A call in the table of their totals.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiTotals {
    /// The process that called.
    pub process: String,
    /// The thread that called.
    pub thread: String,
    /// The part of the interface, such as `model` or `runtime`.
    pub kind: String,
    /// The call's name.
    pub name: String,
    /// Its times.
    pub totals: Totals,
    /// Its cells in the table's other columns.
    pub other_cells: Vec<String>,
}

/// The table of layers' totals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpStatistic {
    /// A row for each layer.
    pub rows: Vec<OperatorTotals>,
    /// Rows of the whole network, which must not be added to the layers.
    pub whole: Vec<OperatorTotals>,
    /// Columns that mean nothing here, and that are written again as they were read.
    pub other_columns: Vec<String>,
}

/// The table of calls' totals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AclStatistic {
    /// A row for each call and thread.
    pub rows: Vec<ApiTotals>,
    /// Rows of all calls together, which must not be added to the others.
    pub whole: Vec<ApiTotals>,
    /// Columns that mean nothing here, and that are written again as they were read.
    pub other_columns: Vec<String>,
}

impl Totals {
    /// The totals of some durations in microseconds; `all` is the time of all rows.
    pub fn of(durations: &[f64], all: f64) -> Self {
        let total: f64 = durations.iter().sum();
        let count = durations.len() as f64;
        let extreme = |pick: fn(f64, f64) -> f64| durations.iter().copied().reduce(pick);
        Self {
            ratio: if all > 0.0 { Figure::rounded(100.0 * total / all) } else { Figure::MISSING },
            total: Figure::rounded(total),
            count: Figure(Some(count)),
            average: Figure::rounded(total / count),
            longest: extreme(f64::max).map_or(Figure::MISSING, Figure::rounded),
            shortest: extreme(f64::min).map_or(Figure::MISSING, Figure::rounded),
        }
    }

    /// Durations that have these totals: the longest, the shortest, and what is left in equal parts.
    pub(crate) fn durations(&self) -> Vec<Nanoseconds> {
        /// No board counts further; what does is no count.
        const MOST: f64 = 1e6;
        let time = |figure: Figure| figure.0.map(|micros| Nanoseconds((micros * 1e3).round() as i64));
        let count = self.count.0.filter(|count| (1.0..=MOST).contains(count)).unwrap_or(1.0);
        let by_average = || Some(Figure(Some(self.average.0? * count)));
        let total = time(self.total).or_else(|| by_average().and_then(time));
        let Some(total) = total.filter(|total| total.0 >= 0) else { return Vec::new() };
        let count = count as usize;
        let ends = match (time(self.longest), time(self.shortest)) {
            (Some(longest), Some(shortest)) if count > 1 => vec![longest, shortest],
            _ => Vec::new(),
        };
        let left = total - ends.iter().copied().sum::<Nanoseconds>();
        let others = (count - ends.len()) as i64;
        // Figures that don't fit each other leave the total, which most is made of.
        if left.0 < 0 || (others == 0 && left.0.abs() > 1_000 * count as i64) {
            return equal_parts(total, count as i64).collect();
        }
        ends.into_iter().chain(equal_parts(left, others)).collect()
    }

    fn read(table: &TextTable, row: usize, columns: &[Option<Column>; 6]) -> Self {
        let [ratio, total, count, average, longest, shortest] =
            columns.map(|column| Figure::read(table.cell(row, column)));
        Self { ratio, total, count, average, longest, shortest }
    }

    fn cells(&self) -> [String; 6] {
        let Self { ratio, total, count, average, longest, shortest } = self;
        [ratio, total, count, average, longest, shortest].map(Figure::to_string)
    }
}

/// The columns of text before those of totals.
const OPERATOR_COLUMNS: [&str; 4] = ["Task ID", "Stream ID", "OP Name", "Task Type"];
const CALL_COLUMNS: [&str; 4] = ["Process ID", "Thread ID", "Type", "Name"];
/// The stand-in for a name in a row of all together.
const WHOLE: &str = "-";

/// A time in parts that differ by a nanosecond at most.
fn equal_parts(time: Nanoseconds, parts: i64) -> impl Iterator<Item = Nanoseconds> {
    (0..parts).map(move |part| Nanoseconds(time.0 / parts + i64::from(part < time.0 % parts)))
}

impl OpStatistic {
    /// Reads CSV or JSON.
    ///
    /// # Errors
    /// When it is no table, or has no layers or no times.
    pub fn read(bytes: &[u8]) -> Result<Self, TableError> {
        Self::from_text(&TextTable::read(bytes)?)
    }

    pub(crate) fn from_text(table: &TextTable) -> Result<Self, TableError> {
        let name = table.need("OP Name")?;
        table.need("Total Time(us)")?;
        let [task, stream, unit] = ["Task ID", "Stream ID", "Task Type"].map(|column| table.find(column));
        let totals = TOTAL_COLUMNS.map(|column| table.find(column));
        let (other_columns, others) = table.others(&[&OPERATOR_COLUMNS[..], &TOTAL_COLUMNS].concat());
        let rows = (0..table.len()).map(|row| OperatorTotals {
            other_cells: others.iter().map(|column| table.cell(row, *column).to_owned()).collect(),
            task: table.cell(row, task).to_owned(),
            stream: table.cell(row, stream).to_owned(),
            name: table.cell(row, Some(name)).to_owned(),
            unit: Unit::parse(table.cell(row, unit)),
            totals: Totals::read(table, row, &totals),
        });
        let (whole, rows) = rows.partition(|row| row.name == WHOLE);
        Ok(Self { rows, whole, other_columns })
    }

    pub(crate) fn to_text(&self) -> TextTable {
        let columns = OPERATOR_COLUMNS.into_iter().chain(TOTAL_COLUMNS);
        let mut table = TextTable::new(columns).with_columns(&self.other_columns);
        for row in self.rows.iter().chain(&self.whole) {
            let OperatorTotals { task, stream, name, unit, totals, other_cells } = row;
            let texts = [task, stream, name].map(String::clone);
            let unit = unit.table_word().to_owned();
            let others = other_cells.iter().cloned();
            table.push(texts.into_iter().chain([unit]).chain(totals.cells()).chain(others).collect());
        }
        table
    }
}

impl AclStatistic {
    /// Reads CSV or JSON.
    ///
    /// # Errors
    /// When it is no table, or has no calls or no times.
    pub fn read(bytes: &[u8]) -> Result<Self, TableError> {
        Self::from_text(&TextTable::read(bytes)?)
    }

    pub(crate) fn from_text(table: &TextTable) -> Result<Self, TableError> {
        let name = table.need("Name")?;
        table.need("Total Time(us)")?;
        let [process, thread, kind] = ["Process ID", "Thread ID", "Type"].map(|column| table.find(column));
        let totals = TOTAL_COLUMNS.map(|column| table.find(column));
        let (other_columns, others) = table.others(&[&CALL_COLUMNS[..], &TOTAL_COLUMNS].concat());
        let rows = (0..table.len()).map(|row| ApiTotals {
            other_cells: others.iter().map(|column| table.cell(row, *column).to_owned()).collect(),
            process: table.cell(row, process).to_owned(),
            thread: table.cell(row, thread).to_owned(),
            kind: table.cell(row, kind).to_owned(),
            name: table.cell(row, Some(name)).to_owned(),
            totals: Totals::read(table, row, &totals),
        });
        let (whole, rows) = rows.partition(|row| row.name == WHOLE);
        Ok(Self { rows, whole, other_columns })
    }

    /// How many calls there were in all.
    pub fn calls(&self) -> u64 {
        self.rows.iter().filter_map(|row| row.totals.count.0).sum::<f64>() as u64
    }

    pub(crate) fn to_text(&self) -> TextTable {
        let columns = CALL_COLUMNS.into_iter().chain(TOTAL_COLUMNS);
        let mut table = TextTable::new(columns).with_columns(&self.other_columns);
        for row in self.rows.iter().chain(&self.whole) {
            let ApiTotals { process, thread, kind, name, totals, other_cells } = row;
            let texts = [process, thread, kind, name].map(String::clone);
            table.push(texts.into_iter().chain(totals.cells()).chain(other_cells.iter().cloned()).collect());
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_keep_their_columns_and_figures_when_written_again() {
        let operators = "Task ID,Stream ID,OP Name,Task Type,Total Time Ratio(%),Total Time(us),Count,Avg(us),Max(us),Min(us)\n\
                         0,0,conv1,AA_CORE,75,1001590000000,2,6,7,5\n1,0,softplus1,AA_CPU,25,4,N/A,N/A,N/A,N/A\n";
        let calls = "Process ID,Thread ID,Type,Name,Total Time Ratio(%),Total Time(us),Count,Avg(us),Max(us),Min(us)\n\
                     12,13,model,svp_acl_mdl_execute,100,14190,511,14.19,20,10\n";
        let (mut csv, mut again) = (Vec::new(), Vec::new());
        let statistic = OpStatistic::read(operators.as_bytes()).unwrap();
        assert_eq!(statistic.rows[1].unit, Unit::AaCpu);
        statistic.to_text().write_csv(&mut csv).unwrap();
        assert_eq!(String::from_utf8(csv).unwrap(), operators);
        let statistic = AclStatistic::read(calls.as_bytes()).unwrap();
        assert_eq!(statistic.calls(), 511);
        statistic.to_text().write_csv(&mut again).unwrap();
        assert_eq!(String::from_utf8(again).unwrap(), calls);
    }

    #[test]
    fn other_columns_and_rows_of_all_together_are_written_again() {
        let operators = "Task ID,Stream ID,OP Name,Task Type,Total Time Ratio(%),Total Time(us),Count,Avg(us),Max(us),Min(us),Block\n\
                         0,0,conv1,AA_CORE,100,8,2,4,5,3,7\n-,-,-,N/A,100,8,2,4,5,3,x\n";
        let mut csv = Vec::new();
        let statistic = OpStatistic::read(operators.as_bytes()).unwrap();
        assert_eq!(statistic.rows.len(), 1);
        statistic.to_text().write_csv(&mut csv).unwrap();
        assert_eq!(String::from_utf8(csv).unwrap(), operators);
    }

    #[test]
    fn totals_follow_from_durations() {
        let totals = Totals::of(&[1.0, 4.0, 1.0], 12.0);
        assert_eq!(totals.cells(), ["50", "6", "3", "2", "4", "1"]);
        assert_eq!(Totals::of(&[], 0.0).cells(), ["N/A", "0", "0", "N/A", "N/A", "N/A"]);
    }

    #[test]
    fn durations_made_of_totals_have_these_totals() {
        for durations in [&[1.0, 4.0, 1.0][..], &[5.5], &[2.0, 3.25], &[1.0, 2.0, 3.0, 10.0, 0.5]] {
            let totals = Totals::of(durations, 100.0);
            let made: Vec<f64> = totals.durations().iter().map(|time| time.as_micros()).collect();
            assert_eq!(Totals::of(&made, 100.0), totals, "{made:?}");
        }
        let only = |total, count| Totals { total: Figure(total), count: Figure(count), ..Totals::default() };
        assert_eq!(only(Some(4.0), Some(2.0)).durations().len(), 2);
        assert_eq!(only(Some(4.0), None).durations(), [Nanoseconds(4_000)]);
        assert_eq!(only(Some(4.0), Some(1e18)).durations(), [Nanoseconds(4_000)]);
        assert_eq!(only(None, Some(2.0)).durations(), []);
        let odd =
            Totals { longest: Figure(Some(9.0)), shortest: Figure(Some(9.0)), ..only(Some(4.0), Some(2.0)) };
        assert_eq!(odd.durations(), [Nanoseconds(2_000); 2]);
    }

    #[test]
    fn a_table_of_something_else_names_the_column_that_is_missing() {
        let error = OpStatistic::read(b"Device_id,OP Type\n0,Conv2D\n").unwrap_err();
        assert_eq!(error.to_string(), "the column 'OP Name' is missing; found: Device_id, OP Type");
        assert!(AclStatistic::read(b"Name,Count\nx,1\n").unwrap_err().to_string().contains("Total Time(us)"));
    }
}
