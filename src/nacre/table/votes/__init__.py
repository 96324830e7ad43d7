"""Votes on how a column is written: every value lands in one class of texts, and noisy class counts decide.

The classes are constants: which one a text lands in depends on the text alone, and they are fine enough that a format
writes either all texts of a class or none. Which texts a format writes is not stated anywhere: every class has a sample
text, and the format itself reads and writes it. So the decision needs the counts only, exact or noisy.
"""
