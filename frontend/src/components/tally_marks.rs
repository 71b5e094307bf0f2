//! A tally: strokes in bundles of five, the fifth across the others. It is the mark of the product, and how many calls a
//! group has. Decoration: the words are elsewhere.

use leptos::prelude::*;

/// A bundle: four strokes and the one across them.
const BUNDLE: usize = 5;
/// More strokes than these are told by their number alone.
const MAX_STROKES: usize = 2 * BUNDLE;
/// From one stroke to the next, and from one bundle to the next.
const STEP: usize = 4;
const BUNDLE_WIDTH: usize = 20;

/// The mark of the product.
#[component]
pub(crate) fn Mark() -> impl IntoView {
    marks(&[false; BUNDLE], "tally mark")
}

/// One stroke for each that is counted, in another colour where it failed.
pub(crate) fn tally(failures: &[bool]) -> AnyView {
    marks(&failures[..failures.len().min(MAX_STROKES)], "tally")
}

fn marks(strokes: &[bool], class: &'static str) -> AnyView {
    let drawn = strokes.iter().enumerate().map(|(at, failed)| {
        let left = at / BUNDLE * BUNDLE_WIDTH;
        let across = at % BUNDLE == BUNDLE - 1;
        let path = if across {
            format!("M{left} 12.5 {} 3.5", left + 16)
        } else {
            format!("M{} 2v12", left + 2 + at % BUNDLE * STEP)
        };
        let class = match (failed, across) {
            (true, _) => Some("failed"),
            (false, true) => Some("strike"),
            (false, false) => None,
        };
        view! { <path class=class d=path /> }
    });
    let last = strokes.len().max(1) - 1;
    let width = last / BUNDLE * BUNDLE_WIDTH + if last % BUNDLE == BUNDLE - 1 { 16 } else { last % BUNDLE * STEP + 4 };
    view! {
        <svg class=class viewBox=format!("0 0 {width} 16") aria-hidden="true" focusable="false">
            {drawn.collect_view()}
        </svg>
    }
    .into_any()
}
