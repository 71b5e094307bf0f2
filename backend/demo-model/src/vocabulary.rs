//! The phrases that the demo model understands, in English and Japanese. Numbers in words are in `numerals`.
//!
//! The longest phrase that matches is used. A phrase without a token is a filler that changes nothing. Any other word
//! is noise, which makes the grammars careful. So add a filler only if leaving the word out cannot change a result.

use super::{
    expr::Op,
    token::{Join, Particle, Token},
};

/// Tokens with the phrases that represent them, separated by `|`.
type Phrases = &'static [(Option<Token>, &'static str)];

/// English phrases; a phrase matches only if no letter or apostrophe follows.
static ENGLISH: Phrases = &[
    (Some(Token::Word(Op::Add)), "plus|added to"),
    (Some(Token::Word(Op::Sub)), "minus"),
    (Some(Token::Word(Op::Mul)), "times|multiplied by"),
    (Some(Token::Word(Op::Div)), "divided by|over"),
    (Some(Token::Word(Op::Pow)), "to the power of|raised to the power of|raised to"),
    (Some(Token::Op(Op::Sub)), "negative"),
    (Some(Token::Do(Op::Add)), "add|add up"),
    (Some(Token::Do(Op::Sub)), "subtract|deduct"),
    (Some(Token::Do(Op::Mul)), "multiply"),
    (Some(Token::Do(Op::Div)), "divide"),
    (Some(Token::Noun(Op::Add)), "sum of|total of"),
    (Some(Token::Noun(Op::Sub)), "difference between|difference of"),
    (Some(Token::Noun(Op::Mul)), "product of"),
    (Some(Token::Noun(Op::Div)), "quotient of"),
    (Some(Token::Unary(Op::Mul, "2")), "double|twice"),
    (Some(Token::Unary(Op::Mul, "3")), "triple"),
    (Some(Token::Unary(Op::Div, "2")), "halve|half|a half"),
    (Some(Token::Unary(Op::Div, "3")), "a third|one third"),
    (Some(Token::Unary(Op::Div, "4")), "a quarter|one quarter"),
    (Some(Token::Unary(Op::Pow, "2")), "square"),
    (Some(Token::Unary(Op::Pow, "3")), "cube"),
    (Some(Token::Power("2")), "squared"),
    (Some(Token::Power("3")), "cubed"),
    (Some(Token::Percent), "percent|per cent"),
    (Some(Token::Pi), "pi"),
    (Some(Token::Func("sqrt")), "sqrt|square root|square root of|the square root of|root of"),
    (Some(Token::Func("cbrt")), "cbrt|cube root|cube root of"),
    (Some(Token::Func("sin")), "sin|sine"),
    (Some(Token::Func("cos")), "cos|cosine"),
    (Some(Token::Func("tan")), "tan|tangent"),
    (Some(Token::Func("asin")), "asin|arcsin"),
    (Some(Token::Func("acos")), "acos|arccos"),
    (Some(Token::Func("atan")), "atan|arctan"),
    (Some(Token::Func("ln")), "ln|natural log|natural logarithm"),
    (Some(Token::Func("log10")), "log10"),
    (Some(Token::Func("log2")), "log2"),
    (Some(Token::Func("exp")), "exp"),
    (Some(Token::Func("abs")), "abs|absolute value"),
    (Some(Token::Func("floor")), "floor"),
    (Some(Token::Func("ceil")), "ceil"),
    (Some(Token::Func("round")), "round"),
    (Some(Token::Join(Join::And)), "and|&"),
    (Some(Token::Join(Join::To)), "to"),
    (Some(Token::Join(Join::From)), "from"),
    (Some(Token::Join(Join::By)), "by"),
    (Some(Token::Join(Join::With)), "with"),
    (Some(Token::Join(Join::Of)), "of"),
    (Some(Token::Then), "then|and then|after that|afterwards|and finally|finally|next"),
    (
        Some(Token::Earlier),
        concat!(
            "it|that|this|the result|the answer|the total|that number|that result|that answer|this result|",
            "this number|the last result|the last answer|the previous result|the previous answer|",
            "your answer|your result"
        ),
    ),
    (
        None,
        concat!(
            "a|again|also|altogether|an|are|begin with|calculate|can|compute|could|do|does|equal|equal to|",
            "equals|evaluate|exactly|figure out|find|for me|give|hello|hey|hi|how|i|in total|is|just|know|",
            "let|let's|make|makes|many|me|much|need|now|ok|okay|please|quickly|result|so|solve|start with|",
            "take|tell|thank you|thanks|the|the value of|together|us|want|want to|what|what's|whats|",
            "work out|would|would like to|you"
        ),
    ),
];

