/// Operations that only move elements: values, gradients and tangents from the fixtures, every dtype.
#include "../fixtures/fixtures.hpp"

#include <wengert/ops/creation.hpp>
#include <wengert/ops/shape.hpp>
#include <wengert/ops/take.hpp>

#include <limits>

using namespace wengert;
using fixtures::Case;

namespace {

/// fn(T{}) checks one function for elements of type T.
template <class F> void for_all_dtypes(const F& fn)
{
    fn(double{});
    fn(float{});
    fn(std::int64_t{});
    fn(std::int32_t{});
    fn(bool{});
}

template <class F> void check_all(const std::string& name, const F& fn)
{
    for_all_dtypes([&]<class T>(T) { fixtures::check_cases<T>("shapes", name, fn); });
}

template <class T> Tensor<T> matrix() { return Tensor<T>(Shape{2, 3}, std::vector<int>{1, 2, 3, 4, 5, 6}); }

}  // namespace

TEST_CASE("reshape and flatten", "[shape]")
{
    check_all("reshape", [](const auto& x, const Case& c) { return reshape(x[0], c.params.shape("shape")); });
    check_all("flatten", [](const auto& x) { return flatten(x[0]); });
}

TEST_CASE("axes permuted, put in, taken out", "[shape]")
{
    check_all("transpose", [](const auto& x, const Case& c) {
        return c.params.has("perm") ? transpose(x[0], c.params.shape("perm")) : transpose(x[0]);
    });
    check_all("swapaxes", [](const auto& x, const Case& c) {
        const auto axes = c.params.ints("axes");
        return swapaxes(x[0], axes[0], axes[1]);
    });
    check_all("expand_dims",
              [](const auto& x, const Case& c) { return expand_dims(x[0], c.params.integer("axis", 0)); });
    check_all("squeeze", [](const auto& x, const Case& c) {
        return c.params.has("axes") ? squeeze(x[0], c.params.shape("axes")) : squeeze(x[0]);
    });
    check_all("broadcast_to",
              [](const auto& x, const Case& c) { return broadcast_to(x[0], c.params.shape("shape")); });
}

TEST_CASE("joining and taking apart", "[shape]")
{
    check_all("concatenate",
              [](const auto& x, const Case& c) { return concatenate(x, c.params.integer("axis", 0)); });
    check_all("stack", [](const auto& x, const Case& c) { return stack(x, c.params.integer("axis", 0)); });
    check_all("split", [](const auto& x, const Case& c) {
        return split(x[0], c.params.integer("n", 1),
                     c.params.integer("axis", 0))[static_cast<std::size_t>(c.params.integer("part", 0))];
    });
}

TEST_CASE("padding and triangles", "[shape]")
{
    const auto padded = [](const auto& x, const Case& c) {
        const auto words = c.params.ints("pads");
        Padding pads;
        for (std::size_t i = 0; i < words.size(); i += 2) pads.emplace_back(words[i], words[i + 1]);
        return pad(x[0], pads, c.params.number("value"));
    };
    fixtures::check_cases<double>("shapes", "pad", padded);
    fixtures::check_cases<float>("shapes", "pad", padded);
    fixtures::check_cases<std::int64_t>("shapes", "pad", padded);
    fixtures::check_cases<std::int32_t>("shapes", "pad", padded);
    check_all("tril", [](const auto& x, const Case& c) { return tril(x[0], c.params.integer("k", 0)); });
    check_all("triu", [](const auto& x, const Case& c) { return triu(x[0], c.params.integer("k", 0)); });
    check_all("diagonal", [](const auto& x) { return diagonal(x[0]); });
}

TEST_CASE("views share their elements", "[shape]")
{
    const auto x = matrix<double>();
    CHECK(transpose(x).any().value->base == x.any().value.get());
    CHECK(expand_dims(x, 1).any().value->base == x.any().value.get());
    CHECK(split(x, 3, 1)[2].any().value->data == x.any().value->data + 2 * sizeof(double));
    CHECK(diagonal(x).any().value->base == x.any().value.get());
    CHECK(transpose(transpose(x)).data() == x.data());
}

TEST_CASE("a triangle leaves no NaN behind", "[shape]")
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor<double> x = {{1.0, nan}, {2.0, 3.0}};
    CHECK(sum(tril(x)).item() == 6.0);
}

