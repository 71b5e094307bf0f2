//! Parses Japanese sentences: the operands with their particles come first, and the verb after them names the
//! operation.

use super::{
    expr::{Expr, Op},
    grammar::{NotParsed, Parsed, Parser},
    token::{Particle, Token},
};

/// Parses a question in Japanese.
pub(crate) fn parse(tokens: &[Token], earlier: Option<&str>) -> Parsed<Vec<Expr>> {
    let mut reader = Reader { parser: Parser::new(tokens, earlier), waiting: Vec::new(), hand: None };
    while let Some(token) = reader.parser.peek() {
        reader.token(token)?;
    }
    reader.end_sentence()?;
    reader.parser.finish()
}

/// The operand or result that was read last and has no particle yet.
enum Hand {
    /// Numbers and signs, as written.
    Operand(Expr),
    /// The result of a verb or a postfix.
    Result(Expr),
}

struct Reader<'a> {
    parser: Parser<'a>,
    /// Operands that wait for their verb.
    waiting: Vec<(Expr, Particle)>,
    hand: Option<Hand>,
}

impl Reader<'_> {
    fn token(&mut self, token: &Token) -> Parsed<()> {
        let minus = matches!(token, Token::Op(Op::Sub) | Token::Word(Op::Sub));
        let after_result = matches!(self.hand, Some(Hand::Result(_)));
        if (self.parser.at_operand() || minus) && !(minus && after_result) {
            return self.operand();
        }
        let after_noise = self.parser.previous() == Some(&Token::Noise);
        self.parser.advance();
        match token {
            // りんごを4で割る (divide the apple by 4) must not divide the result so far.
            Token::Particle(_) if after_noise && self.hand.is_none() && self.parser.has_current() => {
                return Err(NotParsed::NotArithmetic);
            }
            Token::Particle(particle) => self.particle(*particle),
            Token::Do(op) | Token::DoBetween(op) => {
                match self.hand.take() {
                    // The particle is often omitted: それに5足して.
                    Some(Hand::Operand(operand)) => self.waiting.push((operand, Particle::Omitted)),
                    Some(Hand::Result(result)) => self.parser.push(result)?,
                    None => {}
                }
                let result = self.verb(*op)?;
                self.hand = Some(Hand::Result(result));
            }
            Token::Times => self.postfix_with_operand(Op::Mul)?,
            Token::Raised => self.postfix_with_operand(Op::Pow)?,
            Token::Root => {
                let base = self.base()?;
                self.hand = Some(Hand::Result(Expr::Call("sqrt", Box::new(base))));
            }
            Token::Half => {
                let base = self.base()?;
                self.hand = Some(Hand::Result(Expr::binary(Op::Div, base, Expr::whole("2"))));
            }
            Token::Break => self.end_sentence()?,
            Token::Comma | Token::Then => self.pause()?,
            Token::Noise if self.waiting.is_empty() && !matches!(self.hand, Some(Hand::Operand(_))) => {}
            Token::Op(op) | Token::Word(op) if self.hand_or_earlier(*op) => self.resume()?,
            _ => return Err(NotParsed::NotArithmetic),
        }
        Ok(())
    }

    fn operand(&mut self) -> Parsed<()> {
        match self.hand.take() {
            Some(Hand::Operand(_)) => return Err(NotParsed::NotArithmetic),
            Some(Hand::Result(result)) => self.parser.push(result)?,
            None => {}
        }
        let operand = self.parser.expression()?;
        self.hand = Some(match (operand, self.waiting.pop()) {
            // 80の15%
            (percent @ Expr::Percent(_), Some((whole, Particle::Of))) => {
                Hand::Operand(Expr::binary(Op::Mul, whole, percent))
            }
            // 15%の80
            (whole, Some((percent @ Expr::Percent(_), Particle::Of))) => {
                Hand::Operand(Expr::binary(Op::Mul, percent, whole))
            }
            (operand, waiting) => {
                self.waiting.extend(waiting);
                Hand::Operand(operand)
            }
        });
        Ok(())
    }

    fn particle(&mut self, particle: Particle) {
        match self.hand.take() {
            // 足すと means "when it is added", not "and".
            Some(Hand::Result(result)) if particle == Particle::With && self.waiting.is_empty() => {
                self.hand = Some(Hand::Result(result));
            }
            Some(Hand::Operand(operand) | Hand::Result(operand)) => self.waiting.push((operand, particle)),
            None => {}
        }
    }

    /// Applies a postfix such as 3倍 or 10乗: the number in hand is the right operand, and the base precedes it.
    fn postfix_with_operand(&mut self, op: Op) -> Parsed<()> {
        let Some(Hand::Operand(right)) = self.hand.take() else { return Err(NotParsed::NotArithmetic) };
        let base = self.base()?;
        self.hand = Some(Hand::Result(Expr::binary(op, base, right)));
        Ok(())
    }

    /// Returns the base of a postfix: the operand in hand, the only operand that waits, or the result so far.
    fn base(&mut self) -> Parsed<Expr> {
        match (self.waiting.len(), self.hand.take()) {
            (0, Some(Hand::Operand(operand) | Hand::Result(operand))) => Ok(operand),
            (0, None) => Ok(self.parser.current()),
            (1, None) => self.waiting.pop().map(|(operand, _)| operand).ok_or(NotParsed::NotArithmetic),
            _ => Err(NotParsed::NotArithmetic),
        }
    }

    /// Applies a verb to the operands that wait for it.
    fn verb(&mut self, op: Op) -> Parsed<Expr> {
        let mut operands = std::mem::take(&mut self.waiting);
        let with = |particle| operands.iter().position(|(_, its)| *its == particle);
        // The left operand: 10 in both 10から3を引く and 4で10を割る.
        let first = match op {
            Op::Sub => with(Particle::From).or_else(|| with(Particle::To)),
            Op::Div => with(Particle::By).and_then(|divisor| (0..operands.len()).find(|at| *at != divisor)),
            Op::Add | Op::Mul | Op::Pow => None,
        };
        let lacks_other = match op {
            Op::Sub => first.is_some(),
            Op::Div => with(Particle::Object).is_some(),
            Op::Add | Op::Mul | Op::Pow => false,
        };
        if let Some(first) = first {
            let first = operands.remove(first);
            operands.insert(0, first);
        }
        let left = match operands.len() {
            0 => return Err(NotParsed::NotArithmetic),
            1 if lacks_other => return Err(NotParsed::NotArithmetic),
            1 => self.parser.current(),
            _ => operands.remove(0).0,
        };
        Ok(operands.into_iter().fold(left, |left, (right, _)| Expr::binary(op, left, right)))
    }

    /// Returns `true` if a sign may follow here: after a result (足して × 4), or at the start (× 4).
    fn hand_or_earlier(&self, op: Op) -> bool {
        self.waiting.is_empty()
            && match self.hand {
                Some(Hand::Result(_)) => true,
                Some(Hand::Operand(_)) => false,
                None => op != Op::Sub && self.parser.has_current(),
            }
    }

    fn resume(&mut self) -> Parsed<()> {
        if let Some(Hand::Result(result) | Hand::Operand(result)) = self.hand.take() {
            self.parser.push(result)?;
        }
        let left = self.parser.current();
        self.parser.go_back_to(self.parser.position() - 1);
        let expr = self.parser.expression_from(left, 1)?;
        self.hand = Some(Hand::Operand(expr));
        Ok(())
    }

    /// Handles a comma: a result is complete, and an operand continues to wait.
    fn pause(&mut self) -> Parsed<()> {
        match self.hand.take() {
            Some(Hand::Result(result)) if self.waiting.is_empty() => self.parser.push(result),
            Some(Hand::Operand(operand) | Hand::Result(operand)) => {
                self.waiting.push((operand, Particle::With));
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn end_sentence(&mut self) -> Parsed<()> {
        let hand = self.hand.take().map(|(Hand::Operand(expr) | Hand::Result(expr))| expr);
        match (hand, self.waiting.pop()) {
            (Some(expr), None) | (None, Some((expr, _))) if self.waiting.is_empty() => self.parser.push(expr),
            (None, None) => Ok(()),
            _ => Err(NotParsed::NotArithmetic),
        }
    }
}
