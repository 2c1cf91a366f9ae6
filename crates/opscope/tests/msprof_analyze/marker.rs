//! Marks as programs make them, put into the databases of sample ranks.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

/// A rank's database to which marks are added.
pub struct Marker {
    pub database: Connection,
    connection: i64,
}

impl Marker {
    pub fn open(path: &Path) -> Self {
        let database = Connection::open(path).unwrap();
        let create = "CREATE TABLE IF NOT EXISTS MSTX_EVENTS (startNs INTEGER, endNs INTEGER, eventType INTEGER, \
                      rangeId INTEGER, category INTEGER, message INTEGER, globalTid INTEGER, endGlobalTid INTEGER, \
                      domainId INTEGER, connectionId INTEGER); BEGIN";
        database.execute_batch(create).unwrap();
        let last = "SELECT max(connectionId) FROM MSTX_EVENTS WHERE connectionId < 4294967295";
        let last: Option<i64> = database.query_row(last, [], |row| row.get(0)).unwrap();
        Self { database, connection: last.unwrap_or(40_000_000) }
    }

    /// Writes what was added.
    pub fn done(self) {
        self.database.execute_batch("COMMIT").unwrap();
    }

    /// The begin and end of the sample's only step of a number.
    pub fn step(&self, number: i64) -> (i64, i64) {
        let sql = "SELECT startNs, endNs FROM STEP_TIME WHERE id = ?1";
        self.database.query_row(sql, [number], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }

    pub fn text(&self, text: &str) -> i64 {
        let known = "SELECT id FROM STRING_IDS WHERE value = ?1";
        if let Ok(id) = self.database.query_row(known, [text], |row| row.get(0)) {
            return id;
        }
        self.database.execute("INSERT INTO STRING_IDS (value) VALUES (?1)", [text]).unwrap();
        self.database.last_insert_rowid()
    }

    fn event(&self, kind: i64, text: &str, (start, end): (i64, i64), thread: i64, connection: i64) {
        let sql = "INSERT INTO MSTX_EVENTS VALUES (?1, ?2, ?3, 1, 0, ?4, ?5, ?5, 0, ?6)";
        let message = self.text(text);
        self.database.execute(sql, params![start, end, kind, message, thread, connection]).unwrap();
    }

    /// A mark of one moment.
    pub fn mark(&self, text: &str, at: i64, thread: i64) {
        self.event(3, text, (at, at), thread, 4_294_967_295);
    }

    /// A range that no task belongs to.
    pub fn loose_range(&self, text: &str, span: (i64, i64)) {
        self.event(2, text, span, 1, 4_294_967_295);
    }

    /// A range and the tasks in which the device reached it.
    pub fn range(&mut self, text: &str, span: (i64, i64), tasks: &[(i64, i64)], stream: i64) {
        self.connection += 1;
        self.event(2, text, span, 1, self.connection);
        let kind = self.text("MSTX");
        let sql = "INSERT INTO TASK (startNs, endNs, deviceId, connectionId, globalTaskId, globalPid, taskType, \
                   contextId, streamId, taskId, modelId) VALUES (?1, ?2, 0, ?3, ?3, 1, ?4, 4294967295, ?5, 7, \
                   4294967295)";
        for (start, end) in tasks {
            self.database.execute(sql, params![start, end, self.connection, kind, stream]).unwrap();
        }
    }
}

/// The databases of the ranks below a folder, in the order of ranks.
pub fn databases(folder: &Path) -> Vec<PathBuf> {
    let rank = |path: &PathBuf| -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("ascend_pytorch_profiler_")?.strip_suffix(".db")?.parse().ok()
    };
    let mut found: Vec<PathBuf> = below(folder).into_iter().filter(|path| rank(path).is_some()).collect();
    found.sort_by_key(rank);
    found
}

/// All files below a folder.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut pending) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => pending.push(entry.path()),
                false => found.push(entry.path()),
            }
        }
    }
    found.sort();
    found
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    for file in below(from) {
        let copy = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(file, copy).unwrap();
    }
}

/// The files below a folder with what is in them.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    below(folder).into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}
