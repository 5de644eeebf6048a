"""Tests of the guide: its pages, its directives, and that what it shows is real."""
