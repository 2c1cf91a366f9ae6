//! Single operators on tensors, as exporters write them.

use super::builder::{Builder, Value, float, int, ints};

impl Builder {
    /// The sum of two tensors, of which the second may be broadcast.
    pub(super) fn add(&mut self, path: &str, left: &Value, right: &Value) -> Value {
        self.elementwise(path, "Add", left, right)
    }

    /// An operator of two tensors, of which the second may be broadcast.
    pub(super) fn elementwise(&mut self, path: &str, operator: &str, left: &Value, right: &Value) -> Value {
        self.node(path, operator, &[left, right], vec![], left.shape.clone())
    }

    /// An operator that changes every element of one tensor.
    pub(super) fn unary(&mut self, path: &str, operator: &str, input: &Value) -> Value {
        self.node(path, operator, &[input], vec![], input.shape.clone())
    }

    /// Tensors one after another along an axis.
    pub(super) fn concat(&mut self, path: &str, inputs: &[&Value], axis: usize) -> Value {
        let mut shape = inputs.first().map(|input| input.shape.clone()).unwrap_or_default();
        shape[axis] = inputs.iter().map(|input| input.shape[axis]).sum();
        self.node(path, "Concat", inputs, vec![int("axis", axis as i64)], shape)
    }

    /// A tensor with its axes in another order.
    pub(super) fn transpose<const N: usize>(
        &mut self,
        path: &str,
        input: &Value,
        order: [usize; N],
    ) -> Value {
        let shape = order.map(|axis| input.shape[axis]).to_vec();
        self.node(path, "Transpose", &[input], vec![ints("perm", order.map(|axis| axis as i64))], shape)
    }

    /// The same elements in another shape.
    pub(super) fn reshape(&mut self, path: &str, input: &Value, shape: &[usize]) -> Value {
        let extents: Vec<i64> = shape.iter().map(|&extent| extent as i64).collect();
        let target = self.integers(path, "shape", &extents);
        self.node(path, "Reshape", &[input, &target], vec![], shape.to_vec())
    }

    /// The product of two stacks of matrices, or of such a stack and one matrix.
    pub(super) fn matmul(&mut self, path: &str, left: &Value, right: &Value) -> Value {
        let mut shape = left.shape.clone();
        if let (Some(columns), Some(right)) = (shape.last_mut(), right.shape.last()) {
            *columns = *right;
        }
        self.node(path, "MatMul", &[left, right], vec![], shape)
    }

    /// Values below zero times a slope.
    pub(super) fn leaky_relu(&mut self, path: &str, input: &Value, slope: f32) -> Value {
        self.node(path, "LeakyRelu", &[input], vec![float("alpha", slope)], input.shape.clone())
    }
}
