//! Models as texts.

mod damage;

use super::*;
use crate::{Bindings, Cost, LoadError, Model, Shapes};

/// A model as it is put together: layers one after the other, with the data of its constants.
#[derive(Default)]
struct Network {
    layers: String,
    edges: String,
    data: Vec<u8>,
    count: usize,
}

/// A port of a layer: its number, and that of the port.
type Port = (usize, usize);

impl Network {
    fn layer(&mut self, op_type: &str, data: &str, inputs: &[Port], outputs: &[&[i64]]) -> usize {
        self.typed(op_type, "opset1", data, inputs, outputs, "FP32")
    }

    fn typed(
        &mut self,
        op_type: &str,
        opset: &str,
        data: &str,
        inputs: &[Port],
        outputs: &[&[i64]],
        precision: &str,
    ) -> usize {
        let id = self.count;
        self.count += 1;
        let name = format!("{}{id}", op_type.to_lowercase());
        self.layers += &format!("<layer id=\"{id}\" name=\"{name}\" type=\"{op_type}\" version=\"{opset}\">");
        self.layers += &format!("<data {data}/><input>");
        for (port, (from, output)) in inputs.iter().enumerate() {
            self.layers += &format!("<port id=\"{port}\"/>");
            self.edges += &format!(
                "<edge from-layer=\"{from}\" from-port=\"{}\" to-layer=\"{id}\" to-port=\"{port}\"/>",
                100 + output
            );
        }
        self.layers += "</input><output>";
        for (port, dims) in outputs.iter().enumerate() {
            let dims: String = dims.iter().map(|size| format!("<dim>{size}</dim>")).collect();
            self.layers += &format!("<port id=\"{}\" precision=\"{precision}\">{dims}</port>", 100 + port);
        }
        self.layers += "</output></layer>\n";
        id
    }

    fn input(&mut self, dims: &[i64]) -> Port {
        (self.layer("Parameter", "", &[], &[dims]), 0)
    }

    /// A constant whose data are there, each number one.
    fn weight(&mut self, dims: &[i64]) -> Port {
        let numbers = vec![1f32; dims.iter().product::<i64>() as usize];
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.constant("f32", "FP32", &bytes, dims)
    }

    fn list(&mut self, values: &[i64]) -> Port {
        let bytes: Vec<u8> = values.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.constant("i64", "I64", &bytes, &[values.len() as i64])
    }

    fn scalar(&mut self, value: i64) -> Port {
        self.constant("i64", "I64", &value.to_le_bytes(), &[])
    }

    fn constant(&mut self, element_type: &str, precision: &str, bytes: &[u8], dims: &[i64]) -> Port {
        let data = format!(
            "element_type=\"{element_type}\" offset=\"{}\" size=\"{}\"",
            self.data.len(),
            bytes.len()
        );
        self.data.extend(bytes);
        (self.typed("Const", "opset1", &data, &[], &[dims], precision), 0)
    }

    fn result(&mut self, port: Port) {
        self.layer("Result", "", &[port], &[]);
    }

    fn text(&self) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<net name=\"net\" version=\"11\"><layers>{}</layers><edges>{}</edges>\
             <rt_info><Runtime_version value=\"2026.4\"/></rt_info></net>",
            self.layers, self.edges
        )
    }

    /// The model of the text beside its data, with its shapes, which must agree with those that the text states.
    fn inferred(&self) -> (Model, Shapes) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("net.xml");
        std::fs::write(&path, self.text()).unwrap();
        std::fs::write(folder.path().join("net.bin"), &self.data).unwrap();
        let model = Model::load(&path).unwrap();
        let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
        assert_eq!(shapes.notes(), [], "the text and the inference of shapes contradict one another");
        (model, shapes)
    }
}

fn load(text: &str) -> Result<Model, LoadError> {
    Model::from_any_bytes(text.as_bytes().to_vec().into())
}

/// Names, domains and types of all operators.
fn types(model: &Model) -> Vec<(&str, &str)> {
    model.graph().nodes().map(|node| (node.domain, node.op_type)).collect()
}

