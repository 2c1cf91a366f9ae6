//! Files that are made by the public description of their layout.

mod damage;

use opscope_testing::tflite_file::{Field, Operator, Table, Tensor, file, model, small};
use opscope_trace::DataType;

use super::*;
use crate::{Bindings, Cost, LoadError, Model, Shapes};

fn load(bytes: Vec<u8>) -> Result<Model, LoadError> {
    Model::from_any_bytes(bytes.into())
}

/// A model that must be read without a loss, a gap or a contradiction.
fn sound(bytes: Vec<u8>) -> (Model, Shapes) {
    let model = load(bytes).unwrap();
    assert_eq!((model.kind(), &model.provenance().losses[..]), (ModelKind::TfLite, &[][..]));
    let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
    assert_eq!((shapes.unresolved(), shapes.notes()), (&[][..], &[][..]));
    (model, shapes)
}

/// A single operator, whose first tensor is the model's input and whose last is its output.
fn single(code: i32, tensors: &[Tensor], options: (u8, Table)) -> Vec<u8> {
    let last = tensors.len() as i32 - 1;
    let operator = Operator::new(code, &(0..last).collect::<Vec<_>>(), &[last]).with(options.0, options.1);
    file(&model(tensors, &[operator], &[0], &[last]))
}

fn types(model: &Model) -> Vec<(&str, &str)> {
    model.graph().nodes().map(|node| (node.name, node.op_type)).collect()
}

fn dims(model: &Model, shapes: &Shapes, value: &str) -> Vec<u64> {
    let value = model.graph().value_by_name(value).unwrap_or_else(|| panic!("no value {value}"));
    shapes.get(value.id).unwrap().known_dims().unwrap()
}

fn bytes(fields: &[(usize, u8)]) -> Table {
    fields.iter().map(|(field, value)| (*field, Field::Byte(*value))).collect()
}

fn ints(fields: &[(usize, i32)]) -> Table {
    fields.iter().map(|(field, value)| (*field, Field::Int(*value))).collect()
}

#[test]
fn an_image_stays_in_onnxs_order_from_one_operator_of_images_to_the_next() {
    let (model, shapes) = sound(small());
    assert_eq!(
        types(&model),
        [
            ("image:nchw", "Transpose"),
            ("conv/Relu6", "Conv"),
            ("conv/Relu6:Clip", "Clip"),
            ("depthwise", "Conv"),
            ("sum", "Add"),
            ("sum:Relu", "Relu"),
            ("shifted", "Mul"),
            ("mean", "ReduceMean"),
            ("dense", "Gemm"),
            ("likely", "Softmax"),
        ]
    );
    assert_eq!(dims(&model, &shapes, "image"), [1, 8, 8, 3]);
    assert_eq!(dims(&model, &shapes, "conv/Relu6"), [1, 4, 4, 4]);
    assert_eq!((dims(&model, &shapes, "mean"), dims(&model, &shapes, "likely")), (vec![1, 4], vec![1, 10]));
    let graph = model.graph();
    let depthwise = graph.node_by_name("depthwise").unwrap();
    assert_eq!(depthwise.attributes.int("group"), Some(4));
    let mean = graph.node_by_name("mean").unwrap();
    let axes = graph.value(mean.input(1).unwrap()).initializer.unwrap();
    assert_eq!(axes.int64_data, [2, 3], "height and width lie behind the channels");
    let cost = |name: &str| Cost::of(&model, &shapes, graph.node_by_name(name).unwrap().id);
    assert_eq!(cost("conv/Relu6").flops, Some(4 * 16 * (2 * 27 + 1)));
    assert_eq!((cost("depthwise").flops, cost("dense").flops), (Some(2 * 4 * 16 * 9), Some(2 * 10 * 4)));
    assert_eq!(
        (cost("sum").flops, cost("sum:Relu").flops, cost("mean").flops),
        (Some(64), Some(64), Some(64))
    );
    let stated: Vec<_> =
        model.provenance().stated.iter().map(|fact| (fact.key, fact.value.clone())).collect();
    for expected in [
        ("name", StatedValue::Text("main".to_owned())),
        ("version", StatedValue::Count(3)),
        ("description", StatedValue::Text("made by hand".to_owned())),
        ("subgraphs", StatedValue::Count(1)),
        ("operators", StatedValue::Count(7)),
        ("inserted_transposes", StatedValue::Count(1)),
    ] {
        assert!(stated.contains(&expected), "no {expected:?} in {stated:?}");
    }
}

