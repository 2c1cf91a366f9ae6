//! How an enum is declared together with the words for its variants.

/// Declares an enum each of whose variants has a word for tables and files, readable in both
/// directions.
///
/// ```
/// opscope_trace::words! {
///     /// A direction.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Direction {
///         /// To the device.
///         Up = "host-to-device",
///         /// To the host.
///         Down = "device-to-host",
///     }
/// }
/// assert_eq!(Direction::ALL.map(Direction::name), ["host-to-device", "device-to-host"]);
/// assert_eq!(Direction::from_name("host-to-device"), Some(Direction::Up));
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$enum_attribute:meta])* pub enum $name:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$enum_attribute])*
        pub enum $name {
            $($(#[$variant_attribute])* $variant,)+
        }

        impl $name {
            /// All variants, in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// A word for tables and files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The variant that a word stands for.
            pub fn from_name(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{ApiLevel, Attribution, DeviceKind, ExecutionUnit, RangeKind};

    #[test]
    fn every_word_leads_back_to_its_variant() {
        assert!(ApiLevel::ALL.iter().all(|level| ApiLevel::from_name(level.name()) == Some(*level)));
        assert!(ExecutionUnit::ALL.iter().all(|unit| ExecutionUnit::from_name(unit.name()) == Some(*unit)));
        assert_eq!(Attribution::from_name("fused"), Some(Attribution::Fused));
        assert_eq!(DeviceKind::from_name("npu"), Some(DeviceKind::Npu));
        assert_eq!(RangeKind::ALL.len(), 3);
        assert_eq!(RangeKind::from_name("Mark"), None);
    }
}
