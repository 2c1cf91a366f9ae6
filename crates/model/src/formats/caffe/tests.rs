//! Networks as texts, whole and damaged.

use opscope_testing::caffe_file;

use super::*;
use crate::{Bindings, Cost, LoadError, Model, Shapes};

fn load(text: &str) -> Result<Model, LoadError> {
    Model::from_any_bytes(text.as_bytes().to_vec().into())
}

/// The model with its shapes, which must agree with those that the reader declared.
fn inferred(text: &str) -> (Model, Shapes) {
    let model = load(text).unwrap();
    assert_eq!(model.kind(), ModelKind::Caffe);
    let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
    assert_eq!(shapes.notes(), [], "the reader and the inference of shapes contradict one another");
    (model, shapes)
}

const INPUT: &str = "name: \"net\"\ninput: \"data\"\ninput_shape { dim: 1 dim: 3 dim: 32 dim: 32 }\n";

fn dims(model: &Model, shapes: &Shapes, node: &str) -> Vec<u64> {
    let node = model.graph().node_by_name(node).unwrap_or_else(|| panic!("no node {node}"));
    shapes.get(node.output(0).unwrap()).unwrap().known_dims().unwrap()
}

#[test]
fn a_block_of_a_residual_network_is_read_in_place_layer_by_layer() {
    let text = format!(
        "{INPUT}
        layer {{ name: 'conv1' type: 'Convolution' bottom: 'data' top: 'conv1'
          convolution_param {{ num_output: 8 kernel_size: 3 pad: 1 stride: 2 bias_term: false }} }}
        layer {{ name: 'bn1' type: 'BatchNorm' bottom: 'conv1' top: 'conv1' batch_norm_param {{ eps: 1e-5 }} }}
        layer {{ name: 'scale1' type: 'Scale' bottom: 'conv1' top: 'conv1' scale_param {{ bias_term: true }} }}
        layer {{ name: 'relu1' type: 'ReLU' bottom: 'conv1' top: 'conv1' }}
        layer {{ name: 'pool1' type: 'Pooling' bottom: 'conv1' top: 'pool1'
          pooling_param {{ pool: MAX kernel_size: 3 stride: 2 }} }}
        layer {{ name: 'side' type: 'Convolution' bottom: 'pool1' top: 'side'
          convolution_param {{ num_output: 8 kernel_h: 1 kernel_w: 3 pad_h: 0 pad_w: 1 group: 2 }} }}
        layer {{ name: 'sum' type: 'Eltwise' bottom: 'pool1' bottom: 'side' top: 'sum' }}
        layer {{ name: 'fc' type: 'InnerProduct' bottom: 'sum' top: 'fc' inner_product_param {{ num_output: 10 }} }}
        layer {{ name: 'prob' type: 'Softmax' bottom: 'fc' top: 'prob' }}
        layer {{ name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' top: 'loss' include {{ phase: TRAIN }} }}"
    );
    let (model, shapes) = inferred(&text);
    assert_eq!((shapes.unresolved(), &model.provenance().losses[..]), (&[][..], &[][..]));
    let types: Vec<_> = model.graph().nodes().map(|node| (node.name, node.op_type)).collect();
    assert_eq!(
        types,
        [
            ("conv1", "Conv"),
            ("bn1", "BatchNormalization"),
            ("scale1", "Mul"),
            ("scale1:shift", "Add"),
            ("relu1", "Relu"),
            ("pool1", "MaxPool"),
            ("side", "Conv"),
            ("sum", "Add"),
            ("fc:flatten", "Flatten"),
            ("fc", "Gemm"),
            ("prob", "Softmax"),
        ]
    );
    assert_eq!(dims(&model, &shapes, "conv1"), [1, 8, 16, 16]);
    // Caffe rounds up: 16 with a window of 3 and steps of 2 gives 8, where rounding down gives 7.
    assert_eq!(dims(&model, &shapes, "pool1"), [1, 8, 8, 8]);
    assert_eq!(dims(&model, &shapes, "fc"), [1, 10]);
    let outputs: Vec<_> = model.graph().outputs().iter().map(|id| model.graph().value(*id).name).collect();
    assert_eq!(outputs, ["prob"]);
    let cost = |name: &str| Cost::of(&model, &shapes, model.graph().node_by_name(name).unwrap().id);
    assert_eq!(cost("conv1").flops, Some(2 * 8 * 256 * 27));
    assert_eq!(cost("side").flops, Some(8 * 64 * (2 * 4 * 3 + 1)));
    assert_eq!((cost("fc").flops, cost("fc").parameters), (Some(2 * 10 * 512 + 10), 5130));
    let total: u64 = model.graph().nodes().map(|node| Cost::of(&model, &shapes, node.id).parameters).sum();
    // Filters, mean and variance, factors and shifts, the second filter and its bias, the product and its bias.
    assert_eq!(total, 8 * 27 + 16 + 16 + 8 * 12 + 8 + 5130);
}

#[test]
fn sizes_follow_caffes_own_rules() {
    for (layer, expected) in [
        (
            "type: 'Deconvolution' convolution_param { num_output: 5 kernel_size: 4 stride: 2 pad: 1 }",
            [1, 5, 64, 64],
        ),
        ("type: 'Pooling' pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }", [1, 3, 17, 17]),
        ("type: 'Pooling' pooling_param { kernel_size: 3 stride: 2 round_mode: FLOOR }", [1, 3, 15, 15]),
        // Padding of one side clips the last window of the other too.
        (
            "type: 'Pooling' pooling_param { kernel_h: 2 kernel_w: 1 stride: 2 pad_h: 1 pad_w: 0 }",
            [1, 3, 17, 16],
        ),
        ("type: 'Pooling' pooling_param { kernel_h: 2 kernel_w: 1 stride: 2 }", [1, 3, 16, 17]),
        ("type: 'Pooling' pooling_param { pool: AVE global_pooling: true }", [1, 3, 1, 1]),
        ("type: 'Interp' interp_param { zoom_factor: 2 }", [1, 3, 63, 63]),
        ("type: 'Interp' interp_param { height: 64 width: 65 }", [1, 3, 64, 65]),
        ("type: 'Interp' interp_param { shrink_factor: 2 }", [1, 3, 16, 16]),
        ("type: 'Upsample' upsample_param { scale: 2 }", [1, 3, 64, 64]),
        ("type: 'Permute' permute_param { order: 0 order: 2 order: 3 order: 1 }", [1, 32, 32, 3]),
        ("type: 'Reshape' reshape_param { shape { dim: 0 dim: -1 dim: 16 dim: 1 } }", [1, 192, 16, 1]),
        ("type: 'PReLU'", [1, 3, 32, 32]),
        ("type: 'ConvolutionDepthwise' convolution_param { num_output: 3 kernel_size: 3 }", [1, 3, 30, 30]),
    ] {
        let text = format!("{INPUT}layer {{ name: 'l' bottom: 'data' top: 'l' {layer} }}");
        let (model, shapes) = inferred(&text);
        assert_eq!(dims(&model, &shapes, "l"), expected.map(|size: u64| size), "{layer}");
        assert!(model.provenance().losses.is_empty(), "{:?}", model.provenance().losses);
    }
}

#[test]
fn layers_that_onnx_lacks_keep_their_type_and_cost_what_their_parameters_say() {
    let text = format!(
        "{INPUT}
        layer {{ name: 'n' type: 'Normalize' bottom: 'data' top: 'n' norm_param {{ across_spatial: false }} }}
        layer {{ name: 'p' type: 'Power' bottom: 'n' top: 'p' power_param {{ power: 2 scale: 0.5 }} }}
        layer {{ name: 's' type: 'Slice' bottom: 'p' top: 'a' top: 'b' slice_param {{ axis: 1 slice_point: 1 }} }}
        layer {{ name: 'd' type: 'DetectionOutput' bottom: 'a' bottom: 'b' top: 'd' }}"
    );
    let (model, shapes) = inferred(&text);
    let node = |name: &str| model.graph().node_by_name(name).unwrap();
    assert_eq!(
        (node("n").op_type, node("n").domain, node("n").attributes.string("across_spatial")),
        ("Normalize", DOMAIN, Some("false"))
    );
    assert_eq!(
        (node("p").op_type, node("p").attributes.int("power"), node("p").attributes.float("scale")),
        ("Power", Some(2), Some(0.5))
    );
    assert_eq!(Cost::of(&model, &shapes, node("p").id).flops, Some(2 * 3 * 32 * 32));
    assert_eq!(Cost::of(&model, &shapes, node("d").id).flops, None);
    assert_eq!(dims(&model, &shapes, "s"), [1, 1, 32, 32]);
    assert!(model.provenance().losses[0].contains("d (DetectionOutput)"), "{:?}", model.provenance().losses);
}

#[test]
fn a_power_without_scale_and_shift_is_onnxs_with_its_exponent_and_cost() {
    let text = format!(
        "{INPUT}layer {{ name: 'p' type: 'Power' bottom: 'data' top: 'p' power_param {{ power: 2 }} }}"
    );
    let (model, shapes) = inferred(&text);
    let node = model.graph().node_by_name("p").unwrap();
    assert_eq!((node.op_type, dims(&model, &shapes, "p")), ("Pow", vec![1, 3, 32, 32]));
    assert!(Cost::of(&model, &shapes, node.id).flops.is_some());
}

#[test]
fn networks_of_the_old_form_are_read_as_todays() {
    let text = "name: 'old'\ninput: 'data'\ninput_dim: 1\ninput_dim: 3\ninput_dim: 8\ninput_dim: 8\n\
        layers { name: 'c' type: CONVOLUTION bottom: 'data' top: 'c' convolution_param { num_output: 2 kernel_size: 1 } }\n\
        layers { name: 'r' type: RELU bottom: 'c' top: 'c' }\n\
        layers { name: 'x' type: CONCAT bottom: 'c' bottom: 'data' top: 'x' }\n";
    let (model, shapes) = inferred(text);
    assert_eq!(dims(&model, &shapes, "x"), [1, 5, 8, 8]);
    assert_eq!(model.graph().node_by_name("r").unwrap().op_type, "Relu");
}

#[test]
fn damage_is_told_and_the_layers_before_are_kept() {
    let text = format!(
        "{INPUT}layer {{ name: 'r' type: 'ReLU' bottom: 'data' top: 'r' }}\n\
         layer {{ name: 'q' type: 'ReLU' bottom: 'gone' top: 'q' }}\nlayer {{ name: 'x"
    );
    let model = load(&text).unwrap();
    assert_eq!(model.graph().node_count(), 3);
    let losses = &model.provenance().losses;
    assert!(losses.iter().any(|loss| loss.contains("damaged") && loss.contains("line 6")), "{losses:?}");
    assert!(losses.iter().any(|loss| loss.contains("gone of q")), "{losses:?}");
    for wrong in
        ["kernel_size: 0", "kernel_size: 99999999999999999999", "kernel_size: -1", "kernel_size: 64", ""]
    {
        let text = format!(
            "{INPUT}layer {{ name: 'c' type: 'Convolution' bottom: 'data' top: 'c' \
             convolution_param {{ num_output: 2 {wrong} }} }}"
        );
        let model = load(&text).unwrap();
        assert_eq!(model.graph().node_by_name("c").unwrap().domain, DOMAIN, "{wrong}");
    }
    let text = format!("{INPUT}layer {{ {}", "a {".repeat(1_000_000));
    assert!(load(&text).unwrap().provenance().losses[0].contains("100 deep"));
}

#[test]
fn a_hundred_thousand_layers_of_one_blob_are_read() {
    let mut text = INPUT.to_owned();
    for number in 0..100_000 {
        text.push_str(&format!("layer {{ name: 'r{number}' type: 'ReLU' bottom: 'data' top: 'data' }}\n"));
    }
    assert_eq!(load(&text).unwrap().graph().node_count(), 100_000);
}

#[test]
fn a_network_has_the_sizes_of_its_text_in_a_file_of_weights() {
    use opscope_testing::protobuf::Message;
    let layers = [
        ("am", "ArgMax", "argmax_param { axis: 1 }", 103, Message::new().int(3, 1), vec![1, 1, 32, 32]),
        (
            "red",
            "Reduction",
            "reduction_param { operation: MEAN axis: 2 }",
            136,
            { Message::new().int(1, 4).int(2, 2) },
            vec![1, 3],
        ),
        ("tile", "Tile", "tile_param { axis: 2 tiles: 3 }", 138, Message::new().int(1, 2).int(2, 3), {
            vec![1, 3, 96, 32]
        }),
        (
            "spp",
            "SPP",
            "spp_param { pyramid_height: 2 pool: MAX }",
            132,
            { Message::new().int(1, 2).int(2, 0) },
            vec![1, 15],
        ),
        (
            "emb",
            "Embed",
            "embed_param { num_output: 5 input_dim: 9 }",
            137,
            { Message::new().int(1, 5).int(2, 9) },
            vec![1, 3, 32, 32, 5],
        ),
        ("lstm", "LSTM", "recurrent_param { num_output: 7 }", 146, Message::new().int(1, 7), vec![1, 3, 7]),
        (
            "par",
            "Parameter",
            "parameter_param { shape { dim: 4 dim: 6 } }",
            145,
            { Message::new().message(1, &Message::new().packed(1, &[4, 6])) },
            vec![4, 6],
        ),
    ];
    let sizes = Message::new().packed(1, &[1, 3, 32, 32]);
    let mut net = Message::new().bytes(1, "net").bytes(3, "data").message(8, &sizes);
    let mut text = INPUT.to_owned();
    for (name, op_type, stated, number, parameters, _) in &layers {
        text.push_str(&format!(
            "layer {{ name: '{name}' type: '{op_type}' bottom: 'data' top: '{name}' {stated} }}\n"
        ));
        let layer = Message::new().bytes(1, name).bytes(2, op_type).bytes(3, "data").bytes(4, name);
        net = net.message(100, &layer.message(*number, parameters));
    }
    let (of_text, text_shapes) = inferred(&text);
    let of_file = Model::from_any_bytes(net.0.into()).unwrap();
    let file_shapes = Shapes::infer(&of_file, &Bindings::new()).unwrap();
    assert_eq!(of_file.provenance().losses, of_text.provenance().losses);
    for (name, .., expected) in &layers {
        assert_eq!(&dims(&of_text, &text_shapes, name), expected, "{name}");
        assert_eq!(&dims(&of_file, &file_shapes, name), expected, "{name} of the file of weights");
        let flops = |model: &Model, shapes: &Shapes| {
            Cost::of(model, shapes, model.graph().node_by_name(name).unwrap().id).flops
        };
        assert_eq!(flops(&of_text, &text_shapes), flops(&of_file, &file_shapes), "{name}");
    }
}

#[test]
fn the_last_states_of_a_recurrent_layer_have_its_sizes_of_one_step() {
    let text = "name: 'net'\ninput: 'data'\ninput_shape { dim: 175 dim: 2 dim: 1400 }\n\
        layer { name: 'l' type: 'LSTM' bottom: 'data' top: 'l' top: 'h' top: 'c' \
        recurrent_param { num_output: 64 expose_hidden: true } }\n\
        layer { name: 'ip' type: 'InnerProduct' bottom: 'l' top: 'ip' \
        inner_product_param { num_output: 10 axis: 2 } }\n";
    let (model, shapes) = inferred(text);
    assert_eq!(model.provenance().losses, [""; 0]);
    assert_eq!(dims(&model, &shapes, "ip"), [175, 2, 10]);
    let lstm = model.graph().node_by_name("l").unwrap();
    let of = |place| shapes.get(lstm.output(place).unwrap()).unwrap().known_dims().unwrap();
    assert_eq!((of(0), of(1), of(2)), (vec![175, 2, 64], vec![1, 2, 64], vec![1, 2, 64]));
}

#[test]
fn weights_beside_a_network_are_those_of_its_layers() {
    use opscope_testing::protobuf::Message;
    let numbers = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let blob = |values: &[f32]| Message::new().bytes(5, numbers(values));
    let layer = Message::new()
        .bytes(1, "c")
        .bytes(2, "Convolution")
        .message(7, &blob(&[0.5; 6]))
        .message(7, &blob(&[2.0, 3.0]));
    let net = Message::new().bytes(1, "net").message(100, &layer);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.prototxt");
    let text = format!(
        "{INPUT}layer {{ name: 'c' type: 'Convolution' bottom: 'data' top: 'c' \
         convolution_param {{ num_output: 2 kernel_size: 1 }} }}"
    );
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("net.caffemodel"), &net.0).unwrap();
    let model = Model::load(&path).unwrap();
    let data = |name: &str| {
        let tensor = model.graph().value_by_name(name).unwrap().initializer.unwrap();
        model.tensor_data(tensor).unwrap().to_f32s().unwrap()
    };
    assert_eq!((data("c:weights"), data("c:bias")), (vec![0.5; 6], vec![2.0, 3.0]));
    std::fs::write(folder.path().join("net.caffemodel"), &net.0[..net.0.len() - 4]).unwrap();
    let model = Model::load(&path).unwrap();
    assert!(
        model.provenance().losses[0].contains("net.caffemodel is damaged"),
        "{:?}",
        model.provenance().losses
    );
}

#[test]
fn sizes_are_those_of_caffe_where_onnx_has_others_or_another_blob_counts() {
    let text = format!(
        "{INPUT}
        layer {{ name: 'narrow' type: 'Pooling' bottom: 'data' top: 'narrow'
          pooling_param {{ pool: MAX kernel_size: 1 stride: 2 }} }}
        layer {{ name: 'odd' type: 'Pooling' bottom: 'narrow' top: 'odd'
          pooling_param {{ pool: MAX kernel_size: 1 stride: 4 }} }}
        layer {{ name: 'factor' type: 'Pooling' bottom: 'data' top: 'factor' pooling_param {{ global_pooling: true }} }}
        layer {{ name: 'scaled' type: 'Axpy' bottom: 'factor' bottom: 'data' bottom: 'data' top: 'scaled' }}
        layer {{ name: 'after' type: 'ReLU' bottom: 'scaled' top: 'after' }}"
    );
    let (model, shapes) = inferred(&text);
    let op_type = |name: &str| model.graph().node_by_name(name).unwrap().op_type;

    assert_eq!((op_type("narrow"), &dims(&model, &shapes, "narrow")[..]), ("Pooling", &[1, 3, 17, 17][..]));
    // 32 points by steps of 2: the last window of Caffe's begins behind them. 17 by steps of 4: the last begins within the image, for both.
    assert_eq!((op_type("odd"), &dims(&model, &shapes, "odd")[..]), ("MaxPool", &[1, 3, 5, 5][..]));
    assert_eq!(dims(&model, &shapes, "after"), [1, 3, 32, 32]);
}

#[test]
fn layers_without_names_or_of_one_name_have_weights_of_their_own() {
    let layer = |name: &str, kernel: u32| {
        format!(
            "layer {{ {name} type: 'Convolution' bottom: 'data' top: 'c{kernel}'
            convolution_param {{ num_output: 8 kernel_size: {kernel} bias_term: false }} }}"
        )
    };
    for name in ["", "name: 'same'"] {
        let (model, _) = inferred(&format!("{INPUT}{}{}", layer(name, 3), layer(name, 5)));
        let sizes: Vec<_> = model
            .proto()
            .graph
            .iter()
            .flat_map(|graph| &graph.initializer)
            .map(|weights| weights.dims.clone())
            .collect();
        assert_eq!(sizes, [vec![8, 3, 3, 3], vec![8, 3, 5, 5]], "{name}");
    }
}

