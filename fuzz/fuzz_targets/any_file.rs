#![no_main]

opscope_fuzz::target!("any_file");
