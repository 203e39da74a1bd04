//! The part of a window that one of several hammers has, by numbers: so they have together what one has alone.

use stithy_wire::Share;

use crate::error::HammerError;

/// The numbers below a total that are in a share.
pub(crate) fn numbers(share: Share, total: u32) -> impl Iterator<Item = u32> {
    (share.number..total).step_by(share.of as usize)
}

/// How many numbers below a total are in a share.
pub(crate) fn count(share: Share, total: u32) -> u32 {
    total.saturating_sub(share.number).div_ceil(share.of)
}

/// Refuses a share that is none, or that leaves a hammer without a user or connection.
///
/// Errors: `job-invalid` (usage).
pub(crate) fn refuse_wrong_share(share: Share, least: u32) -> Result<(), HammerError> {
    if share.number < share.of && share.of <= least {
        return Ok(());
    }
    let problem = format!("the share of {} of {} hammers", share.number, share.of);
    let remedy = "give share.number from 0 to below share.of, and at least as many users and connections as hammers";
    Err(HammerError::usage("job-invalid", problem, "share", remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixteen hammers have every user once, and hardly more than a sixteenth each.
    #[test]
    fn shares_are_disjoint_complete_and_even() {
        for total in [16, 17, 250, 1_000] {
            let shares = (0..16).map(|number| Share { number, of: 16 });
            let parts: Vec<Vec<u32>> = shares
                .clone()
                .map(|share| numbers(share, total).collect())
                .collect();
            let counts: Vec<usize> = parts.iter().map(Vec::len).collect();
            let asked: Vec<usize> = shares.map(|share| count(share, total) as usize).collect();
            assert_eq!(counts, asked);
            assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
            let mut users = parts.concat();
            users.sort_unstable();
            assert_eq!((0..total).collect::<Vec<_>>(), users);
        }
    }

    /// A hammer of several has somebody to act, and a number of its own.
    #[test]
    fn wrong_shares_are_refused() {
        let refused = |number, of, least| refuse_wrong_share(Share { number, of }, least).is_err();
        assert!(refused(3, 3, 9) && refused(0, 4, 3) && refused(0, 0, 1));
        assert!(!refused(2, 3, 3) && !refused(0, 1, 1));
    }
}
