//! The growth of costs: a value for each number of stored messages or open streams, as a table.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write as _},
};

use anyhow::Result;

use super::{
    Figures, Measure, Values,
    cost::{Cost, Size},
    table::{cell, measure_title, print_table, said},
};
use crate::peer::Kind;

/// Maximum factor per tenfold step of a cost that is flat.
const FLAT: f64 = 1.1;

/// A cost is logarithmic if its last step adds at most this multiple of what the earlier steps add, per tenfold step.
const LOGARITHMIC: f64 = 1.5;

/// Least growth that counts as growth of the earlier steps, relative to the first value: less may be chance.
const NOISE: f64 = 0.1;

/// The values of one cost of one peer, by size.
pub(super) struct Curve<'a> {
    cost: Cost,
    pub(super) kind: Kind,
    pub(super) points: BTreeMap<u64, &'a Values>,
}

impl Curve<'_> {
    /// Returns all curves of the results.
    pub(super) fn all(figures: &Figures) -> Vec<Curve<'_>> {
        let mut curves: BTreeMap<(Cost, Kind), BTreeMap<u64, &Values>> = BTreeMap::new();
        for ((measure, kind), values) in &figures.0 {
            if let Measure::Growth(cost, size) = *measure {
                curves.entry((cost, *kind)).or_default().insert(size, values);
            }
        }
        curves.into_iter().map(|((cost, kind), points)| Curve { cost, kind, points }).collect()
    }

    /// Returns its name and unit.
    pub(super) fn title(&self) -> String {
        measure_title(self.cost.name(), self.cost.unit())
    }

    /// Returns the name of the quantity with which it may grow.
    pub(super) fn size_name(&self) -> &'static str {
        self.cost.size().name()
    }
}

/// Growth of a cost.
#[derive(Debug)]
struct Trend {
    /// Factor per tenfold step, on average.
    factor: f64,
    /// Describes the curve; empty if too few sizes were measured.
    shape: &'static str,
}

impl Trend {
    /// Returns the growth of these values, each with its size, in the order of sizes. `None` if fewer than two sizes
    /// were measured, or if the first value is too small for the clock.
    fn of(points: &[(u64, f64)]) -> Option<Self> {
        let [first, .., last] = points else { return None };
        if first.1 <= 0.0 {
            return None;
        }
        let factor = (last.1 / first.1).powf(1.0 / decades(first.0, last.0));
        let shape = match points {
            _ if factor <= FLAT => "flat",
            [.., before_last, _] if points.len() > 2 => {
                let earlier = (before_last.1 - first.1) / decades(first.0, before_last.0);
                let added = (last.1 - before_last.1) / decades(before_last.0, last.0);
                if added <= LOGARITHMIC * earlier.max(NOISE * first.1) { "logarithmic" } else { "faster" }
            }
            _ => "",
        };
        Some(Self { factor, shape })
    }
}

/// Returns the number of tenfold steps between two sizes.
#[expect(clippy::cast_precision_loss, reason = "sizes are below 2^52")]
fn decades(from: u64, to: u64) -> f64 {
    (to as f64 / from as f64).log10()
}

/// Prints a table for each quantity: a line for each cost of each peer, and a column for each size.
pub(crate) fn print_growth(figures: &Figures) -> Result<()> {
    let curves = Curve::all(figures);
    for size in [Size::StoredMessages, Size::OpenStreams] {
        let curves: Vec<&Curve<'_>> = curves.iter().filter(|curve| curve.cost.size() == size).collect();
        if !curves.is_empty() {
            writeln!(io::stdout().lock())?;
            print_table(&rows(size, &curves))?;
        }
    }
    Ok(())
}

/// Returns the rows of a table. The first row is the header.
fn rows(size: Size, curves: &[&Curve<'_>]) -> Vec<Vec<String>> {
    let sizes: BTreeSet<u64> = curves.iter().flat_map(|curve| curve.points.keys().copied()).collect();
    let head = [format!("cost by {}", size.name()), "program".to_owned()].into_iter();
    let head = head.chain(sizes.iter().map(|&size| grouped(size)));
    let mut rows = vec![head.chain(["per tenfold", "growth"].map(str::to_owned)).collect()];
    for curve in curves {
        let points: Vec<(u64, f64)> = curve.points.iter().map(|(&size, values)| (size, values.median())).collect();
        let cells = sizes.iter().map(|size| curve.points.get(size).map_or_else(String::new, |values| cell(values)));
        let trend = Trend::of(&points)
            .map_or_else(<[String; 2]>::default, |trend| [format!("× {}", said(trend.factor)), trend.shape.to_owned()]);
        let names = [curve.title(), curve.kind.name().to_owned()];
        rows.push(names.into_iter().chain(cells).chain(trend).collect());
    }
    rows
}

/// Formats a number with a comma between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Cost, Curve, Figures, Kind, Measure, Size, Trend, grouped, rows};

    fn shape(values: [f64; 4]) -> &'static str {
        let sizes = [1_000, 10_000, 100_000, 1_000_000];
        Trend::of(&std::array::from_fn::<_, 4, _>(|at| (sizes[at], values[at]))).unwrap().shape
    }

    #[test]
    fn growth_is_classified_by_its_last_step() {
        assert_eq!([[5.0, 5.2, 4.9, 5.3], [5.0, 4.0, 3.0, 2.0]].map(shape), ["flat"; 2]);
        assert_eq!([[1.0, 2.0, 3.0, 4.0], [3.0, 3.3, 3.9, 4.3]].map(shape), ["logarithmic"; 2]);
        assert_eq!([[1.0, 10.0, 100.0, 1000.0], [5.0, 5.0, 5.1, 9.0]].map(shape), ["faster"; 2]);
    }

    #[test]
    fn few_values_have_no_shape() {
        assert!(
            Trend::of(&[]).is_none() && Trend::of(&[(1, 2.0)]).is_none() && Trend::of(&[(1, 0.0), (9, 2.0)]).is_none()
        );
        let trend = Trend::of(&[(1, 1.0), (100, 4.0)]).unwrap();
        assert_eq!((trend.factor, trend.shape), (2.0, ""));
    }

    #[test]
    fn each_cost_is_a_line_and_each_size_a_column() {
        let mut figures = Figures::default();
        for (size, value) in [(10_000, 3.0), (1_000, 2.0), (100_000, 4.0)] {
            figures.add(Measure::Growth(Cost::List, size), Kind::Sqlite, value);
        }
        figures.add(Measure::Growth(Cost::Open, 1_000), Kind::Sqlite, 7.0);
        let curves = Curve::all(&figures);
        let rows = rows(Size::StoredMessages, &curves.iter().collect::<Vec<_>>());
        let expected = [
            ["cost by stored messages", "program", "1,000", "10,000", "100,000", "per tenfold", "growth"],
            ["growth_list (ms)", "ours, SQLite", "2.00", "3.00", "4.00", "× 1.41", "logarithmic"],
            ["growth_open (ms)", "ours, SQLite", "7.00", "", "", "", ""],
        ];
        assert_eq!(rows, expected);
        assert_eq!([0, 999, 5_000, 1_000_000].map(grouped), ["0", "999", "5,000", "1,000,000"]);
    }
}
