//! HdrHistogram V2 interval logs: one file a measure, one tagged line a transaction type and second.
//!
//! Format: log format 1.3 of HdrHistogram's `HistogramLogWriter`, histograms V2, deflated, base64.
//! Values are microseconds, the largest value's column too. Time stamps are Unix seconds.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::prelude::{Engine, BASE64_STANDARD};
use flate2::{Compress, Compression, FlushCompress};
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use hdrhistogram::Histogram;

use crate::{Interval, TypeRecord};

type HistogramOf = fn(&TypeRecord) -> Option<&Histogram<u64>>;

/// The measures of a run, in the order of the open files, each with the histogram it shows.
const MEASURES: [(&str, HistogramOf); 4] = [
    ("response", |record| Some(&record.response)),
    ("service", |record| Some(&record.service)),
    ("late", |record| Some(&record.late)),
    (POOL_WAIT, |record| record.pool_wait.as_ref()),
];

/// There is a log of it only where something may wait.
const POOL_WAIT: &str = "pool-wait";

const LEGEND: &str = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
     \"Interval_Compressed_Histogram\"\n";

/// The open logs of a run.
pub struct IntervalLogs {
    names: Vec<String>,
    logs: Vec<IntervalLog>,
    packer: Packer,
}

impl IntervalLogs {
    /// Makes `<stem>.response.hlog`, `<stem>.service.hlog` and `<stem>.late.hlog` with their heads, and
    /// `<stem>.pool-wait.hlog` where something `waits` for connections.
    ///
    /// `names` are the transaction types, in the workload's order; `unix_start` the users' start.
    /// Errors: as of the file system, with the path in the text.
    pub fn create(
        stem: &str,
        names: &[&str],
        waits: bool,
        unix_start: Duration,
    ) -> io::Result<Self> {
        let mut logs = Vec::new();
        for (measure, _) in MEASURES {
            if measure == POOL_WAIT && !waits {
                continue;
            }
            let path = PathBuf::from(format!("{stem}.{measure}.hlog"));
            logs.push(IntervalLog::create(&path, measure, unix_start)?);
        }
        let names = names.iter().map(ToString::to_string).collect();
        Ok(IntervalLogs {
            names,
            logs,
            packer: Packer::default(),
        })
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
        for ((_, histogram_of), log) in MEASURES.iter().zip(&mut self.logs) {
            for (name, record) in self.names.iter().zip(&interval.types) {
                if let Some(histogram) = histogram_of(record) {
                    log.append(&mut self.packer, name, (unix_start, length), histogram)?;
                }
            }
            log.hand_on()?;
        }
        Ok(())
    }
}

/// One open log: a measure, with a line a tag and interval.
pub struct IntervalLog {
    file: BufWriter<File>,
}

impl IntervalLog {
    /// Makes the file with its head; one that is there is replaced.
    ///
    /// Errors: as of the file system, with the path in the text.
    pub fn create(path: &Path, measure: &str, unix_start: Duration) -> io::Result<Self> {
        let file = File::create(path).map_err(|e| with_path(path, e))?;
        let mut file = BufWriter::new(file);
        write_head(&mut file, measure, unix_start)?;
        Ok(IntervalLog { file })
    }

    /// Appends an interval, given by its begin and its length; without a value there is no line.
    pub fn append(
        &mut self,
        packer: &mut Packer,
        tag: &str,
        (unix_start, length): (Duration, Duration),
        histogram_us: &Histogram<u64>,
    ) -> io::Result<()> {
        if histogram_us.is_empty() {
            return Ok(());
        }
        let (from_s, length_s) = (unix_start.as_secs_f64(), length.as_secs_f64());
        let max_us = histogram_us.max();
        let packed = packer.pack(histogram_us)?;
        writeln!(
            self.file,
            "Tag={tag},{from_s:.3},{length_s:.3},{max_us}.000,{packed}"
        )
    }

    /// Hands what was appended to the kernel.
    pub fn hand_on(&mut self) -> io::Result<()> {
        self.file.flush()
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

/// What a compressed V2 histogram begins with, before the length of the rest.
///
/// Source: HdrHistogram's `EncodableHistogram` and `AbstractHistogram` (V2CompressedEncodingCookieBase
/// 0x1c849304, with 0x10 for word size 1).
const COMPRESSED_V2: u32 = 0x1c84_9314;

/// Turns histograms into text. The library's own serializer would allocate and clear its compressor,
/// some hundred kilobytes, for each histogram; this one is made once.
pub struct Packer {
    serializer: V2Serializer,
    compress: Compress,
    plain: Vec<u8>,
    packed: Vec<u8>,
    text: String,
}

impl Default for Packer {
    fn default() -> Self {
        Packer {
            serializer: V2Serializer::new(),
            compress: Compress::new(Compression::fast(), true),
            plain: Vec::new(),
            packed: Vec::new(),
            text: String::new(),
        }
    }
}

impl Packer {
    /// A histogram as V2, deflated, base64.
    fn pack(&mut self, histogram: &Histogram<u64>) -> io::Result<&str> {
        self.plain.clear();
        let plain = self.serializer.serialize(histogram, &mut self.plain);
        plain.map_err(io::Error::other)?;
        self.deflate()?;
        self.text.clear();
        BASE64_STANDARD.encode_string(&self.packed, &mut self.text);
        Ok(&self.text)
    }

    fn deflate(&mut self) -> io::Result<()> {
        self.packed.clear();
        self.packed.extend_from_slice(&COMPRESSED_V2.to_be_bytes());
        self.packed.extend_from_slice(&[0; 4]);
        // Deflate adds at most a few bytes to what it cannot compress.
        self.packed.reserve(self.plain.len() + 64);
        self.compress.reset();
        let finish = FlushCompress::Finish;
        let done = self
            .compress
            .compress_vec(&self.plain, &mut self.packed, finish);
        done.map_err(io::Error::other)?;
        let length = (self.packed.len() - 8) as u32;
        self.packed[4..8].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

/// A histogram as text, as in the lines of a log.
pub fn packed(histogram: &Histogram<u64>) -> io::Result<String> {
    Packer::default().pack(histogram).map(str::to_string)
}

/// The histogram of a text.
///
/// Errors: `InvalidData` where there is none in it.
pub fn unpacked(text: &str) -> io::Result<Histogram<u64>> {
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
    let bytes = BASE64_STANDARD.decode(text);
    let bytes = bytes.map_err(|e| invalid(e.to_string()))?;
    let found = Deserializer::new().deserialize(&mut bytes.as_slice());
    found.map_err(|e| invalid(e.to_string()))
}

fn with_path(path: &Path, e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}
