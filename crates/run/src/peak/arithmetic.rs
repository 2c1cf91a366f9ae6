//! Chains of multiplications and additions in registers, in the widest instructions there are.
//!
//! An addition can't begin before the multiplication that it waits for is done. So that the units are
//! never idle, there are more independent chains than a unit has steps, as many as fit into the
//! registers.

use std::time::Instant;

/// A way to compute.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    /// The instructions in the words of their vendor.
    pub instructions: &'static str,
    /// Operations in one step of all chains.
    operations: u64,
    /// Does so many steps.
    run: fn(u64),
}

impl Kernel {
    /// Computes until a point in time; gives the number of operations.
    pub fn run_until(&self, deadline: Instant) -> u64 {
        /// Steps between two looks at the clock: some ten microseconds.
        const STEPS: u64 = 20_000;
        let mut operations = 0;
        loop {
            (self.run)(STEPS);
            operations += STEPS * self.operations;
            if Instant::now() >= deadline {
                return operations;
            }
        }
    }
}

/// Defines a function that does so many steps on as many chains as are named.
///
/// Every chain begins elsewhere, so that none can be left out for being equal to another; all of them
/// stay near 1, where arithmetic is as fast as it gets.
macro_rules! chains {
    (
        $(#[$attribute:meta])* $name:ident, $splat:expr, $step:expr, [$($chain:ident)+]
    ) => {
        $(#[$attribute])*
        fn $name(steps: u64) {
            let (factor, term) = ($splat(black_box(0.999_f32)), $splat(black_box(0.001_f32)));
            let mut begin = black_box(1.0_f32);
            $(
                let mut $chain = $splat(begin);
                begin += 0.01;
            )+
            for _ in 0..steps {
                $($chain = $step($chain, factor, term);)+
            }
            $(black_box($chain);)+
            black_box(begin);
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::hint::black_box;

    chains! {
        /// # Safety
        /// The processor has AVX-512.
        #[target_feature(enable = "avx512f")]
        avx512, _mm512_set1_ps, _mm512_fmadd_ps,
        [a b c d e f g h i j k l m n o p]
    }
    chains! {
        /// # Safety
        /// The processor has AVX and FMA.
        #[target_feature(enable = "avx,fma")]
        fma, _mm256_set1_ps, _mm256_fmadd_ps,
        [a b c d e f g h i j k l]
    }
    chains! {
        sse, set, step,
        [a b c d e f g h i j k l]
    }

    fn set(value: f32) -> __m128 {
        // SAFETY: every processor of this architecture has SSE2.
        unsafe { _mm_set1_ps(value) }
    }

    fn step(chain: __m128, factor: __m128, term: __m128) -> __m128 {
        // SAFETY: every processor of this architecture has SSE2.
        unsafe { _mm_add_ps(_mm_mul_ps(chain, factor), term) }
    }

    pub fn best() -> super::Kernel {
        let kernel = |instructions, operations, run| super::Kernel { instructions, operations, run };
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions.
            return kernel("AVX-512", 16 * 16 * 2, |steps| unsafe { avx512(steps) });
        }
        if is_x86_feature_detected!("avx") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions.
            return kernel("AVX with FMA", 12 * 8 * 2, |steps| unsafe { fma(steps) });
        }
        kernel("SSE2", 12 * 4 * 2, sse)
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;
    use std::hint::black_box;

    chains! { neon, set, step, [a b c d e f g h i j k l m n o p] }

    fn set(value: f32) -> float32x4_t {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { vdupq_n_f32(value) }
    }

    fn step(chain: float32x4_t, factor: float32x4_t, term: float32x4_t) -> float32x4_t {
        // SAFETY: every processor of this architecture has NEON.
        unsafe { vfmaq_f32(term, chain, factor) }
    }

    pub fn best() -> super::Kernel {
        super::Kernel { instructions: "NEON", operations: 16 * 4 * 2, run: neon }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other {
    use std::hint::black_box;

    chains! { scalar, set, step, [a b c d e f g h] }

    fn set(value: f32) -> f32 {
        value
    }

    fn step(chain: f32, factor: f32, term: f32) -> f32 {
        chain * factor + term
    }

    pub fn best() -> super::Kernel {
        super::Kernel { instructions: "scalar", operations: 8 * 2, run: scalar }
    }
}

#[cfg(target_arch = "aarch64")]
pub(super) use arm::best;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use other::best;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::best;
