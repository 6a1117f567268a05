"""What is fetched from the hub; whatever goes wrong on the way becomes one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import constants, get_session, hf_hub_download, snapshot_download
from huggingface_hub import errors as hub

from specviz.models.base import InputError

# The HTTP library behind the hub client changes from version to version; this is its base error.
HTTP_ERROR: type[BaseException] = hub.HfHubHTTPError.__mro__[1]


def snapshot(repo: str, files: Sequence[str], revision: str, offline: bool) -> Path:
    """The local folder of one revision with those of its ``files`` (patterns) that there are."""
    with _reached(repo):
        return Path(
            snapshot_download(
                repo, revision=revision, local_files_only=offline, allow_patterns=list(files)
            )
        )


def hub_config(repo: str) -> tuple[Path, bool]:
    """The local copy of a hub model's config.json, and whether the hub was out of reach for it."""
    with _reached(repo):
        # The hub client would retry for half a minute before it says that there is no network.
        offline = not _hub_answers()
        return Path(hf_hub_download(repo, "config.json", local_files_only=offline)), offline


@contextmanager
def _reached(repo: str) -> Iterator[None]:
    """What goes wrong on the way to the hub as InputError."""
    try:
        yield
    except hub.GatedRepoError as error:
        raise InputError(
            f"{repo} is gated: accept its licence on the hub and log in with `hf auth login`."
        ) from error
    except (hub.RepositoryNotFoundError, hub.HFValidationError) as error:
        raise InputError(
            f"The hub has no public model {repo}: check the spelling or log in with "
            "`hf auth login`."
        ) from error
    except hub.RemoteEntryNotFoundError as error:
        raise InputError(f"{repo} has no config.json: choose a transformers model.") from error
    except (hub.LocalEntryNotFoundError, HTTP_ERROR, OSError) as error:
        raise InputError(
            f"The hub cannot be reached to get {repo}: check the network, or give a local folder."
        ) from error


def _hub_answers() -> bool:
    if constants.HF_HUB_OFFLINE:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=10)
    except (HTTP_ERROR, OSError):
        return False
    return True
