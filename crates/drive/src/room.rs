//! Whether the machine has room for an image. An image takes space as it is written, so without this a
//! drive that is too large would end in the middle of a run.

use std::ffi::CString;
use std::io;
use std::path::Path;

use stithy_wire::DriveBacking;

use crate::error::DriveError;

/// Refuses an image for which there is no room now. One that is there already has its room.
pub fn check(backing: &DriveBacking, size_bytes: u64) -> Result<(), DriveError> {
    let (place, free_bytes) = match backing {
        DriveBacking::Memory => ("memory", free_memory_bytes()),
        DriveBacking::File { path } if Path::new(path).exists() => return Ok(()),
        DriveBacking::File { path } => (path.as_str(), free_disk_bytes(Path::new(path))),
    };
    // Where the system does not tell, writing will.
    match free_bytes {
        Ok(free_bytes) if free_bytes < size_bytes => Err(DriveError::precondition(
            "no-room",
            format!("the drive has {size_bytes} bytes, and {free_bytes} are free"),
            place,
            "give a smaller size, or put the image where there is more room",
        )),
        _ => Ok(()),
    }
}

fn free_memory_bytes() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    parse_available(&text).ok_or_else(|| io::Error::other("the kernel does not tell"))
}

/// The bytes of the line `MemAvailable:   18874368 kB`.
fn parse_available(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

fn free_disk_bytes(path: &Path) -> io::Result<u64> {
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    };
    let folder = CString::new(folder.as_os_str().as_encoded_bytes()).map_err(io::Error::other)?;
    // SAFETY: zeros are a valid statvfs, and both addresses outlive the call.
    unsafe {
        let mut told: libc::statvfs = std::mem::zeroed();
        match libc::statvfs(folder.as_ptr(), &mut told) {
            0 => Ok(told.f_bavail * told.f_frsize),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than any machine has is refused, in memory and in a file; a page is not.
    #[test]
    fn an_image_that_does_not_fit_is_refused() {
        let file = std::env::temp_dir().join("stithy-no-such-image");
        let file = DriveBacking::File {
            path: file.display().to_string(),
        };
        for backing in [DriveBacking::Memory, file] {
            assert_eq!("no-room", check(&backing, 1 << 60).unwrap_err().code);
            assert!(check(&backing, 4096).is_ok());
        }
    }

    /// Kilobytes become bytes; another text gives nothing.
    #[test]
    fn available_memory_is_read() {
        let text = "MemTotal:       24 kB\nMemAvailable:   18 kB\n";
        assert_eq!(Some(18 * 1024), parse_available(text));
        assert_eq!(None, parse_available("MemTotal: 24 kB\n"));
    }
}
