/// The list of tests/primitives/list.hpp as data: what walks over it is compiled once for each type of elements, and the list, too
/// (tests/primitives/entries/).
#pragma once

#include <vector>

#include <wengert/tape/tensor.hpp>

namespace primitives {

/// What a function asks of its operands, and what it is.
struct Asks {
    std::size_t axes = 0;   ///< at least so many
    bool elements = false;  ///< at least one along each axis
    int order = 2;          ///< of the derivatives that differences can follow; 0: it has none
    bool library = false;   ///< a library call: its sums may be added up in another order
    std::size_t most = 99;  ///< axes, at most
    bool host = false;      ///< finds places by a kernel of the host's
};

/// One line of the list: a function of two tensors of one shape, the second of which it may not care for.
template <class T> struct Entry {
    const char* name;
    Asks asks;
    bool elementwise;  ///< a function of numbers of two tensors, which are broadcast
    wengert::Tensor<T> (*of)(const wengert::Tensor<T>& a, const wengert::Tensor<T>& b);

    bool takes(const wengert::Shape& s) const
    {
        if (s.size() < asks.axes || s.size() > asks.most) return false;
        if (asks.elements)
            for (const auto e : s)
                if (e == 0) return false;
        return true;
    }
};

/// Of float and double.
template <class T> const std::vector<Entry<T>>& entries();

}  // namespace primitives
