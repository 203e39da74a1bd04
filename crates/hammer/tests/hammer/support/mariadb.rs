//! Private MariaDB servers for tests: a directory under /tmp, a socket, no network. Where the programs are missing
//! there is none, and a test says so and does nothing.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use stithy_hammer::engines::{mysql, Control, Target, Value};

use super::{as_owner, copy_files, jobs, make_directory, unprivileged_owner, PASSWORD, USER};

/// For a server that only loads: it syncs nothing, and writes each page once.
pub const LOADING: [&str; 2] = ["innodb-flush-method=nosync", "innodb-doublewrite=0"];

/// Warehouses of the loaded database.
pub const WAREHOUSES: u32 = 2;

const DATABASE: &str = "stithy";

static KEPT: OnceLock<Option<MariaDb>> = OnceLock::new();

/// One server and its directory.
pub struct MariaDb {
    directory: PathBuf,
    owner: Option<(u32, u32)>,
    settings: Vec<String>,
    /// Shells that end their server when their standard input is closed: also when the tests die.
    guards: Vec<Child>,
}

/// A stopped server with a loaded database, of which the others begin with a copy.
fn kept() -> Option<&'static MariaDb> {
    let kept = KEPT.get_or_init(|| {
        let server = MariaDb::start_empty(&LOADING)?;
        jobs::done_elsewhere(jobs::prepare(&server.url(), WAREHOUSES, 2));
        server.stop();
        Some(server)
    });
    kept.as_ref()
}

/// Whether there are servers; says so where not.
fn is_installed() -> bool {
    let is_there = find_program("mariadbd").is_some();
    if !is_there {
        // Not captured, as what a test prints is.
        let line = "SKIPPED on MariaDB: mariadbd is missing, install the package mariadb-server\n";
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    is_there
}

impl MariaDb {
    /// A server of one's own on a database that holds order entry, with further settings (`name=value`).
    pub fn start(settings: &[&str]) -> Option<Self> {
        Some(Self::start_copy(kept()?, settings))
    }

    /// The same on an empty database.
    pub fn start_empty(settings: &[&str]) -> Option<Self> {
        is_installed().then(|| Self::start_on(initialise, settings))
    }

    /// The same on what a stopped server has.
    pub fn start_copy(kept: &MariaDb, settings: &[&str]) -> Self {
        let copy = |directory: &Path, owner| {
            copy_files(&kept.directory.join("data"), &directory.join("data"), owner);
        };
        Self::start_on(copy, settings)
    }

    fn start_on(make: impl FnOnce(&Path, Option<(u32, u32)>), settings: &[&str]) -> Self {
        let owner = unprivileged_owner();
        let directory = make_directory(owner);
        make(&directory, owner);
        fs::write(directory.join("first.sql"), first_sql()).expect("it can be written");
        let mut server = MariaDb {
            directory,
            owner,
            settings: settings.iter().map(|setting| setting.to_string()).collect(),
            guards: Vec::new(),
        };
        server.start_again();
        server
    }

    /// The URL of the database.
    pub fn url(&self) -> String {
        let socket = self.directory.join("socket");
        format!(
            "mariadb://{USER}:{PASSWORD}@localhost/{DATABASE}?socket={}",
            socket.display()
        )
    }

    /// What the server itself makes of the rows of each table.
    pub async fn checksums(&self) -> Vec<Vec<Value>> {
        let control = mysql::Target::parse(&self.url())
            .unwrap()
            .connect()
            .await
            .unwrap();
        let sql = "CHECKSUM TABLE warehouse, district, customer, history, new_order, orders, \
                   order_line, item, stock";
        control.query("comparing", sql, &[]).await.unwrap()
    }

    /// Starts it again after [`MariaDb::crash`]; it recovers.
    pub fn start_again(&mut self) {
        let _ = fs::remove_file(self.directory.join("socket"));
        self.guards.push(self.spawn());
        let deadline = Instant::now() + Duration::from_secs(60);
        while UnixStream::connect(self.directory.join("socket")).is_err() {
            let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(
                Instant::now() < deadline && !log.contains("Aborting"),
                "the scratch MariaDB does not start: {log}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills it.
    pub fn crash(&self) {
        self.signal("KILL");
    }

    /// Stops it; others may begin with a copy.
    pub fn stop(&self) {
        self.signal("TERM");
        let pid = self.directory.join("pid");
        while pid.exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, signal: &str) {
        let pid = fs::read_to_string(self.directory.join("pid")).expect("it runs");
        let sent = Command::new("kill")
            .args(["-s", signal, pid.trim()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()));
    }

    fn spawn(&self) -> Child {
        let log = fs::File::create(self.directory.join("output")).expect("it can be written");
        let mut command = as_owner(Path::new("sh"), self.owner);
        command.args(["-c", GUARD, "sh"]).arg(&self.directory);
        command.arg(find_program("mariadbd").expect("it was there before"));
        command.arg("--no-defaults");
        for (name, file) in [
            ("datadir", "data"),
            ("socket", "socket"),
            ("pid-file", "pid"),
            ("log-error", "log"),
            ("init-file", "first.sql"),
            ("tmpdir", ""),
        ] {
            command.arg(format!("--{name}={}", self.directory.join(file).display()));
        }
        command.args(["--skip-networking", "--max-connections=300"]);
        command.args([
            "--innodb-log-file-size=64M",
            // All rows stay in memory, and what conditions sort and group.
            "--innodb-buffer-pool-size=1G",
            "--max-heap-table-size=512M",
            "--tmp-memory-table-size=512M",
        ]);
        let settings = self.settings.iter().map(|setting| format!("--{setting}"));
        command
            .args(settings)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("sh starts")
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        for guard in &mut self.guards {
            drop(guard.stdin.take());
            let _ = guard.wait();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Kills the server and removes its directory when nobody holds the other end of standard input.
const GUARD: &str = r#"
    directory=$1; shift
    "$@" < /dev/null & server=$!
    cat > /dev/null
    kill -KILL $server 2> /dev/null
    wait $server
    rm -rf "$directory"
"#;

/// PATH first, then where Debian keeps servers.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/usr/bin"].map(PathBuf::from));
    let programs = folders.iter().map(|folder| folder.join(name));
    programs.into_iter().find(|program| program.exists())
}

/// The server takes one statement a line.
fn first_sql() -> String {
    format!(
        "CREATE USER IF NOT EXISTS '{USER}'@'localhost' IDENTIFIED BY '{PASSWORD}';\n\
         GRANT ALL ON *.* TO '{USER}'@'localhost';\n\
         CREATE DATABASE IF NOT EXISTS {DATABASE};\n"
    )
}

fn initialise(directory: &Path, owner: Option<(u32, u32)>) {
    let program = find_program("mariadb-install-db").expect("it comes with mariadbd");
    let output = as_owner(&program, owner)
        .args(["--no-defaults", "--skip-test-db", "--skip-name-resolve"])
        .arg("--auth-root-authentication-method=normal")
        .arg("--innodb-log-file-size=64M")
        .arg(format!("--datadir={}", directory.join("data").display()))
        .output()
        .expect("it starts");
    assert!(output.status.success(), "mariadb-install-db: {output:?}");
}
