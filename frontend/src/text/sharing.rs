//! What is said of sharing a conversation by a link.

use crate::language::Language;

texts! {
    sharing_texts;

    share: "Share", "共有";
    share_title: "Share this conversation", "この会話を共有";
    share_note:
        "Whoever has the link can read the conversation as it is now. What is said later is not shown.",
        "リンクを知っている人は誰でも、今の時点の会話を読めます。この後の内容は表示されません。";
    share_tool_calls: "With the tool calls", "ツール呼び出しも含める";
    share_make: "Make a link", "リンクを作成";
    share_making: "Making the link…", "リンクを作成しています…";
    share_revoke: "Take back", "取り消す";
    share_close: "Close", "閉じる";
    share_links: "Links to this conversation", "この会話へのリンク";
    share_without_calls: "without tool calls", "ツール呼び出しなし";
    share_with_calls: "with tool calls", "ツール呼び出しあり";
}
