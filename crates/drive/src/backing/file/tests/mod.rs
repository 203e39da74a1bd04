//! An image in a file against one in memory, whenever and in whatever order the file is read and written.

pub(crate) mod slow;

use self::slow::SlowFile;
use super::*;
use crate::backing::MemoryImage;
use stithy_measure::Rng;

const PAGES: usize = 64;
const SIZE: u64 = (PAGES * BLOCK_BYTES) as u64;

fn opened(path: &Path, size_bytes: u64) -> FileImage {
    let bell = Arc::new(Bell::new().expect("an event"));
    let opened = FileImage::open(path, size_bytes, bell, false);
    opened.expect("a file with direct I/O").image
}

fn temporary(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("stithy-{name}-{}", std::process::id()))
}

/// Both, and what is under way.
struct Pair<'a> {
    file: &'a mut FileImage,
    memory: MemoryImage,
    wanted: Vec<Need>,
    /// What was exchanged early: what is known of what was there, and what was there.
    early: Vec<(Vec<u8>, Vec<u8>)>,
    rng: Rng,
}

impl Pair<'_> {
    /// A range, of whole pages in half of all cases.
    fn range(&mut self) -> (u64, u64) {
        let offset = self.rng.below(SIZE / 512) * 512;
        let length = ((1 + self.rng.below(30)) * 512).min(SIZE - offset);
        match self.rng.chance(0.5) {
            true => (offset / 4096 * 4096, (length / 4096 * 4096).max(4096)),
            false => (offset, length),
        }
    }

    /// Does something to both.
    fn step(&mut self, value: u8) -> io::Result<()> {
        let (offset, length) = self.range();
        let (mut first, mut second) = (vec![value; length as usize], vec![value; length as usize]);
        match self.rng.below(10) {
            0 => {
                self.file.clear(offset, length)?;
                self.memory.clear(offset, length)?;
            }
            1 => {
                self.file.exchange(offset, &mut first)?;
                self.memory.exchange(offset, &mut second)?;
                assert!(second == first, "what was replaced");
            }
            2 => {
                let name = self.early.len() as u64;
                self.file.exchange_early(offset, &mut first, name)?;
                self.memory.exchange(offset, &mut second)?;
                self.early.push((first, second));
            }
            3 | 4 => {
                self.file.write(offset, &first)?;
                self.memory.write(offset, &second)?;
            }
            5 | 6 => {
                let purposes = [Purpose::Know, Purpose::Replace, Purpose::Exchange];
                let need = Need {
                    offset_bytes: offset,
                    length_bytes: length,
                    purpose: purposes[self.rng.below(3) as usize],
                };
                self.file.want(&need);
                self.wanted.push(need);
            }
            7 | 8 if !self.wanted.is_empty() => {
                let chosen = self.rng.below(self.wanted.len() as u64) as usize;
                self.file.let_go(&self.wanted.swap_remove(chosen));
            }
            _ => self.same(offset, length)?,
        }
        Ok(())
    }

    fn same(&mut self, offset: u64, length: u64) -> io::Result<()> {
        let seen = self.file.view(offset, length as usize)?;
        assert!(seen == self.memory.view(offset, length as usize)?);
        Ok(())
    }

    /// Lets everything end, and compares what is left.
    fn end(&mut self) -> io::Result<()> {
        self.same(0, SIZE)?;
        self.wanted.iter().for_each(|need| self.file.let_go(need));
        self.file.settle_formers()?;
        while let Some(former) = self.file.former() {
            let known = &mut self.early[former.name as usize].0;
            known[former.at..former.at + 4096].copy_from_slice(&former.content[..]);
        }
        let mut early = self.early.iter();
        assert!(
            early.all(|(known, was)| known == was),
            "what was replaced early"
        );
        self.file.finish()?;
        let is_left = self.file.pages.of(0..u64::MAX).any(|page| !page.is_fetched);
        assert!(!is_left, "all is in the file");
        self.same(0, SIZE)
    }
}

/// Does the same random things with both, and looks whether both show the same; `advance` is called between.
fn compare(file: &mut FileImage, seed: u64, mut advance: impl FnMut(&mut FileImage, &mut Rng)) {
    let mut pair = Pair {
        file,
        memory: MemoryImage::new(SIZE).expect("memory"),
        wanted: Vec::new(),
        early: Vec::new(),
        rng: Rng::new(seed, 1),
    };
    for step in 0..400_u64 {
        pair.step(step as u8).expect("nothing fails");
        advance(pair.file, &mut pair.rng);
    }
    pair.end().expect("nothing fails");
}

/// To whoever uses it an image in a file is as one in memory, whatever of the file is read and written meanwhile.
#[test]
fn a_slow_file_shows_what_memory_shows() {
    for seed in 0..300 {
        let slow = SlowFile::new(PAGES, seed);
        let pace = seed % 4;
        compare(&mut slow.image(), seed, |file, rng| {
            (0..rng.below(pace + 1)).for_each(|_| slow.step());
            if rng.chance(0.5) {
                file.collect().expect("nothing fails");
            }
            file.hand_on(false);
        });
    }
}

/// The same with the threads of a drive and a real file; another opening finds what it held.
#[test]
fn a_file_holds_what_memory_holds() {
    let path = temporary("image");
    for seed in 0..3 {
        let mut file = opened(&path, SIZE);
        compare(&mut file, seed, |file, _| {
            file.collect().expect("nothing fails");
            file.hand_on(false);
        });
        let before = file.view(0, SIZE as usize).unwrap().to_vec();
        drop(file);
        let mut file = opened(&path, SIZE);
        assert!(before == file.view(0, SIZE as usize).unwrap());
        file.clear(0, SIZE).unwrap();
    }
    let bell = Arc::new(Bell::new().expect("an event"));
    let other_size = FileImage::open(&path, SIZE * 2, bell, false).is_err();
    std::fs::remove_file(&path).unwrap();
    assert!(other_size);
}

