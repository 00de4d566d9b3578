"""Progress bars of commands."""

from imprint.cli.progress import show_progress


def test_a_bar_shows_its_label_and_count_on_standard_error(capsys):
    with show_progress("Counting sheep") as progress:
        progress(1, 3)
        progress(3, 3)
    printed = capsys.readouterr()
    assert "Counting sheep" in printed.err
    assert "3/3" in printed.err
    assert printed.out == ""
