//! A real drive, eight lanes on it, and two wanderers.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use super::disk::Disk;
use super::lane::{Lane, Plan};
use super::shared::Flushes;
use super::wanderer::{wander, LaneView};
use super::{Findings, Work};
use crate::support::{open_direct, spec};
use stithy_drive::device::Device;
use stithy_drive::drive::FaultOutcome;
use stithy_drive::host::keep_only;
use stithy_wire::{CutCounts, CutRule, DriveBacking, DriveFault, DriveVolatile, SlowRule};

pub const LANES: u64 = 8;
const WANDERERS: u64 = 2;

/// What a bench is like.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub lane_bytes: u64,
    pub sector_bytes: u32,
    /// Over a file, which can be read past the drive; otherwise in memory.
    pub is_file: bool,
    pub cache_bytes: u64,
    /// Some requests take longer than others, so that they overtake each other and are under way at a cut.
    pub is_unsteady: bool,
    pub flush_share: f64,
    /// One lane works, the others only watch over what they have: then nobody else's flush makes good what its
    /// own forgot.
    pub is_alone: bool,
    /// What a cut never tears.
    pub whole_bytes: u32,
    pub seed: u64,
}

impl Shape {
    /// Every combination comes up as the seeds go on.
    pub fn of_seed(seed: u64, lane_bytes: u64) -> Self {
        let sector_bytes = if seed % 5 == 3 { 512 } else { 4096 };
        let is_alone = seed % 7 == 6;
        Shape {
            lane_bytes,
            sector_bytes,
            is_file: seed.is_multiple_of(2),
            cache_bytes: [1 << 30, 4 << 20, 256 << 10][(seed % 3) as usize],
            is_unsteady: (seed / 2).is_multiple_of(2),
            flush_share: if is_alone {
                0.4
            } else {
                [0.1, 0.003][(seed / 4 % 2) as usize]
            },
            is_alone,
            whole_bytes: if sector_bytes == 512 || (seed / 8).is_multiple_of(2) {
                512
            } else {
                4096
            },
            seed,
        }
    }

    /// How the power is cut. Where one lane is alone everything is lost: a single write is looked for.
    fn cut(self, seed: u64) -> DriveFault {
        let (lost_share, torn_share) = if self.is_alone {
            (1.0, 0.0)
        } else {
            (0.3, 0.4)
        };
        DriveFault::PowerCut(CutRule {
            seed,
            lost_share,
            torn_share,
            unit_bytes: self.whole_bytes,
        })
    }
}

/// A file that goes when nobody needs it any more.
struct Image(PathBuf);

