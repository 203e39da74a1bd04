//! How virtual users behave: which transactions, with which keys, in which warehouses, how fast.
//!
//! Clause numbers are those of the specification's revision 5.11.

use stithy_wire::{Profile, RunJob};

use super::input::{District, DISTRICTS};
use super::random::NurandConstants;
use crate::error::HammerError;
use crate::pace::Waits;

/// Of a hundred transactions, how many are of each type (clause 5.2.3; exact in the long run).
pub const MIX_PERCENT: [u32; 5] = [45, 43, 4, 4, 4];

/// HammerDB's mix, of 23 transactions. Source: its driver script, `RandomNumber 1 23`.
const MIX_HAMMERDB: [u32; 5] = [10, 10, 1, 1, 1];

/// Keying and thinking as specified (clause 5.2.5.7), by type.
pub fn keyed() -> Waits {
    Waits {
        weights: MIX_PERCENT.to_vec(),
        keying_s: vec![18.0, 3.0, 2.0, 2.0, 2.0],
        think_mean_s: vec![12.0, 12.0, 10.0, 5.0, 5.0],
    }
}

/// Only thinking, as long for every type.
pub fn thinking(profile: Profile, mean_s: f64) -> Waits {
    let weights = mix(profile).to_vec();
    Waits {
        keying_s: vec![0.0; weights.len()],
        think_mean_s: vec![mean_s; weights.len()],
        weights,
    }
}

/// The weights of the transaction types.
pub fn mix(profile: Profile) -> &'static [u32; 5] {
    match profile {
        Profile::Specification => &MIX_PERCENT,
        Profile::Hammerdb => &MIX_HAMMERDB,
    }
}

/// What the draws of all users of a run have in common.
#[derive(Debug, Clone, Copy)]
pub struct Habit {
    /// The constants of skewed keys.
    pub constants: NurandConstants,
    /// Mix and keys.
    pub profile: Profile,
    /// Where users act.
    pub reach: Reach,
}

/// Where users act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Only in the first so many warehouses.
    pub warehouses: u32,
    /// Users bound to each of them; None: each transaction draws its warehouse anew.
    pub users_per_warehouse: Option<u32>,
}

impl Reach {
    /// Every transaction in any of a number of warehouses.
    pub fn spread(warehouses: u32) -> Self {
        Reach {
            warehouses,
            users_per_warehouse: None,
        }
    }

    /// The reach that a job asks for. Bound users reach the warehouses that have some.
    ///
    /// Errors (usage): `too-few-warehouses`, `job-invalid`.
    pub fn of(job: &RunJob) -> Result<Self, HammerError> {
        let most = touched(job.warehouses_touched, job.workload.warehouses)?;
        let Some(each) = job.users_per_warehouse else {
            return Ok(Reach::spread(most));
        };
        let warehouses = job.users.div_ceil(each.max(1));
        if warehouses > most {
            return Err(HammerError::usage(
                "too-few-warehouses",
                format!(
                    "{} users at {each} a warehouse need {warehouses} warehouses; {most} are there \
                     for them",
                    job.users
                ),
                "users_per_warehouse",
                format!(
                    "bind {} users or more to a warehouse, or load more warehouses",
                    job.users.div_ceil(most)
                ),
            ));
        }
        Ok(Reach {
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

/// The first so many warehouses.
///
/// Errors: `job-invalid` (usage) where there are not so many, or none.
pub fn touched(wanted: Option<u32>, warehouses: u32) -> Result<u32, HammerError> {
    match wanted {
        None => Ok(warehouses),
        Some(wanted) if (1..=warehouses).contains(&wanted) => Ok(wanted),
        Some(wanted) => Err(HammerError::usage(
            "job-invalid",
            format!("warehouses_touched is {wanted}"),
            "warehouses_touched",
            format!("give a number from 1 to {warehouses}, or null for all"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(users_per_warehouse: u32) -> Reach {
        Reach {
            warehouses: 10,
            users_per_warehouse: Some(users_per_warehouse),
        }
    }

    fn home(reach: &Reach, user: u32) -> (i32, i16) {
        let home = reach.home(user).unwrap();
        (home.w_id, home.d_id)
    }

    /// Ten users of a warehouse have a district each; more share the districts evenly.
    #[test]
    fn users_are_dealt_to_warehouses_and_districts() {
        assert_eq!(
            [(1, 1), (1, 10), (2, 1)],
            [0, 9, 10].map(|user| home(&reach(10), user))
        );
        assert_eq!(
            [(1, 1), (1, 1), (10, 10)],
            [0, 1_490, 14_999].map(|user| home(&reach(1_500), user))
        );
        assert_eq!(None, Reach::spread(3).home(7));
    }

    /// The specified waits make a cycle of 21 s, so that 10 users give at most 12.86 new orders a minute.
    #[test]
    fn the_specified_waits_bound_the_orders_of_a_warehouse() {
        let most = 10.0 * 60.0 * 0.45 / keyed().mean_s();
        assert!((most - 12.86).abs() < 0.01, "{most}");
    }
}
