// Sums over the entries of a row, as sums.cu has them, on tensor cores.
//
// Eight entries at a time: their designs are a matrix, whose product with its own transpose is theirs to the sums. Tensor cores
// multiply numbers of 11 bits, so that each number is the sum of two of them, of which three products are taken; what is left out is
// 2^-22 of a product. Concepts are in an order in which each number is read once, by the lane that multiplies it, as it lies in
// memory: of lane 4 g + t are the `PARTS` concepts from g PARTS on, of the entries t and t + 4. The matrix's row 8 m + g is
// concept g PARTS + m.
#include "device.h"

static const int STRIDE = PAD + 8;
static const int TRIANGLE = PAD * (PAD + 1) / 2;
static const int PARTS = PAD / 8;
// Blocks of 16 rows of the products, of which each has the blocks of 8 columns up to its last row.
static const int SIDES = (PARTS + 1) / 2;
static const int HALVES = 2;
static const int SHIFT = 4;

// What a lane has of eight entries.
struct Eight {
    float designs[HALVES][PARTS];
    float scaled[HALVES];
    float signs[HALVES];
};

DEVICE void read_part(const float* from, float (&to)[PARTS]) {
    if (PARTS % 4 == 0) {
#pragma unroll
        for (int i = 0; i < PARTS / 4; ++i) {
            float4 some = reinterpret_cast<const float4*>(from)[i];
            to[4 * i] = some.x, to[4 * i + 1] = some.y, to[4 * i + 2] = some.z, to[4 * i + 3] = some.w;
        }
    } else {
#pragma unroll
        for (int i = 0; i < PARTS; ++i) to[i] = from[i];
    }
}

// What is not there is zero.
template <bool SIGNED>
DEVICE void read_eight(const Entry (&some)[HALVES], const float* __restrict__ designs, u32 group, u64 seed, u32 epoch, u32 first, Eight& eight) {
#pragma unroll
    for (int half = 0; half < HALVES; ++half) {
#pragma unroll
        for (int m = 0; m < PARTS; ++m) eight.designs[half][m] = 0.0f;
        eight.scaled[half] = 0.0f;
        if (some[half].id != NONE) {
            const float* design = designs + (u64)some[half].id * STRIDE;
            read_part(design + group * PARTS, eight.designs[half]);
            eight.scaled[half] = design[PAD] * some[half].value;
        }
        eight.signs[half] = SIGNED ? sign_of(seed, epoch, first + SHIFT * half) : 0.0f;
    }
}

DEVICE void find_entries(const Entry* __restrict__ entries, u32 first, u32 end, Entry (&some)[HALVES]) {
#pragma unroll
    for (int half = 0; half < HALVES; ++half) {
        some[half] = first + SHIFT * half < end ? read_entry(entries + first + SHIFT * half) : Entry{NONE, 0.0f};
    }
}

