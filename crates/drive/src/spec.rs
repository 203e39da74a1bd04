//! A drive as it is asked for, made ready to be built: everything that is wrong with it is found here,
//! before anything is made.

use std::fmt::Display;
use std::time::Duration;

use stithy_wire::{DriveSpec, DriveVolatile};

use crate::error::DriveError;
use crate::model::{of_profile, Immediate, Model};
use crate::profile::Profile;
use crate::serve::Timing;
use crate::transport_latency::TransportLatency;

/// What a [`DriveSpec`] comes to.
#[derive(Debug)]
pub struct Resolved {
    /// Its profile, scaled; None where it takes no time.
    pub profile: Option<Profile>,
    /// What a power cut may take away of answered writes at most; None: nothing.
    pub volatile_bytes: Option<u64>,
    /// How its thread waits.
    pub timing: Timing,
}

/// Makes a spec ready; `found` is how drives wait that are not told otherwise.
///
/// Errors: `drive-invalid`, `profile-invalid` or `scale-invalid`, with the key.
pub fn resolve(spec: &DriveSpec, found: Timing) -> Result<Resolved, DriveError> {
    check(spec)?;
    let profile = profile(spec)?;
    let volatile_bytes = match spec.volatile {
        DriveVolatile::Protected => None,
        DriveVolatile::Bytes { limit_bytes } => Some(limit_bytes),
        DriveVolatile::FromProfile => profile.as_ref().and_then(Profile::volatile_bytes),
    };
    Ok(Resolved {
        profile,
        volatile_bytes,
        timing: found.changed(spec.transport_s, spec.spin_s)?,
    })
}

impl Resolved {
    /// When the drive answers; `seed` decides every draw.
    pub fn model(&self, seed: u64) -> Box<dyn Model> {
        match &self.profile {
            Some(profile) => of_profile(profile, seed),
            None => Box::<Immediate>::default(),
        }
    }
}

impl Timing {
    /// The same with what is given in place of what was.
    ///
    /// Errors: a time that is negative, or more than a second.
    pub fn changed(
        self,
        transport_s: Option<f64>,
        spin_s: Option<f64>,
    ) -> Result<Self, DriveError> {
        let told = duration("transport_s", transport_s)?;
        Ok(Timing {
            transport: told.map_or(self.transport, TransportLatency::constant),
            // Whoever tells it wants that and no other.
            beside: self.beside.filter(|_| told.is_none()),
            spin: duration("spin_s", spin_s)?.unwrap_or(self.spin),
        })
    }
}

fn duration(key: &str, given_s: Option<f64>) -> Result<Option<Duration>, DriveError> {
    let Some(time_s) = given_s else {
        return Ok(None);
    };
    // More than a second of either would not be timing any more.
    match (0.0..=1.0).contains(&time_s) {
        true => Ok(Some(Duration::from_secs_f64(time_s))),
        false => Err(invalid(key, time_s, "seconds from 0 to 1")),
    }
}

fn check(spec: &DriveSpec) -> Result<(), DriveError> {
    let is_odd = spec.name.chars().any(char::is_control);
    if spec.name.is_empty() || spec.name.len() > 63 || is_odd {
        let allowed = "1 to 63 bytes without control characters";
        return Err(invalid("name", spec.name.escape_debug(), allowed));
    }
    if !matches!(spec.sector_bytes, 512 | 4096) {
        return Err(invalid("sector_bytes", spec.sector_bytes, "512 or 4096"));
    }
    let sectors = spec.size_bytes / u64::from(spec.sector_bytes);
    if sectors == 0 || sectors * u64::from(spec.sector_bytes) != spec.size_bytes {
        let allowed = format!("a multiple of {} above 0", spec.sector_bytes);
        return Err(invalid("size_bytes", spec.size_bytes, &allowed));
    }
    Ok(())
}

fn profile(spec: &DriveSpec) -> Result<Option<Profile>, DriveError> {
    let Some(text) = &spec.profile else {
        return match spec.scale == 1.0 {
            true => Ok(None),
            // There is nothing to divide: whoever asked expects a slower drive than this one.
            false => Err(invalid("scale", spec.scale, "1, or a profile to divide")),
        };
    };
    let profile = Profile::parse("profile", text)?.scaled(spec.scale)?;
    if spec.size_bytes > profile.capacity_bytes {
        let capacity = profile.capacity_bytes;
        let allowed = match spec.scale == 1.0 {
            true => format!("at most {capacity}, the capacity of the profile"),
            false => format!("at most {capacity}, the capacity of the profile, scaled"),
        };
        return Err(invalid("size_bytes", spec.size_bytes, &allowed));
    }
    Ok(Some(profile))
}

fn invalid(key: &str, value: impl Display, allowed: &str) -> DriveError {
    let problem = format!("{key} cannot be {value}");
    DriveError::usage("drive-invalid", problem, key, format!("give {allowed}"))
}

#[cfg(test)]
mod tests;
