// What all kernels have in common: the few words that differ between a GPU and the emulator, sums over threads, and random
// numbers.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef EMULATED
#include "emulator.h"
#else
#define KERNEL extern "C" __global__ void
#define DEVICE __device__ __forceinline__
// All shared memory is dynamic: the host says how much a launch has.
extern __shared__ __align__(16) unsigned char shared_memory[];
#define SHARED(type) reinterpret_cast<type*>(shared_memory)
#define BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#define REGISTER(kernel)
#define READ_ONCE(from) __ldcs(from)

#if __CUDA_ARCH__ >= 800
// A number of 11 bits, as tensor cores multiply them.
struct Short {
    u32 bits;
};

__device__ __forceinline__ Short shorten(float number) {
    Short made;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(made.bits) : "f"(number));
    return made;
}

__device__ __forceinline__ float lengthen(Short number) { return __uint_as_float(number.bits); }

// Adds the product of a matrix of 16 x 8 and one of 8 x 8 to one of 16 x 8, of which each lane of a warp has a part.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const Short (&a)[4], const Short (&b)[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0].bits), "r"(a[1].bits), "r"(a[2].bits), "r"(a[3].bits), "r"(b[0].bits), "r"(b[1].bits));
}

// Begins to copy 16 bytes to shared memory, where they are after `await_copies`.
__device__ __forceinline__ void begin_copy(float4* to, const float4* from) {
    u32 address = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(address), "l"(from) : "memory");
}

// Waits for the copies that this thread has begun.
__device__ __forceinline__ void await_copies() { asm volatile("cp.async.wait_all;" : : : "memory"); }
#endif
#endif

static const u32 WHOLE_WARP = 0xffffffffu;
static const u32 NONE = 0xffffffffu;
static const int MOST_MODES = 8;

// A pivot below this share of its diagonal element is rounding.
#define LEAST_PIVOT 1e-9
#define LEAST_NUMBER 2.2250738585072014e-308

// An entry as sums read it: the id of its design, or its row, and its value.
struct __align__(8) Entry {
    u32 id;
    float value;
};

// An entry that is not needed again soon: it must not take the place of designs in caches.
DEVICE Entry read_entry(const Entry* from) {
    u64 word = READ_ONCE(reinterpret_cast<const u64*>(from));
    return {(u32)word, __uint_as_float((u32)(word >> 32))};
}

// The scalars of a model, all on the device: no draw waits for the host.
struct Scalars {
    double tau;
    // The precision of the prior of concepts that interact.
    double hurdle;
    // The sum of squared errors, each times its rows' shares, that `tau` is drawn from.
    double squares;
    // Conjugate gradients: the squared length of the residual; whether there is nothing left to do.
    double length;
    double stopped;
    // The mean of 1 / tau over the draws that count.
    double variance;
    double nu[MOST_MODES];
};

// What a pass over entries makes of each.
enum Visit {
    // Errors with their random part, and the sum of their squares.
    RESIDUALS = 0,
    // Predictions times their precision.
    WEIGHED = 1,
    // The sum of squares of predictions, each times its precision, and nothing else.
    SQUARES = 2,
};

// The concept of each mode that is its offset.
static const u32 OFFSET = 1;

// The precision of a row's entries without the shares of their other rows.
DEVICE double weight_of_row(const Scalars* scalars, const float* roots, u32 row) {
    return scalars->tau * (double)roots[row] * (double)roots[row];
}

DEVICE double prior_of(const Scalars* scalars, u32 concept) { return concept > OFFSET ? scalars->hurdle : 1.0; }

// Where a row's distribution is pulled to: by its entries, less what the first concept explains of them, and by the mean of its
// prior, if there is one.
DEVICE double pull_of(const float* sums, u32 triangle, u32 concept, double weight, double prior, const float* mean) {
    double pull = weight * ((double)sums[triangle + concept] - (double)sums[concept * (concept + 1) / 2]);
    if (mean) pull += prior * (double)mean[concept];
    return pull;
}

// What else the rows of a mode are drawn from; null where there is nothing of it, and all of it if there is no pull.
struct Terms {
    // A number for each row and concept.
    const float* pull;
    // For each row, what is added to the precision of all its concepts.
    const float* diagonal;
    // Added to the precision of every row: the triangle of a padded rank, as sums have it, the first concept included.
    const float* shared;

    DEVICE double precision(u32 row, u32 k, u32 l) const {
        double sum = shared ? (double)shared[k * (k + 1) / 2 + l] : 0.0;
        return diagonal && k == l ? sum + (double)diagonal[row] : sum;
    }

    // The pull, less what the first concept explains of it.
    DEVICE double side(u32 row, u32 rank, u32 concept) const {
        double sum = pull[(u64)row * rank + concept];
        return shared ? sum - (double)shared[concept * (concept + 1) / 2] : sum;
    }
};

// The ranks of a core, and how far apart the numbers of neighbouring concepts are.
struct Shape {
    u32 order;
    u32 len;
    u32 rank[MOST_MODES];
    u32 inner[MOST_MODES];
    // Where the concepts of each mode begin in lists over all modes.
    u32 first[MOST_MODES];
    // Whether interactions of different sets of modes have a precision of their own.
    u32 by_set;
};

