//! A lock on the board: it takes one collection at a time, whoever's it is.
//!
//! Every user has a folder of its own below `/tmp` (or at home, where `/tmp` can't be written), so
//! that what one left behind is never in another's way. A lock holds while the program runs that it names, or the connection is there
//! that took it; both are told by their process numbers.

use crate::connection::Connection;
use crate::error::Error;
use crate::remote::{join, quoted};

const PREFIX: &str = "/tmp/opscope-collection-";

/// Says which lock holds, if any; otherwise takes the user's own.
const TAKE: &str = r#"alive() { [ -n "$1" ] && { [ -d "/proc/$1" ] || kill -0 "$1" 2>/dev/null; }; }
base=PREFIX
[ -w /tmp ] || base=$HOME/.opscope-collection-
own=$base$(id -u)
for lock in "$base"*; do
    for file in "$lock/pid" "$lock/session"; do
        [ -f "$file" ] || continue
        alive "$(head -c 16 "$file" 2>/dev/null | tr -cd 0-9)" || continue
        [ "$lock RESUME" = "$own yes" ] || { echo "held $lock"; exit 0; }
    done
done
[ RESUME = yes ] && [ -d "$own" ] && [ ! -L "$own" ] || { rm -rf "$own" 2>/dev/null; mkdir -m 755 "$own" 2>/dev/null; } || { echo "blocked $own"; exit 0; }
echo $PPID > "$own/session" 2>/dev/null || { echo "blocked $own"; exit 0; }
echo "taken $own""#;

/// The lock that this collection holds.
pub(crate) struct Lock {
    folder: String,
}

impl Lock {
    /// Takes the lock. A collection that goes on with what an earlier one of this user began takes
    /// over the lock of that one.
    ///
    /// # Errors
    /// When another collection is running, or the lock can't be taken.
    pub async fn take(connection: &Connection, resume: bool) -> Result<Self, Error> {
        let script = TAKE.replace("PREFIX", PREFIX).replace("RESUME", if resume { "yes" } else { "no" });
        let answer = connection.ask(&script).await?.unwrap_or_default();
        let check = |what: String, remedy: String| Err(Error::Check { what, remedy });
        match answer.split_once(' ') {
            Some(("taken", folder)) => Ok(Self { folder: folder.to_owned() }),
            Some(("held", folder)) => check(
                "another collection is running on this board".to_owned(),
                format!(
                    "wait for its end; if it is one of yours whose connection was lost, --resume goes on with it; if \
                     there is none, remove {folder} on the board"
                ),
            ),
            Some(("blocked", folder)) => check(
                format!("{folder} on the board belongs to somebody else or cannot be made"),
                "remove it there (its owner or root can), or make space in /tmp".to_owned(),
            ),
            _ => check(
                format!("the board's shell did not understand how the lock is taken ({answer})"),
                "opscope needs a POSIX shell, such as that of busybox, as the user's shell there".to_owned(),
            ),
        }
    }

    /// Where the program's process number belongs.
    pub fn pid_file(&self) -> String {
        join(&self.folder, "pid")
    }

    /// Where the program's status goes if the folder of the run can't take it.
    pub fn status_file(&self) -> String {
        join(&self.folder, "status")
    }

    /// Names the present connection as the one that holds the lock.
    pub async fn renew(&self, connection: &Connection) {
        let _ = connection.ask(&format!("echo $PPID > {}", quoted(&join(&self.folder, "session")))).await;
    }

    /// Gives the lock back.
    pub async fn release(self, connection: &Connection) {
        let _ = connection.ask(&format!("rm -rf -- {}", quoted(&self.folder))).await;
    }
}
