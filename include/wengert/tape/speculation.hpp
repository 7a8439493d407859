// Running a loop's functions for what they record, not for what they compute.
#pragma once

#include "tape.hpp"

namespace wengert::detail {

/// While it lives, loops and branches compute nothing and the host is not called: what is traced is an example whose values
/// nobody reads, and a loop might not end on them.
class Speculation {
public:
    explicit Speculation(bool on = true) : before_(active(), active() || on) {}
    static bool& active();

private:
    Restore<bool> before_;
};

/// In how many bodies, one in another, the trace in progress is.
inline int& body_depth()
{
    static thread_local int n = 0;
    return n;
}

/// Is what runs now an example, whose values nobody reads? It may be zeros, so no value of it is an error.
inline bool runs_example() { return body_depth() > 0 || Speculation::active(); }

}  // namespace wengert::detail

#ifndef WENGERT_COMPILED
#include "impl/speculation.ipp"
#endif
