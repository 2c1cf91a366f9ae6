//! Counters as JSON (`-json_stats`): `report_type`, and `detailed_performance` (a list of requests) or
//! `avg_performance` (one object), each with `nodes`.

use std::borrow::Cow;

use opscope_trace::{LossKind, Losses, Trace};

use super::ReadError;
use super::exec_graph::ExecGraph;
use super::sections::{Node, Sections};
use crate::json::{Scanned, Scanner, unescape};
use crate::reading::Stop;

const DETAILED: &str = "detailed_performance";
const AVERAGE: &str = "avg_performance";

/// Whether an object with this member is such a report.
pub fn is_key(key: &str) -> bool {
    matches!(key, DETAILED | AVERAGE)
}

/// Reads a report as a trace of one mean inference.
///
/// # Errors
/// When there is no node before the file breaks off.
pub fn read(json: &[u8], graph: Option<&ExecGraph>, stop: &Stop) -> Result<Trace, ReadError> {
    let (mut sections, mut losses) = (Sections::default(), Losses::default());
    let scanned = scan(json, &mut sections, &mut losses, stop);
    let mut trace = sections.into_trace(graph, |layers| layers.losses = losses);
    match scanned {
        Err(error) if trace.operators.is_empty() => Err(error.into()),
        Err(error) => {
            trace.count_loss(LossKind::CutLayers, 1, &error.to_string());
            Ok(trace)
        }
        Ok(()) => Ok(trace),
    }
}

/// The names of a report's nodes, of those as well that did not run by themselves.
pub fn names(json: &[u8], stop: &Stop) -> Vec<String> {
    let mut sections = Sections::default();
    // The nodes before a damaged place are nodes, too.
    let _ = scan(json, &mut sections, &mut Losses::default(), stop);
    sections.names()
}

fn scan(json: &[u8], sections: &mut Sections, losses: &mut Losses, stop: &Stop) -> Scanned<()> {
    Scanner::new(json).object("an object with the counters", |scanner, member| {
        match (member, scanner.peek()) {
            (b"detailed_performance", Some(b'[')) => {
                scanner.array("a list of requests", |scanner| request(scanner, sections, losses, stop))
            }
            (b"avg_performance", Some(b'{')) => request(scanner, sections, losses, stop),
            _ => scanner.skip().map(drop),
        }
    })
}

fn request(
    scanner: &mut Scanner<'_>,
    sections: &mut Sections,
    losses: &mut Losses,
    stop: &Stop,
) -> Scanned<()> {
    if scanner.peek() != Some(b'{') {
        losses.count(LossKind::NoLayer, "a request that is no object", 1);
        return scanner.skip().map(drop);
    }
    sections.begin();
    let mut total = String::new();
    let mut turns = stop.within(0u64..);
    scanner.object("a request", |scanner, member| {
        if member == b"total_real_time" {
            total = text(scanner)?.into_owned();
            return Ok(());
        }
        if member != b"nodes" || scanner.peek() != Some(b'[') {
            return scanner.skip().map(drop);
        }
        scanner.array("a list of nodes", |scanner| {
            if turns.next().is_none() {
                return Err(scanner.wrong("nobody who stops the reading"));
            }
            if scanner.peek() != Some(b'{') {
                losses.count(LossKind::NoLayer, "a node that is no object", 1);
                return scanner.skip().map(drop);
            }
            node(scanner, sections, losses)
        })
    })?;
    sections.compare_with(&total);
    sections.complete();
    Ok(())
}

fn node(scanner: &mut Scanner<'_>, sections: &mut Sections, losses: &mut Losses) -> Scanned<()> {
    let mut texts: [Cow<'_, str>; 6] = Default::default();
    scanner.object("a node", |scanner, member| {
        const MEMBERS: [&[u8]; 6] =
            [b"name", b"status", b"node_type", b"exec_type", b"real_time", b"cpu_time"];
        let Some(place) = MEMBERS.iter().position(|known| *known == member) else {
            return scanner.skip().map(drop);
        };
        texts[place] = text(scanner)?;
        Ok(())
    })?;
    let [name, status, op_type, kernel, real, cpu] = &texts;
    if name.is_empty() {
        losses.count(LossKind::NoLayer, "a node without a name", 1);
        return Ok(());
    }
    sections.take(&Node { name, status, op_type, kernel, real, cpu });
    Ok(())
}

/// A value as text: times are texts in the files of today, and numbers elsewhere.
fn text<'t>(scanner: &mut Scanner<'t>) -> Scanned<Cow<'t, str>> {
    Ok(match scanner.peek() {
        Some(b'"') => unescape(scanner.raw_string("a text")?.bytes),
        _ => String::from_utf8_lossy(scanner.value()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_members_that_tell_a_report_are_those_that_are_read() {
        assert!(is_key(DETAILED) && is_key(AVERAGE) && !is_key("nodes"));
    }
}
