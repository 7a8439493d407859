// Catch2 2 needs main() from somebody; Catch2 3 brings its own.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "catch.hpp"

#if defined(CATCH_CONFIG_RUNNER)
/// A test without an assertion fails: the command line takes one warning, and that is of filters that match nothing.
int main(int n, char** words)
{
    Catch::Session session;
    if (const int status = session.applyCommandLine(n, words)) return status;
    auto& warnings = session.configData().warnings;
    warnings = static_cast<Catch::WarnAbout::What>(warnings | Catch::WarnAbout::NoAssertions);
    return session.run();
}
#endif

#if defined(WENGERT_TESTS_ASAN)
/// Allocations that fail are tested, too.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
#endif
