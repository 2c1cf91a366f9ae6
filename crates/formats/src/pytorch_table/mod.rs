//! The table that `torch.profiler` prints with `key_averages().table()`.
//!
//! ```text
//! -------------  ------------  ------------  …  ------------
//!          Name    Self CPU %      Self CPU  …    # of Calls
//! -------------  ------------  ------------  …  ------------
//!  aten::conv2d         0.12%     117.000us  …            20
//! -------------  ------------  ------------  …  ------------
//! Self CPU time total: 100.934ms
//! Self CUDA time total: 23.104us
//! ```
//!
//! Columns are as wide as their dashes, and longer cells, as the heading `CUDA time avg` above twelve dashes, move those
//! behind them to the right. Times are sums over all calls, in the unit that stands behind them. Of a
//! device's times (`Self CUDA`, `Self XPU` …) an operator has those of the kernels that it launched, and since Kineto
//! the kernels have rows of their own, without a time of the processor, whose sum alone is the total below the table.
//! Time that only the total has is that of rows that weren't printed (`row_limit`). Early versions tell of a device only
//! what an operator's calls take in all (`CUDA total`), others within them included: nothing tells whose own that is.

use std::collections::HashSet;

use opscope_trace::{ApiLevel, DeviceKind, ExecutionUnit, LossKind, Nanoseconds, ProfileFormat, Trace};

use crate::layers::{Layer, Layers, parts};
use crate::reading::Stop;

/// Text without such a table.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No line of headings between dashes.
    #[error("this has no table with Name, Self CPU and # of Calls, as key_averages().table() prints it")]
    NoTable,
}

/// The columns of a table by their places in a line, counted in letters.
struct Columns {
    spans: Vec<(usize, usize)>,
    name: usize,
    cpu: usize,
    /// The device's own time, and the word for the device.
    device: Option<(usize, String)>,
    /// Whether the device's times are only told of all calls, others within them included.
    is_device_of_calls: bool,
    calls: usize,
    /// All times and shares of the processor.
    of_processor: Vec<usize>,
}

impl Columns {
    /// The columns of a line of headings below a line of dashes.
    fn of(dashes: &str, headings: &str) -> Option<Self> {
        let spans = spans(dashes)?;
        let cells = cut(headings, &spans);
        let find = |names: &[&str]| cells.iter().position(|cell| names.contains(cell));
        let device = cells.iter().enumerate().find_map(|(place, cell)| {
            let word = cell.strip_prefix("Self ")?.split(' ').next()?;
            let is_time = *cell == format!("Self {word}") || *cell == format!("Self {word} total");
            (is_time && word != "CPU").then(|| (place, word.to_owned()))
        });
        // Of all calls, those within others included.
        let is_device_of_calls = device.is_none() && cells.contains(&"CUDA total");
        let is_of_processor = |cell: &str| {
            let bare = cell.strip_prefix("Self ").unwrap_or(cell);
            bare.starts_with("CPU") && !bare.contains("Mem")
        };
        let of_processor = (0..cells.len()).filter(|place| is_of_processor(cells[*place])).collect();
        Some(Self {
            of_processor,
            name: find(&["Name"])?,
            cpu: find(&["Self CPU", "Self CPU total"])?,
            calls: find(&["# of Calls", "Number of Calls"])?,
            device,
            is_device_of_calls,
            spans,
        })
    }
}

/// Begin and end of each run of dashes, with blanks between; `None` for another line.
fn spans(line: &str) -> Option<Vec<(usize, usize)>> {
    let (mut spans, mut start) = (Vec::new(), None);
    for (at, letter) in line.trim_end().chars().chain([' ']).enumerate() {
        match (letter, start) {
            ('-', None) => start = Some(at),
            ('-', Some(_)) => {}
            (' ', Some(begin)) => {
                spans.push((begin, at));
                start = None;
            }
            (' ', None) => {}
            _ => return None,
        }
    }
    (spans.len() > 2).then_some(spans)
}

