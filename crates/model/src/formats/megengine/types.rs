//! The types of MegEngine's operators. Files of the first form have a hash of a type's name in the place of the name,
//! and don't say how many values an operator makes.
//!
//! The hash is the 64-bit one of xxHash with the seed 20160701, of the name with the zero behind it; MegBrain up to
//! 8.14 left out the zero and a version such as `V2`.

use std::collections::HashMap;
use std::sync::OnceLock;

/// How many values an operator makes that are not only of use within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outputs {
    /// So many.
    Count(usize),
    /// One for each tensor that it stores.
    Tensors,
    /// One less than it reads.
    InputsLessOne,
    /// Six where it is trained with running statistics, else four.
    Normalized,
    /// The type alone doesn't tell.
    Unknown,
}

/// A type: its name without a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub name: &'static str,
    pub outputs: Outputs,
}

/// Types whose operators make one value.
const OF_ONE: &str = "AdaptivePooling AdaptivePoolingBackward AddUpdate AffineInt Alloc Argmax Argmin ArgsortBackward \
    AssertEqual AxisAddRemove BatchConvBiasForward BatchedMatrixMul BetaRNG Broadcast Concat ConvBiasForward \
    Convolution Convolution3D Convolution3DBackwardData Convolution3DBackwardFilter ConvolutionBackwardData \
    ConvolutionBackwardFilter Copy CorrelationBackwardData1 CorrelationBackwardData2 CorrelationForward Cross Cumsum \
    CvtColor DctChannelSelect DeformableConvBackwardFilter DeformableConvForward DeformablePSROIPoolingBackward Diag \
    DiagBackward Dimshuffle Dot DropoutBackward Elemwise ElemwiseMultiType ExponentialRNG Eye FakeQuant \
    FakeQuantBackward Fill FillLike Flip GammaRNG GaussianBlur GaussianRNG GetVarShape GroupLocal \
    GroupLocalBackwardData GroupLocalBackwardFilter Host2DeviceCopy Identity Images2Neibs Images2NeibsBackward \
    ImmutableTensor IncrMeshIndexing IncrSubtensor IndexingIncrMultiAxisVec IndexingMultiAxisVec IndexingOneHot \
    IndexingRemap IndexingRemapBackward IndexingSetMultiAxisVec IndexingSetOneHot LRN LRNBackward LSQ Linspace Local \
    LocalBackwardData LocalBackwardFilter LocalShareBackwardData LocalShareBackwardFilter LocalShareForward \
    MarkDynamicVar MarkNoBroadcastElemwise MaskConvolution MaskPropagate MaskedFill MatrixInverse MatrixMul \
    MeshIndexing MultinomialRNG NonZero NvOf Padding PaddingBackward PermutationRNG PersistentOutputStorage PoissonRNG \
    Pooling PoolingBackward PowC ROIAlignBackward ROIPoolingBackward Reduce RelayoutFormat Remap RemapBackwardData \
    RemapBackwardMat Reshape Resize Resize3D ResizeBackward Rotate SeparableConv SeparableFilter SetMeshIndexing \
    SetSubtensor SharedDeviceTensor SharedDeviceTensorWithFormat ShuffleRNGBackward Sleep SlidingWindowTranspose \
    SlidingWindowTransposeBackward Softmax SoftmaxBackward Subtensor TQT TypeCvt UniformRNG VirtualDep VirtualGrad \
    VolatileSharedDeviceTensor WarpAffine WarpPerspective WarpPerspectiveBackwardData WarpPerspectiveBackwardMat Where";

/// Types whose operators make several, or a number that the type doesn't tell.
const OF_OTHERS: [(&str, Outputs); 39] = [
    ("Argsort", Outputs::Count(2)),
    ("AtlasRuntimeOpr", Outputs::Unknown),
    ("BatchNorm", Outputs::Normalized),
    ("BatchNormBackward", Outputs::Count(3)),
    ("CambriconRuntimeOpr", Outputs::Unknown),
    ("CheckNonFinite", Outputs::Unknown),
    ("CondExecMark", Outputs::Unknown),
    ("CondExecMarkIfNeed", Outputs::Unknown),
    ("CondExecMerge", Outputs::Unknown),
    ("CondExecPred", Outputs::Unknown),
    ("CondExecPredLogical", Outputs::Unknown),
    ("CondTake", Outputs::Count(2)),
    ("DeformableConvBackwardData", Outputs::Count(3)),
    ("DeformablePSROIPoolingForward", Outputs::Count(2)),
    ("Dropout", Outputs::Count(2)),
    ("ExternCOprRunner", Outputs::Unknown),
    ("GeneralNorm", Outputs::Count(3)),
    ("GeneralNormBackward", Outputs::Count(3)),
    ("GroupNorm", Outputs::Count(3)),
    ("GroupNormBackward", Outputs::Count(3)),
    ("InstanceNorm", Outputs::Count(3)),
    ("InstanceNormBackward", Outputs::Count(3)),
    ("LSQBackward", Outputs::Count(2)),
    ("LSTMForward", Outputs::Unknown),
    ("LayerNorm", Outputs::Count(3)),
    ("LayerNormBackward", Outputs::Count(3)),
    ("Loop", Outputs::Unknown),
    ("MagicMindRuntimeOpr", Outputs::Unknown),
    ("MultiHeadAttn", Outputs::Unknown),
    ("MultipleDeviceTensorHolder", Outputs::Tensors),
    ("MultipleDeviceTensorWithFormatHolder", Outputs::Tensors),
    ("RNNForward", Outputs::Unknown),
    ("ROIAlign", Outputs::Count(2)),
    ("ROIPooling", Outputs::Count(2)),
    ("SVD", Outputs::Count(3)),
    ("ShuffleRNG", Outputs::Count(2)),
    ("Split", Outputs::InputsLessOne),
    ("TQTBackward", Outputs::Count(2)),
    ("TopK", Outputs::Count(2)),
];

