//! The matrix of links: for each pair of ranks of a group and each kind of communication the best, middle and
//! worst transfers of a step, and the sum of all.

use std::collections::BTreeMap;

use crate::layout::Group;
use crate::operations::Transfer;
use crate::tables::{LinkUse, Tables, Transport};

/// A row of the matrix.
#[derive(Debug)]
pub(crate) struct MatrixRow<'a> {
    pub(crate) step: u32,
    pub(crate) group: Group,
    pub(crate) transfer: Transfer,
    /// Which transfer it is: `top1`, `middle`, `bottom1` to `bottom3`, or `total`.
    pub(crate) pick: &'static str,
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) transport: Transport,
    pub(crate) bytes: f64,
    pub(crate) duration: f64,
    /// The operator, but for the total.
    pub(crate) operator: Option<&'a str>,
}

/// The matrix of a rank, sorted by step, kind, group, pair and pick.
pub(crate) fn matrix(tables: &Tables) -> Vec<MatrixRow<'_>> {
    let mut pairs: BTreeMap<_, Vec<(&str, LinkUse)>> = BTreeMap::new();
    for collective in &tables.collectives {
        for link in &collective.links {
            let kind = (!collective.transfer.is_between_two(), collective.transfer, collective.group);
            let key = (collective.step, kind, link.source, link.target);
            pairs.entry(key).or_default().push((&collective.name, *link));
        }
    }
    let mut rows = Vec::new();
    for ((step, (_, transfer, group), source, target), mut uses) in pairs {
        let mut push = |pick, operator, bytes, duration, transport| {
            rows.push(MatrixRow {
                step,
                group,
                transfer,
                pick,
                source,
                target,
                transport,
                bytes,
                duration,
                operator,
            });
        };
        let total =
            uses.iter().fold((0.0, 0.0), |sum, (_, link)| (sum.0 + link.bytes, sum.1 + link.duration));
        let transport = uses[0].1.transport;
        // The quickest first.
        uses.sort_by(|(_, a), (_, b)| (b.bytes / b.duration).total_cmp(&(a.bytes / a.duration)));
        let last = uses.len() - 1;
        let picks = [
            ("top1", Some(0)),
            ("middle", Some(uses.len() / 2)),
            ("bottom1", Some(last)),
            ("bottom2", last.checked_sub(1)),
            ("bottom3", last.checked_sub(2)),
        ];
        for (pick, place) in picks {
            if let Some((operator, link)) = place.map(|place| uses[place]) {
                push(pick, Some(operator), link.bytes, link.duration, link.transport);
            }
        }
        push("total", None, total.0, total.1, transport);
    }
    rows
}

/// Bytes a nanosecond, which are gigabytes a second, to four digits.
pub(crate) fn rate(bytes: f64, duration: f64) -> f64 {
    if duration > 0.0 { (bytes / duration * 1e4).round() / 1e4 } else { 0.0 }
}

/// The ways of a collective between ranks: transport, bytes, duration and number of transfers.
pub(crate) fn by_transport(links: &[LinkUse]) -> Vec<(Transport, f64, f64, u32)> {
    let sum = |transport| {
        let of = links.iter().filter(|link| link.transport == transport);
        of.fold((transport, 0.0, 0.0, 0), |sum, link| {
            (transport, sum.1 + link.bytes, sum.2 + link.duration, sum.3 + 1)
        })
    };
    [Transport::Hccs, Transport::Rdma].map(sum).into_iter().filter(|(_, _, _, count)| *count > 0).collect()
}

/// The megabytes of one of several packages of the same size.
pub(crate) fn package(bytes: f64, count: u32) -> f64 {
    (bytes / f64::from(count)).round() / 1e6
}