template <bool SIGNED>
DEVICE void sum_up(const Task* __restrict__ tasks, u32 count, const Entry* __restrict__ entries,
                   const float* __restrict__ designs, u64 seed, u32 epoch, float* __restrict__ out, float* __restrict__ squares) {
    const int NUMBERS = TRIANGLE + (SIGNED ? 2 : 1) * PAD;
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, turn = lane % 4;
    u32 place = blockIdx.x * (blockDim.x / 32) + warp;
    Task task = {0, 0, NONE, 0};
    if (place < count) task = tasks[place];
    float sums[SIDES][PARTS][4], products[PARTS], signed_sums[PARTS], square = 0.0f;
#pragma unroll
    for (int m = 0; m < PARTS; ++m) {
        products[m] = signed_sums[m] = 0.0f;
#pragma unroll
        for (int r = 0; r < SIDES; ++r) sums[r][m][0] = sums[r][m][1] = sums[r][m][2] = sums[r][m][3] = 0.0f;
    }
    // Designs of eight entries are on the way while those of eight are multiplied, and which the next are is known.
    Entry now[HALVES], next[HALVES];
    Eight eight, ahead;
    u32 first = task.start + turn;
    find_entries(entries, first, task.end, now);
    find_entries(entries, first + 8, task.end, next);
    read_eight<SIGNED>(now, designs, group, seed, epoch, first, ahead);
    for (u32 done = task.start; done < task.end; done += 8, first += 8) {
        eight = ahead;
        read_eight<SIGNED>(next, designs, group, seed, epoch, first + 8, ahead);
        find_entries(entries, first + 16, task.end, next);
        Short upper[HALVES][PARTS], lower[HALVES][PARTS];
#pragma unroll
        for (int half = 0; half < HALVES; ++half) {
            square += eight.scaled[half] * eight.scaled[half];
#pragma unroll
            for (int m = 0; m < PARTS; ++m) {
                float number = eight.designs[half][m];
                upper[half][m] = shorten(number);
                lower[half][m] = shorten(number - lengthen(upper[half][m]));
                products[m] += number * eight.scaled[half];
                if (SIGNED) signed_sums[m] += number * eight.signs[half];
            }
        }
#pragma unroll
        for (int r = 0; r < SIDES; ++r) {
            const int second = 2 * r + 1 < PARTS ? 2 * r + 1 : 2 * r;
            const Short nothing = shorten(0.0f);
            bool full = second > 2 * r;
            Short tall[4] = {upper[0][2 * r], full ? upper[0][second] : nothing, upper[1][2 * r], full ? upper[1][second] : nothing};
            Short small[4] = {lower[0][2 * r], full ? lower[0][second] : nothing, lower[1][2 * r], full ? lower[1][second] : nothing};
#pragma unroll
            for (int c = 0; c < PARTS; ++c) {
                if (c > second) continue;
                Short wide[2] = {upper[0][c], upper[1][c]}, narrow[2] = {lower[0][c], lower[1][c]};
                multiply_add(sums[r][c], small, wide);
                multiply_add(sums[r][c], tall, narrow);
                multiply_add(sums[r][c], tall, wide);
            }
        }
    }
    for (int mask = 1; mask < 4; mask *= 2) {
        square += __shfl_xor_sync(WHOLE_WARP, square, mask);
#pragma unroll
        for (int m = 0; m < PARTS; ++m) {
            products[m] += __shfl_xor_sync(WHOLE_WARP, products[m], mask);
            if (SIGNED) signed_sums[m] += __shfl_xor_sync(WHOLE_WARP, signed_sums[m], mask);
        }
    }
    // Through shared memory, so that neighbours write what lies beside each other.
    float* room = SHARED(float) + warp * NUMBERS;
#pragma unroll
    for (int r = 0; r < SIDES; ++r) {
#pragma unroll
        for (int c = 0; c < PARTS; ++c) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                // A pair of concepts is there twice where rows and columns are the same block of 16: once is enough.
                int m = 2 * r + i / 2;
                u32 other = 2 * turn + i % 2;
                if (m >= PARTS || c > m || (c == m && other > group)) continue;
                u32 k = group * PARTS + m, l = other * PARTS + c, high = k > l ? k : l, low = k > l ? l : k;
                room[high * (high + 1) / 2 + low] = sums[r][c][i];
            }
        }
    }
    if (turn == 0) {
#pragma unroll
        for (int m = 0; m < PARTS; ++m) {
            room[TRIANGLE + group * PARTS + m] = products[m];
            if (SIGNED) room[TRIANGLE + PAD + group * PARTS + m] = signed_sums[m];
        }
    }
    __syncwarp();
    if (task.slot == NONE) return;
    for (int i = lane; i < NUMBERS; i += 32) out[(u64)task.slot * NUMBERS + i] = room[i];
    if (lane == 0) squares[task.slot] = square;
}

static const int SUM_BLOCKS = PAD <= 32 ? 4 : 2;

KERNEL BOUNDS(128, SUM_BLOCKS) sums(const Task* __restrict__ tasks, u32 count, const Entry* __restrict__ entries,
                                    const float* __restrict__ designs, float* __restrict__ out,
                                    float* __restrict__ squares) {
    sum_up<false>(tasks, count, entries, designs, 0, 0, out, squares);
}
REGISTER(sums)

KERNEL BOUNDS(128, SUM_BLOCKS) sums_signed(const Task* __restrict__ tasks, u32 count, const Entry* __restrict__ entries,
                                           const float* __restrict__ designs, u64 seed, u32 epoch,
                                           float* __restrict__ out, float* __restrict__ squares) {
    sum_up<true>(tasks, count, entries, designs, seed, epoch, out, squares);
}
REGISTER(sums_signed)

#if PAD >= 32
#include "tensor_tuples.cu"
#endif
