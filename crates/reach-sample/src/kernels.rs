//! A rank's computation: the operators of a layer of a mixture of experts, with their usual times.

/// An operator.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    kind: &'static str,
    /// Whether the way back has a kind of its own.
    has_gradient: bool,
    /// The unit, as profiles name it.
    pub(crate) unit: &'static str,
    /// How long it takes on the way there; the way back takes twice as long.
    pub(crate) microseconds: f64,
    pub(crate) shapes: Shapes,
}

/// The shapes of an operator's inputs.
#[derive(Debug)]
pub(crate) enum Shapes {
    Fixed(&'static str),
    /// The same, but its time is that of the rank's tokens.
    FixedByTokens(&'static str),
    /// The first dimensions are the tokens of the rank's two experts.
    Experts,
}

impl Kernel {
    /// The type on the way there or back.
    pub(crate) fn kind(&self, backward: bool) -> String {
        format!("{}{}", self.kind, if backward && self.has_gradient { "Grad" } else { "" })
    }

    /// Whether its time grows with the rank's tokens.
    pub(crate) fn is_by_tokens(&self) -> bool {
        !matches!(self.shapes, Shapes::Fixed(_))
    }

    /// The inputs' shapes, in quotes as profiles have them, on a rank with this multiple of the usual tokens.
    pub(crate) fn input_shapes(&self, tokens: f64) -> String {
        match self.shapes {
            Shapes::Fixed(text) | Shapes::FixedByTokens(text) => format!("\"{text}\""),
            Shapes::Experts => {
                let all = (2_048.0 * tokens) as u64;
                format!("\"{},2048;{},2048;2048,1408;2048,1408\"", all / 2, all - all / 2)
            }
        }
    }
}

const fn kernel(
    name: &'static str,
    kind: &'static str,
    has_gradient: bool,
    unit: &'static str,
    microseconds: f64,
    shapes: Shapes,
) -> Kernel {
    Kernel { name, kind, has_gradient, unit, microseconds, shapes }
}

const VECTOR: &str = "AI_VECTOR_CORE";

use Shapes::{Experts, Fixed, FixedByTokens};

/// Attention, up to where the ranks of a tensor group add their parts.
pub(crate) static ATTENTION: [Kernel; 5] = [
    kernel("aclnnRmsNorm_RmsNormOpt_RmsNorm", "RmsNorm", true, VECTOR, 32.0, Fixed("4096,1,2048;2048")),
    kernel(
        "aclnnMatmul_MatMulCommon_MatMulV2",
        "MatMulV2",
        false,
        "AI_CORE",
        260.0,
        Fixed("4096,2048;2048,3072"),
    ),
    kernel(
        "aclnnApplyRotaryPosEmb_Rope",
        "RotaryPositionEmbedding",
        true,
        VECTOR,
        28.0,
        Fixed("4096,1,16,128"),
    ),
    kernel(
        "aclnnFlashAttentionScore_FlashAttentionScore",
        "FlashAttentionScore",
        true,
        "MIX_AIC",
        410.0,
        Fixed("4096,1,2048;4096,1,2048;4096,1,2048"),
    ),
    kernel(
        "aclnnMatmul_MatMulCommon_MatMulV2",
        "MatMulV2",
        false,
        "AI_CORE",
        120.0,
        Fixed("4096,1024;1024,2048"),
    ),
];

/// Choosing the experts, up to where tokens are sent to them.
pub(crate) static GATING: [Kernel; 3] = [
    kernel("aclnnAdd_AddAiCore_Add", "Add", false, VECTOR, 30.0, Fixed("4096,1,2048;4096,1,2048")),
    kernel("aclnnRmsNorm_RmsNormOpt_RmsNorm", "RmsNorm", true, VECTOR, 32.0, Fixed("4096,1,2048;2048")),
    kernel("aclnnMoeGatingTopKSoftmax", "MoeGatingTopKSoftmax", false, VECTOR, 22.0, Fixed("4096,64")),
];

/// The experts, up to where tokens are sent back.
pub(crate) static EXPERTS: [Kernel; 3] = [
    kernel("aclnnGroupedMatmul_GroupedMatmul", "GroupedMatmul", false, "MIX_AIC", 330.0, Experts),
    kernel("aclnnSwiGlu_SwiGlu", "SwiGlu", true, VECTOR, 40.0, FixedByTokens("4096,2816")),
    kernel("aclnnGroupedMatmul_GroupedMatmul", "GroupedMatmul", false, "MIX_AIC", 180.0, Experts),
];

/// The end of a layer.
pub(crate) static RESIDUAL: [Kernel; 1] =
    [kernel("aclnnAdd_AddAiCore_Add", "Add", false, VECTOR, 30.0, Fixed("4096,1,2048;4096,1,2048"))];

/// The optimizer, at the end of a step.
pub(crate) static OPTIMIZER: [Kernel; 1] = [kernel(
    "aclnnApplyAdamW_ApplyAdamWV2",
    "ApplyAdamWV2",
    false,
    VECTOR,
    2_300.0,
    Fixed("30000000;30000000;30000000"),
)];

/// An operator that has no kernel for the cores; its time is the fault's.
pub(crate) static ON_AI_CPU: Kernel = kernel(
    "aclnnIndexPutImpl_IndexPutAiCpu_IndexPut",
    "IndexPut",
    false,
    "AI_CPU",
    0.0,
    Fixed("4096,2048;4096;4096,2048"),
);
