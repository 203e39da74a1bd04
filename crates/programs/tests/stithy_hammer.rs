//! The program as others see it: a job in, lines out, an exit code.

#[path = "../../hammer/tests/hammer/support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};

use stithy_wire::{BaselineJob, Failure, Job, Message, WIRE_VERSION};
use support::jobs;

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_stithy-hammer"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program was built")
}

/// Gives the program its whole input.
fn feed(child: &mut Child, input: &str) {
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    stdin
        .write_all(input.as_bytes())
        .expect("the program reads its input");
}

fn answer(input: &str) -> (Vec<Message>, ExitStatus) {
    let mut child = start(&[]);
    feed(&mut child, input);
    let output = child.wait_with_output().expect("the program ends");
    let lines = String::from_utf8(output.stdout).expect("the output is UTF-8");
    let message = |line| serde_json::from_str(line).expect("every line is a message");
    (lines.lines().map(message).collect(), output.status)
}

fn failure(messages: &[Message]) -> &Failure {
    match messages.last() {
        Some(Message::Failure(failure)) => failure,
        other => panic!("the last line is no failure: {other:?}"),
    }
}

fn json(job: &Job) -> String {
    serde_json::to_string(job).expect("a job is JSON")
}

/// A job that succeeds begins with `started`, ends with its summary, and the exit code is 0.
#[test]
fn a_job_that_succeeds_ends_with_its_summary() {
    let instance = support::shared();
    let url = instance.new_database();
    let (messages, status) = answer(&json(&jobs::prepare(&url, 1, 2)));
    assert_eq!(Some(0), status.code());
    assert!(
        matches!(messages.first(), Some(Message::Started(started)) if started.wire == WIRE_VERSION)
    );
    assert!(matches!(messages.last(), Some(Message::PrepareSummary(_))));
    let (messages, status) = answer(&json(&jobs::check(&url, 1, true, true)));
    assert_eq!(Some(0), status.code());
    assert_eq!(6, messages.len(), "started, four conditions, summary");
}

/// What is wrong with a job is reported with the exit code 2, and names the key.
#[test]
fn a_wrong_job_is_refused() {
    let good = json(&jobs::prepare("postgresql://u:p@h/d", 1, 2));
    let wrong = [
        ("", "job-invalid", "EOF"),
        ("{}", "job-invalid", "job"),
        (
            &good.replace("\"prepare\"", "\"dance\""),
            "job-invalid",
            "dance",
        ),
        (&good.replace("\"seed\"", "\"sead\""), "job-invalid", "sead"),
        (
            &good.replace(&format!("\"wire\":{WIRE_VERSION}"), "\"wire\":99"),
            "wire-version",
            "99",
        ),
        (
            &good.replace("order-entry", "golf"),
            "unknown-workload",
            "golf",
        ),
        (
            &good.replace("\"warehouses\":1", "\"warehouses\":0"),
            "job-invalid",
            "warehouses is 0",
        ),
        (
            &good.replace("\"loaders\":2", "\"loaders\":0"),
            "job-invalid",
            "loaders is 0",
        ),
        (
            &good.replace("postgresql:", "ftp:"),
            "url-invalid",
            "no engine",
        ),
    ];
    for (input, code, word) in wrong {
        let (messages, status) = answer(input);
        let failure = failure(&messages);
        assert_eq!(
            (Some(2), 2, code),
            (status.code(), failure.exit, failure.code.as_str()),
            "{input}"
        );
        assert!(failure.problem.contains(word), "{}", failure.problem);
        assert!(!failure.remedy.is_empty());
    }
}

/// Each failure ends the program with the exit code of its class.
#[test]
fn the_exit_code_is_that_of_the_failure() {
    let instance = support::shared();
    let url = instance.new_database();
    let (messages, status) = answer(&json(&jobs::check(&url, 1, true, false)));
    assert_eq!(
        (Some(3), "tables-missing"),
        (status.code(), failure(&messages).code.as_str())
    );
    let nobody = "postgresql://u:p@127.0.0.1:1/d";
    let (messages, status) = answer(&json(&jobs::prepare(nobody, 1, 1)));
    assert_eq!(
        (Some(4), "connect-refused"),
        (status.code(), failure(&messages).code.as_str())
    );
}

