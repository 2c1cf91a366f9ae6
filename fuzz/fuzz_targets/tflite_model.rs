#![no_main]

opscope_fuzz::target!("tflite_model");