/// The latest version that a type's name has.
const LATEST: u8 = 9;

/// The type of a hash, if it is one of those here.
pub(super) fn of_hash(hash: u64) -> Option<Type> {
    static TYPES: OnceLock<HashMap<u64, Type>> = OnceLock::new();
    TYPES.get_or_init(hashes).get(&hash).copied()
}

fn hashes() -> HashMap<u64, Type> {
    let of_one = OF_ONE.split_ascii_whitespace().map(|name| (name, Outputs::Count(1)));
    let types = of_one.chain(OF_OTHERS).map(|(name, outputs)| Type { name, outputs });
    let mut known = HashMap::new();
    for found in types {
        known.insert(hash(found.name.as_bytes()), found);
        known.insert(hash(format!("{}\0", found.name).as_bytes()), found);
        for version in 0..=LATEST {
            known.insert(hash(format!("{}V{version}\0", found.name).as_bytes()), found);
        }
    }
    // The one without a version had other values.
    for name in [&b"BatchNorm"[..], b"BatchNorm\0", b"BatchNormV0\0"] {
        known.insert(hash(name), Type { name: "BatchNorm", outputs: Outputs::Unknown });
    }
    known
}

const PRIMES: [u64; 5] = [
    0x9e37_79b1_85eb_ca87,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
];

/// XXH64 of the bytes with MegEngine's seed.
fn hash(bytes: &[u8]) -> u64 {
    const SEED: u64 = 20_160_701;
    let [first, second, third, fourth, fifth] = PRIMES;
    let round = |lane: u64, word: u64| {
        lane.wrapping_add(word.wrapping_mul(second)).rotate_left(31).wrapping_mul(first)
    };
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut lanes = [
        SEED.wrapping_add(first).wrapping_add(second),
        SEED.wrapping_add(second),
        SEED,
        SEED.wrapping_sub(first),
    ];
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks().0) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }
    let mut hash = SEED.wrapping_add(fifth);
    if !blocks.is_empty() {
        hash = lanes
            .iter()
            .zip([1, 7, 12, 18])
            .fold(0, |sum, (lane, turn)| sum.wrapping_add(lane.rotate_left(turn)));
        for lane in lanes {
            hash = (hash ^ round(0, lane)).wrapping_mul(first).wrapping_add(fourth);
        }
    }
    hash = hash.wrapping_add(bytes.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(first).wrapping_add(fourth);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(first);
        hash = hash.rotate_left(23).wrapping_mul(second).wrapping_add(third);
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(fifth)).rotate_left(11).wrapping_mul(first);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(second);
    hash = (hash ^ (hash >> 29)).wrapping_mul(third);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_files_by_megengine_and_of_xxhash() {
        for (found, name) in [
            (0x60d5_2856_bbd5_a2b1, "ImmutableTensor"),
            (0x21d0_9889_fd70_9229, "Host2DeviceCopy"),
            (0x0589_235f_9727_3d9f, "Convolution"),
            (0xebb3_9bdd_9278_b6da, "Elemwise"),
        ] {
            assert_eq!(of_hash(found).map(|found| found.name), Some(name));
        }
        // Longer than a block of 32 bytes, without a version and zero.
        let long = b"MultipleDeviceTensorWithFormatHolder";
        assert_eq!(hash(long), 0x00d8_0125_618f_5ca1);
        assert_eq!(of_hash(hash(long)).unwrap().outputs, Outputs::Tensors);
        assert_eq!(of_hash(7), None);
        let outputs = |name: &[u8]| of_hash(hash(name)).unwrap().outputs;
        assert_eq!(
            (outputs(b"BatchNormV1\0"), outputs(b"BatchNorm\0")),
            (Outputs::Normalized, Outputs::Unknown)
        );
    }

    #[test]
    fn no_type_stands_twice() {
        let names = OF_ONE.split_ascii_whitespace().chain(OF_OTHERS.iter().map(|(name, _)| *name));
        let mut names: Vec<&str> = names.collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(hashes().len(), count * 12, "two have the same hash");
    }
}
