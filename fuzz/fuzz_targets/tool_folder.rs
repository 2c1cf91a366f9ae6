#![no_main]

opscope_fuzz::target!("tool_folder");
