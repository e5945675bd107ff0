"""Tasks: structure x features x loss."""

from typing import TYPE_CHECKING

from blockwolfe.base.lazy import lazily

if TYPE_CHECKING:
    from blockwolfe.tasks.public import *  # noqa: F403
    from blockwolfe.tasks.public import __all__ as __all__
else:
    __getattr__, __dir__ = lazily(__name__, globals())
