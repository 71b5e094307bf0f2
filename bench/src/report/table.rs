//! Prints the results as a Markdown table. It is readable on a terminal, and can be pasted into a document.

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
};

use anyhow::Result;

use super::{Figures, Measure, Values, goal};
use crate::peer::Kind;

/// Prints the table of all measures, if there are any.
pub(crate) fn print_measures(figures: &Figures) -> Result<()> {
    let kinds: BTreeSet<Kind> = figures.0.keys().map(|(_, kind)| *kind).collect();
    let mut rows = vec![head(&kinds)];
    rows.extend(figures.measures().into_iter().map(|measure| row(figures, &kinds, measure)));
    if rows.len() > 1 {
        print_table(&rows)?;
    }
    Ok(())
}

/// Prints rows of cells. The first row is the header.
pub(crate) fn print_table(rows: &[Vec<String>]) -> Result<()> {
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> =
        (0..columns).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut out = io::stdout().lock();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
        if number == 0 {
            writeln!(out, "|{}|", widths.iter().map(|width| "-".repeat(width + 2)).collect::<Vec<_>>().join("|"))?;
        }
    }
    Ok(())
}

fn head(kinds: &BTreeSet<Kind>) -> Vec<String> {
    let names = kinds.iter().map(|kind| kind.name().to_owned());
    std::iter::once(String::new()).chain(names).chain([String::from("goal for ours")]).collect()
}

/// Returns the medians, each with its spread, and the limit for Tallybook.
fn row(figures: &Figures, kinds: &BTreeSet<Kind>, measure: Measure) -> Vec<String> {
    let name = measure_title(&measure.name(), measure.unit());
    let cells = kinds.iter().map(|&kind| {
        let Some(values) = figures.0.get(&(measure, kind)) else { return String::new() };
        let limit = goal::limit(figures, measure, kind);
        let missed = limit.is_some_and(|limit| !goal::is_reached(measure, values.median(), limit));
        format!("{}{}", cell(values), if missed { " ✗" } else { "" })
    });
    let limit = kinds.iter().find_map(|&kind| goal::limit(figures, measure, kind));
    let sign = if measure.wants_more() { '≥' } else { '≤' };
    let goal = limit.map_or_else(String::new, |limit| format!("{sign} {}", said(limit)));
    std::iter::once(name).chain(cells).chain([goal]).collect()
}

/// Formats a name with its unit.
pub(super) fn measure_title(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} ({unit})") }
}

/// Formats a median, with its spread if there are several values.
pub(super) fn cell(values: &Values) -> String {
    let (least, most) = values.spread();
    let spread = if values.0.len() > 1 { format!(" ({}–{})", said(least), said(most)) } else { String::new() };
    format!("{}{spread}", said(values.median()))
}

/// Formats a value with about three significant digits.
pub(crate) fn said(value: f64) -> String {
    match value.abs() {
        size if size >= 10_000.0 => format!("{:.0}k", value / 1000.0),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn values_have_three_significant_digits() {
        assert_eq!([0.125, 18.51, 351.4, 210_400.0].map(said), ["0.12", "18.5", "351", "210k"]);
    }
}
