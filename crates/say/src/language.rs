//! Languages, and those of locales.

/// A language that the program speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Chinese in simplified characters.
    Chinese,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// Its code, as `--lang` takes it.
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// The language of a code.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.code().eq_ignore_ascii_case(code))
    }

    /// The language of a locale such as `zh_CN.UTF-8`. Others than those that write simplified characters are
    /// spoken to in English.
    pub fn of_locale(locale: &str) -> Self {
        let name = locale.split(['.', '@']).next().unwrap_or_default().to_lowercase().replace('-', "_");
        match &*name {
            "zh" | "zh_cn" | "zh_sg" | "zh_hans" | "zh_hans_cn" | "zh_hans_sg" => Self::Chinese,
            _ => Self::English,
        }
    }
}

/// The language that the environment asks for: `OPSCOPE_LANG`, else the locale of messages, which is that of the
/// first of `LC_ALL`, `LC_MESSAGES` and `LANG` that says something.
///
/// # Errors
/// With the value of `OPSCOPE_LANG` where it is none of the languages' codes nor a locale of theirs.
pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Language, String> {
    let told = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(wish) = told("OPSCOPE_LANG") {
        let is_english = wish.len() > 2 && wish.to_lowercase().starts_with("en_");
        return match (Language::of_code(&wish), Language::of_locale(&wish)) {
            (Some(language), _) => Ok(language),
            (None, Language::Chinese) => Ok(Language::Chinese),
            (None, Language::English) if is_english => Ok(Language::English),
            (None, Language::English) => Err(wish),
        };
    }
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(told);
    Ok(locale.map_or(Language::English, |locale| Language::of_locale(&locale)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_that_write_simplified_characters_are_chinese_and_all_others_english() {
        for locale in ["zh_CN.UTF-8", "zh_CN", "zh.UTF-8", "zh", "zh_SG.utf8", "zh-Hans", "zh_CN.GB18030@x"] {
            assert_eq!(Language::of_locale(locale), Language::Chinese, "{locale}");
        }
        for locale in ["", "C", "POSIX", "C.UTF-8", "en_US.UTF-8", "zh_TW.UTF-8", "zha", "de_DE", "垃圾", "."]
        {
            assert_eq!(Language::of_locale(locale), Language::English, "{locale}");
        }
    }

    #[test]
    fn the_own_variable_goes_before_the_locale_and_the_first_of_the_locales_that_says_something_counts() {
        let of = |all: &[(&str, &str)]| {
            let all: Vec<(String, String)> =
                all.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
            of_environment(move |name| {
                all.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            })
        };
        assert_eq!(of(&[]), Ok(Language::English));
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8")]), Ok(Language::Chinese));
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "C")]), Ok(Language::English));
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "")]), Ok(Language::Chinese));
        assert_eq!(of(&[("LANG", "en_US.UTF-8"), ("LC_MESSAGES", "zh_CN")]), Ok(Language::Chinese));
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8"), ("OPSCOPE_LANG", "en")]), Ok(Language::English));
        assert_eq!(of(&[("OPSCOPE_LANG", "zh_CN.UTF-8")]), Ok(Language::Chinese));
        assert_eq!(of(&[("OPSCOPE_LANG", "en_GB")]), Ok(Language::English));
        assert_eq!(of(&[("LANG", "zh_CN"), ("OPSCOPE_LANG", "zn")]), Err("zn".to_owned()));
    }
}
