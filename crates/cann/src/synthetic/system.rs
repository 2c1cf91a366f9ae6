//! Samples of the processors and the memory of the host and of devices, as the collector
//! copies it from `/proc`.

use std::fmt::Write;
use std::io;
use std::path::Path;

use crate::synthetic::hardware::{INTERVAL, save};

/// The process that has the program's number, and another.
const PROCESSES: [(u32, &str); 2] = [(4_242, "sample_infer"), (77, "slog daemon")];

/// Writes the files of a device, or of the host where there is no number.
pub(super) fn write(directory: &Path, device: Option<usize>, samples: u64) -> io::Result<()> {
    let (memory, processors, suffix) = match device {
        Some(number) => ("Memory.data", "SystemCpuUsage.data", format!(".{number}")),
        None => ("host_sys_mem.data", "host_sys_cpu.data", String::new()),
    };
    let block = |text: &mut String, k: u64, content: &str| {
        // Writing to a string can't fail.
        let (time, length) = (5_000 + k * INTERVAL, content.len());
        let _ = write!(text, "TimeStamp:{time}\nIndex:{k}\nDataLen:{length}\n{content}\n");
    };
    let (mut of_memory, mut of_processors) = (String::new(), String::new());
    for k in 0..samples {
        let free = 30_000_000 - 1_001 * k;
        let content = format!(
            "MemTotal:       32000000 kB\nMemFree:        {free} kB\nMemAvailable:   31000000 kB\n\
             Buffers:          {} kB\nCached:           {} kB\nSwapCached:            0 kB\n\
             Shmem:            {} kB\nCommitLimit:    16000000 kB\nCommitted_AS:   {} kB\n\
             HugePages_Total:     {}\nHugePages_Free:      7\n",
            100 + k,
            2_000 + k,
            30 + k,
            4_000_000 + k,
            15 + k,
        );
        block(&mut of_memory, k, &content);
        let mut content = String::new();
        for processor in ["", "0", "1", "2", "3"] {
            let factor = if processor.is_empty() { 4 } else { 1 };
            let jiffies =
                [7, 1, 3, 80, 2, 1, 4, 0, 0, 0].map(|jiffies| (jiffies * (k + 10) * factor).to_string());
            let _ = writeln!(content, "cpu{processor} {}", jiffies.join(" "));
        }
        block(&mut of_processors, k, &content);
    }
    save(directory, &format!("{memory}{suffix}"), &of_memory)?;
    save(directory, &format!("{processors}{suffix}"), &of_processors)?;
    for (process, name) in PROCESSES {
        let number = u64::from(process);
        let (mut of_memory, mut of_time) = (String::new(), String::new());
        for k in 0..samples {
            let content = format!("{} {} {} 5 0 6 0\nProcessName:{name}\n", number + k, 100 + 3 * k, 20 + k);
            block(&mut of_memory, k, &content);
            let zeros = "0 ".repeat(10);
            let content = format!(
                "{process} ({name}) S {zeros}{} {} {k} 1 20 0 1 0\nProcessName:{name}\ncpu  {} 0 {} {} 0 0 0 0 0 0\n",
                number / 7 + k,
                number / 9 + k,
                1_000 + 5 * k,
                500 + k,
                9_000 + 10 * k,
            );
            block(&mut of_time, k, &content);
        }
        save(directory, &format!("{process}-Memory.data{suffix}"), &of_memory)?;
        save(directory, &format!("{process}-CpuUsage.data{suffix}"), &of_time)?;
    }
    Ok(())
}
