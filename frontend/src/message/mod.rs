//! Renders messages as nodes: a pure function of what is known of a message and of how the user left it. The server
//! writes the nodes as HTML, for the page, for a shared conversation and for a playback without scripts. The browser
//! adopts that HTML, and updates only what changes.
//!
//! - `view` is what a message is rendered from. `answer` and `question` are the two kinds; `footer` is the line
//!   below each, and `menu` has the other actions of an answer.
//! - `files` shows what is attached to a question.
//! - `call_content` has the texts of a tool call.
//! - `calls` has the lines of tool calls and reasoning, and how finished ones fold together; `plan` has the steps of a
//!   plan.
//! - `ending` says what an answer waits for, or how it ended.
//! - `html` writes messages of the page, and `printed` those of pages without scripts.
//! - `clocks` counts the seconds for which something runs.
//!
//! Some parts are slots, which other code fills: Markdown, which is drawn while it grows, and parts that are mounted
//! when they are used, such as the form that edits a message. `components::message` attaches behavior: a press is found
//! by the attribute `data-action` of what was pressed.

mod answer;
mod call_content;
mod calls;
mod clocks;
mod ending;
mod files;
mod footer;
mod html;
mod menu;
mod parts;
mod pieces;
mod plan;
mod printed;
mod question;
mod render;
#[cfg(all(test, feature = "ssr"))]
mod tests;
mod view;

pub(crate) use call_content::{CallContent, CallTextPart};
pub(crate) use calls::{call_details_id, reasoning_id};
pub(crate) use clocks::Clocks;
pub(crate) use footer::{ACTION_WHEN_IDLE, MS};
pub(crate) use html::write_html;
pub(crate) use menu::{MENU_ID, button_id, menu_items};
pub(crate) use parts::{Slot, Stretches};
#[cfg(feature = "ssr")]
pub(crate) use printed::{PageLimit, write_printed};
pub(crate) use question::is_long;
pub(crate) use render::render;
pub(crate) use view::{Copied, CopyOutcome, Live, OWN_FILES, Recovery, Times, View};
