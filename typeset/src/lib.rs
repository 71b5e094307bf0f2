//! The typesetter, a program of the page's own: it colours code and typesets formulas. The page loads it when it first shows such a block, so
//! that what it weighs is paid for by whoever reads one.
//!
//! - `code` says which letters of a program mean what. [`hl_lite`] knows the languages that are written most, `lexicon`
//!   describes others; `token` is what both find.
//! - `math` makes MathML of TeX: `tex` bounds it and puts it into words that [`math_core`] knows, and what that writes is
//!   read against a list of what may be on the page.
//! - `page` finds the blocks, sees to it that only those near the reader's eye cost anything, and changes the page;
//!   `browser` names what it uses of the browser.
//!
//! All but the last two are pure. Code and formulas come from models, and through them from anywhere: everything is
//! bounded, and nothing becomes an element or an attribute that is not on a list.

#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only a browser has a page; tests use the rest"))]

mod browser;
pub mod code;
mod lexicon;
pub mod math;
mod page;
mod tex;
pub mod token;

/// Sees to the blocks in `place`, which are finished. May be called again for what has changed since.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn typeset(place: &web_sys::Element) {
    page::watch(place);
}
