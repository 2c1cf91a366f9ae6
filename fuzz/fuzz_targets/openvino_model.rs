#![no_main]

opscope_fuzz::target!("openvino_model");
