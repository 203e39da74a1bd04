//! Where on its platters a disk has a byte, and how long the arm takes to it.

use stithy_measure::Moment;

use crate::model::NS_PER_S;
use crate::profile::Disk;

/// A wait of all but this share of a turn is none: the byte is under the head, to within a few
/// nanoseconds of rounding.
const UNDER_THE_HEAD: f64 = 1e-5;

/// Time of the arm over a distance, from 0 to 1 of all tracks: `a + b √d + c d`.
///
/// The form is that of Lee and Katz, "An Analytic Performance Model of Disk Arrays" (SIGMETRICS
/// 1993). Two tracks chosen at random lie d apart with density 2 (1 - d), so that √d is 8/15 and d is 1/3
/// on average: that gives b and c from the mean and the longest time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeekCurve {
    shortest: f64,
    of_root: f64,
    of_distance: f64,
}

impl SeekCurve {
    /// The curve through the times to the next track, on average and over all tracks; any unit.
    pub fn through(track: f64, average: f64, full: f64) -> Self {
        let of_root = 5.0 * (average - track - (full - track) / 3.0);
        SeekCurve {
            shortest: track,
            of_root,
            of_distance: full - track - of_root,
        }
    }

    /// Whether a longer way never takes less time.
    pub fn rises(&self) -> bool {
        // The slope falls or rises all the way, so that its ends decide.
        self.of_root >= 0.0 && self.of_root / 2.0 + self.of_distance >= 0.0
    }

    /// The time over a distance, from 0 to 1 of all tracks.
    pub fn at(&self, distance: f64) -> f64 {
        self.shortest + self.of_root * distance.sqrt() + self.of_distance * distance
    }
}

/// A place on the platters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// Number of the track from the outermost, and the share of it before the place.
    track: f64,
    zone: usize,
}

#[derive(Debug)]
struct ZoneAt {
    begin_byte: f64,
    begin_track: f64,
    track_bytes: f64,
    ns_per_byte: f64,
}

/// The platters and the arm. All surfaces are laid out as one: a track of it stands for one track of
/// one surface, and to follow it over its end costs nothing, as with a good skew.
#[derive(Debug)]
pub(super) struct Geometry {
    zones: Vec<ZoneAt>,
    tracks: f64,
    turn_ns: f64,
    seek_ns: SeekCurve,
    write_settle_ns: f64,
}

impl Geometry {
    pub(super) fn new(disk: &Disk, capacity_bytes: u64) -> Self {
        let turn_s = 60.0 / disk.rpm;
        let (mut begin_byte, mut begin_track) = (0.0, 0.0);
        let mut zones = Vec::with_capacity(disk.zones.len());
        for zone in &disk.zones {
            let track_bytes = zone.bytes_per_s * turn_s;
            zones.push(ZoneAt {
                begin_byte,
                begin_track,
                track_bytes,
                ns_per_byte: NS_PER_S / zone.bytes_per_s,
            });
            let bytes = capacity_bytes as f64 * zone.capacity_share;
            begin_byte += bytes;
            begin_track += bytes / track_bytes;
        }
        Geometry {
            zones,
            tracks: begin_track,
            turn_ns: turn_s * NS_PER_S,
            seek_ns: SeekCurve::through(
                disk.seek_track_s * NS_PER_S,
                disk.seek_average_s * NS_PER_S,
                disk.seek_full_s * NS_PER_S,
            ),
            write_settle_ns: disk.write_settle_s * NS_PER_S,
        }
    }

    pub(super) fn place(&self, offset_bytes: u64) -> Place {
        let offset = offset_bytes as f64;
        let after = self.zones.partition_point(|z| z.begin_byte <= offset);
        let zone = after.saturating_sub(1);
        let at = &self.zones[zone];
        Place {
            track: at.begin_track + (offset - at.begin_byte) / at.track_bytes,
            zone,
        }
    }

    /// From `at` until the arm, which is over `from`, has `to` under its head.
    pub(super) fn position_ns(&self, at: Moment, from: Place, to: Place, writes: bool) -> f64 {
        let tracks = (to.track.floor() - from.track.floor()).abs();
        let seek_ns = match (tracks == 0.0, writes) {
            (true, _) => 0.0,
            (false, false) => self.seek_ns.at(tracks / self.tracks),
            (false, true) => self.seek_ns.at(tracks / self.tracks) + self.write_settle_ns,
        };
        let angle = ((at.0 as f64 + seek_ns) / self.turn_ns).fract();
        let wait = (to.track - self.zones[to.zone].begin_track - angle).rem_euclid(1.0);
        match wait > 1.0 - UNDER_THE_HEAD {
            true => seek_ns,
            false => seek_ns + wait * self.turn_ns,
        }
    }

    pub(super) fn transfer_ns(&self, place: Place, length_bytes: u64) -> f64 {
        length_bytes as f64 * self.zones[place.zone].ns_per_byte
    }
}
