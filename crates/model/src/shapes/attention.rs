//! Attention, in ONNX's own form and in those of ONNX Runtime.

use super::fact::{Dims, Fact};
use super::operator::{Gap, Inferred, Op, contradiction};

/// The sizes that describe one attention.
struct Heads {
    batch: Option<u64>,
    heads: Option<u64>,
    length: Option<u64>,
    size: Option<u64>,
}

/// An input of heads, either already split (batch, heads, length, size) or packed (batch, length,
/// heads × size), with the attribute that says how many heads are packed.
fn heads(op: &Op, input: usize, attribute: &str) -> Inferred<Heads> {
    match *op.dims(input)? {
        [batch, heads, length, size] => Ok(Heads { batch, heads, length, size }),
        [batch, length, packed] => {
            let heads = op.size(attribute).filter(|heads| *heads > 0);
            Ok(Heads { batch, heads, length, size: part(packed, heads) })
        }
        ref dims => Err(contradiction!("{} dimensions, where attention has 3 or 4", dims.len())),
    }
}

fn part(whole: Option<u64>, parts: Option<u64>) -> Option<u64> {
    whole?.checked_div(parts?)
}

fn product(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    left?.checked_mul(right?)
}

fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    left?.checked_add(right?)
}

/// `Attention` of ONNX: the result, the keys and values so far, and the scores.
pub(super) fn attention(op: &Op) -> Inferred {
    let query = heads(op, 0, "q_num_heads")?;
    let key = heads(op, 1, "kv_num_heads")?;
    let value = heads(op, 2, "kv_num_heads")?;
    let past = if op.has(4) { op.dim(4, 2) } else { Some(0) };
    let total = sum(past, key.length);
    let output = if op.rank(0)? == 3 {
        vec![query.batch, query.length, product(query.heads, value.size)]
    } else {
        vec![query.batch, query.heads, query.length, value.size]
    };
    Ok(vec![
        Fact::new(op.data_type(0), output),
        Fact::new(op.data_type(1), [key.batch, key.heads, total, key.size]),
        Fact::new(op.data_type(2), [value.batch, value.heads, total, value.size]),
        Fact::new(op.data_type(0), [query.batch, query.heads, query.length, total]),
    ])
}

/// `FlexAttention`: as attention on split heads, without what came before.
pub(super) fn flex_attention(op: &Op) -> Inferred {
    let [batch, heads, length, _] = op.dims_of_rank(0)?;
    op.one(0, [batch, heads, length, op.dim(2, 3)])
}

/// `LinearAttention`: the result and the state, which is a matrix for each head.
pub(super) fn linear_attention(op: &Op) -> Inferred {
    let [batch, length, _] = op.dims_of_rank(0)?;
    let key = heads(op, 1, "kv_num_heads")?;
    let value = heads(op, 2, "kv_num_heads")?;
    let output = Fact::new(op.data_type(0), [batch, length, product(op.size("q_num_heads"), value.size)]);
    let state_type = if op.has(3) { op.data_type(3) } else { op.data_type(0) };
    Ok(vec![output, Fact::new(state_type, [batch, op.size("kv_num_heads"), key.size, value.size])])
}

/// `CausalConvWithState`: the result, and the last positions but one that a kernel sees.
pub(super) fn causal_conv(op: &Op) -> Inferred {
    let [batch, channels, _] = op.dims_of_rank(0)?;
    let state = Fact::new(op.data_type(0), [batch, channels, op.dim(1, 2).and_then(|k| k.checked_sub(1))]);
    Ok(vec![op.fact(0)?.without_elements(), state])
}

/// `Attention` and `QAttention` of ONNX Runtime: the projections are part of it, so the second input
/// is a matrix for queries, keys and values in one.
pub(super) fn packed_attention(op: &Op) -> Inferred {
    let [batch, length, _] = op.dims_of_rank(0)?;
    let hidden = match op.attributes().ints("qkv_hidden_sizes") {
        Some([_, _, value]) => u64::try_from(*value).ok(),
        _ => op.dim(1, 1).map(|packed| packed / 3),
    };
    let head_count = op.size("num_heads");
    let data_type = match op.node.op_type {
        "QAttention" => op.data_type(3),
        _ => op.data_type(0),
    };
    let past = if op.node.op_type == "QAttention" { 8 } else { 4 };
    let past = if op.has(past) { op.dim(past, 3) } else { Some(0) };
    let present = [Some(2), batch, head_count, sum(past, length), part(hidden, head_count)];
    Ok(vec![Fact::new(data_type, [batch, length, hidden]), Fact::new(data_type, present)])
}

