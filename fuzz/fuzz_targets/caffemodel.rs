#![no_main]

opscope_fuzz::target!("caffemodel");
