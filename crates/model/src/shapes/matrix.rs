//! Products of matrices.

use opscope_trace::DataType;

use super::fact::{Dims, Fact};
use super::operator::{Gap, Inferred, Op, broadcast, contradiction, same, size_of};

/// `MatMul`, as NumPy's `matmul` has it.
pub(super) fn matmul(op: &Op) -> Inferred {
    op.one(0, product(op.dims(0)?, op.dims(1)?)?)
}

/// Products of integers, which add up in 32 bits.
pub(super) fn matmul_integer(op: &Op) -> Inferred {
    Ok(vec![Fact::new(DataType::Int32, product(op.dims(0)?, op.dims(1)?)?)])
}

/// `QLinearMatMul`: the matrices are inputs 0 and 3, and the output is of the type of its zero point.
pub(super) fn qlinear_matmul(op: &Op) -> Inferred {
    op.one(7, product(op.dims(0)?, op.dims(3)?)?)
}

/// `MatMulIntegerToFloat` and `DynamicQuantizeMatMul` of ONNX Runtime: the output is of the type of
/// the scale `typed_as`.
pub(super) fn scaled_matmul(op: &Op, typed_as: usize) -> Inferred {
    op.one(typed_as, product(op.dims(0)?, op.dims(1)?)?)
}

/// `FusedMatMul` of ONNX Runtime: either matrix may be transposed, in its last two dimensions or, for
/// `transBatchA`, by moving the last but one to the front.
pub(super) fn fused_matmul(op: &Op) -> Inferred {
    if op.flag("transBatchA") || op.flag("transBatchB") {
        return Err(Gap::Unknown);
    }
    let (left, right) = (op.dims(0)?, op.dims(1)?);
    let turned = |dims: &[Option<u64>], attribute| {
        let mut dims = dims.to_vec();
        let rank = dims.len();
        if op.flag(attribute) && rank >= 2 {
            dims.swap(rank - 2, rank - 1);
        }
        dims
    };
    op.one(0, product(&turned(left, "transA"), &turned(right, "transB"))?)
}

/// `MatMulNBits` of ONNX Runtime: the second matrix is packed, of K rows and N columns.
pub(super) fn matmul_n_bits(op: &Op) -> Inferred {
    let mut dims = op.dims(0)?.to_vec();
    let last = dims.last_mut().ok_or_else(|| contradiction!("a scalar has no columns"))?;
    *last = op.size("N");
    op.one(0, dims)
}

/// The dimensions of a product: a vector on the left counts as a row, on the right as a column, and
/// the dimension so added is dropped again.
pub(super) fn product(left: &[Option<u64>], right: &[Option<u64>]) -> Inferred<Dims> {
    let scalar = || contradiction!("a scalar cannot be multiplied as a matrix");
    let (columns, left_rest) = left.split_last().ok_or_else(scalar)?;
    let (rows, right_rest, width) = match right {
        [] => return Err(scalar()),
        [rows] => (rows, &right[..0], None),
        [rest @ .., rows, width] => (rows, rest, Some(*width)),
    };
    same(*columns, *rows).map_err(|_| {
        contradiction!("{:?} columns against {:?} rows", columns.unwrap_or(0), rows.unwrap_or(0))
    })?;
    let mut dims = match left_rest.split_last() {
        None => right_rest.to_vec(),
        Some((height, batch)) => {
            let mut dims = broadcast(batch, right_rest)?;
            dims.push(*height);
            dims
        }
    };
    dims.extend(width);
    Ok(dims)
}

/// `Gemm`: two matrices, each of which may be transposed.
pub(super) fn gemm(op: &Op) -> Inferred {
    let dims = gemm_dims(op, 0, 1)?;
    op.one(0, dims)
}

/// `QGemm` of ONNX Runtime: the matrices are inputs 0 and 3; the output is of floating point unless
/// it has a zero point.
pub(super) fn quantized_gemm(op: &Op) -> Inferred {
    let dims = gemm_dims(op, 0, 3)?;
    let data_type = if op.has(8) { op.data_type(8) } else { op.data_type(1) };
    Ok(vec![Fact::new(data_type, dims)])
}

