//! G04: Pow with a small constant exponent becomes products, roots and reciprocals.

use crate::constant::is_float;
use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::node;
use crate::rewrite::Rewrite;

/// Whole, positive exponents.
pub struct PowToMul;

/// Exponents of one half and below zero.
pub struct PowToRoot;

static TO_MUL: Info = Info {
    id: "G04a",
    name: "pow-to-mul",
    exactness: Exactness::Rounding,
    use_: Use::Always,
    summary: "Pow(x, 2) -> Mul(x, x); 3 -> two Mul; 1 -> x",
    condition: "The exponent is a constant 1, 2 or 3 of the same type as x. A square is the same to the \
                last bit of single precision; a cube differs by one unit of the last place at most (two in \
                half precision). Integers whose power doesn't fit their type wrap around in a product and \
                are what the engine makes of them in Pow (bounded).",
};

static TO_ROOT: Info = Info {
    id: "G04b",
    name: "pow-to-root",
    exactness: Exactness::Bounded,
    use_: Use::Always,
    summary: "Pow(x, 0.5) -> Sqrt(x); -1 -> Reciprocal(x); -0.5 -> Reciprocal(Sqrt(x))",
    condition: "The exponent is a constant 0.5, -1 or -0.5 of the same floating-point type as x. For 0.5 \
                the results differ at -0 (pow gives 0, the root -0) and at negative infinity (infinity \
                and NaN); for -0.5 at -0 (infinity and negative infinity) and at negative infinity (0 and \
                NaN).",
};

impl Rewrite for PowToMul {
    fn info(&self) -> &'static Info {
        &TO_MUL
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Pow"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let pow = draft.node(at)?;
        let exponent = exponent(draft, pow)?;
        let (x, result) = (pow.input(0), pow.output(0));
        let mut edit = Edit::new("pow");
        edit.remove(pow);
        if !draft.data_type(x).is_some_and(is_float) {
            edit.exactness(Exactness::Bounded);
        }
        edit.because(format!("exponent {exponent}"));
        if exponent == 1.0 {
            edit.forward(result, x).exactness(Exactness::Exact);
        } else if exponent == 2.0 {
            edit.add(node("Mul", &[x, x], &[result]));
        } else if exponent == 3.0 {
            let square = edit.apply(draft, "Mul", &[x, x], result);
            edit.add(node("Mul", &[&square, x], &[result]));
        } else {
            return None;
        }
        Some(edit)
    }
}

impl Rewrite for PowToRoot {
    fn info(&self) -> &'static Info {
        &TO_ROOT
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Pow"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let pow = draft.node(at)?;
        let exponent = exponent(draft, pow)?;
        if !is_float(draft.data_type(pow.input(0))?) {
            return None;
        }
        let (x, result) = (pow.input(0), pow.output(0));
        let mut edit = Edit::new("pow");
        edit.remove(pow).because(format!("exponent {exponent}"));
        if exponent == 0.5 {
            edit.add(node("Sqrt", &[x], &[result]));
        } else if exponent == -1.0 {
            edit.add(node("Reciprocal", &[x], &[result]));
        } else if exponent == -0.5 {
            let root = edit.apply(draft, "Sqrt", &[x], result);
            edit.add(node("Reciprocal", &[&root], &[result]));
        } else {
            return None;
        }
        Some(edit)
    }
}

/// The exponent, if it is one constant number of the base's type that gives the result no further
/// dimension.
fn exponent(draft: &Draft<'_>, pow: NodeView<'_>) -> Option<f64> {
    let is_of_bases_type = pow.constant(1)?.data_type == draft.shape(pow.input(0))?.data_type;
    pow.number_beside(1, 0).filter(|_| is_of_bases_type)
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies, refuses};

    fn pow(constant: &str) -> String {
        format!("input x f32[2,5]; const e {constant}; y = Pow(x, e); z = Neg(y); output z")
    }

    #[test]
    fn small_whole_exponents_become_products() {
        assert_eq!(applies("G04a", &pow("f32 2")).operators(), "Mul Neg");
        assert_eq!(applies("G04a", &pow("f32[1,1] 3")).operators(), "Mul Mul Neg");
        assert_eq!(applies("G04a", &pow("f32 1")).operators(), "Neg");
    }

    #[test]
    fn halves_and_negative_exponents_become_roots_and_reciprocals() {
        let positive =
            |e| pow(e).replace("y = Pow(x, e)", "const o f32 1.5; a = Abs(x); p = Add(a, o); y = Pow(p, e)");
        assert_eq!(applies("G04b", &positive("f32 0.5")).operators(), "Abs Add Sqrt Neg");
        assert_eq!(applies("G04b", &positive("f32 -1")).operators(), "Abs Add Reciprocal Neg");
        assert_eq!(applies("G04b", &positive("f32 -0.5")).operators(), "Abs Add Sqrt Reciprocal Neg");
    }

    #[test]
    fn other_exponents_stay() {
        refuses("G04", &pow("f32 2.5"));
        refuses("G04", &pow("f32 0"));
        refuses("G04", &pow("f32[5] 2 2 2 2 3"));
        refuses("G04", "input x f32[2,5]; input e f32[]; y = Pow(x, e); output y");
    }

    #[test]
    fn an_exponent_of_another_type_or_of_more_dimensions_stays() {
        refuses("G04", &pow("i64 2"));
        refuses("G04", &pow("f32[1,1,1] 2"));
    }

    #[test]
    fn a_base_of_unknown_type_stays() {
        refuses("G04", "input c bool[]; const e f32 2; x = far.Mystery(c); y = Pow(x, e); output y");
    }

    #[test]
    fn whole_numbers_have_products_but_no_roots() {
        let text = "input x i32[4]; const e i32 2; y = Pow(x, e); output y i32[4]";
        assert_eq!(applies("G04", text).operators(), "Mul");
    }
}
