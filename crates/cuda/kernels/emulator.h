// Enough of CUDA C++ to compile the kernels as plain C++ and to run a block's threads as fibers, one block after the other, for
// tests on machines without a GPU. It sees no races. Limits of a launch are those of a GPU, shared memory has no numbers in it when
// a block begins, and writing behind it is an error.
#pragma once

#include <algorithm>
#include <csetjmp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>
#include <ucontext.h>
#include <utility>
#include <vector>

#define KERNEL static void
#define DEVICE inline
#define BOUNDS(threads, blocks)
#define SHARED(type) reinterpret_cast<type*>(emulator::state->shared_memory)
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define REGISTER(kernel) static emulator::Registration PASTE(register_, kernel)(#kernel, kernel);
#define __restrict__
#define __align__(bytes) alignas(bytes)

struct Dim3 {
    unsigned x, y, z;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

#define READ_ONCE(from) (*(from))
inline float __uint_as_float(unsigned bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

namespace emulator {
const unsigned MOST_THREADS = 1024, WARP = 32;
const unsigned MOST_ROWS_OF_BLOCKS = 65535, MOST_SHARED = 64 << 10, BEHIND = 4 << 10;
// In all bytes it is NaN as a float or a double, and no place as a number.
const unsigned char NOTHING = 0xff;
const size_t STACK = 64 << 10;

// What becomes of a launch.
enum Outcome { NO_KERNEL = 0, DONE = 1, TOO_LARGE = 2, WRITTEN_BEHIND = 3 };

// Room for those who wait for each other: when all have come, they go on.
struct Barrier {
    unsigned waiting = 0, round = 0;
};

struct Fiber {
    unsigned thread = 0;
    bool over = false, begun = false;
    jmp_buf at;
    ucontext_t start;
    std::unique_ptr<char[]> stack;
};

// What runs on one thread of the host, so that tests can run beside each other.
struct State {
    // And something behind it.
    alignas(16) unsigned char shared_memory[MOST_SHARED + BEHIND];
    unsigned shared;
    Fiber fibers[MOST_THREADS];
    jmp_buf scheduler;
    Fiber* running;
    Barrier block_barrier, warp_barriers[MOST_THREADS / WARP];
    double exchanged[MOST_THREADS];
    float matrices[MOST_THREADS][6];
    void (*body)(void*);
    void* argument;
    Dim3 grid_dim, block_dim, block_idx, thread_idx;
};

inline thread_local std::unique_ptr<State> owner;
inline thread_local State* state __attribute__((tls_model("initial-exec"))) = nullptr;

inline void yield() {
    if (_setjmp(state->running->at) == 0) _longjmp(state->scheduler, 1);
    state->thread_idx = {state->running->thread, 0, 0};
}

inline void wait(Barrier& barrier, unsigned threads) {
    unsigned round = barrier.round;
    if (++barrier.waiting == threads) {
        barrier.waiting = 0;
        barrier.round += 1;
        return;
    }
    while (barrier.round == round) yield();
}

inline void fiber_main() {
    // The same stack serves thread after thread.
    for (;;) {
        state->body(state->argument);
        state->running->over = true;
        yield();
    }
}

inline void resume(Fiber& fiber) {
    state->running = &fiber;
    state->thread_idx = {fiber.thread, 0, 0};
    if (_setjmp(state->scheduler) != 0) return;
    if (fiber.begun) _longjmp(fiber.at, 1);
    fiber.begun = true;
    // Not filled with zeros: most of it is never touched.
    fiber.stack.reset(new char[STACK]);
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.get();
    fiber.start.uc_stack.ss_size = STACK;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, fiber_main, 0);
    setcontext(&fiber.start);
}

// Runs a block; false if it has written behind its shared memory.
inline bool run_block() {
    unsigned threads = state->block_dim.x, left = threads;
    state->block_barrier = {};
    std::memset(state->shared_memory, NOTHING, state->shared + BEHIND);
    for (auto& barrier : state->warp_barriers) barrier = {};
    for (unsigned thread = 0; thread < threads; ++thread) {
        state->fibers[thread].thread = thread;
        state->fibers[thread].over = false;
    }
    for (unsigned turns = 0; left > 0; ++turns) {
        if (turns > 100000000u) {
            std::fprintf(stderr, "threads of a block wait for each other without end\n");
            std::abort();
        }
        for (unsigned thread = 0; thread < threads; ++thread) {
            if (state->fibers[thread].over) continue;
            resume(state->fibers[thread]);
            if (state->fibers[thread].over) left -= 1;
        }
    }
    const unsigned char* behind = state->shared_memory + state->shared;
    return std::all_of(behind, behind + BEHIND, [](unsigned char byte) { return byte == NOTHING; });
}

template <class... A, size_t... I>
void call(void (*kernel)(A...), void** parameters, std::index_sequence<I...>) {
    kernel(*static_cast<std::decay_t<A>*>(parameters[I])...);
}

struct Call {
    void (*with)(void*, void**);
    void* kernel;
    void** parameters;
};

template <class... A>
void call_any(void* kernel, void** parameters) {
    call(reinterpret_cast<void (*)(A...)>(kernel), parameters, std::index_sequence_for<A...>{});
}

inline void call_body(void* call) {
    Call* own = static_cast<Call*>(call);
    own->with(own->kernel, own->parameters);
}

struct Entry {
    const char* name;
    void (*with)(void*, void**);
    void* kernel;
};

inline std::vector<Entry>& entries() {
    static std::vector<Entry> all;
    return all;
}

struct Registration {
    template <class... A>
    Registration(const char* name, void (*kernel)(A...)) {
        entries().push_back({name, call_any<A...>, reinterpret_cast<void*>(kernel)});
    }
};

template <class T>
T shuffle_xor(T value, int mask) {
    unsigned warp = state->running->thread / WARP;
    state->exchanged[state->running->thread] = value;
    wait(state->warp_barriers[warp], WARP);
    T other = static_cast<T>(state->exchanged[state->running->thread ^ mask]);
    wait(state->warp_barriers[warp], WARP);
    return other;
}
template <class T>
T shuffle(T value, int lane) {
    unsigned warp = state->running->thread / WARP;
    state->exchanged[state->running->thread] = value;
    wait(state->warp_barriers[warp], WARP);
    T other = static_cast<T>(state->exchanged[warp * WARP + lane]);
    wait(state->warp_barriers[warp], WARP);
    return other;
}
}  // namespace emulator

// What tensor cores do, see device.h.
struct Short {
    float number;
};

inline Short shorten(float number) {
    unsigned bits;
    std::memcpy(&bits, &number, sizeof bits);
    // To the nearest of 11 bits; what is no number stays none.
    if (number - number == 0.0f) bits = (bits + 0x1000u) & ~0x1fffu;
    return {__uint_as_float(bits)};
}

inline float lengthen(Short number) { return number.number; }

inline void multiply_add(float (&sum)[4], const Short (&a)[4], const Short (&b)[2]) {
    using emulator::state;
    unsigned thread = state->running->thread, warp = thread / emulator::WARP, lane = thread % emulator::WARP;
    auto all = state->matrices + warp * emulator::WARP;
    for (int i = 0; i < 4; ++i) all[lane][i] = a[i].number;
    for (int i = 0; i < 2; ++i) all[lane][4 + i] = b[i].number;
    emulator::wait(state->warp_barriers[warp], emulator::WARP);
    for (unsigned i = 0; i < 4; ++i) {
        unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (unsigned k = 0; k < 8; ++k) {
            sum[i] += all[row % 8 * 4 + k % 4][row / 8 + k / 4 * 2] * all[column * 4 + k % 4][4 + k / 4];
        }
    }
    emulator::wait(state->warp_barriers[warp], emulator::WARP);
}

// Copies are over when they begin.
inline void begin_copy(float4* to, const float4* from) { *to = *from; }
inline void await_copies() {}

#define threadIdx emulator::state->thread_idx
#define blockIdx emulator::state->block_idx
#define blockDim emulator::state->block_dim
#define gridDim emulator::state->grid_dim
#define __syncthreads() emulator::wait(emulator::state->block_barrier, emulator::state->block_dim.x)
#define __syncwarp() emulator::wait(emulator::state->warp_barriers[emulator::state->running->thread / emulator::WARP], emulator::WARP)
#define __shfl_sync(mask, value, lane) emulator::shuffle(value, lane)
#define __shfl_xor_sync(mask, value, lanes) emulator::shuffle_xor(value, lanes)

// Runs a kernel, and says what has become of it.
extern "C" int emulator_launch(const char* name, const unsigned* grid, unsigned threads, unsigned shared, void** parameters);
