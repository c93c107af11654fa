"""Questions asked of finished runs: a package each, data in, result out."""
