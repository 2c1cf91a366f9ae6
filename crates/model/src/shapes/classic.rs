//! Operators of classical machine learning (the domain `ai.onnx.ml`) and of training.

use opscope_trace::DataType;

use super::fact::Fact;
use super::operator::{Gap, Inferred, Op};
use crate::proto::data_type_from_onnx;

/// The domain `ai.onnx.ml`.
pub(super) fn infer(op: &Op) -> Inferred {
    match op.node.op_type {
        "Binarizer" | "Imputer" => Ok(vec![op.fact(0)?.without_elements()]),
        "Scaler" | "Normalizer" => like(op, DataType::Float32),
        "LabelEncoder" => like(op, encoded_type(op)),
        "CategoryMapper" => like(op, other_label_type(op.data_type(0))),
        "LinearRegressor" => table(op, op.int("targets", 1), DataType::Float32),
        "SVMRegressor" => table(op, 1, DataType::Float32),
        "TreeEnsembleRegressor" => table(op, op.int("n_targets", 1), DataType::Float32),
        "TreeEnsemble" => table(op, op.int("n_targets", 1), op.data_type(0)),
        "LinearClassifier" | "SVMClassifier" | "TreeEnsembleClassifier" => classifier(op),
        "OneHotEncoder" => one_hot(op),
        "ArrayFeatureExtractor" => features(op),
        _ => Err(Gap::Unknown),
    }
}

/// The domain `ai.onnx.preview.training`: optimisers give the new tensors, then their new states, in
/// the order of the inputs, which begin after the rate and the count of steps.
pub(super) fn infer_training(op: &Op) -> Inferred {
    let kinds = match op.node.op_type {
        "Adagrad" | "Momentum" => 2,
        "Adam" => 3,
        _ => return Err(Gap::Unknown),
    };
    let tensors = (op.output_count() / kinds).max(1);
    (0..op.output_count()).map(|output| Ok(op.fact(2 + output % tensors)?.without_elements())).collect()
}

fn like(op: &Op, data_type: DataType) -> Inferred {
    Ok(vec![Fact { data_type, ..op.fact(0)?.without_elements() }])
}

/// One row for each row of the input; a vector is one row.
fn table(op: &Op, columns: i64, data_type: DataType) -> Inferred {
    Ok(vec![Fact::new(data_type, [rows(op)?, u64::try_from(columns).ok()])])
}

fn rows(op: &Op) -> Inferred<Option<u64>> {
    Ok(match op.dims(0)? {
        [rows, _, ..] => *rows,
        _ => Some(1),
    })
}

/// `LabelEncoder`: the type is that of the list of values, of which there is one.
fn encoded_type(op: &Op) -> DataType {
    let attributes = op.attributes();
    let lists = [
        ("values_strings", DataType::String),
        ("values_int64s", DataType::Int64),
        ("values_floats", DataType::Float32),
    ];
    if let Some((_, data_type)) = lists.into_iter().find(|(name, _)| attributes.has(name)) {
        return data_type;
    }
    match attributes.tensor("values_tensor") {
        Some(tensor) => data_type_from_onnx(tensor.data_type()),
        None => other_label_type(op.data_type(0)),
    }
}

/// Early versions turn text into numbers and numbers into text.
fn other_label_type(data_type: DataType) -> DataType {
    match data_type {
        DataType::String => DataType::Int64,
        DataType::Int64 => DataType::String,
        _ => DataType::Unknown,
    }
}

/// A label for each row, and a score for each row and class.
fn classifier(op: &Op) -> Inferred {
    let attributes = op.attributes();
    let texts = attributes.get("classlabels_strings").map(|list| list.strings.len());
    let numbers =
        attributes.ints("classlabels_ints").or(attributes.ints("classlabels_int64s")).map(<[i64]>::len);
    let (data_type, classes) = match (texts.filter(|n| *n > 0), numbers) {
        (Some(count), _) => (DataType::String, Some(count as u64)),
        (None, count) => (DataType::Int64, count.map(|count| count as u64)),
    };
    let rows = rows(op)?;
    Ok(vec![Fact::new(data_type, [rows]), Fact::new(DataType::Float32, [rows, classes])])
}

/// `OneHotEncoder`: a new last dimension of all categories.
fn one_hot(op: &Op) -> Inferred {
    let attributes = op.attributes();
    let categories = match attributes.get("cats_strings") {
        Some(list) => list.strings.len(),
        None => attributes.ints("cats_int64s").map_or(0, <[i64]>::len),
    };
    let mut dims = op.dims(0)?.to_vec();
    dims.push(Some(categories as u64));
    Ok(vec![Fact::new(DataType::Float32, dims)])
}

/// `ArrayFeatureExtractor`: chosen columns.
fn features(op: &Op) -> Inferred {
    let [rest @ .., _] = op.dims(0)? else { return Err(Gap::Unknown) };
    let chosen = super::operator::size_of(op.dims(1)?);
    let mut dims = if rest.is_empty() { vec![Some(1)] } else { rest.to_vec() };
    dims.push(chosen);
    op.one(0, dims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, dims};

    #[test]
    fn models_of_tables_give_a_row_for_each_row() {
        let case = |name: &str| Case::new(&format!("ai.onnx.ml:{name}")).input(&[5, 4]);
        assert_eq!(case("LinearRegressor").int("targets", 3).first(), dims(&[5, 3]));
        assert_eq!(case("TreeEnsembleRegressor").int("n_targets", 2).first(), dims(&[5, 2]));
        let classifier = case("SVMClassifier").ints("classlabels_ints", &[7, 8, 9]).outputs(2);
        assert_eq!(classifier.types(), [(DataType::Int64, dims(&[5])), (DataType::Float32, dims(&[5, 3]))]);
        assert_eq!(case("OneHotEncoder").ints("cats_int64s", &[1, 2]).first(), dims(&[5, 4, 2]));
        assert_eq!(case("ArrayFeatureExtractor").list(&[0, 2]).first(), dims(&[5, 2]));
        let encoder = Case::new("ai.onnx.ml:LabelEncoder").typed(DataType::String, &[3]);
        assert_eq!(encoder.types(), [(DataType::Int64, dims(&[3]))]);
    }

    #[test]
    fn an_optimiser_gives_what_it_was_given() {
        let case = Case::new("ai.onnx.preview.training:Momentum").input(&[]).input(&[]);
        let case = case.input(&[2, 3]).input(&[4]).input(&[2, 3]).input(&[4]).input(&[2, 3]).input(&[4]);
        assert_eq!(case.outputs(4).dims(), [dims(&[2, 3]), dims(&[4]), dims(&[2, 3]), dims(&[4])]);
    }
}
