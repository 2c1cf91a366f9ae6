//! Pages about how the processors work on which models run: their units, their memories, fusion.
//!
//! Facts: Huawei's article on tuning models for the Ascend 310 (2020), CANN's guide to ATC, and the
//! sizes of CANN's graph engine and `platform_config`.

/// A page about a subject, in English and Chinese.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic {
    /// A short name.
    pub name: &'static str,
    /// Other words under which it is found.
    pub words: &'static [&'static str],
    /// Its subject, in a line.
    pub title: &'static str,
    /// The same in Chinese.
    pub title_zh: &'static str,
    /// The page.
    pub text: &'static str,
    /// The page in Chinese.
    pub text_zh: &'static str,
}

macro_rules! topic {
    ($name:literal, $words:expr, $title:literal, $title_zh:literal) => {
        Topic {
            name: $name,
            words: $words,
            title: $title,
            title_zh: $title_zh,
            text: include_str!(concat!("topics/", $name, ".en.txt")),
            text_zh: include_str!(concat!("topics/", $name, ".zh.txt")),
        }
    };
}

/// All pages about subjects.
pub const TOPICS: &[Topic] = &[
    topic!(
        "units",
        &[
            "cube", "vector", "scalar", "dvpp", "ai-core", "aicore", "ai-cpu", "aicpu", "ctrl-cpu",
            "ctrlcpu", "单元"
        ],
        "What Cube, Vector, Scalar, DVPP, AI CPU and Ctrl CPU do",
        "Cube、Vector、Scalar、DVPP、AI CPU、Ctrl CPU 各做什么"
    ),
    topic!(
        "memory",
        &["ub", "l0", "l0a", "l0b", "l0c", "l1", "l2", "ddr", "hbm", "unified-buffer", "mte", "内存"],
        "UB, L0, L1, L2 and DDR: where data lie and how they move",
        "UB、L0、L1、L2、DDR:数据放在哪里、怎么搬运"
    ),
    topic!(
        "operators",
        &["operator", "operator-types", "activations", "算子"],
        "Which operators run on which unit",
        "哪些算子在哪个单元执行"
    ),
    topic!(
        "aipp",
        &["preprocessing", "insert_op_conf", "预处理"],
        "AIPP: preparing pictures on the AI Core",
        "AIPP:在 AI Core 上做图像预处理"
    ),
    topic!(
        "fusion",
        &["fusion-switch", "fusion_switch_file", "fusion_result", "融合"],
        "Fusion: three kinds, and how to see whether it happened",
        "融合的三种方式,以及如何查看是否生效"
    ),
    topic!(
        "graph-fusion",
        &["graphfusion", "图融合"],
        "Graph fusion: the converter rewrites the graph",
        "图融合:转换器改图"
    ),
    topic!(
        "ub-fusion",
        &["ubfusion", "ub融合"],
        "UB fusion: results stay in the Unified Buffer; its limits",
        "UB 融合:结果留在统一缓冲区;各类限制"
    ),
    topic!(
        "l2-fusion",
        &["l2fusion", "buffer_optimize", "l2融合"],
        "L2 fusion: results go through L2, and batches are split for it",
        "L2 融合:数据经 L2 传递,batch 随之拆分"
    ),
];

/// The page about a subject, by its name or one of its words; blanks count as hyphens.
pub fn topic(word: &str) -> Option<&'static Topic> {
    let word = word.trim().to_lowercase().replace(char::is_whitespace, "-");
    TOPICS.iter().find(|topic| topic.name == word || topic.words.contains(&&*word))
}

/// The page about a quantity that the vendor's counters measure, by its name in tables such as `aic_mac_ratio`: about
/// the unit that was busy, or the memory that moved the bytes.
pub fn of_metric(name: &str) -> Option<&'static Topic> {
    const MEMORY: [&str; 9] = ["mte", "ub", "l0", "l1", "l2", "ddr", "hbm", "mem", "fixpipe"];
    const UNITS: [&str; 5] = ["mac", "cube", "vec", "scalar", "aicpu"];
    let name = name.to_lowercase();
    let is_of = |words: &[&str]| name.split('_').any(|part| words.iter().any(|word| part.starts_with(word)));
    let page = if is_of(&MEMORY) {
        "memory"
    } else if is_of(&UNITS) {
        "units"
    } else {
        return None;
    };
    TOPICS.iter().find(|topic| topic.name == page)
}

#[cfg(test)]
mod tests {
    use super::super::{PAGES, page};
    use super::*;

    #[test]
    fn names_of_counters_lead_to_what_they_measure() {
        let page = |name| of_metric(name).map(|topic| topic.name);
        for name in ["aic_mac_ratio", "vec_ratio", "scalar_time", "cube_fops", "aiv_vec_exe_ratio"] {
            assert_eq!(page(name), Some("units"), "{name}");
        }
        for name in
            ["mte2_ratio", "aic_mte3_time", "ub_read_bw", "l0a_write_bw", "main_mem_read_bw", "l2_cache_hit"]
        {
            assert_eq!(page(name), Some("memory"), "{name}");
        }
        for name in ["total_cycles", "icache_miss_rate", "block_dim", ""] {
            assert_eq!(page(name), None, "{name}");
        }
    }

    #[test]
    fn every_word_leads_to_its_page_and_to_no_other() {
        let mut words: Vec<&str> =
            TOPICS.iter().flat_map(|topic| topic.words.iter().chain([&topic.name])).copied().collect();
        for word in &words {
            assert!(topic(&word.to_uppercase()).is_some(), "{word}");
        }
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
        assert_eq!(topic("AI CPU").map(|topic| topic.name), Some("units"));
    }

    #[test]
    fn pages_refer_only_to_pages_that_there_are_and_fit_the_screen() {
        let topics = TOPICS.iter().map(|it| (it.name, it.text, it.text_zh));
        let pages = PAGES.iter().map(|it| (it.name, it.text, it.text_zh));
        for (name, english, chinese) in topics.chain(pages) {
            for text in [english, chinese] {
                for (_, rest) in text.match_indices("opscope explain ").map(|(at, _)| text.split_at(at)) {
                    let word = rest["opscope explain ".len()..]
                        .split([' ', '\n', ',', '。', ',', '.', ';', ':'])
                        .next();
                    assert!(
                        word.is_some_and(|word| topic(word).is_some() || page(word).is_some()),
                        "{name}: {word:?}"
                    );
                }
                assert!(text.lines().all(|line| line.chars().count() <= 120), "{name}");
            }
            assert!(chinese.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter)));
        }
    }
}
