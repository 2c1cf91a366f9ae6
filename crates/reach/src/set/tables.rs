//! The tables of a set. Each rank's rows stand together and in the order of their starts, but for collectives, which
//! stand by group and number so that all parts of one lie together.
//!
//! Steps have the numbers that the rank gives them here, because each rank is read by itself, and only all of them tell
//! which number of one is which of another. Table `accounts` brings them (`own_step`) together with those of the run.

use super::table::{Text, Told, table};

table! {
    /// A rank.
    RankLine in "ranks" {
        /// Its number.
        rank: i32,
        /// Its host's name.
        host: Text,
        /// The device's number on its host.
        device: Option<i32>,
        /// Its place in its first group of each use, which is its coordinate where the group is declared.
        tp: Option<i32>,
        /// The same of pipelines.
        pp: Option<i32>,
        /// The same of copies.
        dp: Option<i32>,
        /// The same of experts.
        ep: Option<i32>,
        /// The same of sequences.
        cp: Option<i32>,
        /// The folder that it was read from.
        source: Text,
        /// The form of it.
        format: Text,
        /// The time in the folder's name.
        taken: Text,
        /// The level of the profiler, as the options have it.
        level: Text,
        /// The options that it was recorded with, as an object of JSON; empty where the profile doesn't tell.
        collected: Text,
        /// Its steps.
        steps: i64,
        /// Its collectives.
        collectives: i64,
        /// Its computing tasks.
        operators: i64,
        /// The median of its AI Cores' frequencies.
        frequency_mhz: Option<f64>,
        /// Its first start.
        first_ns: Option<i64>,
        /// Its last end.
        last_ns: Option<i64>,
        /// The number of its records that were lost or doubted.
        losses: i64,
        /// The name of its chip; empty where the profile doesn't tell.
        chip: Text,
        /// `whole`, `damaged` where files of it could be read in part only, or `empty`.
        state: Text,
    }
}

table! {
    /// A rank's step.
    StepLine in "steps" {
        /// The rank.
        rank: i32,
        /// How manieth of the rank's steps it is.
        place: i32,
        /// Its number.
        step: i32,
        /// Its begin.
        start_ns: Option<i64>,
        /// Its length.
        duration_ns: i64,
        /// The time until its first task, where the profile tells.
        preparing_ns: Option<i64>,
        /// The time under computing tasks.
        compute_ns: i64,
        /// The time in which collectives run.
        communication_ns: i64,
        /// The time in collectives that no computing hides.
        exposed_ns: i64,
        /// The sum of its receives.
        receive_ns: i64,
        /// The time in which nothing ran on the device.
        idle_ns: i64,
        /// The source of the rank's steps: its profile, the period of its collectives (`inferred`), or none (`whole`).
        origin: Text,
        /// The time in collectives that computing hides.
        overlapped_ns: i64,
        /// The time under copies between host and device, where operators are kept and the profile tells of copies.
        copy_ns: Option<i64>,
        /// The part of that which no task and no collective hides.
        exposed_copy_ns: Option<i64>,
    }
}

table! {
    /// The end of the last task that began in a rank's step, and what led up to it.
    EndLine in "ends" {
        /// The rank.
        rank: i32,
        /// The step.
        step: i32,
        /// The time under computing tasks.
        compute_ns: i64,
        /// The end.
        end_ns: Option<i64>,
        /// The work before it.
        segment_ns: Option<i64>,
        /// The rank's collective, by its place, after which that work began.
        pred: Option<i32>,
    }
}

table! {
    /// A rank's part in a collective.
    CollectiveLine in "collectives" {
        /// The rank.
        rank: i32,
        /// Its place among the rank's collectives by their starts, from 0 on.
        place: i32,
        /// The step.
        step: i32,
        /// The group, by the number that the vendor's tools give its name.
        group_key: i64,
        /// The number in the group, as the rank counts.
        sequence: i32,
        /// The operation.
        r#type: Text,
        /// Its start by the rank's clock.
        start_ns: i64,
        /// Its length.
        duration_ns: i64,
        /// The rank's own work before it.
        segment_ns: i64,
        /// The rank's collective, by its place, after which that work began.
        pred: Option<i32>,
        /// The rank's contribution, in bytes; of the vendor's texts what it passed over links.
        bytes: i64,
        /// The other side of a send or receive, by its place in the group.
        peer: Option<i32>,
        /// Time that no computing hides.
        exposed_ns: i64,
        /// The begin of the longest such stretch.
        exposed_start_ns: i64,
        /// The length of that stretch.
        exposed_longest_ns: i64,
        /// The elements' type, by the vendor's name; empty where the profile doesn't tell.
        data_type: Text,
        /// The vendor's word for the way of the data; likewise.
        algorithm: Text,
        /// The time under transfers, by the vendor's analysis.
        transit_ns: Told,
        /// The time under waiting, by the same.
        wait_ns: Told,
        /// The part of that before the first transfer.
        sync_ns: Told,
        /// Of the rank's own work before it: the time under computing tasks but for those of the AI CPU, where operators
        /// are kept.
        compute_ns: Told,
        /// The time under tasks of the AI CPU and no other.
        ai_cpu_ns: Told,
        /// The time under copies between host and device and no task, where the profile tells of copies.
        copy_ns: Told,
        /// The time in gaps whose next task started as soon as its host had launched it, where it tells of launches.
        host_ns: Told,
    }
}

