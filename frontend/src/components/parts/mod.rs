//! Parts that several subjects use: icons, lists, menus, fields, and helpers for focus and keys.

pub(crate) mod combobox;
pub(crate) mod commands;
pub(crate) mod each;
pub(crate) mod icon;
pub(crate) mod ids;
pub(crate) mod list_steps;
pub(crate) mod listbox;
pub(crate) mod load_button;
pub(crate) mod menu;
pub(crate) mod nothing_here;
pub(crate) mod outdated;
pub(crate) mod own_element;
pub(crate) mod signed_out;
pub(crate) mod switches;
pub(crate) mod tally_marks;
pub(crate) mod times;
pub(crate) mod title_field;
pub(crate) mod typing;
pub(crate) mod visible;
