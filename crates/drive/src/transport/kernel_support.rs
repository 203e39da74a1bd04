//! Which ways to a drive the kernel of this machine offers, and which of them is gone.

use std::path::Path;

/// A way for requests and answers, as this machine has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSupport {
    /// Its name, as a drive that is up tells it.
    pub name: &'static str,
    /// Whether drives come up by it here.
    pub is_used: bool,
    /// What is so, in words.
    pub state: String,
}

/// Every way there is, the one that is used among them.
pub fn kernel_support() -> Vec<KernelSupport> {
    support_of(Path::new("/"))
}

/// The same for a machine whose files lie under `root`.
fn support_of(root: &Path) -> Vec<KernelSupport> {
    vec![fuse(root), fuse_uring(root), ublk(root)]
}

fn fuse(root: &Path) -> KernelSupport {
    let missing: Vec<&str> = ["/dev/fuse", "/dev/loop-control"]
        .into_iter()
        .filter(|node| !below(root, node).exists())
        .collect();
    KernelSupport {
        name: super::fuse::NAME,
        is_used: missing.is_empty(),
        state: match missing.as_slice() {
            [] => "FUSE and loop devices are there; drives come up by it, as root".to_string(),
            missing => format!("{} is not there", missing.join(", ")),
        },
    }
}

fn fuse_uring(root: &Path) -> KernelSupport {
    let switch = "/sys/module/fuse/parameters/enable_uring";
    let state = match std::fs::read_to_string(below(root, switch)) {
        Ok(text) if text.trim() == "Y" => format!("the kernel has it and {switch} is on"),
        Ok(_) => format!("the kernel has it and {switch} is off"),
        Err(_) => {
            format!("{switch} is not there: the kernel is older than 6.14, or built without it")
        }
    };
    KernelSupport {
        name: "fuse-uring",
        is_used: false,
        state: format!("{state}; this version does not use it"),
    }
}

fn ublk(root: &Path) -> KernelSupport {
    let control = "/dev/ublk-control";
    let state = match below(root, control).exists() {
        true => format!("{control} is there"),
        false => format!("{control} is not there (modprobe ublk_drv, Linux 6.0 or newer)"),
    };
    KernelSupport {
        name: "ublk",
        is_used: false,
        state: format!("{state}; this version does not use it"),
    }
}

fn below(root: &Path, path: &str) -> std::path::PathBuf {
    root.join(path.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each way is reported with what there is of it, and only one can be used.
    #[test]
    fn each_way_is_told_with_its_state() {
        let root = std::env::temp_dir().join(format!("stithy-ways-{}", std::process::id()));
        let make = |path: &str, text: &str| {
            let path = below(&root, path);
            std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        let used = || -> Vec<bool> { support_of(&root).iter().map(|each| each.is_used).collect() };
        make("/dev/fuse", "");
        assert_eq!(vec![false, false, false], used());
        assert!(support_of(&root)[0]
            .state
            .contains("/dev/loop-control is not"));
        make("/dev/loop-control", "");
        make("/sys/module/fuse/parameters/enable_uring", "N\n");
        assert_eq!(vec![true, false, false], used());
        let states: Vec<String> = support_of(&root)
            .into_iter()
            .map(|each| each.state)
            .collect();
        assert!(states[1].contains("enable_uring is off"), "{states:?}");
        assert!(
            states[2].contains("ublk-control is not there"),
            "{states:?}"
        );
        std::fs::remove_dir_all(&root).expect("it is removed");
    }
}