#[test]
fn other_texts_with_words_of_a_network_are_none() {
    for text in [
        "# a program\ninput_shape = (224, 224)\nlayers: {\n",
        "const x = 3\nlayers: {\n",
        "input_shape,output_shape\n1,2\n",
        "Quoted:\n\n    layer {\n",
    ] {
        assert!(!is_one(text.as_bytes()), "{text}");
    }
    assert!(is_one(b"# Caffe\n\nname: \"net\"\nlayer\n{\n name: 'a' }\n"));
    assert!(is_one(INPUT.replace("input_shape", "layer {}\ninput_shape").as_bytes()));
}

fn load_bytes(bytes: Vec<u8>) -> Result<Model, LoadError> {
    Model::from_any_bytes(bytes.into())
}

/// The text that `caffe_file::small` is.
const SMALL: &str = "name: \"net \\\"quoted\\\"\"
    layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 3 dim: 32 dim: 32 } } }
    layer { name: 'c' type: 'Convolution' bottom: 'data' top: 'c'
      convolution_param { num_output: 2 kernel_size: 3 pad: 1 stride: 2 bias_term: false } }
    layer { name: 'pool' type: 'Pooling' bottom: 'c' top: 'pool' pooling_param { pool: AVE kernel_size: 3 stride: 2 } }
    layer { name: 'leaky' type: 'ReLU' bottom: 'pool' top: 'leaky' relu_param { negative_slope: 0.1 } }
    layer { name: 'fc' type: 'InnerProduct' bottom: 'leaky' top: 'fc' inner_product_param { num_output: 10 } }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' top: 'loss' include { phase: TRAIN } }
    layer { name: 'prob' type: 'Softmax' bottom: 'fc' top: 'prob' softmax_param { axis: 1 } }";

