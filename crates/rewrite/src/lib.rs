//! Rewrites ONNX graphs into ones that compute the same with less work.
//!
//! - [`rewrite`] applies rewrites to a model until none finds anything more.
//! - [`Selection`] chooses among [`ALL`]; lossy ones only when they are allowed.
//! - A [`Rewrite`] is a pattern, its guards and a replacement: one file each in `rules`. It reads a
//!   [`Draft`] and proposes an [`Edit`], which is carried out only if nothing goes that someone else
//!   needs.
//!
//! Weights are folded in double precision.
//!
//! ```
//! use opscope_model::Model;
//! use opscope_model::samples::Sample;
//! use opscope_rewrite::{Selection, rewrite};
//!
//! let model = Model::from_proto(Sample::MaskSsd.build(0), None)?;
//! let only = Selection { only: vec!["conv-bn-fold".into()], ..Selection::default() };
//! let rewritten = rewrite(&model, &only.resolve()?, None, false)?;
//! assert!(rewritten.nodes_after < rewritten.nodes_before);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalogue;
mod constant;
mod draft;
mod fixpoint;
mod fold;
mod node;
mod operator_history;
mod opset;
mod quantised;
mod rewrite;
mod rules;
mod save;
#[cfg(test)]
mod testing;

pub use catalogue::{ALL, Selection, SelectionError};
pub use draft::{Draft, Edit, NodeIndex, NodeView, Refusal};
pub use fixpoint::{Application, Declined, RewriteError, Rewritten, rewrite};
pub use operator_history::NEWEST;
pub use opset::{OpsetError, check_opset, unknown_version};
pub use rewrite::{Exactness, Info, Rewrite, Use};
pub use save::{SaveError, to_bytes};
