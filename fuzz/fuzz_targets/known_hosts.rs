#![no_main]

opscope_fuzz::target!("known_hosts");
