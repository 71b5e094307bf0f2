//! Wire types of the Tallybook server and its clients: REST resources, chat events, and the framing of server-sent
//! events. Contains only types and pure functions: no I/O, no async, and nothing that differs between host and browser.

mod access_record;
mod accounts;
mod approval;
mod budget;
mod conversation;
mod event;
mod feed;
mod feedback;
mod file;
mod group;
mod ids;
mod message;
mod model;
mod model_settings;
mod plan;
mod playback;
mod problem;
mod raw_json;
mod reasoning;
mod search;
mod server_settings;
mod share;
pub mod sse;
mod status;
mod text;
mod time;
mod tool;
mod tool_server_settings;
mod truncate;
mod usage;

pub use access_record::{AccessKind, AccessRecord};
pub use accounts::{
    CreatedKey, Identity, Invitation, InvitationInfo, KeyInfo, LinkRedirect, MAX_INSTRUCTIONS_CHARS, Me, Quota, Quotas,
    Rights, Session, UpdateMe, User, UserRole,
};
pub use approval::{
    Approval, ApprovalDecided, ApprovalRequested, ApprovalScope, CallDecision, DeciderKind, Decision, DisabledTools,
    NewDecision, NewDecisions, ToolCallDecision, ToolCallReview, ToolSwitches, Verdict,
};
pub use budget::{Budget, BudgetAmount, BudgetPeriod, BudgetStatus};
pub use conversation::{
    Conversation, ConversationSummary, DeletedConversations, Earlier, NewConversation, NewFork, Page, RetryOptions,
    UpdateConversation, Window,
};
pub use event::{
    ChatEvent, ContentDelta, MessageEnd, MessageStart, ModelRetry, Snapshot, ToolCallEnd, ToolCallPreparing,
    ToolCallProgress, ToolCallStart, TurnError,
};
pub use feed::{FeedEvent, FeedKind, PAGE_HEADER};
pub use feedback::{Feedback, MAX_FEEDBACK_CHARS, Rating};
pub use file::{AccountFile, FileInfo, FileKind, FileStatus, FileText, MessageFile, UnknownWord};
pub use group::{Group, GroupMember, GroupMembers, GroupOrigin, Groups, NewGroup, NewGroupMembers, UpdateGroup};
pub use ids::{ApprovalId, MessageId, PlanId, PlanStepId, ShareId, ToolCallId};
pub use message::{AnswerMode, ContextTruncation, Message, MessagePart, NewMessage, ReasoningSummary};
pub use model::{CatalogModel, ModelInfo, ModelList, Prices, ToolOffer};
pub use model_settings::{
    ConfiguredModel, ConfiguredModels, DiscoverModels, DiscoveredModel, DiscoveredModels, EntryProblem, ModelFields,
    ModelTest, NewModel, SettingsOrigin, TestedToolMode,
};
pub use plan::{Plan, PlanStep, PlanStepChanged, PlanStepStatus};
pub use playback::{Playback, PlayedEvent};
pub use problem::{Problem, ProblemBudget};
pub use raw_json::{RawJson, json_depth};
pub use reasoning::{MAX_REASONING_BYTES, MAX_STEP_REASONING_BYTES, Reasoning, ReasoningDelta};
pub use search::{SearchHit, SearchPage, SnippetPart};
pub use server_settings::{
    CurrentServerSettings, MemoryFields, PlanFields, ReviewFields, ServerSettings, SettingsChange, SettingsHistory,
};
pub use share::{NewShare, Share, SharedConversation};
pub use status::{MessageStatus, Role, ToolCallStatus};
pub use text::{beginning_within, first_bytes, first_chars, json_bytes, with_ellipsis, without_nul};
pub use time::TIME_ZONE_HEADER;
pub use tool::{AcceptTool, ChangedTool, LeftOutTool, ToolCall, ToolInfo, ToolList, ToolServerInfo};
pub use tool_server_settings::{
    ConfiguredToolServer, ConfiguredToolServers, LeftOutTestedTool, NewToolServer, TestedTool, ToolServerFields,
    ToolServerTest,
};
pub use truncate::{CallsBudget, MAX_CALL_ERROR_BYTES, MAX_CALL_TEXT_BYTES, MAX_CALLS_BYTES};
pub use usage::{PurposeUsage, Usage, UsageByPurpose};
