"""Classifiers with the interface of scikit-learn and a certificate of what their training promises."""
