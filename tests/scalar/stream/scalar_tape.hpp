// What tests of reals on the tape share.
#pragma once

#include "catch.hpp"

#include <wengert/scalar.hpp>

namespace wg = wengert;

namespace scalar_tape {

using R = wg::Real<double>;
using D = wg::Tensor<double>;

/// Operations on the tape now.
inline std::uint32_t recorded() { return wg::ScalarStream::of(wg::Tape::current()).size() - 1; }

/// x * 2 throws a TapeError with this reason.
inline void refused(const R& x, const std::string& why)
{
    try {
        const R y = x * 2.0;
        FAIL("not refused: " << y);
    } catch (const wg::TapeError& e) {
        INFO(e.what());
        CHECK(std::string(e.what()).find(why) != std::string::npos);
        CHECK(std::string(e.what()).find("[multiply]") == 0);
    }
}

}  // namespace scalar_tape
