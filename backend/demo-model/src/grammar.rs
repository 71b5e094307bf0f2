//! Parsing that both languages share: infix expressions, and the sequence of results that `it` and それ refer to.

use super::{
    expr::{Expr, Op},
    token::{Join, Token},
};

/// Maximum nesting depth of parentheses, signs, functions and powers.
const MAX_NESTING: usize = 40;
/// Maximum number of parts in an expression; `it times it` would double it with every sentence.
const MAX_SIZE: usize = 400;

/// Why a question cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotParsed {
    /// The question is not arithmetic, or its meaning is not certain.
    NotArithmetic,
    /// The question continues from an earlier result, and there is none.
    NothingEarlier,
    /// The question is too long or too deeply nested.
    TooLong,
}

pub(crate) type Parsed<T> = Result<T, NotParsed>;

/// Reads tokens from left to right and collects the expressions to compute.
pub(crate) struct Parser<'a> {
    tokens: &'a [Token],
    position: usize,
    nesting: usize,
    earlier: Option<&'a str>,
    items: Vec<Expr>,
    /// `true` if the expression being read continues from the last of `items` and will replace it.
    is_continuation: bool,
    /// `true` if the question refers to an earlier result that does not exist.
    lacks_earlier: bool,
}

impl<'a> Parser<'a> {
    /// Creates a parser of a question. `earlier` is the last result of the conversation.
    pub(crate) fn new(tokens: &'a [Token], earlier: Option<&'a str>) -> Self {
        Self {
            tokens,
            position: 0,
            nesting: 0,
            earlier,
            items: Vec::new(),
            is_continuation: false,
            lacks_earlier: false,
        }
    }

    /// Returns all expressions to compute, after the complete question has been read.
    pub(crate) fn finish(self) -> Parsed<Vec<Expr>> {
        let items: Vec<Expr> = self.items.into_iter().filter(|item| !item.is_bare()).collect();
        match items.is_empty() {
            true => Err(NotParsed::NotArithmetic),
            false if self.lacks_earlier => Err(NotParsed::NothingEarlier),
            false => Ok(items),
        }
    }

