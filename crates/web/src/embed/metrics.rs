//! Quantities that hardware reports of tasks, averaged over each operator's executions.

use opscope_trace::Trace;

use super::operators::Operators;
use super::strings::Strings;
use crate::columns::Table;

/// The sum of a metric's values of an operator, and how many there are.
type Sum = (f64, u32);

/// The metrics, and the mean of each that was measured of an operator, operator by operator.
pub(super) fn tables(trace: &Trace, operators: &Operators, strings: &mut Strings) -> [Table; 2] {
    let metrics = trace.metrics.len();
    let mut sums: Vec<Vec<Sum>> = vec![Vec::new(); operators.count];
    for (reading, row) in trace.readings.iter() {
        let (operator, name) =
            (trace.tasks.operator()[row.task.index()], trace.tasks.name()[row.task.index()]);
        let Some(operator) = operators.row_of(operator, name) else { continue };
        let sums = &mut sums[operator as usize];
        sums.resize(metrics, (0.0, 0));
        for (metric, value) in trace.readings_of(reading) {
            let (sum, count) = &mut sums[metric.index()];
            *sum += value;
            *count += 1;
        }
    }
    let means: Vec<(u64, u64, f64)> = (0_u64..)
        .zip(&sums)
        .flat_map(|(operator, sums)| {
            let measured = (0_u64..).zip(sums).filter(|(_, (_, count))| *count > 0);
            measured.map(move |(metric, (sum, count))| (operator, metric, sum / f64::from(*count)))
        })
        .collect();
    let mut readings = Table::new("readings", means.len());
    readings.delta("operator", means.iter().map(|mean| mean.0));
    readings.whole("metric", means.iter().map(|mean| mean.1));
    readings.float("mean", means.iter().map(|mean| mean.2));

    let mut number = |id| u64::from(strings.number(trace.strings.get(id)));
    let names: Vec<(u64, u64)> =
        trace.metrics.iter().map(|(_, metric)| (number(metric.name), number(metric.unit))).collect();
    let mut named = Table::new("metrics", names.len());
    named.whole("name", names.iter().map(|name| name.0));
    named.whole("unit", names.iter().map(|name| name.1));
    [named, readings]
}
