//! A drive at a fraction of its size: capacity, IOPS and bandwidth divided, latencies kept.

use super::{Access, Caps, Medium, Power, Profile, Rates, Solid, Sustained, WriteCache};
use crate::error::DriveError;
use crate::model::rates_max;

impl Profile {
    /// The same drive with `divisor` times less capacity, IOPS and bandwidth, and the same latencies.
    ///
    /// Where the profile has no cap, what its channels reach becomes one, divided. What fills up, the
    /// write cache and the room before writing slows down, is divided too, so that it fills in the
    /// same time. So is the power, of which the same share of the drive is used.
    /// Errors: a divisor below 1; a disk, whose rates follow from its arm and cannot be had without
    /// other latencies.
    pub fn scaled(&self, divisor: f64) -> Result<Self, DriveError> {
        if !(divisor.is_finite() && divisor >= 1.0) {
            let problem = format!("a drive cannot be divided by {divisor}");
            let remedy = "give 1 or more";
            return Err(DriveError::usage("scale-invalid", problem, "scale", remedy));
        }
        if divisor == 1.0 {
            return Ok(self.clone());
        }
        let solid = match &self.medium {
            Medium::Solid(solid) => solid,
            Medium::Disk(_) => {
                let problem = format!("{} spins: its rates follow from its latencies", self.name);
                let remedy = "give a scale of 1, or a drive without moving parts";
                return Err(DriveError::usage("scale-invalid", problem, "scale", remedy));
            }
        };
        Ok(Profile {
            capacity_bytes: divided(self.capacity_bytes, divisor),
            caps: Caps {
                read: of_channels(self.caps.read, solid, &solid.read).divided(divisor),
                write: of_channels(self.caps.write, solid, &solid.write).divided(divisor),
                total: self.caps.total.divided(divisor),
            },
            cache: self.cache.map(|cache| WriteCache {
                size_bytes: divided(cache.size_bytes, divisor),
                drain_bytes_per_s: cache.drain_bytes_per_s.map(|rate| rate / divisor),
                ..cache
            }),
            sustained: self.sustained.map(|sustained| Sustained {
                after_bytes: divided(sustained.after_bytes, divisor),
                slowed: sustained.slowed.divided(divisor),
                recovery_bytes_per_s: sustained.recovery_bytes_per_s / divisor,
            }),
            power: self.power.map(|power| Power {
                idle_w: power.idle_w / divisor,
                read_w: power.read_w / divisor,
                write_w: power.write_w / divisor,
            }),
            ..self.clone()
        })
    }
}

/// Never 0: an empty cache or drive would be another drive.
fn divided(bytes: u64, divisor: f64) -> u64 {
    ((bytes as f64 / divisor) as u64).max(1)
}

impl Rates {
    fn divided(self, divisor: f64) -> Self {
        Rates {
            iops: self.iops.map(|rate| rate / divisor),
            bytes_per_s: self.bytes_per_s.map(|rate| rate / divisor),
        }
    }
}

/// The caps, and where there is none, what all channels together reach.
fn of_channels(caps: Rates, solid: &Solid, access: &Access) -> Rates {
    let (iops, bytes_per_s) = rates_max(access, solid.channels);
    Rates {
        iops: caps.iops.or(Some(iops)),
        bytes_per_s: caps.bytes_per_s.or(Some(bytes_per_s)),
    }
}
