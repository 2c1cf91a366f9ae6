//! ONNX graphs: reading them, the shapes of their values, what their nodes cost, and the sample
//! models.

pub mod proto;