#[test]
fn weights_have_their_data_unless_their_order_changes() {
    let (model, _) = sound(small());
    let data = |name: &str| {
        let stored = model.graph().value_by_name(name).unwrap().initializer.unwrap();
        model.tensor_data(stored).map(|data| (data.dims.clone(), data.to_f32s().unwrap()))
    };
    let ascending = |count: u32| (0..count).map(|number| number as f32).collect::<Vec<_>>();
    assert_eq!(data("dense/weights").unwrap(), (vec![10, 4], ascending(40)));
    // One number for each channel is spread over an image, which moves none of them.
    assert_eq!(data("shift").unwrap(), (vec![1, 4, 1, 1], ascending(4)));
    assert!(data("conv/filter").is_err() && data("depthwise/filter").is_err());
}

#[test]
fn the_files_order_comes_back_where_it_is_wanted() {
    // An image whose elements are read in their order, and the sizes of the image itself.
    let tensors = [
        Tensor::new("x", &[1, 2, 2, 3]),
        Tensor::new("pooled", &[1, 2, 2, 3]),
        Tensor::new("flat", &[1, 12]),
        Tensor { data_type: 2, ..Tensor::new("sizes", &[4]) },
    ];
    let pool = ints(&[(1, 1), (2, 1), (3, 2), (4, 2)]);
    let operators = [
        Operator::new(17, &[0], &[1]).with(5, pool),
        Operator::new(22, &[1], &[2]).with(17, vec![(0, Field::Ints(vec![1, -1]))]),
        Operator::new(77, &[1], &[3]).with(55, bytes(&[(0, 2)])),
    ];
    let (read, shapes) = sound(file(&model(&tensors, &operators, &[0], &[1, 2, 3])));
    assert_eq!(
        types(&read),
        [
            ("x:nchw", "Transpose"),
            ("pooled", "MaxPool"),
            ("pooled:nhwc", "Transpose"),
            ("flat", "Reshape"),
            ("sizes:sizes", "Shape"),
            ("sizes", "Gather"),
            ("sizes:Cast", "Cast"),
        ]
    );
    let outputs: Vec<_> = read.graph().outputs().iter().map(|id| read.graph().value(*id).name).collect();
    assert_eq!(outputs, ["pooled", "flat", "sizes"]);
    assert_eq!(dims(&read, &shapes, "pooled"), [1, 2, 2, 3]);
    assert_eq!(dims(&read, &shapes, "pooled:nchw"), [1, 3, 2, 2]);
}

