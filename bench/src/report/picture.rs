//! Draws the results: a group of bars for each measure, with a line for Tallybook's limit, and one for each cost whose
//! growth was measured. The scale of each group is logarithmic and starts half a decade below its least value.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result};

use super::{
    Figures, Measure, goal,
    growth::{Curve, grouped},
    table::said,
};

const WIDTH: f64 = 760.0;
/// Start of the bars, and their maximum length.
const LEFT: f64 = 150.0;
const ROOM: f64 = 500.0;
const BAR: f64 = 18.0;
const HEADING: f64 = 30.0;

/// Colors that are readable on white and on black.
const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#777}.name{font-weight:600}.peer{fill:#8a8f98}.ours{fill:#2f7fd6}\
    .goal{stroke:#d9822b;stroke-width:2}";

/// A bar.
struct Bar {
    label: String,
    is_ours: bool,
    value: f64,
}

/// Writes the picture.
pub(crate) fn draw(figures: &Figures, path: &Path) -> Result<()> {
    let mut body = String::new();
    let mut y = 0.0;
    for measure in figures.measures() {
        y = measured(&mut body, figures, measure, y)?;
    }
    for curve in Curve::all(figures) {
        y = grown(&mut body, &curve, y)?;
    }
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\" role=\"img\" aria-label=\"What was measured, beside \
         the goals\">\n<style>{STYLE}</style>\n{body}</svg>\n"
    );
    fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
}

/// Draws one measure. Returns the start of the next one.
fn measured(body: &mut String, figures: &Figures, measure: Measure, top: f64) -> Result<f64> {
    let of_measure = || figures.0.iter().filter(|((other, _), _)| *other == measure);
    let limit = of_measure().find_map(|((_, kind), _)| goal::limit(figures, measure, *kind));
    let bars: Vec<Bar> = of_measure()
        .map(|((_, kind), values)| Bar {
            label: kind.name().to_owned(),
            is_ours: kind.is_ours(),
            value: values.median(),
        })
        .collect();
    group(body, &title(measure, limit), &bars, limit, top)
}

/// Draws the growth of one cost: a bar for each size. Returns the start of the next group.
fn grown(body: &mut String, curve: &Curve<'_>, top: f64) -> Result<f64> {
    let bars: Vec<Bar> = curve
        .points
        .iter()
        .map(|(&size, values)| Bar { label: grouped(size), is_ours: curve.kind.is_ours(), value: values.median() })
        .collect();
    let title = format!("{}, by {}: {}", curve.title(), curve.size_name(), curve.kind.name());
    group(body, &title, &bars, None, top)
}

/// Draws a group of bars. Returns the start of the next one.
fn group(body: &mut String, title: &str, bars: &[Bar], limit: Option<f64>, top: f64) -> Result<f64> {
    let all = || bars.iter().map(|bar| bar.value).chain(limit);
    let (least, most) = (all().fold(f64::INFINITY, f64::min).max(1e-6), all().fold(0.0, f64::max));
    // Starts half a decade below the least value, so that its bar is visible, too.
    let decades = (most / least).log10() + 0.5;
    let x = |value: f64| LEFT + ROOM * ((value.max(least) / least).log10() + 0.5) / decades;
    writeln!(body, "<text class=\"name\" x=\"0\" y=\"{:.0}\">{}</text>", top + 20.0, title)?;
    let mut y = top + HEADING;
    for &Bar { ref label, is_ours, value } in bars {
        let class = if is_ours { "ours" } else { "peer" };
        writeln!(body, "<text x=\"0\" y=\"{:.0}\">{}</text>", y + 12.0, label)?;
        writeln!(
            body,
            "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{y:.0}\" width=\"{:.1}\" height=\"13\"/>",
            x(value) - LEFT
        )?;
        writeln!(body, "<text x=\"{:.1}\" y=\"{:.0}\">{}</text>", x(value) + 6.0, y + 12.0, said(value))?;
        y += BAR;
    }
    if let Some(limit) = limit {
        let at = x(limit);
        writeln!(
            body,
            "<line class=\"goal\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.0}\" y2=\"{y:.0}\"/>",
            top + HEADING - 4.0
        )?;
    }
    Ok(y + 6.0)
}

fn title(measure: Measure, limit: Option<f64>) -> String {
    let unit = if measure.unit().is_empty() { String::new() } else { format!(", {}", measure.unit()) };
    let sign = if measure.wants_more() { "at least" } else { "at most" };
    let goal = limit.map_or_else(String::new, |limit| format!(" (goal: {sign} {})", said(limit)));
    format!("{}{unit}{goal}", measure.name())
}
