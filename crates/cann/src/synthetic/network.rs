//! The network that sample profiles execute: convolutions with normalisation and Mish, as a chain.

use opscope_cann_raw::Chip;
use opscope_cann_raw::additional::Tensor;
use opscope_cann_raw::hash_of;

/// An operator of the network.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) name: String,
    pub(super) op_type: &'static str,
    pub(super) kernel: String,
    /// The runtime's kind of task.
    pub(super) kind: u32,
    /// The unit that the node names.
    pub(super) task_type: u32,
    pub(super) blocks: u32,
    pub(super) tensors: Vec<Tensor>,
    /// How long it takes at least.
    pub(super) nanoseconds: u64,
}

/// The network.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub(super) ops: Vec<Op>,
}

/// How many times the chain of operators is repeated, with other shapes each time.
const STAGES: u32 = 14;

const AI_CORE: u32 = 0;
const VECTOR_CORE: u32 = 2;
const KERNEL_AICORE: u32 = 0;
const KERNEL_AIVEC: u32 = 66;

impl Network {
    pub(super) fn new(chip: Chip) -> Self {
        let mut ops = Vec::new();
        for stage in 0..STAGES {
            let size = 416 >> (stage / 3);
            let shape = [1, 1 + stage, size, size, 16, 0, 0, 0];
            for (op_type, inputs, nanoseconds) in [
                ("Conv2D", 2, 12_000),
                ("BNInferenceD", 5, 3_500),
                ("Softplus", 1, 3_600),
                ("Tanh", 1, 3_500),
                ("Mul", 2, 2_200),
            ] {
                // Chips that count cores apart run what isn't a convolution on the vector cores.
                let vector = op_type != "Conv2D" && chip.splits_cores();
                let (kind, task_type) =
                    if vector { (KERNEL_AIVEC, VECTOR_CORE) } else { (KERNEL_AICORE, AI_CORE) };
                let tensor = |direction| Tensor { direction, format: 3, data_type: 1, shape };
                let mut tensors = vec![tensor(0); inputs];
                if op_type == "Conv2D" {
                    tensors[1] =
                        Tensor { format: 4, shape: [18, 1 + stage, 16, 16, 0, 0, 0, 0], ..tensors[1] };
                }
                tensors.push(tensor(1));
                // One record holds five tensors.
                tensors.truncate(5);
                ops.push(Op {
                    name: format!("{op_type}_{stage}"),
                    op_type,
                    kernel: format!("te_{}_kernel0", op_type.to_lowercase()),
                    kind,
                    task_type,
                    blocks: 1 + (stage * 3) % 20,
                    tensors,
                    nanoseconds: nanoseconds + u64::from(stage) * 40,
                });
            }
        }
        Self { ops }
    }

    /// Every text that records name by its hash, and the hash.
    pub(super) fn texts(&self) -> Vec<(u64, String)> {
        let of_op = |op: &Op| [op.name.clone(), op.op_type.to_owned(), op.kernel.clone()];
        let mut texts: Vec<String> = self.ops.iter().flat_map(of_op).collect();
        texts.push(MODEL_NAME.to_owned());
        texts.sort();
        texts.dedup();
        texts.into_iter().map(|text| (hash_of(&text), text)).collect()
    }
}

/// The model's name.
pub(super) const MODEL_NAME: &str = "sample_yolo";
