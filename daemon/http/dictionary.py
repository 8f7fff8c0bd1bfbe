"""The user's words, as both interfaces change them: in their file, and read by all speakers at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

from fastapi import HTTPException

from daemon.dictionary_file import edit_dictionary
from daemon.http.context import Context
from engine import Dictionary, DictionaryError, Word, load_dictionary
from engine.text.dictionary import parse_dictionary


async def words_of(context: Context) -> tuple[Word, ...]:
    """The words of the file; none without one.

    Raises:
        HTTPException: the file has mistakes.
    """
    path = context.backend.dictionary()
    return () if path is None else (await asyncio.to_thread(_load, path)).words


async def edit(context: Context, change: Callable[[str, str], str]) -> None:
    """Change the dictionary's file and read it at once; what cannot be compiled or written changes nothing."""
    path = context.backend.dictionary()
    if path is None:
        detail = "no dictionary is configured; add the line dictionary: dictionary.yaml to the configuration"
        raise HTTPException(HTTPStatus.CONFLICT, detail)
    tts = context.backend.tts

    def use(text: str) -> str:
        changed = change(text, path.name)
        tts.use_dictionary(parse_dictionary(changed, path.name))
        return changed

    def work() -> None:
        try:
            edit_dictionary(path, use, create=True)
        except OSError:
            tts.use_dictionary(load_dictionary(path) if path.exists() else None)
            raise

    async with context.work.editing:
        try:
            await asyncio.to_thread(work)
        except DictionaryError as error:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, _without_folder(str(error), path)) from error
        except OSError as error:
            detail = f"the dictionary {path.name} cannot be written: {error.strerror}"
            raise HTTPException(HTTPStatus.CONFLICT, detail) from error


def _load(path: Path) -> Dictionary:
    if not path.exists():
        return Dictionary()
    try:
        return load_dictionary(path)
    except DictionaryError as error:
        raise HTTPException(HTTPStatus.CONFLICT, _without_folder(str(error), path)) from error


def _without_folder(message: str, path: Path) -> str:
    return message.replace(str(path), path.name)
