//! The fields of a tool server in the dialog: its address and authentication, the approval of its calls, and further
//! settings.

use leptos::prelude::*;

use crate::{
    components::{
        parts::listbox::Choice,
        setup_dialog::fields::{choice_field, further_view, lines_field, number_field, secret_field, text_field},
    },
    language::Language,
    reactive::memo,
    setup::{Dialog, Field, HEADER, KEEP, TOKEN},
};

/// The fields.
pub(crate) fn fields_view(dialog: Dialog, is_new: bool, text: Language) -> AnyView {
    let is_plain = memo(move |_| dialog.setup.with(|setup| setup.form().is_plain_http()));
    let authentication = memo(move |_| dialog.text_of(Field::Authentication));
    let allow_http = move || {
        is_plain.get().then(|| {
            choice_field(
                dialog,
                Field::AllowHttp,
                text.allow_http(),
                Some(text.allow_http_hint().into_any()),
                vec![Choice::new("", text.no()), Choice::new("yes", text.yes())],
                text,
            )
        })
    };
    let secret = move || {
        let is_header = match authentication.get().as_str() {
            TOKEN => false,
            HEADER => true,
            _ => return None,
        };
        let label = if is_header { text.header_value() } else { text.server_token() };
        Some(
            view! {
                {is_header.then(|| {
                    text_field(dialog, Field::Header, text.header_name(), Some(text.header_name_hint()), None, text)
                })}
                {secret_field(dialog, label, text.secret_hint().into_any(), None, text)}
                {lines_field(dialog, Field::MoreHeaders, text.more_headers(), text.more_headers_hint(), text)}
            }
            .into_any(),
        )
    };
    let approval = vec![
        Choice::new("", text.approve_all()),
        Choice::new("claimed", text.approve_claimed()),
        Choice::new("low", text.approve_none()),
    ];
    view! {
        {(!is_new).then(|| view! { <p class="sheet-note">{text.setup_name_fixed()}</p> })}
        <fieldset class="setup-part">
            <legend>{text.setup_connection()}</legend>
            {is_new.then(|| {
                text_field(dialog, Field::Name, text.server_name(), Some(text.server_name_hint()), None, text)
            })}
            {text_field(dialog, Field::Address, text.setup_address(), Some(text.server_address_hint()), None, text)}
            {allow_http}
            {authentication_field(dialog, text)}
            {secret}
        </fieldset>
        <fieldset class="setup-part">
            <legend>{text.tools()}</legend>
            {choice_field(
                dialog, Field::Approval, text.server_approval(), Some(text.server_approval_hint().into_any()), approval, text,
            )}
            {more_view(dialog, text)}
        </fieldset>
    }
    .into_any()
}

/// The way to authenticate. The stored headers are not shown; a stored server begins with keeping them.
fn authentication_field(dialog: Dialog, text: Language) -> AnyView {
    let has_stored = untrack(|| dialog.setup.with(|setup| setup.stored().is_some_and(|stored| stored.has_secret)));
    let keep = has_stored.then(|| Choice::new(KEEP, text.authentication_keep()));
    let ways = [
        Choice::new("", text.authentication_none()),
        Choice::new(TOKEN, text.authentication_token()),
        Choice::new(HEADER, text.authentication_header()),
    ];
    let choices = keep.into_iter().chain(ways).collect();
    choice_field(dialog, Field::Authentication, text.authentication(), None, choices, text)
}

/// The settings that have a default.
fn more_view(dialog: Dialog, text: Language) -> AnyView {
    let grid = view! {
        {text_field(dialog, Field::Include, text.server_include(), Some(text.server_names_hint()), None, text)}
        {text_field(dialog, Field::Exclude, text.server_exclude(), Some(text.server_names_hint()), None, text)}
        {number_field(dialog, Field::Timeout, text.server_timeout(), text)}
        {choice_field(dialog, Field::Pin, text.server_pin(), None, vec![
            Choice::new("", text.pin_warn()),
            Choice::new("block", text.pin_block()),
        ], text)}
    };
    further_view(dialog, ().into_any(), grid.into_any(), text)
}
