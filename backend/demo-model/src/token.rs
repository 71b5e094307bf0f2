//! The tokens of a question, in either language, as the two grammars receive them.

use super::expr::Op;

/// A token of a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A number in JSON's notation.
    Number(String),
    /// `pi`
    Pi,
    /// An operator's sign.
    Op(Op),
    /// An operator's word between operands: plus, multiplied by.
    Word(Op),
    /// %
    Percent,
    /// (
    Open,
    /// )
    Close,
    /// A function, by the name that `evaluate` uses.
    Func(&'static str),
    /// A word for an operation with a fixed right operand: double, half of.
    Unary(Op, &'static str),
    /// A power that follows its base: squared.
    Power(&'static str),
    /// A verb: add, 足して.
    Do(Op),
    /// A Japanese verb in the form that may also be between operands: 足す.
    DoBetween(Op),
    /// A noun that takes a list: sum of.
    Noun(Op),
    /// it, that, それ
    Earlier,
    /// A word between operands that belongs to a verb.
    Join(Join),
    /// then, それから
    Then,
    /// , or 、
    Comma,
    /// The end of a sentence.
    Break,
    /// Text without meaning for the grammars.
    Noise,
    /// Digits with several possible meanings: a date, a time, a decimal comma. Nothing near them is safe to compute.
    Unclear,
    /// A Japanese particle.
    Particle(Particle),
    /// 倍
    Times,
    /// 乗
    Raised,
    /// 平方根
    Root,
    /// 半分
    Half,
}

/// English words that distinguish a verb's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    To,
    From,
    By,
    With,
    Of,
}

/// Japanese particles that distinguish a verb's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Particle {
    /// を
    Object,
    /// No particle, directly before the verb
    Omitted,
    /// と
    With,
    /// に
    To,
    /// から
    From,
    /// で
    By,
    /// の
    Of,
}