#[test]
fn weights_alone_have_the_layers_of_the_network_and_their_data() {
    let (text, text_shapes) = inferred(SMALL);
    let model = load_bytes(caffe_file::small()).unwrap();
    assert_eq!((model.kind(), &model.provenance().losses[..]), (ModelKind::Caffe, &[][..]));
    let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
    let said = |model: &Model, shapes: &Shapes| -> Vec<String> {
        let node = |node: crate::Node<'_>| {
            let cost = Cost::of(model, shapes, node.id);
            format!(
                "{} {} {:?} {cost:?} {:?}",
                node.name, node.op_type, node.proto.input, node.proto.attribute
            )
        };
        model.graph().nodes().map(node).collect()
    };
    assert_eq!(said(&model, &shapes), said(&text, &text_shapes));
    assert_eq!(model.provenance().stated, text.provenance().stated);
    let filter = model.graph().value_by_name("c:weights").unwrap().initializer.unwrap();
    assert_eq!(model.tensor_data(filter).unwrap().to_f32s().unwrap(), [0.5; 54]);
}

#[test]
fn weights_of_the_old_form_alone_have_their_layers_as_well() {
    let model = load_bytes(caffe_file::old()).unwrap();
    let nodes: Vec<_> = model.graph().nodes().map(|node| (node.name, node.op_type)).collect();
    assert_eq!(nodes, [("c", "Conv"), ("relu", "Relu"), ("strange", "NONE")]);
    let filter = model.graph().value_by_name("c:weights").unwrap().initializer.unwrap();
    assert_eq!(model.tensor_data(filter).unwrap().to_f32s().unwrap(), [0.5; 6]);
}

