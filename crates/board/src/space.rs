//! The space that is left on the board.

use crate::connection::Connection;
use crate::remote::quoted;

/// Below this, the board's profiler may lose data: the vendor's own tools stop at 20 MB.
pub(crate) const LITTLE_SPACE: u64 = 20 << 20;

/// The bytes that are left where a folder is, as the board's server tells; or its `df`, because only
/// OpenSSH's server does.
pub(crate) async fn free_space(connection: &Connection, folder: &str) -> Option<u64> {
    if let Ok(Some(found)) = connection.sftp.fs_info(folder).await {
        return Some(found.blocks_avail.saturating_mul(found.fragment_size.max(1)));
    }
    let answer = connection.ask(&format!("df -Pk {}", quoted(folder))).await.ok()??;
    kilobytes_left(&answer).map(|kilobytes| kilobytes.saturating_mul(1024))
}

/// The fourth figure of the last line; the first word may hold spaces.
fn kilobytes_left(df: &str) -> Option<u64> {
    let words: Vec<&str> = df.lines().last()?.split_whitespace().collect();
    let percent = words.iter().position(|word| word.ends_with('%') && word.len() > 1)?;
    words.get(percent.checked_sub(1)?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_space_that_df_names_is_read() {
        let answer = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
                      192.168.1.2:/srv/my data 1000 200 800 20% /root/my files 100%";
        assert_eq!(kilobytes_left(answer), Some(800));
        assert_eq!(kilobytes_left("df: /x: can't find mount point"), None);
        assert_eq!(kilobytes_left(""), None);
    }
}
