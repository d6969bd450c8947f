/*===- te_runtime.h - the C ABI between compiled programs and a GPU runtime -===*\
|*                                                                            *|
|* Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* The first part is the mgpu* ABI that MLIR's gpu-to-llvm emits; the second  *|
|* is the error state that takes the place of abort(), the third what is done *|
|* by a library, the fourth collectives. Every implementation of the runtime  *|
|* has these. The fifth part belongs to the emulator alone.                   *|
|*                                                                            *|
|* Nothing here aborts. The first failure of a thread becomes its sticky      *|
|* error; until it is cleared, calls of that thread that allocate, copy, load *|
|* or launch do nothing and return null. Calls that release something always  *|
|* work, so that a failed program can clean up.                               *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef TE_RUNTIME_TE_RUNTIME_H
#define TE_RUNTIME_TE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define TE_RUNTIME_EXPORT __declspec(dllexport)
#else
#define TE_RUNTIME_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*\
|* The mgpu* ABI                                                              *|
\*===----------------------------------------------------------------------===*/

/* Modules, functions, streams and events are opaque handles. A null stream is
   the default stream. */

/** Loads a kernel module of `size` bytes: a cubin or fatbin on CUDA, the
    bitcode of gpu-module-to-binary{format=llvm} in the emulator. */
TE_RUNTIME_EXPORT void *mgpuModuleLoad(void *data, size_t size);

/** Loads a zero-terminated PTX module; the emulator has no PTX reader. */
TE_RUNTIME_EXPORT void *mgpuModuleLoadJIT(void *data, int optLevel);

TE_RUNTIME_EXPORT void mgpuModuleUnload(void *module);

/** Returns the kernel of that name, which lives as long as its module. */
TE_RUNTIME_EXPORT void *mgpuModuleGetFunction(void *module, const char *name);

/** Launches a kernel. `params` holds one pointer to each argument's value,
    `smem` is the size of the dynamic shared memory in bytes. A grid with a
    zero dimension launches nothing. */
TE_RUNTIME_EXPORT void
mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY, intptr_t gridZ,
                 intptr_t blockX, intptr_t blockY, intptr_t blockZ,
                 int32_t smem, void *stream, void **params, void **extra,
                 size_t paramsCount);

/** As above with thread block clusters, which the emulator refuses. */
TE_RUNTIME_EXPORT void mgpuLaunchClusterKernel(
    void *function, intptr_t clusterX, intptr_t clusterY, intptr_t clusterZ,
    intptr_t gridX, intptr_t gridY, intptr_t gridZ, intptr_t blockX,
    intptr_t blockY, intptr_t blockZ, int32_t smem, void *stream, void **params,
    void **extra, size_t paramsCount);

TE_RUNTIME_EXPORT void *mgpuStreamCreate(void);
TE_RUNTIME_EXPORT void mgpuStreamDestroy(void *stream);
TE_RUNTIME_EXPORT void mgpuStreamSynchronize(void *stream);
TE_RUNTIME_EXPORT void mgpuStreamWaitEvent(void *stream, void *event);

TE_RUNTIME_EXPORT void *mgpuEventCreate(void);
TE_RUNTIME_EXPORT void mgpuEventDestroy(void *event);
TE_RUNTIME_EXPORT void mgpuEventSynchronize(void *event);
TE_RUNTIME_EXPORT void mgpuEventRecord(void *event, void *stream);

/** Returns device memory, aligned to 256 bytes; null on failure. A size of
    zero gives a valid pointer of its own. Shared memory (`isHostShared`) may
    be accessed by the host too. */
TE_RUNTIME_EXPORT void *mgpuMemAlloc(uint64_t sizeInBytes, void *stream,
                                     bool isHostShared);
TE_RUNTIME_EXPORT void mgpuMemFree(void *ptr, void *stream);

/** Copies between any two of host and device. */
TE_RUNTIME_EXPORT void mgpuMemcpy(void *dst, void *src, size_t sizeInBytes,
                                  void *stream);
/** Fills `count` elements of 4 or 2 bytes. */
TE_RUNTIME_EXPORT void mgpuMemset32(void *dst, unsigned int value,
                                    size_t count, void *stream);
TE_RUNTIME_EXPORT void mgpuMemset16(void *dst, unsigned short value,
                                    size_t count, void *stream);

