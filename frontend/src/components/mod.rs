//! The components of the page, in folders by subject.

pub(crate) mod chat_pane;
pub(crate) mod composer;
pub(crate) mod dialogs;
pub(crate) mod frame;
pub(crate) mod header;
pub(crate) mod lazy;
pub(crate) mod message;
pub(crate) mod palette;
pub(crate) mod parts;
pub(crate) mod settings;
pub(crate) mod setup_dialog;
pub(crate) mod sidebar;
