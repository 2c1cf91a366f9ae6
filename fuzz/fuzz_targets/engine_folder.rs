#![no_main]

opscope_fuzz::target!("engine_folder");
