//! The results: names, goals, and output.

mod cost;
mod goal;
mod growth;
mod json;
mod measure;
mod picture;
mod table;

use std::collections::BTreeMap;

use serde::Serialize;

pub(crate) use self::{
    cost::Cost,
    growth::print_growth,
    json::write_json,
    measure::{Measure, Taken},
    picture::draw,
    table::{print_measures, print_table, said},
};
use crate::peer::Kind;

/// Values of one measure for one peer, one per round.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Values(Vec<f64>);

impl Values {
    /// Returns the median.
    pub(crate) fn median(&self) -> f64 {
        median(&mut self.0.clone())
    }

    /// Returns the least and the greatest value.
    fn spread(&self) -> (f64, f64) {
        let fold = |pick: fn(f64, f64) -> f64, from| self.0.iter().copied().fold(from, pick);
        (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY))
    }
}

/// All results of a run.
#[derive(Debug, Default)]
pub(crate) struct Figures(BTreeMap<(Measure, Kind), Values>);

impl Figures {
    /// Adds the value of one round.
    pub(crate) fn add(&mut self, measure: Measure, kind: Kind, value: f64) {
        self.0.entry((measure, kind)).or_default().0.push(value);
    }

    fn median(&self, measure: Measure, kind: Kind) -> Option<f64> {
        self.0.get(&(measure, kind)).map(Values::median)
    }

    /// Returns the measures that have values, in their order, without those of [`growth`].
    fn measures(&self) -> Vec<Measure> {
        let all = self.0.keys().map(|(measure, _)| *measure);
        let mut measures: Vec<Measure> = all.filter(|measure| !matches!(measure, Measure::Growth(..))).collect();
        measures.dedup();
        measures
    }
}

/// Returns the median: the middle value, or the mean of the two middle ones. 0 without values.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values {
        [] => 0.0,
        _ if values.len() % 2 == 1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}

/// Returns the value that this share of the values, from 0 to 1, does not exceed.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "an index in a list of some thousands"
)]
pub(crate) fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (share * values.len() as f64).ceil() as usize;
    values.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

/// Converts a count.
#[expect(clippy::cast_precision_loss, reason = "counts are below 2^52")]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}

/// Divides a sum by a number of items.
pub(crate) fn per(sum: f64, number: usize) -> f64 {
    sum / count(number.max(1))
}

#[cfg(test)]
mod tests {
    use super::{median, percentile, said};

    #[test]
    fn medians_and_spreads_are_calculated() {
        let medians = [median(&mut [3.0, 1.0, 2.0]), median(&mut [4.0, 1.0, 2.0, 3.0]), median(&mut [])];
        assert_eq!(medians.map(said), ["2.00", "2.50", "0.00"]);
        let mut values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!([0.5, 0.99, 1.0].map(|share| said(percentile(&mut values, share))), ["50.0", "99.0", "100"]);
    }
}
