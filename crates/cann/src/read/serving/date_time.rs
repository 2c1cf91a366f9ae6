//! Times as msServiceProfiler writes them for people: `2025-07-21 11:23:45:123456`.
//!
//! They are by the wall's clock of the machine that analysed the profile, whose zone isn't told; they are read as those
//! of Greenwich, so that times of one folder keep their distances.

use opscope_trace::Nanoseconds;

/// The time since 1970; nothing where the text is of another form, or no day has it.
pub(super) fn since_1970(text: &str) -> Option<Nanoseconds> {
    let (date, time) = text.trim().split_once(' ')?;
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut parts = time.trim().splitn(4, ':');
    let mut next = || number(parts.next()?);
    let (hour, minute, second) = (next()?, next()?, next()?);
    let is_time = hour < 24 && minute < 60 && second < 60;
    let days = days_before(year, month, day).filter(|_| is_time)?;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(Nanoseconds(seconds * 1_000_000_000 + parts.next().map_or(Some(0), nanoseconds)?))
}

/// The days from the first of 1970 to a day, of years that fit into nanoseconds.
fn days_before(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month - 1).ok()?)?;
    if !(1970..2262).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    let leap_days = (1970..year).filter(|year| is_leap(*year)).count() as i64;
    let of_months: i64 = lengths.iter().take(month as usize - 1).sum();
    Some((year - 1970) * 365 + leap_days + of_months + day - 1)
}

/// Digits behind the seconds.
fn nanoseconds(fraction: &str) -> Option<i64> {
    let digits = u32::try_from(fraction.len()).ok().filter(|digits| *digits <= 9)?;
    Some(number(fraction)? * 10_i64.pow(9 - digits))
}

/// A number of digits alone, and not many of them.
fn number(text: &str) -> Option<i64> {
    let is_short = text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar_are_times_since_1970_and_others_are_none() {
        let time = |text: &str| since_1970(text).map(|time| time.0);
        assert_eq!(time("1970-01-01 00:00:00:000001"), Some(1_000));
        assert_eq!(time("2025-04-23 08:52:11:100"), Some(1_745_398_331_100_000_000));
        assert_eq!(time("2024-02-29 00:00:00"), Some(1_709_164_800_000_000_000));
        assert_eq!(time("2100-03-01 23:59:59:999999"), Some(4_107_628_799_999_999_000));
        for bad in [
            "",
            "x",
            "2025-04-23",
            "2025-02-29 00:00:00:0",
            "2025-13-01 00:00:00:0",
            "2025-00-01 00:00:00:0",
            "2025-01-00 00:00:00:0",
            "2025-01-01 24:00:00:0",
            "2025-01-01 00:60:00:0",
            "1969-01-01 00:00:00:0",
            "9999-01-01 00:00:00:0",
            "2025-01-01 00:00:+1:0",
            "2025-01-01 00:00:00:",
            "2025-01-01 00:00:00:1234567890",
        ] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }
}
