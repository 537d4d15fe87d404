"""What is known of a database, and looking for its files whatever the case of their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path

UNCHANGED = "original"
"""Key of the type of images that equal their reference; also the verdict that is right for them."""


class DatabaseError(ValueError):
    """A folder is not the database, or a list of scores in it cannot be used; the message says what was expected."""


@dataclass(frozen=True)
class DistortionType:
    """A type of distortion of a database.

    Parameters
    ----------
    title : str
        Its name in the database's documentation.
    kind : str, optional
        The kind of ours that is the same; None if there is none, which tables call "outside".

    Examples
    --------
    >>> DistortionType("Gaussian blur", "blur").kind
    'blur'
    """

    title: str
    kind: str | None = None


@dataclass(frozen=True)
class Item:
    """An image of a database.

    Parameters
    ----------
    file, reference : Path
        The image and the one that it was made from.
    distortion : str
        Key in :attr:`Database.distortions`.
    level : int or None
        Strength from 1 on, where the database has levels.
    score : float
        What people said, on the database's own scale.

    Examples
    --------
    >>> Item(Path("images/I01_01_03.png"), Path("images/I01.png"), "01", 3, 4.1).level
    3
    """

    file: Path
    reference: Path
    distortion: str
    level: int | None
    score: float


@dataclass(frozen=True)
class Database:
    """A database: its name, its types of distortion, its scores and how its folder is read.

    Parameters
    ----------
    name : str
        Its name on the command line.
    title : str
        Its name in print.
    source : str
        Who distributes it, and under which conditions.
    score : str
        What its scores are called.
    higher_is_better : bool
        Whether a higher score is a better image.
    distortions : mapping of str to DistortionType
        By the key that file or folder names have.
    layout : str
        What the folder must hold, for messages.
    items : callable
        Takes the folder and lists all images.

    Examples
    --------
    >>> from llise.databases.tid2013 import TID2013
    >>> TID2013.title, len(TID2013.distortions)
    ('TID2013', 24)
    """

    name: str
    title: str
    source: str
    score: str
    higher_is_better: bool
    distortions: Mapping[str, DistortionType]
    layout: str
    items: Callable[[Folder], list[Item]]

    def read(self, path: str | os.PathLike[str]) -> list[Item]:
        """List the images of the database in a folder; whether they can be read is found when they are.

        Parameters
        ----------
        path : str or path
            The folder as its authors distribute it.

        Returns
        -------
        list of Item
            In the order of the database's list of scores.

        Raises
        ------
        DatabaseError
            The folder has another layout, or its list of scores is damaged.
        """
        items = self.items(Folder(Path(path), self.title, self.layout))
        if not items:
            raise DatabaseError(f"{path}: its list of scores names no image; copy the files of {self.title} again")
        return items


class Folder:
    """A folder in which names are found whatever their case, as archives of the same database differ in it.

    Parameters
    ----------
    path : Path
        The folder.
    title : str
        The database, for messages.
    layout : str
        What the database's folder must hold, for messages.

    Examples
    --------
    >>> import tempfile
    >>> root = Path(tempfile.mkdtemp())
    >>> (root / "I01.BMP").touch()
    >>> Folder(root, "TID2013", "reference_images").place("i01.bmp").name
    'I01.BMP'
    """

    def __init__(self, path: Path, title: str, layout: str) -> None:
        self.path, self.title, self.layout = path, title, layout

    @cached_property
    def _names(self) -> dict[str, str]:
        try:
            return {name.casefold(): name for name in sorted(os.listdir(self.path))}
        except OSError as error:
            raise self.error(f"it cannot be read ({error.strerror})") from None

    def error(self, reason: str) -> DatabaseError:
        """Make an error that says what the folder should hold.

        Parameters
        ----------
        reason : str
            What is wrong.

        Returns
        -------
        DatabaseError
            To be raised.
        """
        return DatabaseError(
            f"{self.path}: not {self.title} as it is distributed: {reason}; expected a folder with {self.layout}"
        )

    def has(self, name: str) -> bool:
        """Tell whether the folder holds a name.

        Parameters
        ----------
        name : str
            In any case.

        Returns
        -------
        bool
            Whether there is such a file or folder.
        """
        return name.casefold() in self._names

    def place(self, name: str) -> Path:
        """Find the path of a file by its name in any case.

        Parameters
        ----------
        name : str
            As lists of scores have it.

        Returns
        -------
        Path
            The file as it is spelled here; as it was asked for if there is none, so that reading it tells.
        """
        return self.path / self._names.get(name.casefold(), name)

    def file(self, *names: str) -> Path:
        """Find the first of several files that must be here.

        Parameters
        ----------
        *names : str
            Names in the order of preference.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        DatabaseError
            None of them is here.
        """
        for name in names:
            if self.has(name) and self.place(name).is_file():
                return self.place(name)
        raise self.error(f"there is no file {' or '.join(names)} in it")

    def folder(self, name: str) -> Folder:
        """Find a folder that must be here.

        Parameters
        ----------
        name : str
            In any case.

        Returns
        -------
        Folder
            The folder.

        Raises
        ------
        DatabaseError
            It is not here.
        """
        if not (self.has(name) and self.place(name).is_dir()):
            raise self.error(f"there is no folder {name} in it")
        return Folder(self.place(name), self.title, self.layout)


def text_lines(path: Path) -> list[str]:
    """Read the lines of a text file, with any ends of line.

    Parameters
    ----------
    path : Path
        A list of scores.

    Returns
    -------
    list of str
        The lines without their ends.

    Raises
    ------
    DatabaseError
        It cannot be read.

    Examples
    --------
    >>> text_lines(Path("absent.txt"))
    Traceback (most recent call last):
    llise.databases.layout.DatabaseError: absent.txt: cannot be read (No such file or directory); copy it again
    """
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise DatabaseError(f"{path}: cannot be read ({error.strerror}); copy it again") from None


def as_score(text: object, where: str) -> float:
    """Convert a score to a number.

    Parameters
    ----------
    text : object
        A cell of a list of scores.
    where : str
        File and line, for the message.

    Returns
    -------
    float
        The score.

    Raises
    ------
    DatabaseError
        It is not a finite number.

    Examples
    --------
    >>> as_score("5.5", "mos.txt, line 1")
    5.5
    >>> as_score("five", "mos.txt, line 1")
    Traceback (most recent call last):
    llise.databases.layout.DatabaseError: mos.txt, line 1: the score is 'five'; expected a number; copy the file again
    """
    try:
        score = float(str(text))
    except ValueError:
        score = float("nan")
    if not isfinite(score):
        raise DatabaseError(f"{where}: the score is {text!r}; expected a number; copy the file again")
    return score
