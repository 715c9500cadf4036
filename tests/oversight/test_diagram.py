"""The picture of a state machine: every stage once, every way, nothing on another."""

from hypothesis import given, settings
from hypothesis import strategies as st

from oversight.presentation.diagram import HEIGHT, WIDTH, draw

PLACES = st.integers(0, 7)
WAYS = st.lists(st.tuples(PLACES, PLACES), min_size=1, max_size=16, unique=True)


def machine(ways: list[tuple[int, int]]) -> dict[str, list[str]]:
    stages: dict[str, list[str]] = {f"s{n}": [] for way in ways for n in way}
    for stage, to in ways:
        stages[f"s{stage}"].append(f"s{to}")
    return stages


@settings(deadline=None, max_examples=60)
@given(WAYS.map(machine), st.booleans())
def test_every_stage_stands_alone_and_every_way_is_drawn(
    stages: dict[str, list[str]], down: bool
) -> None:
    picture = draw(stages, down=down)
    assert picture is not None
    assert sorted(node.name for node in picture.nodes) == sorted(stages)
    assert len(picture.lines) == sum(map(len, stages.values()))
    for node in picture.nodes:
        assert node.x + WIDTH < picture.width
        assert node.y + HEIGHT < picture.height
        for other in picture.nodes:
            apart = abs(node.x - other.x) >= WIDTH or abs(node.y - other.y) >= HEIGHT
            assert apart or node is other
    assert draw(stages, down=down) == picture


def test_stages_stand_in_the_order_in_which_they_are_reached() -> None:
    picture = draw(
        {"done": [], "open": ["paid", "done"], "paid": ["done", "open"]},
        initial="open",
        current="paid",
    )
    assert picture is not None
    places = sorted(picture.nodes, key=lambda node: node.x)
    assert [node.name for node in places] == ["open", "paid", "done"]
    assert [node.initial for node in places] == [True, False, False]
    assert [node.current for node in places] == [False, True, False]
    assert sum(line.back for line in picture.lines) == 1


def test_without_stages_there_is_no_picture() -> None:
    assert draw({}) is None


def test_where_there_is_no_room_to_the_right_steps_lead_down() -> None:
    stages = {f"s{n}": [f"s{n + 1}"] for n in range(8)} | {"s8": ["s0"]}
    across, down = draw(stages), draw(stages, down=True)
    assert across is not None
    assert down is not None
    assert across.wide
    assert down.width < 300
    assert len({node.x for node in down.nodes}) == 1
    assert [node.y for node in down.nodes] == sorted(node.y for node in down.nodes)
    assert sum(line.back for line in down.lines) == 1
