// A driver without a GPU: one shared library that exports the functions of libcuda, NVRTC and cuBLAS which wengert uses
// (include/wengert/cuda/driver/prototypes.hpp). WENGERT_CUDA_DRIVER names it.
//
//     WENGERT_FAKE_CUDA_VERSION=13000     what cuDriverGetVersion says (12000 when nothing is set)
//     WENGERT_FAKE_CUDA_DEVICES=2         how many devices there are (1)
//     WENGERT_FAKE_CUDA_BYTES=1000000     memory of each (2^30)
//     WENGERT_FAKE_CUDA_ORDER=random:7    in which order blocks and threads run: forwards, backwards, random:SEED
//     WENGERT_FAKE_CUDA_FAIL=cuMemAllocAsync:3:1:2   the third call, for once, returns 2; `*` counts calls of all functions
//     WENGERT_FAKE_CUDA_KEEP=FOLDER       where the text of all kernels that are compiled goes (bench/kernels.py)
//     WENGERT_FAKE_CUDA_ARCHITECTURE=75   of the devices (90)
//     WENGERT_FAKE_CUDA_FLAGS=-fsanitize=… the host's compiler is given for kernels
//     WENGERT_FAKE_CUDA_LATER=1           NVRTC hands text out as code, of which the driver makes some when it is loaded
//     WENGERT_FAKE_CUDA_NVRTC=FILE        a real NVRTC, which has to compile all text as well, for sm_80 and sm_90
//
// Tests may ask the same of the functions fake_cuda_… below.
//
// How it works. Kernels' text is compiled by the host's compiler behind prelude.hpp. A stream is a queue, which runs when somebody
// waits for it; one that is captured keeps what it is given for the graph. Several streams run interleaved as events allow, in an
// order of which each wait draws anew: the others only where they must, the others first, or all at random. The threads
// of a block run one after another, each a function call; from its first barrier on a thread is a fiber of its own. Blocks and
// threads run forwards, backwards, or in a random order: what depends on it is wrong. Device memory can be read and written while
// a kernel or a copy runs, and is a segmentation fault otherwise. It is full of NaNs (0xFF) when it is given and when it has been
// taken back, and lies between red zones: after every run of queues those are looked at, and a changed one is error 700, which
// stays, as on a device. Copies of what is no device memory are refused. Each device has memory, streams and events of its own: a
// kernel that touches another device's memory is a segmentation fault, and work for a stream of another context is error 400.
//
// Nodes of a graph run after those that they depend on, else the last one first. Conditional nodes (from version 12040 on; a call before is
// error 700) look at a number that begins anew with each launch and that kernels of that launch alone set. Refused are what a driver
// refuses: a condition without a node, or with two, a second executable of such a graph, one in another graph, memory that is taken in a
// body, and by cuBLAS a handle that is made in a capture, and work without a workspace in any graph. A body whose capture fails is
// freed, and who ends the graph around it ends the process.
//
// The driver and the kernels may be compiled with sanitizers (WENGERT_SANITIZED_CUDA in cuda.cmake): then nothing reads a byte of
// device memory or of a block's shared memory that was not taken, and accesses are aligned.
//
// What it cannot see: races between blocks, and between threads from one barrier to the next; memory order; misaligned accesses
// without sanitizers;
// the limits of registers and of shared memory; warps that diverge; what differs between the host's arithmetic and a device's;
// accesses that jump over a red zone; and any real timing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace fake {

using Result = int;
using Address = unsigned long long;

enum : Result {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    no_device = 100,
    no_binary = 209,
    invalid_handle = 400,
    not_found = 500,
    illegal_address = 700
};

/// A call of a function, one at a time: counted. What it is to return instead of doing anything: set by a test, or the device has
/// failed for good.
class Call {
public:
    explicit Call(const char* function);
    Result result;

private:
    std::unique_lock<std::recursive_mutex> lock_;
};

/// One that may be unsafe beside a capture. It spoils those that forbid it to this thread, and is refused.
class UnsafeCall : public Call {
public:
    explicit UnsafeCall(const char* function);
};

