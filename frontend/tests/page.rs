//! The page as the server renders it, from the data of a stand-in: what a reader gets before any script runs.

use std::sync::{
    Arc,
    atomic::{AtomicU16, Ordering},
};

use chrono::DateTime;
use futures_util::StreamExt as _;
use leptos::prelude::{IntoView as _, Owner, RenderHtml as _};
use tallybook_frontend::{
    Language, NewChatModels, PageData, PageError, PageFuture, Permitted, Preferences, Sidebar, Theme, shell,
};
use tallybook_protocol::{
    CatalogModel, Conversation, ConversationSummary, Earlier, Message, MessageId, MessageStatus, ModelList, Page,
    RawJson, Rights, Role, ToolCall, ToolCallId, ToolCallStatus, ToolInfo, ToolOffer, Usage, Window,
};
use uuid::Uuid;

const KNOWN: Uuid = Uuid::from_u128(7);
/// A conversation with more messages than are opened at once.
const LONG: Uuid = Uuid::from_u128(8);
/// A conversation that is being answered.
const RUNNING: Uuid = Uuid::from_u128(9);

/// The messages before the newest ones.
const EARLIER: Earlier = Earlier {
    count: 940,
    usage: Usage { input_tokens: 1_000_000, output_tokens: 1, cached_tokens: 0, cost_nanos: None },
};

#[derive(Default)]
struct Data {
    path: String,
    away: bool,
    is_admin: bool,
    has_no_rights: bool,
    preferences: Preferences,
    /// Tools besides those that calculate.
    other_tools: usize,
    status: Arc<AtomicU16>,
}

impl Data {
    fn answer<T: Send + 'static>(&self, value: T) -> PageFuture<T> {
        let away = self.away;
        Box::pin(async move {
            tokio::task::yield_now().await;
            if away { Err(PageError::new("The database is away. Reload the page in a moment.")) } else { Ok(value) }
        })
    }
}

impl PageData for Data {
    fn pathname(&self) -> String {
        self.path.clone()
    }

    fn list_conversations(&self) -> PageFuture<Page<ConversationSummary>> {
        self.answer(Page { items: vec![summary()], next_cursor: None })
    }

    fn find_conversation(&self, uuid: Uuid, window: Window) -> PageFuture<Option<Conversation>> {
        self.answer(match uuid {
            KNOWN => Some(conversation()),
            LONG => Some(Conversation { earlier: window.limit.map(|_| EARLIER), ..conversation() }),
            RUNNING => Some(running_conversation()),
            _ => None,
        })
    }

    fn new_chat_models(&self) -> NewChatModels {
        NewChatModels::default()
    }

    fn permitted(&self) -> PageFuture<Permitted> {
        let demo = CatalogModel {
            name: "demo-arithmetic".to_owned(),
            provider: "demo".to_owned(),
            model: "demo-arithmetic".to_owned(),
            tool_mode: ToolOffer::Native,
            quirks: Vec::new(),
            is_default: true,
            vision: false,
            prices: None,
            available: true,
        };
        let about = "Adds <b>two</b> numbers. Use it.".to_owned();
        let tool = |name: &str| ToolInfo {
            name: name.to_owned(),
            description: about.clone(),
            input_schema: serde_json::Value::Null,
            risk: "low".to_owned(),
            server: None,
            idempotent: true,
            enabled: true,
            changed: None,
        };
        let others = (0..self.other_tools).map(|number| format!("files__tool_{number}"));
        let names = ["add", "subtract", "multiply", "divide", "sum_up"].map(str::to_owned).into_iter().chain(others);
        self.answer(Permitted {
            models: ModelList { items: vec![demo] },
            tools: names.map(|name| tool(&name)).collect(),
            rights: Rights { upload: !self.has_no_rights, ..Rights::default() },
        })
    }

    fn preferences(&self) -> Preferences {
        self.preferences
    }

    fn user_name(&self) -> Option<String> {
        None
    }

    fn is_admin(&self) -> bool {
        self.is_admin
    }

    fn has_account_changes(&self) -> PageFuture<bool> {
        self.answer(false)
    }