/// The cells of a line. One that is longer than its dashes isn't cut when the table is printed: it ends at the blanks
/// between columns, and those behind it stand further right.
fn cut<'l>(line: &'l str, spans: &[(usize, usize)]) -> Vec<&'l str> {
    // Where each letter begins; in nearly all lines each is a byte.
    let begins: Option<Vec<usize>> =
        (!line.is_ascii()).then(|| line.char_indices().map(|(begin, _)| begin).chain([line.len()]).collect());
    let letters = begins.as_ref().map_or(line.len(), |begins| begins.len() - 1);
    let begin_of = |letter: usize| begins.as_ref().map_or(letter, |begins| begins[letter]);
    let is_blank = |at: usize| at >= letters || line.as_bytes()[begin_of(at)] == b' ';
    let mut shift = 0;
    let mut cells = Vec::with_capacity(spans.len());
    for (column, (begin, end)) in spans.iter().enumerate() {
        let between = spans.get(column + 1).map_or(usize::MAX, |(next, _)| next.saturating_sub(*end));
        let mut stop = end.saturating_add(shift).min(letters);
        // Nothing is printed behind the last column.
        if between == usize::MAX {
            stop = letters;
        }
        while stop < letters && !(stop..letters.min(stop.saturating_add(between))).all(is_blank) {
            stop += 1;
        }
        let start = begin.saturating_add(shift).min(stop);
        cells.push(line[begin_of(start)..begin_of(stop)].trim());
        shift = shift.max(stop.saturating_sub(*end));
    }
    cells
}

/// A time with its unit, such as `117.000us` or `1.202s`.
fn duration(text: &str) -> Option<Nanoseconds> {
    let (number, unit) = number_and_unit(text)?;
    crate::layers::time(number.parse().ok()?, unit)
}

/// By how much a time may be off, in nanoseconds: half of its third decimal, which is the last one.
fn rounding(text: &str) -> i64 {
    number_and_unit(text).map_or(0, |(_, unit)| (unit / 2e3) as i64)
}

/// The number of a time, and its unit in nanoseconds.
fn number_and_unit(text: &str) -> Option<(&str, f64)> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|letter: char| letter.is_ascii_alphabetic())?);
    let unit = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some((number.trim(), unit))
}

/// Whether text that begins so has the headings of such a table.
pub fn looks_like(head: &[u8]) -> bool {
    /// No table has wider lines.
    const LONGEST: usize = 1 << 14;
    let mut before: Option<&str> = None;
    for line in head.split(|byte| *byte == b'\n') {
        let line = (line.len() < LONGEST).then(|| std::str::from_utf8(line).ok()).flatten();
        let is_heading = |(dashes, headings): (&str, &str)| {
            dashes.contains("---") && headings.contains("Self CPU") && Columns::of(dashes, headings).is_some()
        };
        if before.zip(line).is_some_and(is_heading) {
            return true;
        }
        before = line;
    }
    false
}

/// The row of the profiler's steps.
const STEP: &str = "ProfilerStep*";

/// A row of the table.
struct Row {
    name: String,
    cpu: Option<Nanoseconds>,
    device: Option<Nanoseconds>,
    /// Whether any cell tells a time or share of the processor. In a coarse unit, a short time is printed as none, and
    /// its share isn't.
    is_of_processor: bool,
    /// By how much its times may be off, in nanoseconds.
    rounding: i64,
    /// Whether its time is printed as none in a unit that is too coarse to tell. A table chooses the unit of each time
    /// by its length, microseconds for none, unless it was asked for one unit (`time_unit`).
    is_rounded_to_nothing: bool,
    calls: u64,
}

