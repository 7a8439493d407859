// Data-parallel training in one line: average(gradients, world). And barrier.
#pragma once

#include "../ops/moves.hpp"
#include "../ops/shape.hpp"
#include "../ops/view.hpp"
#include "../transforms/grad.hpp"
#include "nonblocking_sum.hpp"

namespace wengert::mpi {

namespace detail {

/// Nothing but a wait for all ranks: no derivative has one.
struct Barrier {
    static constexpr std::string_view name = "barrier";
    static constexpr std::size_t operands = 0;
    ChannelRef channel;

    Shape predicted(const Block*) const { return {}; }
    template <class T> Ref<Block> exchange(const Ref<Block>&, const Call& call, bool&)
    {
        collective(call, {}, MPI_Barrier, MPI_Ibarrier, channel->comm);
        return zeros_block(dtype_of<T>(), Shape());
    }
};

/// The mean over the ranks of some real tensors, in messages of about a megabyte. The last tensors go first, as a sweep makes their
/// gradients first. Every rank sends the same messages in the same order, whatever the order in which it has its tensors.
class Averaging {
public:
    static constexpr std::size_t bytes = std::size_t{1} << 20;

    Averaging(const Comm& comm, const Site& at) : comm_(comm), at_(at) {}
    /// One more tensor is to come.
    void expect(DType dtype, const Shape& shape)
    {
        parts_.push_back({dtype, shape, {}});
        unsent_ = parts_.size();
    }
    /// Here it is. Messages begin whose tensors are all there.
    void set(std::size_t k, AnyTensor x)
    {
        parts_[k].value = std::move(x);
        while (unsent_ > 0) {
            Message next = next_message();
            if (!is_complete(next)) return;
            send(std::move(next));
        }
    }
    /// Waits for all messages.
    void end()
    {
        for (const Message& m : messages_)
            with_real(parts_[m.first].dtype, [&]<class T>() { receive<T>(m); });
        messages_.clear();
    }
    const AnyTensor& mean(std::size_t k) const { return parts_[k].value; }

private:
    struct Part {
        DType dtype;
        Shape shape;
        AnyTensor value;
        std::size_t bytes() const { return element_count(shape) * size_of(dtype); }
    };
    struct Message {
        std::size_t first, last;
        SumSlotRef slot = {};
        AnyTensor elements = {};
    };

    /// Parts of one type, from the last that has not gone.
    Message next_message() const
    {
        std::size_t first = unsent_, held = 0;
        do {
            held += parts_[--first].bytes();
        } while (first > 0 && held < bytes && parts_[first - 1].dtype == parts_[first].dtype);
        return {first, unsent_};
    }
    bool is_complete(const Message& m) const
    {
        return std::all_of(parts_.begin() + static_cast<std::ptrdiff_t>(m.first),
                           parts_.begin() + static_cast<std::ptrdiff_t>(m.last),
                           [](const Part& p) { return p.value.value; });
    }
    void send(Message m)
    {
        with_real(parts_[m.first].dtype, [&]<class T>() {
            std::vector<Tensor<T>> flat;
            for (std::size_t k = m.last; k-- > m.first;)
                flat.push_back(
                    reshape(Tensor<T>(parts_[k].value), Shape{element_count(parts_[k].shape)}, at_));
            const Tensor<T> x = flat.size() == 1 ? flat[0] : concatenate(flat, 0, at_);
            m.slot = std::make_shared<SumSlot>();
            static_cast<void>(communicate<StartSum, T>({comm_.channel(), m.slot}, at_, x));
            m.elements = x.any();
        });
        unsent_ = m.first;
        messages_.push_back(std::move(m));
    }
    template <class T> void receive(const Message& m)
    {
        const Tensor<T> sum = communicate<EndSum, T>({comm_.channel(), m.slot}, at_, Tensor<T>(m.elements)),
                        mean = sum / static_cast<T>(comm_.size());
        std::int64_t i = 0;
        for (std::size_t k = m.last; k-- > m.first;) {
            const auto n = static_cast<std::int64_t>(element_count(parts_[k].shape));
            parts_[k].value = reshape(view(mean, {range(i, i + n)}, at_), parts_[k].shape, at_).any();
            i += n;
        }
    }

