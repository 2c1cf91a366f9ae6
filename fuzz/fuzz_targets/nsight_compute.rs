#![no_main]

opscope_fuzz::target!("nsight_compute");
