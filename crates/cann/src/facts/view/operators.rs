//! The operators behind tasks: their texts, units, blocks and grids.

use super::View;
use crate::dialect::Dialect;
use crate::join::{HostTask, OpSource};
use crate::kinds::{NodeTaskType, OpUnit, RuntimeKind};
use crate::text::tensor_names::TensorTexts;
use crate::vocabulary::{self, UNKNOWN};

/// The operator behind a task, in the words of the tables.
pub(crate) struct OpTexts<'a> {
    pub(crate) name: &'a str,
    pub(crate) op_type: &'a str,
    /// `static` or `dynamic`, or `N/A`.
    pub(crate) state: &'static str,
    pub(crate) unit: OpUnit,
    /// The unit, in the word of the tables.
    pub(crate) task_type: &'a str,
    pub(crate) blocks: u32,
    pub(crate) mix_blocks: u32,
    /// `YES`, `NO` or `N/A`.
    pub(crate) hf32: &'static str,
    pub(crate) tensors: &'a TensorTexts,
}

impl<'a> View<'a> {
    /// The operator of a host task, if it has one.
    pub(crate) fn op(&'a self, task: &HostTask) -> Option<OpTexts<'a>> {
        let nodes = &self.joined.data.host.nodes;
        let (blocks, mix_blocks) = self.blocks(task);
        let unit = self.unit(task)?;
        let op = OpTexts {
            unit,
            name: self.text(task.name),
            op_type: UNKNOWN,
            state: UNKNOWN,
            task_type: self.unit_word(unit),
            blocks,
            mix_blocks,
            hf32: UNKNOWN,
            tensors: task.tensors.and_then(|set| self.tensors.get(set.index())).unwrap_or(&self.no_tensors),
        };
        Some(match (task.op, task.node) {
            _ if self.level0 => op,
            (OpSource::Kernel, _) => OpTexts { op_type: op.name, ..op },
            (OpSource::Node | OpSource::Collective, Some(node)) => {
                let node = nodes.row(node.index());
                OpTexts {
                    op_type: self.text(node.op_type),
                    state: if node.dynamic { "dynamic" } else { "static" },
                    hf32: if node.flags != 0 { "YES" } else { "NO" },
                    ..op
                }
            }
            _ => op,
        })
    }

    /// The unit on which the operator of a host task runs; `None` if the task has no operator.
    pub(crate) fn unit(&self, task: &HostTask) -> Option<OpUnit> {
        match task.op {
            OpSource::None => None,
            OpSource::Kernel if task.kernel == 0 => None,
            OpSource::Collective if self.kind(task.kind) == RuntimeKind::AiCpu => {
                Some(OpUnit::CollectiveOnAiCpu)
            }
            OpSource::Collective => Some(OpUnit::Named(NodeTaskType::Communication)),
            _ if self.level0 => Some(OpUnit::Unknown),
            OpSource::Kernel => Some(unit_of_kernel(self.kind(task.kind))),
            OpSource::Node => Some(task.node.map_or(OpUnit::Unknown, |node| {
                self.unit_of_node(self.joined.data.host.nodes.task_type()[node.index()], task)
            })),
        }
    }

    /// The blocks of a host task's operator, and the slave blocks of one on both kinds of cores: as the
    /// runtime told with the launch, else as its node was noted.
    pub(crate) fn blocks(&self, task: &HostTask) -> (u32, u32) {
        const RATIO: u16 = 0b111;
        if let Some(extent) = self.extent(task).filter(|_| !self.is_simt(task.kind)) {
            let [blocks, _, ratio, ..] = extent;
            return (u32::from(blocks), u32::from(blocks) * u32::from(ratio & RATIO));
        }
        let Some(node) = task.node.filter(|_| !self.level0) else { return (0, 0) };
        let blocks = self.joined.data.host.nodes.blocks()[node.index()];
        (blocks & 0xFFFF, (blocks & 0xFFFF) * (blocks >> 16))
    }

    /// How large a launch was, where the runtime told.
    fn extent(&self, task: &HostTask) -> Option<[u16; 6]> {
        let host = &self.joined.data.host;
        let extent = host.task_tracks.extent()[task.track?.index()]?;
        host.extents.get(extent.index()).copied()
    }

    /// Whether tasks of a kind run one program in many threads.
    pub(crate) fn is_simt(&self, kind: u32) -> bool {
        self.kind(kind) == RuntimeKind::Simt
    }

    /// The grid of a launch of many threads, and of each of its blocks, as texts.
    pub(crate) fn grid(&self, task: &HostTask) -> Option<&[String; 2]> {
        self.grids.get(&self.extent(task).filter(|_| self.is_simt(task.kind))?)
    }

    /// Two numbers that are equal only for operators of the same type on the same unit.
    pub(crate) fn op_number(&self, task: &HostTask) -> (u64, u64) {
        const KERNEL: u64 = 1 << 32;
        let nodes = &self.joined.data.host.nodes;
        match task.node {
            None => (task.kernel, KERNEL << 1 | u64::from(task.kind)),
            Some(node) => (
                nodes.op_type()[node.index()],
                u64::from(nodes.task_type()[node.index()]) << 32 | u64::from(task.kind),
            ),
        }
    }

    /// The unit that a node names. Collective operations that run on the AI CPU name another one.
    fn unit_of_node(&self, task_type: u32, task: &HostTask) -> OpUnit {
        match NodeTaskType::from_number(task_type) {
            Some(NodeTaskType::Communication) if self.kind(task.kind) == RuntimeKind::AiCpu => {
                OpUnit::Named(NodeTaskType::AiCpu)
            }
            Some(NodeTaskType::Communication) if self.dialect != Dialect::Accelerated => OpUnit::Hccl,
            Some(known) => OpUnit::Named(known),
            None => OpUnit::Unnamed(task_type),
        }
    }

    /// The word of the tables for a unit.
    fn unit_word(&self, unit: OpUnit) -> &str {
        match unit {
            OpUnit::Unnamed(number) => self.unnamed_units.get(&number).map_or(UNKNOWN, String::as_str),
            named => vocabulary::op_unit(named).unwrap_or(UNKNOWN),
        }
    }
}

/// The unit on which a kernel without a node runs.
fn unit_of_kernel(kind: RuntimeKind) -> OpUnit {
    OpUnit::Named(match kind {
        RuntimeKind::AiCore => NodeTaskType::AiCore,
        RuntimeKind::AiCpu => NodeTaskType::AiCpu,
        RuntimeKind::AiVectorCore | RuntimeKind::Simt => NodeTaskType::AiVectorCore,
        RuntimeKind::MixAic => NodeTaskType::MixAic,
        RuntimeKind::MixAiv => NodeTaskType::MixAiv,
        _ => return OpUnit::Unknown,
    })
}
