//! Parts of rows as a page paints them.

use opscope_timeline::{Spans, Tile};

use super::rows::id_of;
use super::{Known, Picture};
use crate::columns::{Table, to_bytes};
use crate::embed::{Drawn, share};

/// Buckets of a tile.
const BUCKETS: usize = 512;

/// The rows, tiles of each and coarsest level that an answer has.
const MOST_ROWS: usize = 256;
const MOST_TILES: u64 = 32;
const MOST_LEVEL: u32 = 52;

/// Some tiles of some rows, all of one level.
#[derive(Clone, Debug, Default)]
pub(crate) struct TilesAsked {
    /// A bucket is 2^level ticks.
    pub level: u32,
    /// The number of the first tile: the one that begins at 0 is 0.
    pub first: u64,
    pub count: u64,
    pub rows: Vec<usize>,
    pub known: Known,
}

struct Painted {
    row: usize,
    number: u64,
    tile: Tile,
}

impl Picture {
    /// A container of the tables `tiles`, in the order of the rows asked for; `fine` and `wide`, those of one tile
    /// behind those of another; and further `items` and `strings`.
    ///
    /// # Errors
    /// When more is asked for than an answer has, or a row that isn't there.
    pub(crate) fn tiles(&self, asked: &TilesAsked) -> Result<Vec<u8>, String> {
        if asked.level > MOST_LEVEL || asked.count > MOST_TILES || asked.rows.len() > MOST_ROWS {
            return Err(format!(
                "at most {MOST_TILES} tiles of {MOST_ROWS} rows, of a level up to {MOST_LEVEL}"
            ));
        }
        let ticks = self.base.ticks;
        let width = (1_u64 << asked.level).saturating_mul(ticks.nanoseconds);
        let mut painted = Vec::new();
        for &row in &asked.rows {
            let index = self.index(row).ok_or_else(|| format!("there is no row {row}"))?;
            for number in asked.first..asked.first.saturating_add(asked.count) {
                let from = number.saturating_mul(width.saturating_mul(BUCKETS as u64));
                painted.push(Painted { row, number, tile: index.tile(from, width, BUCKETS) });
            }
        }
        Ok(self.tables(&painted, width, asked.known))
    }

    fn tables(&self, painted: &[Painted], width: u64, known: Known) -> Vec<u8> {
        let ticks = self.base.ticks;
        let mut tiles = Table::new("tiles", painted.len());
        tiles.plain_u32("row", painted.iter().map(|part| part.row as u32));
        tiles.plain_f64("number", painted.iter().map(|part| part.number as f64));
        tiles.plain_u32("fine", painted.iter().map(|part| part.tile.fine.len() as u32));
        tiles.plain_u32("wide", painted.iter().map(|part| part.tile.wide.len() as u32));

        let items = &mut self.items();
        let span = |row: usize, slice: usize| {
            let (start, end) = self.rows[row].1.get().map_or((0, 0), |index| index.spans().span(slice));
            (ticks.of_time(start), ticks.of_time(end) - ticks.of_time(start))
        };
        let buckets =
            || painted.iter().flat_map(|part| part.tile.fine.iter().map(|bucket| (part.row, bucket)));
        let mut fine = Table::new("fine", buckets().count());
        // There are fewer than 2^16 buckets in a tile.
        fine.plain_u16("bucket", buckets().map(|(_, bucket)| bucket.number as u16));
        fine.plain_u8("busy", buckets().map(|(_, bucket)| share(bucket, width)));
        let most = usize::from(u16::MAX);
        fine.plain_u16("count", buckets().map(|(_, bucket)| bucket.count.min(most) as u16));
        fine.plain_u32("item", buckets().map(|(row, bucket)| self.item(items, row, bucket.longest)));
        fine.plain_f64("longest", buckets().map(|(row, bucket)| span(row, bucket.longest).1 as f64));

        let slices = || painted.iter().flat_map(|part| part.tile.wide.iter().map(|&slice| (part.row, slice)));
        let mut wide = Table::new("wide", slices().count());
        wide.plain_f64("start", slices().map(|(row, slice)| span(row, slice).0 as f64));
        wide.plain_f64("duration", slices().map(|(row, slice)| span(row, slice).1 as f64));
        wide.plain_u32("item", slices().map(|(row, slice)| self.item(items, row, slice)));
        wide.plain_u32("id", slices().map(|(row, slice)| self.id(row, slice) as u32));

        let [further_items, strings] = Self::further(items, known);
        to_bytes("tiles", &[tiles, fine, wide, further_items, strings])
    }

    /// The number by which links name a slice.
    pub(super) fn id(&self, row: usize, slice: usize) -> usize {
        let Drawn::Row(depth) = self.rows[row].0 else { return slice };
        let of_row = &self.base.depths.rows[depth];
        let rows = &self.base.layout.lanes[of_row.lane].rows;
        id_of(self.trace(), rows, of_row.slices[slice] as usize)
    }
}
