//! Preparation of data on the device's general processors: records beside those of operators, or in
//! a file of their own, which older tools wrote as text.
//!
//! `[13135969231] Last queue dequeue, source:iterator_default, index:1, size:131`

use opscope_cann_raw::launching::kind;
use opscope_cann_raw::preparation::{AiCpuPreparation, OldPreparation};
use opscope_cann_raw::{Record, host};

use crate::catalogue::Catalogue;
use crate::decode::decode;
use crate::slices::{HOST_MAGIC, Stream};
use crate::tables::Preparation;
use opscope_trace::{LossKind, Losses};

/// The begin of the text of the lines that are shown.
const SHOWN: &str = "Last queue dequeue";

/// Decodes the steps of all files.
pub(super) fn preparations(catalogue: &Catalogue, losses: &mut Losses) -> Vec<Preparation> {
    // Other kinds of records are counted where those of operators are decoded.
    let mut steps: Vec<Preparation> = decode(
        catalogue.streams("aicpu.data"),
        Some(HOST_MAGIC),
        &mut Losses::default(),
        |steps: &mut Vec<Preparation>, raw: AiCpuPreparation, _| {
            if raw.head.level == host::level::AICPU && raw.head.kind == kind::PREPARATION {
                let (action, source) = (text(&raw.action), text(&raw.source));
                steps.push(Preparation { time: raw.head.time, action, source, size: raw.size });
            }
            Ok(())
        },
    );
    for stream in catalogue.streams("DATA_PREPROCESS.DP") {
        let is_text = !is_binary(&stream.map(&mut Losses::default()).concatenated());
        steps.extend(if is_text { lines(stream, losses) } else { records(stream, losses) });
    }
    steps
}

/// Whether the last record of a file begins like one.
fn is_binary(bytes: &[u8]) -> bool {
    let last = bytes.len().checked_sub(OldPreparation::SIZE).and_then(|start| bytes.get(start..));
    last.is_some_and(|last| last.starts_with(&host::MAGIC.to_le_bytes()))
}

fn records(stream: &Stream, losses: &mut Losses) -> Vec<Preparation> {
    const TAG: u16 = 100;
    decode(
        std::slice::from_ref(stream),
        Some(HOST_MAGIC),
        losses,
        |steps: &mut Vec<Preparation>, raw: OldPreparation, _| {
            if raw.tag != TAG {
                return Err(LossKind::UnknownRecord);
            }
            let (action, source) = (text(&raw.action), text(&raw.source));
            steps.push(Preparation { time: raw.time, action, source, size: raw.size });
            Ok(())
        },
    )
}

fn lines(stream: &Stream, losses: &mut Losses) -> Vec<Preparation> {
    let mapped = stream.map(losses);
    let bytes = mapped.concatenated();
    let text = String::from_utf8_lossy(&bytes);
    let mut steps = Vec::new();
    for line in text.split(['\0', '\n']).filter(|line| line.contains(SHOWN)) {
        match step(line) {
            Some(step) => steps.push(step),
            None => losses.count(LossKind::InvalidLine, &stream.name, 1),
        }
    }
    steps
}

fn step(line: &str) -> Option<Preparation> {
    let (time, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    let mut parts = rest.split(',');
    let action = parts.next()?.trim().to_owned();
    let mut named = |name: &str| parts.next()?.trim().strip_prefix(name)?.strip_prefix(':');
    let source = named("source")?.to_owned();
    named("index")?;
    let size = named("size")?.trim().parse().ok()?;
    Some(Preparation { time: time.trim().parse().ok()?, action, source, size })
}

/// A text with zeros behind it.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_time_an_action_a_source_and_a_size() {
        let line = "[13135969231] Last queue dequeue, source:iterator_default, index:1, size:131";
        let (action, source) = ("Last queue dequeue".to_owned(), "iterator_default".to_owned());
        assert_eq!(step(line), Some(Preparation { time: 13_135_969_231, action, source, size: 131 }));
        assert!(step("[x] Last queue dequeue, source:a, index:1, size:1").is_none());
        assert!(step("[1] Last queue dequeue, source:a, size:1").is_none() && step("").is_none());
    }
}
