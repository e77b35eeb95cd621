// A load for tests of unwinding: closures, trait objects, sorting, and a panic that is caught now and then.
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

trait Shape {
    fn area(&self, depth: u32) -> f64;
}

struct Square(f64);
struct Circle(f64);

impl Shape for Square {
    #[inline(never)]
    fn area(&self, depth: u32) -> f64 {
        if depth == 0 { work(self.0) } else { black_box(self.area(depth - 1)) + 1.0 }
    }
}

impl Shape for Circle {
    #[inline(never)]
    fn area(&self, depth: u32) -> f64 {
        if depth == 0 { work(self.0) * 3.14 } else { black_box(self.area(depth - 1)) + 2.0 }
    }
}

#[inline(never)]
fn work(seed: f64) -> f64 {
    let mut values: Vec<f64> = (0..500).map(|i| (i as f64 * 7919.0 + seed) % 1000.0).collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let mut names = BTreeMap::new();
    for value in &values {
        *names.entry(format!("{:.0}", value)).or_insert(0u32) += 1;
    }
    names.len() as f64
}

fn main() {
    let ms = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let end = Instant::now() + Duration::from_millis(ms);
    std::panic::set_hook(Box::new(|_| {}));
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(2.0)), Box::new(Circle(3.0))];
    let mut round = 0u32;
    while Instant::now() < end {
        for shape in &shapes {
            black_box(shape.area(round % 16));
        }
        if round % 4 == 0 {
            let _ = std::panic::catch_unwind(|| black_box(Square(1.0).area(3)) < 0.0 || panic!("caught"));
        }
        round += 1;
    }
}
