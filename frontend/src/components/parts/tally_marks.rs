//! Tally marks: strokes in bundles of five, the fifth across the others. They are the product's mark, and show the
//! number of calls in a group. Decorative, with a text elsewhere.

use leptos::prelude::*;
use tallybook_nodes::{Element, element};
use tallybook_protocol::ToolCallStatus;

/// A bundle: four strokes, and the one across them.
const BUNDLE: usize = 5;
/// Maximum number of strokes; above it, only the number is shown.
const MAX_STROKES: usize = 2 * BUNDLE;
/// Distances between strokes and between bundles.
const STEP: usize = 4;
const BUNDLE_WIDTH: usize = 20;

/// The product's mark.
#[component]
pub(crate) fn Mark() -> impl IntoView {
    let strokes = (0..BUNDLE).map(Stroke::at);
    let strokes =
        strokes.map(|stroke| view! { <path class=stroke.is_across.then_some("strike") d=stroke.path /> }.into_any());
    view! {
        <svg class="tally mark" viewBox=view_box(BUNDLE) aria-hidden="true" focusable="false">
            {strokes.collect_view()}
        </svg>
    }
    .into_any()
}

/// Renders a stroke for each tool call, in another color if the call failed, and faint if it did not run to its end.
pub(crate) fn tally(outcomes: &[ToolCallStatus]) -> Element {
    let mut drawing = element("svg")
        .with("class", "tally")
        .with("viewBox", view_box(outcomes.len().min(MAX_STROKES)))
        .with("aria-hidden", "true")
        .with("focusable", "false");
    for (at, outcome) in outcomes.iter().take(MAX_STROKES).enumerate() {
        let stroke = Stroke::at(at);
        let class = match outcome {
            ToolCallStatus::Success => stroke.is_across.then_some("strike"),
            ToolCallStatus::Error => Some("failed"),
            _ => Some("unfinished"),
        };
        drawing = drawing.with_child(element("path").with_some("class", class).with("d", stroke.path));
    }
    drawing
}

/// A stroke.
struct Stroke {
    path: String,
    /// `true` for the fifth, which crosses the four before it.
    is_across: bool,
}

impl Stroke {
    fn at(at: usize) -> Self {
        let left = at / BUNDLE * BUNDLE_WIDTH;
        let is_across = at % BUNDLE == BUNDLE - 1;
        let path = if is_across {
            format!("M{left} 12.5 {} 3.5", left + 16)
        } else {
            format!("M{} 2v12", left + 2 + at % BUNDLE * STEP)
        };
        Self { path, is_across }
    }
}

fn view_box(strokes: usize) -> String {
    let last = strokes.max(1) - 1;
    let width = last / BUNDLE * BUNDLE_WIDTH + if last % BUNDLE == BUNDLE - 1 { 16 } else { last % BUNDLE * STEP + 4 };
    format!("0 0 {width} 16")
}
