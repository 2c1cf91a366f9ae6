//! Records of the monitors beside cores, which read them every so many cycles: `instr.group_<G>_<core>.<device>` of the
//! 910B, the 310B and its siblings. They have no magic number.
//!
//! | core | bytes | content |
//! |---|---|---|
//! | `aic` | [`CUBE_BYTES`] | from 32 on, in turns of eight bytes, [`Traffic`] and [`Cycles`] |
//! | `aiv0`, `aiv1` | [`VECTOR_BYTES`] | from 32 on [`Cycles`] |
//!
//! Each of the two takes 32 bytes. Cycles are numbers of 12 bits, two in three bytes: six counts, and from place 7 on
//! parts of the time.

use crate::Field;

/// The bytes of a record of a cube core.
pub const CUBE_BYTES: usize = 96;

/// The bytes of a record of a vector core.
pub const VECTOR_BYTES: usize = 64;

/// The counts go from 0 to one less than this, and begin again.
pub const CYCLES_WRAP: u16 = 1 << 12;

/// Where the content begins.
const BEGIN: usize = 32;

/// The bytes of either part.
const PART: usize = 32;

/// The bytes of a turn.
const TURN: usize = 8;

/// How many cycles units of a core have worked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycles {
    /// Of the vector unit, the scalar unit, the cube unit, and those that move data: MTE1 to MTE3.
    pub counts: [u16; 6],
    /// When; of a cube core's record it is [`Traffic::time`] that holds.
    pub time: u64,
}

/// Where parts of [`Cycles::time`] stand, in order; the last 16 bits follow the numbers.
const TIME_PLACES: [usize; 4] = [7, 8, 14, 15];

impl Cycles {
    fn read(part: &[u8; PART]) -> Self {
        let number = |place: usize| {
            let pair = &part[place / 2 * 3..];
            let pair = u32::from(pair[0]) | u32::from(pair[1]) << 8 | u32::from(pair[2]) << 16;
            (pair >> (12 * (place % 2)) & 0xFFF) as u16
        };
        let time =
            (0..).zip(TIME_PLACES).fold(0, |time, (at, place)| time | u64::from(number(place)) << (12 * at));
        Self { counts: std::array::from_fn(number), time: time | u64::from(u16::read(&part[30..])) << 48 }
    }

    fn write(self) -> [u8; PART] {
        let mut numbers = [0; 20];
        numbers[..6].copy_from_slice(&self.counts);
        for (at, place) in (0..).zip(TIME_PLACES) {
            numbers[place] = (self.time >> (12 * at) & 0xFFF) as u16;
        }
        let mut part = [0; PART];
        for (pair, bytes) in numbers.chunks_exact(2).zip(part.chunks_exact_mut(3)) {
            let pair = u32::from(pair[0] & 0xFFF) | u32::from(pair[1] & 0xFFF) << 12;
            bytes.copy_from_slice(&pair.to_le_bytes()[..3]);
        }
        ((self.time >> 48) as u16).write(&mut part[30..]);
        part
    }

    /// The cycles in a record of a vector core; nothing if it is shorter than one.
    pub fn of_vector(record: &[u8]) -> Option<Self> {
        let record = record.first_chunk::<VECTOR_BYTES>()?;
        Some(Self::read(record[BEGIN..].first_chunk()?))
    }

    /// A record of a vector core.
    pub fn to_vector(self) -> Vec<u8> {
        [&[0; BEGIN][..], &self.write()].concat()
    }
}

/// The traffic between a group of cores and the memory since the record before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Commands that read, and that write.
    pub commands: [u16; 2],
    /// Latencies of reading and of writing.
    pub latencies: [u32; 2],
    /// The flux of reading and of writing.
    pub flux: [u32; 2],
    /// The same of the level-2 cache.
    pub cache_flux: [u32; 2],
    /// When.
    pub time: u64,
    /// Hits of the level-2 cache.
    pub cache_hits: u16,
}