table! {
    /// The columns of a rank's part in a collective that are judged: only read.
    CollectivePart in "collectives" {
        /// The rank.
        rank: i32,
        /// Its place among the rank's collectives by their starts, from 0 on.
        place: i32,
        /// The step.
        step: i32,
        /// The group, by the number that the vendor's tools give its name.
        group_key: i64,
        /// The number in the group, as the rank counts.
        sequence: i32,
        /// The operation.
        r#type: Text,
        /// Its start by the rank's clock.
        start_ns: i64,
        /// Its length.
        duration_ns: i64,
        /// The rank's own work before it.
        segment_ns: i64,
        /// The rank's collective, by its place, after which that work began.
        pred: Option<i32>,
        /// The rank's contribution, in bytes; of the vendor's texts what it passed over links.
        bytes: i64,
        /// The other side of a send or receive, by its place in the group.
        peer: Option<i32>,
        /// Time that no computing hides.
        exposed_ns: i64,
        /// The begin of the longest such stretch.
        exposed_start_ns: i64,
        /// The length of that stretch.
        exposed_longest_ns: i64,
    }
}

table! {
    /// The columns of a computing task by which ranks are compared: only read.
    OperatorSpan in "operators" {
        /// The rank.
        rank: i32,
        /// Its start.
        start_ns: i64,
        /// Its length.
        duration_ns: i64,
        /// The operator's name.
        name: Text,
        /// The operator's type.
        r#type: Text,
        /// The unit that it ran on.
        unit: Text,
        /// Its inputs' shapes.
        shapes: Text,
        /// The time when its host had launched it, where the profile tells.
        launched_ns: Option<i64>,
    }
}

table! {
    /// The columns of a rank's part in a collective that tell who takes part: only read.
    CollectiveGroup in "collectives" {
        /// The rank.
        rank: i32,
        /// The group, by the number that the vendor's tools give its name.
        group_key: i64,
        /// The operation.
        r#type: Text,
    }
}

table! {
    /// The traffic of a rank over a link in a step.
    LinkLine in "links" {
        /// The rank that tells of it.
        rank: i32,
        /// The step.
        step: i32,
        /// The group.
        group_key: i64,
        /// The operation.
        r#type: Text,
        /// The sender's place in the group.
        src: i32,
        /// The receiver's place in the group.
        dst: i32,
        /// The kind of link.
        transport: Text,
        /// The bytes.
        bytes: f64,
        /// How long they took.
        time_ns: f64,
    }
}

table! {
    /// A computing task.
    OperatorLine in "operators" {
        /// The rank.
        rank: i32,
        /// The step.
        step: i32,
        /// Its start.
        start_ns: i64,
        /// Its length.
        duration_ns: i64,
        /// The operator's name.
        name: Text,
        /// The operator's type.
        r#type: Text,
        /// The unit that it ran on.
        unit: Text,
        /// Its inputs' shapes.
        shapes: Text,
        /// The first dimension of the first input: rows, or tokens.
        rows: i64,
        /// The time when its host had launched it, where the profile tells.
        launched_ns: Option<i64>,
        /// The time since all computing tasks before it had ended; 0 where one still ran, missing of the first.
        gap_ns: Option<i64>,
        /// The stream's number, where the profile tells.
        stream: Option<i32>,
        /// Its inputs' data types, as the profile has them.
        types: Text,
    }
}

table! {
    /// A copy between host and device.
    CopyLine in "copies" {
        /// The rank.
        rank: i32,
        /// The step.
        step: i32,
        /// The vendor's word for its kind.
        kind: Text,
        /// Its start.
        start_ns: i64,
        /// Its length.
        duration_ns: i64,
    }
}

table! {
    /// A call of the framework that fetches input, or takes 30 µs or longer.
    CallLine in "calls" {
        /// The rank.
        rank: i32,
        /// Its name.
        name: Text,
        /// Its start.
        start_ns: i64,
        /// Its length.
        duration_ns: i64,
    }
}

table! {
    /// A product of a rank's experts.
    ExpertLine in "experts" {
        /// The rank.
        rank: i32,
        /// The step.
        step: i32,
        /// How manieth such product of the step it is.
        place: i32,
        /// The tokens of all the rank's experts.
        tokens: i64,
        /// Its length.
        duration_ns: i64,
    }
}

table! {
    /// A sample of the AI Cores' frequency.
    FrequencyLine in "frequency" {
        /// The rank.
        rank: i32,
        /// When.
        start_ns: i64,
        /// The frequency in MHz.
        megahertz: f64,
    }
}

table! {
    /// A range or moment that the program marked.
    MarkLine in "marks" {
        /// The rank.
        rank: i32,
        /// Its name.
        name: Text,
        /// Its start.
        start_ns: i64,
        /// Its length; 0 of a moment.
        duration_ns: i64,
    }
}

table! {
    /// A loss, or a doubt: of reading the ranks, each with the part that it was read for, and of comparing them, once all
    /// are there. Importers of several shards each tell what is about no rank.
    LossLine in "losses" {
        /// The rank that it is about, if one.
        rank: Option<i32>,
        /// The file or folder, or whatever else it is about, such as a step.
        source: Text,
        /// Its kind, as the member `kind` of JSON has it.
        reason: Text,
        /// How many records.
        count: i64,
        /// The reader's own words.
        detail: Text,
    }
}
