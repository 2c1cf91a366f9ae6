//! Loading files: what is accepted, what is refused and how that is told, and where data lies.

use std::path::Path;

use bytes::Bytes;
use opscope_model::proto::{
    GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto, TensorProto,
    ValueInfoProto, data_type_to_onnx, encode,
};
use opscope_model::{LoadError, Model, TensorError};
use opscope_trace::DataType;

fn relu_of(weight: TensorProto) -> ModelProto {
    let value = |name: &str| ValueInfoProto { name: Some(name.into()), ..Default::default() };
    let node = NodeProto {
        op_type: Some("Relu".into()),
        input: vec!["w".into()],
        output: vec!["y".into()],
        ..Default::default()
    };
    ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
        graph: Some(GraphProto {
            node: vec![node],
            output: vec![value("y")],
            initializer: vec![TensorProto { name: Some("w".into()), ..weight }],
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn floats(count: usize) -> TensorProto {
    let data: Vec<u8> = (0..count).flat_map(|n| (n as f32).to_le_bytes()).collect();
    TensorProto {
        dims: vec![count as i64],
        data_type: Some(1),
        raw_data: Some(data.into()),
        ..Default::default()
    }
}

fn outside(dims: &[i64], entries: &[(&str, &str)]) -> TensorProto {
    let entry = |(key, value): &(&str, &str)| StringStringEntryProto {
        key: Some((*key).into()),
        value: Some((*value).into()),
    };
    TensorProto {
        dims: dims.to_vec(),
        data_type: Some(1),
        data_location: Some(1),
        external_data: entries.iter().map(entry).collect(),
        ..Default::default()
    }
}

fn load_error(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.onnx");
    std::fs::write(&path, bytes).unwrap();
    let error = Model::load(&path).unwrap_err().to_string();
    assert!(error.contains("net.onnx"), "the file is not named: {error}");
    error
}

fn weight(model: &Model) -> Result<opscope_model::TensorData, TensorError> {
    model.tensor_data(&model.graph().proto().initializer[0])
}

#[test]
fn weights_are_not_copied_when_a_model_is_decoded() {
    let bytes = Bytes::from(encode(&relu_of(floats(1000))));
    let range = bytes.as_ptr_range();
    let model = Model::from_bytes(bytes, None).unwrap();
    let data = weight(&model).unwrap();
    assert!(range.contains(&data.bytes.as_ptr()));
    assert_eq!(data.to_f32s().unwrap()[999], 999.0);
}

#[test]
fn a_model_is_loaded_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.onnx");
    std::fs::write(&path, encode(&relu_of(floats(3)))).unwrap();
    let model = Model::load(&path).unwrap();
    assert_eq!(model.path(), Some(path.as_path()));
    assert_eq!(model.opset_version(""), Some(17));
    assert_eq!(model.opset_version("ai.onnx"), Some(17));
    assert_eq!(model.opset_version("com.microsoft"), None);
    assert_eq!(weight(&model).unwrap().to_f64s().unwrap(), [0.0, 1.0, 2.0]);
}

#[test]
fn files_that_are_no_models_are_named_for_what_they_are() {
    assert!(load_error(b"").contains("empty"));
    assert!(load_error(b"\x1f\x8b\x08\0\0\0\0\0").contains("gzip"));
    assert!(load_error(b"PK\x03\x04\x14\0").contains("zip archive"));
    assert!(load_error(b"{\"not\": \"a model\"}").contains("JSON"));
    assert!(load_error(&[0x0a, 0x05, 0x0a, 0x01, b'x', 0x12, 0x00]).contains("weights of Caffe"));
    let damaged = load_error(&[0xff; 40]);
    assert!(damaged.contains("offset 0"), "{damaged}");
}

#[test]
fn a_file_that_was_cut_off_says_where_and_by_how_much() {
    let mut model = relu_of(floats(1000));
    let versions =
        encode(&ModelProto { opset_import: model.opset_import.clone(), ..Default::default() }).len();
    let whole = encode(&model).len();
    model.opset_import.clear();
    // The graph comes last but for the versions.
    let error = load_error(&encode(&model)[..whole - versions - 500]);
    assert!(error.contains("cut off: `graph.initializer[0].raw_data` at offset"), "{error}");
    assert!(error.contains("needs at least 500 more bytes"), "{error}");
}

#[test]
fn bytes_that_nest_without_end_are_refused() {
    // A graph whose node has an attribute that is such a graph, and so on: fields 1, 5 and 6.
    let mut graph = Vec::new();
    for _ in 0..2_000 {
        for tag in [0x32, 0x2a, 0x0a] {
            let mut around = vec![tag];
            prost::encoding::encode_varint(graph.len() as u64, &mut around);
            around.append(&mut graph);
            graph = around;
        }
    }
    let mut bytes = vec![0x08, 0x08, 0x3a];
    prost::encoding::encode_varint(graph.len() as u64, &mut bytes);
    bytes.append(&mut graph);
    let error = load_error(&bytes);
    assert!(error.contains("recursion limit"), "{error}");
}

#[test]
fn what_cannot_be_opened_is_told_with_its_reason() {
    let missing = Model::load(Path::new("/nonexistent/net.onnx")).unwrap_err();
    assert!(matches!(missing, LoadError::Open { .. }) && missing.to_string().contains("net.onnx"));
    let folder = Model::load(std::env::temp_dir()).unwrap_err().to_string();
    assert!(folder.contains("cannot open"), "{folder}");
}

#[test]
fn a_model_needs_a_graph_and_versions() {
    let empty = ModelProto { ir_version: Some(8), ..Default::default() };
    assert!(matches!(Model::from_proto(empty.clone(), None), Err(LoadError::NoGraph { .. })));
    assert!(load_error(&encode(&empty)).contains("no graph"));
    let mut versionless = relu_of(floats(1));
    versionless.opset_import.clear();
    assert!(load_error(&encode(&versionless)).contains("opset_import"));
    // The first files had no such list.
    versionless.ir_version = Some(2);
    assert_eq!(Model::from_proto(versionless, None).unwrap().opset_version(""), Some(1));
}

#[test]
fn every_storage_form_gives_the_same_elements() {
    let tensor = |data_type: DataType, dims: &[i64]| TensorProto {
        dims: dims.to_vec(),
        data_type: Some(data_type_to_onnx(data_type)),
        ..Default::default()
    };
    let integers = |tensor: TensorProto| {
        let model = Model::from_proto(relu_of(tensor), None).unwrap();
        weight(&model).unwrap().to_i64s().unwrap()
    };
    let numbers = |tensor: TensorProto| {
        let model = Model::from_proto(relu_of(tensor), None).unwrap();
        weight(&model).unwrap().to_f64s().unwrap()
    };
    let in_int32 = |data_type, values: &[i32]| TensorProto {
        int32_data: values.to_vec(),
        ..tensor(data_type, &[values.len() as i64])
    };
    assert_eq!(integers(in_int32(DataType::Int32, &[-1, 7])), [-1, 7]);
    assert_eq!(integers(in_int32(DataType::Int16, &[-2, 7])), [-2, 7]);
    assert_eq!(integers(in_int32(DataType::Int8, &[-3, 7])), [-3, 7]);
    assert_eq!(integers(in_int32(DataType::Uint8, &[200])), [200]);
    assert_eq!(integers(in_int32(DataType::Uint16, &[65535])), [65535]);
    assert_eq!(integers(in_int32(DataType::Bool, &[0, 1])), [0, 1]);
    // 1.5 and −2 as halves and as the upper half of single precision.
    assert_eq!(numbers(in_int32(DataType::Float16, &[0x3e00, 0xc000])), [1.5, -2.0]);
    assert_eq!(numbers(in_int32(DataType::BFloat16, &[0x3fc0, 0xc000])), [1.5, -2.0]);
    let wide = TensorProto { int64_data: vec![i64::MIN], ..tensor(DataType::Int64, &[1]) };
    assert_eq!(integers(wide), [i64::MIN]);
    let unsigned = TensorProto { uint64_data: vec![4_000_000_000], ..tensor(DataType::Uint32, &[1]) };
    assert_eq!(integers(unsigned), [4_000_000_000]);
    let double = TensorProto { double_data: vec![0.1], ..tensor(DataType::Float64, &[1]) };
    assert_eq!(numbers(double), [0.1]);
    let single = TensorProto { float_data: vec![0.5], ..tensor(DataType::Float32, &[1]) };
    assert_eq!(numbers(single), [0.5]);
    // Three elements of four bits in two bytes, the first in the low bits.
    let nibbles = TensorProto { raw_data: Some(vec![0xf1, 0x07].into()), ..tensor(DataType::Int4, &[3]) };
    assert_eq!(integers(nibbles), [1, -1, 7]);
    let pairs = TensorProto { int32_data: vec![0b11_10_01_00], ..tensor(DataType::Uint2, &[4]) };
    assert_eq!(integers(pairs), [0, 1, 2, 3]);
}

#[test]
fn the_smallest_halves_and_those_that_are_no_numbers_are_read() {
    let halves = TensorProto {
        dims: vec![5],
        data_type: Some(10),
        raw_data: Some([1u16, 0x03ff, 0x0400, 0x7bff, 0xfc00].iter().flat_map(|h| h.to_le_bytes()).collect()),
        ..Default::default()
    };
    let model = Model::from_proto(relu_of(halves), None).unwrap();
    let numbers = weight(&model).unwrap().to_f64s().unwrap();
    assert_eq!(
        numbers,
        [2f64.powi(-24), 1023.0 * 2f64.powi(-24), 2f64.powi(-14), 65504.0, f64::NEG_INFINITY]
    );
}

#[test]
fn data_that_does_not_fit_its_dimensions_is_refused() {
    let error = |tensor: TensorProto| {
        let model = Model::from_proto(relu_of(tensor), None).unwrap();
        weight(&model).unwrap_err()
    };
    let short = TensorProto { dims: vec![4], ..floats(3) };
    assert!(matches!(error(short), TensorError::Size { expected: 16, found: 12, .. }));
    let negative = TensorProto { dims: vec![-4], ..floats(3) };
    assert!(matches!(error(negative), TensorError::Dimensions { .. }));
    let huge = TensorProto { dims: vec![i64::MAX, i64::MAX], ..floats(3) };
    assert!(matches!(error(huge), TensorError::Dimensions { .. }));
    let text = TensorProto { data_type: Some(8), ..floats(3) };
    assert!(matches!(error(text), TensorError::NotNumbers { number: 8, .. }));
}

#[test]
fn external_data_is_read_from_beside_the_model() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let bytes: Vec<u8> = (0..10u32).flat_map(|n| (n as f32).to_le_bytes()).collect();
    std::fs::write(folder.path().join("data/w.bin"), bytes).unwrap();
    let path = folder.path().join("net.onnx");
    let read = |entries: &[(&str, &str)]| {
        std::fs::write(&path, encode(&relu_of(outside(&[3], entries)))).unwrap();
        let model = Model::load(&path).unwrap();
        assert_eq!(model.check_external_data().is_ok(), weight(&model).is_ok());
        weight(&model).map(|data| data.to_f32s().unwrap()).map_err(|error| error.to_string())
    };
    let location = ("location", "data/w.bin");
    assert_eq!(read(&[location, ("offset", "8"), ("length", "12")]).unwrap(), [2.0, 3.0, 4.0]);
    assert_eq!(read(&[location]).unwrap(), [0.0, 1.0, 2.0]);
    assert_eq!(read(&[("location", "./data/w.bin"), ("offset", "28")]).unwrap(), [7.0, 8.0, 9.0]);

    let short = read(&[location, ("offset", "32")]).unwrap_err();
    assert!(
        short.contains("`w`") && short.contains("12 bytes at 32") && short.contains("only 40"),
        "{short}"
    );
    let overflow = read(&[location, ("offset", "18446744073709551615")]).unwrap_err();
    assert!(overflow.contains("18446744073709551615"), "{overflow}");
    let wrong_length = read(&[location, ("length", "8")]).unwrap_err();
    assert!(
        wrong_length.contains("should have 12 bytes") && wrong_length.contains("has 8"),
        "{wrong_length}"
    );
    let missing = read(&[("location", "gone.bin")]).unwrap_err();
    assert!(missing.contains("`w`") && missing.contains("gone.bin"), "{missing}");
    let text = read(&[location, ("offset", "many")]).unwrap_err();
    assert!(text.contains("offset is `many`"), "{text}");
    let nowhere = read(&[]).unwrap_err();
    assert!(nowhere.contains("location is ``"), "{nowhere}");
    let directory = read(&[("location", "data")]).unwrap_err();
    assert!(directory.contains("cannot be opened"), "{directory}");
}

#[test]
fn external_data_may_not_leave_the_models_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret.bin"), [0; 64]).unwrap();
    let inner = folder.path().join("model");
    std::fs::create_dir(&inner).unwrap();
    let absolute = folder.path().join("secret.bin").display().to_string();
    for location in ["../secret.bin", "x/../../secret.bin", &absolute] {
        let model =
            Model::from_proto(relu_of(outside(&[3], &[("location", location)])), Some(&inner)).unwrap();
        let error = weight(&model).unwrap_err();
        assert!(matches!(error, TensorError::Outside { .. }), "{location}: {error}");
    }
    let model = Model::from_proto(relu_of(outside(&[3], &[("location", "w.bin")])), None).unwrap();
    assert!(matches!(weight(&model), Err(TensorError::NoFolder { .. })));
}
