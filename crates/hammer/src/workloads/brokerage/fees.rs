//! Types of trades, and what a trade costs: charge, commission, tax and settlement, each rounded once, half up.

/// A type of trade, in the order of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TradeType {
    /// Limit buy.
    LimitBuy,
    /// Limit sell.
    LimitSell,
    /// Market buy.
    MarketBuy,
    /// Market sell.
    MarketSell,
    /// Stop loss, a sell.
    StopLoss,
}

/// All types, by their identifiers.
pub const TRADE_TYPES: [(TradeType, &str, &str); 5] = [
    (TradeType::LimitBuy, "TLB", "Limit Buy"),
    (TradeType::LimitSell, "TLS", "Limit Sell"),
    (TradeType::MarketBuy, "TMB", "Market Buy"),
    (TradeType::MarketSell, "TMS", "Market Sell"),
    (TradeType::StopLoss, "TSL", "Stop Loss"),
];

/// Up to which quantity each of the commission rates is; the first begins at 0.
pub const QUANTITY_RANGES: [u32; 4] = [150, 300, 600, 999_999];

/// Quantities of trades, each as often.
pub const QUANTITIES: [u32; 4] = [100, 200, 400, 800];

impl TradeType {
    /// The type of a share of 100: 30 market buys, 30 market sells, 20 limit buys, 10 limit sells, 10 stop losses.
    pub fn of_percent(percent: u32) -> Self {
        match percent {
            0..30 => TradeType::MarketBuy,
            30..60 => TradeType::MarketSell,
            60..80 => TradeType::LimitBuy,
            80..90 => TradeType::LimitSell,
            _ => TradeType::StopLoss,
        }
    }

    /// Its identifier.
    pub fn id(self) -> &'static str {
        TRADE_TYPES[self as usize].1
    }

    /// Whether it sells.
    pub fn is_sell(self) -> bool {
        !matches!(self, TradeType::LimitBuy | TradeType::MarketBuy)
    }

    /// Whether it is done at once.
    pub fn is_market(self) -> bool {
        matches!(self, TradeType::MarketBuy | TradeType::MarketSell)
    }

    /// Whether it waits for a price that is at least its limit.
    pub fn waits_for_rise(self) -> bool {
        self == TradeType::LimitSell
    }
}

/// Charge of a type for a tier, hundredths.
pub fn charge_cents(kind: TradeType, tier: u8) -> i64 {
    150 + 50 * kind as i64 + 100 * i64::from(3 - tier)
}

/// Commission rate, hundredths of a per cent; `range` is one of the quantity ranges.
pub fn commission_rate(tier: u8, kind: TradeType, exchange: u64, range: usize) -> i64 {
    40 + 2 * kind as i64 + exchange as i64 - 5 * range as i64 - 4 * i64::from(tier)
}

/// Commission of a trade, hundredths.
pub fn commission_cents(rate: i64, quantity: i64, price_cents: i64) -> i64 {
    round_half_up(rate * quantity * price_cents, 10_000)
}

/// Tax on a gain, hundredths; `rate` in ten-thousandths.
pub fn tax_cents(gain_cents: i64, rate: i64) -> i64 {
    round_half_up(gain_cents.max(0) * rate, 10_000)
}

fn round_half_up(value: i64, parts: i64) -> i64 {
    (2 * value + parts) / (2 * parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a cent is a cent, less is none.
    #[test]
    fn amounts_are_rounded_half_up() {
        assert_eq!(
            [0, 1, 1, 2],
            [49, 50, 149, 150].map(|value| round_half_up(value, 100))
        );
        assert_eq!(0, tax_cents(-5_000, 3_000));
    }

    /// Types lie in the order of their numbers, every rate is positive, and the shares are those of the mix.
    #[test]
    fn types_and_rates_are_as_printed() {
        for (number, (kind, id, _)) in TRADE_TYPES.iter().enumerate() {
            assert_eq!((number, *id), (*kind as usize, kind.id()));
            assert!(commission_rate(3, *kind, 0, 3) > 0);
        }
        let all: Vec<TradeType> = (0..100).map(TradeType::of_percent).collect();
        let share = |wanted| all.iter().filter(|kind| **kind == wanted).count();
        assert_eq!(
            [20, 10, 30, 30, 10],
            TRADE_TYPES.map(|(kind, ..)| share(kind))
        );
    }
}
