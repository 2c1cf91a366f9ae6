//! Reads the compiler's files about models of chip 9 (`<model>.dbg`): blocks within blocks, each
//! with its kind and length. See [`opscope_cann_raw::nano`].

use opscope_cann_raw::Record;
use opscope_cann_raw::additional::Tensor;
use opscope_cann_raw::legacy::until_zero;
use opscope_cann_raw::nano::{DEBUG_MAGIC, DebugBlock, DebugHead, DebugInput, DebugOutput, DebugTask, block};

use opscope_trace::{LossKind, Losses};

/// A task as the compiler describes it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ModelTask<'a> {
    /// The fixed part.
    pub(super) head: DebugTask,
    /// The operator's name, if it has one.
    pub(super) name: Option<&'a [u8]>,
    /// The operator's type, if it is told.
    pub(super) op_type: Option<&'a [u8]>,
    /// Inputs and outputs.
    pub(super) tensors: Vec<Tensor>,
}

/// All tasks of a file that are whole. The bytes of others are counted under the file's name.
pub(super) fn model_tasks<'a>(bytes: &'a [u8], file: &str, losses: &mut Losses) -> Vec<ModelTask<'a>> {
    let mut tasks = Vec::new();
    let mut rest = Rest(bytes);
    if rest.record::<DebugHead>().is_none_or(|head| head.magic != DEBUG_MAGIC) {
        losses.count(LossKind::BrokenMagic, file, 1);
        return tasks;
    }
    let mut invalid = 0;
    let cut = read_file(&mut rest, &mut tasks, &mut invalid).is_none();
    losses.count(LossKind::InvalidRecord, file, invalid);
    // Something was announced that isn't there, though maybe no byte of it is.
    losses.count(LossKind::PartialRecord, file, if cut { rest.0.len().max(1) as u64 } else { 0 });
    tasks
}

/// Reads the blocks of a file; `None` if it ends too early, with what is left in `rest`.
fn read_file<'a>(rest: &mut Rest<'a>, tasks: &mut Vec<ModelTask<'a>>, invalid: &mut u64) -> Option<()> {
    while !rest.0.is_empty() {
        let head: DebugBlock = rest.record()?;
        if head.kind != block::TASKS {
            rest.take(head.length)?;
            continue;
        }
        for _ in 0..rest.number()? {
            let mut ahead = Rest(rest.0);
            let head: DebugTask = ahead.record()?;
            let body = ahead.take(head.length)?;
            *rest = ahead;
            match task(head, body) {
                Some(task) => tasks.push(task),
                None => *invalid += 1,
            }
        }
    }
    Some(())
}

/// A task with the blocks that follow it; `None` if they don't fit together.
fn task(head: DebugTask, body: &[u8]) -> Option<ModelTask<'_>> {
    let (mut name, mut original, mut op_type, mut is_part) = (None, None, None, false);
    let mut tensors = Vec::new();
    let mut rest = Rest(body);
    while !rest.0.is_empty() {
        let DebugBlock { kind, length } = rest.record()?;
        match kind {
            block::INPUTS => {
                for _ in 0..rest.number()? {
                    let DebugInput { data_type, format, length } = rest.record()?;
                    tensors.push(Tensor {
                        direction: 0,
                        format,
                        data_type,
                        shape: shape(rest.take(length)?)?,
                    });
                }
            }
            block::OUTPUTS => {
                for _ in 0..rest.number()? {
                    let DebugOutput { data_type, format, length } = rest.record()?;
                    tensors.push(Tensor {
                        direction: 1,
                        format,
                        data_type,
                        shape: shape(rest.take(length)?)?,
                    });
                }
            }
            _ => {
                let text = until_zero(rest.take(length)?);
                match kind {
                    block::NAME => _ = name.get_or_insert(text),
                    block::OP_TYPE => _ = op_type.get_or_insert(text),
                    block::ORIGINAL_NAME => _ = original.get_or_insert(text),
                    block::PART => is_part = true,
                    _ => {}
                }
            }
        }
    }
    Some(ModelTask { head, name: if is_part { original } else { name }, op_type, tensors })
}

