//! A scratch PostgreSQL instance for tests: started on a Unix socket in a short directory under
//! `/tmp`, with a password, without fsync, and removed with its data when the last test lets go.
//!
//! Without PostgreSQL the tests fail with a remedy; they never skip.

#![allow(dead_code)] // each test program uses its own part of this module
#![allow(clippy::unwrap_used)] // outside #[test] functions too: a test that cannot go on fails

pub mod freeze;
pub mod jobs;
pub mod mariadb;
pub mod normal;
pub mod sqlserver;

use std::fs;
use std::os::unix::fs::{chown, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use stithy_hammer::engines::SessionSettings;
use stithy_hammer::workloads::order_entry::loaded::Loaded;
use stithy_wire::{Isolation, Message, PrepareSummary};

/// A file that goes with its test, and what SQLite puts beside it.
pub struct Place(pub PathBuf);

impl Place {
    /// One of its own, whoever else takes this name.
    pub fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("stithy-test-{}-{number}-{name}", std::process::id());
        Place(std::env::temp_dir().join(name))
    }

    /// Its path.
    pub fn text(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{end}", self.text()));
        }
    }
}

/// What the sessions of tests are for.
pub const LOAD: SessionSettings = SessionSettings::Load(Isolation::ReadCommitted);
/// What its databases are loaded with, as far as tests ask.
pub const LOADED: Loaded = Loaded {
    warehouses: 1,
    seed: 1,
    c_last_load: 0,
};
/// The user of every test.
pub const USER: &str = "stithy";
/// Its password.
pub const PASSWORD: &str = "anvil";

static SHARED: OnceLock<Instance> = OnceLock::new();
static KEPT: OnceLock<Instance> = OnceLock::new();
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// One running PostgreSQL server and its directory.
pub struct Instance {
    binaries: PathBuf,
    directory: PathBuf,
    owner: Option<(u32, u32)>,
    /// A shell that ends the server when its standard input is closed: also when the tests die.
    guard: Child,
    /// Those of servers that were started after a crash.
    guards_again: Mutex<Vec<Child>>,
    settings: Vec<String>,
    /// Of how many warehouses there are databases that [`Instance::loaded_database`] copies, and what
    /// loading them gave.
    loaded: Mutex<Vec<(u32, PrepareSummary)>>,
}

/// The instance that the tests of one program share; each takes a database of its own. Its guard
/// removes it when the program ends.
pub fn shared() -> &'static Instance {
    SHARED.get_or_init(|| Instance::start(&[]))
}

/// A stopped instance with one loaded warehouse, and its files from before that: every other one
/// begins with the one or the other, so that a program of tests makes and loads them once.
fn kept() -> &'static Instance {
    KEPT.get_or_init(|| {
        let instance = Instance::start_on(initialise, &[]);
        instance.load(1);
        instance.stop("fast");
        instance
    })
}

impl Instance {
    /// Starts an instance of one's own, with further `settings` (`name=value`); for tests that
    /// stop it or need other settings.
    pub fn start(settings: &[&str]) -> Self {
        let kept = kept();
        let copy = |directory: &Path, owner| kept.copy("data", directory, owner);
        let instance = Self::start_on(|_, directory, owner| copy(directory, owner), settings);
        lock(&instance.loaded).clone_from(&lock(&kept.loaded));
        instance
    }

    /// The same without any loaded database.
    pub fn start_empty(settings: &[&str]) -> Self {
        let copy = |directory: &Path, owner| kept().copy("empty", directory, owner);
        Self::start_on(|_, directory, owner| copy(directory, owner), settings)
    }

    /// Starts one on the files that `make` puts into its directory.
    fn start_on(make: impl FnOnce(&Path, &Path, Option<(u32, u32)>), settings: &[&str]) -> Self {
        let binaries = find_binaries();
        let owner = unprivileged_owner();
        let directory = make_directory(owner);
        make(&binaries, &directory, owner);
        let guard = spawn_server(&binaries, &directory, owner, settings);
        let instance = Instance {
            binaries,
            directory,
            owner,
            guard,
            guards_again: Mutex::default(),
            settings: settings.iter().map(|each| each.to_string()).collect(),
            loaded: Mutex::default(),
        };
        instance.wait_ready();
        instance
    }

    /// The URL of a database of this instance.
    pub fn url(&self, database: &str) -> String {
        self.url_as(USER, PASSWORD, database)
    }

    /// The URL with another user or password.
    pub fn url_as(&self, user: &str, password: &str, database: &str) -> String {
        let socket = self.directory.display();
        format!("postgresql://{user}:{password}@/{database}?host={socket}")
    }

