//! Models that are damaged, hostile, large, or no models.

use super::*;

#[test]
fn damage_is_told_and_the_layers_before_are_kept() {
    let mut net = Network::default();
    let image = net.input(&[1, 4, 8, 8]);
    let filter = net.weight(&[2, 4, 1, 1]);
    let conv = net.layer("Convolution", "strides=\"1,1\"", &[image, filter], &[&[1, 2, 8, 8]]);
    let relu = net.layer("ReLU", "", &[(conv, 0)], &[&[1, 2, 8, 8]]);
    net.result((relu, 0));
    let text = net.text();
    for end in (100..text.len()).step_by(7) {
        match load(&text[..end]) {
            Ok(model) => {
                assert!(model.graph().node_count() <= 2);
                let is_told = !model.provenance().losses.is_empty();
                assert!(is_told || text[..end].contains("</edges>"), "{end}");
                Shapes::infer(&model, &Bindings::new()).unwrap();
            }
            Err(error) => assert!(end < text.find("</layer>").unwrap() + 10, "{end}: {error}"),
        }
    }
    // Without edges, nothing says what a layer reads; its sizes are known all the same.
    let model = load(&text[..text.find("</layers>").unwrap()]).unwrap();
    assert_eq!(types(&model), [(DOMAIN, "Convolution"), ("", "Relu")]);
    let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
    assert_eq!(shapes.unresolved(), []);
}

#[test]
fn layers_whose_edges_were_left_out_are_read_in_the_file() {
    let mut net = Network::default();
    let image = net.input(&[1, 4, 8, 8]);
    let first = net.layer("ReLU", "", &[image], &[&[1, 4, 8, 8]]);
    let _second = net.layer("ReLU", "", &[(first, 0)], &[&[1, 4, 8, 8]]);
    let last = net.layer("ReLU", "", &[image], &[&[1, 4, 8, 8]]);
    net.result((last, 0));
    let text = net.text();
    let unread = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        let model = load(&text.replace(from, to)).unwrap();
        ["relu1", "relu2", "relu3"].map(|name| model.is_unread(name))
    };
    assert_eq!(unread("ReLU", "ReLU"), [false, false, false], "nobody reads the second");
    let edge = "from-layer=\"1\" from-port=\"100\"";
    assert_eq!(unread(edge, "from-layer=\"1\" from-port=\"7\""), [true, false, false]);
    assert_eq!(unread("<layer id=\"2\"", "<layer id=\"1\""), [true, true, false]);
}

#[test]
fn weights_that_are_missing_cut_off_or_elsewhere_are_told() {
    let mut net = Network::default();
    let image = net.input(&[1, 4, 8, 8]);
    let filter = net.weight(&[2, 4, 1, 1]);
    let conv = net.layer("Convolution", "strides=\"1,1\"", &[image, filter], &[&[1, 2, 8, 8]]);
    net.result((conv, 0));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.xml");
    let losses = |text: &str, data: Option<&[u8]>| {
        std::fs::write(&path, text).unwrap();
        let _ = std::fs::remove_file(path.with_extension("bin"));
        data.into_iter().for_each(|data| std::fs::write(path.with_extension("bin"), data).unwrap());
        let model = Model::load(&path).unwrap();
        assert_eq!(types(&model), [("", "Conv")]);
        model.provenance().losses.clone()
    };
    let text = net.text();
    assert_eq!(losses(&text, Some(&net.data)), [""; 0]);
    assert!(losses(&text, None)[0].contains("net.bin"));
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
    assert!(losses(&text, Some(pointer))[0].contains("git lfs pull"));
    assert!(losses(&text, Some(&net.data[1..]))[0].contains("outside of the .bin file"));
    for wrong in ["offset=\"18446744073709551615\"", "offset=\"-1\"", "offset=\"x\"", "offset=\"4\""] {
        assert!(
            losses(&text.replace("offset=\"0\"", wrong), Some(&net.data))[0].contains("1 of the constants")
        );
    }
}

#[test]
fn a_constant_that_is_looked_at_and_stored_is_missed_once() {
    let mut net = Network::default();
    let image = net.input(&[4, 8]);
    let (at, axis) = (net.list(&[1]), net.scalar(1));
    let picked = net.typed("Gather", "opset8", "batch_dims=\"0\"", &[image, at, axis], &[&[4, 1]], "FP32");
    net.result((picked, 0));
    net.data.truncate(8);
    let (model, _) = net.inferred();
    assert_eq!(types(&model), [(DOMAIN, "Gather")], "its axis isn't known");
    let losses = &model.provenance().losses;
    assert!(losses[0].starts_with("1 of the constants"), "{losses:?}");
}

#[test]
fn long_names_of_layers_within_layers_do_not_multiply() {
    let layer = |id: usize, inside: &str| {
        format!("<layer id=\"{id}\" type=\"Loop\" version=\"opset5\">{inside}</layer>")
    };
    let bodies: String = (0..10_000).map(|id| layer(id, "")).collect();
    let long = "x".repeat(1 << 20);
    let outer = layer(0, &format!("<body><layers>{bodies}</layers></body>")).replacen(
        "id=",
        &format!("name=\"{long}\" id="),
        1,
    );
    let text = format!("<net name=\"n\" version=\"11\"><layers>{outer}</layers><edges/></net>");
    let error = load(&text).unwrap_err().to_string();
    assert!(error.contains("which no real model has"), "{error}");
}