/// Ranges of the largest request are read and written wherever they begin.
#[test]
fn large_ranges_may_begin_anywhere() {
    let path = temporary("anywhere");
    let mut file = opened(&path, 4 << 20);
    let done: io::Result<()> = [0, 512, 4096 - 512, 4096].iter().try_for_each(|&offset| {
        let content: Vec<u8> = (0..1 << 20).map(|n| (n / 512 + offset) as u8).collect();
        file.write(offset, &content)?;
        assert!(file.view(offset, 1 << 20)? == content, "at {offset}");
        file.finish()?;
        assert!(
            file.view(offset, 1 << 20)? == content,
            "at {offset}, from the file"
        );
        Ok(())
    });
    std::fs::remove_file(&path).unwrap();
    done.expect("it is inside the file");
}

/// A whole page that is written over need not be read; a part of one, or one that may be taken back, must.
#[test]
fn only_what_is_needed_is_fetched() {
    let slow = SlowFile::new(PAGES, 1);
    let mut image = slow.image();
    let fetched = |image: &mut FileImage, offset_bytes, length_bytes, purpose| {
        let need = Need {
            offset_bytes,
            length_bytes,
            purpose,
        };
        image.want(&need);
        let jobs: Vec<_> = slow
            .lock()
            .waiting
            .iter()
            .map(|job| (job.first, job.pages))
            .collect();
        slow.run();
        image.collect().expect("nothing fails");
        image.let_go(&need);
        jobs
    };
    assert_eq!(
        vec![(2, 3)],
        fetched(&mut image, 8192, 3 * 4096, Purpose::Know)
    );
    assert!(fetched(&mut image, 8192, 3 * 4096, Purpose::Replace).is_empty());
    assert_eq!(
        vec![(2, 1), (5, 1)],
        fetched(&mut image, 8192 + 512, 3 * 4096, Purpose::Replace)
    );
    assert_eq!(
        vec![(2, 1)],
        fetched(&mut image, 8192, 512, Purpose::Replace)
    );
    assert!(
        fetched(&mut image, SIZE, 512, Purpose::Know).is_empty(),
        "it is outside"
    );
}

/// What was replaced before it was known is known in the end, though the page became zero meanwhile.
#[test]
fn what_is_owed_is_read_before_the_page_becomes_zero() {
    let slow = SlowFile::new(PAGES, 1);
    let mut image = slow.image();
    slow.lock().content[..4096].fill(5);
    image.want(&Need {
        offset_bytes: 0,
        length_bytes: 4096,
        purpose: Purpose::Exchange,
    });
    image.exchange_early(0, &mut [6; 4096], 1).unwrap();
    image.clear(0, 4096).unwrap();
    image.hand_on(false);
    assert_eq!(
        (1, 0),
        (slow.waiting(Task::Fetch), slow.waiting(Task::Clear))
    );
    image.finish().expect("nothing fails");
    assert_eq!([5; 4096], *image.former().expect("it was read").content);
    assert_eq!(0, slow.lock().content[0]);
}

/// What was changed while others waited is written together, and no page twice for one content.
#[test]
fn changes_are_written_together() {
    let slow = SlowFile::new(PAGES, 1);
    let mut image = slow.image();
    (0..20).for_each(|page| image.write(page * 4096, &[1; 4096]).unwrap());
    image.write(4096, &[2; 4096]).unwrap();
    image.hand_on(false);
    assert_eq!(1, slow.waiting(Task::Put));
    slow.run();
    image.collect().expect("nothing fails");
    image.hand_on(false);
    let slow = slow.lock();
    assert!(slow.waiting.is_empty());
    assert_eq!((1, 2), (slow.content[0], slow.content[4096]));
}

/// An image takes no more changes than it may hold; when they are in the file it takes more.
#[test]
fn an_image_has_room_for_so_much() {
    let slow = SlowFile::new(UNWRITTEN_PAGES_MAX + 1, 1);
    let mut image = slow.image();
    let content = vec![1; UNWRITTEN_PAGES_MAX * BLOCK_BYTES];
    image.write(0, &content).unwrap();
    assert!(!image.has_room());
    image.hand_on(true);
    assert!(slow.lock().is_called);
    while !image.has_room() {
        slow.run();
        assert!(image.collect().expect("nothing fails"));
        image.hand_on(true);
    }
    image.finish().expect("nothing fails");
    assert!(slow.lock().content[..content.len()] == content);
}

/// A file that takes no more is told of, and does not look as if everything were in it.
#[test]
fn a_full_file_is_told_of() {
    let slow = SlowFile::new(PAGES, 1);
    let mut image = slow.image();
    slow.lock().is_full = true;
    image.write(0, &[1; 4096]).unwrap();
    image.hand_on(false);
    slow.run();
    assert_eq!(
        io::ErrorKind::StorageFull,
        image.collect().unwrap_err().kind()
    );
    assert!(image.finish().is_err());
    drop(image);
    assert!(!slow.lock().has_left);
}

/// Where space cannot be given back a discard fails, as it would in the file.
#[test]
fn what_cannot_be_cleared_is_refused() {
    let slow = SlowFile::new(PAGES, 1);
    let mut image = FileImage::of(Box::new(slow), SIZE, Err(libc::EOPNOTSUPP));
    let refused = image.clear(0, 4096).unwrap_err();
    assert_eq!(Some(libc::EOPNOTSUPP), refused.raw_os_error());
}