/// Where the numbers of 24 bits begin, and how many bytes each has.
const WIDE: usize = 4;
const WIDE_BYTES: usize = 3;

impl Traffic {
    fn read(part: &[u8; PART]) -> Self {
        let wide = |place: usize| {
            let bytes = &part[WIDE + place * WIDE_BYTES..];
            u32::from(bytes[0]) | u32::from(bytes[1]) << 8 | u32::from(bytes[2]) << 16
        };
        Self {
            commands: [u16::read(part), u16::read(&part[2..])],
            latencies: [wide(0), wide(1)],
            flux: [wide(2), wide(3)],
            cache_flux: [wide(4), wide(5)],
            time: u64::read(&part[22..]),
            cache_hits: u16::read(&part[30..]),
        }
    }

    fn write(self) -> [u8; PART] {
        let mut part = [0; PART];
        self.commands[0].write(&mut part);
        self.commands[1].write(&mut part[2..]);
        let wide = [self.latencies, self.flux, self.cache_flux].concat();
        for (number, bytes) in wide.iter().zip(part[WIDE..].chunks_exact_mut(WIDE_BYTES)) {
            bytes.copy_from_slice(&number.to_le_bytes()[..WIDE_BYTES]);
        }
        self.time.write(&mut part[22..]);
        self.cache_hits.write(&mut part[30..]);
        part
    }
}

/// Cycles and traffic in a record of a cube core; nothing if it is shorter than one.
pub fn of_cube(record: &[u8]) -> Option<(Cycles, Traffic)> {
    let record = record.first_chunk::<CUBE_BYTES>()?;
    let mut parts = [[0; PART]; 2];
    for (turn, bytes) in record[BEGIN..].chunks_exact(TURN).enumerate() {
        let at = turn / 2 * TURN;
        parts[turn % 2][at..at + TURN].copy_from_slice(bytes);
    }
    let [traffic, cycles] = parts;
    Some((Cycles::read(&cycles), Traffic::read(&traffic)))
}

/// A record of a cube core.
pub fn to_cube(cycles: Cycles, traffic: Traffic) -> Vec<u8> {
    let mut record = vec![0; BEGIN];
    for (traffic, cycles) in traffic.write().chunks_exact(TURN).zip(cycles.write().chunks_exact(TURN)) {
        record.extend(traffic);
        record.extend(cycles);
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    const CYCLES: Cycles = Cycles { counts: [1, 0xFFF, 3, 4, 0x800, 6], time: 0x1234_5678_9ABC_DEF0 };

    #[test]
    fn records_are_read_as_they_were_written() {
        let traffic = Traffic {
            commands: [10, 20],
            latencies: [0xFF_FFFF, 2_000],
            flux: [3_000, 4_000],
            cache_flux: [500, 600],
            time: 77_000_000_003,
            cache_hits: 7,
        };
        let cube = to_cube(CYCLES, traffic);
        assert_eq!((cube.len(), of_cube(&cube)), (CUBE_BYTES, Some((CYCLES, traffic))));
        let vector = CYCLES.to_vector();
        assert_eq!((vector.len(), Cycles::of_vector(&vector)), (VECTOR_BYTES, Some(CYCLES)));
        assert_eq!((of_cube(&cube[1..]), Cycles::of_vector(&vector[1..])), (None, None));
    }

    #[test]
    fn parts_lie_where_the_layout_says() {
        let vector = CYCLES.to_vector();
        // Two numbers of 12 bits in three bytes: 0x001 and 0xFFF.
        assert_eq!(vector[32..35], [0x01, 0xF0, 0xFF]);
        assert_eq!(vector[62..], [0x34, 0x12]);
        let cube = to_cube(
            Cycles { counts: [0x123, 0, 0, 0, 0, 0], time: 0 },
            Traffic { commands: [7, 0], ..Traffic::default() },
        );
        assert_eq!((cube[32], cube[40], cube[41]), (7, 0x23, 0x01));
    }
}
