//! Texts for the error codes of the server and of model providers.

use crate::language::Language;

impl Language {
    /// Error for a response status without a message.
    pub(crate) fn refused(self, status: u16) -> String {
        match self {
            Self::English => format!("The server refused the request (status {status}). Try again in a moment."),
            Self::Japanese => {
                format!(
                    "サーバーがリクエストを拒否しました（ステータス {status}）。しばらくしてからもう一度お試しください。"
                )
            }
        }
    }

    /// Returns the message for a problem code of the server (the last segment of the problem's type) and its HTTP
    /// status. `None`: the page shows the server's English message.
    pub(crate) fn problem(self, code: &str, status: u16) -> Option<&'static str> {
        if code == "turn-running" {
            return Some(self.turn_running());
        }
        // The sign-in form says why a session ended.
        if code == "not-signed-in" || code == "account-deactivated" {
            return Some(self.signed_out());
        }
        if code == "awaiting_approval" {
            return Some(self.decide_first());
        }
        if self == Self::English {
            return None;
        }
        Some(match code {
            "too-large-to-share" => "この会話は長すぎるため共有できません。代わりに書き出してください。",
            "too-large-to-copy" => {
                "ここまでの会話は長すぎるためコピーできません。前のメッセージを選ぶか、新しいチャットを始めてください。"
            }
            "sharing-off" => "このサーバーでは、会話を共有できません。",
            "no-such-share" => "リンクが見つかりません。すでに取り消された可能性があります。",
            "no-such-message" => "メッセージが見つかりません。ページを再読み込みしてください。",
            "no-such-tool-call" => "ツール呼び出しが見つかりません。会話が削除された可能性があります。",
            "no-such-tool" => "接続中のツールサーバーに、このツールはありません。",
            "nothing-to-continue" => "続けられる回答がありません。メッセージを送信してください。",
            "no-such-approval" => "この許可は見つかりません。すでに取り消された可能性があります。",
            "no-password" => "このアカウントにはまだパスワードがありません。管理者に設定を依頼してください。",
            "only-way-in" => {
                "ほかにサインインの方法がないため、連携を解除できません。先に管理者にパスワードの設定を依頼してください。"
            }
            "issuer-unreachable" => "現在、外部サービスに接続できません。しばらくしてからもう一度お試しください。",
            "busy" => "サーバーが混み合っています。しばらくしてからもう一度お試しください。",
            "admins-only" => "この操作は管理者だけが行えます。",
            "no-such-user" | "no-such-session" | "no-such-key" | "no-such-identity" | "no-such-invitation" => {
                "見つかりません。すでに削除または取り消された可能性があります。"
            }
            "no-such-conversation" => "会話が見つかりません。削除された可能性があります。",
            "unknown-model" => "そのモデルはありません。別のモデルを選んでください。",
            "not-permitted" => "この操作は一部のグループのメンバーだけが行えます。管理者に相談してください。",
            "version-changed" => "別の管理者によって変更されました。今の内容を確認してから、もう一度お試しください。",
            "no-model" => "利用できるモデルがありません。管理者に相談してください。",
            "budget-used-up" => {
                "予算を使い切ったか、残りが生成中の回答のために確保されています。残りは設定で確認できます。"
            }
            "model-gone" => "この会話のモデルは利用できなくなりました。上の一覧から別のモデルを選んでください。",
            "wrong-password" => "現在のパスワードが違います。",
            "password-needed" => "このアカウントのパスワードを入力してください。",
            "sign-in-again" => "サインインし直して、10分以内にもう一度お試しください。",
            "too-many-attempts" => "試行回数が多すぎます。しばらくしてからもう一度お試しください。",
            "last-admin" => "管理者があなただけのため、できません。先に別の管理者を決めてください。",
            "account-deleted" => {
                "このアカウントは本人が削除したため、元に戻せません。新しいアカウントを作成してください。"
            }
            "sign-up-closed" => "招待は無効になっています。アカウントは管理者が作成します。",
            "too-many" => "上限に達しています。不要なものを取り消すか、しばらくしてからもう一度お試しください。",
            "too-many-turns" => {
                "同時に生成できる回答数の上限に達しています。いずれかの回答が終わるのを待つか停止してから、もう一度送信してください。"
            }
            "too-many-messages" => {
                "1分間に送信できるメッセージ数の上限に達しています。少し待ってから、もう一度送信してください。"
            }
            "too-many-tokens" => {
                "24時間に使えるトークンを使い切りました。時間をおいて送信するか、管理者に相談してください。"
            }
            "invalid-input" => "入力内容を受け付けられませんでした。長さや内容を確認してください。",
            "body-too-large" => "メッセージが長すぎます。短くして送信してください。",
            "shutting-down" => "サーバーがまもなく再起動します。しばらくしてからもう一度お試しください。",
            "storage-unavailable" => {
                "データベースまたはファイルの保存先に接続できません。しばらくしてからもう一度お試しください。"
            }
            // The user's own quota.
            "storage-full" if status == 413 => {
                "保存できるファイルの容量を超えています。不要なファイルや会話を削除してから、もう一度お試しください。"
            }
            "storage-full" => {
                "サーバーの容量不足か、書き込みが許可されていないため、保存できません。管理者に連絡してください。"
            }
            "file-type" => {
                "この種類のファイルは添付できません。添付できるのは、画像（PNG・JPEG・WebP・GIF）、PDF、Office・OpenDocument文書、HTML、CSV、Markdown、テキストです。"
            }
            "file-too-large" => "ファイルが大きすぎます。小さくしてから、もう一度添付してください。",
            "file-unreadable" => {
                "ファイルを読み取れません。破損しているか、パスワードで保護されているか、複雑すぎます。"
            }
            "no-such-file" => "ファイルが見つかりません。削除された可能性があります。もう一度添付してください。",
            "file-not-ready" => "ファイルをまだ読み取れません。しばらく待つか、メッセージから外してください。",
            "model-reads-no-images" => {
                "このモデルは画像を読めません。画像を読めるモデルを選ぶか、画像を外してから送信してください。"
            }
            "already_decided" => "この呼び出しの許可・拒否は、すでに締め切られています。現在の状態を表示しています。",
            "tool_changed" => {
                "待っている間にツールの内容が変わりました。今の内容を確認してから、あらためて許可または拒否してください。"
            }
            "internal" => "サーバーで問題が発生しました。もう一度お試しください。",
            _ => return None,
        })
    }

    /// Returns the message for the error code of a failed turn. `None`: the page shows the server's English message,
    /// which has more details.
    pub(crate) fn turn_error(self, code: &str) -> Option<&'static str> {
        if self == Self::English {
            return None;
        }
        Some(match code {
            "model_auth" => "モデルの提供元がAPIキーを受け付けませんでした。キーの設定を確認してください。",
            "model_not_found" => "指定されたモデルが見つかりません。モデルの設定を確認してください。",
            "model_out_of_credit" => {
                "モデルの提供元のアカウントの残高が不足しています。残高を追加するか、別のモデルを選んでください。"
            }
            "model_without_tools" => {
                "このモデルはツールを使えません。モデルの設定で「ツール」を「プロンプト経由」にするか、別のモデルを選んでください。"
            }
            "model_refused_request" => "モデルの提供元がリクエストを拒否しました。",
            "model_context_too_long" => {
                "以前のメッセージを減らしても、モデルが一度に読める長さを超えています。メッセージを短くするか、別のモデルを選んでください。"
            }
            "model_busy" => "モデルの提供元が混み合っています。しばらくしてからもう一度お試しください。",
            "model_failing" => "モデルの提供元で障害が起きています。しばらくしてからもう一度お試しください。",
            "model_unreachable" => "モデルの提供元に接続できません。接続を確認して、もう一度お試しください。",
            "model_timeout" => "モデルからの応答が途絶えました。もう一度お試しください。",
            "model_bad_stream" => "モデルの応答を読み取れませんでした。もう一度お試しください。",
            "turn_timeout" => "時間の上限に達したため、回答を終了しました。質問を分けて送信してください。",
            "storage_unavailable" => "データベースに接続できないため、回答を保存できません。",
            "budget_used_up" => {
                "予算を使い切ったため、終了しました。ここまでの内容は残っています。後で続きを生成するか、管理者に相談してください。"
            }
            "out_of_tokens" => {
                "24時間に使えるトークンを使い切ったため、終了しました。ここまでの内容は残っています。後で続きを生成するか、管理者に相談してください。"
            }
            "answer_too_long" => "回答が長すぎるため、終了しました。質問を分けて送信してください。",
            "storage_full" => "データベースに空きがないため、回答を保存できません。",
            "storage_rejected" => "回答の最後の部分をデータベースに保存できませんでした。途中までは保存されています。",
            "shutdown" | "interrupted" => "回答の途中でサーバーが再起動しました。",
            "internal" => "サーバーで問題が発生しました。もう一度お試しください。",
            _ => return None,
        })
    }

    /// Returns the reason why the request to the provider is retried.
    pub(super) fn provider_problem(self, code: &str) -> &'static str {
        match code {
            "model_busy" => self.provider_busy(),
            "model_unreachable" | "model_timeout" => self.provider_unreachable(),
            "model_bad_stream" => self.provider_stream_broken(),
            _ => self.provider_failing(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::language::Language;

    #[test]
    fn a_used_up_budget_has_a_japanese_text_and_the_english_one_of_the_server() {
        let refused = Language::ALL.map(|language| language.problem("budget-used-up", 429));
        let japanese = "予算を使い切ったか、残りが生成中の回答のために確保されています。残りは設定で確認できます。";
        assert_eq!(refused, [None, Some(japanese)]);
    }
}
