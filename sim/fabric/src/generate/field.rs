//! Arithmetic in the finite field with Q = P^N elements.
//!
//! Elements are numbers from 0 to Q - 1, whose base-P digits are the coefficients of a polynomial
//! over the prime field.

/// The field with P^N elements, as logarithm tables.
#[derive(Debug)]
pub(super) struct FiniteField {
    p: usize,
    q: usize,
    /// Powers 0 to Q - 2 of the primitive element.
    powers: Vec<usize>,
    /// Logarithm of each element; 0 for the element 0, which has none.
    logs: Vec<usize>,
}

impl FiniteField {
    /// Creates the field; `None` if the size is not a prime power.
    pub(super) fn new(q: usize) -> Option<Self> {
        let p = prime_base(q)?;
        let degree = (1..).find(|n| p.checked_pow(*n).is_none_or(|all| all >= q))?;
        // A monic polynomial X^N + r(X) for which an element generates all other non-zero elements
        // is irreducible, and that element is primitive.
        (0..q).find_map(|rest| {
            (1..q).find_map(|generator| Self::generated(p, q, degree, rest, generator))
        })
    }

    fn generated(p: usize, q: usize, degree: u32, rest: usize, generator: usize) -> Option<Self> {
        let mut powers = Vec::with_capacity(q - 1);
        let mut logs = vec![0; q];
        let mut seen = vec![false; q];
        let mut at = 1;
        for exponent in 0..q - 1 {
            if at == 0 || seen[at] {
                return None;
            }
            seen[at] = true;
            powers.push(at);
            logs[at] = exponent;
            at = multiply(p, q, degree, rest, at, generator);
        }
        (at == 1).then_some(Self { p, q, powers, logs })
    }

    /// A power of the primitive element.
    pub(super) fn power(&self, exponent: usize) -> usize {
        self.powers[exponent % (self.q - 1)]
    }

    pub(super) fn add(&self, a: usize, b: usize) -> usize {
        digitwise(self.p, a, b, |x, y| x + y)
    }

    pub(super) fn mul(&self, a: usize, b: usize) -> usize {
        if a == 0 || b == 0 {
            0
        } else {
            self.power(self.logs[a] + self.logs[b])
        }
    }
}

/// The prime of which a number is a power.
pub(super) fn prime_base(q: usize) -> Option<usize> {
    let p = (2..=q).find(|d| q.is_multiple_of(*d))?;
    let mut left = q;
    while left.is_multiple_of(p) {
        left /= p;
    }
    (left == 1).then_some(p)
}

fn digitwise(p: usize, mut a: usize, mut b: usize, f: impl Fn(usize, usize) -> usize) -> usize {
    let mut all = 0;
    let mut place = 1;
    while a > 0 || b > 0 {
        all += f(a % p, b % p) % p * place;
        (a, b, place) = (a / p, b / p, place * p);
    }
    all
}

/// Product of polynomials, with X^N = -rest(X).
fn multiply(p: usize, q: usize, degree: u32, rest: usize, a: usize, b: usize) -> usize {
    if degree == 1 {
        return a * b % p;
    }
    let minus_rest = digitwise(p, 0, rest, |x, y| x + p - y);
    let mut all = 0;
    // Horner's rule, from the highest coefficient of b.
    for place in (0..degree).rev() {
        let carry = all / (q / p);
        all = all % (q / p) * p;
        all = digitwise(p, all, scaled(p, minus_rest, carry), |x, y| x + y);
        let digit = b / p.pow(place) % p;
        all = digitwise(p, all, scaled(p, a, digit), |x, y| x + y);
    }
    all
}

fn scaled(p: usize, a: usize, by: usize) -> usize {
    digitwise(p, a, 0, |x, _| x * by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_axioms_hold() {
        for q in [2, 3, 4, 5, 7, 8, 9, 11, 16, 25, 27] {
            let f = FiniteField::new(q).unwrap();
            for a in 0..q {
                assert!((0..q).any(|b| f.add(a, b) == 0), "{q}: -{a}");
                assert_eq!(f.mul(a, 1), a);
                // Multiplication by a non-zero element is injective.
                let mut products: Vec<_> = (0..q).map(|b| f.mul(a, b)).collect();
                products.sort_unstable();
                products.dedup();
                assert_eq!(products.len(), if a == 0 { 1 } else { q }, "{q}: {a}");
                for b in 0..q {
                    assert_eq!(f.mul(a, b), f.mul(b, a));
                    for c in 0..q {
                        let (left, right) =
                            (f.mul(a, f.add(b, c)), f.add(f.mul(a, b), f.mul(a, c)));
                        assert_eq!(left, right, "{q}: {a} * ({b} + {c})");
                    }
                }
            }
        }
    }

    #[test]
    fn sizes_other_than_prime_powers_are_rejected() {
        for q in [0, 1, 6, 10, 12, 15, 36] {
            assert!(FiniteField::new(q).is_none(), "{q}");
        }
    }
}
