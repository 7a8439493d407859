// What kernels are asked and nobody waits for: is there anything wrong? Each question has a place in the device's memory; answers are
// read where somebody has to wait for the device anyhow, and throw there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "driver.hpp"

namespace wengert::detail::gpu {

class Questions {
public:
    static constexpr std::size_t most = 256;

    explicit Questions(Stream* stream) : stream_(stream) {}

    /// Where kernels write a 1 for yes. `refuse` throws then. Waits for answers where there are too many open questions.
    Address ask(std::function<void()> refuse)
    {
        if (full()) {
            check(Driver::get().wait_for_stream(stream_), "cuStreamSynchronize");
            look();
        }
        const std::lock_guard lock(mutex_);
        if (!answers_) {
            check(Driver::get().take(&answers_, most * sizeof(std::int32_t)), "cuMemAlloc");
            clear();
        }
        open_.push_back(std::move(refuse));
        return answers_ + (open_.size() - 1) * sizeof(std::int32_t);
    }
    /// The stream has been waited for. Throws what the first of them throws that has been answered with yes.
    void look()
    {
        std::vector<std::function<void()>> asked;
        std::int32_t yes[most] = {};
        {
            const std::lock_guard lock(mutex_);
            if (open_.empty()) return;
            const Driver& d = Driver::get();
            check(d.to_host(yes, answers_, open_.size() * sizeof yes[0], stream_), "cuMemcpyDtoHAsync");
            check(d.wait_for_stream(stream_), "cuStreamSynchronize");
            if (std::find(yes, yes + open_.size(), 1) != yes + open_.size()) clear();
            asked.swap(open_);
        }
        for (std::size_t k = 0; k < asked.size(); ++k)
            if (yes[k]) asked[k]();
    }

private:
    bool full()
    {
        const std::lock_guard lock(mutex_);
        return open_.size() == most;
    }
    void clear() const { check(Driver::get().set_words(answers_, 0, most, stream_), "cuMemsetD32Async"); }

    Stream* stream_;
    std::mutex mutex_;
    Address answers_ = 0;
    std::vector<std::function<void()>> open_;
};

}  // namespace wengert::detail::gpu