fn gemm_dims(op: &Op, left: usize, right: usize) -> Inferred<Dims> {
    // The first versions flatten what isn't a matrix.
    let turned = |input, attribute| -> Inferred<[Option<u64>; 2]> {
        let [rows, columns] = op.dims_of_rank(input)?;
        Ok(if op.flag(attribute) { [columns, rows] } else { [rows, columns] })
    };
    let ([height, columns], [rows, width]) = (turned(left, "transA")?, turned(right, "transB")?);
    same(columns, rows)?;
    Ok(vec![height, width])
}

/// `Einsum`: letters name dimensions, an ellipsis stands for those that are broadcast.
pub(super) fn einsum(op: &Op) -> Inferred {
    let equation = op.attributes().string("equation").ok_or(Gap::Unknown)?;
    let dims = (0..op.input_count()).map(|input| op.dims(input)).collect::<Inferred<Vec<_>>>()?;
    let (letters, inputs, output) = read_equation(equation, &dims)?;
    let output = output.unwrap_or_else(|| letters.implicit_output(&inputs));
    op.one(0, letters.output(&output)?)
}

/// The number of places that `Einsum` sums over or keeps: the product of all dimensions that its
/// equation names.
pub(crate) fn einsum_space(equation: &str, dims: &[&[Option<u64>]]) -> Option<u64> {
    let (letters, ..) = read_equation(equation, dims).ok()?;
    let named: Dims = letters.sizes.iter().map(|(_, size)| *size).chain(letters.ellipsis).collect();
    size_of(&named)
}

/// The letters of an equation, its inputs, and its output if it names one.
fn read_equation(equation: &str, dims: &[&[Option<u64>]]) -> Inferred<(Letters, String, Option<String>)> {
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (inputs, output) = match equation.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output.to_owned())),
        None => (equation.as_str(), None),
    };
    let mut letters = Letters::default();
    let terms: Vec<&str> = inputs.split(',').collect();
    if terms.len() != dims.len() {
        return Err(contradiction!("{} terms for {} inputs", terms.len(), dims.len()));
    }
    for (term, dims) in terms.into_iter().zip(dims) {
        letters.read(term, dims)?;
    }
    Ok((letters, inputs.to_owned(), output))
}

/// The sizes that the letters of an equation stand for.
#[derive(Default)]
struct Letters {
    sizes: Vec<(char, Option<u64>)>,
    ellipsis: Dims,
}

impl Letters {
    fn read(&mut self, term: &str, dims: &[Option<u64>]) -> Inferred<()> {
        let misfit = || contradiction!("the term `{term}` does not fit {} dimensions", dims.len());
        let (before, after) = term.split_once("...").unwrap_or((term, ""));
        let (before_count, after_count) = (before.chars().count(), after.chars().count());
        let broadcast_count = dims.len().checked_sub(before_count + after_count).ok_or_else(misfit)?;
        if broadcast_count > 0 && !term.contains("...") {
            return Err(misfit());
        }
        let (start, rest) = dims.split_at(before_count);
        let (middle, end) = rest.split_at(broadcast_count);
        self.ellipsis = broadcast(&self.ellipsis, middle)?;
        for (letter, dim) in before.chars().zip(start).chain(after.chars().zip(end)) {
            match self.sizes.iter_mut().find(|(known, _)| *known == letter) {
                Some((_, size)) => match (*size, *dim) {
                    // A dimension of 1 stretches here as well.
                    (Some(1), other) => *size = other,
                    (known, Some(1)) => *size = known,
                    (known, other) => *size = same(known, other)?,
                },
                None => self.sizes.push((letter, *dim)),
            }
        }
        Ok(())
    }

