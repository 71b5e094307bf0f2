//! Text of the pages of groups, in English and Japanese.

use tallybook_frontend::Language;

use super::super::{super::i18n::messages, i18n::Messages};

messages! {
    groups: "Groups", "グループ";
    groups_about:
        "If you grant something to groups, only their members and admins can use it. Otherwise all users can.",
        "どのグループにも許可されていないものは、全員が利用できます。グループに許可されたものは、そのメンバーと管理者だけが利用できます。";
    groups_need_accounts:
        "This server has no accounts, so there is only one user. Set ACCOUNTS=on to have users and groups.",
        "このサーバーにはアカウントがないため、ユーザーは1人だけです。ユーザーとグループを使うには ACCOUNTS=on を設定してください。";
    no_groups: "There are no groups yet.", "グループはまだありません。";
    new_group: "New group", "新しいグループ";
    group_name: "Name", "名前";
    group_source: "Members", "メンバー";
    members_by_admins: "set by admins", "管理者が設定";
    members_by_provider: "set by the identity provider at each sign-in", "サインインのたびにIDプロバイダーが設定";
    provider_adds_members:
        "The identity provider adds members at each sign-in. Here you can only remove them.",
        "メンバーはサインインのたびにIDプロバイダーが追加します。ここでは削除だけができます。";
    create_group: "Create", "作成";
    save_group: "Save", "保存";
    group_saved: "The group is saved.", "グループを保存しました。";
    group_members: "Members, one user name per line", "メンバー（1行に1ユーザー名）";
    group_grants: "Members may use", "メンバーが使えるもの";
    granted_models: "Models", "モデル";
    granted_tool_servers: "Tool servers", "ツールサーバー";
    granted_rights: "Rights", "権限";
    delete_group: "Delete this group", "このグループを削除";
    delete_group_about:
        "All users can then use what you granted only to this group. Its budgets are deleted, too.",
        "このグループだけに許可されていたものは、全員が利用できるようになります。予算も削除されます。";
}

impl Messages {
    pub(crate) fn right_named(self, name: &str) -> &'static str {
        match (name, self.0) {
            ("make_keys", Language::English) => "Create API keys",
            ("make_keys", Language::Japanese) => "APIキーの作成",
            ("upload", Language::English) => "Upload files",
            ("upload", Language::Japanese) => "ファイルのアップロード",
            (_, Language::English) => "Share conversations",
            (_, Language::Japanese) => "会話の共有",
        }
    }

    /// Names a grant together with its kind.
    pub(crate) fn grant_named(self, grant: &str) -> String {
        match (grant.split_once(':'), self.0) {
            (Some(("model", name)), Language::English) => format!("Model {name}"),
            (Some(("model", name)), Language::Japanese) => format!("モデル {name}"),
            (Some((_, name)), Language::English) => format!("Tools of {name}"),
            (Some((_, name)), Language::Japanese) => format!("{name} のツール"),
            (None, _) => self.right_named(grant).to_owned(),
        }
    }

    pub(crate) fn member_count(self, count: i64) -> String {
        match (self.0, count) {
            (Language::English, 1) => "1 member".to_owned(),
            (Language::English, count) => format!("{count} members"),
            (Language::Japanese, count) => format!("メンバー{count}人"),
        }
    }
}
