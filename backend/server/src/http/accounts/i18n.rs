//! Text of the account forms, in English and Japanese.

use actix_web::ResponseError as _;
use tallybook_accounts::{AccountsError, OpenIdError};
use tallybook_frontend::Language;

use super::super::{error::ApiError, i18n::FAILED_IN_JAPANESE};

/// Text of one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Messages {
    pub(crate) title: &'static str,
    pub(crate) lead: &'static str,
    pub(crate) submit: &'static str,
}

/// Text that all forms share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Labels {
    pub(crate) name: &'static str,
    pub(crate) password: &'static str,
    pub(crate) name_rule: &'static str,
    pub(crate) password_rule: &'static str,
    pub(crate) show_password: &'static str,
    pub(crate) hide_password: &'static str,
    pub(crate) forgot: &'static str,
    pub(crate) forgot_ask: &'static str,
    /// Text before the command that sets a password.
    pub(crate) forgot_command: &'static str,
    /// Placeholder for the user's name in that command.
    pub(crate) name_argument: &'static str,
    pub(crate) sign_up: &'static str,
    pub(crate) settings: &'static str,
}

/// Returns the text in the given language.
const fn of(language: Language, english: &'static str, japanese: &'static str) -> &'static str {
    match language {
        Language::English => english,
        Language::Japanese => japanese,
    }
}

pub(crate) const fn labels(language: Language) -> Labels {
    Labels {
        name: of(language, "Name", "名前"),
        password: of(language, "Password", "パスワード"),
        name_rule: of(
            language,
            "Letters of one script, digits and . _ - @ +",
            "文字（1種類の文字体系のみ）、数字、. _ - @ + が使えます",
        ),
        password_rule: of(
            language,
            "At least 12 characters and hard to guess. Several unrelated words are easy to remember.",
            "推測されにくい12文字以上の文字列。無関係な言葉をいくつかつなげると覚えやすくなります",
        ),
        show_password: of(language, "Show password", "パスワードを表示"),
        hide_password: of(language, "Hide password", "パスワードを隠す"),
        forgot: of(language, "Forgot your password?", "パスワードをお忘れですか？"),
        forgot_ask: of(
            language,
            "Ask an admin of this server to set a new one. Tallybook sends no email.",
            "このサーバーの管理者に、新しいパスワードの設定を依頼してください。Tallybookからメールは送信されません。",
        ),
        forgot_command: of(
            language,
            "Admins set a password with this command on the server:",
            "管理者は、サーバーで次のコマンドを実行してパスワードを設定します。",
        ),
        name_argument: of(language, "NAME", "名前"),
        sign_up: of(language, "Create an account", "アカウントを作成"),
        settings: of(language, "Back to settings", "設定に戻る"),
    }
}

pub(crate) const fn sign_in(language: Language) -> Messages {
    Messages {
        title: of(language, "Sign in", "サインイン"),
        lead: of(language, "Your conversations are saved in your account.", "会話はアカウントに保存されます。"),
        submit: of(language, "Sign in", "サインイン"),
    }
}

/// Returns the label of the link to the identity provider.
pub(crate) fn sign_in_by(language: Language, provider: &str) -> String {
    match language {
        Language::English => format!("Sign in with {provider}"),
        Language::Japanese => format!("{provider}でサインイン"),
    }
}

/// Returns the text of the page that a signed-in user sees if linking an identity failed.
pub(crate) const fn linking(language: Language) -> Messages {
    Messages { title: of(language, "Linking failed", "連携できませんでした"), lead: "", submit: "" }
}

pub(crate) const fn setup(language: Language) -> Messages {
    Messages {
        title: of(language, "Set up Tallybook", "Tallybookの初期設定"),
        lead: of(
            language,
            "Choose a name and a password. You will be the admin and can invite other users.",
            "名前とパスワードを決めてください。あなたが管理者となり、ほかの人を招待できます。",
        ),
        submit: of(language, "Create the admin account", "管理者アカウントを作成"),
    }
}

pub(crate) const fn invitation(language: Language) -> Messages {
    Messages {
        title: of(language, "Create an account", "アカウントを作成"),
        lead: of(
            language,
            "Choose a name and a password to sign in with.",
            "サインインに使う名前とパスワードを決めてください。",
        ),
        submit: of(language, "Create account", "アカウントを作成"),
    }
}

pub(crate) const fn setup_required(language: Language) -> Messages {
    Messages {
        title: of(language, "Tallybook is not set up yet", "Tallybookの初期設定が完了していません"),
        lead: of(
            language,
            "This server has no admin. Open the setup link that it printed at startup. The link is valid for an hour, \
             and a restart prints a new one. Or run: tallybook admin create NAME",
            "管理者がまだいません。サーバーが起動時に表示したリンクを開いてください。リンクは1時間有効で、再起動すると新しいものが\
             表示されます。または tallybook admin create 名前 を実行してください。",
        ),
        submit: "",
    }
}

