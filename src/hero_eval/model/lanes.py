"""A handful of numbers at once in compiled passes: rows of an array as values that processors work on four at a time.

A compiler that sees a loop over a few components writes one instruction for each, since the arrays that it reads and
adds to might overlap. Here a row is a value of its own (`Lanes`): it is read, worked on and written whole. The order of
every sum is written down, so digits do not depend on what the processor can do at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic, models, register_model

_DOUBLE = ir.DoubleType()
_PLACE = ir.IntType(32)


class Lanes(types.Type):
    """Numbers of one row, as compiled code knows them."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(name=f"lanes({size})")


def _widths(size: int) -> list[int]:
    """Fours, then what is left."""
    return [4] * (size // 4) + [width for width in (2, 1) if size & width]


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, of: Lanes) -> None:
        parts = [ir.VectorType(_DOUBLE, width) for width in _widths(of.size)]
        super().__init__(manager, of, ir.LiteralStructType(parts))  # type: ignore[no-untyped-call]


def _parts(builder: Any, value: Any) -> list[Any]:
    return [builder.extract_value(value, number) for number in range(len(value.type.elements))]


def _joined(builder: Any, parts: list[Any]) -> Any:
    whole = ir.Constant(ir.LiteralStructType([part.type for part in parts]), ir.Undefined)
    for number, part in enumerate(parts):
        whole = builder.insert_value(whole, part, number)
    return whole


def _places(context: Any, builder: Any, array_type: Any, array: Any, row: Any, size: int) -> list[Any]:
    """Pointers to the parts of a row of a C-ordered array."""
    data = context.make_array(array_type)(context, builder, array).data
    begin = builder.gep(data, [builder.mul(row, ir.Constant(row.type, size))])
    found, at = [], 0
    for width in _widths(size):
        place = builder.gep(begin, [ir.Constant(row.type, at)])
        found.append(builder.bitcast(place, ir.VectorType(_DOUBLE, width).as_pointer()))
        at += width
    return found


def _operation(define: Callable[..., Any]) -> Any:
    """A function that compiled code can call, defined by the instructions that it stands for."""
    return intrinsic(prefer_literal=True)(define)


@_operation
def load(_context: Any, array: Any, _row: Any, size: Any) -> Any:
    """A row of an array (n, size)."""
    n = size.literal_value

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        places = _places(context, builder, signature.args[0], given[0], given[1], n)
        return _joined(builder, [builder.load(place, align=8) for place in places])

    return Lanes(n)(array, types.intp, size), code


@_operation
def store(_context: Any, array: Any, _row: Any, value: Any) -> Any:
    """Writes a row of an array (n, size)."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        places = _places(context, builder, signature.args[0], given[0], given[1], signature.args[2].size)
        for place, part in zip(places, _parts(builder, given[2]), strict=True):
            builder.store(part, place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), code


@_operation
def add_to(_context: Any, array: Any, _row: Any, value: Any) -> Any:
    """Adds to a row of an array (n, size)."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        places = _places(context, builder, signature.args[0], given[0], given[1], signature.args[2].size)
        before = [builder.load(place, align=8) for place in places]
        for place, old, part in zip(places, before, _parts(builder, given[2]), strict=True):
            builder.store(builder.fadd(old, part), place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), code


@_operation
def times(_context: Any, first: Any, second: Any) -> Any:
    """The products of two rows' numbers."""

    def code(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        both = zip(*(_parts(builder, one) for one in given), strict=True)
        return _joined(builder, [builder.fmul(one, other) for one, other in both])

    return first(first, second), code


@_operation
def scaled(_context: Any, row: Any, _factor: Any) -> Any:
    """A row's numbers, each times the factor."""

    def code(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        out = []
        for part in _parts(builder, given[0]):
            none = ir.Constant(part.type, ir.Undefined)
            one = builder.insert_element(none, given[1], ir.Constant(_PLACE, 0))
            everywhere = ir.Constant(ir.VectorType(_PLACE, part.type.count), [0] * part.type.count)
            out.append(builder.fmul(part, builder.shuffle_vector(one, none, everywhere)))
        return _joined(builder, out)

    return row(row, types.float64), code


@_operation
def total(_context: Any, row: Any) -> Any:
    """The sum of a row's numbers."""

    def code(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        parts = _parts(builder, given[0])
        fours = [part for part in parts if part.type.count == 4]
        if len(fours) > 1:
            whole = fours[0]
            for part in fours[1:]:
                whole = builder.fadd(whole, part)
            parts = [whole, *parts[len(fours) :]]
        sums = [_within(builder, part) for part in parts]
        out = sums[0]
        for one in sums[1:]:
            out = builder.fadd(out, one)
        return out

    return types.float64(row), code


def _within(builder: Any, part: Any) -> Any:
    """The sum of the numbers of one part, by halves."""
    numbers = [builder.extract_element(part, ir.Constant(_PLACE, at)) for at in range(part.type.count)]
    while len(numbers) > 1:
        half = len(numbers) // 2
        numbers = [builder.fadd(numbers[at], numbers[at + half]) for at in range(half)]
    return numbers[0]
