//! tract's optimizer, kept from taking minutes on large models.
//!
//! Each of its changes looks through the whole graph (`ModelPatch::apply`), and equal readers of one value
//! are looked for by comparing all of them with one another (`PushSplitDown`). So its passes run here with
//! one of our own in the latter's place, and are ended when they have looked at more nodes than
//! [`MOST_LOOKS`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_trace::Optimization;
use tract_onnx::prelude::*;
use tract_onnx::tract_core::optim::{Optimizer, OptimizerSession, TypedPass};

/// How many nodes all changes together may look at: some ten seconds. A model whose every node is changed
/// three times may have 18,000 of them.
const MOST_LOOKS: u64 = 1_000_000_000;

/// Rewrites a model as far as `level` says.
///
/// # Errors
/// tract's own, and one where its changes would take minutes. The same model always gives the same.
pub fn optimize(model: TypedModel, level: Optimization) -> TractResult<TypedModel> {
    optimize_counted(model, level, &Looks { most: MOST_LOOKS, so_far: Arc::default() })
}

fn optimize_counted(mut model: TypedModel, level: Optimization, looks: &Looks) -> TractResult<TypedModel> {
    if level != Optimization::Off {
        watched(Optimizer::declutter(), looks).optimize(&mut model)?;
    }
    if level == Optimization::Full {
        let optimizer = watched(Optimizer::codegen(), looks);
        model.optimize_with_session(&mut optimizer.session())?;
    }
    Ok(model)
}

/// The same passes, counted.
fn watched(mut optimizer: Optimizer, looks: &Looks) -> Optimizer {
    for pass in &mut optimizer.passes {
        let is_slow = format!("{pass:?}") == "PushSplitDown";
        let inner = if is_slow { Box::new(MergeEqualReaders) } else { pass.clone() };
        *pass = Box::new(Watched { pass: inner, looks: looks.clone() });
    }
    optimizer
}

/// How many nodes were looked at.
#[derive(Clone, Debug)]
struct Looks {
    most: u64,
    so_far: Arc<AtomicU64>,
}

/// A pass whose changes are counted by the nodes that each looks at.
#[derive(Clone, Debug)]
struct Watched {
    pass: Box<dyn TypedPass>,
    looks: Looks,
}

impl TypedPass for Watched {
    fn reset(&mut self) -> TractResult<()> {
        self.pass.reset()
    }

    fn next(
        &mut self,
        session: &mut OptimizerSession<'_>,
        model: &TypedModel,
    ) -> TractResult<Option<TypedModelPatch>> {
        let patch = self.pass.next(session, model)?;
        let Some(patch) = patch else { return Ok(None) };
        let nodes = model.nodes().len() as u64;
        let new_nodes = (patch.model.nodes().len() - patch.taps.len()) as u64;
        let looks = nodes * new_nodes.max(1);
        if self.looks.so_far.fetch_add(looks, Ordering::Relaxed) + looks > self.looks.most {
            return Err(TractError::msg(format!(
                "its optimizer goes through all {nodes} nodes at every change, which would take minutes"
            )));
        }
        Ok(Some(patch))
    }

    fn run_direct(&mut self, model: &mut TypedModel) -> TractResult<bool> {
        self.pass.run_direct(model)
    }
}

/// Of nodes that do the same with the same values, leaves the first.
#[derive(Clone, Debug)]
struct MergeEqualReaders;

impl TypedPass for MergeEqualReaders {
    fn reset(&mut self) -> TractResult<()> {
        Ok(())
    }