    /// Without an output, that is what was broadcast, then the letters that stand once, sorted.
    fn implicit_output(&self, inputs: &str) -> String {
        let mut once: Vec<char> = (self.sizes.iter())
            .map(|(letter, _)| *letter)
            .filter(|letter| inputs.matches(*letter).count() == 1)
            .collect();
        once.sort_unstable();
        let ellipsis = if inputs.contains("...") { "..." } else { "" };
        ellipsis.chars().chain(once).collect()
    }

    fn output(&self, term: &str) -> Inferred<Dims> {
        let (before, after) = term.split_once("...").unwrap_or((term, ""));
        let size = |letter: char| {
            let known = self.sizes.iter().find(|(known, _)| *known == letter);
            known
                .map(|(_, size)| *size)
                .ok_or_else(|| contradiction!("the letter {letter} is not in the inputs"))
        };
        let mut dims = before.chars().map(size).collect::<Inferred<Dims>>()?;
        if term.contains("...") {
            dims.extend(&self.ellipsis);
        }
        for letter in after.chars() {
            dims.push(size(letter)?);
        }
        Ok(dims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, dims};

    #[test]
    fn matrices_multiply_as_in_numpy() {
        let matmul = |left: &[i64], right: &[i64]| Case::new("MatMul").input(left).input(right).first();
        assert_eq!(matmul(&[2, 3], &[3, 4]), dims(&[2, 4]));
        assert_eq!(matmul(&[5, 1, 2, 3], &[7, 3, 4]), dims(&[5, 7, 2, 4]));
        assert_eq!(matmul(&[3], &[3, 4]), dims(&[4]));
        assert_eq!(matmul(&[5, 2, 3], &[3]), dims(&[5, 2]));
        assert_eq!(matmul(&[3], &[3]), dims(&[]));
        let misfit = Case::new("MatMul").input(&[2, 3]).input(&[4, 5]).note();
        assert!(misfit.contains("3 columns against 4 rows"), "{misfit}");
    }

    #[test]
    fn gemm_transposes_either_matrix() {
        let gemm = Case::new("Gemm").input(&[3, 2]).input(&[4, 3]).int("transA", 1).int("transB", 1);
        assert_eq!(gemm.first(), dims(&[2, 4]));
    }

    #[test]
    fn quantised_products_have_the_type_of_their_result() {
        let bytes = |case: Case, dims: &[i64]| case.typed(DataType::Uint8, dims);
        let integer = bytes(bytes(Case::new("MatMulInteger"), &[2, 3]), &[3, 4]);
        assert_eq!(integer.types(), [(DataType::Int32, dims(&[2, 4]))]);
        let left = bytes(Case::new("QLinearMatMul"), &[2, 3]).input(&[]);
        let right = bytes(bytes(left, &[]), &[3, 4]).input(&[]);
        let linear = bytes(right, &[]).input(&[]).typed(DataType::Int8, &[]);
        assert_eq!(linear.types(), [(DataType::Int8, dims(&[2, 4]))]);
    }

    #[test]
    fn einsum_follows_its_equation() {
        let einsum = |equation: &str, inputs: &[&[i64]]| {
            let case = Case::new("Einsum").string("equation", equation);
            inputs.iter().fold(case, |case, dims| case.input(dims)).first()
        };
        assert_eq!(einsum("bij, bjk -> bik", &[&[5, 2, 3], &[5, 3, 4]]), dims(&[5, 2, 4]));
        assert_eq!(einsum("ij,jk", &[&[2, 3], &[3, 4]]), dims(&[2, 4]));
        assert_eq!(einsum("...ii->...i", &[&[7, 3, 3]]), dims(&[7, 3]));
        assert_eq!(einsum("i...,j...->ij...", &[&[2, 1, 6], &[3, 5, 1]]), dims(&[2, 3, 5, 6]));
        assert_eq!(einsum("ii->", &[&[3, 3]]), dims(&[]));
        let misfit = Case::new("Einsum").string("equation", "ij,jk->ik").input(&[2, 3]).input(&[4, 5]).note();
        assert!(misfit.contains("do not fit"), "{misfit}");
    }
}
