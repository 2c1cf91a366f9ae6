#![no_main]

opscope_fuzz::target!("rank_timeline");
