//! The arguments of a slice, of which those that mean something to opscope become a row of a [`Chunk`].

use std::num::NonZeroU64;

use super::chunk::{Chunk, Details, DetailsId};
use super::text::{Raw, number, small_number};
use crate::json::{Scanned, Scanner};
use crate::reading::decimal;

/// The arguments of one slice.
#[derive(Default)]
pub(crate) struct Arguments<'a> {
    details: Details,
    /// Whether any of the details is set.
    any: bool,
    kind: Raw<'a>,
    word: Raw<'a>,
    /// From the first to the last member that describes an operator.
    signature: Option<(usize, usize)>,
}

impl<'a> Arguments<'a> {
    /// Reads the object that `scanner`, which reads `text`, stands before.
    pub fn read(&mut self, text: &'a [u8], scanner: &mut Scanner<'a>) -> Scanned<()> {
        scanner.entries("an object of arguments", |scanner, name| {
            let details = &mut self.details;
            match name.bytes {
                b"correlation" | b"correlation_id" | b"connection_id" | b"corr_id" => {
                    details.link = nonzero(scanner.value()?)
                }
                b"External id" | b"external id" => details.external = nonzero(scanner.value()?),
                b"stream" | b"Physic Stream Id" | b"Stream Id" | b"stream id" | b"queue" => {
                    details.stream = number(scanner.value()?).unwrap_or(Details::NO_STREAM);
                }
                b"device" | b"agent" => details.device = small(scanner.value()?),
                b"Model Id" | b"model id" => details.model = small(scanner.value()?),
                // Kineto counts the collectives of a group.
                b"Task Id" | b"task id" | b"Seq" => details.task = small(scanner.value()?),
                b"iteration" | b"Iteration ID" | b"step_num" => details.iteration = small(scanner.value()?),
                b"warm_up" => details.warm_up = scanner.value()? == b"true",
                b"wait_ns" => details.wait = decimal::whole(scanner.value()?).unwrap_or(Details::NO_WAIT),
                b"Task Type" | b"task type" | b"unit" | b"Unit" | b"level" | b"event_type"
                | b"hlo_category" => {
                    self.kind = scanner.value()?;
                }
                b"domain" | b"task" | b"op" | b"OP Type" | b"hlo_op" => self.word = scanner.value()?,
                b"type"
                | b"model"
                | b"inputs"
                | b"outputs"
                | b"flops"
                | b"bytes_read"
                | b"bytes_written"
                | b"parameters"
                | b"position"
                | b"attributes"
                | b"dynamic"
                | b"attribution"
                | b"origins"
                | b"engine_type"
                | b"Input Dims"
                | b"Input type"
                | b"hlo_module"
                | b"Collective name"
                | b"In msg nelems"
                | b"Out msg nelems"
                | b"dtype"
                | b"Process Group Name"
                | b"Process Group Description"
                | b"Process Group Ranks"
                | b"Group size"
                | b"Src Rank"
                | b"Dst Rank" => {
                    // The name's own quotes belong to the member.
                    let start = position_in(text, name.bytes).saturating_sub(1);
                    scanner.skip()?;
                    let start = self.signature.map_or(start, |(start, _)| start);
                    self.signature = Some((start, scanner.position()));
                }
                _ => {
                    scanner.skip()?;
                    return Ok(());
                }
            }
            self.any = true;
            Ok(())
        })
    }

    /// Adds the row of what was read from `text`, if there was anything.
    pub fn enter(&self, text: &'a [u8], chunk: &mut Chunk<'a>) -> DetailsId {
        if !self.any {
            return DetailsId::default();
        }
        let signature = self.signature.and_then(|(start, end)| text.get(start..end));
        let details = Details {
            kind: chunk.text(self.kind),
            word: chunk.text(self.word),
            signature: chunk.text(signature.unwrap_or_default()),
            ..self.details
        };
        chunk.details.push(details);
        DetailsId(chunk.details.len() as u32)
    }
}

fn nonzero(raw: Raw<'_>) -> Option<NonZeroU64> {
    number(raw).and_then(NonZeroU64::new)
}

fn small(raw: Raw<'_>) -> u32 {
    small_number(raw).unwrap_or(Details::NONE)
}

/// Where a part of `text` begins in it.
fn position_in(text: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize)
}
