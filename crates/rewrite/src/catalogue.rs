//! All rewrites, in the order in which they are tried.

use crate::info::{Exactness, Use};
use crate::rewrite::Rewrite;
use crate::rules;

/// All rewrites, in the order in which they are tried: what makes others possible comes first.
pub const ALL: &[&dyn Rewrite] = &[
    &rules::g15a_identity::HandsOn,
    &rules::g11b_single_precision::SinglePrecision,
    &rules::g12_cast::Casts,
    &rules::g25b_shapes::KnownShapes,
    &rules::g25a_fold::Fold,
    &rules::g22_reshape_target::ReshapeTarget,
    &rules::g25c_common::Common,
    &rules::g16_transposed_norm::TransposedNorm,
    &rules::g15b_transpose::Transposes,
    &rules::g15c_reshape::Reshapes,
    &rules::g23_empty::EmptyParts,
    &rules::g13a_concat::Concats,
    &rules::g13b_slice::Slices,
    &rules::g14_gather_split::GatherToSplit,
    &rules::g04_pow::PowToMul,
    &rules::g04_pow::PowToRoot,
    &rules::g06b_softplus::Softplus,
    &rules::g06a_hard_swish::HardSwish,
    &rules::g05a_mish::Mish,
    &rules::g05b_mish_to_leaky::MishToLeakyRelu,
    &rules::g28a_layer_norm::LayerNorm,
    &rules::g28b_gelu::Gelu,
    &rules::g28c_attention::Attention,
    &rules::g01_conv_bn::ConvBatchNorm,
    &rules::g27_activation::ScaleBeforeActivation,
    &rules::g27_activation::ActivationBeforeMovement,
    &rules::g03_conv_scale::ConvScale,
    &rules::g26_gemm::MatMulAdd,
    &rules::g10_resize_nearest::ResizeNearest,
    &rules::g21_qkv::QkvSplit,
    &rules::g07_channel_padding::ChannelPadding::PUBLISHED,
    &rules::g08_pad_conv::PadConv,
    &rules::g11a_index_type::IndexType,
    &rules::g17_conv1d::Conv1d,
    &rules::g18_large_kernel::LargeKernel::PUBLISHED,
    &rules::g19_swap_sides::SwapSides::PUBLISHED,
    &rules::g20_average_pool::AveragePoolSplit::PUBLISHED,
    &rules::g25d_dead::Dead,
];

/// Which rewrites to apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these: ids such as `G05a`, whole groups such as `G05`, or names such as `conv-bn-fold`. Empty is all that pay on
    /// any engine.
    pub only: Vec<String>,
    /// Not these.
    pub skip: Vec<String>,
    /// Lossy ones as well. Without it they aren't applied even when they are named.
    pub allow_lossy: bool,
    /// Rewrites that pay only on some hardware as well, even when they aren't named.
    pub all_uses: bool,
}

/// Why a selection can't be met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum SelectionError {
    #[error("there is no rewrite `{name}`; there are {known}")]
    Unknown { name: String, known: String },
    #[error("{id} ({name}) changes what the model computes; allow that with --allow-lossy")]
    Lossy { id: &'static str, name: &'static str },
}

impl Selection {
    /// The rewrites that are meant, in the order in which they are tried.
    ///
    /// # Errors
    /// When a name fits no rewrite, or a lossy one is named without being allowed.
    pub fn resolve(&self) -> Result<Vec<&'static dyn Rewrite>, SelectionError> {
        for name in self.only.iter().chain(&self.skip) {
            if !ALL.iter().any(|rewrite| fits(*rewrite, name)) {
                let known: Vec<_> = ALL.iter().map(|rewrite| rewrite.info().id).collect();
                return Err(SelectionError::Unknown { name: name.clone(), known: known.join(", ") });
            }
        }
        let mut chosen = Vec::new();
        for &rewrite in ALL {
            let info = rewrite.info();
            let named = self.only.iter().any(|name| fits(rewrite, name));
            let wanted = if self.only.is_empty() { self.all_uses || info.use_ == Use::Always } else { named };
            if !wanted || self.skip.iter().any(|name| fits(rewrite, name)) {
                continue;
            }
            if info.exactness == Exactness::Lossy && !self.allow_lossy {
                // A whole group may be named for the sake of its other parts.
                if self.only.iter().any(|name| name.eq_ignore_ascii_case(info.id) || name == info.name) {
                    return Err(SelectionError::Lossy { id: info.id, name: info.name });
                }
                continue;
            }
            chosen.push(rewrite);
        }
        Ok(chosen)
    }
}

/// Whether a rewrite is meant by an id, a group or a name.
fn fits(rewrite: &dyn Rewrite, wanted: &str) -> bool {
    let info = rewrite.info();
    let group = &info.id[..info.id.len().min(3)];
    [info.id, info.name, group].iter().any(|known| known.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn ids(selection: &Selection) -> Vec<&'static str> {
        selection.resolve().unwrap().iter().map(|rewrite| rewrite.info().id).collect()
    }

    fn only(names: &[&str]) -> Selection {
        Selection { only: names.iter().map(|&name| name.into()).collect(), ..Selection::default() }
    }

    #[test]
    fn every_rewrite_has_an_id_and_a_name_of_its_own_and_says_its_condition() {
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        for rewrite in ALL {
            let info = rewrite.info();
            assert!(ids.insert(info.id) && names.insert(info.name), "{} twice", info.id);
            assert!(info.id.starts_with('G') && info.id[1..3].chars().all(|c| c.is_ascii_digit()));
            assert!(!info.summary.is_empty() && !info.condition.is_empty());
        }
    }

    #[test]
    fn lossy_rewrites_need_to_be_allowed_even_when_they_are_named() {
        assert!(!ids(&Selection::default()).contains(&"G05b"));
        assert_eq!(only(&["G05"]).resolve().unwrap().len(), 1);
        let error = only(&["G05b"]).resolve().err().unwrap();
        assert!(error.to_string().contains("--allow-lossy"));
        assert_eq!(ids(&Selection { allow_lossy: true, ..only(&["g05"]) }), ["G05a", "G05b"]);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = only(&["G99"]).resolve().err().unwrap().to_string();
        assert!(error.contains("`G99`") && error.contains("G01"), "{error}");
    }
}
