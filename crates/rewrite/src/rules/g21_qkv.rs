//! G21: one product for queries, keys and values that is then taken apart becomes a product for each.

use opscope_model::TensorData;

use crate::constant::{floats, is_float, list, scalar};
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::{NodeExt, node};
use crate::rewrite::Rewrite;

/// See the module.
pub struct QkvSplit;

static INFO: Info = Info {
    id: "G21",
    name: "qkv-split",
    exactness: Exactness::Rounding,
    use_: Use::Named,
    summary: "MatMul + Add + Reshape + Transpose + Gathers -> MatMul + Add + Reshape + Transpose for each part",
    condition: "Weights and bias are constant, the Reshape parts the last axis into parts first, the \
                Transpose brings the parts to the front, each Gather takes one of them, and nothing else \
                reads what is between. More but smaller products: it pays on some engines only.",
};

impl Rewrite for QkvSplit {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Transpose"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let transpose = draft.node(at)?;
        let reshape = transpose.producer(0).filter(|node| node.is("Reshape"))?;
        let (matmul, add) = product(draft, reshape)?;
        let weight = matmul.constant(1).filter(|w| w.dims.len() == 2 && is_float(w.data_type))?;
        let bias = match add {
            Some((_, bias)) => Some(draft.constant(bias).filter(|b| *b.dims == [weight.dims[1]])?),
            None => None,
        };
        // `[..., parts, heads, size]`, of which the last three are the last axis of the product.
        let target = draft.constant_list(reshape.input(1))?;
        let rank = target.len();
        if rank != draft.rank(matmul.output(0))? + 2
            || reshape.attributes().int("allowzero").unwrap_or(0) != 0
        {
            return None;
        }
        let place = rank.checked_sub(3)?;
        let [parts, heads, size] = target[place..] else { return None };
        let known = parts > 1 && heads > 0 && size > 0;
        let widths = parts.checked_mul(heads).and_then(|n| n.checked_mul(size)).filter(|_| known)?;
        if u64::try_from(widths) != Ok(weight.dims[1]) {
            return None;
        }
        let perm =
            transpose.attributes().ints("perm").filter(|perm| perm.first() == Some(&(place as i64)))?;
        let gathers = gathers(draft, transpose, parts)?;

        let mut edit = Edit::new("part");
        edit.remove(matmul).remove(reshape).remove(transpose);
        if let Some((add, _)) = add {
            edit.remove(add);
        }
        let mut smaller = target.clone();
        smaller.remove(place);
        let shape = edit.constant(draft, reshape.input(1), list(&smaller));
        let perm: Vec<i64> = perm[1..].iter().map(|&n| if n > place as i64 { n - 1 } else { n }).collect();
        for (part, gather) in gathers {
            edit.remove(gather);
            let columns = columns(&weight, part, parts as usize)?;
            let columns = edit.constant(draft, matmul.input(1), columns);
            let mut value = edit.apply(draft, "MatMul", &[matmul.input(0), &columns], matmul.output(0));
            if let (Some((_, name)), Some(bias)) = (add, &bias) {
                let bias = edit.constant(draft, name, self::columns(bias, part, parts as usize)?);
                value = edit.apply(draft, "Add", &[&value, &bias], name);
            }
            let value = edit.apply(draft, "Reshape", &[&value, &shape], reshape.output(0));
            edit.add(node("Transpose", &[&value], &[gather.output(0)]).ints("perm", &perm));
        }
        Some(edit)
    }
}

/// The product that is parted, and the sum between with the name of its constant.
type Product<'d> = (NodeView<'d>, Option<(NodeView<'d>, &'d str)>);

fn product<'d>(draft: &'d Draft<'_>, reshape: NodeView<'d>) -> Option<Product<'d>> {
    let source = reshape.producer(0)?;
    if source.is("MatMul") {
        return Some((source, None));
    }
    source.either_way().into_iter().find_map(|(from, other)| {
        let matmul = source.producer(from).filter(|node| source.is("Add") && node.is("MatMul"))?;
        draft.is_constant(source.input(other)).then_some((matmul, Some((source, source.input(other)))))
    })
}

/// The Gathers that read a result, with the part that each takes; `None` if anything else reads it.
fn gathers<'d>(
    draft: &'d Draft<'_>,
    transpose: NodeView<'d>,
    parts: i64,
) -> Option<Vec<(usize, NodeView<'d>)>> {
    let readers = draft.consumers(transpose.output(0)).map(|gather| {
        let first_axis = gather.is("Gather") && gather.attributes().int("axis").unwrap_or(0) == 0;
        let index = gather.constant(1).filter(|index| first_axis && index.dims.is_empty())?;
        let index = scalar(&index)? as i64;
        let part = if index < 0 { index + parts } else { index };
        Some((usize::try_from(part).ok().filter(|part| (*part as i64) < parts)?, gather))
    });
    readers.collect::<Option<Vec<_>>>().filter(|gathers| gathers.len() > 1)
}

/// One of so many equal parts of the last axis.
fn columns(data: &TensorData, part: usize, parts: usize) -> Option<TensorData> {
    let width = *data.dims.last()? as usize;
    let each = width / parts;
    let numbers = data.to_f64s()?;
    let picked: Vec<f64> =
        numbers.chunks(width).flat_map(|row| row[part * each..(part + 1) * each].to_vec()).collect();
    let mut dims = data.dims.clone();
    *dims.last_mut()? = each as u64;
    floats(data.data_type, &dims, &picked)
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    fn qkv(sum: &str, rest: &str) -> String {
        format!(
            "input x f32[2,5,8]; const w random[8,24]; const b random[24]; const s i64[5] 0 5 3 4 2
             const i0 i64 0; const i1 i64 1; const i2 i64 -1; m = MatMul(x, w); {sum}
             r = Reshape(a, s); t = Transpose(r) perm=[2,0,3,1,4]
             q = Gather(t, i0) axis=0; k = Gather(t, i1); v = Gather(t, i2); output q; output k; output v; {rest}"
        )
    }

    #[test]
    fn each_part_gets_its_own_product() {
        let applied = applies("G21", &qkv("a = Add(m, b)", ""));
        assert_eq!(applied.operators().matches("MatMul Add Reshape Transpose").count(), 3);
        let plain = applies(
            "G21",
            &qkv("a = Add(b, m)", "").replace("a = Add(b, m)", "").replace("Reshape(a, s)", "Reshape(m, s)"),
        );
        assert_eq!(plain.operators().matches("MatMul Reshape Transpose").count(), 3);
    }

    #[test]
    fn a_result_that_others_read_stays() {
        for rest in ["output t", "output r", "output m", "n = Neg(t); output n"] {
            refuses("G21", &qkv("a = Add(m, b)", rest));
        }
    }

    #[test]
    fn other_layouts_stay() {
        let text = qkv("a = Add(m, b)", "");
        refuses(
            "G21",
            &text.replace("0 5 3 4 2", "0 5 4 3 2").replace("perm=[2,0,3,1,4]", "perm=[3,0,2,1,4]"),
        );
        refuses("G21", &text.replace("0 5 3 4 2", "0 5 3 -1 2"));
        refuses("G21", &text.replace("Gather(t, i1)", "Gather(t, i1) axis=1").replace("output k;", ""));
    }

    #[test]
    fn weights_and_bias_that_are_not_constant_stay() {
        refuses("G21", &qkv("a = Add(m, b)", "").replace("const w random[8,24]", "input w f32[8,24]"));
        refuses("G21", &qkv("a = Add(m, b)", "").replace("const b random[24]", "input b f32[24]"));
    }
}
