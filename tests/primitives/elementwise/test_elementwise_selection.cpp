// clip, where and casts against the fixtures.
#include "fixture_cases.hpp"

using namespace wengert;
using fixtures::Case;
using fixtures::Inputs;

template <class T> Tensor<T> clip_case(const Inputs<T>& x, const Case& c)
{
    return clip(x[0], c.params.number("lo"), c.params.number("hi"));
}
template <class T> Tensor<T> where_case(const Inputs<T>& x, const Case& c)
{
    return where(c.ins[0].tensor<bool>(), x[1], x[2]);
}

TEST_CASE("clip")
{
    fixtures::check_cases<double>("elementwise", "clip", clip_case<double>);
    fixtures::check_cases<float>("elementwise", "clip", clip_case<float>);
    fixtures::check_cases<std::int64_t>("elementwise", "clip", clip_case<std::int64_t>);
    fixtures::check_cases<std::int32_t>("elementwise", "clip", clip_case<std::int32_t>);
}

TEST_CASE("where")
{
    const auto exact = fixtures::default_tolerance<double>();
    fixtures::check_cases<double>("elementwise", "where", where_case<double>, exact, 1);
    fixtures::check_cases<float>("elementwise", "where", where_case<float>, exact, 1);
    fixtures::check_cases<std::int64_t>("elementwise", "where", where_case<std::int64_t>, exact, 1);
    fixtures::check_cases<std::int32_t>("elementwise", "where", where_case<std::int32_t>, exact, 1);
    fixtures::check_cases<bool>("elementwise", "where", where_case<bool>, exact, 1);
}

template <class U, class T> void cast_cases()
{
    for (const Case& c : fixtures::load("elementwise"))
        if (c.name == "cast" && c.ins[0].dtype == dtype_of<T>() && c.out.dtype == dtype_of<U>())
            fixtures::check_case<T>(c, [](const Inputs<T>& x) { return cast<U>(x[0]); }, {0, 1e-7});
}
template <class T> void casts_from()
{
    cast_cases<double, T>();
    cast_cases<float, T>();
    cast_cases<std::int64_t, T>();
    cast_cases<std::int32_t, T>();
    cast_cases<bool, T>();
}
TEST_CASE("casts")
{
    casts_from<double>();
    casts_from<float>();
    casts_from<std::int64_t>();
    casts_from<std::int32_t>();
    casts_from<bool>();
}
