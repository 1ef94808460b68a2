# SPDX-License-Identifier: Apache-2.0
"""The board's clock seen from the host: offset, drift, and how well both are known.

One exchange gives the board's time b between the host times s (sent) and r (received). The board read its clock
somewhere in between, so host − board = (s + r)/2 − b, known to ± (r − s)/2 (Cristian's method). A line through
the exchanges of the last minute, weighted by 1/(r − s)², gives offset and drift.
"""

from collections import deque
from dataclasses import dataclass

WRAP_US = 1 << 32

# Ceramic resonators of Mega clones are within 0.5 %; a greater drift is a fault of the fit.
_DRIFT_LIMIT = 0.01
# What a fitted drift may be wrong by.
_DRIFT_DOUBT = 0.001
# Below this span (s) the round trips' scatter would make more drift than there is.
_DRIFT_SPAN = 3.0
_WINDOW = 60.0
_MEMORY = 128
# Scheduling of either side that no round trip shows, s.
_SLACK = 2e-3


class BoardTime:
    """Unwraps the board's 32-bit microsecond counter into seconds that keep growing."""

    def __init__(self) -> None:
        self._last: int | None = None

    def seconds(self, ticks_us: int) -> float:
        """Return the time in s of a reading; readings may come up to 35 minutes out of order."""
        if self._last is None:
            self._last = ticks_us % WRAP_US
            return self._last * 1e-6
        step = (ticks_us - self._last + WRAP_US // 2) % WRAP_US - WRAP_US // 2
        reading = self._last + step
        self._last = max(self._last, reading)
        return reading * 1e-6


@dataclass(frozen=True)
class _Exchange:
    host: float
    board: float
    round_trip: float

    @property
    def offset(self) -> float:
        return self.host - self.board


class ClockSync:
    """Maps the board's clock to the host's monotonic clock and back. All times are in s."""

    def __init__(self) -> None:
        self._exchanges: deque[_Exchange] = deque(maxlen=_MEMORY)
        self._reference = 0.0
        self._offset = 0.0
        self._latest = float("-inf")
        self.drift = 0.0
        self.steps = 0

    @property
    def synchronised(self) -> bool:
        """True once an exchange is known."""
        return bool(self._exchanges)

    @property
    def uncertainty(self) -> float:
        """Half the shortest round trip in the window, s: the offset is known no better than this by principle."""
        if not self._exchanges:
            return float("inf")
        return min(exchange.round_trip for exchange in self._exchanges) / 2.0

    @property
    def round_trip(self) -> float:
        """Latest round trip in s; nan before the first."""
        return self._exchanges[-1].round_trip if self._exchanges else float("nan")

    @property
    def offset(self) -> float:
        """Host time minus board time at the latest exchange, s; nan before the first."""
        return self._offset_at(self._exchanges[-1].board) if self._exchanges else float("nan")

    def add(self, sent: float, board: float, received: float) -> None:
        """Take one exchange.

        An exchange that cannot be true together with the earlier ones tells that the board's clock has stepped (it
        restarted, or an emulated board was starved): everything older is forgotten.

        Raises:
            ValueError: received before sent.
        """
        round_trip = received - sent
        if round_trip < 0.0:
            raise ValueError(f"clock exchange received {-round_trip:.6f} s before it was sent")
        exchange = _Exchange((sent + received) / 2.0, board, round_trip)
        if self._exchanges and self._contradicts(exchange):
            self._exchanges.clear()
            self.drift = 0.0
            self.steps += 1
        self._exchanges.append(exchange)
        while self._exchanges[0].host < exchange.host - _WINDOW:
            self._exchanges.popleft()
        self._fit()

    def to_host(self, board: float) -> float:
        """Return the host time of a board time. Later calls never return an earlier time than earlier calls did."""
        self._latest = max(self._latest, board + self._offset_at(board))
        return self._latest

    def to_board(self, host: float) -> float:
        """Return the board time of a host time."""
        return self._reference + (host - self._reference - self._offset) / (1.0 + self.drift)

    @property
    def _span(self) -> float:
        return self._exchanges[-1].board - self._exchanges[0].board

    def _contradicts(self, exchange: _Exchange) -> bool:
        """Compare an exchange with the earlier one that bounds its offset best."""
        drift_doubt = _DRIFT_LIMIT
        if self._span >= _DRIFT_SPAN:
            longest = max(earlier.round_trip for earlier in self._exchanges)
            drift_doubt = min(_DRIFT_DOUBT + longest / self._span, _DRIFT_LIMIT)

        def doubt(earlier: _Exchange) -> float:
            return earlier.round_trip / 2.0 + drift_doubt * abs(exchange.board - earlier.board)

        best = min(self._exchanges, key=doubt)
        expected = best.offset + self.drift * (exchange.board - best.board)
        return abs(exchange.offset - expected) > exchange.round_trip / 2.0 + doubt(best) + _SLACK

    def _offset_at(self, board: float) -> float:
        return self._offset + self.drift * (board - self._reference)

    def _fit(self) -> None:
        weights = [1.0 / (exchange.round_trip + 1e-4) ** 2 for exchange in self._exchanges]
        total = sum(weights)
        boards = [exchange.board for exchange in self._exchanges]
        offsets = [exchange.offset for exchange in self._exchanges]
        self._reference = sum(w * b for w, b in zip(weights, boards, strict=True)) / total
        self._offset = sum(w * o for w, o in zip(weights, offsets, strict=True)) / total
        if self._span < _DRIFT_SPAN:
            return
        spread = sum(w * (b - self._reference) ** 2 for w, b in zip(weights, boards, strict=True))
        slope = sum(
            w * (b - self._reference) * (o - self._offset) for w, b, o in zip(weights, boards, offsets, strict=True)
        )
        self.drift = min(max(slope / spread, -_DRIFT_LIMIT), _DRIFT_LIMIT)


class StreamClock:
    """Board times of one stream of setpoints: continuous even when the estimate of the offset is corrected.

    A setpoint that jumped back in the board's time would make the arm step; the correction is therefore spread over
    the stream, at most `slew` of the time that passes.
    """

    def __init__(self, sync: ClockSync, pause: float = 0.5, slew: float = 0.04) -> None:
        self._sync = sync
        self._pause = pause
        self._slew = slew
        self._host: float | None = None
        self._board = 0.0
        self.rate = 1.0

    def to_board(self, host: float) -> float:
        """Return the board time of a setpoint's host time; after more than `pause` s a new stream begins.

        `rate` is then the board time that has passed for each s of the host's: velocities are to be divided by it.
        """
        wanted = self._sync.to_board(host)
        if self._host is None or not 0.0 <= host - self._host <= self._pause:
            self._host, self._board, self.rate = host, wanted, 1.0
            return wanted
        passed = host - self._host
        correction = wanted - (self._board + passed)
        limit = self._slew * passed
        step = passed + min(max(correction, -limit), limit)
        self.rate = step / passed if passed > 0.0 else 1.0
        self._host = host
        self._board += step
        return self._board

    def restart(self) -> None:
        """Forget the stream; the next setpoint begins a new one."""
        self._host = None
