//! A drive that is up: its image, its thread, and its block device.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use stithy_measure::{Clock, SystemClock};
use stithy_wire::{DriveBacking, DriveCounters, DriveFault, DriveReady, DriveSpec};

use crate::backing::{FileImage, Image, MemoryImage, Safety, Store};
use crate::counters::Counters;
use crate::drive::{Drive, FaultOutcome};
use crate::error::DriveError;
use crate::model::{of_profile, Immediate, Model};
use crate::profile::Profile;
use crate::room;
use crate::serve::{orders, serve, Command, Orders, Timing};
use crate::transport::fuse::{self, Mount};
use crate::transport::LoopDevice;

/// How long a drive that is taken down may take to be let go of.
const LET_GO_TRIES: u32 = 500;
const LET_GO_PAUSE: Duration = Duration::from_millis(10);

/// A drive that is up. Dropped, it goes down, at the latest when nobody uses its device any more.
pub struct Device {
    ready: DriveReady,
    clock: SystemClock,
    counters: Arc<Mutex<Counters>>,
    orders: Orders,
    // In the order in which they must go.
    loop_device: LoopDevice,
    file: File,
    mount: Mount,
    thread: JoinHandle<io::Result<()>>,
}

impl Device {
    /// Brings a drive up.
    pub fn up(spec: &DriveSpec) -> Result<Self, DriveError> {
        check(spec)?;
        room::check(&spec.backing, spec.size_bytes)?;
        let clock = SystemClock::start();
        let counters = Counters::new(&spec.name, clock.unix_start().as_secs_f64(), clock.now());
        let counters = Arc::new(Mutex::new(counters));
        let drive = Drive::new(store(spec)?, model(spec)?, spec.seed, Arc::clone(&counters));
        let (session, mount) = fuse::open(spec.size_bytes)?;
        let (orders, inbox) =
            orders().map_err(|e| failed("its thread cannot be woken", spec, e))?;
        let timing = timing(spec.transport_s, spec.spin_s)?;
        let serving = move || {
            let (mut drive, mut session) = (drive, session);
            serve(&mut drive, &mut session, &inbox, &clock, timing)
        };
        let thread = std::thread::Builder::new()
            .name(format!("drive {}", spec.name))
            .spawn(serving)
            .map_err(|e| failed("its thread cannot be started", spec, e))?;
        let file = mount
            .open_file()
            .map_err(|e| failed("its file cannot be opened", spec, e))?;
        let loop_device = LoopDevice::attach(&file, spec.sector_bytes, &spec.name)?;
        let ready = DriveReady {
            drive: spec.name.clone(),
            device: loop_device.path().to_string(),
            size_bytes: spec.size_bytes,
        };
        Ok(Device {
            ready,
            clock,
            counters,
            orders,
            loop_device,
            file,
            mount,
            thread,
        })
    }

    /// Its name, device and size.
    pub fn ready(&self) -> &DriveReady {
        &self.ready
    }

    /// The counters of the second that ends now.
    pub fn take_second(&self) -> DriveCounters {
        self.counters().take_second(self.clock.now())
    }

