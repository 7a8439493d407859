/// What the author of a primitive is told when its rule reads what it did not ask for.
#include "catch.hpp"

#include <wengert/ops/indexing.hpp>
#include <wengert/ops/describe/structural.hpp>
#include <wengert/ops/sum.hpp>
#include <wengert/ops/writer.hpp>
#include <wengert/tape/backward.hpp>

using namespace wengert;
using D = Tensor<double>;

namespace {

/// y = a b of equal shapes, with rules that read what `bits` says is saved, or not.
template <unsigned bits, bool reads_result> struct Product {
    static constexpr std::string_view name = "product";
    static constexpr unsigned saves = bits;
    template <class T> Ref<Block> value(const Ref<Block>& a, const Ref<Block>& b, const Site&) const
    {
        return (Tensor<T>(AnyTensor{a, {}}) * Tensor<T>(AnyTensor{b, {}})).any().value;
    }
    template <class T> D pull(wrt<0>, const D& g, const D& a, const T& b, const D& y) const
    {
        return reads_result ? g * y / a : g * b;
    }
    template <class T> D pull(wrt<1>, const D& g, const D& a, const T&, const D&) const { return g * a; }
    template <class X, class... More> X push(const X& x, const More&...) const { return x; }
};

template <unsigned bits, bool reads_result = false> std::string message(bool first, bool second)
{
    D a = {1.0, 2.0}, b = {3.0, 4.0};
    a.requires_grad(first);
    b.requires_grad(second);
    const D y = apply<Product<bits, reads_result>, double>({}, {__builtin_FILE(), __builtin_LINE()}, a, b);
    try {
        backward(sum(y));
    } catch (const TapeError& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a rule that reads an unsaved value is told which", "[rules]")
{
    CHECK(message<0b011>(true, true) == "");
    CHECK_THAT(message<0b001>(true, true),
               contains("[product] the rule reads input 1, which it does not list in saves") &&
                   contains("test_rules.cpp:"));
    CHECK_THAT(message<0b010>(true, true), contains("reads input 0, which"));
    CHECK_THAT(message<0b001>(true, false), contains("reads input 1, which"));  // a constant
    CHECK_THAT((message<0b001, true>(true, false)), contains("reads its result, which"));
}

TEST_CASE("a tensor that has been moved from is refused as such", "[rules]")
{
    D a = {1.0};
    const D b = std::move(a);
    CHECK_THROWS_WITH(a + 1.0, contains("moved-from"));
}

TEST_CASE("a writer's array can be assigned to", "[rules]")
{
    D a = {{1.0, 2.0}, {3.0, 4.0}};
    {
        auto w = write(a);
        w.array() *= 2.0;
        w.array()(0, 1) = 7.0;
    }
    CHECK(a(1, 0).item() == 6.0);
    CHECK(a(0, 1).item() == 7.0);
}
