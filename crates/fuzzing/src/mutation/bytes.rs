//! Changes to bytes of which nothing is known.

use fastrand::Rng;

/// Numbers at which something often ends.
const EDGES: [u64; 14] = [
    0,
    1,
    2,
    7,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x7FFF_FFFF_FFFF_FFFF,
    u64::MAX,
];

/// Changes one place.
pub fn change(random: &mut Rng, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    if bytes.is_empty() {
        return (0..random.usize(..16)).map(|_| random.u8(..)).collect();
    }
    let place = random.usize(..bytes.len());
    let longest = 1 << random.u32(..10);
    let length = random.usize(..=longest.min(bytes.len() - place));
    let end = place + length;
    match random.u8(..10) {
        0 => bytes[place] ^= 1 << random.u8(..8),
        1 => bytes[place] = random.u8(..),
        2 | 3 => {
            let edge = EDGES[random.usize(..EDGES.len())].wrapping_sub(u64::from(random.bool()));
            let written = edge.to_le_bytes();
            let width = (1 << random.usize(..4)).min(bytes.len() - place);
            bytes[place..place + width].copy_from_slice(&written[..width]);
        }
        4 => drop(bytes.drain(place..end)),
        5 => drop(bytes.splice(place..place, (0..length).map(|_| random.u8(..)).collect::<Vec<_>>())),
        6 => {
            let again = bytes[place..end].to_vec();
            bytes.splice(end..end, again);
        }
        7 => {
            let moved = bytes[place..end].to_vec();
            let to = random.usize(..=bytes.len() - length);
            bytes[to..to + length].copy_from_slice(&moved);
        }
        8 if !other.is_empty() => {
            let from = random.usize(..other.len());
            let taken = &other[from..(from + length.max(1)).min(other.len())];
            bytes.splice(place..end, taken.iter().copied());
        }
        _ => bytes.truncate(place),
    }
    bytes
}
