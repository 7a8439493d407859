/// The list collected.
#pragma once

#include "../entries.hpp"
#include "../list.hpp"

namespace primitives {

template <class T, bool two, bool elementwise> struct Collect {
    std::vector<Entry<T>>& list;

    template <class F> static auto result(const Tensor<T>& a, [[maybe_unused]] const Tensor<T>& b)
    {
        if constexpr (two)
            return F{}(a, b);
        else
            return F{}(a);
    }
    template <class F> void operator()(const char* name, F, Asks asks = {}) const
    {
        using Y = decltype(result<F>(std::declval<Tensor<T>>(), std::declval<Tensor<T>>()));
        if (!std::is_base_of_v<Tensor<T>, Y>) asks.order = 0;
        list.push_back({name, asks, elementwise, [](const Tensor<T>& a, const Tensor<T>& b) -> Tensor<T> {
                            if constexpr (std::is_base_of_v<Tensor<T>, Y>)
                                return result<F>(a, b);
                            else
                                return cast<T>(result<F>(a, b));
                        }});
    }
};

template <class T> const std::vector<Entry<T>>& entries()
{
    static const std::vector<Entry<T>> all = [] {
        std::vector<Entry<T>> list;
        numbers_of(Collect<T, false, false>{list}, Collect<T, true, true>{list});
        arrays_of(Collect<T, false, false>{list}, Collect<T, true, false>{list});
        return list;
    }();
    return all;
}

}  // namespace primitives
