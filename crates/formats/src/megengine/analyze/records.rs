//! Which operators are asked for, and what is known of each or of all that become one row.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use opscope_trace::{Span, StringId};

use super::options::{EndKey, Options, Reduction};
use crate::megengine::{Footprint, Interval, Operator, Profile, Shape};

/// Where times were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// On the devices: execution.
    Device,
    /// On the host: dispatch.
    Host,
}

/// One row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Whose row it is.
    pub subject: Subject,
    /// Seconds.
    pub time: f64,
    /// Operations, where they are known and not zero.
    pub computation: Option<f64>,
    /// Bytes, where they are known.
    pub memory: Option<f64>,
}

/// Whose row it is.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// An operator's, by its position in the graph.
    Operator(usize),
    /// That of several operators.
    Group {
        /// Their common type; `None` for all operators.
        op_type: Option<StringId>,
        /// How many they are.
        count: usize,
    },
}

impl Record {
    /// The footprint of its operator, if it is one operator's and has one.
    pub fn footprint<'a>(&self, profile: &'a Profile) -> Option<&'a Footprint> {
        match self.subject {
            Subject::Operator(at) => profile.footprints.get(profile.operators.at(at).0),
            Subject::Group { .. } => None,
        }
    }

    /// Operations a second.
    pub fn flops(&self) -> Option<f64> {
        self.computation.map(|computation| computation / self.time)
    }

    /// Bytes a second.
    pub fn bandwidth(&self) -> Option<f64> {
        self.memory.map(|memory| memory / self.time)
    }
}

/// The longest time of an operator, over all places where it was at work.
fn longest(profile: &Profile, side: Side, operator: usize, key: EndKey) -> Option<f64> {
    let (id, _) = profile.operators.at(operator);
    let intervals = match side {
        Side::Device => profile.device_times(id),
        Side::Host => profile.host_times(id),
    };
    let time = |interval: &Interval| match key {
        EndKey::End => interval.end - interval.start,
        EndKey::Kernel => interval.kernel - interval.start,
    };
    intervals.iter().map(time).reduce(max)
}

/// The sum of all operators' longest times, selected or not; `None` when none was recorded.
pub fn total(profile: &Profile, side: Side) -> Option<f64> {
    let times = (0..profile.operators.len()).filter_map(|at| longest(profile, side, at, EndKey::End));
    let times: Vec<f64> = times.collect();
    (!times.is_empty()).then(|| sum(&times))
}

/// How long copies between devices took, and how long they waited; `None` when there was none.
pub fn copies(profile: &Profile, key: EndKey) -> Option<(f64, f64)> {
    let is_copy = |operator: &usize| profile.symbols.get(profile.operators.at(*operator).1.op_type) == "Copy";
    let copies = (0..profile.operators.len()).filter(is_copy);
    let times: Vec<f64> = copies.filter_map(|at| longest(profile, Side::Device, at, key)).collect();
    (!times.is_empty()).then(|| (sum(&times), sum(&times) / times.len() as f64))
}

/// The positions of the operators that the options select by type, name and inputs.
pub fn select(profile: &Profile, options: &Options) -> Vec<usize> {
    let types: Vec<StringId> = options.types.iter().filter_map(|name| profile.symbols.lookup(name)).collect();
    let dtype = options.input_dtype.as_ref().map(|name| profile.symbols.lookup(name));
    let has_type = |operator: &Operator| options.types.is_empty() || types.contains(&operator.op_type);
    let has_name = |operator: &Operator| match &options.name {
        Some(pattern) => pattern.matches(&profile.string(operator.name)),
        None => true,
    };
    let has_dtype = |operator: &Operator| match dtype {
        Some(wanted) => profile.ids.get(operator.inputs).iter().any(|input| {
            let plan = profile.vars.get(*input).and_then(|var| var.mem_plan);
            plan.is_some_and(|plan| Some(plan.data_type) == wanted)
        }),
        None => true,
    };
    let selected = |operator: &Operator| has_type(operator) && has_dtype(operator) && has_name(operator);
    (0..profile.operators.len()).filter(|at| selected(profile.operators.at(*at).1)).collect()
}

