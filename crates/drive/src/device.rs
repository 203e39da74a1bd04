//! A drive that is up: its image, its thread, and its block device.

mod recordings;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use stithy_measure::{priority, this_thread, Clock, Moment, SystemClock, ThreadTime};
use stithy_wire::{DriveBacking, DriveCounters, DriveFault, DriveReady, DriveSpec, Warning};

use crate::backing::{FileImage, Image, MemoryImage, Store};
use crate::counters::{Counters, Tally};
use crate::drive::{Drive, FaultOutcome};
use crate::error::DriveError;
use crate::latency_compensation::LatencyCompensation;
use crate::latency_log::LatencyLog;
use crate::room;
use crate::serve::{orders, serve, Command, Orders, Timing};
use crate::spec::{resolve, Resolved};
use crate::trace::Trace;
use crate::transport::fuse::{self, Mount};
use crate::transport::{BlockTimes, LoopDevice};
use crate::wake::Bell;
use crate::wakefulness::Wakefulness;

/// How long a drive that is taken down may take to be let go of.
const LET_GO_TRIES: u32 = 500;
const LET_GO_PAUSE: Duration = Duration::from_millis(10);

/// What a drive finds in the program that it comes up in.
#[derive(Default)]
pub struct Surroundings<'a> {
    /// The images and sizes of the other drives.
    pub others: &'a [(&'a DriveBacking, u64)],
    /// How drives wait that are not told otherwise.
    pub timing: Timing,
    /// What keeps CPUs awake while drives work.
    pub awake: Arc<Wakefulness>,
    /// Whether drives are served before everything else on the machine, where that is permitted.
    pub before_all: bool,
}

/// A drive that is up. Dropped, it goes down, at the latest when nobody uses its device any more.
pub struct Device {
    ready: DriveReady,
    timing: Timing,
    clock: SystemClock,
    tally: Tally,
    log: Option<LatencyLog>,
    trace: Option<Trace>,
    /// Requests of the trace whose loss was reported.
    lost_told: u64,
    /// Whether it was told that its thread has ended.
    end_told: bool,
    /// Why its thread has ended, if that was an error.
    failure: Arc<OnceLock<String>>,
    warnings: Vec<Warning>,
    thread_number: i32,
    /// Threads that read and write the file of its image.
    helpers: Vec<i32>,
    helpers_time: ThreadTime,
    thread_time: Option<ThreadTime>,
    orders: Orders,
    // In the order in which they must go.
    loop_device: LoopDevice,
    file: File,
    mount: Mount,
    thread: JoinHandle<io::Result<()>>,
}

impl Device {
    /// Brings a drive up that is alone in the program; timing that is not given is 0.
    pub fn up(spec: &DriveSpec) -> Result<Self, DriveError> {
        Self::up_beside(spec, Surroundings::default())
    }

    /// Brings a drive up in a program that may have others.
    pub fn up_beside(spec: &DriveSpec, surroundings: Surroundings<'_>) -> Result<Self, DriveError> {
        let Surroundings {
            others,
            timing,
            awake,
            before_all,
        } = surroundings;
        let resolved = resolve(spec, timing)?;
        room::check(&spec.backing, spec.size_bytes, others)?;
        let clock = SystemClock::start();
        let counters = Arc::new(Mutex::new(Counters::new(clock.now())));
        let start_s = clock.unix_start().as_secs_f64();
        let tally = Tally::new(&spec.name, start_s, Arc::clone(&counters), clock.now());
        let (orders, inbox) =
            orders().map_err(|e| failed("its thread cannot be woken", spec, e))?;
        let opened = image(spec, orders.bell(), before_all)?;
        let store = Store::new(opened.image, resolved.volatile_bytes);
        let mut drive = Drive::new(store, resolved.model(spec.seed), spec.seed, counters);
        drive.draw(
            clock.now(),
            resolved.profile.as_ref().and_then(|profile| profile.power),
        );
        let (session, mount) = fuse::open(spec.size_bytes)?;
        let timing = resolved.timing;
        let failure = Arc::new(OnceLock::new());
        let cause = Arc::clone(&failure);
        let serving = move || {
            if before_all {
                priority::before_all();
            }
            let (mut drive, mut session, mut inbox) = (drive, session, inbox);
            let served = serve(&mut drive, &mut session, &mut inbox, &clock, timing, &awake)
                .and_then(|()| drive.finish());
            if let Err(e) = &served {
                // It ends once.
                let _ = cause.set(e.to_string());
            }
            served
        };
        let thread = std::thread::Builder::new()
            .name(format!("drive {}", spec.name))
            .spawn(serving)
            .map_err(|e| failed("its thread cannot be started", spec, e))?;
        let file = mount
            .open_file()
            .map_err(|e| failed("its file cannot be opened", spec, e))?;
        let loop_device = LoopDevice::attach(&file, spec.sector_bytes, &spec.name)?;
        let log = recordings::latency_log(spec, &clock)?;
        let mut device = Device {
            ready: ready(spec, &resolved, loop_device.path()),
            timing,
            clock,
            tally,
            log,
            trace: None,
            lost_told: 0,
            end_told: false,
            failure,
            warnings: opened.warnings,
            thread_number: 0,
            helpers: opened.threads,
            helpers_time: ThreadTime::default(),
            thread_time: None,
            orders,
            loop_device,
            file,
            mount,
            thread,
        };
        device.thread_number = device.ask(|_, _| this_thread())?;
        device.compensate_by_counters()?;
        Ok(device)
    }