/// The dimensions of a tensor; `None` if they are no blocks or don't fit a [`Tensor`].
fn shape(body: &[u8]) -> Option<[u32; 8]> {
    let mut shape = [0; 8];
    let mut rest = Rest(body);
    while !rest.0.is_empty() {
        let DebugBlock { kind, length } = rest.record()?;
        let bytes = rest.take(length)?;
        if kind != block::SHAPE {
            continue;
        }
        let (dimensions, _) = bytes.as_chunks::<8>();
        for (index, dimension) in dimensions.iter().enumerate() {
            *shape.get_mut(index)? = u32::try_from(u64::from_le_bytes(*dimension)).ok()?;
        }
    }
    Some(shape)
}

/// Bytes that are still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn record<R: Record>(&mut self) -> Option<R> {
        let record = R::read(self.0)?;
        self.0 = &self.0[R::SIZE..];
        Some(record)
    }

    fn number(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    fn take(&mut self, length: u32) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length as usize)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: u32, body: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &(body.len() as u32).to_le_bytes(), body].concat()
    }

    fn written(task: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        DebugTask { task, stream: 2, task_type: 0, blocks: 1, length: body.len() as u32 }
            .append_to(&mut bytes);
        bytes.extend(body);
        bytes
    }

    fn file(tasks: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        DebugHead { version: 1, magic: DEBUG_MAGIC }.append_to(&mut bytes);
        bytes.extend(part(0, b"a model"));
        bytes
            .extend(part(block::TASKS, &[&(tasks.len() as u32).to_le_bytes()[..], &tasks.concat()].concat()));
        bytes
    }

    fn names(bytes: &[u8]) -> (Vec<String>, Losses) {
        let mut losses = Losses::default();
        let tasks = model_tasks(bytes, "m.dbg", &mut losses);
        let text = |task: &ModelTask<'_>| String::from_utf8_lossy(task.name.unwrap_or_default()).into_owned();
        (tasks.iter().map(text).collect(), losses)
    }

    #[test]
    fn parts_of_an_operator_have_its_name_and_unknown_blocks_are_passed_over() {
        let whole =
            [part(99, b"?"), part(block::NAME, b"Add\0\0"), part(block::ORIGINAL_NAME, b"x")].concat();
        let of_part =
            [part(block::NAME, b"Mul_0"), part(block::ORIGINAL_NAME, b"Mul"), part(block::PART, b"0")];
        let (names, losses) = names(&file(&[written(1, &whole), written(2, &of_part.concat())]));
        assert_eq!(names, ["Add", "Mul"]);
        assert!(losses.rows().is_empty());
    }

    #[test]
    fn a_task_that_contradicts_itself_is_left_out_and_the_next_is_read() {
        let too_long = [8, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF];
        let too_many = part(block::INPUTS, &[0xFF; 4]);
        let good = part(block::NAME, b"Add");
        let (names, losses) =
            names(&file(&[written(1, &too_long), written(2, &too_many), written(3, &good)]));
        assert_eq!(names, ["Add"]);
        assert_eq!(losses.total(LossKind::InvalidRecord), 2);
        assert_eq!(losses.total(LossKind::PartialRecord), 0);
    }

    #[test]
    fn wherever_a_file_is_cut_whole_tasks_are_kept_and_the_cut_is_counted() {
        let bodies: Vec<Vec<u8>> = (0..3)
            .map(|number| written(number, &part(block::NAME, format!("op{number}").as_bytes())))
            .collect();
        let bytes = file(&bodies);
        let ends: Vec<usize> = (0..3).map(|last| bytes.len() - bodies[last..].concat().len()).collect();
        let between = DebugHead::SIZE;
        for length in 0..bytes.len() {
            let (names, losses) = names(&bytes[..length]);
            let whole = (1..3).filter(|&task| length >= ends[task]).count();
            assert_eq!(names.len(), whole, "{length}");
            let damaged = losses.total(LossKind::PartialRecord) + losses.total(LossKind::BrokenMagic);
            // Between two blocks nothing tells that more was to come.
            let is_seen = length != between && length != between + part(0, b"a model").len();
            assert_eq!(damaged > 0, is_seen, "{length}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_the_reader_fail(bytes: Vec<u8>) {
            let mut own = vec![1, 0, 0, 0, 0x5A, 0x5A, 0x5A, 0x5A, 1, 0, 0, 0];
            own.extend(bytes);
            names(&own);
        }
    }
}
