//! An image in a file against one in memory, whenever and in whatever order the file is read and written.

use super::slow::SlowFile;
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

/// Does the same random things with both, and looks whether both show the same; `advance` is called between.
fn compare(file: &mut FileImage, seed: u64, mut advance: impl FnMut(&mut FileImage, &mut Rng)) {
    let mut memory = MemoryImage::new(SIZE).expect("memory");
    let mut rng = Rng::new(seed, 1);
    let mut wanted: Vec<Need> = Vec::new();
    for step in 0..400_u64 {
        let offset = rng.below(SIZE / 512) * 512;
        let length = ((1 + rng.below(30)) * 512).min(SIZE - offset);
        let whole = (offset / 4096 * 4096, (length / 4096 * 4096).max(4096));
        let (offset, length) = if rng.chance(0.5) {
            whole
        } else {
            (offset, length)
        };
        let content = vec![step as u8; length as usize];
        match rng.below(8) {
            0 => {
                file.clear(offset, length).unwrap();
                memory.clear(offset, length).unwrap();
            }
            1 => {
                let (mut first, mut second) = (content.clone(), content);
                file.exchange(offset, &mut first).unwrap();
                memory.exchange(offset, &mut second).unwrap();
                assert!(
                    second == first,
                    "seed {seed}, step {step}: what was replaced"
                );
            }
            2 | 3 => {
                file.write(offset, &content).unwrap();
                memory.write(offset, &content).unwrap();
            }
            4 | 5 => {
                let need = Need {
                    offset_bytes: offset,
                    length_bytes: length,
                    replaces: rng.chance(0.3),
                };
                file.want(&need);
                wanted.push(need);
            }
            6 if !wanted.is_empty() => {
                let need = wanted.swap_remove(rng.below(wanted.len() as u64) as usize);
                file.let_go(&need);
            }
            _ => {
                let expected = memory.view(offset, length as usize).unwrap();
                let seen = file.view(offset, length as usize).unwrap();
                assert!(expected == seen, "seed {seed}, step {step}");
            }
        }
        advance(file, &mut rng);
    }
    let all = memory.view(0, SIZE as usize).unwrap();
    assert!(all == file.view(0, SIZE as usize).unwrap(), "seed {seed}");
    wanted.iter().for_each(|need| file.let_go(need));
    file.finish().expect("nothing fails");
    assert!(
        file.pages.of(0..u64::MAX).next().is_none(),
        "seed {seed}: everything is in the file"
    );
    assert!(
        all == file.view(0, SIZE as usize).unwrap(),
        "seed {seed}: read from the file"
    );
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
    let fetched = |image: &mut FileImage, offset_bytes, length_bytes, replaces| {
        let need = Need {
            offset_bytes,
            length_bytes,
            replaces,
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
    assert_eq!(vec![(2, 3)], fetched(&mut image, 8192, 3 * 4096, false));
    assert!(fetched(&mut image, 8192, 3 * 4096, true).is_empty());
    assert_eq!(
        vec![(2, 1), (5, 1)],
        fetched(&mut image, 8192 + 512, 3 * 4096, true)
    );
    assert_eq!(vec![(2, 1)], fetched(&mut image, 8192, 512, true));
    assert!(
        fetched(&mut image, SIZE, 512, false).is_empty(),
        "it is outside"
    );
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
