//! The tool history for admins: all users' tool calls, with filters, details, playback, and re-runs; and the access
//! log. The pages are in `http::tool_history` of the server.

mod access_log;
mod details;
mod error;
mod export;
mod figures;
mod filter;
mod limits;
mod list;
mod maintenance;
mod no_rerun;
mod playback;
mod rerun;
mod service;
mod store;

pub use access_log::Subject;
pub use details::{CallDetails, ConversationPage, Deletion};
pub use error::ToolHistoryError;
pub use export::{CallsExport, ExportFormat};
pub use figures::{DurationBound, Figures, Ratings, ToolFigures, Usage};
pub use filter::{BUILT_IN, Filter, FilterError, statuses};
pub use limits::{MAX_RERUN_INPUT_BYTES, TIME_FOR_PAGE};
pub use list::CallsPage;
pub use no_rerun::NoRerun;
pub use playback::CallPlayback;
pub use rerun::{RerunState, Reruns};
pub use service::ToolHistory;
pub use store::{
    calls::{CallRow, ListPosition, Order},
    details::{CallOfTurnRow, CopiedCallRow, DecisionRow, FileRow, ModelCallOfTurnRow, ReasoningRow},
    plans::PlanStepRow,
    reruns::{RerunId, RerunRow},
};
