//! Databases that are cut off, damaged, or made to mislead.

use std::time::Instant;

use proptest::prelude::*;

use super::*;

fn small() -> Vec<u8> {
    let (_folder, path) = database(SMALL);
    std::fs::read(path).unwrap()
}

#[test]
fn what_stands_before_the_damage_is_kept() {
    let rows: String = (0..20_000).map(|row| format!("({row}, {row}, {row}),")).collect();
    let (_folder, path) = database(&format!(
        "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, streamId INTEGER); INSERT INTO TASK VALUES {};",
        rows.trim_end_matches(',')
    ));
    let mut bytes = std::fs::read(&path).unwrap();
    let page = 4096;
    // The type of a page somewhere in the middle.
    let middle = bytes.len() / page / 2 * page;
    bytes[middle] = 0xff;
    let trace = read_bytes(&bytes, &path, &Stop::default()).unwrap();
    assert!((1_000..19_000).contains(&trace.tasks.len()), "{}", trace.tasks.len());
    let [loss] = &losses(&trace)[..] else { panic!("{:?}", losses(&trace)) };
    assert!(loss.starts_with("1 damaged: a table breaks off") && loss.contains("TASK: "), "{loss}");
    assert!(loss.contains(&format!("behind row {}", trace.tasks.len())), "{loss}");

    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let cut = read_file(&path, &Stop::default()).unwrap();
    assert!((1_000..19_000).contains(&cut.tasks.len()), "{} {:?}", cut.tasks.len(), losses(&cut));
    let [first, second] = &losses(&cut)[..] else { panic!("{:?}", losses(&cut)) };
    assert!(first.starts_with("1 damaged: a table breaks off"), "{first}");
    assert!(second.starts_with("1 damaged: the database is shorter than it says"), "{second}");
}

#[test]
fn views_that_never_end_are_no_tables() {
    let endless = "CREATE VIEW TASK AS WITH RECURSIVE n(startNs, endNs) AS \
                   (SELECT 0, 1 UNION ALL SELECT startNs + 1, endNs + 1 FROM n) SELECT * FROM n;";
    let started = Instant::now();
    let trace = read_sql(&format!(
        "{endless} CREATE TABLE CANN_API (startNs, endNs); INSERT INTO CANN_API VALUES (1, 2);"
    ));
    assert_eq!(trace.unwrap().api_calls.len(), 1);
    assert!(read_sql(endless).is_err());
    assert!(started.elapsed().as_secs() < 20);
}

#[test]
fn pages_that_name_one_another_for_ever_are_given_up() {
    let rows: String = (0..3_000).map(|row| format!("({row}, {row}),")).collect();
    let (_folder, path) = database(&format!(
        "PRAGMA page_size = 512; CREATE TABLE TASK (startNs INTEGER, endNs INTEGER); INSERT INTO TASK VALUES {};",
        rows.trim_end_matches(',')
    ));
    let mut bytes = std::fs::read(&path).unwrap();
    // An interior page of a table (type 5): its cells are a child's page number and a key. All
    // children become the first interior page below the root, level by level.
    let is_interior = |bytes: &[u8], page: usize| page > 0 && bytes[page * 512] == 5;
    let interior: Vec<usize> = (1..bytes.len() / 512).filter(|&page| is_interior(&bytes, page)).collect();
    assert!(interior.len() > 1, "{interior:?}");
    for &page in &interior {
        let cells = usize::from(u16::from_be_bytes([bytes[page * 512 + 3], bytes[page * 512 + 4]]));
        let child = interior.iter().copied().find(|&other| other != page).unwrap() as u32 + 1;
        for cell in 0..cells {
            let pointer = page * 512 + 12 + 2 * cell;
            let at = page * 512 + usize::from(u16::from_be_bytes([bytes[pointer], bytes[pointer + 1]]));
            bytes[at..at + 4].copy_from_slice(&child.to_be_bytes());
        }
    }
    let started = Instant::now();
    let _ = read_bytes(&bytes, &path, &Stop::default());
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn mutated_databases_are_read_or_refused(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..40),
        cut in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let mut bytes = small();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()) + 1);
        }
        let _ = read_bytes(&bytes, Path::new("mutated.db"), &Stop::default());
    }

    #[test]
    fn cells_of_any_type_are_taken_or_counted(
        cells in proptest::collection::vec(
            prop_oneof![
                Just("NULL".to_owned()), any::<i64>().prop_map(|n| n.to_string()), any::<f64>().prop_map(|n| format!("{n:e}").replace("inf", "9e999").replace("NaN", "NULL")),
                "[ -~]{0,8}".prop_map(|text| format!("'{}'", text.replace('\'', ""))), Just("x'00ff'".to_owned()),
                (0i64..15).prop_map(|n| n.to_string()),
            ],
            11,
        )
    ) {
        for table in ["TASK", "CANN_API", "PYTORCH_API", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "MSTX_EVENTS", "HBM", "NEW_SAMPLES", "SESSION_TIME_INFO", "META_DATA"] {
            let (_folder, path) = database(SMALL);
            let connection = Connection::open(&path).unwrap();
            let columns: isize = connection.query_row("SELECT count(*) FROM pragma_table_info(?1)", [table], |row| row.get(0)).unwrap();
            // A key may refuse a cell; then the table stays as it is.
            let _ = connection.execute(&format!("INSERT INTO {table} VALUES ({})", cells[..columns as usize].join(", ")), []);
            drop(connection);
            prop_assert!(read_file(&path, &Stop::default()).is_ok());
        }
    }
}
