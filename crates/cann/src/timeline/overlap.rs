//! When each device computed, communicated, did that only, and was free.

use std::io::Write;

use opscope_trace::{LanePacker, NumberMap};

use crate::dialect::Dialect;
use crate::facts::busy::{Busy, busy};
use crate::facts::collectives::Collectives;
use crate::facts::spans::Spans;
use crate::facts::view::View;
use crate::lane_choice::Layer;
use crate::parallel;
use crate::timeline::device::NEXT_TRACK;
use crate::timeline::event::{Events, write_all};
use crate::timeline::lanes::{Lanes, name_lane, seen};

/// The stretches of all devices.
pub(super) struct Overlap(Vec<Stretches>);

/// The stretches of one device in which it did one of these things.
struct Stretches {
    /// The device's own number.
    device: u32,
    /// The first lane.
    tid: u64,
    name: &'static str,
    spans: Spans,
    /// The lanes of those that don't fit into the first one, by place in `spans`.
    tracks: NumberMap<u32, u64>,
    /// How many lanes there are, at least one.
    lanes: usize,
}

impl Overlap {
    pub(super) fn new(view: &View<'_>, found: &Collectives<'_>) -> Self {
        let mut all = busy(view, found, |device, ticks| device.time(ticks));
        // The plain reference has no lanes for a device that was only free.
        if view.dialect != Dialect::Accelerated {
            all.retain(|busy| !busy.computing.is_empty() || !busy.communicating.is_empty());
        }
        Self(all.into_iter().flat_map(|busy| Stretches::of_device(view, busy)).collect())
    }

    /// Names the lanes.
    pub(super) fn names(&self, lanes: &Lanes, events: &mut Events) {
        for of_device in self.0.chunk_by(|a, b| a.device == b.device) {
            lanes.name_layer(events, Layer::Overlap, Some(of_device[0].device), "Overlap Analysis");
            for stretches in of_device {
                for track in 0..stretches.lanes as u64 {
                    let tid = stretches.tid + track * NEXT_TRACK;
                    let lane = lanes.lane(Layer::Overlap, Some(stretches.device), tid);
                    name_lane(events, lane, stretches.name, stretches.tid);
                }
            }
        }
    }

    /// Writes the stretches.
    pub(super) fn write(&self, lanes: &Lanes, out: &mut (dyn Write + Send)) -> std::io::Result<()> {
        self.0.iter().try_for_each(|stretches| {
            write_all(out, stretches.spans.len(), |place, events| stretches.write(place, lanes, events))
        })
    }
}

impl Stretches {
    fn of_device(view: &View<'_>, busy: Busy) -> [Self; 4] {
        let device = view.devices[busy.device as usize].device.id;
        let Busy { computing, communicating, alone, free, .. } = busy;
        let (computing, free) = parallel::join(
            || Self::new(device, 0, "Computing", computing),
            || Self::new(device, 3, "Free", free),
        );
        [
            computing,
            Self::new(device, 1, "Communication", communicating),
            Self::new(device, 2, "Communication(Not Overlapped)", alone),
            free,
        ]
    }

    fn new(device: u32, tid: u64, name: &'static str, spans: Spans) -> Self {
        let mut tracks = LanePacker::default();
        let mut further = NumberMap::default();
        for (place, &(start, end)) in (0u32..).zip(&spans) {
            let track = tracks.place(seen(start, end));
            if track > 0 {
                further.insert(place, track as u64);
            }
        }
        Self { device, tid, name, spans, tracks: further, lanes: tracks.count().max(1) }
    }

    fn write(&self, place: usize, lanes: &Lanes, events: &mut Events) {
        let (start, end) = self.spans[place];
        let track = self.tracks.get(&(place as u32)).copied().unwrap_or(0);
        let lane = lanes.lane(Layer::Overlap, Some(self.device), self.tid + track * NEXT_TRACK);
        events.slice([self.name], lane, start, end.saturating_sub(start), None, |_| {});
    }
}