/// The rows of a table, in the order asked for, cut to those asked for.
///
/// # Errors
/// When there are rows to order, and no such column.
pub fn table(
    profile: &Profile,
    options: &Options,
    selected: &[usize],
    side: Side,
) -> Result<Vec<Record>, String> {
    let mut records: Vec<Record> = selected
        .iter()
        .filter_map(|&at| {
            let time = longest(profile, side, at, options.top_end_key)?;
            (options.min_time <= time && time <= options.max_time).then(|| record(profile, at, time))
        })
        .collect();
    if let Some(reduction) = options.aggregate {
        records = aggregate(profile, &records, options.by_type, reduction);
    }
    if !records.is_empty() {
        order(profile, &mut records, &options.order_by, options.ascending)?;
    }
    let count = records.len();
    records.truncate(match options.top {
        0 => count,
        top if top > 0 => usize::try_from(top).unwrap_or(usize::MAX),
        dropped => count.saturating_sub(usize::try_from(dropped.unsigned_abs()).unwrap_or(usize::MAX)),
    });
    Ok(records)
}

fn record(profile: &Profile, at: usize, time: f64) -> Record {
    let footprint = profile.footprints.get(profile.operators.at(at).0);
    Record {
        subject: Subject::Operator(at),
        time,
        // MegEngine writes null for a computation of zero, and means it when it writes 0 as well.
        computation: footprint.and_then(|known| known.computation).filter(|count| *count != 0.0),
        memory: footprint.and_then(|known| known.memory),
    }
}

/// Makes all records of one type into one, or all records; groups stand in the order in which they
/// came first.
fn aggregate(profile: &Profile, records: &[Record], by_type: bool, reduction: Reduction) -> Vec<Record> {
    let mut members: Vec<(Option<StringId>, Vec<&Record>)> = Vec::new();
    let mut groups: HashMap<Option<StringId>, usize> = HashMap::new();
    for record in records {
        let op_type = match record.subject {
            Subject::Operator(at) if by_type => Some(profile.operators.at(at).1.op_type),
            _ => None,
        };
        let group = match groups.entry(op_type) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                members.push((op_type, Vec::new()));
                *new.insert(members.len() - 1)
            }
        };
        members[group].1.push(record);
    }
    let reduced = |(op_type, members): (Option<StringId>, Vec<&Record>)| {
        let count = members.len();
        let reduce = |value: fn(&Record) -> Option<f64>| {
            reduce(members.iter().filter_map(|record| value(record)).collect(), count, reduction)
        };
        Record {
            subject: Subject::Group { op_type, count },
            time: reduce(|record| Some(record.time)).unwrap_or(0.0),
            computation: reduce(|record| record.computation),
            memory: reduce(|record| record.memory),
        }
    };
    members.into_iter().map(reduced).collect()
}

/// One value out of those that exist; members without one still count in the mean.
fn reduce(values: Vec<f64>, count: usize, reduction: Reduction) -> Option<f64> {
    let mut each = values.iter().copied();
    let first = each.next()?;
    Some(match reduction {
        Reduction::Max => each.fold(first, max),
        Reduction::Min => -each.fold(-first, |least, value| max(least, -value)),
        Reduction::Sum => sum(&values),
        Reduction::Mean => sum(&values) / count as f64,
    })
}

/// The larger of two; NaN if either is.
fn max(left: f64, right: f64) -> f64 {
    if left.is_nan() || left > right { left } else { right }
}

/// The sum in the order of additions that NumPy uses, which decides about the last digits: halves
/// of long lists on their own, and up to 128 values in eight interleaved sums.
fn sum(values: &[f64]) -> f64 {
    match values.len() {
        0..8 => values.iter().fold(0.0, |sum, value| sum + value),
        8..=128 => {
            let eights = values.chunks_exact(8);
            let rest = eights.remainder();
            let mut sums = [0.0; 8];
            for eight in eights {
                for (sum, value) in sums.iter_mut().zip(eight) {
                    *sum += value;
                }
            }
            let [a, b, c, d, e, f, g, h] = sums;
            rest.iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, value| sum + value)
        }
        length => {
            let half = length / 2;
            let (first, second) = values.split_at(half - half % 8);
            sum(first) + sum(second)
        }
    }
}

