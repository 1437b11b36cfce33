"""The prior alone, on probabilities from any classifier: one state per key, NumPy only."""

import io
import json
import zipfile
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gotta.errors import GottaError, check_known, one_error
from gotta.files import write_atomically
from gotta.hidden_markov import Floats, HiddenMarkov, PatientMarkov, make_room

PRIORS: dict[str, HiddenMarkov] = {"patient": PatientMarkov(), "sticky": HiddenMarkov()}
FORMAT = 1
OFF = 0.02  # how far from 1 probabilities may add up to: those of half precision do
MOST = 512  # samples at once
Key = int | str | tuple[int | str, ...] | None


@dataclass(frozen=True)
class Explanation:
    """What was said of the last sample of a key: by the network, by the prior, and by the filter."""

    key: Key
    network: Floats  # [C]
    prior: Floats  # [C], what the samples before say of each class beyond what the network always says
    answer: Floats  # [C], their product
    acts: bool  # whether the prior had a say; it has none until classes were seen to stay
    stickiness: float  # how often a class is thought to stay
    samples: int  # of this key so far

    @property
    def changed(self) -> bool:
        return bool(self.network.argmax() != self.answer.argmax())

    def __str__(self) -> str:
        said = f"the network says {_word(self.network)}, the prior says {_word(self.prior)}"
        stays = f"a class stays with probability {self.stickiness:.2f} after {self.samples} samples of this key"
        if not self.acts:
            return f"{_word(self.answer)}: {said}. The prior has no say: nothing shows yet that classes stay ({stays})."
        done = "The prior outweighs the network" if self.changed else "The prior leaves the network's class"
        return f"{_word(self.answer)}: {said}. {done}: {stays}."


