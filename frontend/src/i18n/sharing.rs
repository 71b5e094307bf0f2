//! Texts about sharing a conversation with a link.

use crate::language::Language;

texts! {
    sharing_texts;

    share: "Share", "共有";
    share_title: "Share this conversation", "この会話を共有";
    share_note:
        "Anyone with the link can read the conversation as it is now. Later messages are not included.",
        "リンクを知っている人は誰でも、現時点までの会話を読めます。これ以降のメッセージは含まれません。";
    share_tool_calls: "Include tool calls", "ツール呼び出しも含める";
    share_files: "Include files", "ファイルも含める";
    share_calls_note:
        "Tool calls show what the model read, including text of files.",
        "ツール呼び出しには、ファイルの本文など、モデルが読んだ内容も含まれます。";
    share_with_files: ", with files", "、ファイルあり";
    share_create: "Create link", "リンクを作成";
    may_not_share:
        "Sharing is turned off on this server, or only some groups may share. Ask an admin.",
        "共有がオフになっているか、一部のグループにのみ許可されています。管理者に相談してください。";
    share_creating: "Creating the link…", "リンクを作成しています…";
    share_revoke: "Revoke", "取り消す";
    share_close: "Close", "閉じる";
    share_links: "Links to this conversation", "この会話へのリンク";
    share_without_calls: "without tool calls", "ツール呼び出しなし";
    share_with_calls: "with tool calls", "ツール呼び出しあり";
}
