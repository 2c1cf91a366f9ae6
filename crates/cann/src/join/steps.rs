//! The steps of collective operations that a call launches.

use opscope_cann_raw::host::level;

use crate::join::cursor::Cursor;
use crate::tables::{CallRow, CommunicationNoteRow, ContextsRow, HostTables, NO_CONTEXT};
use opscope_trace::NumberMap;

/// The part of a step that a task within its call stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepPart {
    /// The context of the device's task.
    pub(super) context: u32,
    /// The note on it, if there is one.
    pub(super) note: Option<CommunicationNoteRow>,
    /// Whether it is a step; else the whole of those with contexts.
    pub(super) is_step: bool,
}

/// Finds the parts of one thread's steps.
pub(super) struct Steps<'a> {
    notes: Cursor<'a>,
    contexts: Cursor<'a>,
}

/// More contexts than any graph has; a range of more isn't one.
const MOST_CONTEXTS: u32 = 1 << 16;

impl<'a> Steps<'a> {
    pub(super) fn of_thread(host: &'a HostTables, thread: u32) -> Self {
        let (notes, contexts) = (&host.communication_notes, &host.node_contexts);
        Self {
            notes: Cursor::new(notes.thread(), notes.time(), thread),
            contexts: Cursor::new(contexts.thread(), contexts.time(), thread),
        }
    }

    /// The parts of the step that a call launches.
    pub(super) fn of_call(&mut self, host: &HostTables, call: CallRow) -> Vec<StepPart> {
        let (begin, end) = (host.api.begin()[call.index()], host.api.end()[call.index()]);
        let notes = self.notes.rows(begin, end);
        let context_of = |row: usize| host.communication_notes.context()[row];
        let mut parts: Vec<StepPart> = Vec::new();
        let is_of_step = |row: &usize| host.node_contexts.level()[*row] == level::COMMUNICATION;
        for row in self.contexts.rows(begin, end).filter(is_of_step) {
            // The first and the last context.
            let &[first, last] = host.contexts_of(ContextsRow::from_index(row)) else { continue };
            let contexts = first..=last.min(first.saturating_add(MOST_CONTEXTS));
            parts.extend(contexts.map(|context| StepPart { context, note: None, is_step: true }));
        }
        if parts.is_empty() {
            for row in notes {
                let part = StepPart {
                    context: context_of(row),
                    note: Some(CommunicationNoteRow::from_index(row)),
                    is_step: true,
                };
                match parts.iter_mut().find(|known| known.context == part.context) {
                    Some(known) => *known = part,
                    None => parts.push(part),
                }
            }
            if parts.is_empty() {
                parts.push(StepPart { context: NO_CONTEXT, note: None, is_step: true });
            }
            return parts;
        }
        let places: NumberMap<u32, usize> =
            parts.iter().enumerate().map(|(place, part)| (part.context, place)).collect();
        for row in notes {
            if let Some(&place) = places.get(&context_of(row)) {
                parts[place].note = Some(CommunicationNoteRow::from_index(row));
            }
        }
        parts.push(StepPart { context: NO_CONTEXT, note: None, is_step: false });
        parts
    }
}