class Filter:
    """Follows the classes of many streams (tracks, users, sensors), and corrects each prediction by those before it.

    A call takes probabilities in the order of time, [C] or [B, C], and gives the corrected ones. A class that stays for
    a while makes its next sample more likely; how long it stays is learned for each key. Without runs nothing changes.

    Args:
        classes: How many classes there are.
        prior: `"patient"`, or `"sticky"` for runs of fewer than a hundred samples.
        keys: How many keys are kept. Beyond that the one that was not used for longest is forgotten.

    >>> import gotta
    >>> f = gotta.Filter(classes=3)
    >>> for _ in range(40):
    ...     _ = f([0.9, 0.05, 0.05], key="track 7")
    >>> [int(f([0.3, 0.6, 0.1], key=key).argmax()) for key in ("track 7", "track 8")]
    [0, 1]
    >>> print(str(f.explain("track 7"))[:93])
    0 (0.77): the network says 1 (0.60), the prior says 0 (0.66). The prior outweighs the network
    """

    def __init__(self, classes: int, prior: str = "patient", keys: int = 100_000) -> None:
        check_known("prior", prior, PRIORS)
        for name, value, least in (("classes", classes, 2), ("keys", keys, 1)):
            if type(value) is not int or value < least:
                raise GottaError(f"{name} must be a whole number of at least {least} (got {value!r}).")
        self.classes, self.prior, self.most_keys = classes, prior, keys
        self.lock = RLock()
        self._rule = PRIORS[prior]
        self._sharp = np.array(self._rule.temperatures)
        self._shares = self._rule.shares(classes)
        self._rows: OrderedDict[Key, Floats] = OrderedDict()  # the least recently used first
        count, size = len(self._sharp), len(self._sharp) * classes
        # Last, marginal, stay, evidence, chosen, proof, power, samples; the network's word and the prior's.
        ends = np.cumsum([size, size, count, count, 1, 1, 1, 1, classes, classes])
        self._parts = [slice(end - length, end) for end, length in zip(ends, np.diff(ends, prepend=0), strict=True)]
        self._fresh = np.zeros(ends[-1])
        self._fresh[: 2 * size], self._fresh[self._parts[2]] = 1 / classes, self._rule.start
        # Where calls of one sample compute: the row of a key, its parts, and probabilities at each temperature [T, C].
        self._row_now, self._room = self._fresh.copy(), make_room(count, classes)
        self._softened = np.empty((count, classes))
        self._now = [self._row_now[part].reshape(count, -1) for part in self._parts[:3]]
        self._words = [self._row_now[part] for part in self._parts[8:]]
        self._numbers = self._row_now[self._parts[3].start : self._parts[7].stop]
        self._powers = 1 / self._sharp[:, None]

    def __call__(self, probs: ArrayLike, key: Any = None) -> NDArray[Any]:
        """The corrected probabilities, of the shape and type of those given. Bad input changes nothing.

        `key` says whose samples they are: one for all (a whole number, a text, or a tuple of them), or a list or array
        with one for each row.
        """
        given, kind, single = self._read(probs)
        keys = _read_keys(key, len(given), single)
        with self.lock:
            if len(keys) == 1:
                one = self._follow_one(given[0], keys[0])
                return (one if single else one[None]).astype(kind, copy=False)
            # In parts that stay in the processor's cache.
            parts = [slice(start, start + MOST) for start in range(0, len(given), MOST)]
            answers = [self._follow(given[part], keys[part]) for part in parts]
        answer = answers[0] if len(answers) == 1 else np.concatenate([given[:0], *answers])
        return answer.astype(kind, copy=False)

    def explain(self, key: Any = None) -> Explanation:
        """Why the last prediction of a key is what it is."""
        with self.lock:
            row = self._row(key).copy()
        parts = [row[part] for part in self._parts]
        _, _, stay, _, chosen, _, power, samples, network, factor = parts
        answer = _normalise(network * factor**power)
        acts, stickiness = bool(power), float(stay[int(chosen[0])])
        return Explanation(key, network, _normalise(factor), answer, acts, stickiness, int(samples[0]))

    def forget(self, key: Any = None) -> None:
        """Drop a key that has ended. It begins anew if it comes again."""
        with self.lock:
            self._row(key)
            del self._rows[_read_key(key)]

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: Any) -> bool:
        return _read_key(key) in self._rows

    def __iter__(self) -> Iterator[Key]:
        return iter(list(self._rows))

    def save(self, path: str | Path) -> None:
        """Write all keys into one file, whole or not at all."""
        with self.lock:
            kept = {"classes": self.classes, "prior": self.prior, "keys": self.most_keys}
            about = json.dumps({"format": FORMAT, **kept, "rows": list(self._rows)})
            table = np.array(list(self._rows.values())).reshape(len(self._rows), self._fresh.size)
        content = io.BytesIO()
        np.savez(content, table=table, about=np.frombuffer(about.encode(), np.uint8))
        write_atomically(Path(path), content.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "Filter":
        """Go on where `save` left off."""
        try:
            with zipfile.ZipFile(path) as archive:
                # As it is written: a small file that unpacks to something huge is refused.
                if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                    raise ValueError("it is compressed")
            with np.load(path, allow_pickle=False) as found:
                about, table = json.loads(found["about"].tobytes()), found["table"]
            if about.pop("format") != FORMAT:
                raise ValueError(f"its format is not {FORMAT}: use the gotta version that wrote it")
            keys = [_read_key(tuple(key) if isinstance(key, list) else key) for key in about.pop("rows")]
            made = cls(**about)
            made._put(keys, table)
            return made
        except (OSError, EOFError, zipfile.BadZipFile, ValueError, KeyError, TypeError, AttributeError) as error:
            raise GottaError(f"{path} is not a filter that save() wrote: {error}. Restore it from a copy.") from error

    def __repr__(self) -> str:
        return f"Filter(classes={self.classes}, prior={self.prior!r}, keys={self.most_keys:,}): {len(self):,} keys"

    def _put(self, keys: list[Key], table: Floats) -> None:
        """Take over rows of a file; raises unless they can be what was written."""
        width = self._fresh.shape
        if table.dtype != np.float64 or table.shape != (len(keys), *width) or len({*keys}) != len(keys):
            raise ValueError("keys and rows do not fit together")
        last, marginal, stay, _, chosen, *_ = (table[:, part] for part in self._parts)
        sane = np.isfinite(table).all() and (last >= 0).all() and (marginal > 0).all()
        inside = ((stay >= 0) & (stay < 1)).all() and np.isin(chosen, range(len(self._sharp))).all()
        if not sane or not inside or len(keys) > self.most_keys:
            raise ValueError("its numbers are damaged")
        self._rows = OrderedDict(zip(keys, map(np.copy, table), strict=True))

    def _row(self, key: Any) -> Floats:
        row = self._rows.get(_read_key(key))
        if row is None:
            raise GottaError(f"key {key!r} was not seen, or is forgotten. {len(self._rows):,} keys are kept.")
        return row

    def _read(self, probs: ArrayLike) -> tuple[Floats, np.dtype[Any], bool]:
        """As rows of float64, the type of what was given, and whether it is a single sample [C]."""
        if type(probs) is np.ndarray and probs.dtype.kind == "f":
            found, given = probs, probs.astype(np.float64)
        else:
            with one_error("probabilities must be an array on the CPU"):
                found = np.asarray(probs)
                given = found.astype(np.float64)
        if found.ndim not in (1, 2) or found.shape[-1] != self.classes:
            expected = f"[{self.classes}] or [B, {self.classes}]"
            raise GottaError(f"probabilities of shape {list(found.shape)} do not fit. Expected {expected}.")
        given = given.reshape(-1, self.classes)
        totals = np.add.reduce(given, 1).tolist()
        if not all([abs(total - 1) <= OFF for total in totals]) or (totals and np.minimum.reduce(given, None) < 0):
            raise GottaError("rows must be probabilities that add up to 1, without NaN. Of logits take the softmax.")
        return given, found.dtype if found.dtype.kind == "f" else np.dtype(np.float64), found.ndim == 1

    def _follow_one(self, given: Floats, key: Key) -> Floats:
        """The same for one sample [C], in a third of the time: nothing is gathered, and hardly an array is made."""
        row, rule, numbers, now = self._rows.get(key), self._rule, self._numbers, self._row_now
        last, marginal, stay = self._now
        now[:] = self._fresh if row is None else row
        softened, wide = np.power(given, self._powers, self._softened), self._room[2]
        wide[:] = np.add.reduce(softened, 1, keepdims=True)
        softened /= wide
        factors, totals = rule.advance_in_place(self._shares, last, marginal, stay, softened, self._room)
        *evidence, chosen, proof, _, samples = numbers.tolist()
        chosen = int(chosen)
        factor, power = factors[chosen], rule.temperatures[chosen] if rule.acts(proof) else 0.0
        evidence, after, proof = rule.choose(np.log(totals[:, 0]).tolist(), evidence, chosen, proof)
        numbers[:] = (*evidence, after, proof, power, samples + 1)
        self._words[0][:], self._words[1][:] = given, factor
        if row is None:
            self._write([key], now)
        else:
            row[:] = now
            self._rows.move_to_end(key)
        answer: Floats = given * factor**power
        answer /= np.add.reduce(answer)
        return answer

    def _follow(self, given: Floats, keys: list[Key]) -> Floats:
        """Samples [B, C]: the first of each key together, then the second of each, and so on."""
        places, rounds = _into_rounds(keys)
        alone, together = len(places) == 1, len(places) == len(keys)
        shape: tuple[int, ...] = (-1,) if alone else (len(places), -1)  # arrays of fewer dimensions are quicker
        rows = [self._rows.get(key, self._fresh) for key in places]
        state = (rows[0] if alone else np.array(rows)).reshape(*shape[:-1], self._fresh.size)
        count = len(self._sharp)
        last, marginal, stay = (state[..., part].reshape(*shape[:-1], count, -1) for part in self._parts[:3])
        softened = _normalise(given[:, None, :] ** (1 / self._sharp[:, None]))  # [B, T, C]
        factors, totals = np.empty_like(softened), np.empty((len(given), count, 1))
        everyone = list(range(len(places)))
        for samples, who in rounds:
            part: Any = samples[0] if alone else slice(None) if together else samples
            before = (last, marginal, stay) if who == everyone else (last[who], marginal[who], stay[who])
            factors[part], totals[part], *after = self._rule.advance(self._shares, *before, softened[part])
            if who == everyone:
                last, marginal, stay = after
            else:
                last[who], marginal[who], stay[who] = after
        chosen, powers, weighed = self._choose(state, np.log(totals[:, :, 0]).tolist(), places, keys)
        factor = factors[np.arange(len(given)), chosen]
        last_of: Any = slice(-1, None) if alone else slice(None)  # the last sample of each key, in the order of places
        if not (alone or together):
            last_of = list({key: sample for sample, key in enumerate(keys)}.values())
        words = [words[last_of].reshape(shape) for words in (given, factor)]
        learned = [part.reshape(shape) for part in (last, marginal, stay)]
        self._write(list(places), np.concatenate([*learned, weighed.reshape(shape), *words], -1))
        return _normalise(given * factor ** np.array(powers)[:, None])

    def _choose(
        self, state: Floats, foreseen: list[list[float]], places: dict[Key, int], keys: list[Key]
    ) -> tuple[list[int], list[float], Floats]:
        """Which temperature answers each sample, its power (0: the prior has no say), and the rest of the rows."""
        rule, temperatures, count = self._rule, self._rule.temperatures, len(self._sharp)
        numbers = state[..., self._parts[3].start : self._parts[7].stop].reshape(len(places), -1).tolist()
        known: list[Any] = [(row[:count], int(row[count]), *row[count + 1 :]) for row in numbers]
        answers, powers = [], []
        for key, seen in zip(keys, foreseen, strict=True):
            place = places[key]
            evidence, chosen, proof, _, samples = known[place]
            power = temperatures[chosen] if rule.acts(proof) else 0.0
            answers.append(chosen)
            powers.append(power)
            known[place] = (*rule.choose(seen, evidence, chosen, proof), power, samples + 1)
        return answers, powers, np.array([[*evidence, *rest] for evidence, *rest in known])

    def _write(self, keys: list[Key], state: Floats) -> None:
        """Keep the rows of keys; those that were not used for longest make room.

        Each is written as a whole: an interrupt leaves each key as before or as after.
        """
        kept = keys[-self.most_keys :]
        for key in self._rows.keys() & kept:  # which are not to make room
            self._rows.move_to_end(key)
        for key, row in zip(kept, state.reshape(len(keys), -1)[-len(kept) :], strict=True):
            if key not in self._rows and len(self._rows) >= self.most_keys:
                self._rows.popitem(last=False)
            self._rows[key] = row.copy()
            self._rows.move_to_end(key)


def _normalise(weights: Floats) -> Floats:
    weights /= np.add.reduce(weights, -1, keepdims=True)
    return weights


def _into_rounds(keys: list[Key]) -> tuple[dict[Key, int], list[tuple[list[int], list[int]]]]:
    """The place of each key, and who comes when: in each round the samples, and the places of their keys."""
    places: dict[Key, int] = {}
    turns: dict[Key, int] = {}
    rounds: defaultdict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for sample, key in enumerate(keys):
        turn = turns[key] = turns.get(key, -1) + 1
        samples, who = rounds[turn]
        samples.append(sample)
        who.append(places.setdefault(key, len(places)))
    return places, list(rounds.values())


def _read_keys(key: Any, count: int, single: bool) -> list[Key]:
    key = key.tolist() if hasattr(key, "tolist") else key  # of an array or a tensor
    if not isinstance(key, list):
        return [_read_key(key)] * count
    if single or len(key) != count:
        samples = "one sample" if single else f"{count} samples"
        raise GottaError(f"{len(key)} keys for {samples}. Expected as many, or one.")
    return [_read_key(one) for one in key]


def _read_key(key: Any) -> Key:
    kind = type(key)
    if kind is int or kind is str or key is None:
        return key  # type: ignore[no-any-return]
    if kind is tuple and key and all(type(part) in (int, str) for part in key):
        return key  # type: ignore[no-any-return]
    if isinstance(key, np.generic):
        return _read_key(key.item())
    raise GottaError(f"a key must be a whole number, a text, or a tuple of them (got {key!r:.60}).")


def _word(probs: Floats) -> str:
    return f"{probs.argmax()} ({probs.max():.2f})"