#[test]
fn a_pooling_whose_rounding_depends_on_the_version_has_no_sizes() {
    let model = load_bytes(caffe_file::ambiguous()).unwrap();
    assert_eq!(model.graph().node_by_name("pool").unwrap().op_type, "Pooling");
    assert!(model.provenance().losses[0].contains("pool (Pooling)"), "{:?}", model.provenance().losses);
}

#[test]
fn weights_alone_that_are_cut_off_give_the_layers_before() {
    let whole = caffe_file::small();
    let mut most = 0;
    for length in 0..whole.len() - 1 {
        match load_bytes(whole[..length].to_vec()) {
            Ok(model) => most = most.max(model.graph().node_count()),
            Err(error) => assert!(!error.to_string().contains("panic"), "{error}"),
        }
    }
    // All but the last: the flattening of the image is a node too.
    assert_eq!(most, 5);
    let cut = load_bytes(whole[..whole.len() - 1].to_vec()).unwrap();
    assert!(cut.provenance().losses[0].contains("cut off"), "{:?}", cut.provenance().losses);
}

#[test]
fn other_messages_are_no_network() {
    use opscope_testing::protobuf::Message;
    // A graph of TensorFlow, a model of ONNX, a name alone, something with a second field.
    let node = Message::new().bytes(1, "a").bytes(2, "Relu");
    for message in [
        Message::new().message(1, &node).message(1, &node),
        Message::new().int(1, 8).bytes(2, "pytorch"),
        Message::new().bytes(1, "net"),
        Message::new().bytes(1, "net").message(2, &Message::new().bytes(1, "layer")),
        Message::new().bytes(1, "net").message(2, &Message::new().bytes(2, "x").bytes(5, "y")),
        Message::new().message(100, &Message::new().int(1, 4)),
    ] {
        assert!(!is_one(&message.0), "{:?}", message.0);
    }
    assert!(is_one(&caffe_file::small()) && is_one(&caffe_file::old()));
}

