// Every public function of tensors on a device, from the one list of them (tests/primitives/list.hpp): the host's bits, library calls
// but for rounding; and which of them the host still helps.
#include "primitives/walk.hpp"

#include <set>
#include <string>

#include <wengert/cuda.hpp>

using namespace walk;

namespace {

std::uint8_t there() { return detail::gpu::number_of(cuda{}); }

template <class T> Tensor<T> moved(const Tensor<T>& x)
{
    return Tensor<T>(AnyTensor{placed(x.any().value, there()), {}});
}

template <class T> void same_results(const Shape& s, bool derivatives)
{
    std::size_t kind = 0;
    for (const auto& [a, b] : operands<T>(s)) {
        List<T> want, got;
        std::vector<Label> labels;
        {
            const OnDevice host(0);
            results(a, b, derivatives, want, &labels, Which::no_host_calls);
        }
        {
            const OnDevice device(there());
            const auto before = cuda::counts().host_calls.load();
            results(moved(a), moved(b), derivatives, got, nullptr, Which::no_host_calls);
            CHECK(cuda::counts().host_calls == before);  // the test below says whose
        }
        compare(want, got, labels, kind++ == 1);
    }
}

}  // namespace

TEST_CASE("every primitive has the host's bits on a device", "[gpu][once]")
{
    const OnDevice host(0);
    same_results<double>({3, 4}, true);
    for (const Shape& s : {Shape{}, Shape{0}, Shape{17, 3}, Shape{2, 1, 2, 3, 1, 2, 2}})
        same_results<double>(s, false);
    same_results<float>({3, 4}, false);
}

TEST_CASE("the host helps a device with orders alone, and that is counted", "[gpu][once][libraries]")
{
    std::set<std::string> helped;
    const OnDevice device(there());
    const Tensor<double> a = calm<double>({3, 4}, 1), b = calm<double>({3, 4}, 5);
    for (const Entry<double>& e : entries<double>()) {
        if (!e.takes(a.shape())) continue;
        const auto before = cuda::counts().host_calls.load();
        static_cast<void>(e.of(a, b));
        if ((cuda::counts().host_calls != before) != e.asks.host) helped.insert(e.name);
    }
    INFO(Catch::StringMaker<std::set<std::string>>::convert(helped));
    if (!detail::gpu::Kernels::available())
        helped.erase("own");  // of the program's own there is no code that was compiled ahead
    CHECK(helped.empty());
}
