//! The places of collectives in a step, by which events of peers are laid beside one another.

use crate::run::{Event, Run};

/// The slots of all events, in their order.
#[derive(Clone, Copy)]
pub struct Slots<'s> {
    /// Slots among peers.
    pub own: &'s [u32],
    /// Slots among kin: the same for ranks that differ from peers only in the stages that they talk to, which are other
    /// stages of a pipeline with the same work. A rank has one own slot for each of its kin's.
    pub kin: &'s [u32],
}

/// Where a predecessor stands, seen from its event: its slot among kin, and by how much the number of its step is less.
pub type Place = (u32, i32);

impl Slots<'_> {
    /// The place of an event's predecessor.
    pub fn place(self, run: &Run, event: &Event, pred: u32) -> Place {
        (self.kin[pred as usize], event.step.wrapping_sub(run.events[pred as usize].step))
    }
}
