// How the rank of a matrix of reals is decided: by the plain factors, as Eigen does.
#pragma once

#include "decompositions.hpp"

namespace wengert::detail {

template <class Derived, class M, class Plain, class Recorded>
class RankedDecomposition : public RealDecomposition<Derived, M, Plain, Recorded> {
public:
    using Scalar = typename M::Scalar;
    using T = typename Scalar::plain_type;
    using Index = Eigen::Index;

    Index rank() const
    {
        return this->decided([](const auto& d) { return d.rank(); });
    }
    Index dimensionOfKernel() const { return this->cols() - rank(); }
    bool isInjective() const { return rank() == this->cols(); }
    bool isSurjective() const { return rank() == this->rows(); }
    bool isInvertible() const { return isInjective() && isSurjective(); }
    Index nonzeroPivots() const
    {
        return this->decided([](const auto& d) { return d.nonzeroPivots(); });
    }
    Scalar maxPivot() const { return this->recorded().maxPivot(); }
    T threshold() const { return this->plain_->threshold(); }
    Derived& setThreshold(const Scalar& t)
    {
        threshold_ = t.plain();
        if (this->plain_) this->change([&](Plain& p) { p.setThreshold(*threshold_); });
        return this->derived();
    }
    static bool keeps_up(const Plain& p) { return p.rank() == p.cols() && p.rows() >= p.cols(); }

protected:
    friend class RealDecomposition<Derived, M, Plain, Recorded>;
    template <class D, class A> D made(const A& a) const
    {
        D d;
        if (threshold_) d.setThreshold(typename D::RealScalar(*threshold_));
        d.compute(a);
        return d;
    }
    std::optional<T> threshold_;
};

}  // namespace wengert::detail
