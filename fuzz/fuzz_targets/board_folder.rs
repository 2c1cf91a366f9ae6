#![no_main]

opscope_fuzz::target!("board_folder");