    fn may_have_budgets(&self) -> bool {
        false
    }

    fn user_id(&self) -> i64 {
        7
    }

    fn set_status(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
    }
}

fn summary() -> ConversationSummary {
    let at = DateTime::UNIX_EPOCH;
    ConversationSummary {
        uuid: KNOWN,
        title: "A <b>bold</b> sum".to_owned(),
        running: false,
        awaiting_approval: false,
        pinned: false,
        archived: false,
        model: None,
        created_at: at,
        updated_at: at,
    }
}

fn conversation() -> Conversation {
    let at = DateTime::UNIX_EPOCH;
    let call = |id, status, offset, duration_ms| ToolCall {
        tool_call_id: ToolCallId(id),
        tool_name: "add".to_owned(),
        input: RawJson::from_text(r#"{"b":0.10000000000000000000000000000000000000001,"a":"<i>2</i>"}"#),
        input_bytes: None,
        offset,
        status,
        output: Some("3".to_owned()),
        output_bytes: None,
        error: None,
        error_type: None,
        truncated: false,
        duration_ms,
        started_at: at,
        proposed_input: None,
        reviews: Vec::new(),
        decision: None,
        files: Vec::new(),
    };
    let message = |id, role, content: &str, tool_calls| Message {
        id: MessageId(id),
        role,
        epoch: 1,
        content: content.to_owned(),
        status: MessageStatus::Complete,
        error: None,
        error_code: None,
        stop_reason: None,
        tool_calls,
        reasoning: Vec::new(),
        plan: None,
        files: Vec::new(),
        siblings: Vec::new(),
        usage: (role == Role::Assistant).then_some(Usage { input_tokens: 1234, output_tokens: 56, ..Usage::default() }),
        provider: None,
        model: None,
        mode: tallybook_protocol::AnswerMode::React,
        context: None,
        feedback: None,
        created_at: at,
        completed_at: None,
    };
    let calls = vec![call(1, ToolCallStatus::Success, 8, Some(3456)), call(2, ToolCallStatus::Error, 8, Some(125_000))];
    let messages = vec![
        message(1, Role::User, "What is </script><script>alert(1)</script>?", vec![]),
        message(2, Role::Assistant, "Adding: it *is* 3 <b>.\n\n- [x](https://example.com)", calls),
    ];
    Conversation { summary: summary(), messages, earlier: None, active_message_id: None }
}

/// One answer has only begun, another waits for its calls.
fn running_conversation() -> Conversation {
    let mut conversation = conversation();
    let Ok([question, mut answer]) = <[Message; 2]>::try_from(conversation.messages) else { unreachable!() };
    answer.status = MessageStatus::Streaming;
    let begun = Message { id: MessageId(3), content: String::new(), tool_calls: vec![], ..answer.clone() };
    answer.tool_calls[0].status = ToolCallStatus::AwaitingApproval;
    answer.tool_calls[0].output = None;
    answer.tool_calls[0].input = RawJson::string(r#"{"a":"<i>beginning"#);
    answer.tool_calls[0].input_bytes = Some(5_000_000);
    answer.tool_calls[0].truncated = true;
    answer.tool_calls[1].status = ToolCallStatus::Pending;
    conversation.messages = vec![question, answer, begun];
    conversation
}

/// The HTML at `path`, and the status that the page asked for.
async fn render(path: &str, data: Data) -> (String, u16) {
    // Only the first test of the process can set it; all set the same.
    let _ = any_spawner::Executor::init_tokio();
    let status = Arc::clone(&data.status);
    let data: Arc<dyn PageData> = Arc::new(Data { path: path.to_owned(), ..data });
    let owner = Owner::new_root(Some(Arc::new(hydration_context::SsrSharedContext::new())));
    let stream = owner.with(|| shell("/pkg/1", data).into_view().to_html_stream_in_order());
    let html = stream.collect::<String>().await;
    drop(owner);
    // Leptos' own markers are not part of the page.
    let html = html.replace("<!>", "");
    (html, status.load(Ordering::Relaxed))
}

fn count(html: &str, part: &str) -> usize {
    html.matches(part).count()
}

#[tokio::test]
async fn a_conversation_is_readable_without_a_script() {
    let (html, status) = render(&format!("/c/{KNOWN}"), Data::default()).await;
    assert_eq!(status, 0, "an ordinary page leaves the status alone");
    assert_eq!(count(&html, "<article"), 2);
    assert_eq!(count(&html, "data-testid=\"tool-call\""), 2);
    let order = [
        "Adding:",
        "data-testid=\"tool-group\"",
        "data-status=\"success\"",
        "3.4s",
        "data-status=\"error\"",
        "2m 5s",
        "it <em>is",
        " 3 &lt;b&gt;.",
    ];
    let places: Vec<_> =
        order.iter().map(|part| html.find(part).unwrap_or_else(|| panic!("{part} in {html}"))).collect();
    assert!(places.is_sorted(), "text and calls are in order: {places:?}");
    assert!(html.contains("0.10000000000000000000000000000000000000001"), "every digit is there");
    assert!(html.contains("aria-expanded=\"false\"") && !html.contains("tool-call-details"), "calls are closed");
    assert!(html.contains("2 tool calls") && html.contains("1 failed"), "finished neighbors are folded: {html}");
    assert!(html.contains("1,234 tokens in · 56 out"), "the usage is shown");
    assert!(html.contains("rel=\"noopener noreferrer nofollow\""), "Markdown is drawn on the server: {html}");
    assert!(html.contains("aria-current=\"page\""));
    assert!(
        html.contains("title=\"demo-arithmetic, by demo · native tools\""),
        "the tooltip names provider and tools: {html}"
    );
    assert!(html.contains("<title>A &lt;b&gt;bold&lt;/b&gt; sum · Tallybook</title>"), "{html}");
}

#[tokio::test]
async fn a_long_conversation_is_opened_with_its_newest_messages() {
    let (html, _) = render(&format!("/c/{LONG}"), Data::default()).await;
    assert_eq!(count(&html, "<article"), 2);
    assert!(html.contains("Show earlier messages") && html.contains("export this conversation"), "{html}");
    assert!(html.contains("Total: 1,001,234 tokens in · 57 out"), "earlier answers are counted: {html}");
    let (html, _) = render(&format!("/c/{KNOWN}"), Data::default()).await;
    assert!(!html.contains("Show earlier messages") && !html.contains("Total: "), "one answer says its own: {html}");
}

#[tokio::test]
async fn what_people_and_models_wrote_is_text() {
    let (html, _) = render(&format!("/c/{KNOWN}"), Data::default()).await;
    for part in ["<b>bold", "<i>2", "<script>alert"] {
        assert!(!html.contains(part), "{part} in {html}");
    }
}

#[tokio::test]
async fn a_reader_of_japanese_gets_a_japanese_page() {
    let data = || Data {
        preferences: Preferences {
            language: Language::Japanese,
            theme: Theme::Dark,
            sidebar: Sidebar::Folded,
            ..Preferences::default()
        },
        ..Data::default()
    };
    let (html, _) = render(&format!("/c/{KNOWN}"), data()).await;
    assert!(html.contains("<html lang=\"ja\" data-theme=\"dark\" data-sidebar=\"folded\""), "{html}");
    for words in
        ["ツール呼び出し2件", "1件失敗", "3.4秒", "2分5秒", "入力 1,234・出力 56トークン", "ショートカットと設定"]
    {
        assert!(html.contains(words), "{words} in {html}");
    }
    for words in ["New chat", "Answer", "Copy", " tool calls", "1 failed"] {
        assert!(!html.contains(words), "{words} in {html}");
    }
    let (html, _) = render(&format!("/c/{RUNNING}"), data()).await;
    for words in [
        "考えています…",
        "承認待ち",
        "の実行を許可しますか？",
        "このステップのほかの呼び出しが終わると、許可または拒否できます。",
        "実行中",
        "{\"a\":\"&lt;i&gt;beginning",
        "すべて表示（5 MB）",
    ] {
        assert!(html.contains(words), "{words} in {html}");
    }
    for words in ["Thinking", "Input", "awaiting approval", "Needs", "Allow once"] {
        assert!(!html.contains(words), "{words} in {html}");
    }
    let (html, _) = render("/", data()).await;
    assert!(html.contains("何を計算しましょうか？") && html.contains("12.5と7.25を足して4倍して"), "{html}");
    assert!(
        html.contains("計算だけができるデモモデルを使用中です。") && html.contains("管理者に接続を依頼してください。")
    );
    let (html, _) = render("/nowhere", data()).await;
    assert!(html.contains("このアドレスにページはありません。") && !html.contains("Not found"), "{html}");
}

#[tokio::test]
async fn a_new_chat_greets_and_lists_what_there_is() {
    let (html, status) = render("/", Data::default()).await;
    assert_eq!(status, 0);
    assert_eq!(count(&html, "data-testid=\"example\""), 3);
    assert_eq!(count(&html, "data-testid=\"conversation-link\""), 1);
    assert!(html.contains("data-testid=\"composer\""));
    assert_eq!(count(&html, "data-testid=\"tool-chip\""), 5);
    assert!(html.contains("Adds &lt;b&gt;two&lt;/b&gt; numbers.</p>"), "what a tool says of itself is text: {html}");
    assert!(html.starts_with("<!DOCTYPE html>"));
    assert!(html.contains("/pkg/1/tallybook_bg.wasm"));
}

#[tokio::test]
async fn only_admins_can_connect_a_model_to_replace_the_demo_model() {
    let (html, _) = render("/", Data { is_admin: true, ..Data::default() }).await;
    assert!(html.contains("data-testid=\"connect-model\"") && !html.contains("Ask an admin"), "{html}");
    let (html, _) = render("/", Data::default()).await;
    assert!(html.contains("Ask an admin to connect another model."), "{html}");
    assert!(!html.contains("data-testid=\"connect-model\""), "{html}");
}

#[tokio::test]
async fn the_button_that_attaches_files_needs_the_right_to_upload() {
    let (html, _) = render("/", Data::default()).await;
    assert!(html.contains("data-testid=\"attach\""), "{html}");
    let (html, _) = render("/", Data { has_no_rights: true, ..Data::default() }).await;
    assert!(!html.contains("data-testid=\"attach\""), "{html}");
    assert!(html.contains("data-testid=\"composer\""), "{html}");
}

#[tokio::test]
async fn a_new_chat_names_the_first_of_many_tools() {
    let (html, _) = render("/", Data { other_tools: 15, ..Data::default() }).await;
    assert_eq!(count(&html, "data-testid=\"tool-chip\""), 8);
    let more = html.split("data-testid=\"more-tools\"").nth(1).and_then(|rest| rest.split("</button>").next());
    assert!(more.is_some_and(|more| more.contains("and 12 more")), "{html}");
    let (html, _) = render("/", Data::default()).await;
    assert!(!html.contains("more-tools"), "{html}");
}

#[tokio::test]
async fn what_is_not_there_is_a_404() {
    for path in [format!("/c/{}", Uuid::from_u128(6)), "/c/no-uuid".to_owned(), "/nowhere".to_owned()] {
        let (html, status) = render(&path, Data::default()).await;
        assert_eq!(status, 404, "{path}");
        assert!(html.contains("Not found") && html.contains("Start a new chat"), "{path}: {html}");
    }
}

/// The rest is asked for by who uses it.
#[tokio::test]
async fn the_settings_have_an_address_and_the_files_that_they_begin_with() {
    let (html, _) = render("/settings", Data::default()).await;
    assert!(html.contains("<title>Settings · Tallybook</title>") && html.contains("setting-theme"), "{html}");
    assert!(html.contains("/pkg/1/split_others.wasm") && !html.contains("type=\"password\""), "{html}");
    assert!(!html.contains("open-tools"), "the tools button needs a conversation: {html}");
}

#[tokio::test]
async fn missing_data_is_reported_in_a_sentence() {
    let (html, status) = render(&format!("/c/{KNOWN}"), Data { away: true, ..Data::default() }).await;
    assert_eq!(status, 503);
    assert!(html.contains("role=\"alert\"") && html.contains("The database is away."), "{html}");
}
