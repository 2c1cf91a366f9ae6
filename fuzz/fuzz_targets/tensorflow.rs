#![no_main]

opscope_fuzz::target!("tensorflow");
