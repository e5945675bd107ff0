"""Runs in other tools: callbacks that log to TensorBoard and MLflow."""

from blockwolfe.integrations.mlflow import MLflowCallback
from blockwolfe.integrations.tensorboard import TensorBoardCallback

__all__ = ["MLflowCallback", "TensorBoardCallback"]