#[test]
fn a_block_of_a_mobile_network_becomes_onnxs_operators_with_its_costs() {
    let mut net = Network::default();
    let image = net.input(&[1, 3, 32, 32]);
    let filter = net.weight(&[8, 3, 3, 3]);
    let window =
        "strides=\"2, 2\" dilations=\"1, 1\" pads_begin=\"1, 1\" pads_end=\"1, 1\" auto_pad=\"explicit\"";
    let conv = net.layer("Convolution", window, &[image, filter], &[&[1, 8, 16, 16]]);
    let bias = net.weight(&[1, 8, 1, 1]);
    let sum = net.layer("Add", "auto_broadcast=\"numpy\"", &[(conv, 0), bias], &[&[1, 8, 16, 16]]);
    let clamp = net.layer("Clamp", "min=\"0\" max=\"6\"", &[(sum, 0)], &[&[1, 8, 16, 16]]);
    let filters = net.weight(&[8, 1, 1, 3, 3]);
    let window =
        "strides=\"1,1\" dilations=\"1,1\" pads_begin=\"0,0\" pads_end=\"0,0\" auto_pad=\"same_upper\"";
    let depthwise = net.layer("GroupConvolution", window, &[(clamp, 0), filters], &[&[1, 8, 16, 16]]);
    let axes = net.list(&[2, 3]);
    let mean = net.layer("ReduceMean", "keep_dims=\"false\"", &[(depthwise, 0), axes], &[&[1, 8]]);
    let matrix = net.weight(&[10, 8]);
    let turned = "transpose_a=\"false\" transpose_b=\"true\"";
    let product = net.layer("MatMul", turned, &[(mean, 0), matrix], &[&[1, 10]]);
    let softmax = net.layer("SoftMax", "axis=\"1\"", &[(product, 0)], &[&[1, 10]]);
    net.result((softmax, 0));
    let (model, shapes) = net.inferred();
    assert_eq!((model.kind(), shapes.unresolved()), (ModelKind::OpenVino, &[][..]));
    assert_eq!(model.provenance().losses, [""; 0]);
    let expected = ["Conv", "Add", "Clip", "Conv", "ReduceMean", "Gemm", "Softmax"].map(|name| ("", name));
    assert_eq!(types(&model), expected);
    let node = |id: usize| model.graph().nodes().find(|node| node.name.ends_with(&id.to_string())).unwrap();
    let cost = |id: usize| Cost::of(&model, &shapes, node(id).id);
    assert_eq!(cost(conv).flops, Some(2 * 8 * 256 * 27));
    assert_eq!((cost(depthwise).flops, cost(depthwise).parameters), (Some(2 * 8 * 256 * 9), 72));
    assert_eq!(cost(product).flops, Some(2 * 10 * 8));
    let data = |id: usize, input: usize| {
        let value = model.graph().value(node(id).input(input).unwrap());
        model.tensor_data(value.initializer.unwrap()).unwrap().to_f32s().unwrap()
    };
    assert_eq!((data(depthwise, 1), data(clamp, 2)), (vec![1.0; 72], vec![6.0]));
    let outputs: Vec<_> = model.graph().outputs().iter().map(|id| model.graph().value(*id).name).collect();
    assert_eq!(outputs, [format!("softmax{softmax}")]);
    assert_eq!(model.proto().producer_version(), "2026.4");
}

