// The functions of libcuda, NVRTC and cuBLAS that are used, with prototypes of our own: nothing of CUDA is read when a program is
// built. Names and parameters are the same in versions 12 and 13.
#pragma once

#include <cstddef>

namespace wengert::detail::gpu {

using Result = int;                  ///< CUresult, nvrtcResult, cublasStatus_t: 0 is success
using Address = unsigned long long;  ///< CUdeviceptr

struct Context;
struct Stream;
struct Event;
struct Module;
struct Function;
struct WorkGraph;      ///< CUgraph: work that was captured
struct WorkGraphExec;  ///< CUgraphExec: made ready to be done
struct WorkNode;       ///< CUgraphNode: a piece of it
struct Program;        ///< nvrtcProgram
struct Blas;           ///< cublasHandle_t

/// Results that something is done about.
enum : Result { success = 0, out_of_memory = 2, no_binary = 209, not_supported = 801 };

/// CUdevice_attribute.
enum class Attribute : int {
    multiprocessors = 16,
    compute_major = 75,
    compute_minor = 76,
    memory_pools = 115,
};

/// CUgraphNodeParams of a node whose bodies run as a condition says.
struct ConditionalParameters {
    enum Kind : int { once = 0, repeatedly = 1 };
    int type = 13;  ///< CU_GRAPH_NODE_TYPE_CONDITIONAL
    int zero[3] = {};
    unsigned long long condition = 0;
    Kind kind = once;
    unsigned size = 1;             ///< how many bodies
    WorkGraph** bodies = nullptr;  ///< made by the driver
    Context* context = nullptr;
    long long zeros[26] = {};
};
static_assert(sizeof(ConditionalParameters) == 256);

/// CUgraphExecUpdateResultInfo: why one is not like the other.
struct UpdateResult {
    int result = 0;
    WorkNode *node = nullptr, *from = nullptr;
};

/// libcuda.
struct DriverFunctions {
    Result (*init)(unsigned flags);
    Result (*version)(int* version);
    Result (*error_name)(Result, const char** name);
    Result (*error_text)(Result, const char** text);
    Result (*device_count)(int* count);
    Result (*device)(int* device, int ordinal);
    Result (*device_name)(char* name, int size, int device);
    Result (*attribute)(int* value, Attribute, int device);
    Result (*retain_context)(Context**, int device);
    Result (*set_context)(Context*);
    Result (*memory_info)(std::size_t* free, std::size_t* total);
    Result (*make_stream)(Stream**, unsigned flags);
    Result (*wait_for_stream)(Stream*);
    Result (*make_event)(Event**, unsigned flags);
    Result (*record)(Event*, Stream*);
    Result (*wait_for_event)(Event*);
    Result (*wait_in_stream)(Stream*, Event*, unsigned flags);
    Result (*end_event)(Event*);
    Result (*take)(Address*, std::size_t bytes);
    Result (*give)(Address);
    Result (*take_in_order)(Address*, std::size_t bytes, Stream*);
    Result (*give_in_order)(Address, Stream*);
    Result (*take_pinned)(void**, std::size_t bytes, unsigned flags);
    Result (*to_device)(Address to, const void* from, std::size_t bytes, Stream*);
    Result (*to_host)(void* to, Address from, std::size_t bytes, Stream*);
    Result (*on_device)(Address to, Address from, std::size_t bytes, Stream*);
    Result (*between_devices)(Address to, Context*, Address from, Context*, std::size_t bytes, Stream*);
    Result (*set_bytes)(Address to, unsigned char value, std::size_t count, Stream*);
    Result (*set_words)(Address to, unsigned value, std::size_t count, Stream*);
    Result (*load)(Module**, const void* image, unsigned options, int* names, void** values);
    Result (*find)(Function**, Module*, const char* name);
    Result (*launch)(Function*, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                     unsigned threads_y, unsigned threads_z, unsigned shared, Stream*, void** parameters,
                     void** extra);
    Result (*set_limit)(Function*, int what, int value);
    Result (*is_captured)(Stream*, int* status);  ///< status 0: it is not
    Result (*begin_capture)(Stream*, int mode);
    Result (*end_capture)(Stream*, WorkGraph**);
    Result (*exchange_capture_mode)(int* mode);  ///< of the thread
    Result (*instantiate)(WorkGraphExec**, WorkGraph*, unsigned long long flags);
    Result (*launch_graph)(WorkGraphExec*, Stream*);
    Result (*end_graph)(WorkGraph*);
    Result (*end_executable)(WorkGraphExec*);
    /// From now on it does what was captured, which has the same nodes with other parameters.
    Result (*update)(WorkGraphExec*, WorkGraph*, UpdateResult*);
    /// Of all streams that there have been.
    Result (*stream_id)(Stream*, unsigned long long* id);
    // those of drivers from 12.4 on
    Result (*make_condition)(unsigned long long* condition, WorkGraph*, Context*, unsigned first,
                             unsigned flags);
    Result (*add_node)(WorkNode**, WorkGraph*, WorkNode* const* after, const void* edges, std::size_t count,
                       ConditionalParameters*);
    Result (*begin_capture_to)(Stream*, WorkGraph*, WorkNode* const* after, const void* edges,
                               std::size_t count, int mode);
    Result (*capture_info)(Stream*, int* status, unsigned long long* id, WorkGraph**, WorkNode* const** last,
                           std::size_t* count);
    Result (*set_last)(Stream*, WorkNode** last, std::size_t count, unsigned flags);
};

template <class Find> void each_function(DriverFunctions& f, const Find& find)
{
    find(f.init, "cuInit");
    find(f.version, "cuDriverGetVersion");
    find(f.error_name, "cuGetErrorName");
    find(f.error_text, "cuGetErrorString");
    find(f.device_count, "cuDeviceGetCount");
    find(f.device, "cuDeviceGet");
    find(f.device_name, "cuDeviceGetName");
    find(f.attribute, "cuDeviceGetAttribute");
    find(f.retain_context, "cuDevicePrimaryCtxRetain");
    find(f.set_context, "cuCtxSetCurrent");
    find(f.memory_info, "cuMemGetInfo_v2");
    find(f.make_stream, "cuStreamCreate");
    find(f.wait_for_stream, "cuStreamSynchronize");
    find(f.make_event, "cuEventCreate");
    find(f.record, "cuEventRecord");
    find(f.wait_for_event, "cuEventSynchronize");
    find(f.wait_in_stream, "cuStreamWaitEvent");
    find(f.end_event, "cuEventDestroy_v2");
    find(f.take, "cuMemAlloc_v2");
    find(f.give, "cuMemFree_v2");
    find(f.take_in_order, "cuMemAllocAsync");
    find(f.give_in_order, "cuMemFreeAsync");
    find(f.take_pinned, "cuMemHostAlloc");
    find(f.to_device, "cuMemcpyHtoDAsync_v2");
    find(f.to_host, "cuMemcpyDtoHAsync_v2");
    find(f.on_device, "cuMemcpyDtoDAsync_v2");
    find(f.between_devices, "cuMemcpyPeerAsync");
    find(f.set_bytes, "cuMemsetD8Async");
    find(f.set_words, "cuMemsetD32Async");
    find(f.load, "cuModuleLoadDataEx");
    find(f.find, "cuModuleGetFunction");
    find(f.launch, "cuLaunchKernel");
    find(f.set_limit, "cuFuncSetAttribute");
    find(f.is_captured, "cuStreamIsCapturing");
    find(f.begin_capture, "cuStreamBeginCapture_v2");
    find(f.end_capture, "cuStreamEndCapture");
    find(f.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
    find(f.instantiate, "cuGraphInstantiateWithFlags");
    find(f.launch_graph, "cuGraphLaunch");
    find(f.end_graph, "cuGraphDestroy");
    find(f.end_executable, "cuGraphExecDestroy");
}
/// Null where the driver is older.
template <class Find> void each_later_function(DriverFunctions& f, const Find& find)
{
    find(f.update, "cuGraphExecUpdate_v2");
    find(f.stream_id, "cuStreamGetId");
    find(f.make_condition, "cuGraphConditionalHandleCreate");
    find(f.add_node, "cuGraphAddNode_v2");
    find(f.begin_capture_to, "cuStreamBeginCaptureToGraph");
    find(f.capture_info, "cuStreamGetCaptureInfo_v2");
    find(f.set_last, "cuStreamUpdateCaptureDependencies");
}

/// libnvrtc.
struct CompilerFunctions {
    Result (*version)(int* major, int* minor);
    const char* (*error_text)(Result);
    Result (*make)(Program**, const char* source, const char* name, int headers, const char* const* texts,
                   const char* const* names);
    Result (*compile)(Program*, int options, const char* const* option);
    Result (*code_size)(Program*, std::size_t*);
    Result (*code)(Program*, char*);
    Result (*ptx_size)(Program*, std::size_t*);
    Result (*ptx)(Program*, char*);
    Result (*log_size)(Program*, std::size_t*);
    Result (*log)(Program*, char*);
    Result (*end)(Program**);
};

template <class Find> void each_function(CompilerFunctions& f, const Find& find)
{
    find(f.version, "nvrtcVersion");
    find(f.error_text, "nvrtcGetErrorString");
    find(f.make, "nvrtcCreateProgram");
    find(f.compile, "nvrtcCompileProgram");
    find(f.code_size, "nvrtcGetCUBINSize");
    find(f.code, "nvrtcGetCUBIN");
    find(f.ptx_size, "nvrtcGetPTXSize");
    find(f.ptx, "nvrtcGetPTX");
    find(f.log_size, "nvrtcGetProgramLogSize");
    find(f.log, "nvrtcGetProgramLog");
    find(f.end, "nvrtcDestroyProgram");
}

/// libcublas: column-major, 0 for an operand as it is and 1 for its transpose.
struct BlasFunctions {
    template <class T>
    using Gemm = Result(Blas*, int ta, int tb, int m, int n, int k, const T* alpha, const T* a, int lda,
                        const T* b, int ldb, const T* beta, T* c, int ldc);
    template <class T>
    using Gemms = Result(Blas*, int ta, int tb, int m, int n, int k, const T* alpha, const T* a, int lda,
                         long long to_next_a, const T* b, int ldb, long long to_next_b, const T* beta, T* c,
                         int ldc, long long to_next_c, int count);
    Result (*make)(Blas**);
    Result (*set_stream)(Blas*, Stream*);
    Result (*set_workspace)(Blas*, void*, std::size_t bytes);  ///< of the stream that is set
    Gemm<float>* gemm_f32;
    Gemm<double>* gemm_f64;
    Gemms<float>* gemms_f32;
    Gemms<double>* gemms_f64;
};

template <class Find> void each_function(BlasFunctions& f, const Find& find)
{
    find(f.make, "cublasCreate_v2");
    find(f.set_stream, "cublasSetStream_v2");
    find(f.set_workspace, "cublasSetWorkspace_v2");
    find(f.gemm_f32, "cublasSgemm_v2");
    find(f.gemm_f64, "cublasDgemm_v2");
    find(f.gemms_f32, "cublasSgemmStridedBatched");
    find(f.gemms_f64, "cublasDgemmStridedBatched");
}

}  // namespace wengert::detail::gpu
