"""``backtest``: the decisions of a recording are made again and compared."""