    /// Makes a new empty database and gives its URL.
    pub fn new_database(&self) -> String {
        let name = format!("test_{}", COUNTER.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// Makes a new database that holds order entry with one warehouse, and gives its URL.
    pub fn loaded_database(&self) -> String {
        self.loaded_database_of(1)
    }

    /// The same with more warehouses. Each size is loaded once, by two loaders from the seed 42, and
    /// then copied.
    pub fn loaded_database_of(&self, warehouses: u32) -> String {
        self.load(warehouses);
        self.copy_database(&self.url(&format!("loaded_{warehouses}")))
    }

    /// Makes a new database that is a copy of another one, to which nobody is connected.
    pub fn copy_database(&self, url: &str) -> String {
        let (name, template) = (COUNTER.fetch_add(1, Ordering::Relaxed), database_of(url));
        let name = format!("test_{name}");
        // Files are copied in half the time that a log of every page takes.
        let copied = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
        self.sql("postgres", &copied);
        self.url(&name)
    }

    /// Loads a number of warehouses where that was not done yet; gives what loading them gave.
    pub fn load(&self, warehouses: u32) -> PrepareSummary {
        let mut loaded = lock(&self.loaded);
        if let Some((_, summary)) = loaded.iter().find(|(size, _)| *size == warehouses) {
            return summary.clone();
        }
        let name = format!("loaded_{warehouses}");
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        let messages = jobs::done_elsewhere(jobs::prepare(&self.url(&name), warehouses, 2));
        let Some(Message::PrepareSummary(summary)) = messages.last() else {
            panic!("the last message is no prepare summary: {messages:?}");
        };
        loaded.push((warehouses, summary.clone()));
        summary.clone()
    }

    /// Rows and a sum over their texts, of every table, whatever their order on disk.
    pub fn fingerprints(&self, url: &str) -> String {
        let tables = "warehouse district customer history new_order orders order_line item stock";
        let of = |table| {
            format!(
                "SELECT '{table}', count(*), sum(hashtextextended({table}::text, 0)::numeric) \
                 FROM {table}"
            )
        };
        let each: Vec<String> = tables.split(' ').map(of).collect();
        let all = each.join(" UNION ALL ");
        // A server that counts several tables at once gives them in any order.
        self.sql_at(url, &format!("{all} ORDER BY 1"))
    }

    /// Copies files of this instance, which is stopped, into another one's directory.
    fn copy(&self, files: &str, directory: &Path, owner: Option<(u32, u32)>) {
        copy_files(&self.directory.join(files), &directory.join("data"), owner);
    }

    /// Removes a database of [`Instance::new_database`] before the instance goes.
    pub fn drop_database(&self, url: &str) {
        self.sql(
            "postgres",
            &format!("DROP DATABASE {} WITH (FORCE)", database_of(url)),
        );
    }

    /// Runs SQL with psql and gives what it printed, unaligned.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let output = self.psql(&self.url(database), sql);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "psql failed on {sql}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }

    /// Runs SQL against a URL that [`Instance::new_database`] gave.
    pub fn sql_at(&self, url: &str, sql: &str) -> String {
        self.sql(database_of(url), sql)
    }

    fn psql(&self, url: &str, sql: &str) -> Output {
        let mut command = Command::new(self.binaries.join("psql"));
        command.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            url,
            "-c",
            sql,
        ]);
        command
            .output()
            .expect("psql starts, as the server's binaries were found beside it")
    }

    /// Stops the server as a crash would, leaving its files.
    pub fn crash(&self) {
        self.stop("immediate");
    }

    fn stop(&self, mode: &str) {
        let mut command = as_owner(&self.binaries.join("pg_ctl"), self.owner);
        command.arg("-D").arg(self.directory.join("data"));
        command.args(["stop", "-m", mode]);
        let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }

    /// Starts the server again after [`Instance::crash`]; it recovers.
    pub fn start_again(&self) {
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        let guard = spawn_server(&self.binaries, &self.directory, self.owner, &settings);
        lock(&self.guards_again).push(guard);
        self.wait_ready();
    }

