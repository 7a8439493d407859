/// view, take, scatter_add and one_hot: values, gradients and tangents from the fixtures.
#include "fixtures/fixtures.hpp"

#include <wengert/ops/indexing.hpp>

using namespace wengert;
using fixtures::Case;

namespace {

Bound bound_of(const std::string& text)
{
    if (text.empty()) return placeholders::_;
    return std::stoll(text);
}

/// s:START:STOP:STEP i:INDEX a n e
Slice slice_of(const std::string& word)
{
    if (word == "a") return all();
    if (word == "n") return newaxis();
    if (word == "e") return ellipsis();
    if (word[0] == 'i') return std::stoll(word.substr(2));
    const auto first = word.find(':'), second = word.find(':', first + 1), third = word.find(':', second + 1);
    const std::string step = word.substr(third + 1);
    return range(bound_of(word.substr(first + 1, second - first - 1)),
                 bound_of(word.substr(second + 1, third - second - 1)), step.empty() ? 1 : std::stoll(step));
}

std::vector<Slice> slices_of(const Case& c)
{
    std::vector<Slice> slices;
    for (const auto& word : c.params["slices"]) slices.push_back(slice_of(word));
    return slices;
}

template <class T> void check_floats_and_ints(const std::string& name, const T& fn)
{
    fixtures::check_cases<double>("indexing", name, fn);
    fixtures::check_cases<float>("indexing", name, fn);
    fixtures::check_cases<std::int64_t>("indexing", name, fn);
}

bool same(const Tensor<double>& a, const Tensor<double>& b)
{
    const auto x = readable(a.any().value), y = readable(b.any().value);
    return a.shape() == b.shape() && std::equal(x->as<double>(), x->as<double>() + x->count, y->as<double>());
}

Indices indices_of(const Case& c) { return c.ins[1].tensor<std::int64_t>(); }

}  // namespace

TEST_CASE("view", "[indexing]")
{
    const auto fn = [](const auto& x, const Case& c) { return view(x[0], slices_of(c)); };
    check_floats_and_ints("view", fn);
    fixtures::check_cases<bool>("indexing", "view", fn);
}

TEST_CASE("a written part is what view reads, and the rest is as before", "[indexing]")
{
    for (const auto& c : fixtures::load("indexing")) {
        if (c.name != "view" || c.ins[0].dtype != DType::float64) continue;
        INFO(c.label << " " << c.params["slices"][0]);
        const auto slices = slices_of(c);
        const Tensor<double> x = c.ins[0].tensor<double>(), part = c.out.tensor<double>();
        Tensor<double> y = x;
        view(y, slices) = part * 2.0 + 1.0;
        CHECK(same(view(std::as_const(y), slices), part * 2.0 + 1.0));
        view(y, slices) = part;
        CHECK(same(y, x));
    }
}

TEST_CASE("take and gather", "[indexing]")
{
    check_floats_and_ints("take", [](const auto& x, const Case& c) {
        return take(x[0], indices_of(c), c.params.integer("axis", 0));
    });
    const Tensor<double> x = {1.0, 2.0, 3.0};
    CHECK(gather(x, Indices{-1, 0}, 0)(0).item() == 3.0);
}

TEST_CASE("scatter_add", "[indexing]")
{
    check_floats_and_ints("scatter_add", [](const auto& x, const Case& c) {
        return scatter_add(x[0], indices_of(c), x[2], c.params.integer("axis", 0));
    });
}

TEST_CASE("one_hot", "[indexing]")
{
    for (const auto& c : fixtures::load("indexing")) {
        if (c.name != "one_hot") continue;
        const Indices labels = c.ins[0].tensor<std::int64_t>();
        const std::int64_t n = c.params.integer("n", 0);
        if (c.out.dtype == DType::float64)
            fixtures::expect("value", one_hot<double>(labels, n), c.out, 0, 0);
        else
            fixtures::expect("value", one_hot<float>(labels, n), c.out, 0, 0);
    }
}

TEST_CASE("ranges are NumPy's", "[indexing]")
{
    using placeholders::_;
    const Tensor<std::int32_t> x = {0, 1, 2, 3, 4};
    const auto first = [&](Slice s) { return view(x, s); };
    CHECK(first(range(3)).size() == 3);
    CHECK(first(range(1, 100)).size() == 4);
    CHECK(first(range(-100, 2)).size() == 2);
    CHECK(first(range(_, _, -1))(0).item() == 4);
    CHECK(first(range(3, 1)).size() == 0);
    CHECK(first(range(_, _, -3)).size() == 2);
    CHECK(view(x, 2).dimension() == 0);
    CHECK(view(x, newaxis(), ellipsis(), newaxis()).dimension() == 3);
}

TEST_CASE("what is out of range is refused with index, axis and shape", "[indexing][errors]")
{
    const Tensor<double> x = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
    CHECK_THROWS_AS(view(x, 2), IndexError);
    CHECK_THROWS_WITH(view(x, 0, -4), contains("-4") && contains("axis 1") && contains("(2, 3)") &&
                                          contains("test_indexing.cpp:"));
    CHECK_THROWS_WITH(view(x, 0, 0, 0), contains("too many") && contains("(2, 3)"));
    CHECK_THROWS_AS(view(x, ellipsis(), ellipsis()), IndexError);
    CHECK_THROWS_AS(view(x, range(0, 2, 0)), IndexError);
    CHECK_THROWS_WITH(x(0, 3), contains("3") && contains("axis 1"));
    CHECK_THROWS_AS(x(0, 0, 0), IndexError);
    CHECK_THROWS_WITH(take(x, Indices{0, 2}, 0), contains("take") && contains("index 2"));
    CHECK_THROWS_AS(take(x, Indices{0}, 2), ShapeError);
    CHECK_THROWS_AS(scatter_add(x, Indices{0}, x, 0), ShapeError);
    CHECK_THROWS_AS(scatter_add(x, Indices{5, 0}, x, 0), IndexError);
    CHECK_THROWS_AS(one_hot<double>(Indices{3}, 3), IndexError);
    CHECK_THROWS_WITH(take(x, Indices(), 0), contains("[take]") && contains("test_indexing.cpp"));
    CHECK_THROWS_WITH(one_hot<double>(Indices(), 3), contains("[one_hot]") && contains("test_indexing.cpp"));
}

TEST_CASE("a placeholder alone is a whole axis")
{
    using wengert::placeholders::_;
    const Tensor<double> x = reshape(arange<double>(24), {2, 3, 4});
    CHECK(allclose(view(x, _, 1), view(x, all(), 1), 0.0));
    CHECK(view(x, _, _, 2).shape() == Shape{2, 3});
    CHECK(allclose(view(x, 0, _, range(_, _, 2)), view(x, 0, all(), range(0, 4, 2)), 0.0));
}