DEVICE u32 concept_of(const Shape& shape, u32 place, u32 mode) {
    return place / shape.inner[mode] % shape.rank[mode];
}

DEVICE u32 set_of(const Shape& shape, u32 place) {
    u32 set = 0;
    for (u32 mode = 0; shape.by_set && mode < shape.order; ++mode) {
        set |= (concept_of(shape, place, mode) > 0 ? 1u : 0u) << mode;
    }
    return set;
}

// The modes that a level folds at once.
struct Folding {
    u32 modes;
    // The product of their ranks.
    u32 concepts;
    u32 ranks[MOST_MODES];
    u32 pads[MOST_MODES];
    const float* factors[MOST_MODES];
    const float* roots[MOST_MODES];
};

// Part of the work on a target (a row or a node): some of its elements, and where the sum over them goes.
struct Task {
    u32 start;
    u32 end;
    u32 slot;
    u32 target;
};

// A target whose elements are in several tasks: its slot is the sum of these slots.
struct Split {
    u32 target;
    u32 first;
    u32 count;
};

// Bounds that keep NaN, where fmin and fmax would make a number of it: what has gone wrong must not look like a good result.
template <class T>
DEVICE T at_least(T value, T least) {
    return value < least ? least : value;
}

template <class T>
DEVICE T at_most(T value, T most) {
    return value > most ? most : value;
}

// The sum of a number of each thread of a block, in a fixed order; `room` has a number per thread.
DEVICE double block_sum(double value, double* room) {
    const u32 few = 32;
    room[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x < few) {
        for (u32 i = threadIdx.x + few; i < blockDim.x; i += few) value += room[i];
        room[threadIdx.x] = value;
    }
    __syncthreads();
    double sum = 0.0;
    for (u32 i = 0; i < few; ++i) sum += room[i];
    __syncthreads();
    return sum;
}

// Adds up what two lanes have, each keeping a half.
template <int HALF, int SUMS>
DEVICE void halve(float (&sums)[SUMS], u32 lane, int mask) {
    bool upper = (lane & mask) != 0;
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
        float other = __shfl_xor_sync(WHOLE_WARP, upper ? sums[i] : sums[i + HALF], mask);
        sums[i] = (upper ? sums[i + HALF] : sums[i]) + other;
    }
}

// Random numbers: Philox 4x32 with 10 rounds. Its counter says what a number is for, so draws depend on nothing else.
enum Purpose { ROWS = 0, SHARES = 1, NU = 2, SCALES = 3, CORE = 4, PRIOR = 5, TAU = 6 };

struct Random {
    u32 key[2];
    u32 counter[4];
    u32 block[4];
    u32 left;

    DEVICE Random(u64 seed, u32 purpose, u32 mode, u32 place, u32 epoch) {
        key[0] = (u32)seed;
        key[1] = (u32)(seed >> 32);
        counter[0] = place;
        counter[1] = purpose << 8 | mode;
        counter[2] = epoch;
        counter[3] = 0;
        left = 0;
    }

    DEVICE void next_block() {
        u32 c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
        u32 k0 = key[0], k1 = key[1];
        for (int round = 0; round < 10; ++round) {
            u64 a = (u64)0xD2511F53u * c0, b = (u64)0xCD9E8D57u * c2;
            u32 n0 = (u32)(b >> 32) ^ c1 ^ k0, n2 = (u32)(a >> 32) ^ c3 ^ k1;
            c0 = n0, c1 = (u32)b, c2 = n2, c3 = (u32)a;
            k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
        }
        block[0] = c0, block[1] = c1, block[2] = c2, block[3] = c3;
        counter[3] += 1;
        left = 2;
    }

    // A number between 0 and 1, neither of them.
    DEVICE double uniform() {
        if (left == 0) next_block();
        left -= 1;
        u64 bits = left == 1 ? ((u64)block[0] << 32 | block[1]) : ((u64)block[2] << 32 | block[3]);
        return ((double)(bits >> 12) + 0.5) * (1.0 / 4503599627370496.0);
    }

    DEVICE double normal() {
        double radius = sqrt(-2.0 * log(uniform()));
        return radius * cos(6.283185307179586 * uniform());
    }

    // Of the gamma distribution of a shape of at least 1 (Marsaglia and Tsang).
    DEVICE double gamma(double shape, double rate) {
        double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
        for (;;) {
            double x = normal(), v = 1.0 + c * x;
            if (v <= 0.0) continue;
            v = v * v * v;
            if (log(uniform()) < 0.5 * x * x + d - d * v + d * log(v)) return d * v / rate;
        }
    }
};

// A random sign for an entry; one bit of a hash is enough where thousands of signs are summed up.
DEVICE float sign_of(u64 seed, u32 epoch, u32 entry) {
    u64 bits = seed ^ ((u64)epoch << 32 | entry) * 0x9E3779B97F4A7C15ull;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9ull;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBull;
    return (bits ^ bits >> 31) & 1 ? -1.0f : 1.0f;
}
