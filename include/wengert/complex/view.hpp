// Parts of complex tensors, to read from and to write to.
#pragma once

#include "functions.hpp"

namespace wengert {

namespace detail {

/// Subscripts of z as those of its parts.
template <class T, class D>
std::vector<Slice> slices_of(std::vector<Slice> slices, const Tensor<std::complex<T>, D>& z, const Site& at)
{
    bool open = false;
    for (const Slice& s : slices) open = open || s.kind == Slice::Kind::ellipsis;
    static_cast<void>(
        resolve(slices.data(), slices.size(), z.shape("view", at), at));  // refuses one too many
    if (open) slices.push_back(all());
    return slices;
}

}  // namespace detail

/// A part of a complex variable, to read from and to write to, as View of real tensors.
template <class T, class D> class View<std::complex<T>, D> : public Tensor<std::complex<T>, D> {
public:
    using Whole = Tensor<std::complex<T>, D>;
    using Arg = Operand<std::complex<T>, D>;
    View(Whole& target, const std::vector<Slice>& slices, const Site& at)
        : Whole(view(std::as_const(target.parts_unchecked()), slices, at), 0), target_(&target),
          slices_(slices), at_(at)
    {}
    View(const View&) = default;
    template <class... X> void requires_grad(X&&...) = delete;

    void operator=(const Arg& v) && { store(v); }
    void operator=(const View& v) && { store(Arg(static_cast<const Whole&>(v))); }
    void operator+=(const Arg& v) && { store(Arg(ops::add<T, D>(*this, v, v.at))); }
    void operator-=(const Arg& v) && { store(Arg(ops::subtract<T, D>(*this, v, v.at))); }
    void operator*=(const Arg& v) && { store(Arg(ops::multiply<T, D>(*this, v, v.at))); }
    void operator/=(const Arg& v) && { store(Arg(ops::divide<T, D>(*this, v, v.at))); }

private:
    /// This view's own hold of the elements must go first, or it would force a copy.
    void store(const Arg& v)
    {
        const Tensor<T, D> parts = detail::as_parts(v, v.at);
        this->parts_unchecked() = Tensor<T, D>();
        view(target_->parts_unchecked(), slices_, at_) = parts;
    }
    Whole* target_;
    std::vector<Slice> slices_;
    Site at_;
};

/// Part of a complex tensor, as NumPy's z[a, b, …]: no copy. On a variable the part can also be assigned to. Throws IndexError.
template <class T, class D>
Tensor<std::complex<T>, D> view(const Tensor<std::complex<T>, D>& z, const std::vector<Slice>& slices,
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::as_complex(view(z.parts("view", at), detail::slices_of(slices, z, at), at));
}
template <class T, class D>
View<std::complex<T>, D> view(Tensor<std::complex<T>, D>& z, const std::vector<Slice>& slices,
                              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return {z, detail::slices_of(slices, z, at), at};
}
template <class T, class D>
Tensor<std::complex<T>, D> view(const Tensor<std::complex<T>, D>& z, Slice a = {}, Slice b = {}, Slice c = {},
                                Slice d = {}, Slice e = {}, Slice f = {},
                                Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Slice slices[] = {a, b, c, d, e, f};
    return view(z, std::vector<Slice>(slices, slices + detail::given(slices)), at);
}
template <class T, class D>
View<std::complex<T>, D> view(Tensor<std::complex<T>, D>& z, Slice a = {}, Slice b = {}, Slice c = {},
                              Slice d = {}, Slice e = {}, Slice f = {},
                              Site at = {__builtin_FILE(), __builtin_LINE()})
{
    const Slice slices[] = {a, b, c, d, e, f};
    return view(z, std::vector<Slice>(slices, slices + detail::given(slices)), at);
}

}  // namespace wengert