/// Reads the table as a trace without inferences, until `stop` is wanted.
///
/// Where the table has times of a device, the rows' times of the processor are calls, and those of the device tasks;
/// else tasks are those of the processor. Of each there are as many as the table counts, equal parts of the sum.
///
/// # Errors
/// When there is no line of headings.
pub fn read(text: &[u8], stop: &Stop) -> Result<Trace, ReadError> {
    let mut layers = Layers::new(ProfileFormat::PyTorchTable, DeviceKind::Cpu, ExecutionUnit::Cpu);
    let (mut columns, mut rows) = (None::<Columns>, Vec::new());
    let (mut cpu_total, mut device_total) = (None, None);
    let (mut before, mut dashes) = (String::new(), 0);
    let mut lines = (1_u64..).zip(text.split(|byte| *byte == b'\n')).peekable();
    let mut turns = stop.within(0u64..);
    while let Some((number, line)) = lines.next() {
        if turns.next().is_none() {
            break;
        }
        let line = String::from_utf8_lossy(line).trim_end().to_owned();
        if let Some((subject, total)) = line.split_once(" time total: ").filter(|_| columns.is_some()) {
            let is_of_device = columns.as_ref().and_then(|columns| columns.device.as_ref());
            let subject = subject.strip_prefix("Self ").unwrap_or(subject);
            if is_of_device.is_some_and(|(_, word)| subject == word) {
                device_total = duration(total);
            } else if subject == "CPU" {
                cpu_total = duration(total);
            }
        } else if columns.is_some() && Columns::of(&before, &line).is_some() {
            // Tutorials print one profile in several orders, and programs one after another.
            layers.losses.count(LossKind::FurtherRun, "a further table", 1);
            break;
        } else if let Some(found) = Columns::of(&before, &line).filter(|_| columns.is_none()) {
            columns = Some(found);
        } else if let Some(columns) =
            columns.as_ref().filter(|_| dashes < 2 && !line.is_empty() && spans(&line).is_none())
        {
            let is_last = lines.peek().is_none();
            layers.losses.count(LossKind::OpenLastLine, &format!("line {number}"), u64::from(is_last));
            match row(columns, &line) {
                Some(row) => rows.push(row),
                None if is_of_stack(columns, &line) => {}
                None => layers.losses.count(LossKind::ShortLayer, "lines", 1),
            }
        }
        dashes += usize::from(columns.is_some() && spans(&line).is_some());
        before = line;
    }
    // Dashes below the headings, and below the rows.
    layers.losses.count(LossKind::OpenLayers, "rows", u64::from(columns.is_some() && dashes < 2));
    let Some(columns) = columns else { return Err(ReadError::NoTable) };
    let is_untold = u64::from(columns.is_device_of_calls);
    layers.losses.count(LossKind::LayerWithoutDuration, "CUDA total, of calls within one another", is_untold);
    let has_device = enter(&mut layers, &rows, &columns, device_total);
    let cpu: i64 = rows.iter().filter_map(|row| row.cpu).fold(0, |sum, time| sum.saturating_add(time.0));
    let rounding = rows.iter().map(|row| row.rounding);
    // The total is rounded as well.
    let rounding = rounding.clone().sum::<i64>() + rounding.max().unwrap_or(0);
    compare_with(&mut layers, "Self CPU time total", cpu_total, cpu, rounding);
    if has_device {
        let on_device = has_device_time(&rows, device_total);
        let of_device = rows.iter().filter(|row| on_device(row)).filter_map(|row| row.device);
        let sum = of_device.fold(0_i64, |sum, time| sum.saturating_add(time.0));
        compare_with(&mut layers, "the device's time total", device_total, sum, rounding);
    }
    let rounded = rows.iter().filter(|row| row.is_rounded_to_nothing).count();
    layers.losses.count(LossKind::RoundedToNothing, "rows", rounded as u64);
    let cut = rows.iter().filter(|row| row.name.ends_with("...")).count();
    layers.losses.count(LossKind::CutNames, "names that end with ...", cut as u64);
    Ok(layers.finish())
}