/// Orders rows by a column, and leaves equal ones as they are. Rows without a value come last
/// whichever way, and NaN right before it.
fn order(profile: &Profile, records: &mut [Record], column: &str, ascending: bool) -> Result<(), String> {
    let number: fn(&Profile, &Record) -> Option<f64> = match column {
        "time" => |_, record| Some(record.time),
        "computation" => |_, record| record.computation,
        "memory" => |_, record| record.memory,
        "flops" => |_, record| record.flops(),
        "bandwidth" => |_, record| record.bandwidth(),
        "opr_id" => |profile, record| match record.subject {
            Subject::Operator(at) => profile.operators.at(at).0.number().map(|id| id as f64),
            Subject::Group { .. } => None,
        },
        "in_shapes" | "out_shapes" => {
            let shapes = |record: &Record| {
                let footprint = record.footprint(profile)?;
                if column == "in_shapes" { footprint.in_shapes } else { footprint.out_shapes }
            };
            records.sort_by(|a, b| by_shapes(profile, shapes(a), shapes(b), ascending));
            return Ok(());
        }
        _ => {
            return Err(format!(
                "--order-by '{column}': there is no such column; use time, computation, memory, flops, \
                 bandwidth, opr_id, in_shapes or out_shapes"
            ));
        }
    };
    records.sort_by(|a, b| by_number(number(profile, a), number(profile, b), ascending));
    Ok(())
}

fn by_number(a: Option<f64>, b: Option<f64>, ascending: bool) -> Ordering {
    let rank = |value: Option<f64>| value.map_or(2, |value| u8::from(value.is_nan()));
    let values = match (a, b) {
        (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        _ => Ordering::Equal,
    };
    rank(a).cmp(&rank(b)).then(if ascending { values } else { values.reverse() })
}

fn by_shapes(
    profile: &Profile,
    a: Option<Span<Option<Shape>>>,
    b: Option<Span<Option<Shape>>>,
    ascending: bool,
) -> Ordering {
    let dimensions = |shape: &Option<Shape>| profile.dimensions.get(shape.unwrap_or_default());
    let values = match (a, b) {
        (Some(a), Some(b)) => {
            let (a, b) = (profile.shapes.get(a).iter(), profile.shapes.get(b).iter());
            a.map(dimensions).cmp(b.map(dimensions))
        }
        _ => Ordering::Equal,
    };
    a.is_none().cmp(&b.is_none()).then(if ascending { values } else { values.reverse() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_added_up_in_numpys_order() {
        // Computed with numpy.sum over the same values.
        let values = |count: usize| (0..count).map(|n| 1.0 / (n as f64 + 0.3)).collect::<Vec<_>>();
        for (count, expected) in NUMPY_SUMS {
            assert_eq!(sum(&values(count)), expected, "{count}");
        }
        assert!(sum(&[1.0, f64::NAN]).is_nan());
    }

    const NUMPY_SUMS: [(usize, f64); 11] = [
        (1, 3.3333333333333335),
        (7, 5.42034455783812),
        (8, 5.5573308592079815),
        (9, 5.677812786918825),
        (100, 8.105696588827518),
        (128, 8.352993315213695),
        (129, 8.360787547481818),
        (137, 8.421046453836306),
        (1000, 10.410079522862933),
        (4099, 11.820973751605829),
        (100_000, 15.01544768717253),
    ];

    #[test]
    fn what_has_no_value_comes_last_both_ways() {
        let mut values = [Some(1.0), None, Some(f64::NAN), Some(f64::INFINITY), Some(2.0), None];
        let text = |values: &[Option<f64>]| values.iter().map(|v| format!("{v:?} ")).collect::<String>();
        values.sort_by(|a, b| by_number(*a, *b, true));
        assert_eq!(text(&values), "Some(1.0) Some(2.0) Some(inf) Some(NaN) None None ");
        values.sort_by(|a, b| by_number(*a, *b, false));
        assert_eq!(text(&values), "Some(inf) Some(2.0) Some(1.0) Some(NaN) None None ");
    }

    #[test]
    fn members_without_a_value_count_in_the_mean_only() {
        assert_eq!(reduce(vec![6.0], 3, Reduction::Mean), Some(2.0));
        assert_eq!(reduce(vec![6.0, 1.0], 3, Reduction::Min), Some(1.0));
        assert_eq!(reduce(vec![6.0, 1.0], 3, Reduction::Max), Some(6.0));
        assert_eq!(reduce(vec![6.0, 1.0], 3, Reduction::Sum), Some(7.0));
        assert_eq!(reduce(Vec::new(), 3, Reduction::Sum), None);
        assert!(reduce(vec![6.0, f64::NAN], 2, Reduction::Min).is_some_and(f64::is_nan));
    }
}