#[test]
fn factors_for_the_channels_of_an_image_are_not_turned() {
    // The mean of an image, a convolution of that one place, and the image by what comes of it.
    let tensors = [
        Tensor::new("x", &[1, 4, 4, 3]),
        Tensor::new("pooled", &[1, 4, 4, 3]),
        Tensor::ints("axes", &[1, 2]),
        Tensor::new("mean", &[1, 3]),
        Tensor::new("place", &[1, 1, 1, 3]),
        Tensor::weight("filter", &[3, 1, 1, 3]),
        Tensor::new("factors", &[1, 1, 1, 3]),
        Tensor::new("scaled", &[1, 4, 4, 3]),
        Tensor::new("result", &[1, 48]),
    ];
    let operators = [
        Operator::new(17, &[0], &[1]).with(5, ints(&[(1, 1), (2, 1), (3, 3), (4, 3)])),
        Operator::new(40, &[1, 2], &[3]).with(27, Table::new()),
        Operator::new(22, &[3], &[4]).with(17, vec![(0, Field::Ints(vec![-1, 1, 1, 3]))]),
        Operator::new(3, &[4, 5], &[6]).with(1, ints(&[(1, 1), (2, 1)])),
        Operator::new(18, &[1, 6], &[7]).with(21, Table::new()),
        Operator::new(22, &[7], &[8]).with(17, vec![(0, Field::Ints(vec![1, 48]))]),
    ];
    let (read, shapes) = sound(file(&model(&tensors, &operators, &[0], &[8])));
    let turned: Vec<_> = types(&read).into_iter().filter(|(_, op_type)| *op_type == "Transpose").collect();
    assert_eq!(turned, [("x:nchw", "Transpose"), ("scaled:nhwc", "Transpose")]);
    assert_eq!(dims(&read, &shapes, "place"), [1, 3, 1, 1]);
}

#[test]
fn sizes_follow_the_librarys_own_rules() {
    let image = || Tensor::new("x", &[1, 9, 10, 4]);
    let y = |dims: &[i32]| Tensor::new("y", dims);
    let steps = |more: &[(usize, i32)]| [ints(&[(1, 2), (2, 2)]), ints(more)].concat();
    for (code, tensors, options, op_type) in [
        (3, vec![image(), Tensor::weight("w", &[6, 3, 3, 2]), y(&[1, 5, 5, 6])], (1, steps(&[])), "Conv"),
        (
            3,
            vec![image(), Tensor::weight("w", &[6, 3, 3, 4]), y(&[1, 4, 4, 6])],
            (1, [steps(&[]), bytes(&[(0, 1)])].concat()),
            "Conv",
        ),
        (
            4,
            vec![image(), Tensor::weight("w", &[1, 2, 3, 8]), y(&[1, 5, 5, 8])],
            (2, steps(&[(3, 2)])),
            "Conv",
        ),
        (1, vec![image(), y(&[1, 5, 5, 4])], (5, steps(&[(3, 3), (4, 2)])), "AveragePool"),
        (
            23,
            vec![image(), Tensor::ints("to", &[17, 5]), y(&[1, 17, 5, 4])],
            (15, bytes(&[(2, 1)])),
            "Resize",
        ),
        (97, vec![image(), Tensor::ints("to", &[18, 20]), y(&[1, 18, 20, 4])], (74, Table::new()), "Resize"),
        (5, vec![image(), y(&[1, 18, 20, 1])], (94, ints(&[(0, 2)])), "DepthToSpace"),
        (
            34,
            vec![
                image(),
                Tensor { dims: vec![4, 2], ..Tensor::ints("pads", &[0, 0, 1, 2, 3, 0, 0, 5]) },
                y(&[1, 12, 13, 9]),
            ],
            (22, Table::new()),
            "Pad",
        ),
        (
            45,
            vec![
                image(),
                Tensor::ints("from", &[0, 1, -1, 0]),
                Tensor::ints("to", &[0, 8, 0, 2]),
                Tensor::ints("by", &[1, 2, -3, 1]),
                y(&[1, 4, 3, 2]),
            ],
            (32, ints(&[(0, 1), (1, 1)])),
            "Slice",
        ),
        (
            39,
            vec![image(), Tensor::ints("perm", &[0, 3, 1, 2]), y(&[1, 4, 9, 10])],
            (26, Table::new()),
            "Transpose",
        ),
        (
            43,
            vec![Tensor::new("x", &[1, 1, 1, 4]), y(&[1, 4])],
            (30, vec![(0, Field::Ints(vec![1, 2]))]),
            "Squeeze",
        ),
        (83, vec![Tensor::new("x", &[2, 3]), y(&[2, 1, 3])], (59, ints(&[(0, 1), (1, 1)])), "Unsqueeze"),
        (
            56,
            vec![image(), Tensor::ints("axis", &[3]), Tensor { data_type: 2, ..y(&[1, 9, 10]) }],
            (40, bytes(&[(0, 2)])),
            "ArgMax",
        ),
        (
            132,
            vec![
                Tensor::new("x", &[1, 6, 8, 8, 2]),
                Tensor::weight("w", &[3, 3, 3, 2, 5]),
                y(&[1, 6, 4, 4, 5]),
            ],
            (106, ints(&[(1, 1), (2, 2), (3, 2)])),
            "Conv",
        ),
        (
            126,
            vec![Tensor::new("x", &[2, 5, 7]), Tensor::weight("w", &[2, 9, 7]), y(&[2, 5, 9])],
            (101, bytes(&[(1, 1)])),
            "MatMul",
        ),
        (
            9,
            vec![Tensor::new("x", &[2, 5, 7]), Tensor::weight("w", &[3, 7]), y(&[10, 3])],
            (8, Table::new()),
            "Gemm",
        ),
        (
            9,
            vec![Tensor::new("x", &[2, 5, 7]), Tensor::weight("w", &[3, 7]), y(&[2, 5, 3])],
            (8, bytes(&[(2, 1)])),
            "MatMul",
        ),
        (98, vec![image(), y(&[1, 9, 10, 4])], (75, vec![(0, Field::Float(0.25))]), "LeakyRelu"),
    ] {
        let (read, shapes) = sound(single(code, &tensors, options));
        let expected: Vec<u64> = tensors.last().unwrap().dims.iter().map(|size| *size as u64).collect();
        assert_eq!(dims(&read, &shapes, "y"), expected, "{op_type}");
        assert!(
            types(&read).iter().any(|(_, known)| *known == op_type),
            "no {op_type} in {:?}",
            types(&read)
        );
        let costs = read.graph().nodes().map(|node| Cost::of(&read, &shapes, node.id).flops);
        assert!(costs.into_iter().all(|flops| flops.is_some()), "{op_type}");
    }
}

