//! Text files with a device's network traffic.
//!
//! | file | fields of a line |
//! |---|---|
//! | `nic.data`, `roce.data` | time with a colon, Mbit/s; received and then sent: packets/s, bytes/s, packets, bytes, errors, dropped; mostly the port, sometimes a type |
//! | `hccs.data` | time with a colon, bytes sent, bytes received |
//! | `netdev_stats.data` | time of the host's monotonic clock, fifteen counts since the start |
//!
//! The first line is mostly a heading. Times are nanoseconds of the device's clock.

use crate::slices::Stream;
use crate::tables::{
    HccsSample, HccsTable, NETWORK_DEVICE_COUNTS, NetworkDeviceSample, NetworkDeviceTable, NetworkSample,
    NetworkTable, PortCounts,
};
use opscope_trace::{LossKind, Losses};

/// Decodes `nic.data` or `roce.data`.
pub(super) fn ports(streams: &[Stream], losses: &mut Losses) -> NetworkTable {
    let mut table = NetworkTable::default();
    each_line(streams, losses, |line| port_line(line).map(|sample| table.push(sample)));
    table
}

/// Decodes `hccs.data`.
pub(super) fn hccs(streams: &[Stream], losses: &mut Losses) -> HccsTable {
    let mut table = HccsTable::default();
    each_line(streams, losses, |line| hccs_line(line).map(|sample| table.push(sample)));
    table
}

/// Decodes `netdev_stats.data`, whose times are the host's.
pub(super) fn device(streams: &[Stream], losses: &mut Losses) -> NetworkDeviceTable {
    let mut table = NetworkDeviceTable::default();
    each_line(streams, losses, |line| device_line(line).map(|sample| table.push(sample)));
    table
}

/// Hands every line to `take`, and counts those that it refuses unless they are headings.
pub(super) fn each_line(streams: &[Stream], losses: &mut Losses, mut take: impl FnMut(&str) -> Option<()>) {
    for stream in streams {
        let mapped = stream.map(losses);
        let bytes = mapped.concatenated();
        for line in String::from_utf8_lossy(&bytes).lines() {
            let is_heading = line.trim_start().starts_with(|first: char| !first.is_ascii_digit());
            if take(line).is_none() && !is_heading && !line.trim().is_empty() {
                losses.count(LossKind::InvalidLine, &stream.name, 1);
            }
        }
    }
}

/// A time, which a colon may follow.
fn time(field: &str) -> Option<u64> {
    let text = field.trim_end_matches(':');
    text.parse().ok().or_else(|| text.parse::<f64>().ok().filter(|time| *time >= 0.0).map(|time| time as u64))
}

fn port_line(line: &str) -> Option<NetworkSample> {
    let mut fields = line.split_whitespace();
    let time = time(fields.next()?)?;
    let mut number = || fields.next()?.parse::<f64>().ok().filter(|value| *value >= 0.0);
    let bandwidth = number()? as u64;
    let mut counts = || {
        Some(PortCounts {
            packet_rate: number()?,
            byte_rate: number()?,
            packets: number()?,
            bytes: number()?,
            errors: number()?,
            dropped: number()?,
        })
    };
    let (received, sent) = (counts()?, counts()?);
    let port = number().unwrap_or(0.0) as u32;
    Some(NetworkSample { time, port, bandwidth, received, sent })
}

fn device_line(line: &str) -> Option<NetworkDeviceSample> {
    let mut fields = line.split_whitespace();
    let time = fields.next()?.parse().ok()?;
    let mut counts = [0; NETWORK_DEVICE_COUNTS];
    for count in &mut counts {
        *count = fields.next()?.parse().ok()?;
    }
    fields.next().is_none().then_some(NetworkDeviceSample { time, counts })
}

fn hccs_line(line: &str) -> Option<HccsSample> {
    let mut fields = line.split_whitespace();
    let time = time(fields.next()?)?;
    let mut number = || fields.next()?.parse().ok();
    Some(HccsSample { time, sent: number()?, received: number()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_lines_have_a_time_thirteen_numbers_and_mostly_a_port() {
        let line = "176167199500000: 200000 2 108 3 216 1 0 4 5 6 7 8 9 1";
        let sample = port_line(line).expect("a sample");
        assert_eq!((sample.time, sample.bandwidth, sample.port), (176_167_199_500_000, 200_000, 1));
        assert_eq!((sample.received.byte_rate, sample.received.errors), (108.0, 1.0));
        assert_eq!((sample.sent.packet_rate, sample.sent.dropped), (4.0, 9.0));
        assert_eq!(port_line("1: 2 3 4 5 6 7 8 9 10 11 12 13 14").map(|sample| sample.port), Some(0));
        assert_eq!(port_line("1: 2 3 4 5 6 7 8 9 10 11 12 13 14 3 1").map(|sample| sample.port), Some(3));
        assert!(port_line("1: 2 3").is_none() && port_line("timestamp bandwidth(Mb/s)").is_none());
    }

    #[test]
    fn lines_of_the_network_device_have_a_time_and_fifteen_counts() {
        let sample = device_line("7 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15").expect("a sample");
        assert_eq!((sample.time, sample.counts[14]), (7, 15));
        assert!(device_line("7 1 2 3 4 5 6 7 8 9 10 11 12 13 14").is_none());
        assert!(device_line("7 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16").is_none());
    }

    #[test]
    fn hccs_lines_have_a_time_and_two_numbers() {
        let sample = HccsSample { time: 17, sent: 3, received: 4 };
        assert_eq!(hccs_line("17: 3 4"), Some(sample));
        assert!(hccs_line("17: 3").is_none() && hccs_line("time tx rx").is_none());
    }
}
