//! How tensors are written in tables: names of element types and memory layouts, and shapes.

use opscope_cann_raw::additional::Tensor;

use crate::tables::TensorSets;

/// Element types by their number.
const DATA_TYPES: [&str; 43] = [
    "FLOAT",
    "FLOAT16",
    "INT8",
    "INT32",
    "UINT8",
    "",
    "INT16",
    "UINT16",
    "UINT32",
    "INT64",
    "UINT64",
    "DOUBLE",
    "BOOL",
    "STRING",
    "DUAL_SUB_INT8",
    "DUAL_SUB_UINT8",
    "COMPLEX64",
    "COMPLEX128",
    "QINT8",
    "QINT16",
    "QINT32",
    "QUINT8",
    "QUINT16",
    "RESOURCE",
    "STRING_REF",
    "DUAL",
    "DT_VARIANT",
    "DT_BF16",
    "DT_UNDEFINED",
    "DT_INT4",
    "DT_UINT1",
    "DT_INT2",
    "DT_UINT2",
    "DT_COMPLEX32",
    "DT_HIFLOAT8",
    "DT_FLOAT8_E5M2",
    "DT_FLOAT8_E4M3FN",
    "DT_FLOAT8_E8M0",
    "DT_FLOAT6_E3M2",
    "DT_FLOAT6_E2M3",
    "DT_FLOAT4_E2M1",
    "DT_FLOAT4_E1M2",
    "DT_MAX",
];

/// Element types of MindSpore, from number 229 on.
const MINDSPORE_DATA_TYPES: [&str; 18] = [
    "NUMBER_TYPE_BEGIN_",
    "BOOL_",
    "INT_",
    "INT8_",
    "INT16_",
    "INT32_",
    "INT64_",
    "UINT_",
    "UINT8_",
    "UINT16_",
    "UINT32_",
    "UINT64_",
    "FLOAT_",
    "FLOAT16_",
    "FLOAT32_",
    "FLOAT64_",
    "COMPLEX_",
    "NUMBER_TYPE_END_",
];

/// Memory layouts by their number.
const FORMATS: [&str; 56] = [
    "NCHW",
    "NHWC",
    "ND",
    "NC1HWC0",
    "FRACTAL_Z",
    "NC1C0HWPAD",
    "NHWC1C0",
    "FSR_NCHW",
    "FRACTAL_DECONV",
    "C1HWNC0",
    "FRACTAL_DECONV_TRANSPOSE",
    "FRACTAL_DECONV_SP_STRIDE_TRANS",
    "NC1HWC0_C04",
    "FRACTAL_Z_C04",
    "CHWN",
    "FRACTAL_DECONV_SP_STRIDE8_TRANS",
    "HWCN",
    "NC1KHKWHWC0",
    "BN_WEIGHT",
    "FILTER_HWCK",
    "HASHTABLE_LOOKUP_LOOKUPS",
    "HASHTABLE_LOOKUP_KEYS",
    "HASHTABLE_LOOKUP_VALUE",
    "HASHTABLE_LOOKUP_OUTPUT",
    "HASHTABLE_LOOKUP_HITS",
    "C1HWNCoC0",
    "MD",
    "NDHWC",
    "FRACTAL_ZZ",
    "FRACTAL_NZ",
    "NCDHW",
    "DHWCN",
    "NDC1HWC0",
    "FRACTAL_Z_3D",
    "CN",
    "NC",
    "DHWNC",
    "FRACTAL_Z_3D_TRANSPOSE",
    "FRACTAL_ZN_LSTM",
    "FRACTAL_Z_G",
    "RESERVED",
    "ALL",
    "NULL",
    "ND_RNN_BIAS",
    "FRACTAL_ZN_RNN",
    "END",
    "",
    "NCL",
    "FRACTAL_Z_WINO",
    "C1HWC0",
    "FRACTAL_NZ_C0_16",
    "FRACTAL_NZ_C0_32",
    "FRACTAL_NZ_C0_2",
    "FRACTAL_NZ_C0_4",
    "FRACTAL_NZ_C0_8",
    "END",
];

/// Memory layouts of MindSpore, from number 200 on.
const MINDSPORE_FORMATS: [&str; 22] = [
    "UNKNOWN_",
    "DEFAULT_",
    "NC1KHKWHWC0_",
    "ND_",
    "NCHW_",
    "NHWC_",
    "HWCN_",
    "NC1HWC0_",
    "FRAC_Z_",
    "C1HWNCOC0_",
    "FRAC_NZ_",
    "NC1HWC0_C04_",
    "FRACTAL_Z_C04_",
    "NDHWC_",
    "FRACTAL_ZN_LSTM_",
    "FRACTAL_ZN_RNN_",
    "ND_RNN_BIAS_",
    "NDC1HWC0_",
    "NCDHW_",
    "FRACTAL_Z_3D_",
    "DHWNC_",
    "DHWCN_",
];