    /// Has the drive keep to its profile by what the kernel counts, where that is wanted and counted.
    fn compensate_by_counters(&self) -> Result<(), DriveError> {
        let counted = BlockTimes::of(&self.ready.device).ok();
        match (self.timing.beside, counted) {
            (Some(beside), Some(times)) => self.ask(move |drive, _| {
                drive.compensate_by_counters(LatencyCompensation::by(times, beside))
            }),
            _ => Ok(()),
        }
    }

    /// What it is.
    pub fn ready(&self) -> &DriveReady {
        &self.ready
    }

    /// The counters of the second that ends now.
    pub fn take_second(&mut self) -> DriveCounters {
        let told = self.end_second();
        self.look_after_trace();
        if self.has_ended() && !self.end_told {
            self.end_told = true;
            let cause = self.failure.get().map(|cause| format!(", because {cause}"));
            let cause = cause.unwrap_or_default();
            let text = format!("{} has ended: I/O on it fails{cause}", self.ready.drive);
            self.warn("drive-ended", text);
        }
        let now = ThreadTime::of(self.thread_number);
        let before = std::mem::replace(&mut self.thread_time, now).unwrap_or_default();
        let helped = self.helped();
        let helped_before = std::mem::replace(&mut self.helpers_time, helped);
        let own = now.map(|now| now.since(before));
        self.completed(told, own, helped.since(helped_before))
    }

    /// The time of the threads that read and write its image.
    fn helped(&self) -> ThreadTime {
        let times = self
            .helpers
            .iter()
            .filter_map(|&number| ThreadTime::of(number));
        times.fold(ThreadTime::default(), |sum, each| ThreadTime {
            ran: sum.ran + each.ran,
            ..sum
        })
    }

    /// The counters since it came up.
    pub fn total(&mut self) -> DriveCounters {
        let told = self.tally.total(self.clock.now());
        self.completed(told, ThreadTime::of(self.thread_number), self.helped())
    }

    fn completed(
        &self,
        counters: DriveCounters,
        time: Option<ThreadTime>,
        helped: ThreadTime,
    ) -> DriveCounters {
        DriveCounters {
            cpu_s: time.map(|time| (time.ran + helped.ran).as_secs_f64()),
            cpu_wait_s: time.map(|time| time.waited.as_secs_f64()),
            paced: self.ready.paced,
            ..counters
        }
    }

    /// Breaks or repairs the drive.
    ///
    /// Before the power comes back everything that the machine still has of the drive is dropped, as its
    /// memory would be: written late, or read from a cache, it would hide what the cut took.
    /// Errors: `device-in-use` while a file system is mounted, which could still write late.
    pub fn fault(&self, fault: DriveFault) -> Result<FaultOutcome, DriveError> {
        if fault == DriveFault::PowerOn {
            self.refuse_held("unmount it before the power comes back")?;
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

    /// Waits otherwise from now on, and takes the profile's time or not; what is None stays.
    pub fn set(
        &mut self,
        transport_s: Option<f64>,
        spin_s: Option<f64>,
        paced: Option<bool>,
    ) -> Result<(), DriveError> {
        let timing = self.timing.changed(transport_s, spin_s)?;
        if !self.orders.give(Command::Timing(timing)) {
            return Err(self.thread_ended());
        }
        self.timing = timing;
        (self.ready.transport_s, self.ready.spin_s) = seconds(timing);
        if let Some(paced) = paced {
            self.ask(move |drive, now| drive.set_paced(now, paced))?;
            self.ready.paced = paced;
        }
        Ok(())
    }

    /// Keeps what of the drive outlasts its requests; false, and nothing is kept, while requests are under
    /// way.
    pub fn snapshot(&self) -> Result<bool, DriveError> {
        self.ask(Drive::snapshot)
    }

    /// Puts back what [`Device::snapshot`] kept; false, and nothing has changed, while requests are under
    /// way.
    ///
    /// Errors: `no-snapshot`.
    pub fn restore(&self) -> Result<bool, DriveError> {
        self.ask(Drive::restore)?
    }

    /// Has the drive's thread do something, and gives what came of it.
    fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Drive, Moment) -> T + Send + 'static,
    ) -> Result<T, DriveError> {
        let (reply, answer) = sync_channel(1);
        let work = move |drive: &mut Drive, now: Moment| {
            // Whoever asked waits for it; if not, what was done is done.
            let _ = reply.send(work(drive, now));
        };
        self.orders.give(Command::Work(Box::new(work)));
        answer.recv().map_err(|_| self.thread_ended())
    }

