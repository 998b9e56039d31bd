"""What fits on a shared endpoint: greedy packing against every possible one."""

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from llm_hosting.resolution.packing import Packing, Room, Tenant

ROOM = Room(accelerators=4, cpu_cores=48, memory_in_mb=196_608)
SIZES = (1, 2, 4)  # accelerators of a copy


def need(accelerators: int, cores: int = 0, memory: int = 1024) -> Room:
    return Room(accelerators, cores, memory)


def packing(tenants: dict[str, Tenant], instances: int, room: Room = ROOM) -> Packing:
    return Packing(room, instances, tenants)


def demand_room(packing: Packing, placed: list[Counter[str]], copies: dict[str, int]) -> None:
    """Every copy stands on an instance, and no instance holds more than it has."""
    assert sum(placed, Counter()) == Counter(copies)
    assert len(placed) <= packing.instances
    for on_one in placed:
        for part in range(len(packing.room)):
            taken = sum(many * packing.tenants[name].need[part] for name, many in on_one.items())
            assert taken <= packing.room[part]


def can_be_placed(sizes: tuple[int, ...], instances: int, has: int) -> bool:
    """Try every way to place copies of these sizes."""

    @cache
    def place(left: tuple[int, ...], free: tuple[int, ...]) -> bool:
        if not left:
            return True
        return any(
            place(left[1:], tuple(sorted((*free[:number], space - left[0], *free[number + 1 :]))))
            for number, space in enumerate(free)
            if space >= left[0]
        )

    return place(sizes, (has,) * instances)


def test_what_is_accepted_can_be_placed() -> None:
    choice = random.Random(7)
    accepted = 0
    for _ in range(2000):
        tenants = {
            name: Tenant(need(choice.choice(SIZES), choice.randint(0, 30), choice.randint(512, 120_000)), least, most)
            for name in "abcd"[: choice.randint(1, 4)]
            for least in [choice.randint(1, 3)]
            for most in [least + choice.randint(0, 2)]
        }
        made = packing(tenants, choice.randint(1, 4))
        for placed, copies in (
            (made.at_first(), {name: each.least for name, each in tenants.items()}),
            (made.at_most(), {name: each.most for name, each in tenants.items()}),
        ):
            if placed is not None:
                accepted += 1
                demand_room(made, placed, copies)
    assert accepted > 500


@pytest.mark.parametrize("instances", [1, 2, 3])
def test_accelerators_are_refused_only_if_no_order_places_them(instances: int) -> None:
    for counts in product(range(4), repeat=len(SIZES)):
        tenants = {f"m{size}": Tenant(need(size), many, many) for size, many in zip(SIZES, counts, strict=True) if many}
        sizes = tuple(size for size, many in zip(SIZES, counts, strict=True) for _ in range(many))
        fits = packing(tenants, instances).at_first() is not None
        assert fits == can_be_placed(sizes, instances, ROOM.accelerators), (sizes, instances)


@pytest.mark.parametrize(
    ("tenants", "needed"),
    [
        ({"chat": Tenant(need(4), 1, 1)}, 1),
        ({"chat": Tenant(need(1), 2, 2), "code": Tenant(need(4), 1, 1)}, 2),
        ({"chat": Tenant(need(3), 3, 3)}, 3),  # three quarters of an instance each
        ({"chat": Tenant(need(1, memory=150_000), 2, 2)}, 2),  # the memory of the host decides
        ({"chat": Tenant(need(0, cores=25), 2, 2)}, 2),
        ({"chat": Tenant(need(5), 1, 1)}, None),
    ],
)
def test_the_number_of_instances_that_the_copies_need(tenants: dict[str, Tenant], needed: int | None) -> None:
    made = packing(tenants, 1)
    assert made.instances_needed == needed
    if needed:
        assert replace(made, instances=needed).at_first() is not None


def test_a_large_copy_may_find_no_room_after_small_ones_although_all_would_fit() -> None:
    made = packing({"chat": Tenant(need(1), 2, 2), "code": Tenant(need(4), 1, 1)}, 2)
    assert made.at_first() == [Counter(code=1), Counter(chat=2)]
    assert made.at_most() is None