#[test]
fn layers_become_operators_of_the_sizes_that_openvino_states() {
    /// Type, set and data of a layer, the sizes of its inputs, lists behind them, the sizes of outputs, and the operator.
    type Case<'a> = ((&'a str, &'a str, &'a str), Lists<'a>, Lists<'a>, Lists<'a>, &'a str);
    type Lists<'a> = &'a [&'a [i64]];
    let cases: [Case<'_>; 28] = [
        (
            ("ConvolutionBackpropData", "opset1", "strides=\"2,2\" auto_pad=\"same_upper\""),
            &[&[1, 3, 15, 14], &[3, 4, 3, 4]],
            &[],
            &[&[1, 4, 31, 30]],
            "ConvTranspose",
        ),
        (
            ("ConvolutionBackpropData", "opset1", "strides=\"2,2\" auto_pad=\"same_upper\""),
            &[&[1, 3, 15, 14], &[3, 4, 3, 4]],
            &[&[30, 28]],
            &[&[1, 4, 30, 28]],
            "ConvTranspose",
        ),
        (("Reshape", "opset1", "special_zero=\"true\""), &[&[2, 3, 4]], &[&[0, -1]], &[&[2, 12]], "Reshape"),
        (("Transpose", "opset1", ""), &[&[2, 3, 4]], &[&[0, 2, 1]], &[&[2, 4, 3]], "Transpose"),
        (("Unsqueeze", "opset1", ""), &[&[2, 3]], &[&[1]], &[&[2, 1, 3]], "Unsqueeze"),
        (
            ("MatMul", "opset1", "transpose_b=\"true\""),
            &[&[2, 5, 4], &[6, 4]],
            &[],
            &[&[2, 5, 6]],
            "FusedMatMul",
        ),
        (("MatMul", "opset1", "transpose_a=\"false\""), &[&[2, 5, 4], &[4, 6]], &[], &[&[2, 5, 6]], "MatMul"),
        (
            (
                "MaxPool",
                "opset1",
                "kernel=\"2,2\" strides=\"2,2\" pads_begin=\"0,0\" pads_end=\"0,0\" rounding_type=\"ceil\"",
            ),
            &[&[1, 3, 5, 5]],
            &[],
            &[&[1, 3, 3, 3]],
            "MaxPool",
        ),
        (
            (
                "MaxPool",
                "opset8",
                "kernel=\"2,2\" strides=\"2,2\" pads_begin=\"0,0\" pads_end=\"0,0\" rounding_type=\"floor\"",
            ),
            &[&[1, 3, 5, 5]],
            &[],
            &[&[1, 3, 2, 2], &[1, 3, 2, 2]],
            "MaxPool",
        ),
        (
            (
                "AvgPool",
                "opset1",
                "kernel=\"3,3\" strides=\"1,1\" pads_begin=\"1,1\" pads_end=\"1,1\" exclude-pad=\"true\"",
            ),
            &[&[1, 3, 5, 5]],
            &[],
            &[&[1, 3, 5, 5]],
            "AveragePool",
        ),
        (("Pad", "opset1", "pad_mode=\"constant\""), &[&[2, 3]], &[&[0, 1], &[2, 0]], &[&[4, 4]], "Pad"),
        (
            (
                "StridedSlice",
                "opset1",
                "begin_mask=\"0,1\" end_mask=\"0,1\" new_axis_mask=\"0,0\" shrink_axis_mask=\"0,0\" ellipsis_mask=\"0,0\"",
            ),
            &[&[6, 4]],
            &[&[1, 3], &[5, 3], &[2, 1]],
            &[&[2, 4]],
            "Slice",
        ),
        (
            ("StridedSlice", "opset1", "begin_mask=\"0\" end_mask=\"0\" shrink_axis_mask=\"1\""),
            &[&[6, 4]],
            &[&[-1], &[0], &[1]],
            &[&[4]],
            "Squeeze",
        ),
        (
            ("StridedSlice", "opset1", "begin_mask=\"0\" end_mask=\"0\" new_axis_mask=\"1\""),
            &[&[6, 4]],
            &[&[0], &[0], &[1]],
            &[&[1, 6, 4]],
            "StridedSlice",
        ),
        (("Slice", "opset8", ""), &[&[6, 4]], &[&[5], &[1], &[-2], &[0]], &[&[2, 4]], "Slice"),
        (("Tile", "opset1", ""), &[&[6, 4]], &[&[2, 1]], &[&[12, 4]], "Tile"),
        (("Tile", "opset1", ""), &[&[6, 4]], &[&[2, 1, 1]], &[&[2, 6, 4]], "Tile"),
        (("Broadcast", "opset3", "mode=\"bidirectional\""), &[&[3, 1]], &[&[3, 4]], &[&[3, 4]], "Expand"),
        (
            ("DepthToSpace", "opset1", "mode=\"depth_first\" block_size=\"2\""),
            &[&[1, 8, 3, 3]],
            &[],
            &[&[1, 2, 6, 6]],
            "DepthToSpace",
        ),
        (
            (
                "Interpolate",
                "opset11",
                "mode=\"linear_onnx\" shape_calculation_mode=\"sizes\" coordinate_transformation_mode=\"half_pixel\" nearest_mode=\"round_prefer_floor\" antialias=\"false\" pads_begin=\"0\" pads_end=\"0\" cube_coeff=\"-0.75\"",
            ),
            &[&[1, 3, 4, 4]],
            &[&[8, 9], &[2, 3]],
            &[&[1, 3, 8, 9]],
            "Resize",
        ),
        (
            ("Interpolate", "opset1", "mode=\"linear\" axes=\"2,3\" align_corners=\"0\""),
            &[&[1, 3, 4, 4]],
            &[&[8, 9]],
            &[&[1, 3, 8, 9]],
            "Interpolate",
        ),
        (
            ("LRN", "opset1", "alpha=\"1e-4\" beta=\"0.75\" bias=\"1\" size=\"5\""),
            &[&[1, 3, 4, 4]],
            &[&[1]],
            &[&[1, 3, 4, 4]],
            "LRN",
        ),
        (("PReLU", "opset1", ""), &[&[1, 3, 4, 4], &[3]], &[], &[&[1, 3, 4, 4]], "PRelu"),
        (("Swish", "opset4", ""), &[&[1, 3]], &[], &[&[1, 3]], "Swish"),
        (
            ("MVN", "opset6", "eps=\"1e-5\" normalize_variance=\"true\" eps_mode=\"inside_sqrt\""),
            &[&[1, 3]],
            &[&[1]],
            &[&[1, 3]],
            "MVN",
        ),
        (
            ("ScaledDotProductAttention", "opset13", "causal=\"true\""),
            &[&[1, 2, 5, 8], &[1, 2, 7, 8], &[1, 2, 7, 6]],
            &[],
            &[&[1, 2, 5, 6]],
            "Attention",
        ),
        (("Add", "opset1", "auto_broadcast=\"pdpd\""), &[&[2, 3, 4], &[3]], &[], &[&[2, 3, 4]], "Add"),
        (("Relu", "extension", ""), &[&[2, 3]], &[], &[&[2, 3]], "Relu"),
    ];
    for ((op_type, opset, data), inputs, lists, outputs, becomes) in cases {
        let mut net = Network::default();
        let mut ports: Vec<Port> = inputs.iter().map(|dims| net.input(dims)).collect();
        ports.extend(lists.iter().map(|list| net.list(list)).collect::<Vec<_>>());
        let id = net.typed(op_type, opset, data, &ports, outputs, "FP32");
        net.result((id, 0));
        let (model, shapes) = net.inferred();
        let last = model.graph().nodes().next_back().unwrap();
        assert_eq!(last.op_type, becomes, "{op_type} {data}");
        let dims = shapes.get(last.output(0).unwrap()).unwrap().known_dims().unwrap();
        let expected: Vec<u64> = outputs[0].iter().map(|size| *size as u64).collect();
        assert_eq!(dims, expected, "{op_type} {data}");
        assert_eq!(model.provenance().losses, [""; 0], "{op_type} {data}");
    }
}

