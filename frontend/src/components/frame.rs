//! The frame of the page: the header and the sidebar. Their code has a WASM chunk of its own, which loads when the user
//! starts to write, uses them, or when they must change: the server has rendered them, and its links work meanwhile.

use futures_util::FutureExt as _;
use leptos::{
    prelude::*,
    task::spawn_local,
    wasm_split::{SplitLoaderError, wasm_split},
};
use uuid::Uuid;

use super::{
    header::{Header, HeaderProps},
    parts::ids::{HEADER_ID, SIDEBAR_ID},
    sidebar::{Sidebar, SidebarProps},
};
use crate::{
    browser,
    chunk::{Chunk, Load},
    conversation_list::ConversationList,
    mount_schedule::{build_deferred, deferred},
    reactive::effect,
};

/// A part of the frame, with its data.
enum FramePart {
    Header(Box<HeaderProps>),
    Sidebar(Box<SidebarProps>),
}

#[wasm_split(frame, wasm_split_path = ::leptos::wasm_split, preload(load_frame), fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the failure is that of loading it")]
fn draw_frame(part: FramePart) -> Result<AnyView, SplitLoaderError> {
    Ok(match part {
        FramePart::Header(props) => Header(*props).into_any(),
        FramePart::Sidebar(props) => Sidebar(*props).into_any(),
    })
}

/// Changes the list. The code for that is in the chunk of the frame.
#[wasm_split(frame, wasm_split_path = ::leptos::wasm_split, fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the failure is that of loading it")]
fn unarchive_now(list: ConversationList, uuid: Uuid) -> Result<(), SplitLoaderError> {
    list.archive(&[uuid], false);
    Ok(())
}

/// Takes a conversation out of the archive as soon as the code for that has loaded.
pub(crate) fn unarchive(list: ConversationList, uuid: Uuid) {
    spawn_local(async move {
        browser::load_chunk(async || unarchive_now(list, uuid).await.ok(), || true).await;
    });
}

/// Renders the header. In the browser, the server's stays until the code of the frame has loaded.
pub(crate) fn header(props: impl Fn() -> HeaderProps + Send + 'static) -> AnyView {
    deferred(HEADER_ID, move || draw_loaded(FramePart::Header(Box::new(props()))))
}

/// Renders the sidebar. In the browser, the server's stays until the code of the frame has loaded.
pub(crate) fn sidebar(props: impl Fn() -> SidebarProps + Send + 'static) -> AnyView {
    deferred(SIDEBAR_ID, move || draw_loaded(FramePart::Sidebar(Box::new(props()))))
}

/// Renders a part, whose code is here by now.
fn draw_loaded(part: FramePart) -> AnyView {
    draw_frame(part).now_or_never().and_then(Result::ok).into_any()
}

const LOAD: Load = || load_frame().map(|loaded| loaded.is_ok()).boxed_local();

/// Creates the chunk with the frame. Loads it when the user starts to write or uses the frame, and builds the frame
/// then.
pub(crate) fn use_chunk() -> Chunk {
    let chunk = Chunk::new(LOAD, false);
    effect(move || browser::at_first_key(move || chunk.fetch()));
    // Scrolling the list is using it.
    chunk.want_when_used(&[HEADER_ID, SIDEBAR_ID], &["pointerdown", "click", "focusin", "scroll"]);
    effect(move || {
        if chunk.is_here.get() {
            spawn_local(build_deferred());
        }
    });
    chunk
}