#[test]
fn layers_that_change_axes_have_the_sizes_of_caffes_rules() {
    let text = format!(
        "{INPUT}
        layer {{ name: 'clip' type: 'Clip' bottom: 'data' top: 'clip' clip_param {{ min: 0 max: 6 }} }}
        layer {{ name: 'pool' type: 'Pooling' bottom: 'clip' top: 'pool' top: 'mask'
          pooling_param {{ pool: MAX kernel_size: 2 stride: 2 }} }}
        layer {{ name: 'best' type: 'ArgMax' bottom: 'pool' top: 'best' argmax_param {{ axis: 1 }} }}
        layer {{ name: 'top3' type: 'ArgMax' bottom: 'pool' top: 'top3' argmax_param {{ top_k: 3 out_max_val: true }} }}
        layer {{ name: 'sum' type: 'Reduction' bottom: 'pool' top: 'sum' reduction_param {{ axis: 2 }} }}
        layer {{ name: 'tile' type: 'Tile' bottom: 'pool' top: 'tile' tile_param {{ tiles: 2 }} }}
        layer {{ name: 'words' type: 'Embed' bottom: 'best' top: 'words' embed_param {{ input_dim: 9 num_output: 7 }} }}
        layer {{ name: 'columns' type: 'Im2col' bottom: 'pool' top: 'columns'
          convolution_param {{ kernel_size: 3 pad: 1 stride: 2 }} }}
        layer {{ name: 'pyramid' type: 'SPP' bottom: 'pool' top: 'pyramid' spp_param {{ pyramid_height: 3 }} }}
        layer {{ name: 'flat' type: 'Flatten' bottom: 'pool' top: 'flat' flatten_param {{ axis: 2 }} }}
        layer {{ name: 'rows' type: 'InnerProduct' bottom: 'pool' top: 'rows'
          inner_product_param {{ num_output: 5 axis: 3 }} }}
        layer {{ name: 'parts' type: 'Reshape' bottom: 'pool' top: 'parts'
          reshape_param {{ axis: 1 num_axes: 1 shape {{ dim: 1 dim: -1 }} }} }}
        layer {{ name: 'own' type: 'Parameter' top: 'own' parameter_param {{ shape {{ dim: 4 dim: 2 }} }} }}"
    );
    let (model, shapes) = inferred(&text);
    assert!(model.provenance().losses.is_empty(), "{:?}", model.provenance().losses);
    let all = [
        ("clip", &[1, 3, 32, 32][..]),
        ("pool", &[1, 3, 16, 16]),
        ("best", &[1, 1, 16, 16]),
        ("top3", &[1, 2, 3, 1]),
        ("sum", &[1, 3]),
        ("tile", &[1, 6, 16, 16]),
        ("words", &[1, 1, 16, 16, 7]),
        ("columns", &[1, 27, 8, 8]),
        // 1 + 4 + 16 parts.
        ("pyramid", &[1, 63]),
        ("flat", &[1, 3, 256]),
        ("rows", &[1, 3, 16, 5]),
        ("parts", &[1, 1, 3, 16, 16]),
        ("own", &[4, 2]),
    ];
    for (name, expected) in all {
        assert_eq!(dims(&model, &shapes, name), expected, "{name}");
    }
    let node = model.graph().node_by_name("pool").unwrap();
    assert_eq!(shapes.get(node.output(1).unwrap()).unwrap().known_dims().unwrap(), [1, 3, 16, 16]);
}

#[test]
fn blobs_that_caffe_refuses_together_have_no_sizes() {
    for layer in ["type: 'Eltwise'", "type: 'Concat'"] {
        let text = format!(
            "{INPUT}
            layer {{ name: 'pool' type: 'Pooling' bottom: 'data' top: 'pool' pooling_param {{ kernel_size: 2 stride: 2 }} }}
            layer {{ name: 'both' {layer} bottom: 'data' bottom: 'pool' top: 'both' }}"
        );
        let model = load(&text).unwrap();
        assert_eq!(model.provenance().losses.len(), 1, "{layer}: {:?}", model.provenance().losses);
    }
}