/// Counts a total that the sum of the rows is off by more than a hundredth beyond their rounding.
fn compare_with(layers: &mut Layers, subject: &str, total: Option<Nanoseconds>, sum: i64, rounding: i64) {
    let Some(total) = total else { return };
    let missing = total.0.saturating_sub(sum);
    let allowed = (total.0 / 100).saturating_add(rounding);
    if missing > allowed {
        let time = format!("{:.3} ms of {subject}", missing as f64 / 1e6);
        layers.losses.count(LossKind::RowsNotPrinted, &time, 1);
    } else if missing.saturating_neg() > allowed {
        let times =
            format!("rows of {:.3} ms, {subject} of {:.3} ms", sum as f64 / 1e6, total.0 as f64 / 1e6);
        layers.losses.count(LossKind::OffTotal, &times, 1);
    }
}

fn row(columns: &Columns, line: &str) -> Option<Row> {
    let cells = cut(line, &columns.spans);
    let name = cells[columns.name].to_owned();
    let calls = cells[columns.calls].parse().ok()?;
    let device = columns.device.as_ref().map(|(place, _)| duration(cells[*place]).unwrap_or_default());
    let is_told = |place: &usize| cells[*place].bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    let is_of_processor = columns.of_processor.iter().any(is_told);
    let (cpu, of_cpu) = (duration(cells[columns.cpu]), rounding(cells[columns.cpu]));
    let of_device = columns.device.as_ref().map_or(0, |(place, _)| rounding(cells[*place]));
    // Kernels take time of the device alone.
    let has_other_time = !is_of_processor && device.is_some_and(|time| time.0 > 0);
    (!name.is_empty()).then(|| Row {
        name,
        cpu,
        device,
        is_of_processor,
        rounding: of_cpu.max(of_device),
        is_rounded_to_nothing: cpu == Some(Nanoseconds::ZERO) && of_cpu > 0 && !has_other_time,
        calls,
    })
}

/// Whether a line goes on with the stack of the row above: tables by stack have a place in the program on each.
fn is_of_stack(columns: &Columns, line: &str) -> bool {
    let cells = cut(line, &columns.spans);
    [columns.name, columns.cpu, columns.calls].iter().all(|place| cells[*place].is_empty())
}

/// The rows whose times of the device are work of its own: kernels, which take no time of the processor, or all rows
/// where none is a kernel's.
///
/// Where kernels have rows, the total is of these alone (`_build_table` of PyTorch's `profiler_util.py`), so that those
/// of operators count only where both together are the total: then no kernel of these operators was printed.
fn has_device_time(rows: &[Row], total: Option<Nanoseconds>) -> impl Fn(&Row) -> bool {
    let is_kernel = |row: &Row| !row.is_of_processor && row.device.is_some_and(|time| time.0 > 0);
    let sum = |of: &dyn Fn(&Row) -> bool| -> i128 {
        rows.iter().filter(|row| of(row)).map(|row| i128::from(row.device.unwrap_or_default().0)).sum()
    };
    // An annotation of the program has a row of each side under one name; no kernel is called as an operator is.
    let of_processor: HashSet<&str> =
        rows.iter().filter(|row| row.is_of_processor).map(|row| row.name.as_str()).collect();
    let is_work = move |row: &Row| is_kernel(row) && !of_processor.contains(row.name.as_str());
    let (kernels, all) = (sum(&is_work), sum(&|_| true));
    let is_total =
        |sum: i128| total.is_some_and(|total| (sum - i128::from(total.0)).abs() <= i128::from(total.0 / 100));
    let kernels_only = kernels > 0 && (is_total(kernels) || !is_total(all));
    move |row| if kernels_only { is_work(row) } else { row.device.is_some_and(|time| time.0 > 0) }
}