/// `MultiHeadAttention` of ONNX Runtime.
pub(super) fn multi_head_attention(op: &Op) -> Inferred {
    let head_count = op.size("num_heads");
    let (batch, length, hidden): (_, _, Option<u64>) = match *op.dims(0)? {
        [batch, length, hidden] => (batch, length, hidden),
        // Queries, keys and values packed.
        [batch, length, heads, _, size] => (batch, length, product(heads, size)),
        _ => return Err(Gap::Unknown),
    };
    let value_hidden = match op.dims(2) {
        Ok(&[_, _, hidden]) => hidden,
        Ok(&[_, heads, _, size]) => product(heads, size),
        _ => hidden,
    };
    let keys = match op.dims(1) {
        Ok(&[_, length, _] | &[_, length, _, _, _] | &[_, _, length, _]) => length,
        _ => length,
    };
    let past = if op.has(6) { op.dim(6, 2) } else { Some(0) };
    let total = sum(past, keys);
    let present = |hidden| Fact::new(op.data_type(0), [batch, head_count, total, part(hidden, head_count)]);
    let output = Fact::new(op.data_type(0), [batch, length, value_hidden]);
    Ok(vec![output, present(hidden), present(value_hidden)])
}

/// `GroupQueryAttention` of ONNX Runtime. How long its cache is depends on how the caller keeps it.
pub(super) fn group_query_attention(op: &Op) -> Inferred {
    let [batch, length, packed] = op.dims_of_rank(0)?;
    let (heads, shared) = (op.size("num_heads"), op.size("kv_num_heads"));
    let size =
        if op.has(1) { part(packed, heads) } else { part(packed, sum(heads, product(shared, Some(2)))) };
    let cache = Fact::new(op.data_type(0), [batch, shared, None, size]);
    let output = Fact::new(op.data_type(0), [batch, length, product(heads, size)]);
    Ok(vec![output, cache.clone(), cache])
}

/// `EmbedLayerNormalization` of ONNX Runtime: a row of the embedding for each token.
pub(super) fn embed_layer_norm(op: &Op) -> Inferred {
    let [batch, length] = op.dims_of_rank(0)?;
    let output = Fact::new(op.data_type(2), [batch, length, op.dim(2, 1)]);
    Ok(vec![output.clone(), Fact::new(opscope_trace::DataType::Int32, [batch]), output])
}

/// `SkipLayerNormalization` of ONNX Runtime and its like: the result, statistics, and the sum that
/// was normalised.
pub(super) fn skip_layer_norm(op: &Op) -> Inferred {
    let output = op.fact(0)?.without_elements();
    let mut statistic: Dims = op.dims(0)?.to_vec();
    if let Some(last) = statistic.last_mut() {
        *last = Some(1);
    }
    let statistic = Fact::new(opscope_trace::DataType::Float32, statistic);
    Ok(vec![output.clone(), statistic.clone(), statistic, output])
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, dims};

    #[test]
    fn attention_takes_heads_packed_or_split() {
        let split = Case::new("Attention")
            .version(23)
            .input(&[2, 8, 5, 16])
            .input(&[2, 4, 7, 16])
            .input(&[2, 4, 7, 32]);
        let split = split.skip().input(&[2, 4, 3, 16]).input(&[2, 4, 3, 32]).outputs(4);
        assert_eq!(
            split.dims(),
            [dims(&[2, 8, 5, 32]), dims(&[2, 4, 10, 16]), dims(&[2, 4, 10, 32]), dims(&[2, 8, 5, 10])]
        );
        let packed =
            Case::new("Attention").version(23).input(&[2, 5, 128]).input(&[2, 7, 64]).input(&[2, 7, 128]);
        assert_eq!(packed.int("q_num_heads", 8).int("kv_num_heads", 4).first(), dims(&[2, 5, 256]));
    }

    #[test]
    fn the_runtimes_own_attention_is_known() {
        let fused =
            Case::new("com.microsoft:Attention").input(&[1, 16, 64]).weight(&[64, 192]).weight(&[192]);
        assert_eq!(
            fused.int("num_heads", 4).outputs(2).dims(),
            [dims(&[1, 16, 64]), dims(&[2, 1, 4, 16, 16])]
        );
        let multi = Case::new("com.microsoft:MultiHeadAttention").input(&[1, 16, 64]).input(&[1, 20, 64]);
        assert_eq!(
            multi.input(&[1, 20, 32]).int("num_heads", 4).outputs(3).dims(),
            [dims(&[1, 16, 32]), dims(&[1, 4, 20, 16]), dims(&[1, 4, 20, 8])]
        );
        let grouped = Case::new("com.microsoft:GroupQueryAttention").input(&[1, 16, 96]).skip().skip();
        assert_eq!(grouped.int("num_heads", 4).int("kv_num_heads", 1).first(), dims(&[1, 16, 64]));
        let embed =
            Case::new("com.microsoft:EmbedLayerNormalization").typed(opscope_trace::DataType::Int32, &[2, 7]);
        assert_eq!(embed.skip().weight(&[100, 32]).first(), dims(&[2, 7, 32]));
        let skip = Case::new("com.microsoft:SkipLayerNormalization").input(&[2, 7, 32]).input(&[2, 7, 32]);
        assert_eq!(skip.outputs(2).dims(), [dims(&[2, 7, 32]), dims(&[2, 7, 1])]);
    }
}
