//! The orders of a tensor's axes: the file's, with channels last, and those of ONNX's operators.

/// An order of axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Order {
    /// As the file has them: an image has its channels last (`NHWC`), a filter is `OHWI`.
    File,
    /// Channels before the places of an image: `NCHW`, and `OIHW` of a filter.
    Image,
    /// The last axis in front of all others: a depthwise filter `1HWO` as `O1HW`, a transposed one `OHWI` as `IOHW`.
    Kernel,
    /// A filter of volumes `DHWIO` as `OIDHW`.
    Volume,
}

impl Order {
    /// The file's axes in this order.
    pub fn axes(self, rank: usize) -> Vec<usize> {
        match (self, rank) {
            (Self::File, _) | (_, 0 | 1) => (0..rank).collect(),
            (Self::Image, _) => [0, rank - 1].into_iter().chain(1..rank - 1).collect(),
            (Self::Kernel, _) | (Self::Volume, 2) => std::iter::once(rank - 1).chain(0..rank - 1).collect(),
            (Self::Volume, _) => [rank - 1, rank - 2].into_iter().chain(0..rank - 2).collect(),
        }
    }

    /// The ending of a value's name in this order, where another one has the name itself.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::File => ":nhwc",
            Self::Image => ":nchw",
            Self::Kernel => ":ohw",
            Self::Volume => ":oidhw",
        }
    }

    /// Where an axis of the file lies in this order.
    pub fn place_of(self, axis: usize, rank: usize) -> usize {
        self.axes(rank).iter().position(|known| *known == axis).unwrap_or(axis)
    }

    /// Sizes in this order.
    pub fn sizes(self, dims: &[i64]) -> Vec<i64> {
        self.axes(dims.len()).into_iter().map(|axis| dims[axis]).collect()
    }

    /// Whether elements lie in memory as they do in the file: no two axes of more than one element change places.
    pub fn keeps_data(self, dims: &[i64]) -> bool {
        self.axes(dims.len()).into_iter().filter(|axis| dims[*axis] != 1).is_sorted()
    }

    /// Whether the axes that are left are in the file's order when some are dropped.
    pub fn is_sorted_without(self, dropped: &[usize], rank: usize) -> bool {
        self.axes(rank).into_iter().filter(|axis| !dropped.contains(axis)).is_sorted()
    }

    /// The permutation that makes this order of another one.
    pub fn from(self, other: Self, rank: usize) -> Vec<i64> {
        self.axes(rank).into_iter().map(|axis| other.place_of(axis, rank) as i64).collect()
    }
}

/// An axis that may be counted from the end.
pub(super) fn axis(stated: i64, rank: usize) -> Option<usize> {
    let counted = if stated < 0 { stated.checked_add(i64::try_from(rank).ok()?)? } else { stated };
    usize::try_from(counted).ok().filter(|axis| *axis < rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_go_to_their_places_and_back() {
        assert_eq!(Order::Image.sizes(&[1, 8, 9, 3]), [1, 3, 8, 9]);
        assert_eq!(Order::Kernel.sizes(&[1, 3, 3, 16]), [16, 1, 3, 3]);
        assert_eq!(Order::Volume.sizes(&[2, 3, 4, 5, 6]), [6, 5, 2, 3, 4]);
        assert_eq!(Order::Image.from(Order::File, 4), [0, 3, 1, 2]);
        assert_eq!(Order::File.from(Order::Image, 4), [0, 2, 3, 1]);
        assert_eq!(Order::File.from(Order::Image, 5), [0, 2, 3, 4, 1]);
        assert_eq!((Order::Image.place_of(3, 4), Order::Image.place_of(1, 4)), (1, 2));
    }

    #[test]
    fn data_keep_their_places_where_only_single_elements_move() {
        assert!(Order::Image.keeps_data(&[1, 1, 1, 64]) && Order::Image.keeps_data(&[1, 8, 8, 1]));
        assert!(!Order::Image.keeps_data(&[1, 8, 1, 3]));
        assert!(Order::Image.is_sorted_without(&[1, 2], 4) && Order::Image.is_sorted_without(&[3], 4));
        assert!(!Order::Image.is_sorted_without(&[1], 4));
    }

    #[test]
    fn axes_count_from_either_end() {
        assert_eq!(
            [axis(-1, 4), axis(3, 4), axis(4, 4), axis(-5, 4), axis(i64::MIN, 4)],
            [Some(3), Some(3), None, None, None]
        );
    }
}
