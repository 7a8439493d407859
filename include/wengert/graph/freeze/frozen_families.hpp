// What a frozen function keeps beside its paths: their derivatives, and traces at several extents.
#pragma once

#include <map>
#include <string>

#include "frozen.hpp"

namespace wengert::detail {

/// A derivative of a path: cotangents of some inputs, or tangents of results.
struct FrozenDerivative {
    std::shared_ptr<FrozenPath> path;  ///< with guards where a rule reads a value: it need not fit others
    std::vector<bool> present;         ///< whose the outputs are
};

/// A path and its derivative cut so that what the derivative reads of the call is handed on to it: nothing is computed twice,
/// and memory is as eager's.
struct FrozenCut {
    std::string wanted, cotangents;               ///< of which inputs, from those of which results
    std::unique_ptr<Executable> value, pullback;  ///< null where the graph cannot be cut
    std::size_t guards = 0;                       ///< of `value`
    std::vector<std::size_t> handed;              ///< outputs of `value` that the pullback is given
    std::vector<bool> present;                    ///< the inputs whose cotangents its outputs are
};

/// Those of a path.
struct FrozenDerivatives {
    std::map<std::string, std::unique_ptr<FrozenDerivative>> named;
    std::vector<std::shared_ptr<FrozenCut>> cuts;  ///< the one used last comes first
};

/// One of the traces from which those at other extents follow.
struct FrozenSample {
    std::int64_t extent;
    FrozenTrace trace;
};

/// Traces of the same arguments but for the extent that varies.
struct FrozenFamily {
    Words signature;
    std::vector<FrozenSample> samples;
    static constexpr std::size_t max_samples = 8;
};

}  // namespace wengert::detail