#[test]
fn sizes_are_followed_through_what_a_model_computes_of_them() {
    let mut net = Network::default();
    let image = net.input(&[2, 6, 4]);
    let shape = net.typed("ShapeOf", "opset3", "output_type=\"i32\"", &[image], &[&[3]], "I32");
    let (at, axis) = (net.scalar(0), net.scalar(0));
    let first = net.typed("Gather", "opset8", "batch_dims=\"0\"", &[(shape, 0), at, axis], &[&[]], "I32");
    let zero = net.list(&[0]);
    let list = net.typed("Unsqueeze", "opset1", "", &[(first, 0), zero], &[&[1]], "I32");
    let rest = net.constant("i32", "I32", &(-1i32).to_le_bytes(), &[1]);
    let sizes = net.typed("Concat", "opset1", "axis=\"0\"", &[(list, 0), rest], &[&[2]], "I32");
    let data = "special_zero=\"false\"";
    let reshaped = net.layer("Reshape", data, &[image, (sizes, 0)], &[&[-1, -1]]);
    let (axis, lengths) = (net.scalar(1), net.list(&[4, -1]));
    let parts = net.layer("VariadicSplit", "", &[(reshaped, 0), axis, lengths], &[&[2, 4], &[2, 20]]);
    net.result((parts, 1));
    let (model, shapes) = net.inferred();
    let expected =
        ["Shape", "Cast", "Gather", "Unsqueeze", "Concat", "Reshape", "Split"].map(|name| ("", name));
    assert_eq!(types(&model), expected);
    assert_eq!(shapes.unresolved(), []);
    let value = model.graph().value_by_name(&format!("reshape{reshaped}")).unwrap();
    assert_eq!(shapes.get(value.id).unwrap().known_dims(), Some(vec![2, 24]));
}

