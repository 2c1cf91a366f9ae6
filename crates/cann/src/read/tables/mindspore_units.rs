//! The units of times in MindSpore's tables of tasks, of which headings tell none or another one.
//!
//! Since 2.1 MindSpore makes these tables of msprof's `op_summary`, of which it divides all times by a thousand
//! (`AscendMsprofDataGenerator` and `AscendOPGenerator` of its profiler):
//!
//! | table | until 2.0 | since 2.1 |
//! |---|---|---|
//! | `output_timeline_data` | milliseconds under `start_time(ms)` | milliseconds under `start_time(us)` |
//! | `aicpu_intermediate` | microseconds from `run_start` to `run_end` | milliseconds, `run_end` is `run_start` and `total_time` |

use std::collections::HashMap;

use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Nanoseconds};

use super::table::{Column, Header, Losses, Row, read_rows};
use crate::headings::mindspore;

/// A time since 1970 in microseconds is greater since 1973, and one in milliseconds until the year 5138 is not.
const MICROS_SINCE_1970: f64 = 1e14;

/// A time since 1970 in milliseconds is greater since 1973, and no processor runs so long that its own clock is.
const MILLIS_SINCE_1970: f64 = 1e11;

/// A unit of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Micros,
    Millis,
}

impl Unit {
    /// The time in a cell.
    pub fn read(self, row: &Row<'_>, column: Option<Column>) -> Option<Nanoseconds> {
        match self {
            Self::Micros => row.micros(column),
            Self::Millis => row.millis(column),
        }
    }
}

/// The begins of tasks on one stream, in whatever unit they are, and their durations in milliseconds.
struct OnStream {
    first: f64,
    last: f64,
    durations: f64,
    of_last: f64,
}

/// The unit of the begins under a heading of microseconds, and how sure it is. Times since 1970 tell it by their size,
/// and tasks of one stream that would overlap in microseconds are in milliseconds. Tasks that fit as microseconds fit
/// as milliseconds too: then nothing but the habit of the writer tells.
pub(super) fn unit_of_begins(text: &[u8], header: &Header, stop: &Stop) -> (Unit, Option<LossKind>) {
    /// Digits are rounded.
    const ROUNDING: f64 = 1.01;
    let [stream, start, duration] =
        [mindspore::STREAM, mindspore::START_RENAMED, mindspore::DURATION].map(|name| header.find(&[name]));
    let mut streams: HashMap<Option<u64>, OnStream> = HashMap::new();
    read_rows(text, header, stop, &mut Losses::default(), |row, _| {
        let (Some(start), Some(duration)) = (row.float(start), row.float(duration)) else { return };
        let none = OnStream { first: start, last: start, durations: 0.0, of_last: duration };
        let on_stream = streams.entry(row.number(stream)).or_insert(none);
        on_stream.first = on_stream.first.min(start);
        on_stream.durations += duration;
        if start >= on_stream.last {
            (on_stream.last, on_stream.of_last) = (start, duration);
        }
    });
    if streams.values().any(|on_stream| on_stream.last >= MICROS_SINCE_1970) {
        return (Unit::Micros, None);
    }
    if streams.values().any(|on_stream| on_stream.last >= MILLIS_SINCE_1970) {
        return (Unit::Millis, Some(LossKind::UnitOfValues));
    }
    let overlap = |on_stream: &OnStream| {
        let micros = (on_stream.durations - on_stream.of_last) * 1e3;
        micros > (on_stream.last - on_stream.first) * ROUNDING
    };
    match streams.values().any(overlap) {
        true => (Unit::Millis, Some(LossKind::UnitOfValues)),
        false => (Unit::Millis, Some(LossKind::UnsureUnit)),
    }
}

/// The meaning of the begin and end of tasks on the AI CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AiCpuSpans {
    /// Both were measured, in microseconds.
    Measured,
    /// The end is the begin and all of the row's times, of which the first, the wait, lies before the begin.
    Computed(Unit),
}

