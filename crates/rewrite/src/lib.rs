//! Rewrites ONNX graphs into ones that compute the same with less work.
//!
//! - [`rewrite`] applies rewrites to a model until none finds anything more.
//! - [`Selection`] chooses among [`ALL`]; lossy ones only when they are allowed.
//! - A [`Survey`] says where a rewrite applies, with which options and why elsewhere it doesn't; the
//!   model stays as it is.
//! - A [`Rewrite`] is a pattern, its guards and a replacement: one file each in `rules`. It reads a
//!   [`Draft`] and proposes an [`Edit`], which is carried out only if nothing goes that someone else
//!   needs.
//!
//! Weights are folded in double precision.
//!
//! ```
//! use opscope_model::Model;
//! use opscope_model::samples::Sample;
//! use opscope_rewrite::{Selection, Survey, rewrite};
//!
//! let model = Model::from_proto(Sample::MaskSsd.build(0), None)?;
//! let only = Selection { only: vec!["conv-bn-fold".into()], ..Selection::default() };
//! let fold = only.resolve()?;
//! let places = Survey::of(&model)?.ask(fold[0]).places;
//! let rewritten = rewrite(&model, &fold, None, false)?;
//! assert_eq!(places.len(), rewritten.nodes_before - rewritten.nodes_after);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The inner floors
//!
//! ```text
//! survey · fixpoint        where rewrites apply; applying them until nothing changes
//!    catalogue             all rewrites, in the order in which they are tried
//!      rules/              a file for each rewrite, with its tests
//! rewrite · fold           what a rewrite is; computing nodes of constants
//!  draft · quantised       a graph in the making, and what in it is quantised
//! constant · node · info   stored data, new nodes, what is said of a rewrite
//! opset · operator_history raising the operators' version; save: back to a file
//! ```

mod catalogue;
mod constant;
mod draft;
mod fixpoint;
mod fold;
mod info;
mod node;
mod operator_history;
mod opset;
mod quantised;
mod rewrite;
mod rules;
mod save;
mod survey;
#[cfg(test)]
mod testing;

pub use catalogue::{ALL, Selection, SelectionError};
pub use draft::{Draft, Edit, NodeIndex, NodeView, Refusal};
pub use fixpoint::{Application, Declined, NodeName, RewriteError, Rewritten, rewrite};
pub use info::{Exactness, Info, Use};
pub use operator_history::NEWEST;
pub use opset::{OpsetError, check_opset, unknown_version};
pub use rewrite::{Limit, Rewrite};
pub use save::{SaveError, to_bytes};
pub use survey::{Matches, Place, Survey};
