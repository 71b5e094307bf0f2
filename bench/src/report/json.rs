//! Writes the results as JSON.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use serde_json::json;

use super::{Figures, Measure, Values, goal};
use crate::peer::Kind;

/// Writes all values of all rounds, for other programs to read.
pub(crate) fn write_json(figures: &Figures, path: &Path) -> Result<()> {
    let entry = |((measure, kind), values): (&(Measure, Kind), &Values)| {
        let (least, most) = values.spread();
        let goal = goal::limit(figures, *measure, *kind);
        json!({"name": measure.name(), "unit": measure.unit(), "peer": kind, "median": values.median(), "least": least,
            "most": most, "goal": goal, "rounds": values})
    };
    let entries: Vec<_> = figures.0.iter().map(entry).collect();
    let text = serde_json::to_string_pretty(&entries)?;
    fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}
