#![no_main]

opscope_fuzz::target!("rank_result_texts");
