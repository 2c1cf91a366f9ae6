//! G10: a linear or cubic Resize takes the nearest element instead, which is another function.

use crate::draft::{Draft, Edit, NodeIndex, NodeView};
use crate::info::{Exactness, Info, Use};
use crate::node::NodeExt;
use crate::rewrite::Rewrite;

/// See the module.
pub struct ResizeNearest;

static INFO: Info = Info {
    id: "G10",
    name: "resize-nearest",
    exactness: Exactness::Lossy,
    use_: Use::Always,
    summary: "Resize or Upsample, linear or cubic -> nearest",
    condition: "Another function: the network may have to be trained again with it.",
};

impl Rewrite for ResizeNearest {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn roots(&self) -> &'static [&'static str] {
        &["Resize", "Upsample"]
    }

    fn edit(&self, draft: &Draft<'_>, at: NodeIndex) -> Option<Edit> {
        let resize = draft.node(at)?;
        let mode = resize.attributes().string("mode").unwrap_or("nearest");
        let cropped =
            resize.attributes().string("coordinate_transformation_mode") == Some("tf_crop_and_resize");
        if !["linear", "cubic"].contains(&mode) || cropped {
            return None;
        }
        if interpolates_nothing(draft, resize).unwrap_or(false) {
            return None;
        }
        let mut edit = Edit::new("nearest");
        edit.remove(resize).because(format!("mode {mode}"));
        let nearest = resize.proto.clone().text("mode", "nearest");
        let nearest = nearest.without("cubic_coeff_a").without("exclude_outside").without("antialias");
        edit.add(nearest);
        Some(edit)
    }
}

/// Whether each axis keeps its size or has a single element, so that each element is copied; `None` where the sizes
/// aren't known.
fn interpolates_nothing(draft: &Draft<'_>, resize: NodeView<'_>) -> Option<bool> {
    let (from, to) = (draft.dims(resize.input(0))?, draft.dims(resize.output(0))?);
    Some(from.len() == to.len() && from.iter().zip(&to).all(|(from, to)| from == to || *from == 1))
}

#[cfg(test)]
mod tests {
    use crate::testing::{applies_unproven, net, prove, refuses};

    fn resize(attributes: &str) -> String {
        format!("input x f32[1,2,3,3]; const s f32[4] 1 1 2 2; y = Resize(x, _, s){attributes}; output y")
    }

    #[test]
    fn linear_and_cubic_become_nearest() {
        for mode in [
            "mode=\"linear\"",
            "mode=\"cubic\" cubic_coeff_a=-0.5",
            "mode=\"linear\" coordinate_transformation_mode=\"asymmetric\"",
        ] {
            let applied = applies_unproven("G10", &resize(&format!(" {mode}")));
            let same = mode.split_once(' ').map_or("", |(_, rest)| rest).replace("cubic_coeff_a=-0.5", "");
            prove(&net(&resize(&format!(" {same}"))), &applied.model, 0.0);
        }
    }

    #[test]
    fn what_is_nearest_or_cropped_stays() {
        refuses("G10", &resize(""));
        refuses("G10", &resize(" mode=\"nearest\""));
        refuses("G10", &resize(" mode=\"linear\" coordinate_transformation_mode=\"tf_crop_and_resize\""));
    }

    #[test]
    fn copies_and_broadcasts_stay() {
        let text = |sizes: &str, scales: &str| {
            let resize = "y = Resize(x, _, s) mode=\"linear\"; output y";
            format!("input x f32[{sizes}]; const s f32[4] {scales}; {resize}")
        };
        refuses("G10", &text("1,2,3,3", "1 1 1 1"));
        refuses("G10", &text("1,2,1,1", "1 1 33 33"));
        refuses("G10", &text("1,2,1,3", "1 1 33 1"));
    }
}
