// Compiles the precompiled header once for all libraries.
