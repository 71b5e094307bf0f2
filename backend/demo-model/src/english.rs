//! Parses English sentences: commands with operands, questions, and continuations of the previous sentence.

use super::{
    expr::{Expr, Op},
    grammar::{NotParsed, Parsed, Parser},
    token::{Join, Token},
};

/// Parses a question in English, or one that consists of signs only.
pub(crate) fn parse(tokens: &[Token], earlier: Option<&str>) -> Parsed<Vec<Expr>> {
    let mut parser = Parser::new(tokens, earlier);
    while let Some(token) = parser.peek() {
        parser.clause(token)?;
    }
    parser.finish()
}

impl Parser<'_> {
    fn clause(&mut self, token: &Token) -> Parsed<()> {
        match token {
            Token::Comma | Token::Then | Token::Break => self.advance(),
            Token::Join(Join::And) => {
                // Without this check, `two hundred and five` would lose the two hundred.
                if self.after_operand() && self.last_is_bare() {
                    return Err(NotParsed::NotArithmetic);
                }
                self.advance();
            }
            Token::Noise | Token::Join(_) if !self.after_operand() => self.advance(),
            Token::Do(op) | Token::DoBetween(op) => {
                self.advance();
                let expr = self.command(*op)?;
                self.complete(expr)?;
            }
            Token::Op(_) | Token::Word(_) if self.begins_with_operator(token) => {
                let left = self.current();
                let expr = self.expression_from(left, 1)?;
                self.complete(expr)?;
            }
            _ if self.at_operand() || *token == Token::Word(Op::Sub) => {
                let expr = self.expression()?;
                self.complete(expr)?;
            }
            _ => return Err(NotParsed::NotArithmetic),
        }
        Ok(())
    }

    /// Returns `true` if an operator continues an earlier result and is not a sign: `times 4`, `then minus 3`.
    fn begins_with_operator(&self, token: &Token) -> bool {
        let at_start_of_clause = match self.previous() {
            None => true,
            Some(previous) => matches!(previous, Token::Then | Token::Join(Join::And) | Token::Comma | Token::Break),
        };
        match token {
            Token::Op(Op::Sub) => false,
            Token::Word(Op::Sub) => at_start_of_clause && !self.is_fresh(),
            _ => at_start_of_clause && self.has_current(),
        }
    }

    fn after_operand(&self) -> bool {
        matches!(
            self.previous(),
            Some(Token::Number(_) | Token::Pi | Token::Close | Token::Percent | Token::Power(_) | Token::Earlier)
        )
    }

    /// Keeps an expression, unless the next token shows that the expression is incomplete.
    fn complete(&mut self, expr: Expr) -> Parsed<()> {
        let ends_well = match self.peek() {
            // `add 2 and 3 multiply by 4`: a verb starts a new command without a separator.
            None | Some(Token::Comma | Token::Then | Token::Break | Token::Join(Join::And) | Token::Do(_)) => true,
            Some(_) => false,
        };
        if ends_well { self.push(expr) } else { Err(NotParsed::NotArithmetic) }
    }

    /// Parses the operands of a verb: `add X and Y`, `subtract X from Y`, `divide by X`.
    fn command(&mut self, op: Op) -> Parsed<Expr> {
        let mut operands = self.operands(&[Join::And, Join::To, Join::From, Join::By, Join::With])?;
        let target = match op {
            Op::Add => operands.iter().position(|(join, _)| *join == Some(Join::To)),
            Op::Sub => operands.iter().position(|(join, _)| *join == Some(Join::From)),
            Op::Mul | Op::Div | Op::Pow => None,
        };
        if let Some(target) = target {
            let target = operands.remove(target);
            operands.insert(0, target);
        }
        let alone = operands.len() == 1;
        let first = match operands.first() {
            None => return Err(NotParsed::NotArithmetic),
            Some(_) if alone => self.current(),
            Some(_) => operands.remove(0).1,
        };
        Ok(operands.into_iter().fold(first, |left, (_, right)| Expr::binary(op, left, right)))
    }
}