    fn thread_ended(&self) -> DriveError {
        let remedy = "take the drive down and bring it up again";
        let problem = "the drive's thread has ended";
        DriveError::infrastructure("drive-ended", problem, &self.ready.drive, remedy)
    }

    /// Has its image keep everything that was answered so far.
    ///
    /// Errors: `image-failed`.
    pub fn keep(&self) -> Result<(), DriveError> {
        self.ask(|drive, _| drive.finish())?
            .map_err(|e| image_failed(&e.to_string(), &self.ready.drive))
    }

    /// Whether its device is mounted, or held by something else for itself.
    pub fn is_held(&self) -> bool {
        self.loop_device.is_held()
    }

    /// Refuses a drive that is so for longer than a moment, which is waited for.
    ///
    /// Errors: `device-in-use`.
    pub fn refuse_held(&self, remedy: &str) -> Result<(), DriveError> {
        match self.loop_device.stays_held() {
            true => {
                let problem = "the drive is mounted or held by another program";
                Err(in_use(&self.ready.device, problem, remedy))
            }
            false => Ok(()),
        }
    }

    /// Takes the drive down and gives its last counters.
    ///
    /// Errors: another process has the device open; the drive serves it until that lets go. `image-failed`: what it had
    /// answered is not in its image.
    pub fn down(mut self) -> Result<DriveCounters, DriveError> {
        self.end_recordings();
        let last = self.total();
        drop((self.loop_device, self.file, self.mount));
        for _ in 0..LET_GO_TRIES {
            if self.thread.is_finished() {
                if let Some(cause) = self.failure.get() {
                    return Err(image_failed(cause, &self.ready.drive));
                }
                return Ok(DriveCounters {
                    cpu_s: last.cpu_s,
                    cpu_wait_s: last.cpu_wait_s,
                    paced: last.paced,
                    ..self.tally.total(self.clock.now())
                });
            }
            std::thread::sleep(LET_GO_PAUSE);
        }
        let problem = "another process has the device open";
        let remedy = "end that process; the drive goes with its last user";
        Err(in_use(&self.ready.device, problem, remedy))
    }
}

fn in_use(device: &str, problem: &str, remedy: &str) -> DriveError {
    DriveError::precondition("device-in-use", problem, device, remedy)
}

fn ready(spec: &DriveSpec, resolved: &Resolved, device: &str) -> DriveReady {
    let (transport_s, spin_s) = seconds(resolved.timing);
    DriveReady {
        drive: spec.name.clone(),
        device: device.to_string(),
        size_bytes: spec.size_bytes,
        sector_bytes: spec.sector_bytes,
        backing: spec.backing.clone(),
        profile: resolved.profile.as_ref().map(|it| it.name.clone()),
        scale: spec.scale,
        volatile_bytes: resolved.volatile_bytes,
        transport: fuse::NAME.to_string(),
        transport_s,
        spin_s,
        paced: true,
    }
}

fn seconds(timing: Timing) -> (f64, f64) {
    (
        timing.transport.read.small.as_secs_f64(),
        timing.spin.as_secs_f64(),
    )
}

fn failed(problem: &str, spec: &DriveSpec, cause: io::Error) -> DriveError {
    let remedy = "look at the limits of open files, threads and memory";
    let problem = format!("{problem}: {cause}");
    DriveError::infrastructure("drive-failed", problem, &spec.name, remedy).caused_by(cause)
}

fn image_failed(cause: &str, drive: &str) -> DriveError {
    let remedy = "look at the file system that holds the image; the image is not to be used again";
    let problem = format!("what was written last is not in the image: {cause}");
    DriveError::infrastructure("image-failed", problem, drive, remedy)
}

/// An image with what serves it.
struct Opened {
    image: Box<dyn Image>,
    threads: Vec<i32>,
    warnings: Vec<Warning>,
}

fn image(spec: &DriveSpec, bell: Arc<Bell>, before_all: bool) -> Result<Opened, DriveError> {
    let opened = match &spec.backing {
        DriveBacking::Memory => MemoryImage::new(spec.size_bytes).map(|image| Opened {
            image: Box::new(image),
            threads: Vec::new(),
            warnings: Vec::new(),
        }),
        DriveBacking::File { path } => {
            FileImage::open(Path::new(path), spec.size_bytes, bell, before_all).map(|opened| {
                let left = opened.was_left.then(|| was_left(path));
                Opened {
                    image: Box::new(opened.image),
                    threads: opened.threads,
                    warnings: left.into_iter().collect(),
                }
            })
        }
    };
    opened.map_err(|e| {
        let place = match &spec.backing {
            DriveBacking::Memory => "memory",
            DriveBacking::File { path } => path.as_str(),
        };
        let remedy =
            "give a smaller size, or a file that is not there yet on a file system with direct I/O";
        DriveError::precondition("no-backing", e.to_string(), place, remedy).caused_by(e)
    })
}

fn was_left(path: &str) -> Warning {
    let text = format!(
        "the program that served {path} last was killed, or ended while the drive was in use: what it answered in its \
         last moments, flushed or not, may be missing; check the file system on it"
    );
    let code = "image-left".to_string();
    Warning { code, text }
}
