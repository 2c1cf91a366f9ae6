//! A model whose shapes are known, in tract's own operators.
//!
//! tract's `into_typed` compares each constant with all before it. This is the same way with a table of them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tract_onnx::prelude::*;
use tract_onnx::tract_core::internal::EvalContext;
use tract_onnx::tract_core::model::translator::Translate;
use tract_onnx::tract_core::ops::konst::Const;
use tract_onnx::tract_hir::infer::{Factoid, InferenceNode, InferenceOp};

/// Works out all shapes and translates the operators.
///
/// # Errors
/// tract's own, where a shape stays open or an operator isn't to its taste.
pub fn into_typed(mut model: InferenceModel) -> TractResult<TypedModel> {
    model.analyse(false)?;
    let model = model.incorporate()?;
    let names = model.nodes().iter().map(|node| node.name.clone()).collect();
    ToTyped { names: RefCell::new(names), constants: RefCell::default() }.translate_model(&model)
}

/// The translation, and the constants that it has made.
#[derive(Debug)]
struct ToTyped {
    names: RefCell<HashSet<String>>,
    constants: RefCell<HashMap<Arc<Tensor>, OutletId>>,
}

impl ToTyped {
    /// The constant of these values, which are there once.
    fn constant(
        &self,
        target: &mut TypedModel,
        mut name: String,
        tensor: Arc<Tensor>,
    ) -> TractResult<OutletId> {
        if let Some(made) = self.constants.borrow().get(&tensor) {
            return Ok(*made);
        }
        while !self.names.borrow_mut().insert(name.clone()) {
            name.push('_');
        }
        let fact = TypedFact::try_from(Arc::clone(&tensor))?;
        let operator = Const::new_with_opt_exotic_fact(Arc::clone(&tensor), fact.exotic_fact.clone())?;
        let outlet = OutletId::new(target.add_node(name, operator, tvec!(fact))?, 0);
        self.constants.borrow_mut().insert(tensor, outlet);
        Ok(outlet)
    }
}

impl Translate<InferenceFact, Box<dyn InferenceOp>, TypedFact, Box<dyn TypedOp>> for ToTyped {
    fn translate_node(
        &self,
        source: &InferenceModel,
        node: &InferenceNode,
        target: &mut TypedModel,
        mapping: &HashMap<OutletId, OutletId>,
    ) -> TractResult<TVec<OutletId>> {
        let is_stateless = node.op.state(&EvalContext::out_of_plan())?.is_none();
        let is_input = InferenceModel::is_source(&node.op);
        let values: Option<Vec<Arc<Tensor>>> =
            node.outputs.iter().map(|output| output.fact.value.concretize()).collect();
        match values {
            Some(values) if is_stateless && !is_input => values
                .into_iter()
                .enumerate()
                .map(|(slot, value)| self.constant(target, format!("{}.{slot}", node.name), value))
                .collect(),
            _ => {
                let outlets = node.op.to_typed(source, node, target, mapping)?;
                for outlet in &outlets {
                    target.outlet_fact(*outlet)?.consistent()?;
                }
                Ok(outlets)
            }
        }
    }
}
