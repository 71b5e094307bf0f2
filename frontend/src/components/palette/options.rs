//! The options of the command palette: conversations and commands that match the typed text.

use std::time::Duration;

use leptos::{prelude::*, task::spawn_local};
use uuid::Uuid;

use crate::{
    api::{self, Listed},
    browser,
    components::{
        palette::{Palette, PaletteKey, option_id},
        parts::{
            icon::{Draw, Icon},
            list_steps::AtEnd,
        },
    },
    conversation_list::ConversationList,
    language::{Language, use_language},
    mount_schedule::in_next_frame,
    pages::command_context::CommandContext,
    palette::{Hit, PaletteAction, PaletteCommand, PaletteEntry, commands, hits},
    reactive::{effect, memo},
};

/// Pause after typing before the server is asked.
const TYPING_PAUSE: Duration = Duration::from_millis(200);

/// The options.
#[component]
pub(crate) fn PaletteOptions(palette: Palette, context: CommandContext) -> impl IntoView {
    let text = use_language();
    let Palette { situation, query, chosen, count, keys, .. } = palette;
    let further = further_conversations(query);
    let found = memo(move |_| {
        let Some(situation) = situation.get() else { return Vec::new() };
        let conversations = further.with(|further| conversations(context.list, further));
        let commands = commands(&situation).into_iter();
        let commands = commands.map(|command| PaletteEntry {
            action: PaletteAction::PaletteCommand(command),
            label: text.command(command),
        });
        query.with(|query| hits(query, conversations, commands.collect()))
    });
    effect(move || count.set(found.with(Vec::len)));
    let choose = move |action: PaletteAction| {
        palette.close();
        context.run(action);
    };
    let take = move |key: PaletteKey| {
        let count = found.with_untracked(Vec::len);
        let at = chosen.get_untracked();
        let next = match key {
            PaletteKey::Step(step) => step.from(Some(at), count, AtEnd::Wrap).unwrap_or_default(),
            PaletteKey::Choose => {
                if let Some(action) = found.with_untracked(|found| found.get(at).map(|hit| hit.choice.action)) {
                    choose(action);
                }
                return;
            }
        };
        chosen.set(next);
        in_next_frame(move || browser::scroll_into_view(&option_id(next)));
    };
    effect(move || {
        if keys.with(|keys| !keys.is_empty()) {
            keys.try_update(std::mem::take).into_iter().flatten().for_each(take);
        }
    });
    let rows = move || {
        let row = |(at, hit): (usize, Hit)| {
            let action = hit.choice.action;
            view! {
                <li
                    class="palette-option"
                    role="option"
                    id=option_id(at)
                    data-testid="palette-option"
                    aria-selected=move || (chosen.get() == at).to_string()
                    on:click=move |_| choose(action)
                >
                    <Draw icon=icon_of(action) />
                    <span class="palette-label">{marked(&hit)}</span>
                </li>
            }
            .into_any()
        };
        found.get().into_iter().enumerate().map(row).collect_view()
    };
    view! {
        <ul class="palette-options" role="listbox" id="palette-options" aria-label=text.palette_title()>
            {rows}
        </ul>
        <p class="palette-note" role="status">{move || found.with(Vec::is_empty).then(|| text.palette_nothing())}</p>
    }
    .into_any()
}

/// Finds conversations that match the typed text and may not be loaded here.
fn further_conversations(query: RwSignal<String>) -> RwSignal<Vec<PaletteEntry>> {
    let further = RwSignal::new(Vec::new());
    effect(move || {
        let asked = query.get();
        further.set(Vec::new());
        if asked.trim().is_empty() {
            return;
        }
        spawn_local(async move {
            browser::sleep(TYPING_PAUSE).await;
            let is_asked = || query.try_with_untracked(|query| *query == asked) == Some(true);
            if !is_asked() {
                return;
            }
            // If the request fails, the options are those of the loaded list.
            let found = api::list_conversations(Listed::Matching(asked.trim()), None).await;
            if let Some(page) = found.ok().filter(|_| is_asked()) {
                let found = page.items.into_iter().map(|item| conversation(item.uuid, item.title));
                further.set(found.collect());
            }
        });
    });
    further
}

/// Returns the loaded conversations and those that the server found.
fn conversations(list: ConversationList, further: &[PaletteEntry]) -> Vec<PaletteEntry> {
    let mut here: Vec<PaletteEntry> =
        list.recent().into_iter().map(|item| conversation(item.uuid, item.title)).collect();
    let is_new = |other: &&PaletteEntry| here.iter().all(|held| held.action != other.action);
    let new: Vec<PaletteEntry> = further.iter().filter(is_new).cloned().collect();
    here.extend(new);
    here
}

