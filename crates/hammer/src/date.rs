//! Dates as people and SQL read them.

use std::fmt;

const US_PER_S: i64 = 1_000_000;
const S_PER_DAY: i64 = 86_400;
/// From the first of March of the year 0 to the start of 2000: years that begin in March have their
/// leap day at the end.
const DAYS_TO_2000: i64 = 730_425;
const DAYS_PER_400_YEARS: i64 = 146_097;

/// A moment in the Gregorian calendar, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// Year.
    pub year: i64,
    /// Month, from 1.
    pub month: i64,
    /// Day, from 1.
    pub day: i64,
    /// Hour.
    pub hour: i64,
    /// Minute.
    pub minute: i64,
    /// Second.
    pub second: i64,
    /// Microsecond.
    pub us: i64,
}

impl Date {
    /// The moment so many microseconds after the start of 2000, UTC.
    pub fn of(date_us: i64) -> Self {
        let seconds = date_us.div_euclid(US_PER_S);
        let (days, second) = (seconds.div_euclid(S_PER_DAY), seconds.rem_euclid(S_PER_DAY));
        let (year, month, day) = civil(days);
        Date {
            year,
            month,
            day,
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
            us: date_us.rem_euclid(US_PER_S),
        }
    }
}

/// `2026-11-21 03:46:09.026516`.
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = (self.year, self.month, self.day);
        let (hour, minute, second, us) = (self.hour, self.minute, self.second, self.us);
        write!(
            f,
            "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{us:06}"
        )
    }
}

/// Year, month and day of days since the start of 2000, in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_2000;
    let (cycles, day) = (
        days.div_euclid(DAYS_PER_400_YEARS),
        days.rem_euclid(DAYS_PER_400_YEARS),
    );
    // Leap days inside the cycle taken out, every year has 365 days.
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, five months have 153 days in the mean, two after two.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (400 * cycles + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_US: i64 = S_PER_DAY * US_PER_S;

    #[test]
    fn moments_are_told_to_the_microsecond() {
        let text = |date_us| Date::of(date_us).to_string();
        assert_eq!(text(0), "2000-01-01 00:00:00.000000");
        assert_eq!(text(850_000_000_000_001), "2026-12-07 23:06:40.000001");
        assert_eq!(text(-1), "1999-12-31 23:59:59.999999");
    }

    #[test]
    fn every_day_of_eight_centuries_is_the_one_after_the_day_before() {
        let (mut year, mut month, mut day) = (2000, 1, 1);
        for days in 0..2 * DAYS_PER_400_YEARS {
            let date = Date::of(days * DAY_US);
            assert_eq!((date.year, date.month, date.day), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + i64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                _ if day == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }
}