/// The name of an element type; the number itself if it has none.
pub fn data_type(number: u32) -> String {
    match number {
        u32::MAX => "UNDEFINED".to_owned(),
        229.. => name_at(&MINDSPORE_DATA_TYPES, number - 229).unwrap_or_else(|| number.to_string()),
        _ => name_at(&DATA_TYPES, number).unwrap_or_else(|| number.to_string()),
    }
}

/// The name at a place of a list, in which places without one are empty.
fn name_at(names: &[&str], place: u32) -> Option<String> {
    names.get(place as usize).filter(|name| !name.is_empty()).map(|name| (*name).to_owned())
}

/// The name of a memory layout, with its sub-layout if it has one.
pub fn format(number: u32) -> String {
    if number == u32::MAX {
        return "UNDEFINED".to_owned();
    }
    let (base, sub) = (number & 0xFF, number >> 8 & 0xFFFF);
    let name = match base {
        0xFF => "MAX".to_owned(),
        200.. => name_at(&MINDSPORE_FORMATS, base - 200).unwrap_or_else(|| base.to_string()),
        _ => name_at(&FORMATS, base).unwrap_or_else(|| base.to_string()),
    };
    if sub == 0 { name } else { format!("{name}:{sub}") }
}

/// The six texts of an operator's tensors; `N/A` where there is no tensor of that direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorTexts {
    /// Shapes of the inputs: dimensions joined by commas, tensors by semicolons, in quotes.
    pub input_shapes: String,
    /// Element types of the inputs.
    pub input_data_types: String,
    /// Memory layouts of the inputs.
    pub input_formats: String,
    /// Shapes of the outputs.
    pub output_shapes: String,
    /// Element types of the outputs.
    pub output_data_types: String,
    /// Memory layouts of the outputs.
    pub output_formats: String,
}

impl TensorTexts {
    /// The texts where no tensors are known.
    pub fn unknown() -> Self {
        Self::new(&[])
    }

    /// The texts of a combination of tensors.
    pub fn new(tensors: &[Tensor]) -> Self {
        let [input, output] = [0, 1].map(|direction| {
            let of: Vec<&Tensor> = tensors.iter().filter(|tensor| tensor.direction == direction).collect();
            if of.is_empty() {
                return [0; 3].map(|_| "N/A".to_owned());
            }
            let join =
                |text: &dyn Fn(&Tensor) -> String| of.iter().map(|t| text(t)).collect::<Vec<_>>().join(";");
            [format!("\"{}\"", join(&shape)), join(&|t| data_type(t.data_type)), join(&|t| format(t.format))]
        });
        let [input_shapes, input_data_types, input_formats] = input;
        let [output_shapes, output_data_types, output_formats] = output;
        Self {
            input_shapes,
            input_data_types,
            input_formats,
            output_shapes,
            output_data_types,
            output_formats,
        }
    }

    /// The texts of all combinations.
    pub fn of_all(sets: &TensorSets) -> Vec<Self> {
        sets.all().map(Self::new).collect()
    }
}

/// The dimensions of a tensor; unused ones are 0.
fn shape(tensor: &Tensor) -> String {
    let used = tensor.shape.iter().filter(|dimension| **dimension != 0).map(u32::to_string);
    used.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_names_and_unknown_ones_stay_numbers() {
        assert_eq!(data_type(27), "DT_BF16");
        assert_eq!(data_type(5), "5");
        assert_eq!(data_type(242), "FLOAT16_");
        assert_eq!(data_type(228), "228");
        assert_eq!(format(46), "46");
        assert_eq!(data_type(99), "99");
        assert_eq!(data_type(u32::MAX), "UNDEFINED");
        assert_eq!(format(29), "FRACTAL_NZ");
        assert_eq!(format(4 | 16 << 8), "FRACTAL_Z:16");
        assert_eq!(format(204), "NCHW_");
        assert_eq!(format(130), "130");
        assert_eq!(format(u32::MAX), "UNDEFINED");
    }

    #[test]
    fn scalars_leave_an_empty_place_among_the_shapes() {
        let tensor = |direction, shape: [u32; 8]| Tensor { direction, format: 2, data_type: 0, shape };
        let texts = TensorTexts::new(&[tensor(0, [1, 3, 0, 0, 0, 0, 0, 0]), tensor(0, [0; 8])]);
        assert_eq!(texts.input_shapes, "\"1,3;\"");
        assert_eq!(texts.input_formats, "ND;ND");
        assert_eq!(texts.output_shapes, "N/A");
    }
}