#[test]
fn sizes_and_numbers_that_cannot_be_end_nothing() {
    let mut net = Network::default();
    let image = net.input(&[1, 4, 8, 8]);
    let filter = net.weight(&[2, 4, 1, 1]);
    let window = "strides=\"1,1\" pads_begin=\"0,0\" pads_end=\"0,0\"";
    let conv = net.layer("Convolution", window, &[image, filter], &[&[1, 2, 8, 8]]);
    let (axis, lengths) = (net.scalar(1), net.list(&[1, -1]));
    let parts = net.layer("VariadicSplit", "", &[(conv, 0), axis, lengths], &[&[1, 1, 8, 8], &[1, 1, 8, 8]]);
    net.result((parts, 0));
    let text = net.text();
    let huge = i64::MAX.to_string();
    for (old, new) in [
        ("strides=\"1,1\"", format!("strides=\"0,{huge}\"")),
        ("pads_end=\"0,0\"", format!("pads_end=\"{huge},{huge}\"")),
        ("pads_end=\"0,0\"", "pads_end=\"0\"".to_owned()),
        ("<dim>8</dim>", format!("<dim>{huge}</dim>")),
        ("<dim>8</dim>", "<dim>99999999999999999999</dim>".to_owned()),
        ("<dim>4</dim>", "<dim>1</dim>".repeat(1000)),
        ("id=\"2\"", "id=\"0\"".to_owned()),
        ("to-layer=\"2\"", format!("to-layer=\"{huge}\"")),
        ("name=\"convolution2\"", "name=\"parameter0\"".to_owned()),
    ] {
        let changed = text.replace(old, &new);
        assert_ne!(changed, text);
        let model = load(&changed).unwrap();
        let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
        let costs = model.graph().nodes().map(|node| Cost::of(&model, &shapes, node.id));
        assert_eq!(costs.count(), model.graph().node_count());
    }
    let circle = text.replace("from-layer=\"0\" from-port=\"100\"", "from-layer=\"5\" from-port=\"100\"");
    let model = load(&circle).unwrap();
    let losses = &model.provenance().losses;
    assert!(losses.iter().any(|loss| loss.contains("close circles")), "{losses:?}");
}

#[test]
fn fifty_thousand_layers_are_read_whatever_their_names() {
    let mut net = Network::default();
    let mut last = net.input(&[4]);
    for _ in 0..50_000 {
        last = (net.layer("ReLU", "", &[last], &[&[4]]), 0);
    }
    net.result(last);
    assert_eq!(load(&net.text()).unwrap().graph().node_count(), 50_000);
    // All of one name.
    let text = net.text().replace("name=\"relu", "name=\"relu\" number=\"");
    let model = load(&text).unwrap();
    assert_eq!(model.graph().node_count(), 50_000);
    assert!(model.provenance().losses[0].contains("49999 of the layers"), "{:?}", model.provenance().losses);
}

#[test]
fn other_versions_and_executable_graphs_are_told_apart() {
    let mut net = Network::default();
    let image = net.input(&[4]);
    net.layer("ReLU", "", &[image], &[&[4]]);
    let text = net.text();
    let of_version = |version: &str| load(&text.replace("version=\"11\"", version));
    assert!(of_version("version=\"7\"").unwrap_err().to_string().contains("version 7"));
    assert!(of_version("version=\"12\"").unwrap().provenance().losses[0].contains("newer"));
    assert!(of_version("version=\"10\"").unwrap().provenance().losses.is_empty());
    let graph = text.replace("<data /", "<data execOrder=\"0\" execTimeMcs=\"7\" /");
    assert_ne!(graph, text);
    assert!(load(&graph).unwrap_err().to_string().contains("which is a profile"));
    let error = load("<net name=\"n\" version=\"11\"><layers></layers></net>").unwrap_err().to_string();
    assert!(error.contains("no layers"), "{error}");
}

#[test]
fn an_interpolation_without_its_constants_has_the_sizes_that_its_ports_state() {
    let mut net = Network::default();
    let image = net.input(&[1, 3, 175, 175]);
    let (sizes, axes) = (net.list(&[350, 350]), net.list(&[2, 3]));
    let data = "mode=\"linear_onnx\" shape_calculation_mode=\"sizes\" \
                coordinate_transformation_mode=\"align_corners\" nearest_mode=\"round_prefer_floor\" \
                antialias=\"false\" pads_begin=\"0\" pads_end=\"0\" cube_coeff=\"-0.75\"";
    let ports = [image, sizes, axes];
    let id = net.typed("Interpolate", "opset11", data, &ports, &[&[1, 3, 350, 350]], "FP32");
    net.result((id, 0));
    let (with, _) = net.inferred();
    let without = load(&net.text()).unwrap();
    let shapes = Shapes::infer(&without, &Bindings::new()).unwrap();
    assert_eq!((types(&without), shapes.notes()), (types(&with), &[][..]));
    assert_eq!(types(&without), [("", "Resize")]);
    let resize = without.graph().nodes().next().unwrap();
    assert_eq!(shapes.get(resize.output(0).unwrap()).unwrap().known_dims(), Some(vec![1, 3, 350, 350]));
    assert_eq!(
        without.graph().nodes().map(|node| Cost::of(&without, &shapes, node.id).parameters).sum::<u64>(),
        0
    );
}
