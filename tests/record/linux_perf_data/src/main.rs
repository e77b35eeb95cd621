//! Counts the samples that the linux-perf-data crate (samply's reader) finds in a recording, and how many of them it
//! gives in the wrong order. usage: count-samples FILE

use linux_perf_data::linux_perf_event_reader::EventRecord;
use linux_perf_data::{PerfFileReader, PerfFileRecord};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("no file")?;
    let file = std::io::BufReader::new(std::fs::File::open(path)?);
    let PerfFileReader { mut perf_file, mut record_iter } = PerfFileReader::parse_file(file)?;
    let (mut samples, mut late, mut last) = (0u64, 0u64, 0u64);
    while let Some(record) = record_iter.next_record(&mut perf_file)? {
        if let PerfFileRecord::EventRecord { record, .. } = record {
            if let EventRecord::Sample(sample) = record.parse()? {
                let time = sample.timestamp.unwrap_or(0);
                samples += 1;
                late += u64::from(time < last);
                last = last.max(time);
            }
        }
    }
    println!("{samples} samples, {late} out of order");
    Ok(())
}
