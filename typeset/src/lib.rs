//! The typesetter: highlights code and typesets formulas. It is a WASM module of its own. The page loads it when it
//! first shows code or a formula, so pages without them do not pay for its size.
//!
//! - `code` finds the tokens of a program. [`hl_lite`] supports the most common languages, and `lexicon` describes
//!   others. Both produce the tokens of `token`.
//! - `math` converts TeX to MathML. `tex` checks the limits and rewrites commands that [`math_core`] does not know. The
//!   output of [`math_core`] is then filtered by allowlists of elements and attributes.
//! - `page` finds the blocks on the page and changes them. It only works on blocks near the viewport. `browser` has the
//!   bindings to the browser that it uses.
//!
//! All modules except `page` and `browser` are pure. Code and formulas come from models, and may come from anyone
//! through them. So all sizes are bounded, and only elements and attributes on the allowlists reach the page.

#![cfg_attr(
    not(target_arch = "wasm32"),
    allow(dead_code, reason = "`page` runs only in a browser; tests use the rest")
)]

mod browser;
pub mod code;
mod lexicon;
pub mod math;
mod page;
mod tex;
pub mod token;

/// Highlights and typesets the blocks in `place`, which must be finished. Call it again when blocks have changed.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn typeset(place: &web_sys::Element) {
    page::watch(place);
}