impl Drop for Image {
    fn drop(&mut self) {
        // A file that is gone already is as good.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What a cut did, and what was found afterwards.
#[derive(Debug, Clone, Copy)]
pub struct CutAccount {
    pub counts: CutCounts,
    pub findings: Findings,
    pub work: Work,
}

/// A drive under load.
pub struct Bench {
    device: Device,
    lanes: Vec<Lane>,
    image: Option<Image>,
    shape: Shape,
}

impl Bench {
    /// Brings the drive up; `folder` holds its image, if that is a file.
    pub fn new(folder: &Path, shape: Shape) -> Self {
        // Tests of one program run at once.
        static BENCHES: AtomicU64 = AtomicU64::new(0);
        let number = BENCHES.fetch_add(1, Ordering::Relaxed);
        let name = format!("check-{}-{number}", std::process::id());
        let image = shape
            .is_file
            .then(|| Image(folder.join(format!("stithy-{name}"))));
        let mut spec = spec(&name, LANES * shape.lane_bytes);
        spec.sector_bytes = shape.sector_bytes;
        spec.volatile = DriveVolatile::Bytes {
            limit_bytes: shape.cache_bytes,
        };
        if let Some(image) = &image {
            spec.backing = DriveBacking::File {
                path: image.0.display().to_string(),
            };
        }
        let plan = Plan {
            lane_bytes: shape.lane_bytes,
            sector_bytes: shape.sector_bytes as usize,
            flush_share: shape.flush_share,
            seed: shape.seed,
        };
        let flushes = Arc::new(Flushes::default());
        let lane = |number| Lane::new(number, plan, Arc::clone(&flushes));
        let bench = Bench {
            device: Device::up(&spec).expect("root, FUSE and a loop device"),
            lanes: (0..LANES).map(lane).collect(),
            image,
            shape,
        };
        if shape.is_unsteady {
            bench.fault(DriveFault::Slow(SlowRule {
                factor: 1.0,
                added_s: 0.0004,
                share: 0.3,
            }));
        }
        bench
    }

    pub fn fault(&self, fault: DriveFault) -> FaultOutcome {
        self.device.fault(fault).expect("the fault is possible")
    }

    pub fn device(&self) -> File {
        open_direct(&self.device.ready().device)
    }

    /// Every lane and every wanderer works, until `end` returns; gives what it returned and what was seen.
    fn work<T>(&mut self, end: impl FnOnce(&Device) -> T) -> (T, Account) {
        let disk = self.device();
        let stop = AtomicBool::new(false);
        let (sector_bytes, seed) = (self.shape.sector_bytes as usize, self.shape.seed);
        let views: Vec<LaneView> = self.lanes.iter().map(LaneView::of).collect();
        let at_work = if self.shape.is_alone {
            1
        } else {
            self.lanes.len()
        };
        let lanes = &mut self.lanes;
        let device = &self.device;
        std::thread::scope(|scope| {
            let (disk, stop, views) = (&disk, &stop, &views);
            let loads: Vec<_> = lanes
                .iter_mut()
                .take(at_work)
                .map(|lane| {
                    scope.spawn(move || {
                        keep_only(Some(disk.as_raw_fd())).expect("the kernel has close_range");
                        let error = lane.load(disk, stop);
                        (error, lane.take_account())
                    })
                })
                .collect();
            let walks: Vec<_> = (0..WANDERERS)
                .map(|number| {
                    let seed = seed * WANDERERS + number;
                    scope.spawn(move || {
                        keep_only(Some(disk.as_raw_fd())).expect("the kernel has close_range");
                        wander(disk, views, sector_bytes, seed, stop)
                    })
                })
                .collect();
            let given = end(device);
            stop.store(true, Ordering::Relaxed);
            let threads = loads.into_iter().chain(walks);
            let ends = threads.map(|thread| thread.join().expect("it ends"));
            (given, add(ends))
        })
    }

    /// Loads the drive for a time, then compares all of it with what it must hold.
    pub fn check(&mut self, time: Duration) -> (Findings, Work) {
        let ((), account) = self.work(|_| std::thread::sleep(time));
        assert!(account.errors.is_empty(), "{:?}", account.errors);
        assert!(account.work.writes > 0, "nothing was checked");
        (
            account.findings.and(self.verify(&self.device())),
            account.work,
        )
    }

    /// What `disk` holds and must not, nothing being under way.
    fn verify(&self, disk: &dyn Disk) -> Findings {
        let found = |lane: &Lane| lane.verify(disk).expect("it is read");
        let each = self.lanes.iter().map(found);
        each.fold(Findings::default(), Findings::and)
    }

    /// Loads the drive for a time and cuts its power under the load; writes into the dark; lets the power
    /// come back, and compares.
    pub fn cut(&mut self, time: Duration, seed: u64) -> CutAccount {
        let fault = self.shape.cut(seed);
        let (outcome, account) = self.work(|device| {
            std::thread::sleep(time);
            device.fault(fault).expect("it has power")
        });
        let FaultOutcome::Cut(counts) = outcome else {
            panic!("the power was not cut");
        };
        let mut findings = account.findings;
        for error in account.errors {
            assert_eq!(Some(libc::EIO), error.raw_os_error());
        }
        let before = self.raw();
        let disk = self.device();
        for lane in &mut self.lanes {
            let refused = lane
                .write_into_the_dark(&disk)
                .expect_err("it has no power");
            assert_eq!(Some(libc::EIO), refused.raw_os_error());
        }
        self.fault(DriveFault::PowerOn);
        for lane in &mut self.lanes {
            let found = lane.verify_after_cut(&disk, self.shape.whole_bytes as usize);
            findings = findings.and(found.expect("it has power"));
        }
        assert!(
            before == self.raw(),
            "something reached the drive after the cut"
        );
        CutAccount {
            counts,
            findings,
            work: account.work,
        }
    }

    /// The image past the drive; nothing for one in memory.
    fn raw(&self) -> Option<Vec<u8>> {
        let image = self.image.as_ref()?;
        Some(std::fs::read(&image.0).expect("the image is a file"))
    }

    /// Takes the drive down and compares its image, read past the drive, with what it must hold: no less,
    /// and no space for what was never written.
    pub fn down(mut self) -> Findings {
        let image = self.image.take();
        let lanes = std::mem::take(&mut self.lanes);
        self.device.down().expect("nobody uses it");
        let Some(image) = image else {
            return Findings::default();
        };
        let file = File::open(&image.0).expect("the image stays");
        let metadata = file.metadata().expect("it is a file");
        assert_eq!(LANES * self.shape.lane_bytes, metadata.len());
        assert!(metadata.blocks() * 512 <= metadata.len() + (1 << 20));
        let found = |lane: Lane| lane.verify(&file).expect("it is read");
        let each = lanes.into_iter().map(found);
        each.fold(Findings::default(), Findings::and)
    }
}

/// What lanes and wanderers saw and did, and the I/O errors that ended some.
#[derive(Default)]
struct Account {
    findings: Findings,
    work: Work,
    errors: Vec<std::io::Error>,
}

fn add(ends: impl Iterator<Item = (Option<std::io::Error>, (Findings, Work))>) -> Account {
    let mut account = Account::default();
    for (error, (found, done)) in ends {
        account.findings = account.findings.and(found);
        account.work = account.work.and(done);
        account.errors.extend(error);
    }
    account
}