TEST_CASE("a diagonal outside of the matrix leaves all or nothing", "[shape]")
{
    const auto x = matrix<double>();  // sum 21
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = -most - 1;
    for (std::int64_t k : {std::int64_t{3}, std::int64_t{4}, most - 1, most}) {
        CHECK(sum(tril(x, k)).item() == 21);
        CHECK(sum(triu(x, k)).item() == 0);
    }
    for (std::int64_t k : {std::int64_t{-2}, std::int64_t{-3}, std::int64_t{-4}, least + 1, least}) {
        CHECK(sum(tril(x, k)).item() == 0);
        CHECK(sum(triu(x, k)).item() == 21);
    }
}

TEST_CASE("shapes that do not fit are refused with their names", "[shape][errors]")
{
    const auto x = matrix<double>();
    const Tensor<double> y = {1.0, 2.0};
    const auto size = Tape::current().size();
    CHECK_THROWS_WITH(concatenate({x, y}), contains("concatenate") && contains("(2, 3)") && contains("(2)"));
    CHECK_THROWS_AS(concatenate(std::vector<Tensor<double>>{}), ShapeError);
    CHECK_THROWS_WITH(stack({x, y}), contains("stack") && contains("test_shape.cpp:"));
    CHECK_THROWS_WITH(split(x, 2, 1), contains("(2, 3)") && contains("2 equal parts"));
    CHECK_THROWS_AS(split(x, 0, 1), ShapeError);
    CHECK_THROWS_AS(transpose(x, {0}), ShapeError);
    CHECK_THROWS_AS(transpose(x, {0, 0}), ShapeError);
    CHECK_THROWS_AS(squeeze(x, {0}), ShapeError);
    CHECK_THROWS_AS(expand_dims(x, 4), ShapeError);
    CHECK_THROWS_AS(pad(x, {{1, 1}}), ShapeError);
    CHECK_THROWS_AS(pad(y, {{-1, 1}}), ShapeError);
    CHECK_THROWS_WITH(tril(y), contains("tril") && contains("(2)"));
    CHECK_THROWS_AS(diagonal(y), ShapeError);
    CHECK(Tape::current().size() == size);
}

TEST_CASE("shapes of too many elements are refused", "[shape][errors]")
{
    using D = Tensor<double>;
    constexpr std::int64_t half = std::int64_t{1} << 32, large = std::int64_t{1} << 59;
    const D one(1.0);
    for (const Shape& s : {Shape{2 * large}, Shape{4 * large}, Shape{half, half}, Shape{half, half, 0},
                           Shape{0, half, half}, Shape{4 * large + 1, 4}}) {
        INFO(to_string(s));
        CHECK_THROWS_WITH(zeros<bool>(s), contains("too many elements"));
        CHECK_THROWS_WITH(broadcast_to(one, s), contains("too many elements"));
    }
    CHECK(zeros<double>({0, large}).size() == 0);
    CHECK(zeros<double>({large, 0}).size() == 0);
    CHECK_THROWS_AS(zeros<double>({large}), MemoryError);
    const D wide = broadcast_to(one, {large}), empty = zeros<double>({0, large});
    CHECK(wide.size() == static_cast<std::size_t>(large));
    CHECK_THROWS_AS(wide * 2.0, MemoryError);
    const D column = broadcast_to(one, {half, 1}), row = broadcast_to(one, {1, half});
    CHECK_THROWS_WITH(column + row, contains("add") && contains("too many elements"));
    CHECK_THROWS_AS(reshape(D{1.0, 2.0, 3.0, 4.0}, {4, (std::int64_t{1} << 62) + 1}), ShapeError);
    CHECK_THROWS_AS(reshape(zeros<double>({0}), {half, half}), ShapeError);
    CHECK_THROWS_AS(reshape(zeros<double>({0}), {half, half, -1}), ShapeError);
    CHECK(reshape(zeros<double>({0}), {half, -1}).shape() == Shape{half, 0});
    CHECK_THROWS_AS(stack(std::vector<D>(32, wide)), ShapeError);
    CHECK_THROWS_AS(concatenate(std::vector<D>(32, wide)), ShapeError);
    CHECK_THROWS_AS(concatenate({empty, empty}, 1), ShapeError);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK_THROWS_AS(pad(D{1.0, 2.0}, {{most, most}}), ShapeError);
    const D rows = broadcast_to(one, {2, large / 2});
    CHECK_THROWS_AS(take(rows, zeros<std::int64_t>({64}), 0), ShapeError);
}