/// A run is served before others where that is permitted, and never after; it tells what it was.
#[test]
fn a_run_tells_how_early_it_was_served() {
    let mine = stithy_measure::priority::nice().expect("Linux tells it");
    let instance = support::shared();
    let url = instance.loaded_database();
    let (messages, _) = answer(&json(&Job::Run(jobs::run(&url, 1, 2, 1.0))));
    let nice = match messages.last() {
        Some(Message::RunSummary(summary)) => summary.driver.nice,
        other => panic!("the last line is no summary: {other:?}"),
    };
    let asked = mine.min(stithy_measure::priority::DRIVER_NICE);
    assert!([Some(mine), Some(asked)].contains(&nice), "{nice:?}");
}

/// SIGTERM in the middle of loading ends the program cleanly and leaves an empty database.
#[test]
fn a_signal_ends_a_load_cleanly() {
    for signal in ["-TERM", "-INT"] {
        let instance = support::shared();
        let url = instance.new_database();
        let mut child = start(&[]);
        feed(&mut child, &json(&jobs::prepare(&url, 20, 2)));
        let stdout = child.stdout.take().expect("standard output is a pipe");
        let mut lines = BufReader::new(stdout)
            .lines()
            .map(|line| line.expect("UTF-8"));
        assert!(
            lines.by_ref().any(|line| line.contains("\"progress\"")),
            "loading begins"
        );
        let kill = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(kill.expect("kill is there").success());
        let last = lines.last().expect("a last line");
        assert!(last.contains("\"interrupted\""), "{last}");
        assert_eq!(Some(130), child.wait().expect("the program ends").code());
        let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
        assert_eq!("0", instance.sql_at(&url, tables));
    }
}

/// The version and the help are for people; an unknown argument is a usage error.
#[test]
fn arguments_are_few() {
    let run = |argument: &str| {
        let output = start(&[argument])
            .wait_with_output()
            .expect("the program ends");
        (
            String::from_utf8_lossy(&output.stdout).to_string(),
            output.status.code(),
        )
    };
    let (version, code) = run("--version");
    assert_eq!(Some(0), code);
    assert_eq!(
        format!("stithy-hammer {}\n", env!("CARGO_PKG_VERSION")),
        version
    );
    let build = match cfg!(debug_assertions) {
        true => "checked\n",
        false => "release\n",
    };
    assert_eq!((build.to_string(), Some(0)), run("--build"));
    assert!(run("--engines").0.starts_with("sqlite 3."));
    assert!(run("--help").0.contains("usage: stithy-hammer < job.json"));
    assert_eq!(Some(2), run("--hepl").1);
}

/// A baseline check needs no database, and tells of the machine, whatever it is like.
#[test]
fn a_baseline_needs_no_database() {
    let file = std::env::temp_dir().join(format!("stithy-baseline-{}", std::process::id()));
    let job = Job::Baseline(BaselineJob {
        wire: WIRE_VERSION,
        file: file.display().to_string(),
        file_bytes: 65_536,
        spin_s: 0.01,
        read_s: 0.01,
    });
    let (messages, status) = answer(&json(&job));
    let made = std::fs::metadata(&file).expect("the file was made").len();
    std::fs::remove_file(&file).expect("it can be removed");
    assert_eq!(Some(0), status.code());
    assert_eq!(65_536, made);
    let Some(Message::BaselineSummary(told)) = messages.last() else {
        panic!("the last line is no summary: {messages:?}");
    };
    assert!(told.one_rounds_per_s > 0.0 && told.all_rounds_per_s > 0.0);
    assert_ne!(told.reads.is_some(), told.reads_missing_because.is_some());
}

/// Direct reads are of whole pages, and work takes time.
#[test]
fn a_wrong_baseline_is_refused() {
    let good = format!(
        r#"{{"job":"baseline","wire":{WIRE_VERSION},"file":"/tmp/f","file_bytes":4096,"spin_s":1.0,"read_s":1.0}}"#
    );
    for (change, key) in [
        (("4096", "5000"), "file_bytes"),
        (("4096", "0"), "file_bytes"),
        (("\"spin_s\":1.0", "\"spin_s\":0.0"), "spin_s"),
        (("\"read_s\":1.0", "\"read_s\":-1.0"), "read_s"),
    ] {
        let (messages, status) = answer(&good.replace(change.0, change.1));
        assert_eq!(Some(2), status.code(), "{key}");
        assert_eq!(key, failure(&messages).place);
    }
}
