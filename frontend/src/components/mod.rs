//! The parts that pages are made of, one per file.

pub(crate) mod chat_pane;
pub(crate) mod commands;
pub(crate) mod composer;
pub(crate) mod copy;
pub(crate) mod earlier_messages;
pub(crate) mod edit_form;
pub(crate) mod empty_state;
pub(crate) mod export_menu;
pub(crate) mod header;
pub(crate) mod help;
pub(crate) mod icon;
pub(crate) mod message;
pub(crate) mod message_foot;
pub(crate) mod nothing_here;
pub(crate) mod outdated;
mod prose;
pub(crate) mod seconds;
pub(crate) mod settings;
pub(crate) mod sidebar;
pub(crate) mod sidebar_row;
pub(crate) mod thinking;
pub(crate) mod thread;
pub(crate) mod tool_call;
pub(crate) mod tool_call_details;
pub(crate) mod tool_calls;
pub(crate) mod tool_group;
