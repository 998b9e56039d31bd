from local_cloud.emulator.scaling_cooldowns import Cooldowns


def test_a_scale_out_is_computed_from_before_the_last_one_until_that_has_cooled() -> None:
    cooldowns = Cooldowns()
    assert cooldowns.basis_of_scale_out(12, now=0) == 12
    cooldowns.begin(basis=10, after=12, cooled_at=60)
    assert cooldowns.basis_of_scale_out(12, now=59) == 10
    assert cooldowns.basis_of_scale_out(12, now=60) == 12


def test_a_larger_scale_out_keeps_the_basis_of_the_first() -> None:
    cooldowns = Cooldowns()
    cooldowns.begin(basis=10, after=12, cooled_at=60)
    basis = cooldowns.basis_of_scale_out(12, now=30)
    cooldowns.begin(basis, after=basis + 3, cooled_at=90)
    assert cooldowns.basis_of_scale_out(13, now=80) == 10


def test_a_scale_in_waits_for_the_last_one_to_cool() -> None:
    cooldowns = Cooldowns()
    assert cooldowns.may_scale_in(now=0)
    cooldowns.begin(basis=3, after=2, cooled_at=60)
    assert not cooldowns.may_scale_in(now=59)
    assert cooldowns.may_scale_in(now=60)


def test_a_scale_out_ends_the_pause_after_a_scale_in() -> None:
    cooldowns = Cooldowns()
    cooldowns.begin(basis=3, after=2, cooled_at=60)
    cooldowns.begin(basis=2, after=4, cooled_at=90)
    assert cooldowns.may_scale_in(now=30)