/// Enters the rows; returns whether they are of a profile of a device: whether any has a time of it, or the total tells
/// of one that the rows which were printed have nothing of.
fn enter(layers: &mut Layers, rows: &[Row], columns: &Columns, device_total: Option<Nanoseconds>) -> bool {
    let on_device = has_device_time(rows, device_total);
    let is_stated = device_total.is_some_and(|total| total.0 > 0);
    let has_device = is_stated || rows.iter().any(&on_device);
    let mut so_far = 0;
    for row in rows {
        let Some(cpu) = row.cpu else {
            layers.losses.count(LossKind::LayerWithoutDuration, &row.name, 1);
            continue;
        };
        // The device's own rows have no time of the processor.
        if has_device && cpu.0 == 0 && !row.is_of_processor {
            continue;
        }
        let durations: Vec<Nanoseconds> = parts(cpu, row.calls, so_far).collect();
        told_as_one(layers, row, durations.len());
        so_far += durations.len() as u64;
        // A step's own time is what its program did between operators.
        match has_device || row.name == STEP {
            true => {
                durations.iter().for_each(|duration| layers.call(&row.name, ApiLevel::Framework, *duration))
            }
            false => tasks(layers, row, &durations),
        }
    }
    if !has_device {
        return false;
    }
    let word = columns.device.as_ref().map_or("", |(_, word)| word);
    let (kind, unit) = match word {
        "CUDA" | "XPU" | "MPS" | "HIP" => (DeviceKind::Gpu, ExecutionUnit::Gpu),
        "NPU" => (DeviceKind::Npu, ExecutionUnit::Other),
        _ => (DeviceKind::Other, ExecutionUnit::Other),
    };
    layers.enter_device(kind, unit, word);
    for row in rows.iter().filter(|row| on_device(row)) {
        let durations: Vec<Nanoseconds> = parts(row.device.unwrap_or_default(), row.calls, so_far).collect();
        told_as_one(layers, row, durations.len());
        so_far += durations.len() as u64;
        tasks(layers, row, &durations);
    }
    true
}

/// Counts what is told as fewer calls than the table has.
fn told_as_one(layers: &mut Layers, row: &Row, parts: usize) {
    let missing = row.calls.saturating_sub(parts as u64);
    layers.losses.count(LossKind::ExecutionsAsOne, &row.name, missing);
}

