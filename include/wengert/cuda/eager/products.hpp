// Products of matrices: cuBLAS's, and a kernel of tiles for whole numbers and where there is no cuBLAS.
#pragma once

#include <map>

#include "../../ops/matmul.hpp"
#include "moves.hpp"
#include "product_text.hpp"

namespace wengert::detail::gpu {

/// A handle of cuBLAS for one stream and one call at a time: its memory may be shared only by work of one stream. Captured work has a
/// workspace of the size that cuBLAS's manual gives (cublasSetWorkspace).
class BlasHandle {
public:
    static BlasHandle& of(Gpu& gpu)
    {
        static std::mutex mutex;
        static auto* const all = new std::map<const Queue*, BlasHandle>;
        const std::lock_guard lock(mutex);
        BlasHandle& one = (*all)[&gpu.queue()];
        if (!one.blas_) {
            Blas* made = nullptr;
            check_blas(Products::get().make(&made), "cublasCreate");
            one.blas_ = made;
            one.gpu_ = &gpu;
            one.id_ = gpu.queue().id() + 1;  // none yet
        }
        if (one.id_ != gpu.queue().id()) {
            check_blas(Products::get().set_stream(one.blas_, gpu.queue().stream()), "cublasSetStream");
            one.id_ = gpu.queue().id();
        }
        return one;
    }
    /// Of row-major matrices C = α A B + β C: C' = B' A' of what cuBLAS takes for columns. `next`: from one of the batch to the next.
    template <class T>
    void multiply(const Matrices& a, const T* pa, const Matrices& b, const T* pb, T* c, std::int64_t count,
                  std::int64_t next_a, std::int64_t next_b, T alpha, T beta)
    {
        const Products& p = Products::get();
        const int m = static_cast<int>(a.rows), n = static_cast<int>(b.columns),
                  k = static_cast<int>(a.columns);
        const int lda = static_cast<int>(a.ld), ldb = static_cast<int>(b.ld), ldc = std::max(n, 1);
        const std::lock_guard lock(mutex_);
        const ProductCapture now(*gpu_, blas_);
        const auto call = [&](auto* gemm, auto* gemms, const char* name) {
            check_blas(count == 1 ? gemm(blas_, b.transposed, a.transposed, n, m, k, &alpha, pb, ldb, pa, lda,
                                         &beta, c, ldc)
                                  : gemms(blas_, b.transposed, a.transposed, n, m, k, &alpha, pb, ldb, next_b,
                                          pa, lda, next_a, &beta, c, ldc, static_cast<long long>(m) * n,
                                          static_cast<int>(count)),
                       name);
        };
        if constexpr (std::is_same_v<T, float>)
            call(p.gemm_f32, p.gemms_f32, "cublasSgemm");
        else
            call(p.gemm_f64, p.gemms_f64, "cublasDgemm");
        gpu_->asked();
    }

private:
    static void check_blas(Result r, const char* function)
    {
        if (r != success)
            refuse(std::string("CUDA: ") + function + " failed: cuBLAS says " + std::to_string(r));
    }
    /// While it lives, products of this thread are captured where its other work is.
    struct ProductCapture {
        const Gpu& gpu;
        Blas* blas;
        ProductCapture(Gpu& g, Blas* b) : gpu(g), blas(b)
        {
            if (!capturing_now) return;
            check_blas(Products::get().set_stream(blas, gpu.stream()), "cublasSetStream");
            Workspace& w = *capturing_now->workspace;
            w.take(g.pool(), g.architecture() < 90 ? std::size_t{4} << 20 : std::size_t{32} << 20);
            check_blas(Products::get().set_workspace(blas, w.at, w.capacity), "cublasSetWorkspace");
        }
        ProductCapture(const ProductCapture&) = delete;
        ProductCapture& operator=(const ProductCapture&) = delete;
        ~ProductCapture()
        {
            if (capturing_now) static_cast<void>(Products::get().set_stream(blas, gpu.queue().stream()));
        }
    };
    std::mutex mutex_;
    Blas* blas_ = nullptr;
    std::uint64_t id_ = 0;  ///< of its stream
    Gpu* gpu_ = nullptr;
};

/// A product as it was described (tape/calls.hpp), of operands on a device; a factor may be on the host.
class DeviceProduct {
public:
    DeviceProduct(Gpu& gpu, const MatrixProduct& p, DType dtype, const Ref<Block>* in)
        : gpu_(gpu), dtype_(dtype), p_(p), a_(factor(p.a, in)), b_(factor(p.b, in))
    {
        if (p.adds) c_ = in[0];
        if (p.factor != MatrixProduct::none) alpha_ = in[p.factor];
        if (p.adds && p.cotangent != MatrixProduct::none && (p.always || kernels::zero_cotangent == 0.0))
            cotangent_ = in[p.cotangent];
        fits_ = a_.m.columns == b_.m.rows && dtype != DType::boolean && (!alpha_ || p.adds) &&
                (!p.adds || differentiable(dtype));
        const auto whole = [](std::size_t n) { return n <= std::size_t{1} << 30; };
        for (const Factor* f : {&a_, &b_})
            fits_ = fits_ && whole(f->m.rows) && whole(f->m.columns) && whole(f->m.ld);
        blas_ = differentiable(dtype) && Products::get();
        fits_ =
            fits_ && ((blas_ && (!p.adds || adds_at_once())) || Kernels::of(gpu).has(gpu, "product", text));
    }
    /// Prepares cuBLAS for this thread's stream, which is impossible while work is captured.
    static void prepare(Gpu& gpu)
    {
        if (Products::get()) static_cast<void>(BlasHandle::of(gpu));
    }
    /// The result. Null where the host has to compute it or to report an error.
    Ref<Block> run()
    {
        if (!fits_ || !join_batches()) return {};
        Shape shape = batch_;
        if (a_.shown) shape.push_back(static_cast<std::int64_t>(a_.m.rows));
        if (b_.shown) shape.push_back(static_cast<std::int64_t>(b_.m.columns));
        if (c_ && !(shape == c_->shape)) return {};  // C has fewer axes than the batch
        const auto device = static_cast<std::uint8_t>(a_.x->device());
        auto out = make_elsewhere(current_thread(), device, dtype_, shape, element_count(shape));
        if (out->count == 0) return out;
        if (!c_) return multiply(*out), out;
        const Restore<PlannedResult> unplanned(current_thread().planned, {});
        if (adds_at_once()) {
            if (c_->data != out->data) device_table(device).copy(*c_, *out);
            if (a_.m.columns > 0) multiply(*out, !alpha_ ? 1 : p_.minus ? -element() : element(), 1);
            return out;
        }
        const Ref<Block> product = make_elsewhere(current_thread(), device, dtype_, shape, out->count);
        multiply(*product);
        return add(*product, *out) ? out : Ref<Block>();
    }

private:
    struct Factor {
        Ref<Block> x;
        Shape shape;  ///< with its vectors made matrices
        Matrices m;
        bool shown = true;  ///< has the result this factor's rows or columns?
        Strides next;       ///< of the batch's axes, in elements
    };
    static Factor factor(const MatrixProduct::Factor& f, const Ref<Block>* in)
    {
        Factor out;
        out.x = f.vector ? contiguous(in[f.operand]) : in[f.operand];
        out.shape = out.x->shape;
        if (f.vector || out.shape.size() == 1) {
            out.shown = false;
            const std::int64_t n = out.shape.back();
            out.shape.resize(out.shape.size() - 1);
            out.shape.push_back(f.column ? n : 1);
            out.shape.push_back(f.column ? 1 : n);
        }
        out.m = matrices_of(out.x, out.shape, f.transposed && out.shown);
        return out;
    }
    /// Broadcasts the batches of both factors.
    bool join_batches()
    {
        const Shape a = leading(a_.shape), b = leading(b_.shape);
        const std::size_t rank = std::max(a.size(), b.size());
        for (std::size_t d = 0; d < rank; ++d) {
            const auto extent = [&](const Shape& s) {
                return d + s.size() < rank ? std::int64_t{1} : s[d + s.size() - rank];
            };
            const std::int64_t x = extent(a), y = extent(b);
            if (x != y && x != 1 && y != 1) return false;
            batch_.push_back(x == 1 ? y : x);
        }
        a_.next = broadcast_strides(a, a_.m.batch, batch_);
        b_.next = broadcast_strides(b, b_.m.batch, batch_);
        return true;
    }
    /// Can cuBLAS itself add to C, with β = 1?
    bool adds_at_once() const { return blas_ && !cotangent_ && (!alpha_ || alpha_->device() == 0); }
    /// α, which is on the host.
    double element() const
    {
        return with_real(dtype_, [&]<class T>() { return static_cast<double>(*alpha_->template as<T>()); });
    }
    /// α A B + β to
    void multiply(Block& to, double alpha = 1, double beta = 0)
    {
        if (a_.m.columns == 0) {
            const std::uint64_t zero = 0;
            return device_table(to.device()).fill(to, &zero);
        }
        with_dtype(dtype_, [&]<class T>() {
            if constexpr (!std::is_same_v<T, bool>) all<T>(to, static_cast<T>(alpha), static_cast<T>(beta));
        });
    }
    /// y = C ± α product. False where nothing on the device tells whether the cotangent is 0.
    bool add(const Block& product, Block& y)
    {
        struct Sum {
            void* y;
            const void *c, *product, *factor;
            const void* loud;
            long long count;
            double factor_here;
            int minus, scaled;
        } s{};
        Ref<Block> loud;
        if (cotangent_ && !(loud = found_wrong(gpu_, "zero", *cotangent_))) return false;
        const Ref<Block> c = contiguous(c_);
        s.y = y.data, s.c = c->data, s.product = product.data, s.count = static_cast<long long>(y.count);
        s.loud = loud ? loud->data : nullptr;
        s.scaled = static_cast<bool>(alpha_), s.minus = p_.minus && s.scaled;
        if (alpha_ && alpha_->device())
            s.factor = alpha_->data;
        else
            s.factor_here = alpha_ ? element() : 1;
        launch(gpu_, Kernels::of(gpu_).find(gpu_, "product", named("add_product_").c_str(), text), s.count,
               s);
        return true;
    }
    std::string named(const char* kernel) const { return std::string(kernel) + row_of(dtype_).lane; }
    template <class T> void all(Block& out, T alpha, T beta)
    {
        const T *pa = a_.m.x->template as<T>(), *pb = b_.m.x->template as<T>();
        T* c = out.as<T>();
        // the last axis in one call of cuBLAS, the others one after another
        const std::size_t rank = batch_.size();
        const std::int64_t inner = rank ? batch_[rank - 1] : 1;
        Shape place = Shape::filled(rank);
        for (std::int64_t left = static_cast<std::int64_t>(element_count(batch_)); left > 0; left -= inner) {
            some(pa, pb, c, inner, rank ? a_.next[rank - 1] : 0, rank ? b_.next[rank - 1] : 0, alpha, beta);
            c += static_cast<std::int64_t>(a_.m.rows * b_.m.columns) * inner;
            for (std::size_t d = rank ? rank - 1 : 0; d-- > 0;) {
                pa += a_.next[d], pb += b_.next[d];
                if (++place[d] < batch_[d]) break;
                pa -= a_.next[d] * batch_[d], pb -= b_.next[d] * batch_[d];
                place[d] = 0;
            }
        }
    }
    template <class T>
    void some(const T* pa, const T* pb, T* c, std::int64_t count, std::int64_t next_a, std::int64_t next_b,
              T alpha, T beta)
    {
        if constexpr (std::is_floating_point_v<T>)
            if (blas_)
                return BlasHandle::of(gpu_).multiply(a_.m, pa, b_.m, pb, c, count, next_a, next_b, alpha,
                                                     beta);
        struct Sizes {
            long long at[7];
        } s{};
        const auto steps = [](const Matrices& m, long long* to) {
            const auto ld = static_cast<long long>(m.ld);
            to[0] = m.transposed ? 1 : ld, to[1] = m.transposed ? ld : 1;
        };
        s.at[0] = static_cast<long long>(a_.m.rows), s.at[1] = static_cast<long long>(b_.m.columns);
        s.at[2] = static_cast<long long>(a_.m.columns);
        steps(a_.m, s.at + 3), steps(b_.m, s.at + 5);
        Function* const f = Kernels::of(gpu_).find(gpu_, "product", named("product_").c_str(), text);
        const std::int64_t tiles = (s.at[0] + 15) / 16 * ((s.at[1] + 15) / 16);
        for (std::int64_t i = 0; i < count; ++i, pa += next_a, pb += next_b, c += s.at[0] * s.at[1])
            launch(gpu_, f, tiles * Kernels::block, static_cast<const void*>(pa),
                   static_cast<const void*>(pb), static_cast<void*>(c), s);
    }

    static std::string text() { return std::string(product_text); }

    Gpu& gpu_;
    DType dtype_;
    MatrixProduct p_;
    Factor a_, b_;
    Ref<Block> c_, alpha_, cotangent_;  ///< null: there is none
    Shape batch_;
    bool fits_ = false, blas_ = false;
};

}  // namespace wengert::detail::gpu
