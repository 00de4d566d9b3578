"""The export key file is created once, never replaced, and readable only by its owner."""

import stat

import pytest

from imprint.adapters.archives.backup_files import NoKey, load_seed


def draw(size):
    return bytes(range(size))


def test_a_key_is_created_on_first_use_and_then_reused(tmp_path):
    path = tmp_path / "export.key"
    assert load_seed(path, 32, draw) == draw(32)
    assert load_seed(path, 32, bytes) == draw(32)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["export.key"]


def test_the_second_of_two_processes_uses_the_key_created_by_the_first(tmp_path):
    path = tmp_path / "export.key"

    def draw_late(size):
        load_seed(path, 32, draw)
        return bytes(size)

    assert load_seed(path, 32, draw_late) == draw(32)


@pytest.mark.parametrize("text", ["", "12", "key", "zz" * 32, "12" * 33])
def test_a_file_without_a_valid_key_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "export.key"
    path.write_text(text)
    with pytest.raises(NoKey):
        load_seed(path, 32, draw)
    assert path.read_text() == text


def test_an_unwritable_folder_is_refused(tmp_path):
    with pytest.raises(NoKey):
        load_seed(tmp_path / "missing" / "export.key", 32, draw)