    /// The counters since it came up.
    pub fn total(&self) -> DriveCounters {
        self.counters().total(self.clock.now())
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        // Whoever panicked with it had only counted.
        self.counters.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Breaks or mends the drive.
    ///
    /// Before the power comes back everything that the machine still has of the drive is dropped, as its
    /// memory would be: written late, or read from a cache, it would hide what the cut took.
    /// Errors: `device-in-use` while a file system is mounted, which could still write late.
    pub fn fault(&self, fault: DriveFault) -> Result<FaultOutcome, DriveError> {
        if fault == DriveFault::PowerOn {
            if self.is_held() {
                let problem = "the drive is mounted or held by another program";
                let remedy = "unmount it before the power comes back";
                let place = &self.ready.device;
                return Err(DriveError::precondition(
                    "device-in-use",
                    problem,
                    place,
                    remedy,
                ));
            }
            self.loop_device.drop_cache();
        }
        let (reply, answer) = sync_channel(1);
        self.orders.give(Command::Fault(fault, reply));
        answer.recv().map_err(|_| self.thread_ended())?
    }

    /// Whether its thread has ended though nobody took it down: every request fails.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits otherwise from now on.
    pub fn set_timing(&self, transport_s: f64, spin_s: f64) -> Result<(), DriveError> {
        let command = Command::Timing(timing(transport_s, spin_s)?);
        match self.orders.give(command) {
            true => Ok(()),
            false => Err(self.thread_ended()),
        }
    }

    fn thread_ended(&self) -> DriveError {
        let remedy = "take the drive down and bring it up again";
        let problem = "the drive's thread has ended";
        DriveError::infrastructure("drive-ended", problem, &self.ready.drive, remedy)
    }

    /// Whether its device is mounted, or held by something else for itself.
    pub fn is_held(&self) -> bool {
        self.loop_device.is_held()
    }

    /// Takes the drive down and gives its last counters.
    ///
    /// Errors: another process has the device open; the drive serves it until that lets go.
    pub fn down(self) -> Result<DriveCounters, DriveError> {
        drop((self.loop_device, self.file, self.mount));
        for _ in 0..LET_GO_TRIES {
            if self.thread.is_finished() {
                let counters = self.counters.lock().unwrap_or_else(|e| e.into_inner());
                return Ok(counters.total(self.clock.now()));
            }
            std::thread::sleep(LET_GO_PAUSE);
        }
        Err(DriveError::precondition(
            "device-in-use",
            "another process has the device open",
            &self.ready.device,
            "end that process; the drive goes with its last user",
        ))
    }
}

fn failed(problem: &str, spec: &DriveSpec, cause: io::Error) -> DriveError {
    let remedy = "look at the limits of open files, threads and memory";
    let problem = format!("{problem}: {cause}");
    DriveError::infrastructure("drive-failed", problem, &spec.name, remedy).caused_by(cause)
}

fn timing(transport_s: f64, spin_s: f64) -> Result<Timing, DriveError> {
    let duration = |key: &str, value_s: f64| {
        // More than a second of either would not be timing any more.
        match (0.0..=1.0).contains(&value_s) {
            true => Ok(Duration::from_secs_f64(value_s)),
            false => Err(invalid(key, &value_s.to_string(), "seconds from 0 to 1")),
        }
    };
    Ok(Timing {
        transport: duration("transport_s", transport_s)?,
        spin: duration("spin_s", spin_s)?,
    })
}

fn check(spec: &DriveSpec) -> Result<(), DriveError> {
    if spec.name.is_empty() || spec.name.len() > 63 {
        return Err(invalid("name", &spec.name, "1 to 63 characters"));
    }
    if !matches!(spec.sector_bytes, 512 | 4096) {
        let value = spec.sector_bytes.to_string();
        return Err(invalid("sector_bytes", &value, "512 or 4096"));
    }
    let sectors = spec.size_bytes / u64::from(spec.sector_bytes);
    if sectors == 0 || sectors * u64::from(spec.sector_bytes) != spec.size_bytes {
        let allowed = format!("a multiple of {} above 0", spec.sector_bytes);
        return Err(invalid(
            "size_bytes",
            &spec.size_bytes.to_string(),
            &allowed,
        ));
    }
    Ok(())
}

fn invalid(key: &str, value: &str, allowed: &str) -> DriveError {
    let problem = format!("{key} cannot be {value}");
    DriveError::usage("drive-invalid", problem, key, format!("give {allowed}"))
}

fn store(spec: &DriveSpec) -> Result<Store, DriveError> {
    let safety = match spec.volatile_bytes {
        None => Safety::Protected,
        Some(cache_bytes) => Safety::Volatile { cache_bytes },
    };
    Ok(Store::new(image(spec)?, safety))
}

fn image(spec: &DriveSpec) -> Result<Box<dyn Image>, DriveError> {
    let opened: io::Result<Box<dyn Image>> = match &spec.backing {
        DriveBacking::Memory => MemoryImage::new(spec.size_bytes).map(|image| Box::new(image) as _),
        DriveBacking::File { path } => {
            FileImage::open(Path::new(path), spec.size_bytes).map(|image| Box::new(image) as _)
        }
    };
    opened.map_err(|e| {
        let place = match &spec.backing {
            DriveBacking::Memory => "memory",
            DriveBacking::File { path } => path.as_str(),
        };
        let remedy = "give a smaller size, or a file on a file system with direct I/O";
        DriveError::precondition("no-backing", e.to_string(), place, remedy).caused_by(e)
    })
}

fn model(spec: &DriveSpec) -> Result<Box<dyn Model>, DriveError> {
    let Some(text) = &spec.profile else {
        return Ok(Box::<Immediate>::default());
    };
    let profile = Profile::parse("profile", text)?;
    if spec.size_bytes > profile.capacity_bytes {
        let allowed = format!(
            "at most {}, the capacity of the profile",
            profile.capacity_bytes
        );
        return Err(invalid(
            "size_bytes",
            &spec.size_bytes.to_string(),
            &allowed,
        ));
    }
    Ok(of_profile(&profile, spec.seed))
}
