//! The rewrites: one file each, named by its id.

pub mod affine;
pub mod g01_conv_bn;
pub mod g03_conv_scale;
pub mod g04_pow;
pub mod g05a_mish;
pub mod g05b_mish_to_leaky;
pub mod g15a_identity;
pub mod g15b_transpose;
pub mod g15c_reshape;
pub mod g25a_fold;
pub mod g25b_shapes;
pub mod g25c_common;
pub mod g25d_dead;
