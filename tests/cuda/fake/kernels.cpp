// Kernels of the fake devices, thread by thread: see fake.hpp. A fiber runs one thread after another; where one comes to a barrier
// it keeps the fiber, and another fiber goes on with the rest.
#include "fake.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace fake {

namespace {

Order order_now = Order::forwards;
std::mt19937 generator;
Now now_running;

std::vector<unsigned> in_order(unsigned n)
{
    std::vector<unsigned> all(n);
    std::iota(all.begin(), all.end(), 0U);
    if (order_now == Order::backwards) std::reverse(all.begin(), all.end());
    if (order_now == Order::random) std::shuffle(all.begin(), all.end(), generator);
    return all;
}
Dimensions place(unsigned i, const Dimensions& of) { return {i % of.x, i / of.x % of.y, i / of.x / of.y}; }

#ifdef __x86_64__
/// Where something stopped: what a function has to keep is on its stack. Without the signal masks of ucontext, which are a call of
/// the system each time.
class Place {
public:
    /// The next time, `work` begins on this stack; it never returns.
    void begin(char* stack, std::size_t bytes, void (*work)())
    {
        auto** top =
            reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(stack + bytes) & ~std::uintptr_t{15});
        top[-2] = reinterpret_cast<void*>(work);
        at_ = top - 8;
    }
    void leave_for(Place& other) { change(&at_, other.at_); }

private:
    __attribute__((naked, noinline)) static void change(void** /*from*/, void* /*to*/)
    {
        asm("push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
            "mov %rsp, (%rdi); mov %rsi, %rsp\n"
            "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret");
    }
    void* at_ = nullptr;
};
#else
class Place {
public:
    void begin(char* stack, std::size_t bytes, void (*work)())
    {
        ::getcontext(&context_);
        context_.uc_stack.ss_sp = stack;
        context_.uc_stack.ss_size = bytes;
        context_.uc_link = nullptr;
        ::makecontext(&context_, work, 0);
    }
    void leave_for(Place& other) { ::swapcontext(&context_, &other.context_); }

private:
    ucontext_t context_;
};
#endif

struct Fiber {
    static constexpr std::size_t stack_bytes = std::size_t{1} << 17;
    Place place;
    std::unique_ptr<char[]> stack{new char[stack_bytes]};
    Dimensions thread;
    bool waiting = false;
};

class Block {
public:
    Block(const Kernel& k, void** parameters) : kernel_(k), parameters_(parameters) {}
    void run()
    {
        running_ = this;
        const Dimensions& t = now_running.threads;
        threads_ = in_order(t.x * t.y * t.z);
        next_ = 0;
        std::vector<Fiber*> waiting;
        while (next_ < threads_.size()) enter(fresh(), waiting);
        while (!waiting.empty()) {  // all have come to the barrier, or to their end
            std::vector<Fiber*> all;
            for (const unsigned i : in_order(static_cast<unsigned>(waiting.size())))
                all.push_back(waiting[i]);
            waiting.clear();
            for (Fiber* f : all) enter(f, waiting);
        }
    }
    static void barrier()
    {
        Block& b = *running_;
        Fiber& f = *b.current_;
        f.thread = now_running.thread;
        f.waiting = true;
        f.place.leave_for(b.home_);
    }

private:
    static void work()
    {
        Block& b = *running_;
        while (b.next_ < b.threads_.size()) {
            now_running.thread = place(b.threads_[b.next_++], now_running.threads);
            b.kernel_.invoke(b.parameters_);
        }
        b.current_->waiting = false;
        b.current_->place.leave_for(b.home_);
    }
    Fiber* fresh()
    {
        Fiber* f;
        if (idle_.empty()) {
            f = new Fiber;
        } else {
            f = idle_.back();
            idle_.pop_back();
        }
        f->place.begin(f->stack.get(), Fiber::stack_bytes, work);
        return f;
    }
    void enter(Fiber* f, std::vector<Fiber*>& waiting)
    {
        now_running.thread = f->thread;
        f->waiting = false;
        current_ = f;
        home_.leave_for(f->place);
        (f->waiting ? waiting : idle_).push_back(f);
    }

    static Block* running_;
    const Kernel& kernel_;
    void** parameters_;
    std::vector<unsigned> threads_;
    std::size_t next_ = 0;
    static std::vector<Fiber*> idle_;  ///< of all kernels: a stack is made once
    Fiber* current_ = nullptr;
    Place home_;
};
Block* Block::running_ = nullptr;
std::vector<Fiber*> Block::idle_;

}  // namespace

Now* now() { return &now_running; }

void set_order(Order order, unsigned seed)
{
    order_now = order;
    generator.seed(seed);
}

void run_kernel(const Kernel& k, void** parameters, Dimensions blocks, Dimensions threads)
{
    now_running = {{}, {}, threads, blocks, &Block::barrier, &set_condition};
    Block block(k, parameters);
    for (const unsigned i : in_order(blocks.x * blocks.y * blocks.z)) {
        now_running.block = place(i, blocks);
        block.run();
    }
}

}  // namespace fake
