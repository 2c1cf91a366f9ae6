#![no_main]

opscope_fuzz::target!("ascend_text");
