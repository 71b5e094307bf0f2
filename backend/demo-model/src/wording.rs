//! All sentences of the demo model, in English and Japanese.

use super::{expr::Expr, plan::Value};
use tallybook_protocol::first_chars;

/// The language of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Japanese,
}

impl Language {
    /// Returns Japanese if the text contains kana or kanji, otherwise English.
    pub(crate) fn of(text: &str) -> Self {
        let japanese =
            |c| matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '々' | '〇');
        if text.chars().any(japanese) { Self::Japanese } else { Self::English }
    }

    fn pick(self, english: &str, japanese: &str) -> String {
        match self {
            Self::English => english.to_owned(),
            Self::Japanese => japanese.to_owned(),
        }
    }
}

/// Returns the text before the first calls.
pub(crate) fn beginning(language: Language) -> String {
    language.pick("Let me work that out.\n\n", "計算します。\n\n")
}

/// Describes this model, for a question that is not arithmetic.
pub(crate) fn introduction(language: Language) -> String {
    language.pick(
        "I am Tallybook's demo model: a small program that does arithmetic with tools, and nothing else. I did not \
         find a calculation in your message that I understand. Try: “What is (12.5 + 7.25) × 4?”\n\nTo talk with a real \
         model, start a new chat and press “Connect a model”. If people sign in here, an admin can do this.",
        "Tallybookのデモモデルです。ツールを使った計算だけができる小さなプログラムで、計算以外のことはできません。\
         いただいた文からは、わかる計算を見つけられませんでした。例:「12.5と7.25を足して4倍して」\n\n\
         本物のモデルと話すには、新しいチャットで「モデルを接続する」を押してください。サインインが必要なサーバーでは、管理者が接続できます。",
    )
}

/// Returns the answer to a greeting or to thanks; `None` if the question is neither.
pub(crate) fn greeting(language: Language, question: &str) -> Option<String> {
    let question = question.to_lowercase();
    let has = |words: &[&str]| {
        let mut spoken = question.split(|c: char| !c.is_alphabetic());
        match language {
            Language::English => spoken.any(|word| words.contains(&word)),
            Language::Japanese => words.iter().any(|word| question.contains(word)),
        }
    };
    let is_short = question.chars().count() <= 60;
    if is_short && has(&["thanks", "thank", "ありがとう", "ありがと", "サンキュー"]) {
        return Some(language.pick("You are welcome!", "どういたしまして。"));
    }
    let greetings =
        ["hello", "hi", "hey", "morning", "evening", "こんにちは", "こんばんは", "おはよう", "はじめまして", "やあ"];
    (is_short && has(&greetings)).then(|| {
        language.pick(
            "Hello! I am Tallybook's demo model, and arithmetic with tools is all that I can do. Try: “What is (12.5 + \
             7.25) × 4?”\n\nTo talk with a real model, start a new chat and press “Connect a model”. If people sign in \
             here, an admin can do this.",
            "こんにちは。Tallybookのデモモデルです。できるのは、ツールを使った計算だけです。例:「12.5と7.25を足して4倍して」\n\n\
             本物のモデルと話すには、新しいチャットで「モデルを接続する」を押してください。サインインが必要なサーバーでは、管理者が接続できます。",
        )
    })
}

/// Answers a question that continues from an earlier result if there is none.
pub(crate) fn nothing_earlier(language: Language) -> String {
    language.pick(
        "There is no earlier result to go on from. Give me the whole calculation, for example “Add 2 and 3, then \
         multiply by 10”.",
        "続きの計算に使える前の結果がありません。「2と3を足して10倍して」のように、計算全体を書いてください。",
    )
}

/// Answers a question that exceeds the limits.
pub(crate) fn too_long(language: Language) -> String {
    language.pick(
        "That is too long or too deeply nested for this small demo model. Please ask in smaller parts.",
        "このデモモデルには長すぎるか、かっこが深すぎます。小さく分けて聞いてください。",
    )
}

/// Answers a question that needs an unavailable tool.
pub(crate) fn no_such_tool(language: Language, tool: &str) -> String {
    match language {
        Language::English => format!("For that I need the tool `{tool}`, which is not available here."),
        Language::Japanese => format!("この計算にはツール `{tool}` が必要ですが、ここでは使えません。"),
    }
}

/// Returns the answer: each expression with its result.
pub(crate) fn answer(language: Language, items: &[(Expr, Value)]) -> String {
    if let [(expr, value)] = items {
        return sentence(language, expr, value, true);
    }
    let lines = items.iter().map(|(expr, value)| format!("- {}", sentence(language, expr, value, false)));
    let lines = lines.collect::<Vec<_>>().join("\n");
    match language {
        Language::English => format!("Here you are:\n\n{lines}"),
        Language::Japanese => format!("計算結果です。\n\n{lines}"),
    }
}

fn sentence(language: Language, expr: &Expr, value: &Value, alone: bool) -> String {
    let floating =
        if expr.is_floating() { language.pick(" (in floating point)", "（浮動小数点）") } else { String::new() };
    let done = if alone { language.pick("Done: ", "できました。") } else { String::new() };
    match (value, language) {
        (Value::Known(number), Language::English) => format!("{done}{expr} = **{number}**{floating}."),
        (Value::Known(number), Language::Japanese) => format!("{done}{expr} = **{number}**{floating} です。"),
        (Value::Pending, Language::English) => {
            format!("I could not finish {expr}: it takes more steps than I was given.")
        }
        (Value::Pending, Language::Japanese) => {
            format!("{expr} は最後まで計算できませんでした。使えるステップ数を超えています。")
        }
        (Value::Failed { shown, reason }, _) => failure(language, expr, shown, reason),
    }
}

fn failure(language: Language, expr: &Expr, shown: &str, reason: &str) -> String {
    let reason = reason_in_words(language, reason);
    let whole = expr.to_string();
    match language {
        Language::English if whole == shown => format!("{whole} has no result: {reason}."),
        Language::English => format!("{whole} has no result, because {shown} has none: {reason}."),
        Language::Japanese if whole == shown => format!("{whole} は計算できません。{reason}。"),
        Language::Japanese => format!("{whole} は、途中の {shown} が計算できないため、答えがありません。{reason}。"),
    }
}

/// Returns a tool's reason in the language of the question if it is one of the usual ones, otherwise as a quotation.
fn reason_in_words(language: Language, reason: &str) -> String {
    let known = [
        ("division by zero", "nothing can be divided by zero", "0で割ることはできません"),
        ("too large for floating point", "the number would be too large", "数が大きすぎます"),
        ("too small for floating point", "the number would be too close to zero", "数が0に近すぎます"),
        ("no real result", "it is not a real number", "実数の範囲に答えがありません"),
        (
            "the exponent must lie between",
            "the number is too large or too close to zero",
            "数が大きすぎるか、0に近すぎます",
        ),
        ("significant digits", "the number has too many digits", "桁数が多すぎます"),
        ("characters", "it is too long", "長すぎます"),
    ];
    if let Some((_, english, japanese)) = known.iter().find(|(part, ..)| reason.contains(part)) {
        return language.pick(english, japanese);
    }
    // The name of the invalid argument means nothing to a reader of the answer.
    let reason = match reason.split_once(": ") {
        Some((field, rest)) if field.starts_with("invalid_") => rest,
        _ => reason,
    };
    let shortened = first_chars(reason, 200).to_owned();
    let shortened = shortened.trim_end_matches('.');
    match language {
        Language::English => format!("the tool says “{shortened}”"),
        Language::Japanese => format!("ツールからの説明は「{shortened}」です"),
    }
}
