// Small eager operations of some eight doubles with nothing around them: the value alone, and recorded, summed and swept. Built and
// run under callgrind by bench/instructions.py, which divides the counts by the 1,000 times.

#include <string>
#include <string_view>
#include <valgrind/callgrind.h>
#include <wengert/wengert.hpp>

using namespace wengert;  // the rows read like a user's formulas
using T = Tensor<double>;
using Indices = Tensor<std::int64_t>;

namespace {

const T eight = {0.5, 1.5, -1.0, 2.0, 0.25, -0.5, 3.0, 1.0};
const T two_rows = reshape(eight, {2, 4}), two_others = two_rows * 0.5 + 1.0;
const Indices places = {3, 1, 0, 1}, labels = {1, 3};

struct Row {
    std::string_view name;
    T (*f)(const T& x, const T& a, const T& b);  ///< x of 8 elements, a and b of (2, 4)
};

const Row rows[] = {
    {"x x", [](const T& x, const T&, const T&) { return x * x; }},
    {"a + b", [](const T&, const T& a, const T& b) { return a + b; }},
    {"x + 1", [](const T& x, const T&, const T&) { return x + 1.0; }},
    {"exp(x)", [](const T& x, const T&, const T&) { return exp(x); }},
    {"where(x > 0, x, 1)", [](const T& x, const T&, const T&) { return where(x > 0.0, x, 1.0); }},
    {"a + b(1)", [](const T&, const T& a, const T& b) { return a + b(1); }},
    {"sum(x)", [](const T& x, const T&, const T&) { return sum(x); }},
    {"sum(a, {0})", [](const T&, const T& a, const T&) { return sum(a, {0}); }},
    {"sum(a, {1})", [](const T&, const T& a, const T&) { return sum(a, {1}); }},
    {"mean(a, {1})", [](const T&, const T& a, const T&) { return mean(a, {1}); }},
    {"prod(a, {1})", [](const T&, const T& a, const T&) { return prod(a, {1}); }},
    {"amax(a, {1})", [](const T&, const T& a, const T&) { return amax(a, {1}); }},
    {"var(a, {1})", [](const T&, const T& a, const T&) { return var(a, {1}); }},
    {"norm(a, {1})", [](const T&, const T& a, const T&) { return norm(a, {1}); }},
    {"logsumexp(a, {1})", [](const T&, const T& a, const T&) { return logsumexp(a, {1}); }},
    {"softmax(a)", [](const T&, const T& a, const T&) { return softmax(a); }},
    {"log_softmax(a)", [](const T&, const T& a, const T&) { return log_softmax(a); }},
    {"x[2:6]", [](const T& x, const T&, const T&) { return view(x, range(2, 6)); }},
    {"x(3)", [](const T& x, const T&, const T&) { return x(3); }},
    {"a[1, 2:4]", [](const T&, const T& a, const T&) { return view(a, 1, range(2, 4)); }},
    {"transpose(a)", [](const T&, const T& a, const T&) { return transpose(a); }},
    {"reshape(x, {4, 2})",
     [](const T& x, const T&, const T&) {
         return reshape(x, {4, 2});
     }},
    {"broadcast_to(x, {2, 8})",
     [](const T& x, const T&, const T&) {
         return broadcast_to(x, {2, 8});
     }},
    {"concatenate({a, b})",
     [](const T&, const T& a, const T& b) {
         return concatenate({a, b});
     }},
    {"stack({a, b})",
     [](const T&, const T& a, const T& b) {
         return stack({a, b});
     }},
    {"take(x, places)", [](const T& x, const T&, const T&) { return take(x, places, 0); }},
    {"scatter_add(x, places, b(0))",
     [](const T& x, const T&, const T& b) { return scatter_add(x, places, b(0), 0); }},
    {"x[2:6] += b(0)",
     [](const T& x, const T&, const T& b) {
         T y = x + 0.0;
         view(y, range(2, 6)) += b(0);
         return y;
     }},
    {"tril(a)", [](const T&, const T& a, const T&) { return tril(a); }},
    {"a b^T", [](const T&, const T& a, const T& b) { return matmul(a, transpose(b)); }},
    {"dot(x, x)", [](const T& x, const T&, const T&) { return dot(x, x); }},
    {"cross_entropy(a, labels)", [](const T&, const T& a, const T&) { return cross_entropy(a, labels); }},
};

void gradient(const Row& row)
{
    T x = eight, a = two_rows, b = two_others;
    x.requires_grad(true);
    a.requires_grad(true);
    b.requires_grad(true);
    backward(sum(row.f(x, a, b)));
}

/// What callgrind counts from here to the end of 1,000 times, under this name.
void count(const char* what, const Row& row, void (*run)(const Row&))
{
    for (int k = 0; k < 10; ++k) run(row);  // buffers and pages are there
    CALLGRIND_ZERO_STATS;
    for (int k = 0; k < 1000; ++k) run(row);
    const std::string name = std::string(what) + " " + std::string(row.name);
    CALLGRIND_DUMP_STATS_AT(name.c_str());
}

}  // namespace

int main()
{
    for (const Row& row : rows) {
        count("value", row, [](const Row& r) { (void)r.f(eight, two_rows, two_others); });
        count("gradient", row, gradient);
    }
}