#[test]
fn layers_of_old_names_are_origins_and_data_are_attributes() {
    let mut net = Network::default();
    let image = net.input(&[1, 8]);
    let pool = net.typed(
        "NormalizeL2",
        "opset1",
        "eps=\"1e-5\" eps_mode=\"max\" sides=\"2, 3\"",
        &[image],
        &[&[1, 8]],
        "FP32",
    );
    net.result((pool, 0));
    let told = "<rt_info><attribute name=\"fused_names\" version=\"0\" value=\"a&amp;b, c\\,d\"/></rt_info>";
    let text = net.text().replace("sides=\"2, 3\"/>", &format!("sides=\"2, 3\"/>{told}"));
    let model = load(&text).unwrap();
    let node = model.graph().node_by_name(&format!("normalizel2{pool}")).unwrap();
    assert_eq!(model.origin(node.id).unwrap().names, ["a&b", "c,d"]);
    assert_eq!((node.domain, node.attributes.float("eps")), (DOMAIN, Some(1e-5)));
    assert_eq!(
        (node.attributes.ints("sides"), node.attributes.string("eps_mode")),
        (Some(&[2, 3][..]), Some("max"))
    );
}

#[test]
fn graphs_within_layers_are_added_beside_them() {
    let layer = |id: usize, name: &str, op_type: &str, inside: &str| {
        format!("<layer id=\"{id}\" name=\"{name}\" type=\"{op_type}\" version=\"opset1\">{inside}</layer>")
    };
    let output =
        |id: usize| format!("<output><port id=\"{id}\" precision=\"FP32\"><dim>4</dim></port></output>");
    let input = "<input><port id=\"0\"/></input>";
    let body = |sliced: &str| {
        format!(
            "<port_map><input {sliced} external_port_id=\"0\" internal_layer_id=\"7\"/>\
             <output external_port_id=\"1\" internal_layer_id=\"9\"/></port_map>\
             <back_edges><edge from-layer=\"9\" to-layer=\"7\"/></back_edges>\
             <body><layers>{}{}{}</layers><edges>\
             <edge from-layer=\"7\" from-port=\"0\" to-layer=\"8\" to-port=\"0\"/>\
             <edge from-layer=\"8\" from-port=\"1\" to-layer=\"9\" to-port=\"0\"/></edges></body>",
            layer(7, "x", "Parameter", &output(0)),
            layer(8, "y", "ReLU", &format!("{input}{}", output(1))),
            layer(9, "z", "Result", input),
        )
    };
    let text = |sliced: &str| {
        format!(
            "<net name=\"n\" version=\"10\"><layers>{}{}{}</layers><edges>\
             <edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>\
             <edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>",
            layer(0, "x", "Parameter", &output(0)),
            layer(1, "loop", "TensorIterator", &format!("{input}{}{}", output(1), body(sliced))),
            layer(2, "z", "Result", input),
        )
    };
    for (sliced, expected, reads) in
        [("", &["loop", "loop/y"][..], "x"), ("axis=\"0\"", &["loop", "loop/x", "loop/y"], "loop/x")]
    {
        let model = load(&text(sliced)).unwrap();
        let names: Vec<_> = model.graph().nodes().map(|node| node.name).collect();
        assert_eq!(names, expected);
        let inner = model.graph().node_by_name("loop/y").unwrap();
        assert_eq!((inner.op_type, model.graph().value(inner.input(0).unwrap()).name), ("Relu", reads));
        let outputs: Vec<_> =
            model.graph().outputs().iter().map(|id| model.graph().value(*id).name).collect();
        assert_eq!(outputs, ["loop"]);
        assert_eq!(model.provenance().losses, [""; 0]);
    }
    let whole = text("");
    let cut = load(&whole[..whole.find("name=\"z\"").unwrap()]).unwrap();
    assert_eq!(cut.graph().node_count(), 0, "the layer that runs the graph doesn't end");
    let deep =
        format!("{}{}", &whole[..whole.find("<body>").unwrap()], "<body><layers><layer>".repeat(100_000));
    let error = load(&deep).unwrap_err().to_string();
    assert!(error.contains("32 deep"), "{error}");
}
