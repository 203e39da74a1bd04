//! The drives of one program, by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use stithy_measure::locked;
use stithy_wire::{
    ControlAnswer, ControlRequest, DriveCounters, DriveMessage, DriveReady, DriveSpec, Warning,
};

use crate::calibrate::calibrate;
use crate::device::{Device, Surroundings};
use crate::drive::FaultOutcome;
use crate::error::DriveError;
use crate::serve::Timing;
use crate::wakefulness::Wakefulness;

/// How long to wait for a moment at which nothing is under way: ten seconds.
const REST_TRIES: u32 = 10_000;
const REST_PAUSE: Duration = Duration::from_millis(1);

/// Where messages go; called from several threads.
pub type Sink = Box<dyn Fn(DriveMessage) + Send + Sync>;

/// The drives that are up.
pub struct Fleet {
    devices: Mutex<BTreeMap<String, Device>>,
    sink: Sink,
    awake: Arc<Wakefulness>,
    /// How drives wait that are not told otherwise; found when the first of them comes up.
    timing: OnceLock<Timing>,
}

impl Fleet {
    /// No drive yet; `sink` takes what there is to tell of each.
    pub fn new(sink: Sink, awake: Wakefulness) -> Self {
        Fleet {
            devices: Mutex::default(),
            sink,
            awake: Arc::new(awake),
            timing: OnceLock::new(),
        }
    }

    /// Tells something.
    pub fn tell(&self, message: DriveMessage) {
        (self.sink)(message);
    }

    /// Tells what a reader should know.
    pub fn warn(&self, code: &str, text: String) {
        let code = code.to_string();
        self.tell(DriveMessage::Warning(Warning { code, text }));
    }

    /// Brings a drive up under a name that no other has.
    pub fn up(&self, spec: &DriveSpec) -> Result<DriveReady, DriveError> {
        let mut devices = locked(&self.devices);
        refuse_what_is_taken(spec, &devices)?;
        let others = devices.values().map(Device::ready);
        let others: Vec<_> = others
            .map(|ready| (&ready.backing, ready.size_bytes))
            .collect();
        let surroundings = Surroundings {
            others: &others,
            timing: self.timing(spec)?,
            awake: Arc::clone(&self.awake),
            before_all: true,
        };
        let device = Device::up_beside(spec, surroundings)?;
        let ready = device.ready().clone();
        devices.insert(spec.name.clone(), device);
        self.tell(DriveMessage::DriveReady(ready.clone()));
        Ok(ready)
    }

    /// How a drive waits where nothing is given; measured once, for the first that needs it.
    fn timing(&self, spec: &DriveSpec) -> Result<Timing, DriveError> {
        let told = spec.profile.is_none() || (spec.transport_s.is_some() && spec.spin_s.is_some());
        match self.timing.get() {
            Some(timing) => Ok(*timing),
            None if told => Ok(Timing::default()),
            None => {
                let timing = calibrate(&self.awake)?;
                Ok(*self.timing.get_or_init(|| timing))
            }
        }
    }

    /// Tells the second of each drive that ends now.
    pub fn tell_second(&self) {
        self.awake.relax();
        let (seconds, warnings): (Vec<DriveCounters>, Vec<Vec<Warning>>) = {
            let mut devices = locked(&self.devices);
            let tell = |device: &mut Device| (device.take_second(), device.take_warnings());
            devices.values_mut().map(tell).unzip()
        };
        for warning in warnings.into_iter().flatten() {
            self.tell(DriveMessage::Warning(warning));
        }
        for second in seconds {
            self.tell(DriveMessage::DriveSecond(Box::new(second)));
        }
    }

    /// Does what a request asks.
    pub fn obey(&self, request: ControlRequest) -> Result<ControlAnswer, DriveError> {
        match request {
            ControlRequest::Up { spec } => self.up(&spec).map(ControlAnswer::Up),
            ControlRequest::List => Ok(ControlAnswer::List {
                drives: locked(&self.devices)
                    .values()
                    .map(|each| each.ready().clone())
                    .collect(),
            }),
            ControlRequest::Stats { drive } => self.of(&drive, |device| {
                Ok(ControlAnswer::Stats(Box::new(device.total())))
            }),
            ControlRequest::Set {
                drive,
                transport_s,
                spin_s,
                paced,
            } => self.of(&drive, |device| {
                device.set(transport_s, spin_s, paced)?;
                Ok(ControlAnswer::Done)
            }),
            ControlRequest::Snapshot { drive } => self.at_rest(&drive, Device::snapshot),
            ControlRequest::Restore { drive } => self.at_rest(&drive, Device::restore),
            ControlRequest::Trace { drive, path } => self.of(&drive, |device| {
                let counts = match path {
                    Some(path) => device.begin_trace(&path),
                    None => device.end_trace(),
                };
                counts.map(ControlAnswer::Trace)
            }),
            ControlRequest::Fault { drive, fault } => self.of(&drive, |device| {
                Ok(match device.fault(fault)? {
                    FaultOutcome::Set => ControlAnswer::Done,
                    FaultOutcome::Cut(counts) => ControlAnswer::PowerCut(counts),
                })
            }),
            ControlRequest::Down { drive } => self.down(drive.as_deref()),
        }
    }

