#![no_main]

opscope_fuzz::target!("megengine_model");