/// What a test has ordered of the next call of this name: 0 for nothing.
Result ordered(const char* function);
Result failed();  ///< for good
void fail_for_good(const std::string& why);

/// Whose context is this thread's? What is made is of that device, and work is put in its streams alone.
constexpr int most_devices = 8;
int current_device();

/// So many bytes have been asked to be copied or set by the function.
void moved(const char* function, std::size_t bytes);

/// Memory.
void open_memory();   ///< kernels and copies may touch it
void close_memory();  ///< nobody may
Result take(Address* p, std::size_t bytes, int device);
/// While it lives memory of other devices is out of reach, with memory open.
class OnlyMemoryOf {
public:
    explicit OnlyMemoryOf(int device);
    OnlyMemoryOf(const OnlyMemoryOf&) = delete;
    OnlyMemoryOf& operator=(const OnlyMemoryOf&) = delete;
    ~OnlyMemoryOf();

private:
    int device_;
};
void fill_fresh(Address p);  ///< with memory open
void give(Address p);        ///< with memory open
bool is_live(Address p, std::size_t bytes);
bool red_zones_are_whole();

/// Streams.
struct Stream;
Stream* existing(Stream* s);  ///< the default streams of each device are the numbers 0, 1 and 2
void put(Stream* s, std::function<void()> work);
int device_of(Stream* s);
/// Does it write a graph?
bool is_written(Stream* s);
/// Does this thread capture anything in mode relaxed, as the library does?
bool thread_writes();
/// Does it write the body of a conditional node? Nothing takes or gives memory there.
bool is_body(Stream* s);
Result spoil(Stream* s);  ///< what it writes is lost
Result run(Stream* s);    ///< until all that it was given is done
Result run_all();
void drop_all_work();

/// Kernels: what prelude.hpp has of each.
struct Dimensions {
    unsigned x = 1, y = 1, z = 1;
};
struct Now {
    Dimensions thread, block, threads, blocks;
    void (*barrier)();
    void (*set_condition)(std::uint64_t, unsigned);
};
void set_condition(std::uint64_t handle, unsigned value);  ///< cudaGraphSetConditional of a kernel
struct Kernel {
    void (*invoke)(void** parameters);
    int count;
    const std::size_t* sizes;
};
void run_kernel(const Kernel& k, void** parameters, Dimensions blocks, Dimensions threads);
Now* now();

enum class Order { forwards, backwards, random };
void set_order(Order order, unsigned seed);

std::string setting(const char* name);
int number_of(const char* name, int otherwise);
int version();    ///< of the driver
void* context();  ///< of all devices

/// What the host's compiler makes of a kernel's text; "" where it refuses.
std::string shared_object(const std::string& text, std::string& log);
std::string content(const std::string& path);
/// What is loaded: a head of 48 bytes, then a shared object, or the text of one. PTX has a negative architecture.
std::string image(const char* kind, int architecture, const std::string& bytes);

}  // namespace fake

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

/// Call number `after` from here on, and those after it, `times` in all, return `result`; after = 0: none. "a wait" is a wait of a
/// stream for an event, which is left out; "a kernel" one that runs, which is an illegal access then.
FAKE_EXPORT void fake_cuda_fail(const char* function, int after, int times, int result);
/// "forwards", "backwards", "random:7"
FAKE_EXPORT void fake_cuda_order(const char* order);
/// How often the function has been called.
FAKE_EXPORT long fake_cuda_calls(const char* function);
/// How many bytes it was to copy or set.
FAKE_EXPORT long fake_cuda_bytes_moved(const char* function);
/// Bytes that are taken at the moment.
FAKE_EXPORT long fake_cuda_bytes_taken();
/// Is this an address of device memory?
FAKE_EXPORT int fake_cuda_contains(const void* p);
/// From now on every call returns error 700.
FAKE_EXPORT void fake_cuda_break();
/// After an error that stays: the device works again.
FAKE_EXPORT void fake_cuda_heal();