fn conversation(uuid: Uuid, label: String) -> PaletteEntry {
    PaletteEntry { action: PaletteAction::Conversation(uuid), label }
}

/// Renders a label with its matches marked.
fn marked(hit: &Hit) -> AnyView {
    let label = &hit.choice.label;
    let mut parts = Vec::new();
    let mut end = 0;
    for range in &hit.marks {
        let plain = label.get(end..range.start).unwrap_or_default().to_owned();
        let mark = label.get(range.clone()).unwrap_or_default().to_owned();
        parts.push(view! { {plain}<mark>{mark}</mark> }.into_any());
        end = range.end;
    }
    parts.push(label.get(end..).unwrap_or_default().to_owned().into_any());
    parts.into_any()
}

fn icon_of(action: PaletteAction) -> Icon {
    match action {
        PaletteAction::Conversation(_) => Icon::Speech,
        PaletteAction::PaletteCommand(PaletteCommand::NewChat) => Icon::Plus,
        PaletteAction::PaletteCommand(PaletteCommand::Rename(_)) => Icon::Pencil,
        PaletteAction::PaletteCommand(PaletteCommand::Pin(..)) => Icon::Pin,
        PaletteAction::PaletteCommand(PaletteCommand::Archive(..) | PaletteCommand::OpenArchive) => Icon::Box,
        PaletteAction::PaletteCommand(PaletteCommand::Export(..)) => Icon::Download,
        PaletteAction::PaletteCommand(PaletteCommand::Delete(_)) => Icon::Bin,
        PaletteAction::PaletteCommand(PaletteCommand::Stop) => Icon::Square,
        PaletteAction::PaletteCommand(PaletteCommand::CopyAnswer) => Icon::Copy,
        PaletteAction::PaletteCommand(PaletteCommand::ToggleSidebar) => Icon::Panel,
        PaletteAction::PaletteCommand(PaletteCommand::Tools) => Icon::Sliders,
        PaletteAction::PaletteCommand(PaletteCommand::Settings) => Icon::Gear,
        PaletteAction::PaletteCommand(PaletteCommand::ConnectModel | PaletteCommand::AddToolServer) => Icon::Link,
        PaletteAction::PaletteCommand(PaletteCommand::Select) => Icon::Check,
        PaletteAction::PaletteCommand(
            PaletteCommand::Search | PaletteCommand::Theme(_) | PaletteCommand::Language(_) | PaletteCommand::Help,
        ) => Icon::Command,
    }
}

impl Language {
    /// Returns the label of a command.
    fn command(self, command: PaletteCommand) -> String {
        match command {
            PaletteCommand::Stop => self.key_stop().to_owned(),
            PaletteCommand::CopyAnswer => self.copy_last_answer().to_owned(),
            PaletteCommand::NewChat => self.new_chat().to_owned(),
            PaletteCommand::Rename(_) => self.rename_this().to_owned(),
            PaletteCommand::Pin(_, true) => self.pin_this().to_owned(),
            PaletteCommand::Pin(_, false) => self.unpin_this().to_owned(),
            PaletteCommand::Archive(_, true) => self.archive_this().to_owned(),
            PaletteCommand::Archive(_, false) => self.unarchive_this().to_owned(),
            PaletteCommand::Export(_, "json") => self.export_json().to_owned(),
            PaletteCommand::Export(_, "zip") => self.export_zip().to_owned(),
            PaletteCommand::Export(..) => self.export_markdown().to_owned(),
            PaletteCommand::Delete(_) => self.delete_this().to_owned(),
            PaletteCommand::Search => self.search().to_owned(),
            PaletteCommand::Select => self.select_multiple().to_owned(),
            PaletteCommand::OpenArchive => self.open_archive().to_owned(),
            PaletteCommand::ToggleSidebar => self.toggle_sidebar().to_owned(),
            PaletteCommand::Theme(theme) => format!("{}: {}", self.theme_label(), self.theme(theme)),
            PaletteCommand::Language(language) => format!("{}: {}", self.language_label(), language.name()),
            PaletteCommand::Settings => self.settings().to_owned(),
            PaletteCommand::ConnectModel => self.connect_model().to_owned(),
            PaletteCommand::AddToolServer => self.add_tool_server().to_owned(),
            PaletteCommand::Tools => self.tools_choose().to_owned(),
            PaletteCommand::Help => self.help_title().to_owned(),
        }
    }
}
