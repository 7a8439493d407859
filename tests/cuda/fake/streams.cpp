// Streams of the fake devices, and events: see fake.hpp.
#include "graphs.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace fake {

namespace {

struct State {
    std::vector<std::unique_ptr<Stream>> streams;
    std::mt19937 generator{12345};
    std::map<Event*, std::shared_ptr<Event>> events;
    std::vector<Stream*> ended;  ///< the next ones that are made have their addresses
    std::uint64_t ids = 0;
    int patience = 0;  ///< of streams nobody waits for: 0 they run when they must, 1 at once, 2 now and then
};
/// "forwards", "backwards", "random:7": of threads and blocks; of streams, as the number draws it.
void set_all_orders(State& all, const std::string& s)
{
    const auto colon = s.find(':');
    const auto seed = colon == s.npos ? 1U : static_cast<unsigned>(std::atoi(s.c_str() + colon + 1));
    if (colon != s.npos) all.generator.seed(seed);
    set_order(s == "forwards" ? Order::forwards : s == "backwards" ? Order::backwards : Order::random, seed);
}
State& state()
{
    static auto* const s = [] {
        auto* made = new State;
        if (const std::string order = setting("ORDER"); !order.empty()) set_all_orders(*made, order);
        return made;
    }();
    return *s;
}

/// One piece of work that is ready: of `s`, or of another stream, as it comes; of another one if s waits for it.
void step(Stream& s)
{
    State& all = state();
    std::vector<Stream*> ready;
    for (const auto& other : all.streams)
        if (!other->work.empty() && other->work.front().ready()) ready.push_back(other.get());
    if (ready.empty()) return fail_for_good("streams wait for each other");
    const auto own = std::find(ready.begin(), ready.end(), &s);
    const bool has_own = own != ready.end();
    if (has_own && ready.size() > 1 && all.patience < 2) {
        std::iter_swap(own, ready.begin());
        if (all.patience == 0)
            ready.resize(1);
        else
            ready.erase(ready.begin());
    }
    Stream& one = *ready[all.generator() % ready.size()];
    const Work work = std::move(one.work.front());
    one.work.pop_front();
    if (work.run) work.run();
}
template <class Done> Result run_until(Stream& s, const Done& done)
{
    State& all = state();
    all.patience = static_cast<int>(all.generator() % 3);
    open_memory();
    while (!done() && !failed()) step(s);
    if (!red_zones_are_whole()) fail_for_good("something has been written beyond the end of device memory");
    close_memory();
    return failed();
}

}  // namespace

void drop_all_work()
{
    for (const auto& s : state().streams) s->work.clear();
    for (const auto& [_, e] : state().events) e->reached = e->recorded;
}
Stream* existing(Stream* s)
{
    const auto number = reinterpret_cast<std::uintptr_t>(s);
    if (number > 2) return s;
    static std::map<std::pair<int, std::uintptr_t>, Stream*> defaults;
    Stream*& one = defaults[{current_device(), number}];
    if (!one) {
        state().streams.push_back(std::make_unique<Stream>());
        one = state().streams.back().get();
    }
    return one;
}
int device_of(Stream* s) { return existing(s)->device; }
void put(Stream* s, std::function<void()> work)
{
    s = existing(s);
    if (s->captures) return write(*s, std::move(work));
    s->work.push_back({std::move(work)});
    if (s->work.size() > 20000) run(s);
}
Result run(Stream* s)
{
    s = existing(s);
    return run_until(*s, [&] { return s->work.empty(); });
}
Result run_all()
{
    for (const auto& s : state().streams)
        if (const Result r = run(s.get())) return r;
    return success;
}

}  // namespace fake

using fake::Result;

void fake_cuda_order(const char* order) { fake::set_all_orders(fake::state(), order); }

FAKE_EXPORT Result cuStreamCreate(fake::Stream** stream, unsigned)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    fake::State& all = fake::state();
    if (all.ended.empty()) {
        all.streams.push_back(std::make_unique<fake::Stream>());
        *stream = all.streams.back().get();
    } else {
        *stream = all.ended.back();
        all.ended.pop_back();
        **stream = {};
    }
    (*stream)->id = ++all.ids;
    return fake::success;
}
// What it was given is done all the same; nobody may use it any more.
FAKE_EXPORT Result cuStreamDestroy_v2(fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    fake::State& all = fake::state();
    all.streams.push_back(std::make_unique<fake::Stream>());
    all.streams.back()->device = stream->device;
    all.streams.back()->work = std::move(stream->work);
    stream->work.clear();
    for (const auto& [_, e] : all.events)
        if (e->stream == stream) e->stream = all.streams.back().get();
    all.ended.push_back(stream);
    return fake::success;
}
FAKE_EXPORT Result cuStreamGetId(fake::Stream* stream, unsigned long long* id)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    stream = fake::existing(stream);
    if (stream->captures) return fake::spoil(stream);
    if (!stream->id) stream->id = ++fake::state().ids;  // a default stream
    *id = stream->id;
    return fake::success;
}
FAKE_EXPORT Result cuStreamSynchronize(fake::Stream* stream)
{
    const fake::UnsafeCall call(__func__);
    if (call.result) return call.result;
    stream = fake::existing(stream);
    if (stream->captures) return stream->spoilt = true, 900;
    return fake::run(stream);
}
FAKE_EXPORT Result cuEventCreate(fake::Event** event, unsigned)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    const auto made = std::make_shared<fake::Event>();
    fake::state().events[*event = made.get()] = made;
    return fake::success;
}
FAKE_EXPORT Result cuEventDestroy_v2(fake::Event* event)
{
    const fake::Call call(__func__);
    fake::state().events.erase(event);
    return call.result;
}
FAKE_EXPORT Result cuEventRecord(fake::Event* event, fake::Stream* stream)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    const std::shared_ptr<fake::Event> it = fake::state().events.at(event);
    it->stream = fake::existing(stream);
    if (it->device != it->stream->device) return fake::invalid_handle;
    if (it->stream->captures) return it->stream->spoilt = true, 900;
    fake::put(stream, [it, n = ++it->recorded] { it->reached = std::max(it->reached, n); });
    return fake::success;
}
FAKE_EXPORT Result cuStreamWaitEvent(fake::Stream* stream, fake::Event* event, unsigned)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    const std::shared_ptr<fake::Event> it = fake::state().events.at(event);
    stream = fake::existing(stream);
    if (stream->captures) return stream->spoilt = true, 905;  // CUDA_ERROR_STREAM_CAPTURE_ISOLATION
    if (fake::ordered("a wait")) return fake::success;
    if (it->reached < it->recorded) stream->work.push_back({nullptr, it, it->recorded});
    return fake::success;
}
FAKE_EXPORT Result cuEventSynchronize(fake::Event* event)
{
    const fake::UnsafeCall call(__func__);
    if (call.result) return call.result;
    const std::shared_ptr<fake::Event> it = fake::state().events.at(event);
    if (it->reached == it->recorded) return fake::success;
    return fake::run_until(*it->stream, [it, n = it->recorded] { return it->reached >= n; });
}
