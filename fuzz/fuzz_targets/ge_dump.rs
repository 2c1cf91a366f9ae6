#![no_main]

opscope_fuzz::target!("ge_dump");