pub(crate) const fn admins_only(language: Language) -> Messages {
    Messages {
        title: of(language, "Admins only", "管理者専用です"),
        lead: of(
            language,
            "Only admins can open this page. If you need access, ask an admin for the role.",
            "このページを開けるのは管理者だけです。必要な場合は、管理者に権限を依頼してください。",
        ),
        submit: "",
    }
}

pub(crate) const fn back_to_chat(language: Language) -> &'static str {
    of(language, "Back to chat", "チャットに戻る")
}

/// Returns the error message for the user who submitted a form.
pub(crate) fn problem(language: Language, error: &ApiError) -> String {
    if language == Language::English {
        return error.to_string();
    }
    let is_ours = error.status_code().is_server_error();
    let ApiError::Accounts(error) = error else {
        return match error {
            ApiError::AccountDeactivated => {
                "アカウントが管理者によって無効にされました。再び使うには、管理者に依頼してください。".to_owned()
            }
            ApiError::NoTls => {
                "このアドレスの通信は暗号化されていないため、ブラウザーはサインイン状態を保持できません。https:// のアドレスで開いてください。".to_owned()
            }
            _ if is_ours => FAILED_IN_JAPANESE.to_owned(),
            _ => error.to_string(),
        };
    };
    match error {
        AccountsError::WrongNameOrPassword => "名前またはパスワードが違います。".to_owned(),
        AccountsError::TooManyAttempts { retry_after_secs } => {
            format!("試行回数が多すぎます。{retry_after_secs}秒後にもう一度お試しください。")
        }
        AccountsError::Busy => "サインインが混み合っています。しばらくしてからもう一度お試しください。".to_owned(),
        AccountsError::NameTaken => "この名前はすでに使われています。別の名前にしてください。".to_owned(),
        AccountsError::NameConfusing => {
            "この名前はほかのアカウントの名前と見分けがつきません。別の名前にしてください。".to_owned()
        }
        AccountsError::Deactivated => openid_problem(&OpenIdError::Deactivated),
        AccountsError::LinkExpired => {
            "このリンクは使用済みか、期限切れです。新しいリンクを依頼してください。".to_owned()
        }
        AccountsError::OpenId(error) => openid_problem(error),
        AccountsError::SignUpClosed => "アカウントは管理者が作成します。管理者に依頼してください。".to_owned(),
        AccountsError::Invalid(_) => {
            let labels = labels(language);
            format!(
                "名前またはパスワードが条件に合いません。名前: {}。パスワード: {}。",
                labels.name_rule, labels.password_rule
            )
        }
        _ if is_ours => FAILED_IN_JAPANESE.to_owned(),
        other => other.to_string(),
    }
}

/// Returns the Japanese error message of a failed sign-in or linking through the identity provider.
fn openid_problem(error: &OpenIdError) -> String {
    match error {
        OpenIdError::Unreachable { name } => {
            format!("現在、{name}に接続できません。少し待ってからやり直すか、パスワードでサインインしてください。")
        }
        OpenIdError::Busy => "サインインが混み合っています。しばらくしてからもう一度お試しください。".to_owned(),
        OpenIdError::Refused { name } => {
            format!("{name}でサインインできませんでした。やり直すか、パスワードでサインインしてください。")
        }
        OpenIdError::Stale => {
            "時間がかかりすぎたか、別のブラウザーで始めたサインインです。ここからやり直してください。".to_owned()
        }
        OpenIdError::Untrusted { name } => {
            format!(
                "{name}の応答では本人確認ができませんでした。やり直しても解決しない場合は、管理者に連絡してください。"
            )
        }
        OpenIdError::Unknown { name } => format!(
            "{name}のIDに対応するアカウントがありません。パスワードでサインインして設定で連携するか、管理者に依頼してください。"
        ),
        OpenIdError::WrongDomain => {
            "確認済みのメールアドレスが、許可されたドメインのものではありません。管理者に依頼してください。".to_owned()
        }
        OpenIdError::Deactivated => "このアカウントは無効になっています。管理者に依頼してください。".to_owned(),
        OpenIdError::Taken => {
            "このIDはすでに別のアカウントと連携しています。先にそのアカウントで連携を解除してください。".to_owned()
        }
        OpenIdError::TooMany => "連携できるIDの数の上限に達しています。先に1つ解除してください。".to_owned(),
        OpenIdError::Off | OpenIdError::NoSuchIdentity | OpenIdError::LastSignInMethod => error.to_string(),
    }
}
