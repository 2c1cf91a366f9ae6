//! Values that are made up for an input.

use opscope_model::{Graph, ValueId};
use opscope_trace::DataType;

use super::Fill;

/// Which integers an input may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One more than the greatest integer, where the graph tells.
    below: Option<u64>,
}

impl Limits {
    /// Follows an input through operators that keep its values to a `Gather`: there it is an index
    /// and must stay below the size of the axis that it picks from.
    pub fn of(graph: Graph<'_>, input: ValueId) -> Self {
        const KEEPS_VALUES: [&str; 7] =
            ["Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose"];
        let mut below: Option<u64> = None;
        let mut reached = vec![input];
        let mut next = 0;
        while let Some(&value) = reached.get(next) {
            next += 1;
            for &consumer in graph.value(value).consumers {
                let node = graph.node(consumer);
                if node.is("Gather") && node.input(1) == Some(value) {
                    let axis = node.attributes.int("axis").unwrap_or(0);
                    let size = node.input(0).and_then(|table| {
                        let dims = graph.value(table).declared()?.dims?;
                        let axis =
                            usize::try_from(if axis < 0 { axis + dims.len() as i64 } else { axis }).ok()?;
                        match dims.get(axis)? {
                            opscope_model::Dim::Known(size) => Some(*size),
                            _ => None,
                        }
                    });
                    below = [below, size].into_iter().flatten().min();
                } else if KEEPS_VALUES.iter().any(|op_type| node.is(op_type)) && node.input(0) == Some(value)
                {
                    reached.extend(node.output(0).filter(|output| !reached.contains(output)));
                }
            }
        }
        Self { below }
    }
}

/// `count` elements as little-endian bytes; `None` when they don't fit into memory.
///
/// Random floats are uniform from 0 to 1, as those of a normalised image. Random integers of 8 bits
/// are uniform over their whole range, wider ones stay below the limit that the graph sets, or are
/// 0 or 1 where it sets none, as those of a mask.
pub fn elements(data_type: DataType, count: usize, fill: Fill, limits: Limits, seed: u64) -> Option<Vec<u8>> {
    let size = usize::try_from(data_type.bits()? / 8).ok()?;
    let length = count.checked_mul(size)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    if fill == Fill::Zeros {
        bytes.resize(length, 0);
        return Some(bytes);
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let below = limits.below.unwrap_or(2).max(1);
    let mut unit = || if fill == Fill::Ones { 1.0 } else { random.f64() };
    for _ in 0..count {
        match data_type {
            DataType::Float64 | DataType::Complex128 => bytes.extend(unit().to_le_bytes()),
            DataType::Float32 | DataType::Complex64 => bytes.extend((unit() as f32).to_le_bytes()),
            DataType::Float16 => bytes.extend(half_bits(unit()).to_le_bytes()),
            DataType::BFloat16 => {
                bytes.extend(((unit() as f32).to_bits() >> 16).to_le_bytes().iter().take(2))
            }
            _ => {
                let range = match size {
                    1 if data_type != DataType::Bool => 256,
                    _ => below,
                };
                let integer = if fill == Fill::Ones { 1 } else { (unit() * range as f64) as u64 };
                bytes.extend(integer.to_le_bytes().iter().take(size));
            }
        }
    }
    // A complex element is two floats, of which the loop above has made one.
    bytes.resize(length, 0);
    Some(bytes)
}

/// The IEEE half with the given value from 0 to 1, rounded towards zero.
fn half_bits(value: f64) -> u16 {
    let bits = (value as f32).to_bits();
    let exponent = (bits >> 23) as i32 - 127 + 15;
    // Values below the smallest normal half become zero.
    if exponent <= 0 { 0 } else { (exponent as u16) << 10 | (bits >> 13 & 0x3ff) as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Limits = Limits { below: None };

    #[test]
    fn random_floats_are_seeded_and_lie_between_zero_and_one() {
        let make = |seed| elements(DataType::Float32, 1000, Fill::Random, FREE, seed).unwrap();
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
        let values: Vec<f32> = make(1).as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        assert!(values.iter().all(|v| (0.0..=1.0).contains(v)));
        let mean = values.iter().sum::<f32>() / 1000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
    }

    #[test]
    fn a_seed_gives_the_same_inputs_whichever_version_of_the_generator_is_built_in() {
        let bytes = elements(DataType::Uint8, 6, Fill::Random, FREE, 1).unwrap();
        assert_eq!(bytes, [168, 136, 61, 199, 2, 199]);
    }

    #[test]
    fn random_indices_stay_below_the_limit_and_reach_high() {
        let limits = Limits { below: Some(30_000) };
        let bytes = elements(DataType::Int64, 1000, Fill::Random, limits, 7).unwrap();
        let values: Vec<i64> = bytes.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect();
        assert!(values.iter().all(|v| (0..30_000).contains(v)));
        assert!(values.iter().any(|v| *v > 25_000));
    }

    #[test]
    fn ones_are_one_in_every_type() {
        let ones = |data_type| elements(data_type, 2, Fill::Ones, FREE, 0).unwrap();
        assert_eq!(ones(DataType::Float16), [0x00, 0x3c, 0x00, 0x3c]);
        assert_eq!(ones(DataType::BFloat16), [0x80, 0x3f, 0x80, 0x3f]);
        assert_eq!(ones(DataType::Bool), [1, 1]);
        assert_eq!(ones(DataType::Int16), [1, 0, 1, 0]);
        assert_eq!(elements(DataType::Uint8, 3, Fill::Zeros, FREE, 0).unwrap(), [0, 0, 0]);
    }

    #[test]
    fn what_does_not_fit_into_memory_is_refused() {
        assert_eq!(elements(DataType::Float32, usize::MAX / 2, Fill::Zeros, FREE, 0), None);
    }
}
