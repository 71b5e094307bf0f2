//! Texts about the fields of a tool server in the dialog that adds one, its test, and its state.

use crate::{format, language::Language};

texts! {
    tool_server_setup_texts;

    // The connection.
    server_name: "Name", "名前";
    server_name_hint: "Models and users see this name before the names of the tools.", "モデルとユーザーには、ツール名の前にこの名前が表示されます。";
    server_address_hint:
        "The address of an MCP server (Streamable HTTP), as Tallybook's server reaches it. It often ends in /mcp.",
        "TallybookのサーバーからアクセスできるMCPサーバー（Streamable HTTP）のアドレスです。多くの場合、/mcpで終わります。";
    allow_http: "Allow unencrypted HTTP", "暗号化されていないHTTPを許可";
    allow_http_hint:
        "Others in the network can read calls and the token. Allow this only in a network that you trust.",
        "ネットワーク上で呼び出しやトークンを読み取られるおそれがあります。信頼できるネットワークでだけ許可してください。";
    authentication: "Authentication", "認証";
    authentication_none: "None", "なし";
    authentication_token: "Token", "トークン";
    authentication_header: "Another header", "その他のヘッダー";
    authentication_keep: "Keep the current one", "現在の認証を使い続ける";
    server_token: "Token", "トークン";
    header_name: "Name of the header", "ヘッダー名";
    header_name_hint: "For example X-Api-Key.", "例: X-Api-Key";
    header_value: "Value of the header", "ヘッダーの値";
    more_headers: "More headers", "そのほかのヘッダー";
    more_headers_hint:
        "Optional. One in a line, for example X-Team: maps. They are stored encrypted, too.",
        "省略できます。1行に1つずつ入力します（例: X-Team: maps）。これらも暗号化して保存されます。";
    secret_hint: "It is stored encrypted, and is never shown again.", "暗号化して保存され、再び表示されることはありません。";

    // The tools.
    server_approval: "Calls that need approval", "承認が必要な呼び出し";
    server_approval_hint:
        "Tools can change things outside Tallybook, and all users share the server's token.",
        "ツールはTallybookの外にあるものを変更することがあります。サーバーのトークンは、すべてのユーザーが共有します。";
    approve_all: "All calls", "すべての呼び出し";
    approve_claimed: "All except tools that the server marks as read-only", "サーバーが読み取り専用とするツール以外";
    approve_none: "None", "なし";
    server_include: "Only these tools", "このツールだけを使う";
    server_exclude: "Without these tools", "このツールを除く";
    server_names_hint: "Separate names with commas. * stands for any characters.", "カンマで区切ります。*は任意の文字を表します。";
    server_timeout: "Longest call, in seconds", "呼び出しの最長時間（秒）";
    server_pin: "If a tool changes", "ツールの内容が変わったとき";
    pin_warn: "Ask before each call", "呼び出しのたびに確認";
    pin_block: "Block the tool", "ツールを使用禁止にする";

    // The test.
    needs_approval: "needs approval", "承認が必要";
    needs_no_approval: "no approval", "承認は不要";
    server_test_failed: "The server did not list its tools", "サーバーからツールの一覧を取得できませんでした";
}

impl Language {
    /// Returns the number of tools that a tested server would make available.
    pub(crate) fn tools_found(self, count: usize) -> String {
        let shown = format::count(count);
        match self {
            Self::English if count == 1 => "1 tool found".to_owned(),
            Self::English => format!("{shown} tools found"),
            Self::Japanese => format!("{shown}個のツールが見つかりました"),
        }
    }

    /// Returns the state of a tool server, with the number of its tools once it is connected.
    pub(crate) fn entry_status(self, status: &str, tools: usize) -> String {
        let words = self.server_status(status);
        if status != "connected" {
            return words.to_owned();
        }
        let count = format::count(tools);
        match self {
            Self::English if tools == 1 => format!("{words} · 1 tool"),
            Self::English => format!("{words} · {count} tools"),
            Self::Japanese => format!("{words} · ツール{count}個"),
        }
    }
}
