//! Push and pop as most programs use them most of the time: a short text and nothing else, on a
//! thread that has marked before.
//!
//! Both do the same as [`crate::event`], in fewer instructions, because nothing in them calls
//! functions that could call others. Where something isn't as usual they do nothing and say so.

use opscope_recorder::clock::ClockKind;

use crate::queued_mark::{EventType, MarkHeader};
use crate::text::{Kept, Short};
use crate::thread::{self, Pushed};

/// As [`crate::event::push`]; `None` where that has to do it.
#[inline(always)]
pub(crate) fn push(text: &[u8]) -> Option<usize> {
    thread::with_ready(|local| {
        let text = Kept::Short(Short::of(text)?);
        let depth = local.pushed.len() + 1;
        if depth > local.pushed.capacity() || local.clock != ClockKind::Counter {
            return None;
        }
        local.note_open(depth);
        let start = ClockKind::Counter.now();
        local.pushed.push(Pushed { start, text, has_details: false });
        Some(depth)
    })
}

/// As [`crate::event::pop`]; `None` where that has to do it.
#[inline(always)]
pub(crate) fn pop() -> Option<usize> {
    thread::with_ready(|local| {
        if local.clock != ClockKind::Counter {
            return None;
        }
        let end = ClockKind::Counter.now();
        let depth = local.pushed.len();
        let Pushed { start, text: Kept::Short(text), .. } = local.pushed.last()? else { return None };
        // The header is put together, and the text loaded, inside the closure: right where they are
        // stored, so that they take no register before.
        let is_put = local.put_quietly(|line| {
            let (thread, event_type) = (local.thread, EventType::PushPop);
            let header = MarkHeader { start: *start, end, thread, event_type };
            line.set_short(header, text.reload());
        });
        if !is_put {
            return None;
        }
        local.pushed.truncate(depth - 1);
        local.note_open(depth - 1);
        Some(depth)
    })
}