    fn next(
        &mut self,
        _session: &mut OptimizerSession<'_>,
        model: &TypedModel,
    ) -> TractResult<Option<TypedModelPatch>> {
        let mut patch = TypedModelPatch::default();
        // Equal operators print alike, though not the other way round.
        let mut first_of: HashMap<(String, &[OutletId]), Vec<usize>> = HashMap::new();
        for id in model.eval_order()? {
            let node = model.node(id);
            let is_alone = |input: &OutletId| model.outlet_successors(*input).len() < 2;
            if node.inputs.iter().all(is_alone) {
                continue;
            }
            let alike = match first_of.entry((format!("{:?}", node.op), &node.inputs)) {
                Entry::Vacant(entry) => {
                    entry.insert(vec![id]);
                    continue;
                }
                Entry::Occupied(entry) => entry.into_mut(),
            };
            let is_output = |id: usize| {
                model.output_outlets().is_ok_and(|outputs| outputs.iter().any(|output| output.node == id))
            };
            let same = alike.iter().copied().find(|&first| model.node(first).same_as(node));
            match same {
                Some(first) if !(is_output(first) && is_output(id)) => {
                    for slot in 0..node.outputs.len() {
                        let tap = patch.tap_model(model, OutletId::new(first, slot))?;
                        patch.shunt_outside(model, OutletId::new(id, slot), tap)?;
                    }
                    patch.obliterate(id)?;
                }
                Some(_) => {}
                None => alike.push(id),
            }
        }
        Ok(Some(patch).filter(|patch| !patch.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use tract_onnx::tract_core::ops::array::TypedConcat;
    use tract_onnx::tract_core::ops::math;

    use super::*;

    fn looks(most: u64) -> Looks {
        Looks { most, so_far: Arc::default() }
    }

    /// A concat of sums of one value with `count` others, of which each stands for `equal` sums.
    fn sums(count: usize, equal: usize) -> TypedModel {
        let mut model = TypedModel::default();
        let value = model.add_source("x", f32::fact([2usize])).unwrap();
        let mut sums = Vec::new();
        for number in 0..count {
            let other = model.add_const(format!("c{number}"), tensor1(&[number as f32, 0.5])).unwrap();
            for copy in 0..equal {
                let name = format!("sum{number}_{copy}");
                sums.push(model.wire_node(name, math::add(), &[value, other]).unwrap()[0]);
            }
        }
        model.wire_node("join", TypedConcat { axis: 0 }, &sums).unwrap();
        model.auto_outputs().unwrap();
        model
    }

    fn answers(model: TypedModel) -> Vec<f32> {
        let plan = TypedSimplePlan::new_with_options(model, &RunOptions::default()).unwrap();
        let outputs = plan.run(tvec!(tensor1(&[1f32, -2.0]).into())).unwrap();
        outputs[0].try_as_plain_ram().unwrap().as_slice::<f32>().unwrap().to_vec()
    }

    #[test]
    fn equal_readers_become_one_and_the_answers_stay() {
        for level in [Optimization::Basic, Optimization::Full] {
            let optimized = optimize(sums(3, 50), level).unwrap();
            let readers = optimized.nodes().iter().filter(|node| node.name.starts_with("sum")).count();
            assert_eq!(readers, 3, "{level:?}");
            assert_eq!(answers(optimized), answers(sums(3, 50)));
        }
    }

    #[test]
    fn the_same_is_left_as_by_the_passes_of_tract() {
        let names = |model: &TypedModel| -> Vec<String> {
            let mut names: Vec<_> = model.nodes().iter().map(|node| format!("{}", node.op)).collect();
            names.sort();
            names
        };
        let ours = optimize(sums(4, 3), Optimization::Full).unwrap();
        assert_eq!(names(&ours), names(&sums(4, 3).into_optimized().unwrap()));
    }

    #[test]
    fn the_looks_for_equal_readers_grow_with_their_number_and_not_with_its_square() {
        let looks_at = |equal: usize| {
            let looks = looks(u64::MAX);
            optimize_counted(sums(2, equal), Optimization::Full, &looks).unwrap();
            looks.so_far.load(Ordering::Relaxed)
        };
        let (few, many) = (looks_at(100), looks_at(400));
        assert!(many <= 5 * few, "{few} looks at 100, {many} at 400");
    }

    #[test]
    fn an_optimizer_that_would_take_too_long_is_ended_with_a_word_on_it() {
        let error = optimize_counted(sums(2, 50), Optimization::Full, &looks(100)).unwrap_err();
        assert!(format!("{error:#}").contains("would take minutes"), "{error:#}");
        optimize_counted(sums(2, 50), Optimization::Off, &looks(0)).unwrap();
    }
}
