//! How virtual users behave: which transactions, with which keys, in which warehouses, how fast.
//!
//! Clause numbers are those of the specification's revision 5.11.

use super::options::{Options, Profile};
use super::random::NurandConstants;
use super::tables::DISTRICTS;
use crate::error::HammerError;
use crate::pace::Waits;

/// How many cards of each type a deck has: the deck that clause 5.2.4.2 gives as its example. Every
/// type but new orders comes more often than its minimum (43, 4, 4 and 4 of a hundred), by so much that
/// what is under way at both ends of a window takes no share below it. HammerDB's mix has the same
/// weights. Source: its driver script, `RandomNumber 1 23`.
pub const MIX: [u32; 5] = [10, 10, 1, 1, 1];

/// Keying and thinking as specified (clause 5.2.5.7), by type.
pub fn keyed() -> Waits {
    Waits {
        weights: MIX.to_vec(),
        keying_s: vec![18.0, 3.0, 2.0, 2.0, 2.0],
        think_mean_s: vec![12.0, 12.0, 10.0, 5.0, 5.0],
    }
}

/// What the draws of all users of a run have in common.
#[derive(Debug, Clone, Copy)]
pub struct InputProfile {
    /// The constants of skewed keys.
    pub constants: NurandConstants,
    /// Mix and keys.
    pub kind: Profile,
    /// Where users act.
    pub touched: TouchedWarehouses,
}

/// A district, by warehouse and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct District {
    /// Warehouse, from 1.
    pub w_id: i32,
    /// District, 1 to 10.
    pub d_id: i16,
}

/// Where users act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TouchedWarehouses {
    /// Only in the first so many warehouses.
    pub warehouses: u32,
    /// Users bound to each of them; None: each transaction draws its warehouse anew.
    pub users_per_warehouse: Option<u32>,
}

impl TouchedWarehouses {
    /// Every transaction in any of a number of warehouses.
    pub fn spread(warehouses: u32) -> Self {
        TouchedWarehouses {
            warehouses,
            users_per_warehouse: None,
        }
    }

    /// The reach that options ask for. Bound users reach the warehouses that have some.
    ///
    /// Errors: `too-few-warehouses` (usage).
    pub fn of(options: &Options, users: u32) -> Result<Self, HammerError> {
        let most = options.touched();
        let Some(each) = options.users_per_warehouse else {
            return Ok(TouchedWarehouses::spread(most));
        };
        let warehouses = users.div_ceil(each.max(1));
        if warehouses > most {
            return Err(HammerError::usage(
                "too-few-warehouses",
                format!(
                    "{} users at {each} a warehouse need {warehouses} warehouses; {most} are there \
                     for them",
                    users
                ),
                "workload.users_per_warehouse",
                format!(
                    "bind {} users or more to a warehouse, or load more warehouses",
                    users.div_ceil(most)
                ),
            ));
        }
        Ok(TouchedWarehouses {
            warehouses,
            users_per_warehouse: Some(each.max(1)),
        })
    }

    /// The warehouse and district of a user who is bound to one.
    pub fn home(&self, user: u32) -> Option<District> {
        let each = self.users_per_warehouse?;
        Some(District {
            w_id: (user / each + 1) as i32,
            d_id: (user % each % DISTRICTS + 1) as i16,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touching(users_per_warehouse: u32) -> TouchedWarehouses {
        TouchedWarehouses {
            warehouses: 10,
            users_per_warehouse: Some(users_per_warehouse),
        }
    }

    fn home(touched: &TouchedWarehouses, user: u32) -> (i32, i16) {
        let home = touched.home(user).unwrap();
        (home.w_id, home.d_id)
    }

    /// Ten users of a warehouse have a district each; more share the districts evenly.
    #[test]
    fn users_are_dealt_to_warehouses_and_districts() {
        assert_eq!(
            [(1, 1), (1, 10), (2, 1)],
            [0, 9, 10].map(|user| home(&touching(10), user))
        );
        assert_eq!(
            [(1, 1), (1, 1), (10, 10)],
            [0, 1_490, 14_999].map(|user| home(&touching(1_500), user))
        );
        assert_eq!(None, TouchedWarehouses::spread(3).home(7));
    }

    /// The specified waits and this deck make a cycle of 20.7 s: 10 users give at most 12.6 new orders a
    /// minute, where the specification's minima would allow 12.86.
    #[test]
    fn the_specified_waits_bound_the_orders_of_a_warehouse() {
        let most = 10.0 * 60.0 * 10.0 / 23.0 / keyed().mean_s();
        assert!((most - 12.60).abs() < 0.01, "{most}");
    }
}
