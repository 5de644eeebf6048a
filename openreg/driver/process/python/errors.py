"""Errors of the contract (openreg.h) that an executor reports."""

from enum import IntEnum


class Error(IntEnum):
    """orError_t."""

    INVALID_VALUE = 1
    MEMORY_ALLOCATION = 2
    INVALID_HANDLE = 4
    ILLEGAL_ADDRESS = 6
    LAUNCH_FAILURE = 7
    TIMED_OUT = 11
    NOT_FOUND = 12
    DRIVER = 17


class Refused(Exception):
    """A request is answered with an error and a text."""

    def __init__(self, error: Error, text: str) -> None:
        """Both go to the host."""
        super().__init__(text)
        self.error = error
