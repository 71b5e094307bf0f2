//! Client for Tallybook's REST API, one file for each subject. Bodies have the types of the protocol; `browser` has
//! the transport.

pub(crate) mod account;
mod conversations;
pub(crate) mod entries;
mod error;
mod files;
mod request;
mod streams;
mod tools;
mod turns;

pub(crate) use self::{
    conversations::{
        Listed, choose_model, conversation_url, create_conversation, delete_all_conversations, delete_conversation,
        export_url, find_conversation, find_usage, fork, list_conversations, list_shares, revoke_share, search,
        select_message, share, update_conversation,
    },
    entries::list_models,
    error::ApiError,
    files::{delete_file, file_text, upload_file},
    streams::{EventStream, feed},
    tools::{accept_tool, disable_tools, disabled_tools, list_approvals, list_tools, revoke_approval},
    turns::{
        continue_turn, decide, explain, find_tool_call, join, playback, regenerate, send_message, set_feedback, stop,
    },
};
