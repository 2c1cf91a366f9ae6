//! Files that are damaged, contradict themselves, or say the same again and again.

use opscope_testing::tflite_file::{Field, Operator, Table, Tensor, file, model, small};

use super::load;
use crate::{Bindings, Cost, LoadError, Shapes};

#[test]
fn losses_are_told_and_the_rest_is_kept() {
    // A tensor that nothing made, one that two operators make, data that are too short, and a subgraph besides.
    let mut short = Tensor::weight("w", &[4]);
    short.data.pop();
    let tensors = [Tensor::new("x", &[4]), Tensor::new("gone", &[4]), short, Tensor::new("y", &[4])];
    let operators =
        [Operator::new(0, &[0, 1], &[3]), Operator::new(0, &[0, 2], &[3]), Operator::new(0, &[0, 99], &[3])];
    let mut root = model(&tensors, &operators, &[0], &[3]);
    if let Field::Tables(graphs) = &mut root[2].1 {
        graphs.push(Table::new());
    }
    let read = load(file(&root)).unwrap();
    assert_eq!(read.graph().node_count(), 3);
    let losses = read.provenance().losses.join("\n");
    for words in
        ["2 of the inputs", "gone", "1 of the weights", "2 of the tensors are made twice", "1 more subgraphs"]
    {
        assert!(losses.contains(words), "no {words:?} in {losses}");
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_told_or_refused() {
    let whole = small();
    let mut kept = 0;
    for end in 8..whole.len() {
        match load(whole[..end].to_vec()) {
            Ok(model) => {
                // The last bytes may be the end of a text.
                let is_told = !model.provenance().losses.is_empty();
                assert!(is_told || end + 16 > whole.len(), "nothing is told of a file of {end} bytes");
                kept += 1;
            }
            Err(LoadError::Format { source, .. }) => {
                assert!(source.to_string().contains("damaged"), "{source}")
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(kept > 100, "{kept}");
}

#[test]
fn damaged_files_are_survived() {
    let whole = small();
    for (at, value) in (8..whole.len()).zip([0, 0xff, 1, 0x7f, 0x80, 2, 4].into_iter().cycle()) {
        let mut damaged = whole.clone();
        damaged[at] = value;
        if let Ok(model) = load(damaged) {
            let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
            for node in model.graph().nodes() {
                let _ = Cost::of(&model, &shapes, node.id);
            }
        }
    }
}

#[test]
fn one_table_that_stands_for_very_many_takes_no_time_without_end() {
    let root = |tensors: Field, operators: Field| {
        let mut root = model(&[], &[Operator::new(0, &[], &[])], &[0], &[1]);
        if let Field::Tables(graphs) = &mut root[2].1 {
            graphs[0][0].1 = tensors;
            graphs[0][3].1 = operators;
        }
        file(&root)
    };
    let tensor = |name: &str| vec![(0, Field::Ints(vec![4])), (3, Field::Text(name.to_owned()))];
    let operator = |inputs: usize| vec![(1, Field::Ints(vec![0; inputs])), (2, Field::Ints(vec![1]))];
    // Ten thousand inputs, a million times; and a name of a megabyte as often.
    for bytes in [
        root(Field::Tables(vec![tensor("x"), tensor("y")]), Field::Repeated(operator(10_000), 1_000_000)),
        root(Field::Repeated(tensor(&"x".repeat(1 << 20)), 1_000_000), Field::Tables(vec![operator(1)])),
    ] {
        let error = load(bytes).unwrap_err().to_string();
        assert!(error.contains("no real model"), "{error}");
    }
}

#[test]
fn a_hundred_thousand_operators_of_one_tensor_are_read() {
    let tensors = [Tensor::new("x", &[1, 4, 4, 3]), Tensor::new("y", &[1, 48])];
    // Each has a list of sizes that would have the same name.
    let reshape = Operator::new(22, &[0], &[1]).with(17, vec![(0, Field::Ints(vec![1, 48]))]);
    let read = load(file(&model(&tensors, &vec![reshape; 100_000], &[0], &[1]))).unwrap();
    assert_eq!(read.graph().node_count(), 100_000);
}