    /// The directory of socket, data and log.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn wait_ready(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self
            .psql(&self.url("postgres"), "SELECT 1")
            .status
            .success()
        {
            let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            let running = self.directory.join("data/postmaster.pid").exists();
            assert!(
                running || !log.contains("FATAL"),
                "the scratch PostgreSQL ended: {log}"
            );
            assert!(
                Instant::now() < deadline,
                "the scratch PostgreSQL does not answer: {log}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let again = self.guards_again.get_mut();
        let again = again.unwrap_or_else(|poisoned| poisoned.into_inner());
        for guard in again.iter_mut().chain([&mut self.guard]) {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Also where a test that held it has failed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The database's name in a URL of [`Instance::url`].
fn database_of(url: &str) -> &str {
    let after = url.split_once("@/").map_or(url, |(_, rest)| rest);
    after.split('?').next().unwrap_or(after)
}

/// The directory with `postgres`, `initdb`, `pg_ctl` and `psql`: PATH first, then Debian's
/// directories, newest version first.
fn find_binaries() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates: Vec<PathBuf> = std::env::split_paths(&path).collect();
    candidates.extend(debian_directories());
    candidates
        .into_iter()
        .find(|d| {
            ["postgres", "initdb", "pg_ctl", "psql"]
                .iter()
                .all(|b| d.join(b).exists())
        })
        .expect("these tests need PostgreSQL's server binaries: install the package postgresql")
}

fn debian_directories() -> Vec<PathBuf> {
    let entries = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut versions: Vec<(u32, PathBuf)> = entries
        .filter_map(|e| Some((e.file_name().to_str()?.parse().ok()?, e.path().join("bin"))))
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, path)| path).collect()
}

/// PostgreSQL refuses to run as root: then another user owns the instance.
fn unprivileged_owner() -> Option<(u32, u32)> {
    let me = fs::metadata("/proc/self").expect("/proc is mounted").uid();
    (me == 0).then(|| {
        find_user("postgres")
            .or_else(|| find_user("nobody"))
            .expect("a user postgres or nobody exists")
    })
}

fn find_user(name: &str) -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|l| l.split(':').next() == Some(name))?;
    let fields: Vec<&str> = line.split(':').collect();
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

/// A socket's path must stay under 107 bytes, so the directory is never under a long TMPDIR.
fn make_directory(owner: Option<(u32, u32)>) -> PathBuf {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let directory = PathBuf::from(format!("/tmp/stithy-test-{}-{number}", std::process::id()));
    // One that a killed test of the same process id left.
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).expect("/tmp can be written to");
    if let Some((uid, gid)) = owner {
        chown(&directory, Some(uid), Some(gid)).expect("root may give a directory away");
    }
    directory
}

fn as_owner(program: &Path, owner: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    if let Some((uid, gid)) = owner {
        command.uid(uid).gid(gid);
    }
    command.current_dir("/");
    command
}

fn initialise(binaries: &Path, directory: &Path, owner: Option<(u32, u32)>) {
    let password_file = directory.join("password");
    fs::write(&password_file, PASSWORD).expect("the scratch directory can be written to");
    let output = as_owner(&binaries.join("initdb"), owner)
        .args([
            "--no-sync",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "-U",
            USER,
        ])
        .arg(format!("--pwfile={}", password_file.display()))
        .arg("-D")
        .arg(directory.join("data"))
        .output()
        .expect("initdb starts");
    assert!(
        output.status.success(),
        "initdb: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    copy_files(&directory.join("data"), &directory.join("empty"), owner);
}

fn copy_files(from: &Path, to: &Path, owner: Option<(u32, u32)>) {
    let mut command = as_owner(Path::new("cp"), owner);
    let copied = command.arg("-a").arg(from).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "cp copies");
}

/// Ends the server and removes its directory when nobody holds the other end of standard input.
const GUARD: &str = r#"
    directory=$1; shift
    "$@" < /dev/null & server=$!
    cat > /dev/null
    kill -QUIT $server 2> /dev/null
    wait $server
    rm -rf "$directory"
"#;

fn spawn_server(
    binaries: &Path,
    directory: &Path,
    owner: Option<(u32, u32)>,
    settings: &[&str],
) -> Child {
    let log = fs::File::create(directory.join("log")).expect("the log can be written");
    let mut command = as_owner(Path::new("sh"), owner);
    command
        .args(["-c", GUARD, "sh"])
        .arg(directory)
        .arg(binaries.join("postgres"));
    command
        .arg("-D")
        .arg(directory.join("data"))
        .arg("-k")
        .arg(directory);
    let fixed = [
        "listen_addresses=",
        "fsync=off",
        "shared_buffers=128MB",
        "max_connections=300",
        // Neither rows that are loaded nor whole pages are logged, and no plan is compiled: less work.
        "wal_level=minimal",
        "max_wal_senders=0",
        "full_page_writes=off",
        "jit=off",
        "work_mem=32MB",
    ];
    for setting in fixed.iter().chain(settings) {
        command.arg("-c").arg(setting);
    }
    // A process group of its own: Ctrl-C reaches the tests, and through them the server.
    command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log);
    command.spawn().expect("sh starts")
}