#[test]
fn transposed_convolutions_have_the_sizes_that_they_are_told() {
    let tensors = [
        Tensor::ints("sizes", &[1, 17, 16, 5]),
        Tensor::weight("w", &[5, 3, 3, 4]),
        Tensor::new("x", &[1, 8, 8, 4]),
        Tensor::new("y", &[1, 17, 16, 5]),
    ];
    let operator =
        Operator::new(67, &[0, 1, 2], &[3]).with(49, [bytes(&[(0, 0)]), ints(&[(1, 2), (2, 2)])].concat());
    let (read, shapes) = sound(file(&model(&tensors, &[operator], &[2], &[3])));
    assert_eq!(dims(&read, &shapes, "y:nchw"), [1, 5, 17, 16]);
    assert_eq!(dims(&read, &shapes, "w"), [4, 5, 3, 3]);
    let node = read.graph().node_by_name("y").unwrap();
    assert_eq!(Cost::of(&read, &shapes, node.id).flops, Some(2 * 4 * 64 * 5 * 9));
}

#[test]
fn an_operator_that_makes_sizes_which_onnxs_convolution_does_not_read_is_known() {
    let tensors = [
        Tensor::new("x", &[1, 2, 2, 4]),
        Tensor { data_type: 2, ..Tensor::new("sizes", &[4]) },
        Tensor::weight("w", &[4, 3, 3, 4]),
        Tensor::new("y", &[1, 2, 2, 4]),
        Tensor { data_type: 2, ..Tensor::new("nobody", &[4]) },
    ];
    let operators = [
        Operator::new(77, &[0], &[1]),
        Operator::new(67, &[1, 2, 0], &[3]).with(49, [bytes(&[(0, 0)]), ints(&[(1, 1), (2, 1)])].concat()),
        Operator::new(77, &[0], &[4]),
    ];
    let (read, _) = sound(file(&model(&tensors, &operators, &[0], &[3])));
    assert_eq!(["sizes", "y", "nobody"].map(|name| read.is_unread(name)), [true, false, false]);
}

