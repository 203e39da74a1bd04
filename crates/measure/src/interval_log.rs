//! HdrHistogram V2 interval logs: one file a measure, one tagged line a transaction type and second.
//!
//! Format: log format 1.3 of HdrHistogram's `HistogramLogWriter`, histograms V2, deflated, base64.
//! Values are microseconds, the largest value's column too. Time stamps are Unix seconds.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::Histogram;

use crate::{Interval, TypeRecord};

type HistogramOf = fn(&TypeRecord) -> &Histogram<u64>;

/// The measures of a run, in the order of the open files, each with the histogram it shows.
const MEASURES: [(&str, HistogramOf); 3] = [
    ("response", |record| &record.response),
    ("service", |record| &record.service),
    ("late", |record| &record.late),
];

const LEGEND: &str = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
     \"Interval_Compressed_Histogram\"\n";

/// The three open logs of a run.
#[derive(Debug)]
pub struct IntervalLogs {
    names: Vec<String>,
    files: Vec<BufWriter<File>>,
}

impl IntervalLogs {
    /// Makes `<stem>.response.hlog`, `<stem>.service.hlog` and `<stem>.late.hlog` with their heads.
    ///
    /// `names` are the transaction types, in the workload's order; `unix_start` the users' start.
    /// Errors: as of the file system, with the path in the text.
    pub fn create(stem: &str, names: &[&str], unix_start: Duration) -> io::Result<Self> {
        let mut files = Vec::new();
        for (measure, _) in MEASURES {
            let path = PathBuf::from(format!("{stem}.{measure}.hlog"));
            let file = File::create(&path).map_err(|e| with_path(&path, e))?;
            let mut file = BufWriter::new(file);
            write_head(&mut file, measure, unix_start)?;
            files.push(file);
        }
        let names = names.iter().map(ToString::to_string).collect();
        Ok(IntervalLogs { names, files })
    }

    /// Appends one second, which began at `unix_start`, and hands it to the kernel.
    ///
    /// Transaction types without a value get no line.
    pub fn write(
        &mut self,
        unix_start: Duration,
        length: Duration,
        interval: &Interval,
    ) -> io::Result<()> {
        for ((_, histogram_of), file) in MEASURES.iter().zip(&mut self.files) {
            for (name, record) in self.names.iter().zip(&interval.types) {
                let histogram = histogram_of(record);
                if !histogram.is_empty() {
                    write_line(file, unix_start, length, name, histogram)?;
                }
            }
            file.flush()?;
        }
        Ok(())
    }
}

fn write_head(file: &mut impl Write, measure: &str, unix_start: Duration) -> io::Result<()> {
    let unix_s = unix_start.as_secs_f64();
    writeln!(file, "#[Histogram log format version 1.3]")?;
    writeln!(
        file,
        "#[{measure} times; values and maxima are microseconds]"
    )?;
    writeln!(file, "#[StartTime: {unix_s:.3} (seconds since epoch)]")?;
    file.write_all(LEGEND.as_bytes())
}

fn write_line(
    file: &mut impl Write,
    unix_start: Duration,
    length: Duration,
    name: &str,
    histogram: &Histogram<u64>,
) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    IntervalLogWriterBuilder::new()
        .begin_log_with(file, &mut serializer)?
        .write_histogram(histogram, unix_start, length, Tag::new(name))
        .map_err(io::Error::other)
}

fn with_path(path: &Path, e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}
