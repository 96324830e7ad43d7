"""Is it private: attacks on releases. What they find is computed on private rows and is for the owner alone."""
