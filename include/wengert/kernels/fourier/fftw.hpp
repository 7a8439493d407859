// Fourier transforms by FFTW 3, which is opened when it is first used: libfftw3.so.3 for double, libfftw3f.so.3 for float. Prototypes
// are our own, so a program is built without its headers and linked without its libraries, whose licence is the GPL.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include <dlfcn.h>

#include "../../base/error.hpp"
#include "../../base/shape.hpp"

namespace wengert::kernels::fftw {

/// An axis of a transform or of a loop: its extent and the strides of input and output in elements (fftw_iodim64).
struct Axis {
    std::ptrdiff_t n, in, out;
};
struct Plan;  ///< fftw_plan_s

template <class T> struct Functions {
    using C = std::complex<T>;
    Plan* (*plan_dft)(int, const Axis*, int, const Axis*, C*, C*, int, unsigned);
    Plan* (*plan_r2c)(int, const Axis*, int, const Axis*, T*, C*, unsigned);
    Plan* (*plan_c2r)(int, const Axis*, int, const Axis*, C*, T*, unsigned);
    void (*execute_dft)(Plan*, C*, C*);
    void (*execute_r2c)(Plan*, T*, C*);
    void (*execute_c2r)(Plan*, C*, T*);
    void (*destroy)(Plan*);
};

/// The library of a precision. Its planner is not thread-safe: `planner` is held around it. Plans are executed by any thread.
template <class T> class Library : public Functions<T> {
public:
    static Library& get()
    {
        static auto* library = new Library;  // transforms may run after main has ended
        return *library;
    }
    std::mutex planner;

private:
    static constexpr bool single = std::is_same_v<T, float>;
    Library() : Functions<T>{}
    {
        const char* const file = single ? "libfftw3f.so.3" : "libfftw3.so.3";
        void* const handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            throw Error(std::string("[fft] there is no ") + file +
                        ": install FFTW 3 (Debian: libfftw3-double3 libfftw3-single3), or compile with "
                        "pocketfft_hdronly.h in the include path");
        const auto look = [&](auto*& f, const char* name) {
            const std::string symbol = std::string(single ? "fftwf_" : "fftw_") + name;
            f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(::dlsym(handle, symbol.c_str()));
            if (!f) throw Error(std::string("[fft] ") + file + " has no function " + symbol);
        };
        look(this->plan_dft, "plan_guru64_dft");
        look(this->plan_r2c, "plan_guru64_dft_r2c");
        look(this->plan_c2r, "plan_guru64_dft_c2r");
        look(this->execute_dft, "execute_dft");
        look(this->execute_r2c, "execute_dft_r2c");
        look(this->execute_c2r, "execute_dft_c2r");
        look(this->destroy, "destroy_plan");
    }
};

enum Flag : unsigned { destroy_input = 1, unaligned = 2, preserve_input = 16, estimate = 64 };
enum class Kind : std::int64_t { forward, backward, real_to_complex, complex_to_real };

/// What a plan is made for: the cache's key.
struct Request {
    Kind kind;
    std::vector<Axis> axes, loops;
    bool aligned;
    std::vector<std::int64_t> key() const
    {
        std::vector<std::int64_t> k{static_cast<std::int64_t>(kind), static_cast<std::int64_t>(axes.size()),
                                    aligned};
        for (const auto* list : {&axes, &loops})
            for (const Axis& a : *list) k.insert(k.end(), {a.n, a.in, a.out});
        return k;
    }
};

/// Plans that have been made, up to `bound` of them. One that is forgotten while it runs lives until it has run.
template <class T> class Plans {
public:
    static constexpr std::size_t bound = 64;
    static std::shared_ptr<Plan> get(const Request& r, void* in, void* out)
    {
        static auto* plans = new Plans;
        return plans->find(r, in, out);
    }

private:
    std::shared_ptr<Plan> find(const Request& r, void* in, void* out)
    {
        const std::vector<std::int64_t> key = r.key();
        std::map<std::vector<std::int64_t>, std::shared_ptr<Plan>> forgotten;  // destroyed after the lock
        const std::lock_guard lock(mutex_);
        if (const auto found = made_.find(key); found != made_.end()) return found->second;
        if (made_.size() >= bound) forgotten.swap(made_);
        std::shared_ptr<Plan> plan = make(r, in, out);
        made_.emplace(key, plan);
        return plan;
    }
    /// By an estimate: nothing is measured, and the arrays are not written.
    static std::shared_ptr<Plan> make(const Request& r, void* in, void* out)
    {
        using C = std::complex<T>;
        auto& l = Library<T>::get();
        const unsigned flags = estimate | (r.aligned ? 0U : unaligned) |
                               (r.kind == Kind::complex_to_real ? destroy_input : preserve_input);
        const int rank = static_cast<int>(r.axes.size()), loops = static_cast<int>(r.loops.size());
        const Axis *const a = r.axes.data(), *const b = r.loops.data();
        const std::lock_guard lock(l.planner);
        Plan* plan = nullptr;
        if (r.kind == Kind::real_to_complex)
            plan = l.plan_r2c(rank, a, loops, b, static_cast<T*>(in), static_cast<C*>(out), flags);
        else if (r.kind == Kind::complex_to_real)
            plan = l.plan_c2r(rank, a, loops, b, static_cast<C*>(in), static_cast<T*>(out), flags);
        else
            plan = l.plan_dft(rank, a, loops, b, static_cast<C*>(in), static_cast<C*>(out),
                              r.kind == Kind::forward ? -1 : 1, flags);
        if (!plan) throw Error("[fft] FFTW has no plan for this transform");
        return {plan, [](Plan* p) {
                    auto& library = Library<T>::get();
                    const std::lock_guard held(library.planner);
                    library.destroy(p);
                }};
    }
    std::mutex mutex_;
    std::map<std::vector<std::int64_t>, std::shared_ptr<Plan>> made_;
};

/// Axes of the transform, and the others, of row-major arrays of shapes `from` and `to`; `full` has the extents that are transformed.
inline Request request(Kind kind, const Shape& from, const Shape& to, const Shape& full, const Axes& axes,
                       const void* in, const void* out)
{
    const auto address = reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(out);
    Request r{kind, {}, {}, address % 64 == 0};
    const Strides a = row_major(from), b = row_major(to);
    for (std::size_t k = 0; k < full.size(); ++k) {
        bool transformed = false;
        for (const std::int64_t axis : axes)
            transformed = transformed || axis == static_cast<std::int64_t>(k);
        (transformed ? r.axes : r.loops).push_back({full[k], a[k], b[k]});
    }
    return r;
}
template <class T> void scale(T* x, std::size_t n, T by)
{
    if (by == T(1)) return;
    for (std::size_t i = 0; i < n; ++i) x[i] *= by;
}

/// y = by · the transform of x along the axes, both of this shape.
template <class T>
void complex_to_complex(const Shape& shape, const Axes& axes, bool forward, T by, const T* x, T* y)
{
    auto* const in = reinterpret_cast<std::complex<T>*>(const_cast<T*>(x));  // it is preserved
    auto* const out = reinterpret_cast<std::complex<T>*>(y);
    const auto plan = Plans<T>::get(
        request(forward ? Kind::forward : Kind::backward, shape, shape, shape, axes, in, out), in, out);
    Library<T>::get().execute_dft(plan.get(), in, out);
    scale(y, 2 * element_count(shape), by);
}
/// Of real x of this shape: half of the spectrum along the axis.
template <class T> void real_to_complex(const Shape& shape, std::int64_t axis, T by, const T* x, T* y)
{
    Shape half = shape;
    half[static_cast<std::size_t>(axis)] = half[static_cast<std::size_t>(axis)] / 2 + 1;
    T* const in = const_cast<T*>(x);
    auto* const out = reinterpret_cast<std::complex<T>*>(y);
    const auto plan =
        Plans<T>::get(request(Kind::real_to_complex, shape, half, shape, {axis}, in, out), in, out);
    Library<T>::get().execute_r2c(plan.get(), in, out);
    scale(y, 2 * element_count(half), by);
}
/// Back to real y of this shape; x is overwritten.
template <class T> void complex_to_real(const Shape& shape, std::int64_t axis, T by, T* x, T* y)
{
    Shape half = shape;
    half[static_cast<std::size_t>(axis)] = half[static_cast<std::size_t>(axis)] / 2 + 1;
    auto* const in = reinterpret_cast<std::complex<T>*>(x);
    const auto plan = Plans<T>::get(request(Kind::complex_to_real, half, shape, shape, {axis}, in, y), in, y);
    Library<T>::get().execute_c2r(plan.get(), in, y);
    scale(y, element_count(shape), by);
}

}  // namespace wengert::kernels::fftw