fn tasks(layers: &mut Layers, row: &Row, durations: &[Nanoseconds]) {
    let operator = layers.operator(&Layer { name: row.name.clone(), ..Layer::default() });
    let calls = (row.calls != durations.len() as u64).then_some(row.calls as f64);
    for duration in durations {
        if let Some(task) = layers.task(operator, Some(*duration), &row.name) {
            layers.measured(task, &[("calls", "", calls)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with the given rows: name, times of the processor and the device, calls.
    fn table(rows: &[[&str; 4]], totals: &str) -> String {
        let dashes = "--------------------  ------------  ------------  ------------  ------------  \n";
        let line = |cells: [&str; 5]| {
            let [name, share, cpu, device, calls] = cells;
            format!("{name:>20}  {share:>12}  {cpu:>12}  {device:>12}  {calls:>12}  \n")
        };
        let headings = line(["Name", "Self CPU %", "Self CPU", "Self CUDA", "# of Calls"]);
        let share = |cpu: &str| if cpu.starts_with("0.000") { "0.00%" } else { "1.00%" };
        let rows: String = rows
            .iter()
            .map(|[name, cpu, device, calls]| line([name, share(cpu), cpu, device, calls]))
            .collect();
        format!("{dashes}{headings}{dashes}{rows}{dashes}{totals}")
    }

    fn durations(text: &str) -> (Vec<i64>, Vec<i64>) {
        let trace = read(text.as_bytes(), &Stop::default()).unwrap();
        let of = |times: &[Nanoseconds]| times.iter().map(|time| time.0).collect();
        (of(trace.tasks.duration()), of(trace.api_calls.duration()))
    }

    #[test]
    fn without_a_device_rows_are_tasks_one_for_each_call() {
        let rows = [["aten::conv2d", "10.000us", "0.000us", "3"], ["aten::relu", "1.5ms", "0.000us", "1"]];
        let text = table(&rows, "Self CPU time total: 1.510ms\nSelf CUDA time total: 0.000us\n");
        assert!(looks_like(text.as_bytes()));
        assert_eq!(durations(&text), (vec![3_334, 3_333, 3_333, 1_500_000], vec![]));
    }

    #[test]
    fn cells_longer_than_their_dashes_move_those_behind_them() {
        let dashes = "--------  ------------  ------------  ------------  ------------  ------------  \n";
        let line = |cells: [&str; 6]| {
            let [name, cpu, share, device, average, calls] = cells;
            format!("{name:>8}  {cpu:>12}  {share:>12}  {device:>12}  {average:>12}  {calls:>12}  \n")
        };
        let headings = line(["Name", "Self CPU", "Self CUDA %", "Self CUDA", "CUDA time avg", "# of Calls"]);
        let long = line(["aten::a long name", "10us", "1%", "8us", "4us", "2"]);
        let plain = line(["mm", "1000000.000us", "1%", "2us", "2us", "1"]);
        let text = format!("{dashes}{headings}{dashes}{long}{plain}{dashes}");
        assert!(looks_like(text.as_bytes()));
        assert_eq!(durations(&text), (vec![4_000, 4_000, 2_000], vec![5_000, 5_000, 1_000_000_000]));
        // Editors take blanks at the ends of lines away.
        let trimmed: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        assert_eq!(durations(&trimmed), durations(&text));
        // Letters count, not their bytes.
        let foreign = text.replace("aten::a long name", "卷积::ä long näme").replace("      mm", "      mä");
        assert_eq!(durations(&foreign), durations(&text));
        assert_eq!(cut("näm   ex  1 é ", &[(0, 4), (6, 8), (10, 11)]), ["näm", "ex", "1 é"]);
        // Wider words for devices move more than one column.
        let private =
            text.replace("Self CUDA %", "Self PrivateUse1 %").replace("   Self CUDA", "Self PrivateUse1");
        let private = private.replace("CUDA time avg", "PrivateUse1 time avg");
        assert_eq!(durations(&private), durations(&text));
    }

    #[test]
    fn a_devices_time_counts_once_whether_kernels_have_rows_or_not() {
        let operators = [["aten::mm", "10us", "8us", "2"], ["aten::add", "4us", "2us", "1"]];
        let text = table(&operators, "Self CUDA time total: 10.000us\n");
        assert_eq!(durations(&text), (vec![4_000, 4_000, 2_000], vec![5_000, 5_000, 4_000]));
        let with_kernels =
            [operators[0], operators[1], ["gemm", "0.000us", "8us", "2"], ["add_k", "0.000us", "2us", "1"]];
        for totals in ["Self CUDA time total: 10.000us\n", ""] {
            let (tasks, calls) = durations(&table(&with_kernels, totals));
            assert_eq!((tasks, calls.len()), (vec![4_000, 4_000, 2_000], 3));
        }
    }

    /// The durations of tasks and the losses with what they tell.
    fn tasks_and_losses(text: &str) -> (Vec<i64>, Vec<(LossKind, String)>) {
        let trace = read(text.as_bytes(), &Stop::default()).unwrap();
        let losses =
            trace.losses.iter().map(|(_, loss)| (loss.kind, trace.strings.get(loss.detail).to_owned()));
        (trace.tasks.duration().iter().map(|time| time.0).collect(), losses.collect())
    }

    #[test]
    fn with_rows_left_out_kernels_alone_count_and_the_rest_of_the_total_is_told() {
        let rows = [["aten::conv2d", "10us", "8.000us", "1"], ["im2col", "0.000us", "3.000us", "1"]];
        let (tasks, losses) = tasks_and_losses(&table(&rows, "Self CUDA time total: 12.000us\n"));
        assert_eq!(tasks, [3_000]);
        assert_eq!(losses, [(LossKind::RowsNotPrinted, "0.009 ms of the device's time total".to_owned())]);
        // Of an operator no kernel was printed, and of the others all.
        let (tasks, losses) = tasks_and_losses(&table(&rows, "Self CUDA time total: 11.000us\n"));
        assert_eq!((tasks, losses), (vec![8_000, 3_000], vec![]));
    }

    #[test]
    fn rows_of_more_than_the_total_are_told() {
        let rows = [["mm", "10.000us", "8.000us", "1"]];
        let text = table(&rows, "Self CPU time total: 5.000us\nSelf CUDA time total: 4.000us\n");
        let (_, losses) = tasks_and_losses(&text);
        let told = [
            "rows of 0.010 ms, Self CPU time total of 0.005 ms",
            "rows of 0.008 ms, the device's time total of 0.004 ms",
        ];
        assert_eq!(losses, told.map(|times| (LossKind::OffTotal, times.to_owned())));
    }

    #[test]
    fn a_device_of_which_no_row_was_printed_leaves_the_host_calls_and_no_operators() {
        let rows = [["aten::conv2d", "10.000us", "0.000us", "1"]];
        let text = table(&rows, "Self CPU time total: 10.000us\nSelf CUDA time total: 4.000ms\n");
        assert_eq!(durations(&text), (vec![], vec![10_000]));
        let (_, losses) = tasks_and_losses(&text);
        assert_eq!(losses, [(LossKind::RowsNotPrinted, "4.000 ms of the device's time total".to_owned())]);
    }

    #[test]
    fn an_operator_whose_time_is_rounded_to_nothing_is_no_kernel() {
        let rows = [["aten::mm", "0.100s", "8.000s", "1"], ["aten::add", "0.000s", "2.000s", "1"]];
        let kernels = [["gemm", "0.000s", "8.000s", "1"], ["add_k", "0.000s", "2.000s", "1"]];
        let text = table(&[&rows[..], &kernels].concat(), "Self CUDA time total: 10.000s\n");
        let of_add = text.lines().find(|line| line.contains("aten::add")).unwrap();
        let text = text.replace(of_add, &of_add.replace("0.00%", "0.40%"));
        assert_eq!(durations(&text), (vec![8_000_000_000, 2_000_000_000], vec![100_000_000, 0]));
    }

    #[test]
    fn times_that_a_coarse_unit_prints_as_none_are_told() {
        let told = |rows: &[[&str; 4]], totals: &str| {
            let trace = read(table(rows, totals).as_bytes(), &Stop::default()).unwrap();
            let losses = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count));
            losses.collect::<Vec<_>>()
        };
        let rounded = |count: u64| vec![(LossKind::RoundedToNothing, count)];
        let host = [["aten::mm", "0.012s", "0.000s", "1"], ["aten::add", "0.000s", "0.000s", "9"]];
        // Rounding alone may make the millisecond that the total has beyond the rows.
        assert_eq!(told(&host, "Self CPU time total: 0.013s\nSelf CUDA time total: 0.000s\n"), rounded(1));
        let exact = [["aten::mm", "12.000ms", "0.000us", "1"], ["aten::add", "0.000us", "0.000us", "9"]];
        assert!(told(&exact, "Self CPU time total: 12.000ms\n").is_empty());
        // Kernels take no time of the processor in any unit.
        let kernels = [
            ["aten::mm", "0.012s", "0.500s", "1"],
            ["gemm", "0.000s", "0.500s", "1"],
            ["tiny", "0.000s", "0.000s", "3"],
        ];
        assert_eq!(told(&kernels, "Self CUDA time total: 0.500s\n"), rounded(1));
    }

    #[test]
    fn lines_of_a_rows_stack_are_no_rows() {
        let rows = [["aten::mm", "10.000us", "0.000us", "1"], ["aten::relu", "1.000us", "0.000us", "1"]];
        let mut lines = table(&rows, "").lines().map(str::to_owned).collect::<Vec<_>>();
        for place in [0, 2, 5] {
            lines[place] += &"-".repeat(24);
        }
        lines[1] += "Source Location";
        lines[3] += "linear.py(20): forward";
        let width = lines[0].len() - 24;
        lines.insert(4, format!("{:width$}model.py(3): forward", ""));
        lines.insert(5, " ".repeat(width + 24));
        let trace = read((lines.join("\n") + "\n").as_bytes(), &Stop::default()).unwrap();
        assert_eq!((trace.tasks.len(), trace.losses.len()), (2, 0));
    }

    #[test]
    fn of_several_tables_in_one_text_the_first_counts() {
        let rows = [["aten::conv2d", "10.000us", "0.000us", "1"]];
        let first = table(&rows, "Self CPU time total: 10.000us\n\nsorted otherwise:\n");
        let wider = table(&[["aten::conv2d", "1.000us", "0.000us", "1"]], "Self CPU time total: 1.000us\n");
        let wider =
            wider.lines().map(|line| format!("-  {line}\n")).collect::<String>().replace("-   ", "    ");
        for second in [first.clone(), wider] {
            let trace = read([first.clone(), second].concat().as_bytes(), &Stop::default()).unwrap();
            assert_eq!(trace.tasks.duration(), [Nanoseconds(10_000)]);
            assert_eq!(trace.losses.kind(), [LossKind::FurtherRun]);
        }
    }

    #[test]
    fn a_total_tells_of_rows_that_were_not_printed() {
        let rows = [["aten::conv2d", "10.000us", "0.000us", "1"], ["at::nati...", "5.000us", "0.000us", "1"]];
        let trace =
            read(table(&rows, "Self CPU time total: 100.000us\n").as_bytes(), &Stop::default()).unwrap();
        let losses: Vec<_> = trace.losses.kind().iter().zip(trace.losses.detail()).collect();
        assert_eq!(losses.len(), 2);
        assert_eq!(*losses[0].0, LossKind::RowsNotPrinted);
        assert!(trace.strings.get(*losses[0].1).starts_with("0.085 ms"));
        assert_eq!(*losses[1].0, LossKind::CutNames);
    }

    #[test]
    fn times_of_all_calls_of_a_device_are_nobodys_own() {
        let rows = [["conv2d", "100us", "5.000ms", "1"], ["cudnn_conv", "50us", "5.000ms", "1"]];
        let old = table(&rows, "CUDA time total: 10.000ms\n").replace(" Self CUDA", "CUDA total");
        let trace = read(old.as_bytes(), &Stop::default()).unwrap();
        assert_eq!(trace.tasks.duration(), [100_000, 50_000].map(Nanoseconds));
        assert_eq!(trace.losses.kind(), [LossKind::LayerWithoutDuration]);
    }

    #[test]
    fn a_step_of_the_profiler_is_no_operator() {
        let rows = [["ProfilerStep*", "60us", "0us", "1"], ["aten::conv2d", "30us", "0us", "1"]];
        assert_eq!(durations(&table(&rows, "")), (vec![30_000], vec![60_000]));
    }

    #[test]
    fn rows_that_can_not_be_read_are_counted_and_huge_counts_kept_small() {
        let rows = [
            ["a", "x", "0us", "1"],
            ["b", "1us", "0us", "many"],
            ["c", "2us", "0us", "18446744073709551615"],
        ];
        let trace = read(table(&rows, "").as_bytes(), &Stop::default()).unwrap();
        assert_eq!(trace.tasks.duration(), [Nanoseconds(2_000)]);
        let kinds: Vec<_> = trace.losses.kind().to_vec();
        assert_eq!(kinds, [LossKind::ShortLayer, LossKind::LayerWithoutDuration, LossKind::ExecutionsAsOne]);
        assert!(read(b"nothing", &Stop::default()).is_err());
        assert!(!looks_like(b"---  ---  ---\nName  a  b\n"));
    }
}