/// The meaning of begins and ends in a table of tasks on the AI CPU: where most ends are the begin and the row's whole
/// time in milliseconds, they were computed so.
pub(super) fn ai_cpu_spans(text: &[u8], header: &Header, stop: &Stop) -> AiCpuSpans {
    let [start, end, total] = [mindspore::AI_CPU_START, mindspore::AI_CPU_END, mindspore::TOTAL_TIME]
        .map(|name| header.find(&[name]));
    let (mut rows, mut computed, mut last) = (0u64, 0u64, 0.0f64);
    read_rows(text, header, stop, &mut Losses::default(), |row, _| {
        let (Some(start), Some(end), Some(total)) = (row.float(start), row.float(end), row.float(total))
        else {
            return;
        };
        // Sums of such numbers have no more digits.
        let rounding = 4.0 * f64::EPSILON * end.abs();
        rows += 1;
        computed += u64::from((end - start - total).abs() <= rounding);
        last = last.max(start);
    });
    match computed * 2 > rows {
        false => AiCpuSpans::Measured,
        true if last >= MICROS_SINCE_1970 => AiCpuSpans::Computed(Unit::Micros),
        true => AiCpuSpans::Computed(Unit::Millis),
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::{LossKind, Trace};

    use super::super::read;

    fn spans(trace: &Trace) -> Vec<(i64, i64)> {
        let zero = trace.clock.unix_zero.unwrap_or(0);
        trace.tasks.iter().map(|(_, task)| (task.start.0 + zero, task.duration.0)).collect()
    }

    fn losses(trace: &Trace) -> Vec<(LossKind, u64)> {
        trace.losses.iter().map(|(_, row)| (row.kind, row.count)).collect()
    }

    fn timeline(rows: &str) -> Trace {
        let table = format!("op_name,stream_id,start_time(us),duration(ms)\n{rows}");
        read(table.as_bytes(), &Default::default()).unwrap()
    }

    #[test]
    fn begins_under_a_heading_of_microseconds_are_milliseconds_where_tasks_would_overlap() {
        let of_2023 =
            timeline("a,3,1700000000000.0,1.5\nb,3,1700000000001.75,2e-05\na,3,1700000000002.5,1.5\n");
        let begin = 1_700_000_000_000_000_000;
        assert_eq!(
            spans(&of_2023),
            [(begin, 1_500_000), (begin + 1_750_000, 20), (begin + 2_500_000, 1_500_000)]
        );
        assert_eq!(losses(&of_2023), [(LossKind::UnitOfValues, 3)]);
    }

    #[test]
    fn begins_under_a_heading_of_microseconds_are_milliseconds_by_their_size_and_doubted_where_nothing_tells()
    {
        let seldom = timeline("a,3,1700000000000.0,0.3\na,3,1700000001000.0,0.3\na,3,1700000002000.0,0.3\n");
        assert_eq!(spans(&seldom)[2], (1_700_000_002_000_000_000, 300_000));
        assert_eq!(losses(&seldom), [(LossKind::UnitOfValues, 3)]);
        let fitting = timeline("a,3,1000.0,1.5\nb,3,2600.0,0.25\na,3,3000.0,1.5\nc,4,3000.0,9\n");
        assert_eq!(spans(&fitting)[1], (2_600_000_000, 250_000));
        assert_eq!(losses(&fitting), [(LossKind::UnsureUnit, 4)]);
        let since_1970 = timeline("a,3,1700000000000000.0,1.5\n");
        assert_eq!(spans(&since_1970), [(1_700_000_000_000_000_000, 1_500_000)]);
        assert!(since_1970.losses.is_empty());
    }

    #[test]
    fn a_unit_of_begins_that_nothing_tells_is_doubted() {
        let trace = timeline("a,3,2000.5,1.5\nb,4,2000.5,1.5\n");
        assert_eq!(spans(&trace), [(2_000_500_000, 1_500_000); 2]);
        assert_eq!(losses(&trace), [(LossKind::UnsureUnit, 2)]);
    }

    fn ai_cpu(rows: &str) -> Trace {
        let heading = "serial_number,op_type,total_time,dispatch_time,execution_time,run_start,run_end\n";
        read(format!("{heading}{rows}").as_bytes(), &Default::default()).unwrap()
    }

    #[test]
    fn tasks_of_the_ai_cpu_whose_end_is_a_sum_last_as_long_as_they_were_executed() {
        let since_2_1 = ai_cpu(
            "1,GetNext,0.9,0.1,0.8,1700000000001.85,1700000000002.7502\n\
             2,GetNext,0.9,0.1,0.8,1700000000004.5503,1700000000005.4504\n",
        );
        assert_eq!(spans(&since_2_1)[0], (1_700_000_000_001_850_000, 800_000));
        assert_eq!(since_2_1.tasks.wait()[0].map(|wait| wait.0), Some(100_000));
        let of_2021 = ai_cpu("1,InitData,1.567,0.1,0.5,2298200409,2298200538\n");
        assert_eq!(spans(&of_2021), [(2_298_200_409_000, 129_000)]);
        let in_micros = ai_cpu("1,GetNext,0.9,0.1,0.8,1700000000001850.0,1700000000001850.8\n");
        assert_eq!(spans(&in_micros), [(1_700_000_000_001_850_000, 800_000)]);
    }
}
