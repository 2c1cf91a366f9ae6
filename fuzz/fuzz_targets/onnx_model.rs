#![no_main]

opscope_fuzz::target!("onnx_model");