/// Japanese phrases; Japanese has no spaces, so a phrase matches at any position.
static JAPANESE: Phrases = &[
    (Some(Token::Word(Op::Add)), "プラス"),
    (Some(Token::Word(Op::Sub)), "マイナス"),
    (Some(Token::DoBetween(Op::Add)), "足す|たす|加える"),
    (Some(Token::DoBetween(Op::Sub)), "引く|ひく"),
    (Some(Token::DoBetween(Op::Mul)), "掛ける|かける"),
    (Some(Token::DoBetween(Op::Div)), "割る|わる"),
    (Some(Token::Do(Op::Add)), "足|足し|たし|たそ|加え|加算|合計|合わせ|あわせ|和"),
    (Some(Token::Do(Op::Sub)), "引|引い|引き|ひい|ひき|減ら|減算|差"),
    (Some(Token::Do(Op::Mul)), "掛け|かけ|乗じ|乗算|積"),
    (Some(Token::Do(Op::Div)), "割|割っ|割り|わっ|わり|除算|商"),
    (Some(Token::Particle(Particle::Object)), "を"),
    (Some(Token::Particle(Particle::With)), "と"),
    (Some(Token::Particle(Particle::To)), "に"),
    (Some(Token::Particle(Particle::From)), "から"),
    (Some(Token::Particle(Particle::By)), "で"),
    (Some(Token::Particle(Particle::Of)), "の"),
    (Some(Token::Times), "倍"),
    (Some(Token::Raised), "乗"),
    (Some(Token::Root), "平方根"),
    (Some(Token::Func("sqrt")), "ルート"),
    (Some(Token::Half), "半分"),
    (Some(Token::Percent), "パーセント"),
    (Some(Token::Pi), "円周率"),
    (Some(Token::Then), "それから|次に|つぎに|そして|その後|さらに|最後に"),
    (Some(Token::Earlier), "それ|これ|その数|その答え|その結果|この答え|この結果|前の答え|前の結果|さっきの答え"),
    (
        None,
        concat!(
            "いくつ|いくら|おしえ|おねがい|お願い|か|が|くださ|くださる|くださいませ|ください|くれ|こたえ|こんにちは|これから|し|して|します|する|せよ|たい|ちょうだい|って|て|",
            "です|でしょう|ですか|なに|なん|なんですか|にして|にする|になる|になり|になっ|ね|の値|の答え|の結果|は|ほしい|ます|まず|もらえ|も|よ|下さい|何|値|個|円|出し|教え|",
            "枚|本|欲しい|求め|もとめ|知りたい|答え|結果|計算|頂戴|一度|もう一度"
        ),
    ),
];

/// Returns the longest phrase that `text` begins with, and its length in bytes. A phrase without a token is a filler.
pub(crate) fn phrase(text: &str) -> Option<(Option<Token>, usize)> {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '&');
    let table = if is_word { ENGLISH } else { JAPANESE };
    let fits = |phrase: &str| {
        let rest = text.strip_prefix(phrase);
        rest.is_some_and(|rest| !is_word || !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '\''))
    };
    table
        .iter()
        .flat_map(|(token, phrases)| phrases.split('|').map(move |phrase| (token, phrase)))
        .filter(|(_, phrase)| fits(phrase))
        .max_by_key(|(_, phrase)| phrase.len())
        .map(|(token, phrase)| (token.clone(), phrase.len()))
}
