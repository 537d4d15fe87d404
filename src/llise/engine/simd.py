"""Four float64 as one value of a compiled kernel.

LLVM vectorises long loops by itself, but not loops of four, and a block's coordinates are rows of four.  A ``Four``
is LLVM's ``<4 x double>``: it is loaded and stored, added, subtracted, and multiplied by another or by a number.  Where
registers are narrower LLVM splits it, so that it runs on every CPU.

This file uses parts of Numba and llvmlite that are not part of their stable interface (``numba.core`` and
``llvmlite.ir``).  It holds for Numba 0.60 to 0.68 (``tests/test_numba.py`` checks the installed version).
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

_VECTOR = ir.VectorType(ir.DoubleType(), 4)
_FLAGS = ("contract",)  # a product and a sum may become one instruction


class _FourType(types.Type):
    """Numba's type of a Four."""

    def __init__(self) -> None:
        super().__init__(name="Four")


four = _FourType()


@register_model(_FourType)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager: Any, of: _FourType) -> None:
        super().__init__(manager, of, _VECTOR)


@intrinsic
def load(typingctx, array, i, j):
    """The four values from array[i, j] on, or of array[i, j, :]; no index is negative."""

    def codegen(context, builder, call, args):
        return builder.load(_address(context, builder, call.args[:3], args[:3]), align=8)

    return signature(four, array, i, j), codegen


@intrinsic
def store(typingctx, array, i, j, value):
    """Put four values where :func:`load` finds them."""

    def codegen(context, builder, call, args):
        builder.store(args[3], _address(context, builder, call.args[:3], args[:3]), align=8)
        return context.get_dummy_value()

    return signature(types.void, array, i, j, four), codegen


@intrinsic
def spread(typingctx, number):
    """A number four times."""

    def codegen(context, builder, call, args):
        return _spread(builder, args[0])

    return signature(four, types.float64), codegen


@intrinsic
def total(typingctx, values):
    """The sum of the four."""

    def codegen(context, builder, call, args):
        low, high = (builder.shuffle_vector(args[0], args[0], _mask(part)) for part in ((0, 1), (2, 3)))
        pair = builder.fadd(low, high)
        return builder.fadd(*(builder.extract_element(pair, ir.Constant(ir.IntType(32), i)) for i in (0, 1)))

    return signature(types.float64, four), codegen


def _address(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    array = context.make_array(kinds[0])(context, builder, args[0])
    index = [context.cast(builder, v, kind, types.intp) for kind, v in zip(kinds[1:], args[1:])]
    index += [context.get_constant(types.intp, 0)] * (kinds[0].ndim - len(index))
    item = cgutils.get_item_pointer(context, builder, kinds[0], array, index, wraparound=False)
    return builder.bitcast(item, _VECTOR.as_pointer())


def _spread(builder: Any, number: Any) -> Any:
    empty = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, empty, _mask((0, 0, 0, 0)))


def _mask(places: tuple[int, ...]) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))


def _define(function: Any, instruction: str) -> None:
    """``function`` of two Fours, or of a Four and a number, by LLVM's ``instruction``."""

    @infer_global(function)
    class Template(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 2 and four in args and all(a == four or isinstance(a, types.Float) for a in args):
                return signature(four, *(a if a == four else types.float64 for a in args))
            return None

    def lower(context, builder, call, args):
        x, y = (v if kind == four else _spread(builder, v) for kind, v in zip(call.args, args))
        return getattr(builder, instruction)(x, y, flags=_FLAGS)

    for left, right in ((_FourType, _FourType), (_FourType, types.Float), (types.Float, _FourType)):
        lower_builtin(function, left, right)(lower)


for _function, _instruction in (
    (operator.add, "fadd"),
    (operator.iadd, "fadd"),
    (operator.sub, "fsub"),
    (operator.isub, "fsub"),
    (operator.mul, "fmul"),
):
    _define(_function, _instruction)