/** Make host memory accessible to kernels, and end that. */
TE_RUNTIME_EXPORT void mgpuMemHostRegister(void *ptr, uint64_t sizeInBytes);
TE_RUNTIME_EXPORT void mgpuMemHostUnregister(void *ptr);
/** The same for a memref, given as its rank, descriptor and element size. */
TE_RUNTIME_EXPORT void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor,
                                                 int64_t elementSizeInBytes);
TE_RUNTIME_EXPORT void mgpuMemHostUnregisterMemRef(int64_t rank,
                                                   void *descriptor,
                                                   int64_t elementSizeInBytes);

/** Chooses the device of later calls; the emulator has device 0 only. */
TE_RUNTIME_EXPORT void mgpuSetDefaultDevice(int32_t device);

/*===----------------------------------------------------------------------===*\
|* The error state                                                            *|
\*===----------------------------------------------------------------------===*/

/** Returns the calling thread's error, one line, or null. The string lives
    until the error is cleared. */
TE_RUNTIME_EXPORT const char *teRuntimeGetError(void);

TE_RUNTIME_EXPORT void teRuntimeClearError(void);

/** Sets the calling thread's error unless it has one already. */
TE_RUNTIME_EXPORT void teRuntimeSetError(const char *message);

/** Sets the error if the condition is false. Compiled host code calls it for
    checks at run time. */
TE_RUNTIME_EXPORT void teRuntimeCheck(bool condition, const char *message);

/*===----------------------------------------------------------------------===*\
|* Matrix products                                                            *|
\*===----------------------------------------------------------------------===*/

/** Formats of elements. E2M1 is stored in pairs, the even element in the low
    half of a byte. */
enum TeFormat {
  TE_FORMAT_F32,
  TE_FORMAT_BF16,
  TE_FORMAT_F16,
  TE_FORMAT_E4M3,
  TE_FORMAT_E5M2,
  TE_FORMAT_E2M1,
  TE_FORMAT_E8M0
};

/** The dims of a tensor of scales: [line][block], [block][line], or tiles of
    128 lines by 4 blocks, each in the order that tensor cores read. The last
    dim of the first two is padded. */
enum TeScaleOrder {
  TE_SCALES_LINES_FIRST,
  TE_SCALES_BLOCKS_FIRST,
  TE_SCALES_TILES
};

/** An operand of a product: lines along the contracted dimension. Element k of
    a line is code[k] * scale[k / block] * factor / divisor. All fields are
    words of 8 bytes, and all pointers to device memory. */
typedef struct TeGemmOperand {
  const void *codes;
  /** Null without blocks; then the next five fields mean nothing. */
  const void *scales;
  int64_t scaleFormat;
  int64_t block;
  int64_t linesPerScale;
  int64_t scaleOrder;
  /** What the last dim is padded to a multiple of. */
  int64_t scalePadding;
  /** f32 values, one of each line or one in all; null is 1. */
  const void *factor;
  int64_t hasLineFactors;
  int64_t divisor;
  int64_t format;
  /** Whether the codes of a line follow each other, or else those of one index
      of all lines. */
  int64_t isLineMajor;
} TeGemmOperand;

/** A product with a row for each line of `b` and a column for each line of `a`:
    the sum of the products in f32, times factors, plus the result if it
    accumulates, plus the bias, rounded once. With `preActivation` that value
    goes there, and its gelu (tanh form) to the result. Where one operand has a
    factor of each line, the value is rounded before the result is added. A
    product of depth 0 is zero, without bias, or leaves what it would be added
    to. */
typedef struct TeGemm {
  TeGemmOperand a, b;
  int64_t rows, cols, depth;
  /** One element of each column; may be null. */
  const void *bias;
  int64_t biasFormat;
  void *result;
  int64_t resultFormat;
  int64_t accumulates;
  void *preActivation;
  int64_t preActivationFormat;
} TeGemm;

/** Multiplies on the stream. What a program calls that was compiled with
    gemm=library. */
TE_RUNTIME_EXPORT void teRuntimeGemm(const TeGemm *gemm, void *stream);

/*===----------------------------------------------------------------------===*\
|* Collectives                                                                *|
\*===----------------------------------------------------------------------===*/

/* A program names groups of ranks; the host says which ranks they are. What it
   says holds for the calling thread: a process may run several ranks, each in
   a thread of its own. All ranks of a group make the same calls in the same
   order. A group that is not known, or has another size than the program was
   compiled for, is an error. */

/** Makes the calling thread `rank` of the `size` ranks that `communicator`
    connects: an ncclComm_t on CUDA, in the emulator the result of
    teEmulatorCommunicatorCreate. A null `group` stands for every group that has
    no communicator of its own; a null `communicator` ends the membership. */
