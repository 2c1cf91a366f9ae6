//! Properties of the run: versions, host, devices, and when it began.

use opscope_trace::{LossKind, Nanoseconds};

use opscope_formats::reading::WALL_CLOCK;

use crate::database::schema::{HOST_INFO, META_DATA, NPU_INFO, RANK_DEVICE_MAP, SESSION_TIME_INFO};
use crate::database::session::{UNKNOWN_CHIP, chip_of_name};

use super::reader::Reader;
use opscope_formats::other_database as query;

/// The part of the version by which tables change their meaning.
const KNOWN_MAJOR_VERSION: &str = "1";

const META: [&str; 2] = META_DATA.select(["name", "value"]);
const HOST: [&str; 1] = HOST_INFO.select(["hostName"]);
const DEVICES: [&str; 2] = NPU_INFO.select(["id", "name"]);
const RANKS: [&str; 2] = RANK_DEVICE_MAP.select(["rankId", "deviceId"]);
const BEGIN: [&str; 1] = SESSION_TIME_INFO.select(["startTimeNs"]);

impl Reader<'_> {
    /// Reads what is told of the run and sets the trace's zero.
    pub(super) fn read_run(&mut self) {
        self.each_row(META_DATA.name, &META, |reader, row| {
            let (Some(name), Some(value)) = (row.text(0), row.text(1)) else { return };
            if name == "SCHEMA_VERSION" && value.split('.').next() != Some(KNOWN_MAJOR_VERSION) {
                reader.trace.count_loss(LossKind::UnknownVersion, 1, &value);
            }
            // The parts of the version are repeated one by one.
            if !name.starts_with("SCHEMA_VERSION_") {
                reader.trace.run.remark(&name, &value);
            }
        });
        self.each_row(HOST_INFO.name, &HOST, |reader, row| {
            if let Some(name) = row.text(0) {
                reader.trace.run.host = Some(name.into_owned());
            }
        });
        self.each_row(NPU_INFO.name, &DEVICES, |reader, row| {
            if let (Some(id), Some(name)) = (row.small(0), row.text(1)) {
                // In every form of a profile a device bears the name of its product.
                let product = chip_of_name(&name).map(|chip| chip.product().to_owned());
                reader.chips.insert(id, product.unwrap_or_else(|| name.into_owned()));
            }
        });
        self.trace.run.chip = self.chip();
        self.each_row(RANK_DEVICE_MAP.name, &RANKS, |reader, row| {
            // Without a cluster the rank is -1.
            if let (Some(rank), Some(device)) = (row.number(0), row.number(1)) {
                reader.trace.run.remark(&format!("rank of device {device}"), &rank.to_string());
            }
        });
        self.set_zero();
    }

    /// The product name of the first device's chip. Of its cores the database tells nothing.
    fn chip(&self) -> Option<String> {
        let (_, name) = self.chips.iter().min_by_key(|(id, _)| **id)?;
        (!matches!(&**name, "" | UNKNOWN_CHIP)).then(|| name.clone())
    }

    /// The zero is when the session began; without that, when the first of the rows did.
    fn set_zero(&mut self) {
        let mut begin = None;
        self.each_row(SESSION_TIME_INFO.name, &BEGIN, |_, row| begin = begin.or(row.integer(0)));
        let database = self.database;
        for table in super::PRINCIPAL_TABLES {
            if begin.is_some_and(|begin| begin > 0) {
                break;
            }
            // Whether it breaks off is said when it is read.
            let _ = query::each_row(database, table, &["startNs"], |row| {
                let start = row.integer(0);
                begin = begin
                    .filter(|begin| *begin > 0)
                    .map_or(start, |begin| Some(start.map_or(begin, |start| start.min(begin))));
            });
        }
        let begin = begin.unwrap_or(0);
        if begin >= WALL_CLOCK {
            self.zero = Nanoseconds(begin);
            self.trace.clock.unix_zero = Some(begin);
        }
    }
}
