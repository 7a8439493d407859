// The fake devices, what is asked of them, and the errors of the driver by name: see fake.hpp.
#include "fake.hpp"

#include <cstdio>

namespace fake {
int version() { return number_of("VERSION", 12000); }
}  // namespace fake

using fake::Result;

FAKE_EXPORT Result cuInit(unsigned) { return fake::Call(__func__).result; }
FAKE_EXPORT Result cuDriverGetVersion(int* version)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *version = fake::version();
    return fake::success;
}
FAKE_EXPORT Result cuGetErrorName(Result r, const char** name)
{
    *name = r == 1     ? "CUDA_ERROR_INVALID_VALUE"
            : r == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : r == 100 ? "CUDA_ERROR_NO_DEVICE"
            : r == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
            : r == 500 ? "CUDA_ERROR_NOT_FOUND"
            : r == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : r == 900 ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
            : r == 801 ? "CUDA_ERROR_NOT_SUPPORTED"
            : r == 901 ? "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
            : r == 905 ? "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"
            : r == 999 ? "CUDA_ERROR_UNKNOWN"
                       : nullptr;
    return *name ? fake::success : fake::invalid_value;
}
FAKE_EXPORT Result cuGetErrorString(Result r, const char** text)
{
    *text = r == 2 ? "out of memory" : r == 700 ? "an illegal memory access was encountered" : "an error";
    return fake::success;
}
FAKE_EXPORT Result cuDeviceGetCount(int* count)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *count = fake::number_of("DEVICES", 1);
    return fake::success;
}
FAKE_EXPORT Result cuDeviceGet(int* device, int ordinal)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *device = ordinal;
    return ordinal < fake::number_of("DEVICES", 1) ? fake::success : 101;
}
FAKE_EXPORT Result cuDeviceGetName(char* name, int size, int)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    std::snprintf(name, static_cast<std::size_t>(size), "fake device");
    return fake::success;
}
FAKE_EXPORT Result cuDeviceGetAttribute(int* value, int attribute, int)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    const int architecture = fake::number_of("ARCHITECTURE", 90);
    *value = attribute == 16    ? 4
             : attribute == 75  ? architecture / 10
             : attribute == 76  ? architecture % 10
             : attribute == 115 ? 1
                                : 0;
    return fake::success;
}
/// A context is the address of its device's place here.
static char contexts[fake::most_devices];
static thread_local int current = 0;
int fake::current_device() { return current; }
void* fake::context() { return &contexts[current]; }

FAKE_EXPORT Result cuDevicePrimaryCtxRetain(void** context, int device)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *context = &contexts[device];
    return fake::success;
}
FAKE_EXPORT Result cuCtxSetCurrent(void* context)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    if (!context) return fake::invalid_value;
    current = static_cast<int>(static_cast<char*>(context) - contexts);
    return fake::success;
}
FAKE_EXPORT Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total)
{
    const fake::Call call(__func__);
    if (call.result) return call.result;
    *total = std::size_t{1} << 30;
    *free = *total - static_cast<std::size_t>(fake_cuda_bytes_taken());
    return fake::success;
}