    Comm comm_;
    Site at_;
    std::vector<Part> parts_;
    std::vector<Message> messages_;
    std::size_t unsent_ = 0;
};

/// Averages a sweep's gradients while the sweep goes on.
class AveragedSweep : public SweepObserver {
public:
    AveragedSweep(const Comm& comm, const Site& at) : averaging_(comm, at) {}
    void begin(const std::vector<Ref<Node>>& variables) override
    {
        variables_ = variables;
        for (const auto& v : variables) averaging_.expect(v->dtype, v->shape);
    }
    void take(std::size_t k, AnyTensor g) override
    {
        if (!g.value) g.value = zeros_block(variables_[k]->dtype, variables_[k]->shape);
        averaging_.set(k, std::move(g));
    }
    AnyTensor give(std::size_t k) override
    {
        if (!std::exchange(ended_, true)) averaging_.end();
        return averaging_.mean(k);
    }

private:
    Averaging averaging_;
    std::vector<Ref<Node>> variables_;
    bool ended_ = false;
};

/// What averaged returns.
template <class Gradient> class Averaged : public wengert::detail::Closure<Averaged<Gradient>> {
public:
    Averaged(Gradient f, const Comm& comm, const Site& made)
        : wengert::detail::Closure<Averaged>(made), function_(std::move(f)), comm_(comm)
    {}
    template <class... X> static constexpr bool accepts() { return Gradient::template accepts<X...>(); }
    template <class... X> auto at_line(const Site& at, const X&... x) const
    {
        static_assert(!(tree::contains_number<X> || ...),
                      "wengert: mpi::averaged is for functions of tensors: sum the gradients of reals with "
                      "mpi::allreduce");
        AveragedSweep sweep(comm_, at);
        const Restore<SweepObserver*> observer(Tape::current().observer, &sweep);
        return function_.at_line(at, x...);
    }

private:
    Gradient function_;
    Comm comm_;
};

template <class F> inline constexpr bool is_gradient = false;
template <class F, std::size_t... I> inline constexpr bool is_gradient<wengert::detail::Grad<F, I...>> = true;
template <class F, std::size_t... I>
inline constexpr bool is_gradient<wengert::detail::ValueAndGrad<F, I...>> = true;

}  // namespace detail

/// Waits until all ranks have come here.
inline void barrier(const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    static_cast<void>(detail::communicate<detail::Barrier, std::int32_t>({comm.channel()}, at));
}

/// The mean over the ranks of every real tensor of a struct, in messages of about a megabyte. Other tensors stay. Inside of a frozen
/// function each message goes around as soon as its gradients are there, while the sweep goes on.
template <class Tree>
Tree average(const Tree& gradients, const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    static_assert(!tree::contains_number<Tree>,
                  "wengert: mpi::average is for tensors: sum reals with mpi::allreduce");
    detail::Averaging averaging(comm, at);
    Tree mean = gradients;
    const auto each_real = [&](const auto& f) {
        std::size_t k = 0;
        tree::for_each(
            [&]<class T, class D>(Tensor<T, D>& t) {
                if constexpr (is_differentiable<T>)
                    if (t.defined()) f(t, k++);
            },
            mean);
    };
    each_real(
        [&]<class T, class D>(Tensor<T, D>& t, std::size_t) { averaging.expect(dtype_of<T>(), t.shape()); });
    each_real([&](auto& t, std::size_t k) { averaging.set(k, t.any()); });
    averaging.end();
    each_real([&]<class T, class D>(Tensor<T, D>& t, std::size_t k) { t = Tensor<T, D>(averaging.mean(k)); });
    return mean;
}

/// grad(f) or value_and_grad(f) whose gradients are averaged as by average(), while the sweep goes on: a message goes as soon as
/// nothing will be added to its gradients. The value stays this rank's. The messages have a communicator of their own, so `averaged`
/// is called on all ranks at once, and what f communicates does not mix with them.
template <class Gradient>
    requires detail::is_gradient<Gradient>
auto averaged(Gradient f, const Comm& comm, Site at = {__builtin_FILE(), __builtin_LINE()})
{
    return detail::Averaged<Gradient>(std::move(f), Comm(comm.get(), at), at);
}

}  // namespace wengert::mpi
