//! Headings in Chinese, as the vendor's viewer exports its tables and as its documentation calls the columns.
//!
//! The words are those of the vendor's manuals and viewer. Units stand in brackets behind them, in letters of
//! either width, as in the tables themselves.

/// Chinese words for columns, and the headings that the tools write.
const COLUMNS: [(&str, &str); 76] = [
    ("名称", "Name"),
    ("算子名称", "Op Name"),
    ("类型", "Type"),
    ("算子类型", "OP Type"),
    ("算子状态", "OP State"),
    ("任务类型", "Task Type"),
    ("核类型", "Core Type"),
    ("加速器核", "Accelerator Core"),
    ("加速核", "Accelerator Core"),
    ("开始时间", "Start Time"),
    ("任务开始时间", "Task Start Time"),
    ("时长", "Duration"),
    ("耗时", "Duration"),
    ("持续时间", "Duration"),
    ("任务耗时", "Task Duration"),
    ("任务持续时间", "Task Duration"),
    ("等待时间", "Wait Time"),
    ("任务等待时间", "Task Wait Time"),
    ("任务ID", "Task ID"),
    ("流ID", "Stream ID"),
    ("模型ID", "Model ID"),
    ("模型名称", "Model Name"),
    ("设备ID", "Device ID"),
    ("设备序号", "Device ID"),
    ("设备类型", "Device Type"),
    ("上下文ID", "Context ID"),
    ("步骤ID", "Step Id"),
    ("迭代ID", "Iteration ID"),
    ("迭代结束时间", "Iteration End"),
    ("迭代耗时", "Iteration Time"),
    ("Block数量", "Block Num"),
    ("混合Block数量", "Mix Block Num"),
    ("输入Shapes", "Input Shapes"),
    ("输入Shape", "Input Shapes"),
    ("输入形状", "Input Shapes"),
    ("输入数据类型", "Input Data Types"),
    ("输入格式", "Input Formats"),
    ("输出Shapes", "Output Shapes"),
    ("输出Shape", "Output Shapes"),
    ("输出形状", "Output Shapes"),
    ("输出数据类型", "Output Data Types"),
    ("输出格式", "Output Formats"),
    ("层级", "Level"),
    ("API名称", "API Name"),
    ("时间", "Time"),
    ("次数", "Count"),
    ("数量", "Count"),
    ("总耗时", "Total Time"),
    ("总时间", "Total Time"),
    ("平均耗时", "Avg Time"),
    ("平均时间", "Avg Time"),
    ("最大耗时", "Max Time"),
    ("最大时间", "Max Time"),
    ("最小耗时", "Min Time"),
    ("最小时间", "Min Time"),
    ("平均值", "Avg"),
    ("最大值", "Max"),
    ("最小值", "Min"),
    ("方差", "Variance"),
    ("占比", "Ratio"),
    ("组件", "Component"),
    ("时间戳", "Timestamp"),
    ("大小", "Size"),
    ("设备", "Device"),
    ("分配时间", "Allocation Time"),
    ("释放时间", "Release Time"),
    ("总分配内存", "Total Allocated"),
    ("总保留内存", "Total Reserved"),
    ("总持有内存", "Total Active"),
    ("图序号", "Graph ID"),
    ("节点索引开始", "Node Index Start"),
    ("节点索引结束", "Node Index End"),
    ("命中率", "Hit Rate"),
    ("淘汰率", "Victim Rate"),
    ("计算时间", "Computing"),
    ("空闲时间", "Free"),
];

/// Headings that have more than a unit in brackets.
const WITH_BRACKETS: [(&str, &str); 2] =
    [("通信时间(未被覆盖)", "Communication(Not Overlapped)"), ("通信时间(被覆盖)", "Overlapped")];

/// Chinese words for units, and letters of other keyboards.
const UNITS: [(&str, &str); 7] = [
    ("微秒", "us"),
    ("μs", "us"),
    ("µs", "us"),
    ("毫秒", "ms"),
    ("纳秒", "ns"),
    ("千字节", "KB"),
    ("兆字节", "MB"),
];

/// The heading that the tools write for a column; other headings stay as they are.
pub(super) fn heading(written: &str) -> String {
    if written.is_ascii() {
        return written.to_owned();
    }
    let narrow: String = written.chars().map(narrow).collect();
    let look_up = |words: &[(&str, &str)], word: &str| {
        words.iter().find(|(known, _)| *known == word).map(|(_, heading)| (*heading).to_owned())
    };
    let spaceless: String = narrow.split_whitespace().collect();
    if let Some(heading) = look_up(&WITH_BRACKETS, &spaceless).or_else(|| look_up(&COLUMNS, &spaceless)) {
        return heading;
    }
    let Some((name, unit)) = narrow.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) else {
        return narrow;
    };
    let spaceless: String = name.split_whitespace().collect();
    let name = look_up(&COLUMNS, &spaceless).unwrap_or_else(|| name.trim_end().to_owned());
    let unit = look_up(&UNITS, unit.trim()).unwrap_or_else(|| unit.trim().to_owned());
    format!("{name}({unit})")
}

/// A letter in the width of ASCII, where it has one.
fn narrow(letter: char) -> char {
    match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
        '\u{3000}' => ' ',
        letter => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_units_and_brackets_of_either_width_are_those_of_the_tools() {
        for (written, expected) in [
            ("任务开始时间(us)", "Task Start Time(us)"),
            ("任务耗时（微秒）", "Task Duration(us)"),
            ("时长 (μs)", "Duration(us)"),
            ("算子名称", "Op Name"),
            ("大小（KB）", "Size(KB)"),
            ("通信时间（未被覆盖）", "Communication(Not Overlapped)"),
            ("Task Duration（us）", "Task Duration(us)"),
            ("aic_mac_ratio", "aic_mac_ratio"),
            ("别的(us)", "别的(us)"),
        ] {
            assert_eq!(heading(written), expected);
        }
    }

    #[test]
    fn no_word_is_listed_twice() {
        let mut words: Vec<_> = COLUMNS.iter().map(|(word, _)| word).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), COLUMNS.len());
    }
}
