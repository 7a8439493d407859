// Tensors of two devices do not meet; results lie where operands do, by their types. The device here is one that there is none of.
// error: tensors on different devices: to<cuda>\(x\) or to<cpu>\(x\)
// error: the tensors of a list have one dtype and one device
// times: 18
// lines: 230
#include <wengert/wengert.hpp>

#include "../primitives/list.hpp"

using namespace wengert;

namespace {
struct Elsewhere {};
std::uint8_t number_of_device(const Elsewhere&) { return 1; }

#ifdef OK
template <class X> constexpr bool is_elsewhere = false;
template <class T> constexpr bool is_elsewhere<Tensor<T, Elsewhere>> = true;
template <class T> constexpr bool is_elsewhere<View<T, Elsewhere>> = true;

[[maybe_unused]] void the_list(const Tensor<double, Elsewhere>& x)
{
    const auto one = [&](const char*, auto f, auto...) { static_assert(is_elsewhere<decltype(f(x))>); };
    const auto two = [&](const char*, auto f, auto...) { static_assert(is_elsewhere<decltype(f(x, x))>); };
    primitives::numbers_of(one, two);
    primitives::arrays_of(one, two);
}
#else
template <class T> using Here = Tensor<T>&;
template <class T> using There = Tensor<T, Elsewhere>&;
void of_the_host(const Tensor<bool>&);

// A compiler says the same once, so each line has a dtype of its own or another order.
[[maybe_unused]] void mixed(Here<double> a, Here<float> b, Here<std::int64_t> c, Here<std::int32_t> d,
                            There<double> p, There<float> q, There<std::int64_t> r, There<std::int32_t> s)
{
    static_cast<void>(a + p);  // the operand of an operator, or of a function of two
    static_cast<void>(q < b);
    c *= r;
    s -= d;
    view(p, 0) = a;
    static_cast<void>(maximum(q, b));
    static_cast<void>(where(b > 0.0F, q, 0.0F));  // a tensor
    of_the_host(q > 0.0F);
    static_cast<void>(matmul(a, p));
    static_cast<void>(matmul(q, b));
    c = r;
    const Tensor<std::int32_t, Elsewhere> z = d;
    static_cast<void>(take(p, c, 0));
    backward(p, a);
    static_cast<void>(wengert::concatenate({a, p}));  // a list: both of its elements
    static_cast<void>(wengert::stack({d, s}));
}
#endif
}  // namespace

int main() {}
