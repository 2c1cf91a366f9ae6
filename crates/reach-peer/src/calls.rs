//! Statistics of the calls of the vendor's runtime: `cann_api_sum`.

use std::collections::BTreeMap;
use std::path::Path;

use opscope_reach::Collection;
use opscope_reach::database::{Texts, each_row, whole};
use opscope_trace::NumberMap;

use crate::Options;
use crate::error::PeerError;
use crate::numbers::{Description, median, round_half_even, round_half_up};
use crate::profile::{Span, wanted};
use crate::ranks::{File, Ranks};
use crate::table::{Kind, Output, Table};

const BY_RANK: Table = Table {
    name: "CannApiSumRank",
    columns: &[
        ("name", Kind::Text),
        ("durationRatio", Kind::Real),
        ("totalTimeNs", Kind::Integer),
        ("totalCount", Kind::Integer),
        ("averageNs", Kind::Real),
        ("minNs", Kind::Real),
        ("Q1Ns", Kind::Real),
        ("medNs", Kind::Real),
        ("Q3Ns", Kind::Real),
        ("maxNs", Kind::Real),
        ("stdev", Kind::Real),
        ("rank", Kind::Integer),
    ],
    index: &[],
};

const ALL: Table = Table {
    name: "CannApiSum",
    columns: &[
        ("name", Kind::Text),
        ("timeRatio", Kind::Real),
        ("totalTimeNs", Kind::Integer),
        ("totalCount", Kind::Integer),
        ("averageNs", Kind::Real),
        ("Q1Ns", Kind::Real),
        ("medNs", Kind::Real),
        ("Q3Ns", Kind::Real),
        ("minNs", Kind::Real),
        ("maxNs", Kind::Real),
        ("stdev", Kind::Real),
        ("minRank", Kind::Text),
        ("maxRank", Kind::Text),
    ],
    index: &["name"],
};

/// A call's figures on a rank, rounded to one place as the table shows them. What all ranks show together is
/// derived from these, as the vendor's tool does.
#[derive(Clone, Debug)]
struct Call {
    rank: u32,
    name: String,
    ratio: f64,
    total: i64,
    count: i64,
    average: f64,
    least: f64,
    quartiles: [f64; 3],
    greatest: f64,
    deviation: f64,
}

fn read(ranks: &Ranks, collection: &Collection, options: &Options) -> Vec<Call> {
    let mut by_id: NumberMap<i64, Vec<i64>> = NumberMap::default();
    let mut texts = Texts::default();
    ranks.read(collection, File::Profile, |database| {
        let Some(within) = wanted(database, options.step)? else { return Ok(()) };
        let (read, done) = Texts::read(database);
        texts = read;
        let rows = each_row(database, "CANN_API", &["name", "startNs", "endNs"], |row| {
            if let (Some(name), Some(start), Some(end)) = (whole(row, 0), whole(row, 1), whole(row, 2))
                && within.contains(start)
                && (Span { start, end }).can_be()
            {
                by_id.entry(name).or_default().push(end.saturating_sub(start));
            }
        });
        done.and(rows)
    });
    let mut by_name: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (name, mut durations) in by_id {
        by_name.entry(texts.get(Some(name))).or_default().append(&mut durations);
    }
    let whole = by_name.values().flatten().map(|it| i128::from(*it)).sum::<i128>() as f64;
    let describe = |(name, mut durations): (&str, Vec<i64>)| {
        let it = Description::of(&mut durations)?;
        let rounded = |value| round_half_up(value, 1);
        Some(Call {
            rank: collection.rank,
            name: name.to_owned(),
            ratio: if whole > 0.0 { round_half_up(it.sum * 100.0 / whole, 2) } else { 0.0 },
            total: it.sum as i64,
            count: it.count as i64,
            average: rounded(it.mean),
            least: rounded(it.least),
            quartiles: [it.first_quartile, it.median, it.third_quartile].map(rounded),
            greatest: rounded(it.greatest),
            deviation: rounded(it.whole_deviation()),
        })
    };
    let mut described: Vec<Call> = by_name.into_iter().filter_map(describe).collect();
    described.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.name.cmp(&b.name)));
    described
}

