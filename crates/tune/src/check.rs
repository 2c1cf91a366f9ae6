//! Running a model on several sets of inputs, and comparing its outputs with those of another.

use opscope_model::Model;
use opscope_run::{
    Engine, Fill, HostTensor, Input, InputError, InputRequest, InputSpec, Interrupt, RunError, Source,
};

use crate::agreement::{Agreement, Incomparable, compare};

/// The outputs of one inference, by name.
pub type Outputs = Vec<(String, HostTensor)>;

/// Several sets of inputs of the same shapes: the user's own first, then random ones.
#[derive(Clone, Debug)]
pub struct InputSets {
    sets: Vec<Vec<Input>>,
}

impl InputSets {
    /// The inputs that the user asked for, and `random` further sets of random values in the same shapes.
    ///
    /// # Errors
    /// When the model can't be fed as asked.
    pub fn resolve(model: &Model, request: &InputRequest, random: usize) -> Result<Self, InputError> {
        let own = request.resolve(model)?;
        let specs = own.iter().map(|input| InputSpec {
            name: Some(input.name.clone()),
            source: Source::Fill { fill: Fill::Random, shape: Some(input.tensor.shape.clone()) },
            text: input.name.clone(),
        });
        let specs: Vec<InputSpec> = specs.collect();
        let mut sets = vec![own];
        for number in 1..=random as u64 {
            // Far from the seeds that a user tries in turn, each of which serves several inputs.
            let seed = request.seed.wrapping_add(number << 32);
            let request = InputRequest { specs: specs.clone(), seed, dimensions: request.dimensions.clone() };
            sets.push(request.resolve(model)?);
        }
        Ok(Self { sets })
    }

    /// The user's own inputs.
    pub fn own(&self) -> &[Input] {
        &self.sets[0]
    }

    /// How many sets there are.
    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// The outputs for every set. The engine is left with the user's own inputs.
    ///
    /// # Errors
    /// When an inference fails, or the user asks to stop.
    pub fn outputs(&self, engine: &mut dyn Engine, interrupt: &Interrupt) -> Result<Vec<Outputs>, RunError> {
        let mut outputs = Vec::with_capacity(self.sets.len());
        for set in &self.sets {
            engine.feed(set)?;
            engine.infer(interrupt)?;
            outputs.push(engine.outputs()?);
        }
        engine.feed(self.own())?;
        Ok(outputs)
    }
}

/// How well the outputs for all sets agree, in the worst of them.
///
/// # Errors
/// When they can't be compared.
pub fn agreement(expected: &[Outputs], found: &[Outputs]) -> Result<Agreement, Incomparable> {
    let mut worst = Agreement::PERFECT;
    for (expected, found) in expected.iter().zip(found) {
        worst = worst.worst(compare(expected, found)?);
    }
    Ok(worst)
}
