//! The number that stands for a string in the records.

/// The hash under which the runtime reports a string: two running 32-bit sums over the signed
/// bytes, with factors 29 (upper half) and 131 (lower half).
///
/// The dictionaries of a profile tell the string of a hash, so a reader never computes it.
pub fn hash_of(text: &str) -> u64 {
    let (upper, lower) = text.bytes().fold((0u32, 0u32), |(upper, lower), byte| {
        let signed = i32::from(byte as i8) as u32;
        (upper.wrapping_mul(29).wrapping_add(signed), lower.wrapping_mul(131).wrapping_add(signed))
    });
    u64::from(upper) << 32 | u64::from(lower)
}

#[cfg(test)]
mod tests {
    use super::hash_of;

    #[test]
    fn hashes_equal_those_that_the_runtime_reports() {
        assert_eq!(hash_of("Mul"), 293_165_879_027_200);
        assert_eq!(hash_of("Relu"), 8_968_269_857_261_036);
        assert_eq!(hash_of("trans_TransData_0"), 7_104_496_996_232_435_956);
        assert_eq!(hash_of(""), 0);
    }
}
