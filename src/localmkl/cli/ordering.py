"""From the options of ``fit``, ``tune`` and ``compare`` to what is to be trained: an `Order`.

What is wrong with options is said before files are read, and with files before heavy imports.
"""

from dataclasses import fields

from localmkl._spelling import meant
from localmkl.cli.files import GRAMS, Asked, check_labelled, is_large, kind_of, read_labelled
from localmkl.cli.joining import are_views, named_files, read_joined
from localmkl.cli.options import SEARCHED
from localmkl.cli.voice import Misuse, check_device_option
from localmkl.cli.words import CLUSTERINGS, METHODS, check_loss_options, parse_grids, parse_losses

ALSO = ("hlmkl", "lmkl", "one")
"""Methods that are compared when asked for."""
PICTURES = (".png", ".svg")
"""Endings of pictures."""


def order_of(given, voice):
    """Return what the options of a command ask to be trained; what is wrong is said before heavy imports."""
    data, positive, negative, method = (given[name] for name in ("data", "positive", "negative", "method"))
    if method not in METHODS:
        raise Misuse(f"--method must be one of {', '.join(METHODS)}, got {method!r}{meant(method, METHODS)}")
    if data and (positive is not None or negative is not None):
        raise Misuse("DATA does not go with --positive and --negative: give one file, or these two.")
    if not data and (positive is None or negative is None):
        raise Misuse("Name a file of training rows, DATA, or two FASTA files by --positive and --negative.")
    _check_rank(given)
    _check_words(given)
    _check_device(given["device"], method)
    grids = _grids(given)
    asked = Asked(**{each.name: given[each.name] for each in fields(Asked) if each.name in given})
    content = _training_content(data or [positive], asked, given, voice)
    for said in content.notes:
        voice.note(said)
    from localmkl.cli.train import Order

    others = {each.name: given[each.name] for each in fields(Order) if each.name in given}
    return Order(content=content, asked=asked, grids=grids, **others)


def check_also(text):
    """Return the methods that are compared beside the usual three; raise if there is another."""
    words = [] if text is None else [word.strip() for word in text.split(",")]
    for word in words:
        if word not in ALSO:
            known = f"{', '.join(ALSO[:-1])} or {ALSO[-1]}"
            raise Misuse(f"--also must be {known}, or some of them, got {word!r}{meant(word, ALSO)}")
    return [name for name in ALSO if name in words]


def check_figure(path):
    """Raise if a picture has no ending that says its kind."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise Misuse(f"--figure must end in {' or '.join(PICTURES)}, got {str(path)!r}.")


def _check_rank(given):
    """Raise if options on features do not belong together; files may take long to read."""
    if given["rank"] is not None and given["method"] == "lmkl":
        raise Misuse("--rank is not for the method lmkl, which needs Grams; choose another, or leave it out.")
    if given["rank"] is None and given["exact_gap"]:
        raise Misuse("--exact-gap is for --rank: without it a model's gap is that of the exact problem.")
    if given["rank"] is None and given["keep_features"]:
        raise Misuse("--keep-features is for --rank.")


def _check_device(device, method):
    """Raise if a device is not there, before files are read."""
    check_device_option(device)
    if device != "cpu" and method == "lmkl":
        raise Misuse(f"--device must be cpu for the method lmkl, got {device!r}.")


def _check_words(given):
    """Raise if an option has a word that it does not know."""
    words = {"impute": ("median", "mean"), "missing": ("rescale", "zero"), "clustering": CLUSTERINGS}
    for name, known in words.items():
        if given[name] is not None and given[name] not in known:
            told = f"{', '.join(known[:-1])} or {known[-1]}"
            raise Misuse(f"--{name} must be {told}, got {given[name]!r}{meant(given[name], known)}")


def _training_content(data, asked, given, voice):
    """Return the rows to train on; of a large file, for which a rank was given, a sample of them."""
    files = named_files(data)
    if are_views(files):
        return read_joined(files, asked, labelled=True)
    (path,) = files.values()
    if given["missing"] is not None:
        raise Misuse("--missing is for several files, got one.")
    if given["rank"] is None or not (is_large(path) or is_large(asked.negative)):
        try:
            return read_labelled(path, asked)
        except MemoryError as error:
            if given["rank"] is not None or kind_of(path) == GRAMS:
                raise
            raise MemoryError(
                f"{str(error).rstrip('.')}, or give --rank 200 to read it in pieces."
            ) from error
    check_labelled(path, asked)
    from localmkl.cli.pieces import survey

    return survey(path, asked, size=given["rank"], seed=given["seed"], voice=voice)


def _grids(given):
    """Return the values of each parameter that a search may vary, a list, as far as options name it."""
    grids = parse_grids({name: given[option] for name, option in SEARCHED.items()})
    if given["loss"] is not None:
        grids["loss"] = parse_losses(given["loss"], regression=given["regression"])
    if given["regression"]:
        check_loss_options(grids)
    return grids
