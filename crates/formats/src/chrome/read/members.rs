//! The members of the outer object: remarks about the run.

use opscope_trace::{LossKind, Trace};

use super::document::Document;
use super::text::{Raw, text_of};
use crate::json::Scanner;

/// The longest text that is kept as a remark.
const LONGEST: usize = 4096;

/// Enters the members of the outer object that the dialect has not read, and those of the objects in it
/// that are meant for this. How times are to be displayed is nobody's remark.
pub(super) fn enter(trace: &mut Trace, document: &Document<'_>, has_read: impl Fn(&[u8]) -> bool) {
    for &(name, value) in &document.members {
        match name {
            b"displayTimeUnit" | b"deviceProperties" | b"baseTimeNanoseconds" => {}
            _ if has_read(name) => {}
            // PyTorch tells here which rank of how many it is, and its groups.
            b"distributedInfo" if value.starts_with(b"{") => {
                let _ = Scanner::new(value).entries("an object", |scanner, member| {
                    let value = scanner.value()?;
                    let name = format!("distributedInfo.{}", String::from_utf8_lossy(member.bytes));
                    match value.len() <= LONGEST {
                        true => trace.run.remark(&name, &text_of(value)),
                        false => trace.count_loss(LossKind::PlacelessMember, 1, &name),
                    }
                    Ok(())
                });
            }
            b"otherData" | b"metadata" if value.starts_with(b"{") => {
                // The value was read over before, so it is an object.
                let _ = Scanner::new(value).entries("an object", |scanner, name| {
                    let value = scanner.value()?;
                    enter_one(trace, name.bytes, value);
                    Ok(())
                });
            }
            _ => enter_one(trace, name, value),
        }
    }
}

fn enter_one(trace: &mut Trace, name: &[u8], value: Raw<'_>) {
    let name = String::from_utf8_lossy(name);
    let is_nested = value.starts_with(b"{") || value.starts_with(b"[");
    if is_nested || value.len() > LONGEST {
        trace.count_loss(LossKind::PlacelessMember, 1, &name);
    } else {
        trace.run.remark(&name, &text_of(value));
    }
}