    /// Tries until it is done, which needs a moment at which nothing is under way. Other requests are
    /// answered meanwhile.
    fn at_rest(
        &self,
        name: &str,
        attempt: fn(&Device) -> Result<bool, DriveError>,
    ) -> Result<ControlAnswer, DriveError> {
        for _ in 0..REST_TRIES {
            if self.of(name, |device| attempt(device))? {
                return Ok(ControlAnswer::Done);
            }
            std::thread::sleep(REST_PAUSE);
        }
        let problem = "requests are under way all the time";
        let remedy = "end what uses the drive, or sync it, and try again";
        Err(DriveError::precondition(
            "drive-busy",
            problem,
            name,
            remedy,
        ))
    }

    fn of<T>(
        &self,
        name: &str,
        ask: impl FnOnce(&mut Device) -> Result<T, DriveError>,
    ) -> Result<T, DriveError> {
        let mut devices = locked(&self.devices);
        match devices.get_mut(name) {
            Some(device) => ask(device),
            None => Err(unknown(name, &devices)),
        }
    }

    fn down(&self, name: Option<&str>) -> Result<ControlAnswer, DriveError> {
        let mut devices = locked(&self.devices);
        let names: Vec<String> = match name {
            Some(name) if !devices.contains_key(name) => return Err(unknown(name, &devices)),
            Some(name) => vec![name.to_string()],
            None => devices.keys().cloned().collect(),
        };
        // All or none: a drive with a file system on it stays, and so do the others.
        for device in names.iter().filter_map(|name| devices.get(name)) {
            device.refuse_held("unmount it first")?;
        }
        for name in names {
            self.take_down(&mut devices, &name)?;
        }
        Ok(ControlAnswer::Done)
    }

    fn take_down(
        &self,
        devices: &mut BTreeMap<String, Device>,
        name: &str,
    ) -> Result<(), DriveError> {
        if let Some(mut device) = devices.remove(name) {
            self.end_recordings(&mut device);
            self.tell(DriveMessage::DriveSummary(Box::new(device.down()?)));
        }
        Ok(())
    }

    fn end_recordings(&self, device: &mut Device) {
        device.end_recordings();
        for warning in device.take_warnings() {
            self.tell(DriveMessage::Warning(warning));
        }
    }

    /// Takes every drive down, also those that are held: what uses them gets I/O errors when the process
    /// has ended.
    pub fn abandon(&self) {
        let mut devices = locked(&self.devices);
        for (_, mut device) in std::mem::take(&mut *devices) {
            self.end_recordings(&mut device);
            let total = device.total();
            if device.is_held() {
                if let Err(error) = device.keep() {
                    self.warn(error.code, error.to_string());
                }
                let text = format!(
                    "{} is still in use: I/O on it fails from now on",
                    total.drive
                );
                self.warn("device-in-use", text);
                self.tell(DriveMessage::DriveSummary(Box::new(total)));
                // Its thread serves until the process ends; to wait for it would be to wait for ever.
                std::mem::forget(device);
                continue;
            }
            let last = device.down().unwrap_or(total);
            self.tell(DriveMessage::DriveSummary(Box::new(last)));
        }
    }
}

/// Refuses a name, or a place for an interval log, that a drive that is up has.
fn refuse_what_is_taken(
    spec: &DriveSpec,
    devices: &BTreeMap<String, Device>,
) -> Result<(), DriveError> {
    let name = &spec.name;
    if devices.contains_key(name) {
        let problem = "a drive of this name is already up";
        let remedy = "take it down first, or give another name";
        return Err(DriveError::usage("drive-exists", problem, name, remedy));
    }
    let asked = spec.hlog_stem.as_deref();
    let has_it = |device: &&Device| asked.is_some() && device.hlog_stem() == asked;
    match devices.values().find(has_it) {
        None => Ok(()),
        Some(other) => {
            let problem = format!("{} keeps its interval log there", other.ready().drive);
            let remedy = "give each drive a stem of its own";
            Err(DriveError::usage(
                "drive-invalid",
                problem,
                "hlog_stem",
                remedy,
            ))
        }
    }
}

fn unknown(name: &str, devices: &BTreeMap<String, Device>) -> DriveError {
    let names: Vec<&str> = devices.keys().map(String::as_str).collect();
    let remedy = match names.as_slice() {
        [] => "bring it up first; none is up".to_string(),
        names => format!("give one that is up: {}", names.join(", ")),
    };
    DriveError::usage("drive-unknown", "no drive of this name is up", name, remedy)
}
