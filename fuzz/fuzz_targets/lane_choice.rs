#![no_main]

opscope_fuzz::target!("lane_choice");
