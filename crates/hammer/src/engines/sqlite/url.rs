//! What a URL of a SQLite database says.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;

use super::{Journal, Settings, Target};
use crate::engines::Target as _;
use crate::error::HammerError;

const REMEDY: &str =
    "write it as sqlite:///path/to/file.db?journal=wal&synchronous=full, with an absolute \
     path, and percent-encode blanks, ?, # and % in it";

const SYNCHRONOUS: [&str; 4] = ["off", "normal", "full", "extra"];
const PAGE_BYTES: [u32; 8] = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];

/// SQLite's own defaults, with the log in the place of the rollback journal.
const DEFAULT: Settings = Settings {
    journal: Journal::Wal,
    synchronous: "full",
    cache_kib: 2000,
    page_bytes: 4096,
    autocheckpoint_pages: 1000,
    busy_timeout: Duration::from_secs(5),
};

/// Errors: `url-invalid` (usage).
pub(super) fn parse(url: &str) -> Result<Target, HammerError> {
    let rest = Target::SCHEMES
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme));
    let rest = rest.ok_or_else(|| invalid("the URL is not one of a SQLite database"))?;
    let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
    if !path.starts_with('/') || path.ends_with('/') || path.contains('#') {
        return Err(invalid("the URL names no file by an absolute path"));
    }
    let path: Vec<u8> = percent_decode_str(path).collect();
    if path.contains(&0) {
        return Err(invalid("the URL's path holds a zero byte"));
    }
    let path = PathBuf::from(OsStr::from_bytes(&path));
    Ok(Target {
        place: path.display().to_string(),
        path,
        settings: settings(options)?,
        writers: Arc::default(),
    })
}

fn settings(options: &str) -> Result<Settings, HammerError> {
    let mut settings = DEFAULT;
    let mut names = Vec::new();
    for option in options.split_terminator('&') {
        let (name, value) = option
            .split_once('=')
            .ok_or_else(|| invalid(format!("the URL's option {option:?} has no value")))?;
        if names.contains(&name) {
            return Err(invalid(format!("the URL gives {name} twice")));
        }
        names.push(name);
        match name {
            "journal" => {
                let all = Journal::ALL;
                settings.journal = choose(name, value, all.map(|mode| (mode.name(), mode)))?;
            }
            "synchronous" => {
                settings.synchronous = choose(name, value, SYNCHRONOUS.map(|word| (word, word)))?;
            }
            "cache_kib" => settings.cache_kib = number(name, value, 1, 1 << 30)?,
            "page_size" => {
                settings.page_bytes = number(name, value, 512, 65_536)?;
                if !PAGE_BYTES.contains(&settings.page_bytes) {
                    return Err(invalid("the URL's page_size is no power of two"));
                }
            }
            "autocheckpoint" => {
                settings.autocheckpoint_pages = number(name, value, 0, i32::MAX as u32)?;
            }
            "busy_timeout_ms" => {
                let milliseconds = number(name, value, 0, 3_600_000)?;
                settings.busy_timeout = Duration::from_millis(milliseconds.into());
            }
            _ => {
                return Err(invalid(format!(
                    "the URL has an option that is not followed, {name:?}: followed are journal, synchronous, \
                     cache_kib, page_size, autocheckpoint, busy_timeout_ms"
                )))
            }
        }
    }
    Ok(settings)
}

fn choose<T: Copy, const N: usize>(
    name: &str,
    value: &str,
    all: [(&str, T); N],
) -> Result<T, HammerError> {
    let chosen = all.iter().find(|(word, _)| *word == value);
    chosen.map(|(_, choice)| *choice).ok_or_else(|| {
        let words = all.map(|(word, _)| word).join(", ");
        invalid(format!("the URL's {name} is none of {words}"))
    })
}

fn number(name: &str, value: &str, least: u32, most: u32) -> Result<u32, HammerError> {
    let number = value.parse().ok();
    let number = number.filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        invalid(format!(
            "the URL's {name} is no number from {least} to {most}"
        ))
    })
}

fn invalid(problem: impl Into<String>) -> HammerError {
    HammerError::usage("url-invalid", problem, "url", REMEDY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a URL says is followed; what it leaves out is SQLite's own default.
    #[test]
    fn options_are_read() {
        assert_eq!(DEFAULT, parse("sqlite:///a/b.db").unwrap().settings);
        let target = parse(
            "sqlite:///a%20b/c.db?journal=truncate&synchronous=off&cache_kib=64&page_size=8192&\
             autocheckpoint=0&busy_timeout_ms=20",
        )
        .unwrap();
        assert_eq!("/a b/c.db", target.place());
        let expected = Settings {
            journal: Journal::Truncate,
            synchronous: "off",
            cache_kib: 64,
            page_bytes: 8192,
            autocheckpoint_pages: 0,
            busy_timeout: Duration::from_millis(20),
        };
        assert_eq!(expected, target.settings);
    }

    /// What cannot be followed is refused by name.
    #[test]
    fn other_urls_are_refused() {
        for (url, word) in [
            ("host/a.db", "absolute"),
            ("/a/", "absolute"),
            ("", "absolute"),
            ("/a.db?journal=memory", "journal is none of wal"),
            ("/a.db?journal=wal&journal=wal", "twice"),
            ("/a.db?synchronous=2", "synchronous is none of off"),
            ("/a.db?mode=ro", "not followed"),
            ("/a.db?page_size=5000", "power of two"),
            ("/a.db?cache_kib=none", "cache_kib is no number"),
            ("/a.db?journal", "has no value"),
        ] {
            let error = parse(&format!("sqlite://{url}")).expect_err(url);
            assert_eq!(("url-invalid", 2), (error.code, error.exit()), "{url}");
            assert!(error.problem.contains(word), "{url}: {error}");
        }
    }
}