/// Writes the tables.
///
/// # Errors
/// When the result can't be written.
pub fn sum(ranks: &Ranks, options: &Options, path: &Path) -> Result<(), PeerError> {
    let mut calls = Vec::new();
    let Ok(()) = ranks.each(
        |collection| read(ranks, collection, options),
        |_, mut of_rank| {
            calls.append(&mut of_rank);
            Ok::<_, std::convert::Infallible>(())
        },
    );
    Output::write(path, |output| {
        let mut table = output.table(&BY_RANK)?;
        for call in &calls {
            let Call { name, ratio, total, count, average, least, greatest, deviation, rank, .. } = call;
            let [first, median, third] = call.quartiles;
            table.row((
                name, ratio, total, count, average, least, first, median, third, greatest, deviation, rank,
            ))?;
        }
        write_all(&calls, output)
    })
}

fn write_all(calls: &[Call], output: &Output) -> rusqlite::Result<()> {
    let mut by_name: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    calls.iter().for_each(|call| by_name.entry(&call.name).or_default().push(call));
    let sum = |calls: &mut dyn Iterator<Item = i64>| calls.fold(0, i64::saturating_add);
    let whole = sum(&mut calls.iter().map(|call| call.total));
    let mut names: Vec<(i64, &str, Vec<&Call>)> = by_name
        .into_iter()
        .map(|(name, of)| (sum(&mut of.iter().map(|call| call.total)), name, of))
        .collect();
    names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let mut table = output.table(&ALL)?;
    for (total, name, of_name) in &names {
        let count: i64 = of_name.iter().map(|call| call.count).sum();
        let least = of_name.iter().map(|call| call.least).fold(f64::INFINITY, f64::min);
        let greatest = of_name.iter().map(|call| call.greatest).fold(0.0, f64::max);
        let first = of_name.iter().map(|call| call.quartiles[0]).fold(f64::INFINITY, f64::min);
        let third = of_name.iter().map(|call| call.quartiles[2]).fold(0.0, f64::max);
        let mut medians: Vec<f64> = of_name.iter().map(|call| call.quartiles[1]).collect();
        medians.sort_unstable_by(f64::total_cmp);
        let ranks_of = |is_meant: &dyn Fn(&Call) -> bool| {
            let ranks = of_name.iter().filter(|call| is_meant(call)).map(|call| call.rank.to_string());
            ranks.collect::<Vec<_>>().join(", ")
        };
        let rounded = |value| round_half_even(value, 1);
        let ratio = if whole > 0 { rounded(*total as f64 * 100.0 / whole as f64) } else { 0.0 };
        let average = if count > 0 { *total as f64 / count as f64 } else { 0.0 };
        let (shortest, longest) =
            (ranks_of(&|call| call.least == least), ranks_of(&|call| call.greatest == greatest));
        table.row((
            name,
            ratio,
            total,
            count,
            rounded(average),
            rounded(first),
            rounded(median(&medians)),
            rounded(third),
            rounded(least),
            rounded(greatest),
            rounded(deviation(of_name, count, average)),
            shortest,
            longest,
        ))?;
    }
    Ok(())
}

/// The deviation of all ranks' calls from their mean, put together from the deviations within ranks and that of the
/// ranks' means.
fn deviation(calls: &[&Call], count: i64, mean: f64) -> f64 {
    if count < 2 {
        return 0.0;
    }
    let within = |call: &&Call| (call.count - 1) as f64 * call.deviation.powi(2);
    let between = |call: &&Call| call.count as f64 * (call.average - mean).powi(2);
    let squares: f64 = calls.iter().map(within).chain(calls.iter().map(between)).sum();
    (squares / (count - 1) as f64).sqrt()
}