TE_RUNTIME_EXPORT void teRuntimeSetGroup(const char *group, int64_t rank,
                                         int64_t size, void *communicator);

/** What teAllReduce does with the elements of the ranks. The maximum leaves NaN
    out where another rank has a number. */
enum TeReduction { TE_SUM = 0, TE_MAX = 1 };

/** Copies the `sizeInBytes` bytes at `src` of rank k to `dst` of every rank, k
    times as many bytes from its start. */
TE_RUNTIME_EXPORT void teAllGather(const char *group, int64_t size,
                                   const void *src, void *dst,
                                   uint64_t sizeInBytes, void *stream);

/** Adds the elements at `src` of all ranks and gives each rank `count` of the
    sums, rank k those from k * count on. `format` is a TeFormat of 16 or more
    bits, here and below. */
TE_RUNTIME_EXPORT void teReduceScatter(const char *group, int64_t size,
                                       const void *src, void *dst,
                                       uint64_t count, int32_t format,
                                       void *stream);

/** Combines the `count` elements at `src` of all ranks; `dst` may be `src`. */
TE_RUNTIME_EXPORT void teAllReduce(const char *group, int64_t size,
                                   const void *src, void *dst, uint64_t count,
                                   int32_t format, int32_t reduction,
                                   void *stream);

/*===----------------------------------------------------------------------===*\
|* The emulator                                                               *|
\*===----------------------------------------------------------------------===*/

typedef struct TeEmulatorOptions {
  /** Number of host threads that run blocks; 0 is one for each hardware
      thread. With 1, blocks run in order and atomics are reproducible. */
  int32_t workers;
  /** Check every access of a kernel for bounds, alignment and lifetime, and
      fill fresh device memory with 0xFF (default true). The options below
      need the access checks and make them with or without this one. */
  bool checks;
  /** Count memory traffic for teEmulatorWriteStats (default false). */
  bool statistics;
  /** Find accesses of different threads to the same shared memory without a
      barrier between them (default false). */
  bool raceChecks;
} TeEmulatorOptions;

/** Connects `size` ranks, each a thread of this process. Sums are made in the
    order of the ranks in f32 and rounded once. A rank that has an error or ends
    its membership while others wait makes their calls fail. */
TE_RUNTIME_EXPORT void *teEmulatorCommunicatorCreate(int64_t size);

/** Destroys a communicator of which no thread is a member any more. */
TE_RUNTIME_EXPORT void teEmulatorCommunicatorDestroy(void *communicator);

/** Returns the options in force. */
TE_RUNTIME_EXPORT TeEmulatorOptions teEmulatorGetOptions(void);

/** Sets the options of later calls, for all threads. */
TE_RUNTIME_EXPORT void teEmulatorSetOptions(TeEmulatorOptions options);

/** Runs host code with device memory closed to it, as on a machine with a
    card. An access of the host to device memory, or any other invalid access,
    division by zero or illegal instruction, ends `fn` at that point, without
    unwinding, and becomes the calling thread's error. Outside of a guarded
    call device memory is open. Returns 0 if `fn` came to its end and the thread
    has no error, otherwise 1. Calls may nest. */
TE_RUNTIME_EXPORT int teEmulatorCallGuarded(void (*fn)(void *), void *arg);

/** Returns how many faults of kernels and of host code were found since the
    start of the process or the last reset of the statistics. */
TE_RUNTIME_EXPORT uint64_t teEmulatorGetFaultCount(void);

/** Forgets the counts and faults found so far. */
TE_RUNTIME_EXPORT void teEmulatorResetStats(void);

/** Writes what was counted as JSON:

      {"kernels": {NAME: [{"grid": [x, y, z], "block": [x, y, z],
                           "shared_bytes": n, "launches": n,
                           "bytes_read": n, "bytes_written": n,
                           "sectors_read": n, "sectors_written": n,
                           "bank_conflicts": n}, ...], ...},
       "faults": [TEXT, ...]}

    with one entry for each launch configuration of a kernel. Bytes and sectors
    are those of global memory; a sector is 32 bytes and counts once for each
    execution of an instruction by a warp. Bank conflicts are the wavefronts of
    shared memory accesses beyond those that the access size needs. Returns 0,
    or 1 with the error set when the file cannot be written. */
TE_RUNTIME_EXPORT int teEmulatorWriteStats(const char *path);

#ifdef __cplusplus
}
#endif

#endif /* TE_RUNTIME_TE_RUNTIME_H */
