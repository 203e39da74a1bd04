//! Whether the machine has room for an image. An image takes space as it is written, so without this a
//! drive that is too large would end in the middle of a run.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use stithy_wire::DriveBacking;

use crate::error::DriveError;

/// Refuses an image for which there is no room now. `others` are the images of drives that are up, with their
/// sizes: what they have not taken yet is promised to them.
pub fn check(
    backing: &DriveBacking,
    size_bytes: u64,
    others: &[(&DriveBacking, u64)],
) -> Result<(), DriveError> {
    let (place, free_bytes, promised_bytes, taken_bytes) = match backing {
        DriveBacking::Memory => {
            let promised_bytes = promised_memory_bytes(others);
            ("memory", free_memory_bytes(), promised_bytes, 0)
        }
        DriveBacking::File { path } => {
            let promised_bytes = promised_disk_bytes(path, others);
            let free_bytes = free_disk_bytes(Path::new(path));
            (path.as_str(), free_bytes, promised_bytes, taken_bytes(path))
        }
    };
    // Where the system does not tell, writing will.
    let Ok(free_bytes) = free_bytes else {
        return Ok(());
    };
    let left_bytes = free_bytes.saturating_sub(promised_bytes);
    if size_bytes.saturating_sub(taken_bytes) <= left_bytes {
        return Ok(());
    }
    let promised = match promised_bytes {
        0 => String::new(),
        bytes => format!(", of which {bytes} are promised to other drives"),
    };
    Err(DriveError::precondition(
        "no-room",
        format!("the drive has {size_bytes} bytes, and {free_bytes} are free{promised}"),
        place,
        "give a smaller size, or put the image where there is more room",
    ))
}

/// What images in memory may still take: their sizes, without what this process holds already.
fn promised_memory_bytes(others: &[(&DriveBacking, u64)]) -> u64 {
    let in_memory = others
        .iter()
        .filter(|(backing, _)| **backing == DriveBacking::Memory);
    let all_bytes: u64 = in_memory.map(|(_, size_bytes)| size_bytes).sum();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    all_bytes.saturating_sub(parse_kilobytes(&status, "RssAnon:").unwrap_or(0))
}

/// What images in files of the same file system may still take.
fn promised_disk_bytes(path: &str, others: &[(&DriveBacking, u64)]) -> u64 {
    let device = |path: &str| std::fs::metadata(folder_of(Path::new(path))).map(|told| told.dev());
    let here = device(path).ok();
    let promised = others.iter().map(|(backing, size_bytes)| match backing {
        DriveBacking::File { path } if here.is_some() && device(path).ok() == here => {
            size_bytes.saturating_sub(taken_bytes(path))
        }
        _ => 0,
    });
    promised.sum()
}

/// What a file that is there takes already; it may be sparse.
fn taken_bytes(path: &str) -> u64 {
    const BLOCK_BYTES: u64 = 512; // of st_blocks, whatever the file system
    std::fs::metadata(path).map_or(0, |told| told.blocks() * BLOCK_BYTES)
}

fn free_memory_bytes() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    parse_kilobytes(&text, "MemAvailable:")
        .ok_or_else(|| io::Error::other("the kernel does not tell"))
}

/// The bytes of a line such as `MemAvailable:   18874368 kB`.
fn parse_kilobytes(text: &str, begin: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(begin))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    }
}

fn free_disk_bytes(path: &Path) -> io::Result<u64> {
    let free = rustix::fs::statvfs(folder_of(path))?;
    Ok(free.f_bavail * free.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is not there, in a folder that is.
    fn file(name: &str) -> DriveBacking {
        let path = std::env::temp_dir().join(format!("stithy-{name}-{}", std::process::id()));
        DriveBacking::File {
            path: path.display().to_string(),
        }
    }

    fn free_bytes(backing: &DriveBacking) -> u64 {
        let free_bytes = match backing {
            DriveBacking::Memory => free_memory_bytes(),
            DriveBacking::File { path } => free_disk_bytes(Path::new(path)),
        };
        free_bytes.expect("this machine tells")
    }

    /// More than any machine has is refused, in memory and in a file; a page is not.
    #[test]
    fn an_image_that_does_not_fit_is_refused() {
        for backing in [DriveBacking::Memory, file("no-such-image")] {
            let refused = check(&backing, 1 << 60, &[]).unwrap_err();
            assert_eq!(("no-room", 3), (refused.code, refused.exit()));
            assert!(check(&backing, 4096, &[]).is_ok());
        }
    }

    /// What is promised to other drives is not free for another, where both lie in one place.
    #[test]
    fn room_is_promised_once() {
        for backing in [DriveBacking::Memory, file("one-place")] {
            let most = free_bytes(&backing) / 4 * 3;
            assert!(check(&backing, most, &[]).is_ok());
            let refused = check(&backing, most, &[(&backing, most)]).unwrap_err();
            assert!(refused.problem.contains("promised"), "{refused}");
        }
        let (memory, elsewhere) = (DriveBacking::Memory, file("elsewhere"));
        let most = free_bytes(&memory) / 4 * 3;
        assert!(check(&memory, most, &[(&elsewhere, 1 << 60)]).is_ok());
    }

    /// A file that is there but sparse needs the room that it has not taken.
    #[test]
    fn a_sparse_file_needs_its_room() {
        let backing = file("sparse");
        let DriveBacking::File { path } = &backing else {
            panic!("it is a file");
        };
        std::fs::write(path, [7; 8192]).expect("a temporary file");
        let taken = taken_bytes(path);
        let refused = check(&backing, 1 << 60, &[]).map_err(|error| error.code);
        std::fs::remove_file(path).expect("it is there");
        assert_eq!((8192, Err("no-room")), (taken, refused));
    }

    /// Kilobytes become bytes; another text gives nothing.
    #[test]
    fn available_memory_is_read() {
        let text = "MemTotal:       24 kB\nMemAvailable:   18 kB\n";
        assert_eq!(Some(18 * 1024), parse_kilobytes(text, "MemAvailable:"));
        assert_eq!(None, parse_kilobytes("MemTotal: 24 kB\n", "MemAvailable:"));
    }
}