#[test]
fn an_operator_whose_result_is_read_before_it_is_made_is_read_in_the_file() {
    let tensors = ["x", "a", "b", "y"].map(|name| Tensor::new(name, &[1, 4]));
    // Additions: of what comes later, and of what was there.
    let operators =
        [Operator::new(0, &[0, 2], &[1]), Operator::new(0, &[0, 1], &[2]), Operator::new(0, &[0, 0], &[3])];
    let read = load(file(&model(&tensors, &operators, &[0], &[3]))).unwrap();
    assert_eq!(["a", "b", "y"].map(|name| read.is_unread(name)), [true, true, false]);
}

#[test]
fn one_value_that_is_packed_gets_a_further_axis_under_its_own_name() {
    let tensors = [Tensor::new("x", &[2, 3]), Tensor::new("y", &[2, 1, 3])];
    let (read, shapes) = sound(single(83, &tensors, (59, ints(&[(0, 1), (1, 1)]))));
    assert_eq!(types(&read), [("y", "Unsqueeze")]);
    assert_eq!(dims(&read, &shapes, "y"), [2, 1, 3]);
}

#[test]
fn quantized_tensors_keep_their_types() {
    let tensors = [
        Tensor::new("real", &[1, 4]),
        Tensor::new("x", &[1, 4]).quantized(0.5, -10),
        Tensor::weight("w", &[3, 4]).quantized(0.25, 0),
        Tensor::new("y", &[1, 3]).quantized(0.1, 4),
        Tensor::new("z", &[1, 3]).quantized(0.2, 4),
        Tensor::new("result", &[1, 3]),
    ];
    let operators = [
        Operator::new(114, &[0], &[1]),
        Operator::new(9, &[1, 2], &[3]).with(8, bytes(&[(0, 3)])),
        Operator::new(114, &[3], &[4]),
        Operator::new(6, &[4], &[5]),
    ];
    let (read, shapes) = sound(file(&model(&tensors, &operators, &[0], &[5])));
    assert_eq!(
        types(&read),
        [
            ("x", "QuantizeLinear"),
            ("y", "Gemm"),
            ("y:Clip", "Clip"),
            ("z", "QUANTIZE"),
            ("result", "DequantizeLinear")
        ]
    );
    let graph = read.graph();
    let data_type = |name: &str| shapes.get(graph.value_by_name(name).unwrap().id).unwrap().data_type;
    assert_eq!(["x", "w", "y", "z"].map(data_type), [DataType::Int8; 4]);
    assert_eq!(data_type("result"), DataType::Float32);
    let stored =
        |name: &str| read.tensor_data(graph.value_by_name(name).unwrap().initializer.unwrap()).unwrap();
    // 6 is 60 steps of a tenth, counted from 4.
    assert_eq!(stored("y:Clip:min").to_i64s().unwrap(), [4]);
    assert_eq!(stored("y:Clip:max").to_i64s().unwrap(), [64]);
    assert_eq!(
        (stored("x:scale").to_f32s().unwrap(), stored("x:zero_point").to_i64s().unwrap()),
        (vec![0.5], vec![-10])
    );
    let quantized = read.provenance().stated.iter().find(|fact| fact.key == "quantized_tensors");
    assert_eq!(quantized.unwrap().value, StatedValue::Count(4));
}

