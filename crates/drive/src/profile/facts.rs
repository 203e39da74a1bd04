//! What a profile says, for those who choose a drive; and whether it is one at all.

use stithy_wire::{CheckProfileSummary, ProfileFacts, ProfileProblem};

use super::{Medium, Profile};
use crate::error::DriveError;
use crate::model::p50_p99_s;

impl Profile {
    /// What a power cut may take of what was answered: what its cache holds, where that is not
    /// protected; None: nothing.
    pub fn volatile_bytes(&self) -> Option<u64> {
        let volatile = self.cache.filter(|cache| !cache.protected);
        volatile.map(|cache| cache.size_bytes)
    }

    /// What it says, in short; `scale` is by what it was divided already.
    pub fn facts(&self, scale: f64) -> ProfileFacts {
        let (channels, rpm) = match &self.medium {
            Medium::Solid(solid) => (Some(solid.channels), None),
            Medium::Disk(disk) => (None, Some(disk.rpm)),
        };
        let latencies = match &self.medium {
            Medium::Solid(solid) => Some((&solid.read.latency, &solid.write.latency)),
            Medium::Disk(_) => None,
        };
        let read = latencies.map(|(read, _)| p50_p99_s(read));
        let write = latencies.map(|(_, write)| p50_p99_s(write));
        ProfileFacts {
            name: self.name.clone(),
            title: self.title.clone(),
            capacity_bytes: self.capacity_bytes,
            scale,
            channels,
            rpm,
            read_p50_s: read.map(|(p50_s, _)| p50_s),
            read_p99_s: read.map(|(_, p99_s)| p99_s),
            write_p50_s: write.map(|(p50_s, _)| p50_s),
            write_p99_s: write.map(|(_, p99_s)| p99_s),
            flush_s: self.flush_s,
            read_iops: self.caps.read.iops,
            write_iops: self.caps.write.iops,
            total_iops: self.caps.total.iops,
            read_bytes_per_s: self.caps.read.bytes_per_s,
            write_bytes_per_s: self.caps.write.bytes_per_s,
            total_bytes_per_s: self.caps.total.bytes_per_s,
            cache_bytes: self.cache.map(|cache| cache.size_bytes),
            volatile_bytes: self.volatile_bytes(),
            sustained_after_bytes: self.sustained.map(|sustained| sustained.after_bytes),
            assumed: self.provenance.assumed.clone(),
            sources: self.provenance.sources.clone(),
            note: self.provenance.note.clone(),
        }
    }
}

/// Judges a profile and its scale: what it says, or everything that is wrong.
pub fn judge(text: &str, scale: f64) -> CheckProfileSummary {
    let scaled = Profile::check(text).and_then(|profile| {
        let scaled = profile.scaled(scale);
        scaled.map_err(|error| vec![of_scale(&error, scale)])
    });
    match scaled {
        Ok(profile) => CheckProfileSummary {
            facts: Some(profile.facts(scale)),
            problems: Vec::new(),
        },
        Err(problems) => CheckProfileSummary {
            facts: None,
            problems,
        },
    }
}

fn of_scale(error: &DriveError, scale: f64) -> ProfileProblem {
    ProfileProblem {
        line: None,
        key: error.place.clone(),
        value: Some(scale.to_string()),
        problem: error.problem.clone(),
        remedy: error.remedy.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CATALOGUE;

    /// Every shipped profile is a profile, and tells its latencies or its turns.
    #[test]
    fn shipped_profiles_tell_what_they_say() {
        for shipped in CATALOGUE {
            let judged = judge(shipped.text, 1.0);
            let facts = judged.facts.expect("it is shipped");
            assert_eq!(shipped.name, facts.name);
            assert_ne!(facts.read_p50_s.is_some(), facts.rpm.is_some());
            assert!(facts.read_p50_s <= facts.read_p99_s);
            assert!(facts
                .volatile_bytes
                .is_none_or(|bytes| Some(bytes) == facts.cache_bytes));
        }
    }

    /// All problems of a file come at once, each with its line; one of the scale has none.
    #[test]
    fn all_problems_come_at_once() {
        let text = CATALOGUE.iter().find(|each| each.name == "generic-nvme");
        let text = text.expect("it is shipped").text;
        let wrong = text.replace("channels = ", "channels = -");
        let wrong = format!("nonsense = 1\n{wrong}");
        let problems = judge(&wrong, 1.0).problems;
        let keys: Vec<&str> = problems.iter().map(|each| each.key.as_str()).collect();
        assert_eq!(["nonsense", "channels"], keys[..2]);
        assert_eq!(Some(1), problems[0].line);
        let judged = judge(text, 0.0);
        assert_eq!((None, 1), (judged.facts, judged.problems.len()));
        assert_eq!(
            (None, "scale"),
            (judged.problems[0].line, &*judged.problems[0].key)
        );
    }
}
