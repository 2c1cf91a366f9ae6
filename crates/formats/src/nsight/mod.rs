//! Profiles of NVIDIA's profilers: databases of Nsight Systems ([`systems`]), tables of Nsight Compute
//! ([`compute`]).

pub mod compute;
pub mod systems;