#[test]
fn a_packed_filter_is_unpacked_in_the_order_in_which_it_is_read() {
    let half = Tensor { data_type: 1, data: vec![0; 2 * 54], ..Tensor::new("packed", &[2, 3, 3, 3]) };
    let tensors = [
        Tensor::new("x", &[1, 4, 4, 3]),
        half,
        Tensor::new("filter", &[2, 3, 3, 3]),
        Tensor::new("y", &[1, 4, 4, 2]),
    ];
    let operators =
        [Operator::new(6, &[1], &[2]), Operator::new(3, &[0, 2], &[3]).with(1, ints(&[(1, 1), (2, 1)]))];
    let (read, shapes) = sound(file(&model(&tensors, &operators, &[0], &[3])));
    assert_eq!(types(&read)[1..3], [("filter", "Cast"), ("y", "Conv")]);
    assert_eq!(dims(&read, &shapes, "filter"), [2, 3, 3, 3]);
}

#[test]
fn parameters_are_weights_of_the_file_and_neither_lists_nor_bounds() {
    let (read, shapes) = sound(small());
    let parameters = |read: &Model, shapes: &Shapes, node: &str| {
        Cost::of(read, shapes, read.graph().node_by_name(node).unwrap().id).parameters
    };
    assert_eq!(parameters(&read, &shapes, "conv/Relu6:Clip"), 0);
    assert!(parameters(&read, &shapes, "conv/Relu6") > 0);
    // SPACE_TO_BATCH_ND stays an operator of the format, with its lists of 32 bits.
    let lists = [
        Tensor::new("x", &[1, 4, 4, 3]),
        Tensor::ints("block", &[2, 2]),
        Tensor { dims: vec![2, 2], ..Tensor::ints("pads", &[0, 0, 0, 0]) },
        Tensor::new("y", &[4, 2, 2, 3]),
    ];
    let read = Model::from_any_bytes(single(38, &lists, (0, Table::new())).into()).unwrap();
    let shapes = Shapes::infer(&read, &Bindings::new()).unwrap();
    assert_eq!(parameters(&read, &shapes, "y"), 0);
}

#[test]
fn a_sparse_filter_has_the_bytes_that_the_file_has() {
    let sparse = Tensor {
        data: vec![0; 4 * 5],
        fields: vec![(6, Field::Table(Table::new()))],
        ..Tensor::new("sparse", &[2, 3, 3, 3])
    };
    let tensors = [
        Tensor::new("x", &[1, 4, 4, 3]),
        sparse,
        Tensor::new("filter", &[2, 3, 3, 3]),
        Tensor::new("y", &[1, 4, 4, 2]),
    ];
    let operators =
        [Operator::new(124, &[1], &[2]), Operator::new(3, &[0, 2], &[3]).with(1, ints(&[(1, 1), (2, 1)]))];
    let (read, _) = sound(file(&model(&tensors, &operators, &[0], &[3])));
    let stored = read.graph().values().find(|value| value.is_stored()).unwrap();
    assert_eq!(read.provenance().packed.get(stored.name), Some(&20));
}

#[test]
fn open_sizes_are_known_behind_operators_that_onnx_has_none_for() {
    let open = |name: &str, dims: &[i32]| {
        let fields = vec![(7, Field::Ints([&[-1], &dims[1..]].concat()))];
        Tensor { fields, ..Tensor::new(name, dims) }
    };
    let tensors = [
        open("x", &[1, 4, 6, 3]),
        Tensor::ints("block", &[2, 2]),
        Tensor::ints("edges", &[0, 0, 0, 0]),
        open("blocks", &[4, 2, 3, 3]),
        open("root", &[4, 2, 3, 3]),
        open("y", &[1, 4, 6, 3]),
    ];
    let operators = [
        Operator::new(38, &[0, 1, 2], &[3]),
        Operator::new(76, &[3], &[4]),
        Operator::new(37, &[4, 1, 2], &[5]),
    ];
    let (read, shapes) = sound(file(&model(&tensors, &operators, &[0], &[5])));
    assert_eq!(
        (dims(&read, &shapes, "blocks"), dims(&read, &shapes, "y")),
        (vec![4, 2, 3, 3], vec![1, 4, 6, 3])
    );
}

