// Carries the precompiled header that the test groups share.
