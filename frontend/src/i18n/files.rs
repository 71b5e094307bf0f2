//! Texts about the files of messages.

use crate::language::Language;

texts! {
    file_texts;

    may_not_upload: "You are not allowed to upload files. Ask an admin.", "ファイルをアップロードする権限がありません。管理者に相談してください。";
    attach: "Attach files", "ファイルを添付";
    attached_files: "Attached files", "添付ファイル";
    remove_file: "Remove", "外す";
    retry_upload: "Retry", "再試行";
    upload_waiting: "Waiting…", "待機中…";
    upload_interrupted: "The upload was interrupted. Remove the file and attach it again.",
        "アップロードが中断されました。ファイルを外して、もう一度添付してください。";
    gone_from_server: "This file is no longer on the server. Remove it, or attach it again.",
        "このファイルはサーバーにありません。外すか、もう一度添付してください。";
    upload_failed_first: "A file was not uploaded. Retry or remove it, then send.",
        "アップロードできなかったファイルがあります。再試行するか外してから送信してください。";
    wait_for_uploads: "Wait until the files are uploaded.", "ファイルのアップロードが終わるまでお待ちください。";
    sends_after_uploads: "The message is sent as soon as the files are uploaded.",
        "ファイルのアップロードが終わると送信されます。";
    paste_is_long: "You pasted a long text.", "長いテキストを貼り付けました。";
    attach_paste: "Attach it as a file", "ファイルとして添付";
    keep_paste: "Keep as text", "テキストのまま";
    pasted_file_name: "pasted.txt", "貼り付けたテキスト.txt";
    drop_here: "Drop files to attach them", "ここにドロップして添付";
    text_is_truncated: "The file is longer: only the beginning of its text was stored.", "ファイルにはまだ続きがあります。保存されたのはテキストの先頭部分だけです。";
    no_text_in_file: "This file has no text that can be read.", "このファイルには読み取れるテキストがありません。";
    original_file: "Original", "元のファイル";
    previous_page: "Previous page", "前のページ";
    next_page: "Next page", "次のページ";
    previous_file: "Previous file", "前のファイル";
    next_file: "Next file", "次のファイル";
    close_file: "Close", "閉じる";
    full_size: "Full size", "原寸大";
    fit_to_window: "Fit to window", "ウィンドウに合わせる";
    model_received: "The model received:", "モデルが受け取った内容:";
}

impl Language {
    /// Returns the notice that a message can have at most `max` files.
    pub(crate) fn too_many_files(self, max: usize) -> String {
        match self {
            Self::English => format!("A message can have at most {max} files. The others were not attached."),
            Self::Japanese => {
                format!("1つのメッセージに添付できるファイルは{max}個までです。残りは添付されませんでした。")
            }
        }
    }

    /// Returns the notice that a message was not sent because the server no longer has this file.
    pub(crate) fn file_is_gone(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} is no longer on the server. Remove it or attach it again, then send."),
            Self::Japanese => {
                format!("{name}はサーバーにありません。外すかもう一度添付してから、送信してください。")
            }
        }
    }

    /// Announces the uploads that have ended: the number of stored files, and the names of the failed ones.
    pub(crate) fn uploads_ended(self, stored: usize, failed: &[&str]) -> String {
        let stored = match (self, stored) {
            (_, 0) => String::new(),
            (Self::English, 1) => "1 file uploaded.".to_owned(),
            (Self::English, _) => format!("{stored} files uploaded."),
            (Self::Japanese, _) => format!("{stored}個のファイルをアップロードしました。"),
        };
        let failed = match self {
            _ if failed.is_empty() => String::new(),
            Self::English => format!("Not uploaded: {}.", failed.join(", ")),
            Self::Japanese => format!("アップロードできなかったファイル: {}", failed.join("、")),
        };
        format!("{stored} {failed}").trim().to_owned()
    }

    /// Returns the label of the button that removes a file.
    pub(crate) fn remove_file_named(self, name: &str) -> String {
        match self {
            Self::English => format!("Remove {name}"),
            Self::Japanese => format!("{name}を外す"),
        }
    }

    /// Returns the warning that a model reads no images.
    pub(crate) fn reads_no_images(self, model: &str) -> String {
        match self {
            Self::English => format!("{model} reads no images."),
            Self::Japanese => format!("{model}は画像を読めません。"),
        }
    }

    /// Returns the label of the button that chooses a model that reads images, for this message.
    pub(crate) fn use_model_instead(self, model: &str) -> String {
        match self {
            Self::English => format!("Use {model} for this message"),
            Self::Japanese => format!("このメッセージには{model}を使う"),
        }
    }

    /// Returns the position in a document, such as `Page 2 of 40`.
    pub(crate) fn page_of(self, page: i32, pages: i32) -> String {
        match self {
            Self::English => format!("Page {page} of {pages}"),
            Self::Japanese => format!("{page} / {pages}ページ"),
        }
    }

    /// Returns the part of a file that the model received, which the server names as `image 1536×1024`, `pages 1–12 of
    /// 40` or `name only`.
    pub(crate) fn file_context(self, context: &str) -> String {
        let range = context.strip_prefix("pages 1–").and_then(|rest| rest.split_once(" of "));
        if let Some(("1", of)) = range {
            return match of {
                "1" => self.pages(1),
                of if self == Self::English => format!("page 1 of {of}"),
                of => format!("全{of}ページ中1ページ目"),
            };
        }
        let Self::Japanese = self else { return context.to_owned() };
        if context == "name only" {
            "名前のみ".to_owned()
        } else if let Some(size) = context.strip_prefix("image ") {
            format!("画像 {size}")
        } else if let Some(of) = context.strip_prefix("part of page 1 of ") {
            format!("全{of}ページ中1ページ目の一部")
        } else if let Some((pages, of)) = context.strip_prefix("pages ").and_then(|rest| rest.split_once(" of ")) {
            format!("全{of}ページ中{pages}ページ")
        } else {
            context.to_owned()
        }
    }

    /// Returns the number of pages of a document.
    pub(crate) fn pages(self, pages: i32) -> String {
        match self {
            Self::English if pages == 1 => "1 page".to_owned(),
            Self::English => format!("{pages} pages"),
            Self::Japanese => format!("{pages}ページ"),
        }
    }
}
