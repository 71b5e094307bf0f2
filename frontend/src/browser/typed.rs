//! Attaches the page to the message field and the field for files, which the document's script (`app`) handles until
//! then.

use wasm_bindgen::JsCast;
use web_sys::{Event, File, FileList, HtmlInputElement, HtmlTextAreaElement};

use super::{drawn_by_server, window};

/// Marks the field if the user asked to send its text.
pub(crate) const SENDS: &str = "data-sends";

/// Name of the event that tells the document's script that the page handles the field from now on.
pub(crate) const TAKEN: &str = "taken";

/// Input of the user in the field before the page was interactive.
pub(crate) struct TypedEarly {
    /// The text in the field.
    pub(crate) text: String,
    /// `true` if the user asked to send it. The field is read-only until [`release_field`].
    pub(crate) is_sent: bool,
}

/// Ends the script's handling of the server-rendered field with this ID, and returns the user's input. Returns `None`
/// if the server did not render the field.
pub(crate) fn take_field(id: &str) -> Option<TypedEarly> {
    let field: HtmlTextAreaElement = drawn_by_server(id)?.dyn_into().ok()?;
    field.dispatch_event(&Event::new(TAKEN).ok()?).ok()?;
    Some(TypedEarly { text: field.value(), is_sent: field.has_attribute(SENDS) })
}

/// Returns the files that the user chose in the server-rendered field with this ID.
pub(crate) fn chosen_early(id: &str) -> Vec<File> {
    let field = drawn_by_server(id).and_then(|field| field.dyn_into().ok());
    field.as_ref().map(take_files).unwrap_or_default()
}

/// Takes the chosen files out of a field, so that the user can choose the same files again.
pub(crate) fn take_files(field: &HtmlInputElement) -> Vec<File> {
    let files = listed(field.files());
    field.set_value("");
    files
}

/// Returns the files of a list.
pub(crate) fn listed(files: Option<FileList>) -> Vec<File> {
    let Some(files) = files else { return Vec::new() };
    (0..files.length()).filter_map(|at| files.get(at)).collect()
}

/// Lets the user edit the field with this ID again, once its text is sent.
pub(crate) fn release_field(id: &str) {
    let field = window().ok().and_then(|window| window.document()?.get_element_by_id(id));
    if let Some(field) = field.and_then(|field| field.dyn_into::<HtmlTextAreaElement>().ok()) {
        let _ = field.remove_attribute(SENDS);
        field.set_read_only(false);
    }
}
