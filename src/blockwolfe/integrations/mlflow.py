"""Runs in MLflow."""

from __future__ import annotations

from typing import Any

from blockwolfe.base.optional import optional
from blockwolfe.integrations.logger import Logger

__all__ = ["MLflowCallback"]


class MLflowCallback(Logger):
    """A callback that logs primal, dual, gap, held-out loss and work to MLflow.

    Parameters
    ----------
    run_id : the MLflow run to log to; by default the active one, which MLflow begins if need be.
    every : log every so many passes; full passes are always logged.

    `log_result(result)` adds the end of the run, which callbacks do not see: its last numbers,
    and status and method as tags. Needs ``pip install 'blockwolfe[mlflow]'`` (or mlflow itself).

    >>> from blockwolfe import MLflowCallback
    >>> MLflowCallback(every=10).every
    10
    """

    def __init__(self, *, run_id: str | None = None, every: int = 1) -> None:
        super().__init__(every)
        self._mlflow()  # refused before any work
        self.run_id = run_id

    def begin(self, options: dict[str, float]) -> None:
        """The strength and the tolerance as parameters, unless the run has them already.

        (MLflow refuses to change a parameter, and one run may hold several fits.)
        """
        client, run = self._client(), self._run()
        known = client.get_run(run).data.params
        for name, value in options.items():
            if name not in known:
                client.log_param(run, name, value)

    def write(self, metrics: dict[str, float], step: int, is_full: bool) -> None:
        """All numbers in one request."""
        self._mlflow().log_metrics(metrics, step=step, run_id=self._run())

    def end(self, texts: dict[str, str]) -> None:
        """Status and method as tags."""
        for name, value in texts.items():
            self._client().set_tag(self._run(), f"blockwolfe.{name}", value)

    def _run(self) -> str:
        if self.run_id is not None:
            return self.run_id
        mlflow = self._mlflow()
        run = mlflow.active_run() or mlflow.start_run()
        return str(run.info.run_id)

    def _client(self) -> Any:
        return self._mlflow().MlflowClient()

    @staticmethod
    def _mlflow() -> Any:
        return optional("mlflow", "mlflow", "To log to MLflow")
