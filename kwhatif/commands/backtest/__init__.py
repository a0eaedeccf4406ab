"""``backtest``: a recording's decisions asked again."""
