//! The book that admins read: the tool calls of everybody, filtered, and one by one, to be played and run
//! again; and who has looked at whose. What it is read with is in `http::book`.

mod error;
mod export;
mod figures;
mod filter;
mod limits;
mod list;
mod looks;
mod no_rerun;
mod playback;
mod rerun;
mod service;
mod store;
mod upkeep;
mod whole;

pub(crate) use error::BookError;
pub(crate) use export::{CallsExport, ExportFormat};
pub(crate) use figures::{Figures, Spent, ToolFigures};
pub(crate) use filter::{BUILT_IN, Filter, FilterError, statuses};
pub(crate) use limits::{MAX_RERUN_INPUT_BYTES, TIME_FOR_PAGE};
pub(crate) use list::CallsPage;
pub(crate) use looks::Subject;
pub(crate) use no_rerun::NoRerun;
pub(crate) use playback::CallPlayback;
pub(crate) use rerun::{RerunState, Reruns};
pub(crate) use service::Book;
pub(crate) use store::{
    calls::{CallRow, Order, Place},
    plans::PlanStepRow,
    reruns::{RerunId, RerunRow},
    whole::{CallOfTurnRow, DecisionRow, ModelCallOfTurnRow, ThoughtRow},
};
pub(crate) use whole::{ConversationPage, Deletion, WholeCall};
