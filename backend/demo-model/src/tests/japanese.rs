//! Tests of questions in Japanese that the demo model understands, and of questions that it refuses.

use super::{Talk, answer, number};

#[test]
fn an_example_from_end_to_end() {
    let turn = Talk::new().ask("12.5と7.25を足して4倍して");
    assert_eq!(turn.preface, "計算します。\n\n");
    let call = |tool: &str, input: &str| (tool.to_owned(), input.to_owned());
    assert_eq!(turn.steps, [[call("add", r#"{"a":12.5,"b":7.25}"#)], [call("multiply", r#"{"a":19.75,"b":4}"#)]]);
    assert_eq!(turn.answer, "できました。(12.5 + 7.25) × 4 = **79** です。");
}

#[test]
fn questions() {
    for (question, expected) in [
        ("3たす5は?", "8"),
        ("3足す5は？", "8"),
        ("10を4で割ると?", "2.5"),
        ("10割る4は", "2.5"),
        ("8から3を引く", "5"),
        ("３を８から引いてください", "5"),
        ("5×6は？", "30"),
        ("５×６を計算して", "30"),
        ("2の10乗", "1024"),
        ("2の2乗は？", "4"),
        ("２の平方根を教えてください", "1.4142135623730951"),
        ("√16に1を足す", "5"),
        ("80の15%は？", "12"),
        ("80の15パーセントはいくら", "12"),
        ("15％の80は", "12"),
        ("80の半分", "40"),
        ("5の3倍", "15"),
        ("3と4の積", "12"),
        ("10と3の差は", "7"),
        ("1と2と3を足して", "6"),
        ("三たす五は", "8"),
        ("二十五に三百を足すと何になりますか", "325"),
        ("3万に5千を足す", "35000"),
        ("100万 + 1", "1000001"),
        ("1.5億を2倍して", "300000000"),
        ("（１２．５＋７．２５）×４は？", "79"),
        ("3個と5個を足して", "8"),
        ("5プラス6かける2は？", "17"),
        ("マイナス3に5を足す", "2"),
        ("3に5を足し算して", "8"),
        ("sin(1)を計算して", "0.8414709848078965"),
    ] {
        assert_eq!(number(question), expected, "{question}");
    }
}

#[test]
fn one_thing_after_another() {
    for (question, expected) in [
        ("3と5を足して、それを2で割って", "4"),
        ("3と5を足して2で割って", "4"),
        ("3と5を足す。それから10倍する。", "80"),
        ("3に4をかけたものに5を足して", "17"),
        ("2の10乗に3を足して", "1027"),
        ("10から3を引いて、次に4をかけて、最後に半分にして", "14"),
        ("3と5を足すと、その答えを2乗して", "64"),
        ("3に5を足して × 4", "32"),
        ("3に5を足して - 4", "4"),
        ("10を、4で割ると？", "2.5"),
        // An example of the start page.
        ("8450と3600と1450を足して3で割って", "4500"),
    ] {
        assert_eq!(number(question), expected, "{question}");
    }
}

#[test]
fn failures_are_explained() {
    assert_eq!(answer("100÷0は？"), "100 ÷ 0 は計算できません。0で割ることはできません。");
    assert_eq!(
        answer("1と8を足して0で割って"),
        "(1 + 8) ÷ 0 は、途中の 9 ÷ 0 が計算できないため、答えがありません。0で割ることはできません。"
    );
    assert_eq!(answer("1e999の平方根"), "sqrt(1e999) は計算できません。数が大きすぎます。");
}

#[test]
fn ambiguous_questions_are_not_computed() {
    for question in [
        "今日の天気は？",
        "2024年の出来事を教えて",
        "りんごが3つとみかんが5つあります",
        "3と5",
        "1から100まで足して",
        "10を割る",
        "3に5を足して引く",
        "俳句を書いて",
        "2+3を二進数にして",
        "それ",
        "それは何？",
        "3に5を足す。りんごを4で割る",
        "3と5と",
        "3,5に2を足して",
        "10時30分に5を足す",
    ] {
        let answer = answer(question);
        assert!(answer.contains("デモモデルです"), "{question}: {answer}");
        assert!(answer.contains("「モデルを接続する」"));
    }
}

#[test]
fn greetings_are_returned() {
    assert!(answer("こんにちは！").starts_with("こんにちは。Tallybookのデモモデルです。"));
    assert_eq!(answer("ありがとう"), "どういたしまして。");
}

#[test]
fn a_continuation_without_a_result_is_reported() {
    assert!(answer("それを3倍して").starts_with("続きの計算に使える前の結果がありません。"));
    assert!(answer("double it").starts_with("There is no earlier result"));
}
