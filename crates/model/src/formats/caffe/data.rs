//! Layers that give data, which are the inputs of a network.

use super::Network;
use super::layer::Layer;

/// A layer that gives data: its blobs are inputs of the network.
pub(super) fn data(net: &mut Network, layer: &Layer<'_>) {
    let mut shapes: Vec<Vec<i64>> = Vec::new();
    for name in ["input_param", "dummy_data_param"] {
        shapes.extend(layer.parameters(name).blocks("shape").map(|shape| shape.ints("dim")));
    }
    let memory = layer.parameters("memory_data_param");
    let four = ["batch_size", "channels", "height", "width"].map(|field| memory.int(field));
    if let [Some(batch), Some(channels), Some(height), Some(width)] = four {
        shapes.push(vec![batch, channels, height, width]);
    }
    // One shape holds for all blobs.
    let is_for_all = shapes.len() == 1;
    if shapes.is_empty() {
        shapes.extend(stored_images(layer));
    }
    for (place, top) in layer.tops.iter().enumerate() {
        let dims = shapes.get(place).or(shapes.last().filter(|_| is_for_all)).cloned();
        net.input(top, dims);
    }
}

/// The sizes of the blobs of a layer that reads images from a database or files, as far as it states them: the images
/// are cut to `crop_size` or scaled to `new_height` and `new_width`, and each has a label. How many channels those of a
/// database have is stated by three mean values or by an option that forces colours only.
fn stored_images(layer: &Layer<'_>) -> Vec<Vec<i64>> {
    let transform = layer.parameters("transform_param");
    let own = match &*layer.op_type {
        "Data" | "AnnotatedData" => layer.parameters("data_param"),
        "ImageData" => layer.parameters("image_data_param"),
        "WindowData" => layer.parameters("window_data_param"),
        _ => return Vec::new(),
    };
    // Networks of 2014 have these among the layer's own parameters.
    let stated = |field: &str| transform.int(field).or_else(|| own.int(field)).filter(|size| *size > 0);
    let has_colours = transform.bool("force_color") == Some(true)
        || own.bool("force_encoded_color") == Some(true)
        || transform.texts("mean_value").len() == 3;
    let channels = match &*layer.op_type {
        _ if transform.bool("force_gray") == Some(true) => Some(1),
        "ImageData" => Some(if own.bool("is_color") == Some(false) { 1 } else { 3 }),
        "WindowData" => Some(3),
        _ => has_colours.then_some(3),
    };
    let side = |field: &str| stated("crop_size").or_else(|| own.int(field).filter(|size| *size > 0));
    let batch = own.int("batch_size");
    let (Some(batch), Some(channels), Some(height), Some(width)) =
        (batch, channels, side("new_height"), side("new_width"))
    else {
        return Vec::new();
    };
    let images = vec![batch, channels, height, width];
    // Annotations are of as many values as the images have objects.
    if layer.op_type == "AnnotatedData" { vec![images] } else { vec![images, vec![batch]] }
}

#[cfg(test)]
mod tests {
    use crate::{Bindings, Model, Shapes};

    /// The sizes of the inputs, and of what a convolution makes of the first of them.
    fn sizes(layer: &str, bindings: Bindings) -> Vec<Option<Vec<u64>>> {
        let text = format!(
            "layer {{ name: 'data' top: 'data' top: 'label' {layer} }}
             layer {{ name: 'data' type: 'Data' top: 'data' include {{ phase: TRAIN }} data_param {{ batch_size: 9 }} }}
             layer {{ name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
               convolution_param {{ num_output: 8 kernel_size: 3 pad: 1 }} }}
             layer {{ name: 'loss' type: 'SoftmaxWithLoss' bottom: 'conv' bottom: 'label' top: 'loss' }}"
        );
        let model = Model::from_any_bytes(text.into_bytes().into()).unwrap();
        let shapes = Shapes::infer(&model, &bindings).unwrap();
        let conv = model.graph().node_by_name("conv").unwrap().output(0).unwrap();
        let values = ["data", "label"].map(|name| model.graph().value_by_name(name).map(|value| value.id));
        let known = |id: Option<_>| shapes.get(id?)?.known_dims();
        values.into_iter().chain([Some(conv)]).map(known).collect()
    }

    const STORED: &str = "type: 'Data' include { phase: TEST }
        transform_param { crop_size: 224 mean_value: 104 mean_value: 117 mean_value: 123 }
        data_param { batch_size: 50 backend: LMDB }";

    #[test]
    fn images_of_a_database_have_the_sizes_that_their_layer_states() {
        let known = |sizes: &[u64]| Some(sizes.to_vec());
        let expected = [known(&[50, 3, 224, 224]), known(&[50]), known(&[50, 8, 224, 224])];
        assert_eq!(sizes(STORED, Bindings::new()), expected);
        let files = "type: 'ImageData' image_data_param { batch_size: 2 new_height: 60 new_width: 80 }";
        assert_eq!(sizes(files, Bindings::new())[2], known(&[2, 8, 60, 80]));
        let open = "type: 'Data' transform_param { crop_size: 224 } data_param { batch_size: 50 }";
        assert_eq!(sizes(open, Bindings::new())[2], None, "nothing tells how many channels there are");
    }

    #[test]
    fn sizes_that_are_given_count_before_those_of_the_file() {
        let given = Bindings::new().shape("data", &[1, 3, 100, 80]);
        assert_eq!(sizes(STORED, given)[2], Some(vec![1, 8, 100, 80]));
    }
}