    pub(crate) fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.position)
    }

    pub(crate) fn peek_after(&self) -> Option<&'a Token> {
        self.tokens.get(self.position + 1)
    }

    /// Returns the token before the next one.
    pub(crate) fn previous(&self) -> Option<&'a Token> {
        self.tokens.get(self.position.checked_sub(1)?)
    }

    pub(crate) fn advance(&mut self) {
        self.position += 1;
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn go_back_to(&mut self, position: usize) {
        self.position = position;
    }

    fn take(&mut self, token: &Token) -> bool {
        let is_next = self.peek() == Some(token);
        self.position += usize::from(is_next);
        is_next
    }

    /// Returns the meaning of `it` here: the last expression of this question, otherwise the conversation's last
    /// result. If there is neither, parsing continues: only the complete question shows whether it is arithmetic at
    /// all.
    pub(crate) fn current(&mut self) -> Expr {
        if let Some(item) = self.items.last() {
            self.is_continuation = true;
            return item.clone();
        }
        self.lacks_earlier |= self.earlier.is_none();
        Expr::whole(self.earlier.unwrap_or("0"))
    }

    /// Returns `true` if [`Self::current`] has an answer.
    pub(crate) fn has_current(&self) -> bool {
        !self.items.is_empty() || self.earlier.is_some()
    }

    /// Returns `true` if nothing has been understood so far.
    pub(crate) fn is_fresh(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns `true` if the last expression was only a number.
    pub(crate) fn last_is_bare(&self) -> bool {
        self.items.last().is_some_and(Expr::is_bare)
    }

    /// Adds a complete expression to the items. If it continues the last item, it replaces that item.
    pub(crate) fn push(&mut self, expr: Expr) -> Parsed<()> {
        if expr.size() > MAX_SIZE {
            return Err(NotParsed::TooLong);
        }
        if std::mem::take(&mut self.is_continuation) {
            self.items.pop();
        }
        self.items.push(expr);
        Ok(())
    }

    /// Returns `true` if the next token can begin an operand.
    pub(crate) fn at_operand(&self) -> bool {
        matches!(
            self.peek(),
            Some(
                Token::Number(_)
                    | Token::Pi
                    | Token::Open
                    | Token::Func(_)
                    | Token::Earlier
                    | Token::Unary(..)
                    | Token::Noun(_)
                    | Token::Op(Op::Sub)
            )
        )
    }

    /// Parses an expression: operands joined by operators.
    pub(crate) fn expression(&mut self) -> Parsed<Expr> {
        let first = self.unary()?;
        self.expression_from(first, 1)
    }

    /// Parses the rest of an expression whose first operand is known. Stops before operators weaker than `least`.
    pub(crate) fn expression_from(&mut self, first: Expr, least: u8) -> Parsed<Expr> {
        let mut left = first;
        while let Some((op, tokens)) = self.operator() {
            if op.strength() < least {
                break;
            }
            self.position += tokens;
            let mut right = self.unary()?;
            // `unary` has read all powers, so the next operator is weaker, equal, or a product within a sum.
            while let Some((next, _)) = self.operator() {
                if next.strength() <= op.strength() {
                    break;
                }
                right = self.expression_from(right, next.strength())?;
            }
            left = Expr::binary(op, left, right);
        }
        Ok(left)
    }

    /// Returns the next operator and its number of tokens, which is 0 for the product in `2(3 + 4)`.
    fn operator(&self) -> Option<(Op, usize)> {
        match self.peek()? {
            Token::Op(op) | Token::Word(op) => Some((*op, 1)),
            Token::DoBetween(op) => {
                let operand = matches!(self.peek_after(), Some(Token::Number(_) | Token::Open | Token::Func(_)));
                operand.then_some((*op, 1))
            }
            Token::Open if matches!(self.previous(), Some(Token::Number(_) | Token::Close)) => Some((Op::Mul, 0)),
            _ => None,
        }
    }

    fn unary(&mut self) -> Parsed<Expr> {
        if self.nesting >= MAX_NESTING {
            return Err(NotParsed::TooLong);
        }
        self.nesting += 1;
        let result = self.unary_within_bounds();
        self.nesting -= 1;
        result
    }

    fn unary_within_bounds(&mut self) -> Parsed<Expr> {
        if self.take(&Token::Op(Op::Sub)) || self.take(&Token::Word(Op::Sub)) {
            return Ok(match self.unary()? {
                Expr::Number(text) if !text.starts_with('-') => Expr::Number(format!("-{text}")),
                operand => Expr::Negative(Box::new(operand)),
            });
        }
        let base = self.postfix()?;
        if self.take(&Token::Op(Op::Pow)) || self.take(&Token::Word(Op::Pow)) {
            let exponent = self.unary()?;
            return Ok(Expr::binary(Op::Pow, base, exponent));
        }
        Ok(base)
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut operand = self.primary()?;
        loop {
            operand = match self.peek() {
                Some(Token::Percent) => {
                    self.advance();
                    let percent = Expr::Percent(Box::new(operand));
                    if self.take(&Token::Join(Join::Of)) {
                        return Ok(Expr::binary(Op::Mul, percent, self.unary()?));
                    }
                    percent
                }
                Some(Token::Power(exponent)) => {
                    self.advance();
                    Expr::binary(Op::Pow, operand, Expr::whole(exponent))
                }
                _ => return Ok(operand),
            };
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.peek().ok_or(NotParsed::NotArithmetic)?;
        self.advance();
        match token {
            Token::Number(text) => Ok(Expr::Number(text.clone())),
            Token::Pi => Ok(Expr::Pi),
            Token::Earlier => Ok(self.current()),
            Token::Open => {
                let inner = self.expression()?;
                if self.take(&Token::Close) { Ok(inner) } else { Err(NotParsed::NotArithmetic) }
            }
            Token::Func(name) => {
                self.take(&Token::Join(Join::Of));
                // `sin(1)^2` is the square of the sine, so the argument ends with the parenthesis.
                let argument = if self.peek() == Some(&Token::Open) { self.primary()? } else { self.unary()? };
                Ok(Expr::Call(name, Box::new(argument)))
            }
            Token::Unary(op, right) => {
                let of = self.take(&Token::Join(Join::Of));
                let operand = if of || self.at_operand() { self.unary()? } else { self.current() };
                Ok(Expr::binary(*op, operand, Expr::whole(right)))
            }
            Token::Noun(op) => self.listed(*op),
            _ => Err(NotParsed::NotArithmetic),
        }
    }

    /// Parses the operands of a noun, at least two: `sum of X and Y`.
    fn listed(&mut self, op: Op) -> Parsed<Expr> {
        let operands = self.operands(&[Join::And, Join::Of])?;
        if operands.len() < 2 {
            return Err(NotParsed::NotArithmetic);
        }
        let folded =
            operands.into_iter().map(|(_, operand)| operand).reduce(|left, right| Expr::binary(op, left, right));
        folded.ok_or(NotParsed::NotArithmetic)
    }

    /// Parses operands and the words between them, until the list ends.
    pub(crate) fn operands(&mut self, joins: &[Join]) -> Parsed<Vec<(Option<Join>, Expr)>> {
        let mut operands = Vec::new();
        loop {
            let start = self.position();
            let mut join = None;
            loop {
                match self.peek() {
                    Some(Token::Comma) => {}
                    Some(Token::Join(word)) if joins.contains(word) => join = Some(*word),
                    _ => break,
                }
                self.advance();
            }
            // `5 6` is not a list, and in `add 5 to 7 and double it` the list ends before `and`.
            let list_ends = !operands.is_empty() && (self.position() == start || self.at_command());
            if list_ends || !self.at_operand() {
                self.go_back_to(start);
                return Ok(operands);
            }
            operands.push((join, self.expression()?));
        }
    }

    /// Returns `true` if a word such as `double` is a command here, and not part of an operand such as `double 5`.
    fn at_command(&self) -> bool {
        let operand = matches!(self.peek_after(), Some(Token::Number(_) | Token::Open | Token::Join(Join::Of)));
        matches!(self.peek(), Some(Token::Unary(..))) && !operand
    }
}