#[test]
fn open_sizes_are_as_the_file_would_run_and_follow_when_others_are_bound() {
    let open = |name: &str, dims: &[i32]| {
        let signature = [&[-1], &dims[1..]].concat();
        Tensor { fields: vec![(7, Field::Ints(signature))], ..Tensor::new(name, dims) }
    };
    let tensors = [open("x", &[1, 4, 4, 3]), Tensor::weight("w", &[2, 3, 3, 3]), open("y", &[1, 4, 4, 2])];
    let bytes = single(3, &tensors, (1, ints(&[(1, 1), (2, 1)])));
    let (read, shapes) = sound(bytes);
    assert_eq!(dims(&read, &shapes, "y"), [1, 4, 4, 2]);
    let open = read.provenance().stated.iter().find(|fact| fact.key == "open_sizes").unwrap();
    assert_eq!(open.value, StatedValue::Text("x [?,4,4,3]".to_owned()));
    let shapes = Shapes::infer(&read, &Bindings::new().shape("x", &[5, 4, 4, 3])).unwrap();
    assert_eq!(dims(&read, &shapes, "y"), [5, 4, 4, 2]);
    assert!(shapes.notes().iter().all(|note| note.node.is_none()), "{:?}", shapes.notes());
}

#[test]
fn operators_that_onnx_lacks_keep_their_names() {
    let tensors = [
        Tensor::new("x", &[1, 4]),
        Tensor::new("y", &[1, 4]),
        Tensor::new("z", &[3]),
        Tensor::new("u", &[2]),
    ];
    let operators = [
        Operator::new(76, &[0], &[1]),
        Operator { custom: "Detect", ..Operator::new(32, &[1], &[2]) },
        Operator::new(5000, &[1], &[3]),
    ];
    let (read, shapes) = sound(file(&model(&tensors, &operators, &[0], &[2, 3])));
    let nodes: Vec<_> = read.graph().nodes().map(|node| (node.op_type, node.domain)).collect();
    assert_eq!(nodes, [("RSQRT", DOMAIN), ("Detect", DOMAIN), ("BUILTIN_5000", DOMAIN)]);
    let flops = read.graph().nodes().map(|node| Cost::of(&read, &shapes, node.id).flops).collect::<Vec<_>>();
    assert_eq!(flops, [Some(4), None, None]);
    assert_eq!(dims(&read, &shapes, "z"), [3]);
}

#[test]
fn an_operator_whose_options_are_none_of_onnxs_keeps_its_name() {
    let image = || Tensor::new("x", &[1, 8, 8, 4]);
    for (code, tensors, options) in [
        // A step of 0, groups that don't come out even, a factor in an exponent, a mirror that repeats its edge.
        (
            3,
            vec![image(), Tensor::weight("w", &[4, 3, 3, 4]), Tensor::new("y", &[1, 8, 8, 4])],
            (1, Table::new()),
        ),
        (
            3,
            vec![image(), Tensor::weight("w", &[4, 3, 3, 3]), Tensor::new("y", &[1, 8, 8, 4])],
            (1, ints(&[(1, 1), (2, 1)])),
        ),
        (25, vec![image(), Tensor::new("y", &[1, 8, 8, 4])], (9, vec![(0, Field::Float(0.5))])),
        (
            100,
            vec![image(), Tensor::ints("pads", &[0; 8]), Tensor::new("y", &[1, 8, 8, 4])],
            (77, bytes(&[(0, 1)])),
        ),
        (0, vec![image(), Tensor { data_type: 2, ..Tensor::new("y", &[1, 8, 8, 4]) }], (11, Table::new())),
    ] {
        let (read, _) = sound(single(code, &tensors, options));
        let nodes: Vec<_> = read.graph().nodes().map(|node| node.domain).collect();
        assert_eq!(nodes, [DOMAIN], "{:?}", types(&read));
    }
}
