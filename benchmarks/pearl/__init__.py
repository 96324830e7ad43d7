"""PEARL and DP-MERF on tables and images."""
