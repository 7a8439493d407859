// The code of every primitive, once for all tests that read graphs.
#include "graph/look/reading/registry.hpp"

namespace reading {

namespace {

/// Results of loops in packed blocks of T.
template <class T, class... U> void add_unpacks(Registry& r)
{
    r.add_structural<Pack, T, T>();
    (r.add_structural<Unpack, U, T>(unpacked_shape<U>), ...);
}

Registry make_registry()
{
    Registry r;
    each_primitive(r);
    add_unpacks<float, float, std::int32_t, std::int64_t, bool>(r);
    add_unpacks<double, double, std::int32_t, std::int64_t, bool>(r);
    add_unpacks<std::int64_t, std::int64_t, std::int32_t, bool>(r);
    return r;
}

}  // namespace

Registry& registry()
{
    static Registry all = make_registry();
    return all;
}

}  // namespace reading
