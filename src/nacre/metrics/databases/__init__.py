"""Metrics of two databases: tables put together by their keys."""
