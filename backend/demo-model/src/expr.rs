//! Expressions, into which questions are parsed, and how answers write them. Nothing here computes.

/// An operation on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
}

impl Op {
    /// Returns the sign between the operands.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Add => " + ",
            Self::Sub => " − ",
            Self::Mul => " × ",
            Self::Div => " ÷ ",
            Self::Pow => "^",
        }
    }

    /// Returns the operator's precedence; higher binds more strongly.
    pub(crate) fn strength(self) -> u8 {
        match self {
            Self::Add | Self::Sub => 1,
            Self::Mul | Self::Div => 2,
            Self::Pow => 4,
        }
    }
}

/// An expression, as the user meant it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    /// A number in JSON's notation, otherwise as it was written.
    Number(String),
    /// The constant π.
    Pi,
    /// A percentage. After a plus or minus, a percentage of the left operand.
    Percent(Box<Expr>),
    /// The operand with the opposite sign.
    Negative(Box<Expr>),
    /// An operation on two operands.
    Binary(Op, Box<Expr>, Box<Expr>),
    /// A function, by the name that `evaluate` uses.
    Call(&'static str, Box<Expr>),
}

impl Expr {
    /// Creates an operation on two operands.
    pub(crate) fn binary(op: Op, left: Expr, right: Expr) -> Self {
        Self::Binary(op, Box::new(left), Box::new(right))
    }

    /// Creates the whole number that a word represents.
    pub(crate) fn whole(number: &str) -> Self {
        Self::Number(number.to_owned())
    }

    /// Returns `true` if there is nothing to compute.
    pub(crate) fn is_bare(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Pi)
    }

    /// Returns the number of parts of the expression.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Number(_) | Self::Pi => 1,
            Self::Percent(inner) | Self::Negative(inner) | Self::Call(_, inner) => 1 + inner.size(),
            Self::Binary(_, left, right) => 1 + left.size() + right.size(),
        }
    }

    /// Returns `true` if the result needs floating point. Squares and cubes are products.
    pub(crate) fn is_floating(&self) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Pi | Self::Call(..) => true,
            Self::Percent(inner) | Self::Negative(inner) => inner.is_floating(),
            Self::Binary(Op::Pow, base, exponent) => exponent.product_of().is_none() || base.is_floating(),
            Self::Binary(_, left, right) => left.is_floating() || right.is_floating(),
        }
    }

    /// Returns the number of factors that this exponent needs if it is 2 or 3; otherwise `None`.
    pub(crate) fn product_of(&self) -> Option<u8> {
        match self {
            Self::Number(text) if text == "2" => Some(2),
            Self::Number(text) if text == "3" => Some(3),
            _ => None,
        }
    }

    fn strength(&self) -> u8 {
        match self {
            Self::Number(text) if text.starts_with('-') => 3,
            Self::Number(_) | Self::Pi | Self::Call(..) | Self::Percent(_) => 5,
            Self::Negative(_) => 3,
            Self::Binary(op, ..) => op.strength(),
        }
    }

    fn write(&self, f: &mut std::fmt::Formatter<'_>, in_parentheses: bool) -> std::fmt::Result {
        if in_parentheses { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

impl std::fmt::Display for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(text) => f.write_str(text),
            Self::Pi => f.write_str("π"),
            Self::Call(name, inner) => write!(f, "{name}({inner})"),
            Self::Percent(inner) => {
                inner.write(f, inner.strength() < 5)?;
                f.write_str("%")
            }
            Self::Negative(inner) => {
                f.write_str("−")?;
                inner.write(f, inner.strength() < 4)
            }
            Self::Binary(op, left, right) => {
                let strength = op.strength();
                // Powers are right-associative, all other operators left-associative. A signed operand inside gets
                // parentheses.
                let (left_needs, right_needs) = match op {
                    Op::Pow => (left.strength() <= strength, right.strength() < strength),
                    _ => (left.strength() < strength, right.strength() <= strength || right.strength() == 3),
                };
                left.write(f, left_needs)?;
                f.write_str(op.sign())?;
                right.write(f, right_needs)
            }
        }
    }
}
