//! How the user writes what an input is fed with.

use std::path::PathBuf;
use std::str::FromStr;

use super::number::is_number;

/// A wish for one input: `NAME=SHAPE`, `NAME=FILE.npy`, `NAME=random|zeros|ones[:SHAPE]` or
/// `NAME=NUMBER`; the name may be left out where the model has a single input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSpec {
    /// The input's name, if it was given.
    pub name: Option<String>,
    /// Where the values come from.
    pub source: Source,
    /// The text that the user wrote behind the name.
    pub text: String,
}

/// Where an input's values come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A `.npy` file.
    File(PathBuf),
    /// Made up, in the given shape or in the declared one.
    Fill {
        /// With which values.
        fill: Fill,
        /// In which shape; `None` is the declared one.
        shape: Option<Vec<usize>>,
    },
    /// A single number. It is the value where the input holds a single element, else the size of the
    /// only dimension.
    Number(String),
}

/// Values that are made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Seeded random values that suit the element type.
    Random,
    /// All zero.
    Zeros,
    /// All one.
    Ones,
}

/// Why a wish can't be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is neither a shape (such as 1x3x224x224 or scalar), nor a .npy file, nor a number for a scalar, \
     nor random, zeros or ones with or without :SHAPE"
)]
pub struct SpecError(String);

impl FromStr for InputSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        // A name may contain '=', a shape can't, and a path hardly does: the last one parts them.
        let (name, value) = match text.rsplit_once('=') {
            Some((name, value)) => (Some(name.to_owned()), value),
            None => (None, text),
        };
        Ok(Self { name, source: value.parse()?, text: value.to_owned() })
    }
}

impl FromStr for Source {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text.to_ascii_lowercase().ends_with(".npy") {
            return Ok(Self::File(PathBuf::from(text)));
        }
        if is_number(text) {
            return Ok(Self::Number(text.to_owned()));
        }
        let (fill, shape) = match text.split_once(':') {
            Some((fill, shape)) => (fill, Some(shape)),
            None => (text, None),
        };
        let fill = match fill {
            "random" => Fill::Random,
            "zeros" => Fill::Zeros,
            "ones" => Fill::Ones,
            _ if shape.is_none() => {
                let shape = parse_shape(text).ok_or_else(|| SpecError(text.to_owned()))?;
                return Ok(Self::Fill { fill: Fill::Random, shape: Some(shape) });
            }
            _ => return Err(SpecError(text.to_owned())),
        };
        let shape =
            shape.map(|shape| parse_shape(shape).ok_or_else(|| SpecError(text.to_owned()))).transpose()?;
        Ok(Self::Fill { fill, shape })
    }
}

/// Reads `1x3x224x224`, `1,3,224,224`, `[1, 3]`, `{1,3}` or `scalar`.
fn parse_shape(text: &str) -> Option<Vec<usize>> {
    if text == "scalar" {
        return Some(Vec::new());
    }
    let inner = text.trim_matches(['[', ']', '(', ')', '{', '}']);
    inner.split(['x', ',']).map(|size| size.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        text.parse::<InputSpec>().unwrap().source
    }

    #[test]
    fn a_shape_is_read_in_every_usual_spelling() {
        for text in ["x=1x3x8", "x=1,3,8", "x=[1, 3, 8]", "1x3x8"] {
            assert_eq!(source(text), Source::Fill { fill: Fill::Random, shape: Some(vec![1, 3, 8]) });
        }
        assert_eq!(source("x=scalar"), Source::Fill { fill: Fill::Random, shape: Some(vec![]) });
    }

    #[test]
    fn files_and_fillings_are_told_apart() {
        assert_eq!(source("image=data/photo.NPY"), Source::File("data/photo.NPY".into()));
        assert_eq!(source("x=zeros"), Source::Fill { fill: Fill::Zeros, shape: None });
        assert_eq!(source("x=ones:2x2"), Source::Fill { fill: Fill::Ones, shape: Some(vec![2, 2]) });
    }

    #[test]
    fn a_single_number_is_a_value_or_a_size_as_the_model_will_tell() {
        for text in ["16000", "-1", "0.5", "1e-3", "true"] {
            assert_eq!(source(&format!("sr={text}")), Source::Number(text.to_owned()));
        }
        assert_eq!(source("x=[7]"), Source::Fill { fill: Fill::Random, shape: Some(vec![7]) });
    }

    #[test]
    fn names_may_hold_colons_and_equal_signs() {
        let spec: InputSpec = "input:0=random:1x2".parse().unwrap();
        assert_eq!(spec.name.as_deref(), Some("input:0"));
        let spec: InputSpec = "a=b=1x2".parse().unwrap();
        assert_eq!(spec.name.as_deref(), Some("a=b"));
    }

    #[test]
    fn nonsense_is_refused_with_the_ways_to_write_it() {
        for text in ["x=big", "x=1x-3", "x=noise:1x3", "x=zeros:wide", "x="] {
            let error = text.parse::<InputSpec>().unwrap_err().to_string();
            assert!(error.contains(".npy"), "{error}");
        }
    }
}
