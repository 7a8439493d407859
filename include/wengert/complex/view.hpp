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
    void operator+=(const Arg& v) && { store(ops::add<T, D>(*this, v, v.at), v.at); }
    void operator-=(const Arg& v) && { store(ops::subtract<T, D>(*this, v, v.at), v.at); }
    void operator*=(const Arg& v) && { store(ops::multiply<T, D>(*this, v, v.at), v.at); }
    void operator/=(const Arg& v) && { store(ops::divide<T, D>(*this, v, v.at), v.at); }

    // A view with a name shows what has been written through it.
    View& operator=(const Arg& v) & { return again(*v, v.at); }
    View& operator=(const View& v) & { return again(v, {}); }
    View& operator+=(const Arg& v) & { return again(ops::add<T, D>(now(), v, v.at), v.at); }
    View& operator-=(const Arg& v) & { return again(ops::subtract<T, D>(now(), v, v.at), v.at); }
    View& operator*=(const Arg& v) & { return again(ops::multiply<T, D>(now(), v, v.at), v.at); }
    View& operator/=(const Arg& v) & { return again(ops::divide<T, D>(now(), v, v.at), v.at); }

private:
    /// The part as its variable has it now: that may have been written since.
    Whole now() const { return Whole(view(std::as_const(target_->parts_unchecked()), slices_, at_), 0); }
    View& again(const Whole& v, const Site& at)
    {
        store(v, at);
        this->parts_unchecked() = now().parts();
        return *this;
    }
    void store(const Arg& v) { store(*v, v.at); }
    /// This view's own hold of the elements must go first, or it would force a copy.
    void store(const Whole& v, const Site& at)
    {
        check_broadcast("view", v.shape("view", at), this->shape("view", at), at);
        const Tensor<T, D> parts = v.parts();
        this->parts_unchecked() = Tensor<T, D>();
        view(target_->parts_unchecked(), slices_, at_) = Operand<T, D>(parts, at.file, at.line);
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
